//! The index beside a log: sorted runs of names with their offsets, and a header. The header lists the valid runs, the
//! log position they cover, and the provider's state there. The header is replaced atomically, so a kill leaves the old
//! one or the new one. The index can be deleted at any time while no process has the log open.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex};

use super::ArchiveRecord;
use super::run::{RunHeader, SortedRun, entries};
use crate::sandbox::record_log::{FlushedRange, IndexKey, LogFile, LogPosition, LogSnapshot, frame_in};

/// Version 2: version 1 did not number gift cards.
const MAGIC: [u8; 8] = *b"SBXIDX02";

/// The index on disk, for readers.
#[derive(Debug)]
pub(crate) struct Index {
    log: File,
    view: Mutex<Arc<IndexSnapshot>>,
    changed: Condvar,
    failed: AtomicBool,
    closed: AtomicBool,
}

/// The index at one moment.
#[derive(Debug, Default)]
pub(super) struct IndexSnapshot {
    runs: Vec<Arc<SortedRun>>,
    /// Start of each flush: the number of the next counted record and its offset; the last entry is the end of all.
    steps: Vec<(u64, u64)>,
    /// Flushes taken since the start.
    pub(super) flushes: u64,
}

impl IndexSnapshot {
    /// Log offset up to which records are indexed.
    pub(super) fn upto(&self) -> u64 {
        self.steps.last().map_or(0, |(_, place)| *place)
    }

    /// Where to start searching for a number.
    pub(super) fn step_before(&self, number: u64) -> (u64, u64) {
        let after = self.steps.partition_point(|(first, _)| *first <= number);
        self.steps.get(after.saturating_sub(1)).copied().unwrap_or_default()
    }
}

impl Index {
    pub(super) fn view(&self) -> Arc<IndexSnapshot> {
        Arc::clone(&self.view.lock())
    }

