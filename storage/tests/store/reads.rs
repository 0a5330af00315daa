//! How much of the disk it takes to read events.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use purser_storage::disk::{Disk, DiskFile};
use purser_storage::sim_disk::SimDisk;
use purser_storage::snapshot::MemorySource;
use purser_storage::{JournalStore, StoreLimits};

use crate::suite::{batch, enqueue, event, payloads};

/// Counts what is read.
#[derive(Clone, Default)]
struct Meter {
    bytes: Arc<AtomicU64>,
    calls: Arc<AtomicU64>,
}

impl Meter {
    /// Bytes and calls that `act` took.
    fn measure(&self, act: impl FnOnce()) -> (u64, u64) {
        self.bytes.store(0, Ordering::SeqCst);
        self.calls.store(0, Ordering::SeqCst);
        act();
        (self.bytes.load(Ordering::SeqCst), self.calls.load(Ordering::SeqCst))
    }
}

struct Metered<T>(T, Meter);

impl DiskFile for Metered<Box<dyn DiskFile>> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read_at(offset, buf)?;
        self.1.bytes.fetch_add(n as u64, Ordering::SeqCst);
        self.1.calls.fetch_add(1, Ordering::SeqCst);
        Ok(n)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }
}

impl Disk for Metered<SimDisk> {
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(Metered(self.0.create(name)?, self.1.clone())))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(Metered(self.0.open(name)?, self.1.clone())))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.0.sync_dir()
    }

    fn salt(&self) -> io::Result<u64> {
        self.0.salt()
    }
}

/// Checks: reading a subject's few events costs their bytes, not a window each. Reading all events still uses windows.
#[test]
fn a_subjects_events_cost_only_their_own_bytes() {
    let meter = Meter::default();
    let disk = Arc::new(Metered(SimDisk::new(), meter.clone()));
    let limits = StoreLimits {
        segment_bytes: 8 << 20,
        ..StoreLimits::test()
    };
    let store = JournalStore::open_on(disk, &MemorySource::default(), limits, Arc::new(|| 5), false).unwrap();
    let (mut expected, filler) = (Vec::new(), "f".repeat(60_000));
    // Six megabytes, with an event of 'rare' every 600 KB.
    for seq in 1..=110 {
        let rare = seq % 11 == 0;
        let one = if rare {
            expected.push((seq, seq.to_string()));
            event("rare", &seq.to_string())
        } else {
            event("common", &filler)
        };
        let answer = enqueue(&*store, batch(vec![], vec![one]));
        store.step_commit();
        assert_eq!(answer.recv().unwrap().unwrap().seq, seq);
    }
    let (bytes, _) = meter.measure(|| assert_eq!(payloads(&*store, 0, 100, Some("rare")), expected));
    assert!(bytes < 10 * 256, "{bytes} bytes for ten small events");
    let (bytes, calls) = meter.measure(|| assert_eq!(payloads(&*store, 109, 100, Some("rare")), expected[9..]));
    assert!(bytes < 512 && calls <= 4, "{bytes} bytes in {calls} reads");
    let (_, calls) = meter.measure(|| assert_eq!(payloads(&*store, 0, 200, None).len(), 110));
    assert!(calls < 20, "{calls} reads for six megabytes in order");
}
