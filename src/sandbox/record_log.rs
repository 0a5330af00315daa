//! An append-only file for what a sandbox provider knows: checksummed frames, group commit, replay.
//!
//! It deliberately shares nothing with the engine's journal: a sandbox chain must be able to be ahead of
//! the engine after a kill, as a real chain would be.
//!
//! File: 8 bytes that name the kind, then frames `magic (4) | length (4, LE) | crc32c (4, LE) | records`,
//! where a record is `length (4, LE) | bytes`. One frame is one write and one `fdatasync`, so a torn write can
//! only be the last frame. A bad frame with a good one behind it is damage and stops the start.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use tokio::sync::oneshot;

const FRAME_MAGIC: [u8; 4] = *b"SBXF";
const FRAME_HEADER: usize = 12;
/// No frame is longer; a damaged length must not allocate more.
const FRAME_LIMIT: usize = 16 << 20;
/// Jobs that share one sync at most.
const GROUP_LIMIT: usize = 4096;
/// A group is closed above this size.
const GROUP_BYTES: usize = 4 << 20;

/// Why a log cannot be opened or has stopped.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The disk refused.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// Something in the middle of the file is not what was written.
    #[error("{path}: damaged at byte {offset}: {what}")]
    Damaged {
        /// The file.
        path: String,
        /// Where the bad frame begins.
        offset: u64,
        /// What is wrong with it.
        what: String,
    },
    /// A write failed before; whether the last records are durable is unknown until the next start.
    #[error("the sandbox log has stopped")]
    Stopped,
}

struct Job {
    record: Vec<u8>,
    done: oneshot::Sender<()>,
}

/// The open log. Dropping it writes out what is queued and closes the file.
#[derive(Debug)]
pub struct RecordLog {
    jobs: Option<Mutex<Sender<Job>>>,
    thread: Option<JoinHandle<()>>,
}

/// The promise that a record, and every record before it, is on disk.
#[derive(Debug)]
#[must_use = "an answer must wait until what it rests on is durable"]
pub struct Durable(oneshot::Receiver<()>);

impl Durable {
    /// Waits for the sync.
    ///
    /// # Errors
    /// [`LogError::Stopped`] when the file could not be written.
    pub async fn wait(self) -> Result<(), LogError> {
        self.0.await.map_err(|_| LogError::Stopped)
    }
}

impl RecordLog {
    /// Opens or makes the file and hands every record in it to `replay`, in order. A torn tail is cut off.
    ///
    /// # Errors
    /// When the disk fails, another process has the file, the file is of another kind, or it is damaged.
    pub fn open(
        path: &Path,
        kind: [u8; 8],
        mut replay: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<Self, LogError> {
        let io = |source| LogError::Io {
            path: path.display().to_string(),
            source,
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(io)?;
        file.try_lock().map_err(|e| io(e.into()))?;
        let good = read_all(&mut file, path, kind, &mut replay)?;
        file.set_len(good).map_err(io)?;
        file.sync_all().map_err(io)?;
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            File::open(directory).and_then(|d| d.sync_all()).map_err(io)?;
        }
        file.seek(SeekFrom::Start(good)).map_err(io)?;
        Self::start(file, path.display().to_string()).map_err(io)
    }

    fn start(mut sink: impl Sink, name: String) -> io::Result<Self> {
        let (jobs, queue) = channel();
        let thread = std::thread::Builder::new().name("sandbox-log".into()).spawn(move || {
            if let Err(error) = run(&mut sink, &queue) {
                tracing::error!(file = name, %error, "sandbox log stopped");
            }
        })?;
        Ok(Self {
            jobs: Some(Mutex::new(jobs)),
            thread: Some(thread),
        })
    }

    /// Queues a record. The order of the calls is the order in the file.
    pub fn append(&self, record: Vec<u8>) -> Durable {
        let (done, durable) = oneshot::channel();
        if let Some(jobs) = &self.jobs {
            // A closed channel drops the job and with it `done`: the waiter sees `Stopped`.
            let _ = jobs.lock().send(Job { record, done });
        }
        Durable(durable)
    }

    /// Writes nothing and waits for everything queued before.
    pub fn barrier(&self) -> Durable {
        self.append(Vec::new())
    }
}

/// Where frames go: the file, or what a test puts in its place.
trait Sink: Send + 'static {
    fn write_durably(&mut self, frame: &[u8]) -> io::Result<()>;
}

