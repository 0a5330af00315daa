//! What recovery makes of every kind of damage: exact, or a refusal that names the place. Never a silent loss.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use purser_storage::sim_disk::SimDisk;
use purser_storage::snapshot::{MemoryRows, MemorySource};
use purser_storage::{JournalStore, OpenError, Store, StoreLimits};

use crate::suite::{batch, enqueue, event, expired, keys, payloads, put, value};

pub(crate) const FIRST: &str = "wal-000000000001.seg";
const SECOND: &str = "wal-000000000002.seg";

/// A store in simulation that can be stopped, tampered with and opened again.
pub(crate) struct StoreHarness {
    pub(crate) disk: SimDisk,
    source: MemorySource,
    limits: StoreLimits,
    clock: Arc<AtomicU64>,
}

impl StoreHarness {
    pub(crate) fn new() -> Self {
        let limits = StoreLimits {
            segment_bytes: 64 << 10,
            export_every_bytes: 1 << 40,
            ..StoreLimits::test()
        };
        Self {
            disk: SimDisk::new(),
            source: MemorySource::default(),
            limits,
            clock: Arc::default(),
        }
    }

    pub(crate) fn open(&self) -> Result<Arc<JournalStore>, OpenError> {
        self.disk.kill();
        let clock = Arc::clone(&self.clock);
        let now = Arc::new(move || clock.load(Ordering::SeqCst));
        JournalStore::open_on(Arc::new(self.disk.clone()), &self.source, self.limits, now, false)
    }

    /// Commits `n` rows of about 1 KiB, each with an event, one group each.
    pub(crate) fn fill(&self, store: &JournalStore, from: u64, n: u64) {
        for i in from..from + n {
            let text = format!("{i:0>1000}");
            let answer = enqueue(
                store,
                batch(
                    vec![put(&format!("k{i:04}"), i, &text)],
                    vec![event("s", &i.to_string())],
                ),
            );
            store.step_commit();
            answer.recv().unwrap().unwrap();
        }
    }

    /// Forgets every row that was applied: the journal alone must do.
    pub(crate) fn lose_snapshots(&self) {
        self.source.set_image(MemoryRows::default());
    }

    pub(crate) fn corrupt_at(&self) -> Option<(String, u64)> {
        match self.open() {
            Err(OpenError::Corrupt { segment, offset, .. }) => Some((segment, offset)),
            Err(e) => panic!("another refusal: {e}"),
            Ok(_) => None,
        }
    }
}

/// Checks: any single flipped bit of the journal leads to the exact state or an error, at every sampled position.
#[test]
fn case_65_a_flipped_bit_is_never_silent() {
    let rig = StoreHarness::new();
    let store = rig.open().unwrap();
    rig.fill(&store, 0, 100);
    drop(store);
    let names = [FIRST, SECOND];
    let mut refused = 0;
    for name in names {
        let good = rig.disk.bytes(name).unwrap();
        for at in (0..good.len()).step_by(701) {
            rig.disk.corrupt(name, |bytes| bytes[at] ^= 1 << (at % 8)).unwrap();
            rig.lose_snapshots();
            match rig.open() {
                Ok(store) => {
                    assert_eq!(store.durable_seq(), 100, "{name} byte {at}");
                    assert_eq!(keys(&*store, "k", None, 1000).len(), 100, "{name} byte {at}");
                    assert_eq!(payloads(&*store, 0, 1000, Some("s")).len(), 100, "{name} byte {at}");
                }
                Err(OpenError::Corrupt { segment, .. }) => {
                    assert_eq!(segment, name);
                    refused += 1;
                }
                Err(e) => panic!("{name} byte {at}: {e}"),
            }
            rig.disk.corrupt(name, |bytes| bytes.clone_from(&good)).unwrap();
        }
    }
    assert!(refused > 100, "{refused}");
}

