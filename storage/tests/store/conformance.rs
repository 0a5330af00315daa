//! One behaviour suite against every store, and what only the journal store promises.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use purser_storage::sim_disk::{FaultSchedule, SimDisk};
use purser_storage::snapshot::MemorySource;
use purser_storage::{CommitError, JournalStore, OpenError, Store, StoreLimits, StoreOptions};

use crate::suite::{self, batch, commit, enqueue, event, payloads, put, value};

pub(crate) fn options(dir: &Path) -> StoreOptions {
    StoreOptions {
        dir: dir.to_path_buf(),
        limits: StoreLimits::test(),
        clock: Arc::new(|| 1_700_000_000_000_000),
    }
}

#[test]
fn the_journal_on_files_keeps_every_rule() {
    let root = tempfile::tempdir().unwrap();
    let mut n = 0;
    suite::every_rule(&mut || {
        n += 1;
        JournalStore::open(options(&root.path().join(n.to_string()))).unwrap()
    });
}

/// Checks: the same rules with the background threads running.
#[test]
fn the_journal_on_a_simulated_disk_keeps_every_rule() {
    suite::every_rule(&mut || {
        let disk = Arc::new(SimDisk::new());
        let source = MemorySource::default();
        JournalStore::open_on(disk, &source, StoreLimits::test(), Arc::new(|| 5), true).unwrap()
    });
}

/// Checks: two processes (here: two handles) never share a directory, and the error says so.
#[test]
fn a_directory_has_one_owner() {
    let root = tempfile::tempdir().unwrap();
    let first = JournalStore::open(options(root.path())).unwrap();
    let second = JournalStore::open(options(root.path()));
    assert!(matches!(second, Err(OpenError::Locked(dir)) if dir == root.path()));
    drop(first);
    JournalStore::open(options(root.path())).unwrap();
}

/// Checks: a clean stop commits queued batches and leaves nothing to replay.
#[test]
fn closing_drains_and_applies() {
    let root = tempfile::tempdir().unwrap();
    let store = JournalStore::open(options(root.path())).unwrap();
    let answers: Vec<_> = (0..100)
        .map(|i| enqueue(&*store, batch(vec![put(&i.to_string(), 1, "x")], vec![])))
        .collect();
    store.close();
    assert!(answers.iter().all(|a| a.recv().unwrap().is_ok()));
    assert_eq!(store.applied_seq(), store.durable_seq());
    assert_eq!(store.headroom().lag_bytes, 0);
    assert_eq!(
        commit(&*store, batch(vec![put("late", 1, "x")], vec![])),
        Err(CommitError::Stopped)
    );
    assert_eq!(value(&*store, "late"), None);
}

/// Checks: after an I/O error nothing is acknowledged any more, and the owner is notified once with the reason.
#[test]
fn case_65_an_io_error_stops_the_store() {
    for faults in [
        FaultSchedule {
            sync_fails_after: Some(0),
            ..FaultSchedule::default()
        },
        FaultSchedule {
            read_only: true,
            ..FaultSchedule::default()
        },
        FaultSchedule {
            dead_after: Some(0),
            ..FaultSchedule::default()
        },
    ] {
        let disk = SimDisk::new();
        let source = MemorySource::default();
        let store = JournalStore::open_on(
            Arc::new(disk.clone()),
            &source,
            StoreLimits::test(),
            Arc::new(|| 5),
            false,
        )
        .unwrap();
        let calls = Arc::new(AtomicU64::new(0));
        let tell = Arc::clone(&calls);
        store.on_fatal(Box::new(move |reason| {
            assert!(!reason.is_empty());
            tell.fetch_add(1, Ordering::SeqCst);
        }));
        let good = enqueue(&*store, batch(vec![put("a", 1, "1")], vec![]));
        assert!(store.step_commit());
        assert!(good.recv().unwrap().is_ok());
        disk.set_faults(faults);
        let lost = enqueue(&*store, batch(vec![put("a", 2, "2")], vec![event("s", "e")]));
        store.step_commit();
        assert_eq!(lost.recv().unwrap(), Err(CommitError::Stopped));
        assert_eq!(
            commit(&*store, batch(vec![put("a", 3, "3")], vec![])),
            Err(CommitError::Stopped)
        );
        assert!(store.has_failed());
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        // What is durable can still be read.
        assert_eq!(value(&*store, "a"), Some((1, "1".into())));
        disk.set_faults(FaultSchedule::default());
        assert!(payloads(&*store, 0, 10, None).is_empty());
    }
}

