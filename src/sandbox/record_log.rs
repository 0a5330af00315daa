//! Append-only file of a sandbox provider's records: checksummed frames, group commit, replay.
//!
//! It deliberately shares no code with the engine's journal: a sandbox chain must be able to be ahead of the engine
//! after a kill, as a real chain would be.
//!
//! File: 8 bytes that name the kind, then frames `magic (4) | length (4, LE) | crc32c (4, LE) | records`. A record is
//! `length (4, LE) | bytes`. One frame is one write and one `fdatasync`, so only the last frame can be torn. A bad
//! frame followed by a good one is corruption and prevents the start.
//!
//! The caller passes the lookup names of each record. `RecordLog::mark` passes the names collected since the last mark,
//! with the offsets of their frames, to an index (`archive`). A start therefore need not read the whole log.

mod reading;

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use tokio::sync::oneshot;

pub(crate) use self::reading::{LogFile, frame_in};

const FRAME_MAGIC: [u8; 4] = *b"SBXF";
const FRAME_HEADER: usize = 12;
/// Limit of a frame: a corrupt length must not allocate more.
const FRAME_LIMIT: usize = 16 << 20;
/// Most jobs that share one sync.
const GROUP_LIMIT: usize = 4096;
/// A group is closed above this size, in bytes.
const GROUP_BYTES: usize = 4 << 20;

/// Why a log cannot be opened or has stopped.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
    /// The middle of the file does not match its checksums.
    #[error("{path}: damaged at byte {offset}: {what}")]
    Corrupt {
        path: String,
        /// Offset of the bad frame.
        offset: u64,
        what: String,
    },
    /// A write failed earlier. Whether the last records are durable is unknown until the next start.
    #[error("the sandbox log has stopped")]
    Stopped,
}

/// A record's lookup name and the offset of its frame.
pub(crate) type IndexKey = (u64, u64);

/// The end of a log: its last frame and the offset of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) struct LogPosition {
    pub(crate) frame: u64,
    pub(crate) crc: u32,
    pub(crate) end: u64,
}

/// The state after the records so far, in the form that its reader restores.
#[derive(Clone, Debug, bincode::Encode, bincode::Decode)]
pub(crate) struct LogSnapshot {
    pub(crate) state: Vec<u8>,
    /// Number of counted records.
    pub(crate) counted: u64,
}

/// Everything between two marks, on disk.
#[derive(Debug)]
pub(crate) struct FlushedRange {
    pub(crate) entries: Vec<IndexKey>,
    pub(crate) point: LogPosition,
    pub(crate) snapshot: LogSnapshot,
}

/// Where writing continues.
#[derive(Debug)]
pub(crate) struct LogTail {
    pub(crate) end: u64,
    pub(crate) point: Option<LogPosition>,
    /// The names since the last mark.
    pub(crate) entries: Vec<IndexKey>,
}

enum WriterJob {
    Record {
        bytes: Vec<u8>,
        names: Vec<u64>,
        done: oneshot::Sender<()>,
    },
    Barrier(oneshot::Sender<()>),
    Mark(LogSnapshot),
}

/// The open log. Dropping it writes the queue and closes the file.
#[derive(Debug)]
pub(crate) struct RecordLog {
    jobs: Option<Mutex<Sender<WriterJob>>>,
    thread: Option<JoinHandle<()>>,
}

/// Resolves when a record and every record before it is on disk.
#[derive(Debug)]
#[must_use = "an answer must wait until what it rests on is durable"]
pub(crate) struct DurablePromise(oneshot::Receiver<()>);

impl DurablePromise {
    /// Waits for the sync.
    ///
    /// # Errors
    /// [`LogError::Stopped`] when the file could not be written.
    pub(crate) async fn wait(self) -> Result<(), LogError> {
        self.0.await.map_err(|_| LogError::Stopped)
    }

    /// A promise that has already failed.
    pub(crate) fn broken() -> Self {
        Self(oneshot::channel().1)
    }
}