impl Sink for File {
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

fn run(sink: &mut impl Sink, queue: &Receiver<Job>) -> io::Result<()> {
    while let Ok(first) = queue.recv() {
        let mut records = Vec::new();
        let mut waiting = Vec::new();
        let mut next = Some(first);
        while let Some(job) = next {
            if !job.record.is_empty() {
                records.extend_from_slice(&u32_of(job.record.len())?.to_le_bytes());
                records.extend_from_slice(&job.record);
            }
            waiting.push(job.done);
            let room = waiting.len() < GROUP_LIMIT && records.len() < GROUP_BYTES;
            next = if room { queue.try_recv().ok() } else { None };
        }
        if !records.is_empty() {
            let mut frame = Vec::with_capacity(records.len() + FRAME_HEADER);
            frame.extend_from_slice(&FRAME_MAGIC);
            frame.extend_from_slice(&u32_of(records.len())?.to_le_bytes());
            frame.extend_from_slice(&crc32c::crc32c(&records).to_le_bytes());
            frame.extend_from_slice(&records);
            sink.write_durably(&frame)?;
        }
        for done in waiting {
            let _ = done.send(());
        }
    }
    Ok(())
}

fn u32_of(length: usize) -> io::Result<u32> {
    u32::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

/// Replays the file and returns how many bytes of it are good.
fn read_all(
    file: &mut File,
    path: &Path,
    kind: [u8; 8],
    replay: &mut impl FnMut(&[u8]) -> Result<(), String>,
) -> Result<u64, LogError> {
    let name = || path.display().to_string();
    let io = |source| LogError::Io { path: name(), source };
    let damaged = |offset: usize, what: &str| LogError::Damaged {
        path: name(),
        offset: offset as u64,
        what: what.into(),
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() < kind.len() {
        if !kind.starts_with(&bytes) {
            return Err(damaged(0, "not a file of this kind"));
        }
        file.seek(SeekFrom::Start(0)).map_err(io)?;
        file.write_all(&kind).map_err(io)?;
        return Ok(kind.len() as u64);
    }
    if !bytes.starts_with(&kind) {
        return Err(damaged(0, "not a file of this kind"));
    }
    let mut at = kind.len();
    while at < bytes.len() {
        let Some(records) = frame_at(&bytes[at..]) else {
            let later =
                (at + 1..bytes.len()).any(|i| bytes[i..].starts_with(&FRAME_MAGIC) && frame_at(&bytes[i..]).is_some());
            if later {
                return Err(damaged(at, "checksum mismatch before the end"));
            }
            tracing::warn!(
                file = name(),
                offset = at,
                lost_bytes = bytes.len() - at,
                "torn tail cut off"
            );
            break;
        };
        let mut rest = records;
        while !rest.is_empty() {
            let (record, tail) = split_record(rest).ok_or_else(|| damaged(at, "record length"))?;
            replay(record).map_err(|what| damaged(at, &what))?;
            rest = tail;
        }
        at += FRAME_HEADER + records.len();
    }
    Ok(at as u64)
}

fn frame_at(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(&FRAME_MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (crc, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length))
        .ok()
        .filter(|l| *l <= FRAME_LIMIT)?;
    let records = rest.get(..length)?;
    (crc32c::crc32c(records) == u32::from_le_bytes(*crc)).then_some(records)
}

fn split_record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}

#[cfg(test)]
mod tests;
