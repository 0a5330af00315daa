//! The journal store: segments are the source of truth, with the latest rows in snapshots behind them.

mod answers;
mod committer;
mod copies;
mod core;
mod events;
mod export;
mod frame;
mod index;
mod overlay;
mod pacing;
mod rebuild;
pub(crate) mod recovery;
mod sealing;
mod segment;
mod threads;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub use answers::{AnswerSink, GroupAnswers};
pub use committer::{MAX_EVENT_BYTES, MAX_KEY_BYTES};
pub use core::FatalCallback;
pub(crate) use core::StoreCore;
pub use export::RestoreMarker;
pub(crate) use frame::{WriteRecord, u32_at, u64_at, visit as visit_frame};
pub(crate) use sealing::scan_segment;
pub(crate) use segment::{ReadWindow, Segment, index_name, segment_name};

use crate::disk::{Disk, FileDisk};
use crate::lock::DirLock;
use crate::snapshot::{SledSource, SnapshotSource};
use crate::stats::JournalStats;
use crate::{
    Batch, BoxFuture, CommitCallback, EventSink, Headroom, Row, RowKey, Seq, Span, Store, StoreError, StoredEvent,
};
use threads::Threads;

/// Microseconds since 1970. Cursors and retention use this clock.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Sizes and times of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// Size of a journal segment, preallocated. 64 KiB to 1 GiB; a change takes effect with the next segment.
    pub segment_bytes: u64,
    /// A group is closed when it has this many bytes.
    pub group_bytes: usize,
    /// Time from one sync to the next while many callers commit. 0: syncs are not spaced.
    pub sync_spacing_ms: u64,
    /// Rows are written to the snapshots once this many journal bytes wait. A start after a kill replays about as many.
    pub apply_bytes: u64,
    /// Longest interval between two writes to the snapshots, while there are rows to write.
    pub apply_interval_ms: u64,
    /// Reported by [`Store::headroom`]; above it the HTTP layer rejects new requests.
    pub lag_limit_bytes: u64,
    /// Cache size passed to sled, which can use a multiple of it.
    pub sled_cache_bytes: u64,
    /// Events are kept at least this long, unless `retention_bytes` is exceeded.
    pub retention_ms: u64,
    /// Sealed segments that are covered by snapshots and export are kept up to this many bytes.
    pub retention_bytes: u64,
    /// An export starts automatically when this many bytes of sealed segments are not in the last one.
    pub export_every_bytes: u64,
    /// Check every frame of every segment at open, not only those that the newest export does not cover.
    pub verify_all: bool,
}

impl StoreLimits {
    /// For production: segments of 128 MiB.
    pub const fn production() -> Self {
        Self {
            segment_bytes: 128 << 20,
            group_bytes: 4 << 20,
            sync_spacing_ms: 1,
            apply_bytes: 64 << 20,
            apply_interval_ms: 20_000,
            lag_limit_bytes: 1 << 30,
            sled_cache_bytes: 256 << 20,
            retention_ms: 30 * 24 * 3_600_000,
            retention_bytes: 64 << 30,
            export_every_bytes: 512 << 20,
            verify_all: false,
        }
    }

    /// For the sandbox: segments of 16 MiB.
    pub const fn sandbox() -> Self {
        Self {
            segment_bytes: 16 << 20,
            lag_limit_bytes: 128 << 20,
            sled_cache_bytes: 32 << 20,
            retention_bytes: 1 << 30,
            export_every_bytes: 256 << 20,
            ..Self::production()
        }
    }

    /// For tests: segments of 1 MiB.
    pub const fn test() -> Self {
        Self {
            segment_bytes: 1 << 20,
            group_bytes: 256 << 10,
            apply_bytes: 1 << 20,
            apply_interval_ms: 20,
            lag_limit_bytes: 16 << 20,
            sled_cache_bytes: 4 << 20,
            export_every_bytes: 4 << 20,
            verify_all: true,
            ..Self::production()
        }
    }

    /// The largest batch: a quarter of a segment, at most 1 MiB.
    pub(crate) fn max_batch_bytes(&self) -> usize {
        (self.segment_bytes / 4).min(1 << 20) as usize
    }

    fn check(&self) -> Result<(), OpenError> {
        if !(64 << 10..=1 << 30).contains(&self.segment_bytes) || !self.segment_bytes.is_multiple_of(4096) {
            return Err(OpenError::Setting(
                "segment_bytes must be 64 KiB to 1 GiB, a multiple of 4096",
            ));
        }
        if self.group_bytes == 0 || self.apply_interval_ms == 0 || self.lag_limit_bytes == 0 {
            return Err(OpenError::Setting(
                "group_bytes, apply_interval_ms and lag_limit_bytes must not be 0",
            ));
        }
        Ok(())
    }
}