impl RecordLog {
    /// Continues writing at the end of the file. `flushes` receives the ranges between marks and is closed at the end.
    pub(crate) fn start(
        sink: impl FrameSink,
        name: String,
        tail: LogTail,
        spills: Sender<FlushedRange>,
    ) -> io::Result<Self> {
        let (jobs, queue) = channel();
        let mut writer = Writer {
            sink,
            tail,
            flushes: spills,
        };
        let thread = std::thread::Builder::new().name("sandbox-log".into()).spawn(move || {
            if let Err(error) = writer.run(&queue) {
                tracing::error!(file = name, %error, "sandbox log stopped");
            }
        })?;
        Ok(Self {
            jobs: Some(Mutex::new(jobs)),
            thread: Some(thread),
        })
    }

    /// Queues a record with its names. The order of the calls is the order in the file.
    pub(crate) fn append(&self, bytes: Vec<u8>, names: Vec<u64>) -> DurablePromise {
        let (done, durable) = oneshot::channel();
        self.queue(WriterJob::Record { bytes, names, done });
        DurablePromise(durable)
    }

    /// Waits for everything queued before, without writing.
    pub(crate) fn barrier(&self) -> DurablePromise {
        let (done, durable) = oneshot::channel();
        self.queue(WriterJob::Barrier(done));
        DurablePromise(durable)
    }

    /// Ends the frame. Once it is on disk, the records since the last mark go to the index.
    pub(crate) fn mark(&self, snapshot: LogSnapshot) {
        self.queue(WriterJob::Mark(snapshot));
    }

    fn queue(&self, job: WriterJob) {
        if let Some(jobs) = &self.jobs {
            // A closed channel drops the job and its `done`: the waiter receives `Stopped`.
            let _ = jobs.lock().send(job);
        }
    }
}

/// Destination of frames: the file, or a test double.
pub(crate) trait FrameSink: Send + 'static {
    fn write_durably(&mut self, frame: &[u8]) -> io::Result<()>;
}

impl FrameSink for File {
    fn write_durably(&mut self, frame: &[u8]) -> io::Result<()> {
        self.write_all(frame)?;
        self.sync_data()
    }
}

impl Drop for RecordLog {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Writer<S> {
    sink: S,
    tail: LogTail,
    flushes: Sender<FlushedRange>,
}

impl<S: FrameSink> Writer<S> {
    fn run(&mut self, queue: &Receiver<WriterJob>) -> io::Result<()> {
        while let Ok(first) = queue.recv() {
            let (mut records, mut all_names, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
            let (mut next, mut mark) = (Some(first), None);
            while let Some(job) = next {
                match job {
                    WriterJob::Record { bytes, names, done } => {
                        records.extend_from_slice(&u32_of(bytes.len())?.to_le_bytes());
                        records.extend_from_slice(&bytes);
                        all_names.extend(names);
                        waiting.push(done);
                    }
                    WriterJob::Barrier(done) => waiting.push(done),
                    WriterJob::Mark(snapshot) => mark = Some(snapshot),
                }
                let fits = mark.is_none() && waiting.len() < GROUP_LIMIT && records.len() < GROUP_BYTES;
                next = if fits { queue.try_recv().ok() } else { None };
            }
            if !records.is_empty() {
                self.write(&records, all_names)?;
            }
            if let Some((snapshot, point)) = mark.zip(self.tail.point) {
                let entries = std::mem::take(&mut self.tail.entries);
                let spill = FlushedRange {
                    entries,
                    point,
                    snapshot,
                };
                // Without a receiver the index has failed, and reports that itself.
                let _ = self.flushes.send(spill);
            }
            for done in waiting {
                let _ = done.send(());
            }
        }
        Ok(())
    }

    fn write(&mut self, records: &[u8], names: Vec<u64>) -> io::Result<()> {
        let crc = crc32c::crc32c(records);
        let mut frame = Vec::with_capacity(records.len() + FRAME_HEADER);
        frame.extend_from_slice(&FRAME_MAGIC);
        frame.extend_from_slice(&u32_of(records.len())?.to_le_bytes());
        frame.extend_from_slice(&crc.to_le_bytes());
        frame.extend_from_slice(records);
        self.sink.write_durably(&frame)?;
        let at = self.tail.end;
        self.tail.end += frame.len() as u64;
        self.tail.point = Some(LogPosition {
            frame: at,
            crc,
            end: self.tail.end,
        });
        self.tail.entries.extend(names.into_iter().map(|name| (name, at)));
        Ok(())
    }
}

fn u32_of(length: usize) -> io::Result<u32> {
    u32::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

#[cfg(test)]
mod tests;
