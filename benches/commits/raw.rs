//! The ceiling of every journal: a preallocated file, one thread, one `fdatasync` for all that wait. It checks nothing,
//! remembers nothing and could not be read back.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use crate::Fault;

/// As large as a segment in production.
const FILE_BYTES: u64 = 128 << 20;

#[derive(Default)]
struct Queue {
    waiting: Vec<(Vec<u8>, oneshot::Sender<()>)>,
    stop: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    bell: Condvar,
    syncs: AtomicU64,
}

/// Handle on the thread.
pub(crate) struct RawLog {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl RawLog {
    /// Writes the file full of zeros, syncs it and starts the thread.
    pub(crate) fn create(path: &Path) -> Result<Self, Fault> {
        let mut file = File::create(path)?;
        let zeros = vec![0; 1 << 20];
        for _ in 0..FILE_BYTES / (1 << 20) {
            file.write_all(&zeros)?;
        }
        file.sync_all()?;
        let shared = Arc::<Shared>::default();
        let own = shared.clone();
        let thread = std::thread::spawn(move || {
            // An error ends the thread: callers see their channels close.
            let _ = run(&own, &file);
        });
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Queues bytes; the receiver resolves when they are durable.
    pub(crate) fn append(&self, bytes: Vec<u8>) -> oneshot::Receiver<()> {
        let (done, durable) = oneshot::channel();
        self.shared.queue.lock().waiting.push((bytes, done));
        self.shared.bell.notify_one();
        durable
    }

    /// Syncs so far.
    pub(crate) fn syncs(&self) -> u64 {
        self.shared.syncs.load(Ordering::Relaxed)
    }
}

impl Drop for RawLog {
    fn drop(&mut self) {
        self.shared.queue.lock().stop = true;
        self.shared.bell.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared, file: &File) -> std::io::Result<()> {
    let (mut group, mut buf, mut at) = (Vec::new(), Vec::new(), 0);
    loop {
        {
            let mut queue = shared.queue.lock();
            while queue.waiting.is_empty() {
                if queue.stop {
                    return Ok(());
                }
                shared.bell.wait(&mut queue);
            }
            std::mem::swap(&mut queue.waiting, &mut group);
        }
        buf.clear();
        group.iter().for_each(|(bytes, _)| buf.extend_from_slice(bytes));
        if at + buf.len() as u64 > FILE_BYTES {
            at = 0;
        }
        file.write_all_at(&buf, at)?;
        file.sync_data()?;
        shared.syncs.fetch_add(1, Ordering::Relaxed);
        at += buf.len() as u64;
        for (_, done) in group.drain(..) {
            let _ = done.send(());
        }
    }
}