/// Options for opening a store.
#[derive(Clone)]
pub struct StoreOptions {
    /// Directory of all files; created if missing.
    pub dir: PathBuf,
    /// Sizes and times.
    pub limits: StoreLimits,
    /// Time source of the store.
    pub clock: Clock,
}

/// Reason why a store cannot be opened. Nothing was changed that an acknowledged batch needs.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error("{0} is in use by another process")]
    Locked(PathBuf),
    /// The disk failed, or is not writable.
    #[error("storage failed: {0}")]
    Io(String),
    /// Bytes that were durable have changed.
    #[error("damaged: {segment} at byte {offset}: {what}")]
    Corrupt {
        /// Name of the file.
        segment: String,
        /// Byte offset in the file.
        offset: u64,
        /// Kind of the corruption.
        what: &'static str,
    },
    /// A required file is missing.
    #[error("missing: {0}")]
    Missing(String),
    /// The snapshots are ahead of the journal: its end was cut off, or it is an older copy.
    #[error("the journal ends at {journal} but snapshots or exports hold everything up to {applied}")]
    JournalBehind {
        /// Last sequence in the snapshots.
        applied: Seq,
        /// The last sequence in the journal.
        journal: Seq,
    },
    /// The snapshot engine does not work.
    #[error("snapshots: {0}")]
    Snapshots(String),
    /// A setting is out of range.
    #[error("setting: {0}")]
    Setting(&'static str),
    /// sled would call the libc function instead of this one, so its flushes would not be durable.
    #[error("sync_file_range is not bound to fdatasync in this binary")]
    SyncNotBound,
}

/// The durable store of one machine. Dropping it drains, applies and stops its threads.
pub struct JournalStore {
    core: Arc<StoreCore>,
    threads: Threads,
    restore_marker: Option<RestoreMarker>,
    // Released last.
    _lock: Option<DirLock>,
}

