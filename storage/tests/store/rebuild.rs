//! Sled thrown away, and backups brought back.

use std::path::{Path, PathBuf};

use purser_storage::{JournalStore, Store, StoreError};

use crate::conformance::options;
use crate::suite::{batch, commit, enqueue, event, expired, keys, put, value};

fn files(dir: &Path, suffix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .filter(|path| path.to_string_lossy().ends_with(suffix))
        .collect()
}

fn fill_files(dir: &Path) {
    let store = JournalStore::open(options(dir)).unwrap();
    let answers: Vec<_> = (0..500)
        .map(|i| enqueue(&*store, batch(vec![put(&format!("k{i}"), i, "value")], vec![])))
        .collect();
    assert!(answers.iter().all(|a| a.recv().unwrap().is_ok()));
}

/// Checks: sled can be deleted or corrupted at any time and is rebuilt from journal and export.
#[test]
fn sled_is_rebuilt_when_deleted_or_corrupt() {
    let root = tempfile::tempdir().unwrap();
    fill_files(root.path());
    let sled = root.path().join("sled");
    let ruins: [&dyn Fn(); 4] = [
        &|| std::fs::remove_dir_all(&sled).unwrap(),
        &|| std::fs::write(sled.join("db"), b"not sled").unwrap(),
        &|| std::fs::write(sled.join("conf"), b"not sled").unwrap(),
        &|| {
            files(&sled, "")
                .iter()
                .filter(|p| p.is_file())
                .for_each(|p| std::fs::write(p, []).unwrap())
        },
    ];
    for (i, ruin) in ruins.iter().enumerate() {
        ruin();
        let store = JournalStore::open(options(root.path())).unwrap();
        assert_eq!(keys(&*store, "k", None, 1000).len(), 500, "ruin {i}");
        assert_eq!(value(&*store, "k77"), Some((77, "value".into())), "ruin {i}");
        if i == 1 {
            store.export().unwrap();
        }
    }
}

/// Checks: a half-written page table left by a kill does not prevent sled from opening.
#[test]
fn a_left_over_generating_file_is_removed() {
    let root = tempfile::tempdir().unwrap();
    fill_files(root.path());
    let sled = root.path().join("sled");
    let table = sled.join("snap.00000000FFFFFFFF.generating");
    std::fs::write(&table, b"torn").unwrap();
    let store = JournalStore::open(options(root.path())).unwrap();
    assert!(!table.exists());
    // It opened what was there instead of making it again.
    assert!(!root.path().join("sled.broken").exists());
    assert_eq!(keys(&*store, "k", None, 1000).len(), 500);
    drop(store);
    // An empty finished page table is moved away.
    std::fs::write(sled.join("snap.00000000FFFFFFFF"), b"").unwrap();
    let store = JournalStore::open(options(root.path())).unwrap();
    assert_eq!(keys(&*store, "k", None, 1000).len(), 500);
}

/// Checks: a backup is restored completely to a new directory and marked permanently, and no old cursor is valid in it.
#[test]
fn case_66_restored_backup_is_marked_as_restored() {
    let root = tempfile::tempdir().unwrap();
    let (old, new, file) = (
        root.path().join("old"),
        root.path().join("new"),
        root.path().join("purser.backup"),
    );
    fill_files(&old);
    let store = JournalStore::open(options(&old)).unwrap();
    assert_eq!(store.backup(&file).unwrap(), 500);
    assert_eq!(store.restore_marker(), None);
    commit(&*store, batch(vec![put("lost", 1, "x")], vec![event("s", "lost")])).unwrap();
    let lost_cursor = store.durable_seq();
    drop(store);
    let mark = JournalStore::restore(&file, &new, 1_800_000_000_000).unwrap();
    assert_eq!(
        (mark.seq, mark.restored_at_ms, mark.backed_up_at_ms),
        (500, 1_800_000_000_000, 1_700_000_000_000)
    );
    for round in 0..3 {
        let store = JournalStore::open(options(&new)).unwrap();
        assert_eq!(store.restore_marker(), Some(mark));
        assert_eq!(keys(&*store, "k", None, 1000).len(), 500);
        assert_eq!(value(&*store, "lost"), None);
        let seq = commit(&*store, batch(vec![], vec![event("s", "new")])).unwrap().seq;
        assert_eq!(seq, mark.first_seq + round);
        assert_eq!(expired(&*store, lost_cursor), Some(mark.first_seq));
        if round == 1 {
            drop(store);
            std::fs::remove_dir_all(new.join("sled")).unwrap();
        }
    }
    // Never over something that exists, and never from a damaged file.
    assert!(matches!(JournalStore::restore(&file, &old, 1), Err(StoreError::Io(_))));
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let other = root.path().join("other");
    assert!(matches!(
        JournalStore::restore(&file, &other, 1),
        Err(StoreError::Corrupt(_))
    ));
}

/// Checks: a flipped bit in sled's files never yields a wrong row: the result is exact or an error.
#[test]
fn case_65_a_flipped_bit_in_sled_is_never_silent() {
    let root = tempfile::tempdir().unwrap();
    fill_files(root.path());
    let log = root.path().join("sled/db");
    let good = std::fs::read(&log).unwrap();
    let used = good.iter().rposition(|b| *b != 0).unwrap();
    for at in (0..used).step_by(used / 40) {
        let copy = tempfile::tempdir().unwrap();
        copy_dir(root.path(), copy.path());
        let mut bad = good.clone();
        bad[at] ^= 0x20;
        std::fs::write(copy.path().join("sled/db"), bad).unwrap();
        let Ok(store) = JournalStore::open(options(copy.path())) else {
            continue;
        };
        let Ok(rows) = crate::suite::wait(store.scan(b"k", None, 1000)) else {
            continue;
        };
        assert_eq!(rows.len(), 500, "byte {at}");
        for (key, row) in rows {
            assert_eq!(*key, *format!("k{}", row.revision).as_bytes(), "byte {at}");
            assert_eq!(*row.value, *b"value", "byte {at}");
        }
    }
}

fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_dir(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}
