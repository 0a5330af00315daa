//! When snapshots catch up with the journal, and what holds while they are behind.

use std::sync::Arc;
use std::time::{Duration, Instant};

use purser_storage::disk::Disk;
use purser_storage::sim_disk::SimDisk;
use purser_storage::snapshot::MemorySource;
use purser_storage::{JournalStore, Store, StoreLimits};

use crate::suite::{batch, commit, enqueue, keys, put};

const HOUR_MS: u64 = 3_600_000;
const APPLY_BYTES: u64 = 64 << 10;

fn limits() -> StoreLimits {
    StoreLimits {
        segment_bytes: 128 << 10,
        apply_bytes: APPLY_BYTES,
        apply_interval_ms: HOUR_MS,
        lag_limit_bytes: 256 << 10,
        ..StoreLimits::test()
    }
}

fn open(disk: &SimDisk, source: &MemorySource, limits: StoreLimits, threads: bool) -> Arc<JournalStore> {
    JournalStore::open_on(Arc::new(disk.clone()), source, limits, Arc::new(|| 5), threads).unwrap()
}

/// Commits rows of about 1 KiB, without threads.
fn fill(store: &JournalStore, rows: std::ops::Range<u64>) {
    for i in rows {
        let answer = enqueue(
            store,
            batch(vec![put(&format!("k{i:04}"), i, &"x".repeat(1000))], vec![]),
        );
        store.step_commit();
        answer.recv().unwrap().unwrap();
    }
}

fn lag(store: &JournalStore) -> u64 {
    store.headroom().lag_bytes
}

fn wait_for_lag_below(store: &JournalStore, bytes: u64) {
    let begun = Instant::now();
    while lag(store) >= bytes {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{} bytes are behind",
            lag(store)
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Checks: the snapshots catch up when enough bytes wait, and less waits for the interval.
#[test]
fn snapshots_catch_up_by_volume() {
    let store = open(&SimDisk::new(), &MemorySource::default(), limits(), true);
    let write = || commit(&*store, batch(vec![put("k", 1, &"x".repeat(1000))], vec![])).unwrap();
    for _ in 0..300 {
        write();
    }
    wait_for_lag_below(&store, APPLY_BYTES);
    assert!(store.applied_seq() > 0);
    // A row that completes the bytes is applied at once; the next one is not.
    for _ in 0..2 {
        write();
        std::thread::sleep(Duration::from_millis(100));
        if lag(&store) > 0 {
            break;
        }
    }
    let applied = store.applied_seq();
    assert!(lag(&store) > 0 && applied < store.durable_seq());
    // Nor by a notification that is older than the last application.
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(store.applied_seq(), applied);
    store.close();
    assert_eq!((lag(&store), store.applied_seq()), (0, store.durable_seq()));
}

/// Checks: less than those bytes is applied after the interval.
#[test]
fn snapshots_catch_up_by_age() {
    let limits = StoreLimits {
        apply_interval_ms: 20,
        apply_bytes: u64::MAX,
        ..limits()
    };
    let store = open(&SimDisk::new(), &MemorySource::default(), limits, true);
    for i in 0..3 {
        commit(&*store, batch(vec![put("k", i, "x")], vec![])).unwrap();
        wait_for_lag_below(&store, 1);
        assert_eq!(store.applied_seq(), store.durable_seq());
    }
}

/// Checks: after a kill with the largest lag every row is there again, before and after the snapshots have caught up,
/// and they begin at once.
#[test]
fn case_65_a_kill_at_full_lag_loses_nothing() {
    let (disk, source) = (SimDisk::new(), MemorySource::default());
    let store = open(&disk, &source, limits(), false);
    fill(&store, 0..600);
    assert!(lag(&store) > 2 * limits().lag_limit_bytes && store.applied_seq() == 0);
    drop(store);
    for _ in 0..2 {
        disk.kill();
        let store = open(&disk, &source, limits(), false);
        assert_eq!(keys(&*store, "k", None, 1000).len(), 600);
        // What exceeds the limit was applied while it was replayed, so that it never fills the memory.
        assert!((1..=limits().lag_limit_bytes).contains(&lag(&store)));
        drop(store);
    }
    disk.kill();
    let store = open(&disk, &source, limits(), true);
    wait_for_lag_below(&store, 1);
    assert_eq!(source.image().rows.len(), 600);
    assert_eq!(keys(&*store, "k", None, 1000).len(), 600);
}

/// Checks: a backup has everything durable, also when it must take rows from snapshots that are behind.
#[test]
fn backup_from_snapshots_is_not_behind() {
    let (disk, source) = (SimDisk::new(), MemorySource::default());
    let limits = StoreLimits {
        retention_bytes: 1,
        ..limits()
    };
    let store = open(&disk, &source, limits, false);
    fill(&store, 0..500);
    store.step_apply().unwrap();
    // Removes the segments before the newest.
    let exported = store.export().unwrap();
    fill(&store, 500..520);
    assert!(store.applied_seq() < store.durable_seq());
    let export = disk.list().unwrap().into_iter().find(|name| name.ends_with(".rows"));
    disk.corrupt(&export.unwrap(), |bytes| bytes[100] ^= 1).unwrap();
    assert_eq!(exported, 500);
    assert_eq!(store.backup_on(&disk, "copy").unwrap(), store.durable_seq());
    let restored = SimDisk::new();
    JournalStore::restore_on(&disk, "copy", &restored, 1).unwrap();
    let store = open(&restored, &MemorySource::default(), limits, false);
    assert_eq!(keys(&*store, "k", None, 1000).len(), 520);
}
