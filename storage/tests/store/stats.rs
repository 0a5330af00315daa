//! What a store counts of itself.

use std::sync::Arc;

use purser_storage::sim_disk::SimDisk;
use purser_storage::snapshot::MemorySource;
use purser_storage::{Condition, JournalStore, Store, StoreLimits};

use crate::suite::{batch, enqueue, event, on, put};

/// Aim: batches that wait together are one group, refused ones are among them and counted apart, and lag, sequence and
/// segments are those of the store. Without threads nothing is timed, so that a simulation is the same every time.
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