/// Checks: a torn last write ends the log there, and the store continues.
#[test]
fn case_66_a_torn_tail_ends_the_log() {
    let rig = StoreHarness::new();
    let store = rig.open().unwrap();
    rig.fill(&store, 0, 10);
    let end = rig.disk.bytes(FIRST).unwrap().iter().rposition(|b| *b != 0).unwrap();
    drop(store);
    // The last frame's last sector never arrived.
    let sector = end / 512 * 512;
    rig.disk.corrupt(FIRST, |bytes| bytes[sector..=end].fill(0)).unwrap();
    let store = rig.open().unwrap();
    assert_eq!(store.durable_seq(), 9);
    assert_eq!(value(&*store, "k0009"), None);
    rig.fill(&store, 20, 1);
    assert_eq!(payloads(&*store, 8, 10, None), [(9, "8".into()), (10, "20".into())]);
    drop(store);
    let store = rig.open().unwrap();
    assert_eq!(store.durable_seq(), 10);
    assert_eq!(value(&*store, "k0020").unwrap().0, 20);
}

/// Checks: a tail truncated below the snapshots' position is detected, and so is an older copy of the journal.
#[test]
fn case_66_truncated_applied_tail_is_rejected() {
    let rig = StoreHarness::new();
    let store = rig.open().unwrap();
    rig.fill(&store, 0, 5);
    let older = rig.disk.bytes(FIRST).unwrap();
    rig.fill(&store, 5, 5);
    store.step_apply().unwrap();
    drop(store);
    rig.disk.corrupt(FIRST, |bytes| *bytes = older).unwrap();
    assert!(matches!(
        rig.open(),
        Err(OpenError::JournalBehind {
            applied: 10,
            journal: 5
        })
    ));
    // Cut short as a file: the size in the header does not fit.
    rig.disk.corrupt(FIRST, |bytes| bytes.truncate(40_000)).unwrap();
    assert_eq!(rig.corrupt_at(), Some((FIRST.into(), 40_000)));
}

/// Checks: a copy of the last frames after the end is not accepted as new frames.
#[test]
fn case_66_duplicated_tail_is_rejected() {
    let rig = StoreHarness::new();
    let store = rig.open().unwrap();
    rig.fill(&store, 0, 4);
    drop(store);
    let bytes = rig.disk.bytes(FIRST).unwrap();
    let end = (bytes.iter().rposition(|b| *b != 0).unwrap() + 1).next_multiple_of(8);
    let frame = (end - 72) / 4;
    rig.disk
        .corrupt(FIRST, |bytes| bytes.copy_within(end - frame..end, end))
        .unwrap();
    assert_eq!(rig.corrupt_at(), Some((FIRST.into(), end as u64)));
}

/// Checks: the error names a segment that has another's name or is missing.
#[test]
fn renamed_copied_or_missing_segments_are_rejected() {
    let rig = StoreHarness::new();
    let store = rig.open().unwrap();
    rig.fill(&store, 0, 200);
    drop(store);
    let (first, second) = (rig.disk.bytes(FIRST).unwrap(), rig.disk.bytes(SECOND).unwrap());
    rig.disk.corrupt(SECOND, |bytes| bytes.clone_from(&first)).unwrap();
    assert_eq!(rig.corrupt_at(), Some((SECOND.into(), 0)));
    rig.disk.corrupt(SECOND, |bytes| bytes.fill(0)).unwrap();
    assert_eq!(rig.corrupt_at(), Some((SECOND.into(), 0)));
    rig.disk.corrupt(SECOND, |bytes| bytes.clone_from(&second)).unwrap();
    assert_eq!(rig.corrupt_at(), None);
    use purser_storage::disk::Disk;
    rig.disk.remove(SECOND).unwrap();
    assert!(matches!(rig.open(), Err(OpenError::Missing(name)) if name == SECOND));
}