    /// Waits until this many flushes are taken; false if that cannot happen.
    pub(super) fn wait_for(&self, spills: u64) -> bool {
        let mut view = self.view.lock();
        while view.flushes < spills {
            if self.has_failed() || self.closed.load(Ordering::Acquire) {
                return false;
            }
            self.changed.wait(&mut view);
        }
        true
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// From now on lookups fail: a record that is not found could still exist.
    pub(super) fn fail(&self, error: &io::Error) {
        tracing::error!(%error, "a sandbox index has failed");
        self.failed.store(true, Ordering::Release);
        self.close();
    }

    /// No more flushes will be taken.
    pub(super) fn close(&self) {
        let _view = self.view.lock();
        self.closed.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    /// The frames that may contain something with this name, in order.
    pub(super) fn frames_of(&self, view: &IndexSnapshot, name: u64) -> Vec<u64> {
        let mut places = Vec::new();
        for run in &view.runs {
            if let Err(error) = run.find(name, &mut places) {
                self.fail(&error);
            }
        }
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Everything in a frame, and the offset of the next one.
    pub(super) fn read<T: ArchiveRecord>(&self, at: u64) -> (Vec<T>, u64) {
        let bad = |what| io::Error::new(io::ErrorKind::InvalidData, what);
        let read = || {
            let frame = frame_in(&self.log, at)?;
            let mut items = Vec::new();
            for record in frame.records().map_err(bad)? {
                items.extend(T::decode(record).map_err(bad)?);
            }
            Ok((items, frame.point.end))
        };
        read().unwrap_or_else(|error| {
            self.fail(&error);
            (Vec::new(), at)
        })
    }
}

#[derive(Clone, Debug, bincode::Encode, bincode::Decode)]
struct IndexHeader {
    point: LogPosition,
    runs: Vec<RunHeader>,
    steps: Vec<(u64, u64)>,
    snapshot: LogSnapshot,
}

/// The single writer of the index.
#[derive(Debug)]
pub(super) struct IndexWriter {
    pub(super) index: Arc<Index>,
    dir: PathBuf,
    first: u64,
    next_run: u64,
}

impl IndexWriter {
    /// Opens the index of this log, if there is a valid one, and returns its position and state; otherwise creates a
    /// new one.
    ///
    /// # Errors
    /// When the disk fails.
    pub(super) fn open(path: &Path, log: &LogFile) -> io::Result<(Self, Option<(LogPosition, LogSnapshot)>)> {
        let mut name = path.as_os_str().to_owned();
        name.push(".index");
        let index = Index {
            log: File::open(path)?,
            view: Mutex::default(),
            changed: Condvar::new(),
            failed: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        };
        let mut spiller = Self {
            index: Arc::new(index),
            dir: name.into(),
            first: log.first,
            next_run: 0,
        };
        match spiller.restore(log) {
            Ok(head) => Ok((spiller, Some((head.point, head.snapshot)))),
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::warn!(index = %spiller.dir.display(), %error, "made anew from the whole log");
                }
                spiller.reset()?;
                Ok((spiller, None))
            }
        }
    }

    /// Deletes the index's contents.
    pub(super) fn reset(&mut self) -> io::Result<()> {
        match std::fs::remove_dir_all(&self.dir) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        std::fs::create_dir(&self.dir)?;
        *self.index.view.lock() = Arc::new(IndexSnapshot {
            steps: vec![(0, self.first)],
            ..IndexSnapshot::default()
        });
        Ok(())
    }

    fn restore(&mut self, log: &LogFile) -> io::Result<IndexHeader> {
        let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
        let bytes = std::fs::read(self.dir.join("head"))?;
        let (crc, rest) = bytes
            .strip_prefix(&MAGIC)
            .and_then(|rest| rest.split_first_chunk::<4>())
            .ok_or_else(|| bad("not a head"))?;
        if crc32c::crc32c(rest) != u32::from_le_bytes(*crc) {
            return Err(bad("a damaged head"));
        }
        let (head, _) = bincode::decode_from_slice::<IndexHeader, _>(rest, bincode::config::standard())
            .map_err(|e| bad(&e.to_string()))?;
        if !log.has(&head.point) {
            return Err(bad("not the index of this log"));
        }
        let mut runs = Vec::new();
        for run in &head.runs {
            // A missing run is corruption; a missing header is a log from before there were indexes.
            let open = SortedRun::open(&self.path_of(run.id), *run).map_err(|e| bad(&e.to_string()))?;
            runs.push(Arc::new(open));
            self.next_run = self.next_run.max(run.id + 1);
        }
        for file in std::fs::read_dir(&self.dir)? {
            let path = file?.path();
            let known = path.ends_with("head") || head.runs.iter().any(|run| path == self.path_of(run.id));
            if !known {
                std::fs::remove_file(path)?;
            }
        }
        let steps = head.steps.clone();
        *self.index.view.lock() = Arc::new(IndexSnapshot {
            runs,
            steps,
            flushes: 0,
        });
        Ok(head)
    }

    fn path_of(&self, id: u64) -> PathBuf {
        self.dir.join(format!("{id}.run"))
    }

    /// Adds the range between two marks; readers find it from now on.
    ///
    /// # Errors
    /// When the disk fails.
    pub(super) fn take(&mut self, spill: FlushedRange) -> io::Result<()> {
        let FlushedRange {
            mut entries,
            point,
            snapshot,
        } = spill;
        entries.sort_unstable();
        entries.dedup();
        let view = self.index.view();
        let (mut runs, mut steps) = (view.runs.clone(), view.steps.clone());
        if !entries.is_empty() {
            runs.push(self.write(entries.len() as u64, entries.into_iter().map(Ok))?);
        }
        steps.push((snapshot.counted, point.end));
        let head = self.publish(
            point,
            snapshot,
            IndexSnapshot {
                runs,
                steps,
                flushes: view.flushes + 1,
            },
        )?;
        self.merge(head)
    }

    fn write(&mut self, most: u64, entries: impl Iterator<Item = io::Result<IndexKey>>) -> io::Result<Arc<SortedRun>> {
        let id = self.next_run;
        self.next_run += 1;
        SortedRun::write(&self.path_of(id), id, most, entries).map(Arc::new)
    }

    fn publish(&self, point: LogPosition, snapshot: LogSnapshot, view: IndexSnapshot) -> io::Result<IndexHeader> {
        let head = IndexHeader {
            point,
            runs: view.runs.iter().map(|run| run.head).collect(),
            steps: view.steps.clone(),
            snapshot,
        };
        let bytes = bincode::encode_to_vec(&head, bincode::config::standard()).map_err(io::Error::other)?;
        let new = self.dir.join("head.new");
        let mut file = File::create(&new)?;
        file.write_all(&[&MAGIC[..], &crc32c::crc32c(&bytes).to_le_bytes(), &bytes].concat())?;
        file.sync_all()?;
        std::fs::rename(new, self.dir.join("head"))?;
        File::open(&self.dir)?.sync_all()?;
        *self.index.view.lock() = Arc::new(view);
        self.index.changed.notify_all();
        Ok(head)
    }

    /// Merges the newest runs while an older one is no longer than they are. The number of runs, and the copies of each
    /// entry, grow with the logarithm of the entries.
    fn merge(&mut self, head: IndexHeader) -> io::Result<()> {
        let view = self.index.view();
        let (mut first, mut sum) = (view.runs.len(), 0);
        while let Some(before) = first.checked_sub(1)
            && (sum == 0 || view.runs[before].head.entries <= sum)
        {
            (first, sum) = (before, sum + view.runs[before].head.entries);
        }
        let old = &view.runs[first..];
        if old.len() < 2 {
            return Ok(());
        }
        let mut inputs = Vec::new();
        for run in old {
            inputs.push(entries(&self.path_of(run.head.id))?.peekable());
        }
        let merged = self.write(sum, std::iter::from_fn(|| smallest(&mut inputs)))?;
        if merged.head.entries != sum {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a run has lost entries"));
        }
        let mut runs = view.runs[..first].to_vec();
        runs.push(merged);
        let steps = view.steps.clone();
        self.publish(
            head.point,
            head.snapshot,
            IndexSnapshot {
                runs,
                steps,
                flushes: view.flushes,
            },
        )?;
        old.iter()
            .try_for_each(|run| std::fs::remove_file(self.path_of(run.head.id)))
    }
}

fn smallest(
    inputs: &mut [std::iter::Peekable<impl Iterator<Item = io::Result<IndexKey>>>],
) -> Option<io::Result<IndexKey>> {
    let mut least: Option<(usize, IndexKey)> = None;
    for (place, input) in inputs.iter_mut().enumerate() {
        match input.peek() {
            Some(Ok(entry)) if least.is_none_or(|(_, other)| *entry < other) => least = Some((place, *entry)),
            Some(Ok(_)) | None => {}
            Some(Err(_)) => return input.next(),
        }
    }
    inputs.get_mut(least?.0)?.next()
}
