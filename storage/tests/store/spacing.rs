//! Spaced syncs, with the store's own threads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use purser_storage::sim_disk::SimDisk;
use purser_storage::snapshot::MemorySource;
use purser_storage::{JournalStore, StoreLimits};

use crate::suite::{batch, commit, enqueue, put};

/// Far longer than a commit on a simulated disk takes.
const SPACING_MS: u64 = 2_000;

fn open(sync_spacing_ms: u64) -> Arc<JournalStore> {
    let limits = StoreLimits {
        sync_spacing_ms,
        ..StoreLimits::test()
    };
    let disk = Arc::new(SimDisk::new());
    JournalStore::open_on(disk, &MemorySource::default(), limits, Arc::new(|| 5), true).unwrap()
}

fn write(store: &JournalStore) {
    commit(store, batch(vec![put("a", 1, "x")], vec![])).unwrap();
}

/// Checks: a caller alone never waits for the time between two syncs.
#[test]
fn a_caller_alone_never_waits() {
    let store = open(SPACING_MS);
    let begun = Instant::now();
    (0..20).for_each(|_| write(&store));
    assert!(begun.elapsed() < Duration::from_millis(SPACING_MS));
}

/// Checks: while callers come and go, each batch is committed once, and none is forgotten in the queue.
#[test]
fn many_callers_are_all_answered() {
    let store = open(20);
    std::thread::scope(|threads| {
        for caller in 1..=16 {
            let store = &store;
            threads.spawn(move || (0..caller).for_each(|_| write(store)));
        }
    });
    assert_eq!(store.stats().batches.sum, 136);
}

/// Checks: a stop does not wait for the time between two syncs, and everything queued is committed.
#[test]
fn a_stop_ends_the_wait() {
    let store = open(SPACING_MS);
    // The first batch begins a group, and the others form the next one.
    let answers: Vec<_> = (0..200)
        .map(|_| enqueue(&*store, batch(vec![put("a", 1, "x")], vec![])))
        .collect();
    for answer in answers {
        answer.recv().unwrap().unwrap();
    }
    let last = enqueue(&*store, batch(vec![put("b", 1, "x")], vec![]));
    let begun = Instant::now();
    store.close();
    assert!(begun.elapsed() < Duration::from_millis(SPACING_MS));
    last.recv().unwrap().unwrap();
}
