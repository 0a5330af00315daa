//! What a store counts of itself.

use std::sync::Arc;

use purser_storage::sim_disk::SimDisk;
use purser_storage::snapshot::MemorySource;
use purser_storage::{Condition, JournalStore, Store, StoreLimits};

use crate::suite::{batch, enqueue, event, on, put};

/// Checks: batches that wait together form one group, including rejected ones, which are counted separately. Lag,
/// sequence and segments match the store. Without threads no time is measured, so that a simulation is deterministic.
#[test]
fn a_group_is_counted_with_its_batches() {
    let disk = Arc::new(SimDisk::new());
    let clock = Arc::new(|| 1);
    let store = JournalStore::open_on(disk, &MemorySource::default(), StoreLimits::test(), clock, false).unwrap();
    for n in 0..5 {
        let key = format!("row {n}");
        drop(enqueue(
            &*store,
            batch(vec![put(&key, 0, "x")], vec![event("a", "happened")]),
        ));
    }
    let absent = Condition::Absent(b"row 0".as_slice().into());
    drop(enqueue(&*store, on(absent, vec![put("row 0", 0, "y")])));
    assert!(store.step_commit() && !store.step_commit());
    drop(enqueue(&*store, batch(vec![put("row 9", 0, "x")], Vec::new())));
    assert!(store.step_commit());

    let stats = store.stats();
    assert_eq!((stats.batches.count(), stats.batches.sum, stats.rejected), (2, 7, 1));
    assert_eq!((stats.durable_seq, stats.applied_seq, stats.segments), (6, 0, 1));
    assert_eq!(stats.bytes, store.headroom().lag_bytes);
    assert_eq!(stats.group_us.count(), 0);
    assert!(store.step_apply().unwrap());
    assert_eq!(store.stats().applied_seq, 6);
}
