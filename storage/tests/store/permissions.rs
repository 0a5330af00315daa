//! Who may read what is stored.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use purser_storage::disk::FileDisk;
use purser_storage::snapshot::MemorySource;
use purser_storage::{JournalStore, StoreLimits, StoreOptions};

use crate::conformance::options;
use crate::suite::{batch, commit, enqueue, event, put};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect()
}

/// Every entry is the owner's alone; below sled, whose files appear as it likes, the directory is the wall.
fn assert_private(dir: &Path) {
    assert_eq!(mode(dir), 0o700, "{}", dir.display());
    for path in entries(dir) {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}", path.display());
    }
}

/// Checks: no file of a store, its backup or a restored store is readable by another user.
#[test]
fn only_the_owner_can_read_what_is_stored() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("above/store");
    let small = || StoreOptions {
        limits: StoreLimits {
            segment_bytes: 64 << 10,
            ..StoreLimits::test()
        },
        ..options(&dir)
    };
    let store = JournalStore::open(small()).unwrap();
    let value = "v".repeat(10_000);
    for i in 0..20 {
        let one = batch(vec![put(&format!("k{i}"), 1, &value)], vec![event("s", "e")]);
        commit(&*store, one).unwrap();
    }
    store.export().unwrap();
    let backup = root.path().join("backups/one");
    store.backup(&backup).unwrap();
    drop(store);
    assert_eq!(mode(dir.parent().unwrap()), 0o700);
    assert_private(&dir);
    assert_eq!((mode(&backup), mode(backup.parent().unwrap())), (0o600, 0o700));
    let made: Vec<String> = entries(&dir)
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    for part in [".seg", ".rows", "lock", "sled"] {
        assert!(made.iter().any(|name| name.ends_with(part)), "{part} in {made:?}");
    }
    let restored = root.path().join("restored");
    JournalStore::restore(&backup, &restored, 1).unwrap();
    assert_private(&restored);
    // What an older version or a careless copy left open is closed; sled's files one by one.
    set_mode(&dir.join("lock"), 0o644);
    set_mode(&dir.join("sled"), 0o755);
    set_mode(&dir.join("sled/db"), 0o644);
    drop(JournalStore::open(small()).unwrap());
    assert_private(&dir);
    for name in ["db", "conf"] {
        assert_eq!(mode(&dir.join("sled").join(name)), 0o600, "{name}");
    }
}

/// Checks: this includes the indexes of sealed segments, which maintenance writes.
#[test]
fn only_the_owner_can_read_an_index() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("store");
    let disk = Arc::new(FileDisk::open(&dir).unwrap());
    let limits = StoreLimits {
        segment_bytes: 64 << 10,
        ..StoreLimits::test()
    };
    let store = JournalStore::open_on(disk, &MemorySource::default(), limits, Arc::new(|| 5), false).unwrap();
    let value = "v".repeat(10_000);
    for i in 0..10 {
        let answer = enqueue(&*store, batch(vec![put(&format!("k{i}"), 1, &value)], vec![]));
        store.step_commit();
        answer.recv().unwrap().unwrap();
    }
    store.step_maintain().unwrap();
    assert!(dir.join("wal-000000000001.idx").is_file());
    assert_private(&dir);
}

/// Checks: a backup into another user's directory leaves that directory unchanged, and makes an existing backup file
/// unreadable for others.
#[test]
fn a_backup_changes_its_own_file_only() {
    let root = tempfile::tempdir().unwrap();
    let shelf = root.path().join("shelf");
    std::fs::create_dir(&shelf).unwrap();
    set_mode(&shelf, 0o755);
    let old = shelf.join("backup");
    for path in [&old, &shelf.join("backup.tmp")] {
        std::fs::write(path, b"old").unwrap();
        set_mode(path, 0o666);
    }
    let store = JournalStore::open(options(&root.path().join("store"))).unwrap();
    store.backup(&old).unwrap();
    assert_eq!((mode(&old), mode(&shelf)), (0o600, 0o755));
}