/// Checks: a full disk is detected when the next segment is created, not in the middle of a group.
#[test]
fn case_65_full_disk_rejects_writes_and_recovers() {
    let disk = SimDisk::new();
    let source = MemorySource::default();
    let limits = StoreLimits {
        segment_bytes: 64 << 10,
        ..StoreLimits::test()
    };
    let open = || JournalStore::open_on(Arc::new(disk.clone()), &source, limits, Arc::new(|| 5), false);
    let store = open().unwrap();
    disk.set_faults(FaultSchedule {
        capacity: Some(200 << 10),
        ..FaultSchedule::default()
    });
    let mut acked = 0;
    let mut refused = 0;
    for i in 0..300 {
        let answer = enqueue(&*store, batch(vec![put("a", i, &"x".repeat(1000))], vec![]));
        store.step_commit();
        match answer.recv().unwrap() {
            Ok(_) if refused == 0 => acked = i,
            Ok(_) => panic!("acknowledged after a failure"),
            Err(_) => refused += 1,
        }
    }
    assert!(acked > 100 && refused > 50);
    drop(store);
    disk.kill();
    let store = open().unwrap();
    assert_eq!(value(&*store, "a").unwrap().0, acked);
}

/// Checks: rows are counted until the snapshots have them.
#[test]
fn headroom_counts_what_is_not_applied() {
    let source = MemorySource::default();
    let store = JournalStore::open_on(
        Arc::new(SimDisk::new()),
        &source,
        StoreLimits::test(),
        Arc::new(|| 5),
        false,
    )
    .unwrap();
    assert_eq!(store.headroom().lag_bytes, 0);
    let answer = enqueue(&*store, batch(vec![put("a", 1, &"x".repeat(1000))], vec![]));
    assert_eq!(store.headroom().queued, 1);
    store.step_commit();
    answer.recv().unwrap().unwrap();
    let headroom = store.headroom();
    assert!(headroom.lag_bytes > 1000 && headroom.queued == 0);
    assert_eq!(headroom.lag_limit_bytes, StoreLimits::test().lag_limit_bytes);
    assert!(store.step_apply().unwrap());
    assert_eq!(store.headroom().lag_bytes, 0);
    assert!(!store.step_apply().unwrap());
}

/// Checks: rows that exist only between two applications never reach the snapshots.
#[test]
fn short_lived_rows_are_not_applied() {
    let source = MemorySource::default();
    let store = JournalStore::open_on(
        Arc::new(SimDisk::new()),
        &source,
        StoreLimits::test(),
        Arc::new(|| 5),
        false,
    )
    .unwrap();
    let absent = |key: &str| purser_storage::Condition::Absent(key.as_bytes().into());
    enqueue(&*store, suite::on(absent("stays"), vec![put("stays", 1, "x")]));
    enqueue(&*store, suite::on(absent("goes"), vec![put("goes", 1, "x")]));
    store.step_commit();
    enqueue(&*store, batch(vec![suite::delete("goes")], vec![]));
    store.step_commit();
    store.step_apply().unwrap();
    assert_eq!(source.image().rows.len(), 1);
    // A deletion of an older row does reach them.
    enqueue(&*store, batch(vec![suite::delete("stays")], vec![]));
    store.step_commit();
    store.step_apply().unwrap();
    assert!(source.image().rows.is_empty());
    assert_eq!(source.image().applied, Some(store.durable_seq()));
}

/// Checks: a setting out of range is rejected before any file is changed.
#[test]
fn limits_are_checked() {
    for (bytes, good) in [
        (64 << 10, true),
        ((64 << 10) - 4096, false),
        ((64 << 10) + 1, false),
        ((1 << 30) + 4096, false),
    ] {
        let limits = StoreLimits {
            segment_bytes: bytes,
            ..StoreLimits::test()
        };
        let source = MemorySource::default();
        let opened = JournalStore::open_on(Arc::new(SimDisk::new()), &source, limits, Arc::new(|| 5), false);
        assert_eq!(opened.is_ok(), good, "{bytes}");
    }
}

/// Checks: a panicking callback stops the store, and no caller waits for ever.
#[test]
fn panic_in_a_callback_stops_the_store_and_answers_callers() {
    let source = MemorySource::default();
    let store = JournalStore::open_on(
        Arc::new(SimDisk::new()),
        &source,
        StoreLimits::test(),
        Arc::new(|| 5),
        true,
    )
    .unwrap();
    let answers: Vec<_> = (0..10)
        .map(|i| {
            if i == 5 {
                store.commit(
                    batch(vec![put("bad", 1, "x")], vec![]),
                    Box::new(|_| panic!("a wrong callback")),
                );
            }
            enqueue(&*store, batch(vec![put("a", i, "x")], vec![]))
        })
        .collect();
    for answer in answers {
        let answer = answer.recv();
        assert!(matches!(answer, Ok(Ok(_) | Err(CommitError::Stopped))), "{answer:?}");
    }
    store.close();
    assert!(store.has_failed());
}