/// Checks: an index file is never required, and never trusted when corrupt.
#[test]
fn corrupt_or_missing_index_is_rebuilt() {
    use purser_storage::disk::Disk;
    let mut rig = StoreHarness::new();
    rig.limits.verify_all = false;
    let store = rig.open().unwrap();
    rig.fill(&store, 0, 200);
    store.step_apply().unwrap();
    store.step_maintain().unwrap();
    store.export().unwrap();
    let expected = payloads(&*store, 0, 1000, Some("s"));
    assert_eq!(expected.len(), 200);
    drop(store);
    let name = "wal-000000000001.idx";
    let good = rig.disk.bytes(name).unwrap();
    for at in (0..good.len()).step_by(61) {
        rig.disk.corrupt(name, |bytes| bytes[at] ^= 0x10).unwrap();
        let store = rig.open().unwrap();
        assert_eq!(payloads(&*store, 0, 1000, Some("s")), expected, "byte {at}");
        assert_eq!(payloads(&*store, 0, 1000, None), expected, "byte {at}");
        store.step_maintain().unwrap();
        rig.disk.corrupt(name, |bytes| bytes.clone_from(&good)).unwrap();
    }
    rig.disk.remove(name).unwrap();
    let store = rig.open().unwrap();
    assert_eq!(payloads(&*store, 0, 1000, Some("s")), expected);
    store.step_maintain().unwrap();
    assert_eq!(rig.disk.bytes(name).unwrap(), good);
}

/// Checks: covered and old segments are deleted, readers get an error, and lost snapshots are still rebuilt completely.
#[test]
fn retention_drops_only_what_export_and_snapshots_cover() {
    let mut rig = StoreHarness::new();
    rig.limits.retention_ms = 1000;
    let store = rig.open().unwrap();
    rig.fill(&store, 0, 200);
    rig.clock.store(5_000_000, Ordering::SeqCst);
    assert_eq!(expired(&*store, 0), None);
    // Covered by an export, but not by the snapshots: everything stays.
    assert_eq!(store.export().unwrap(), 200);
    assert_eq!(expired(&*store, 0), None);
    store.step_apply().unwrap();
    store.export().unwrap();
    let oldest = expired(&*store, 0).expect("old segments went");
    assert!(oldest > 50 && oldest <= 200);
    assert_eq!(payloads(&*store, oldest - 1, 1000, None).len() as u64, 201 - oldest);
    assert_eq!(expired(&*store, oldest - 2), Some(oldest));
    rig.fill(&store, 200, 10);
    drop(store);
    rig.lose_snapshots();
    let store = rig.open().unwrap();
    assert_eq!(keys(&*store, "k", None, 1000).len(), 210);
    drop(store);
    // Without export there is no way back, and that is said.
    let name = format!("export-{:020}.rows", 200);
    rig.disk.corrupt(&name, |bytes| bytes[500] ^= 1).unwrap();
    rig.lose_snapshots();
    assert!(matches!(rig.open(), Err(OpenError::Snapshots(what)) if what.contains("export")));
}

/// Checks: a corrupt export is written again from intact snapshots.
#[test]
fn corrupt_export_is_written_again() {
    let rig = StoreHarness::new();
    let store = rig.open().unwrap();
    rig.fill(&store, 0, 20);
    store.step_apply().unwrap();
    let seq = store.export().unwrap();
    rig.disk
        .corrupt(&format!("export-{seq:020}.rows"), |bytes| bytes[500] ^= 1)
        .unwrap();
    rig.fill(&store, 20, 5);
    store.step_apply().unwrap();
    assert_eq!(store.export().unwrap(), 25);
    drop(store);
    rig.lose_snapshots();
    let store = rig.open().unwrap();
    assert_eq!(keys(&*store, "k", None, 1000).len(), 25);
}

/// Checks: a directory without write permission is rejected and left unchanged.
#[test]
fn case_65_read_only_disk_is_rejected() {
    let rig = StoreHarness::new();
    let store = rig.open().unwrap();
    rig.fill(&store, 0, 3);
    drop(store);
    let faults = purser_storage::sim_disk::FaultSchedule {
        read_only: true,
        ..Default::default()
    };
    rig.disk.set_faults(faults);
    let opened = JournalStore::open_on(
        Arc::new(rig.disk.clone()),
        &rig.source,
        rig.limits,
        Arc::new(|| 1),
        false,
    );
    assert!(matches!(opened, Err(OpenError::Io(_))));
    let store = rig.open().unwrap();
    assert_eq!((store.durable_seq(), keys(&*store, "k", None, 1000).len()), (3, 3));
}
