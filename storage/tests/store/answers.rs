//! A sink runs the answers of each group.

use std::sync::{Arc, Mutex};

use purser_storage::sim_disk::SimDisk;
use purser_storage::snapshot::MemorySource;
use purser_storage::{GroupAnswers, JournalStore, Store, StoreLimits};

use crate::suite::{batch, put};

fn open() -> Arc<JournalStore> {
    let (disk, source) = (SimDisk::new(), MemorySource::default());
    JournalStore::open_on(Arc::new(disk), &source, StoreLimits::test(), Arc::new(|| 5), false).unwrap()
}

/// Checks: a sink gets the answers of each group, in the order of the batches, once the group is durable. If a callback
/// panics, the others still hear that their batches are durable, and then the store stops.
#[test]
fn group_is_answered_in_order_and_a_panic_loses_no_other_answer() {
    let store = open();
    let (groups, heard) = (
        Arc::<Mutex<Vec<GroupAnswers>>>::default(),
        Arc::<Mutex<Vec<usize>>>::default(),
    );
    let sink = Arc::clone(&groups);
    store.set_answer_sink(Box::new(move |answers| sink.lock().unwrap().push(answers)));
    let commit = |n: usize, panics: bool| {
        let heard = Arc::clone(&heard);
        store.commit(
            batch(vec![put("a", n as u64, "x")], vec![]),
            Box::new(move |answer| {
                assert!(!panics, "a wrong callback");
                assert!(answer.is_ok(), "{answer:?}");
                heard.lock().unwrap().push(n);
            }),
        );
    };
    for group in 0..3 {
        (group * 10..group * 10 + 10).for_each(|n| commit(n, false));
        assert!(store.step_commit());
    }
    assert!(heard.lock().unwrap().is_empty(), "only the sink runs answers");
    assert!(store.durable_seq() >= 30, "which the commits do not wait for");
    std::mem::take(&mut *groups.lock().unwrap())
        .into_iter()
        .for_each(GroupAnswers::run);
    assert!(heard.lock().unwrap().iter().copied().eq(0..30));
    (30..40).for_each(|n| commit(n, n == 33));
    assert!(store.step_commit());
    assert!(!store.has_failed());
    std::mem::take(&mut *groups.lock().unwrap())
        .into_iter()
        .for_each(GroupAnswers::run);
    assert!(heard.lock().unwrap().iter().copied().eq((0..40).filter(|n| *n != 33)));
    assert!(store.has_failed());
}
