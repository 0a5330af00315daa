//! Cursors of a subject: they grow whatever the clock does, reveal nothing of other subjects, and page in both
//! directions over segments, restarts and restores.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use purser_storage::sim_disk::SimDisk;
use purser_storage::snapshot::MemorySource;
use purser_storage::{JournalStore, Span, Store, StoreError, StoreLimits, StoredEvent};

use crate::conformance::options;
use crate::suite::{batch, commit, enqueue, event, put, wait};

struct CursorHarness {
    disk: SimDisk,
    source: MemorySource,
    clock: Arc<AtomicU64>,
}

impl CursorHarness {
    fn new() -> Self {
        Self {
            disk: SimDisk::new(),
            source: MemorySource::default(),
            clock: Arc::new(AtomicU64::new(1_000_000)),
        }
    }

    fn open(&self) -> Arc<JournalStore> {
        self.disk.kill();
        let (clock, limits) = (
            Arc::clone(&self.clock),
            StoreLimits {
                segment_bytes: 64 << 10,
                ..StoreLimits::test()
            },
        );
        let now = Arc::new(move || clock.load(Ordering::SeqCst));
        JournalStore::open_on(Arc::new(self.disk.clone()), &self.source, limits, now, false).unwrap()
    }

    fn at(&self, us: u64) {
        self.clock.store(us, Ordering::SeqCst);
    }
}

fn commit_events(store: &JournalStore, subjects: &[&str], padding: usize) {
    let events = subjects.iter().map(|subject| event(subject, &"x".repeat(padding)));
    let answer = enqueue(store, batch(vec![], events.collect()));
    store.step_commit();
    answer.recv().unwrap().unwrap();
}

fn read(store: &dyn Store, subject: &str, span: Span, limit: usize) -> Vec<StoredEvent> {
    wait(store.events_of(subject.as_bytes(), span, limit)).unwrap()
}

fn cursors(store: &dyn Store, subject: &str, span: Span, limit: usize) -> Vec<u64> {
    let events = read(store, subject, span, limit);
    events.iter().map(|event| event.cursor).collect()
}

/// Checks: a cursor is the time of its commit and grows even if the clock stops or goes back, over a restart too. What
/// others commit in between leaves no trace in it.
/// others commit in between leaves no trace in it.
#[test]
fn cursors_are_growing_times() {
    let rig = CursorHarness::new();
    let store = rig.open();
    rig.at(2_000_000);
    commit_events(&store, &["a", "a"], 1);
    (0..50).for_each(|_| commit_events(&store, &["b"], 1));
    rig.at(3_000_000);
    commit_events(&store, &["a"], 1);
    rig.at(1_000);
    commit_events(&store, &["a"], 1);
    drop(store);
    let store = rig.open();
    commit_events(&store, &["a"], 1);
    let expected = [2_000_000, 2_000_001, 3_000_000, 3_000_001, 3_000_002];
    assert_eq!(cursors(&*store, "a", Span::After(0), 100), expected);
    rig.at(9_000_000);
    commit_events(&store, &["b", "a"], 1);
    assert_eq!(cursors(&*store, "a", Span::NEWEST, 1), [9_000_001]);
}

/// Checks: pages in both directions have every event of their subject once, for any page size and segment end.
/// Published events carry the same cursors.
#[test]
fn pages_lead_through_all_segments_both_ways() {
    let rig = CursorHarness::new();
    let store = rig.open();
    for n in 0..400u64 {
        rig.at(1_000_000 + n * 10);
        commit_events(&store, if n % 3 == 0 { &["a", "b", "a"] } else { &["b"] }, 900);
        if n % 50 == 0 {
            store.step_maintain().unwrap();
        }
    }
    assert!(store.stats().segments > 3);
    for reopened in [false, true] {
        let store = if reopened { rig.open() } else { Arc::clone(&store) };
        let all = cursors(&*store, "a", Span::After(0), usize::MAX);
        assert!(all.len() == 268 && all.is_sorted_by(|a, b| a < b), "{}", all.len());
        for size in [1, 7, 100] {
            let (mut forward, mut back) = (Vec::new(), Vec::new());
            loop {
                let after = forward.last().copied().unwrap_or(0);
                let page = cursors(&*store, "a", Span::After(after), size);
                if page.is_empty() {
                    break;
                }
                forward.extend(page);
            }
            loop {
                let before = back.last().copied().unwrap_or(u64::MAX);
                let page = cursors(&*store, "a", Span::Before(before), size);
                if page.is_empty() {
                    break;
                }
                back.extend(page);
            }
            back.reverse();
            assert_eq!((&forward, &back), (&all, &all), "{size}");
        }
        // Between two events, and at one.
        let (third, fourth) = (all[2], all[3]);
        assert_eq!(cursors(&*store, "a", Span::After(third), 1), [fourth]);
        assert_eq!(cursors(&*store, "a", Span::After(fourth - 1), 1), [fourth]);
        assert_eq!(cursors(&*store, "a", Span::Before(fourth), 1), [third]);
        assert_eq!(cursors(&*store, "unknown", Span::After(0), 9), [0; 0]);
    }
}

/// Checks: a cursor whose successors may be deleted is rejected with the oldest one available, from which a reader
/// continues. Cursor 0 is the oldest available. A restored store starts after every cursor of the lost history.
#[test]
fn cursor_of_an_expired_event_is_rejected() {
    let root = tempfile::tempdir().unwrap();
    let (old, new, file) = (
        root.path().join("old"),
        root.path().join("new"),
        root.path().join("backup"),
    );
    let store = JournalStore::open(options(&old)).unwrap();
    commit(&*store, batch(vec![put("k", 1, "x")], vec![event("s", "kept")])).unwrap();
    store.backup(&file).unwrap();
    commit(&*store, batch(vec![], vec![event("s", "lost")])).unwrap();
    let lost = cursors(&*store, "s", Span::NEWEST, 1)[0];
    drop(store);
    let mark = JournalStore::restore(&file, &new, lost / 1_000 + 1).unwrap();
    let store = JournalStore::open(options(&new)).unwrap();
    let refused = |store: &JournalStore| match wait(store.events_of(b"s", Span::After(lost), 9)) {
        Err(StoreError::Expired { oldest }) => oldest,
        other => panic!("{other:?}"),
    };
    let oldest = refused(&store);
    assert!(
        oldest > lost && oldest >= mark.restored_at_ms * 1_000,
        "{oldest} {lost}"
    );
    assert_eq!(cursors(&*store, "s", Span::After(oldest - 1), 9), [0; 0]);
    commit(&*store, batch(vec![], vec![event("s", "new")])).unwrap();
    assert_eq!(refused(&store), oldest);
    let retained = read(&*store, "s", Span::After(oldest - 1), 9);
    assert_eq!((retained.len(), &*retained[0].payload), (1, &b"new"[..]));
    assert_eq!(read(&*store, "s", Span::After(0), 9), retained);
    assert_eq!(read(&*store, "s", Span::NEWEST, 9), retained);
}
