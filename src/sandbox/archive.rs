//! The records of a sandbox provider, however many: new ones in memory, old ones in its log, found by an index.
//!
//! The log (`record_log`) is the source of truth. A record stays in a [`RecordBuffer`] in memory until a thread has
//! written its names to the index beside the log (`index`). After that it is read from the log. The index also stores
//! the provider's state at that position, so a start replays only later records. Without a valid index it replays
//! everything.

mod buffer;
mod index;
mod run;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use sha2::{Digest as _, Sha256};

pub(crate) use self::buffer::RecordBuffer;
use self::index::{Index, IndexWriter};
use super::record_log::{DurablePromise, FlushedRange, LogError, LogFile, LogSnapshot, LogTail, RecordLog};

/// Records in memory when a flush to the index starts. Few in tests, so that those also read old records.
const FLUSH_RECORDS: usize = if cfg!(test) { 4 } else { 4_096 };
/// Most records in memory while the index is busy with earlier ones. At the limit, calls wait for it.
const MAX_IN_MEMORY: usize = 8 * FLUSH_RECORDS;

/// One item of a log record.
pub(crate) trait ArchiveRecord: Clone {
    /// Decodes the items of a log record.
    ///
    /// # Errors
    /// When it is not a record of this kind.
    fn decode(record: &[u8]) -> Result<Vec<Self>, String>;

    /// The names ([`name`]) by which it is looked up.
    fn index_keys(&self) -> Vec<u64>;

    /// Whether it has a number in the provider's history.
    fn is_counted(&self) -> bool;
}

/// The state of a provider, built from its records.
pub(crate) trait ArchiveState {
    type Item: ArchiveRecord;

    /// Applies an item, live and on replay, and adds it to the buffer.
    ///
    /// # Errors
    /// For records that this provider cannot have written.
    fn apply(&mut self, item: &Self::Item) -> Result<(), String>;

    /// The buffer of its records.
    fn buffer(&mut self) -> &mut RecordBuffer<Self::Item>;

    /// Serializes everything but the records.
    fn save(&self) -> Vec<u8>;

    /// Restores a serialized state.
    ///
    /// # Errors
    /// When it cannot be decoded; nothing has changed then.
    fn load(&mut self, saved: &[u8]) -> Result<(), String>;

    /// How many items [`ArchiveState::save`] writes; a larger state is saved less often.
    fn weight(&self) -> usize;
}

/// A name in the index. Different inputs have different names, except for a chance of 2^-64 per pair.
pub(crate) fn name(parts: &[&[u8]]) -> u64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize()
        .iter()
        .take(8)
        .fold(0, |name, byte| name << 8 | u64::from(*byte))
}

/// The open log and the thread that maintains its index.
#[derive(Debug)]
pub(crate) struct Archive {
    log: Option<RecordLog>,
    index: Arc<Index>,
    thread: Option<JoinHandle<()>>,
}

impl Archive {
    /// Opens or creates the log with the index beside it (the same name with `.index`) and brings the state up to date.
    ///
    /// # Errors
    /// When the disk fails, another process has the log, or it is corrupt before its tail.
    pub(crate) fn open<B: ArchiveState>(path: &Path, kind: [u8; 8], book: &mut B) -> Result<Self, LogError> {
        let io = |source| LogError::Io {
            path: path.display().to_string(),
            source,
        };
        let mut file = LogFile::open(path, kind)?;
        let (mut spiller, saved) = IndexWriter::open(path, &file).map_err(io)?;
        let mut tail = LogTail {
            end: file.first,
            point: None,
            entries: Vec::new(),
        };
        if let Some((point, snapshot)) = saved {
            match book.load(&snapshot.state) {
                Ok(()) => {
                    book.buffer().start_at(snapshot.counted);
                    (tail.end, tail.point) = (point.end, Some(point));
                }
                Err(error) => {
                    tracing::warn!(file = %path.display(), error, "the index's state is not understood");
                    spiller.reset().map_err(io)?;
                }
            }
        }
        book.buffer().set_index(Arc::clone(&spiller.index));
        tail.end = file.replay(tail.end, |frame| {
            for record in frame.records()? {
                for item in B::Item::decode(record)? {
                    book.apply(&item)?;
                }
            }
            let names = book.buffer().take_names();
            tail.entries
                .extend(names.into_iter().map(|name| (name, frame.point.frame)));
            tail.point = Some(frame.point);
            if let Some(snapshot) = snapshot_if_due(book) {
                let entries = std::mem::take(&mut tail.entries);
                let point = frame.point;
                spiller
                    .take(FlushedRange {
                        entries,
                        point,
                        snapshot,
                    })
                    .map_err(|e| e.to_string())?;
            }
            Ok(())
        })?;
        let index = Arc::clone(&spiller.index);
        let (sender, spills) = channel();
        let (file, name) = file.split(&tail)?;
        let thread = std::thread::Builder::new()
            .name("sandbox-index".into())
            .spawn(move || write_index(&mut spiller, &spills))
            .map_err(io)?;
        Ok(Self {
            log: Some(RecordLog::start(file, name, tail, sender).map_err(io)?),
            index,
            thread: Some(thread),
        })
    }

    /// Whether old records can no longer be read or stored. Lookup results are meaningless then.
    pub(crate) fn has_failed(&self) -> bool {
        self.index.has_failed()
    }

    /// Queues a record that the state has applied.
    pub(crate) fn append(&self, book: &mut impl ArchiveState, record: Vec<u8>) -> DurablePromise {
        let names = book.buffer().take_names();
        let Some(log) = self.log.as_ref().filter(|_| !self.has_failed()) else {
            return DurablePromise::broken();
        };
        let durable = log.append(record, names);
        if let Some(snapshot) = snapshot_if_due(book) {
            log.mark(snapshot);
        }
        durable
    }

    /// Waits for everything queued before, and reports whether lookups can be trusted.
    pub(crate) fn barrier(&self) -> DurablePromise {
        match &self.log {
            Some(log) if !self.has_failed() => log.barrier(),
            _ => DurablePromise::broken(),
        }
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        self.log = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The current state, when its newest records are due to be flushed to the index.
fn snapshot_if_due<B: ArchiveState>(book: &mut B) -> Option<LogSnapshot> {
    let at = FLUSH_RECORDS.max(book.weight() / 8).min(MAX_IN_MEMORY / 2);
    if !book.buffer().start_flush(at, MAX_IN_MEMORY) {
        return None;
    }
    Some(LogSnapshot {
        state: book.save(),
        counted: book.buffer().counted(),
    })
}

fn write_index(spiller: &mut IndexWriter, spills: &Receiver<FlushedRange>) {
    while let Ok(spill) = spills.recv() {
        if let Err(error) = spiller.take(spill) {
            return spiller.index.fail(&error);
        }
    }
    // The log has ended. If it failed, callers may be waiting for space in memory.
    spiller.index.close();
}

#[cfg(test)]
mod tests;