impl JournalStore {
    /// Opens a store on files, recovering whatever state it was left in.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(options: StoreOptions) -> Result<Arc<Self>, OpenError> {
        let io = |e: std::io::Error| OpenError::Io(format!("{}: {e}", options.dir.display()));
        let disk = FileDisk::open(&options.dir).map_err(io)?;
        let lock = DirLock::acquire(&options.dir)?;
        let sled = SledSource::new(&options.dir.join("sled"), options.limits.sled_cache_bytes);
        let name = options.dir.file_name().unwrap_or_default().to_string_lossy();
        let disk = Arc::new(disk);
        Self::start(disk, &sled, options.limits, options.clock, Some(lock), Some(&name))
    }

    /// Opens a store on any disk and snapshots. Without `threads` nothing runs automatically: call
    /// [`JournalStore::step_commit`] and the other steps, as a simulation does.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open_on(
        disk: Arc<dyn Disk>,
        snapshots: &dyn SnapshotSource,
        limits: StoreLimits,
        clock: Clock,
        threads: bool,
    ) -> Result<Arc<Self>, OpenError> {
        Self::start(disk, snapshots, limits, clock, None, threads.then_some("store"))
    }

    /// `threads` is what the names of the threads begin with; without it none are started.
    fn start(
        disk: Arc<dyn Disk>,
        snapshots: &dyn SnapshotSource,
        limits: StoreLimits,
        clock: Clock,
        lock: Option<DirLock>,
        threads: Option<&str>,
    ) -> Result<Arc<Self>, OpenError> {
        limits.check()?;
        let (engine, mark) = recovery::recover(disk, snapshots, limits, clock)?;
        let engine = Arc::new(engine);
        let threads = match threads {
            Some(store) => {
                Threads::start(&engine, store).map_err(|e| OpenError::Io(format!("cannot start a thread: {e}")))?
            }
            None => Threads::none(),
        };
        Ok(Arc::new(Self {
            core: engine,
            threads,
            restore_marker: mark,
            _lock: lock,
        }))
    }

    /// Sets the callback that runs once when the store has failed; the binary aborts the process.
    pub fn on_fatal(&self, hook: FatalCallback) {
        self.core.set_on_fatal(hook);
    }

    /// Hands the answers of every later group to `sink`, instead of running them on the committing thread. Only the first
    /// sink counts. [`JournalStore::close`] does not wait for answers that the sink has not run.
    pub fn set_answer_sink(&self, sink: AnswerSink) {
        // The sink is a part of the store, which it must not keep.
        let engine = Arc::downgrade(&self.core);
        self.core.set_answer_sink(Box::new(move |answers| {
            let engine = engine.clone();
            sink(answers::GroupAnswers { answers, engine });
        }));
    }

    /// Whether an I/O error has stopped the store.
    pub fn has_failed(&self) -> bool {
        self.core.has_failed()
    }

    /// Commits one group of the queue, on this thread. False if the queue was empty.
    pub fn step_commit(&self) -> bool {
        self.core.committer.lock().step(&self.core)
    }

    /// Moves durable rows into the snapshots, on this thread. False if there were none.
    ///
    /// # Errors
    /// When the snapshots fail; the store then stops.
    pub fn step_apply(&self) -> Result<bool, StoreError> {
        self.core.apply_or_fail(&mut || ())
    }

    /// Preallocates the next segment and writes indexes of sealed ones, on this thread.
    ///
    /// # Errors
    /// When the disk fails; the store then stops.
    pub fn step_maintain(&self) -> Result<(), StoreError> {
        self.core
            .janitor_step()
            .inspect_err(|e| self.core.fail("the journal's upkeep failed", e))
    }

    /// Set if this store was made from a backup.
    pub fn restore_marker(&self) -> Option<RestoreMarker> {
        self.restore_marker
    }

    /// Everything up to this sequence is in the snapshots.
    pub fn applied_seq(&self) -> Seq {
        self.core.applied.load(Ordering::Acquire)
    }

    /// [`Store::read`] without a future: a read never waits for a commit.
    ///
    /// # Errors
    /// When the snapshots fail.
    pub fn read_row(&self, key: &[u8]) -> Result<Option<Row>, StoreError> {
        self.core.row(key)
    }

    /// [`Store::scan`] without a future.
    ///
    /// # Errors
    /// When the snapshots fail.
    pub fn scan_rows(
        &self,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<(RowKey, Row)>, StoreError> {
        self.core.scan(prefix, after, limit)
    }

    /// Whether nothing was ever committed.
    pub fn is_empty(&self) -> bool {
        self.durable_seq() == 0
    }

    /// Counts since the store was opened.
    pub fn stats(&self) -> JournalStats {
        let commits = &self.core.commit_stats;
        JournalStats {
            batches: commits.batches.snapshot(),
            group_us: commits.group_us.snapshot(),
            bytes: commits.bytes.load(Ordering::Relaxed),
            commits: commits.commits.load(Ordering::Relaxed),
            syncs: commits.syncs.load(Ordering::Relaxed),
            rejected: commits.rejected.load(Ordering::Relaxed),
            durable_seq: self.durable_seq(),
            applied_seq: self.applied_seq(),
            segments: self.core.segments.read().len(),
            // Locked while an export is made; `try_lock` keeps readers from waiting for it.
            exported_seq: self
                .core
                .export
                .try_lock()
                .and_then(|export| export.map(|info| info.seq)),
        }
    }

    /// Accepts no further batches, commits and applies the queue, and stops the threads. Further calls do nothing.
    pub fn close(&self) {
        self.core.close_queue();
        self.threads.stop(&self.core);
    }
}

impl Drop for JournalStore {
    fn drop(&mut self) {
        self.close();
    }
}

impl Store for JournalStore {
    fn commit(&self, batch: Batch, done: CommitCallback) {
        self.core.enqueue(batch, done);
    }

    fn read<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Row>, StoreError>> {
        Box::pin(std::future::ready(self.read_row(key)))
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a [u8],
        after: Option<&'a [u8]>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(RowKey, Row)>, StoreError>> {
        Box::pin(std::future::ready(self.scan_rows(prefix, after, limit)))
    }

    fn scan_back<'a>(
        &'a self,
        prefix: &'a [u8],
        before: Option<&'a [u8]>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(RowKey, Row)>, StoreError>> {
        Box::pin(std::future::ready(self.core.scan_back(prefix, before, limit)))
    }

    fn events<'a>(
        &'a self,
        after: Seq,
        limit: usize,
        subject: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<Vec<StoredEvent>, StoreError>> {
        let read = events::read_events(&self.core, after, limit, subject);
        Box::pin(std::future::ready(read))
    }

    fn events_of<'a>(
        &'a self,
        subject: &'a [u8],
        span: Span,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredEvent>, StoreError>> {
        let read = events::read_span(&self.core, subject, span, limit);
        Box::pin(std::future::ready(read))
    }

    fn durable_seq(&self) -> Seq {
        self.core.durable.load(Ordering::Acquire)
    }

    fn headroom(&self) -> Headroom {
        Headroom {
            lag_bytes: self.core.overlay.lag_bytes(),
            lag_limit_bytes: self.core.limits.lag_limit_bytes,
            queued: self.core.queued(),
        }
    }

    fn subscribe(&self, sink: Arc<dyn EventSink>) {
        self.core.sinks.write().push(sink);
    }
}
