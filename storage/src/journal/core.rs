//! State shared by the threads of a store.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, RwLock};

use super::answers::{self, Answer};
use super::committer::Committer;
use super::overlay::Overlay;
use super::pacing::{NextGroup, SyncPacing};
use super::sealing::save_sealed_indexes;
use super::segment::{Segment, SpareSegment, preallocate};
use super::{Clock, StoreLimits};
use crate::disk::Disk;
use crate::journal::export::ExportInfo;
use crate::snapshot::SnapshotStore;
use crate::stats::CommitStats;
use crate::{Batch, CommitCallback, CommitError, EventSink, Row, RowKey, Seq, StoreError};

pub(crate) struct QueuedBatch {
    pub(crate) batch: Batch,
    pub(crate) callback: CommitCallback,
}

#[derive(Default)]
struct CommitQueue {
    queue: VecDeque<QueuedBatch>,
    /// The committer sleeps and must be woken once this many batches are queued.
    wake_at: Option<usize>,
    closed: bool,
}

/// Wakes one thread; a notification while it is busy is not lost.
#[derive(Default)]
pub(crate) struct Notifier {
    rung: Mutex<bool>,
    signal: Condvar,
}

impl Notifier {
    pub(crate) fn notify(&self) {
        *self.rung.lock() = true;
        self.signal.notify_all();
    }

    pub(crate) fn wait(&self, at_most: Duration) {
        let mut rung = self.rung.lock();
        if !*rung {
            self.signal.wait_for(&mut rung, at_most);
        }
        *rung = false;
    }
}

/// Called once with the reason when the store has failed.
pub type FatalCallback = Box<dyn FnOnce(&str) + Send>;

pub(crate) struct StoreCore {
    pub(crate) limits: StoreLimits,
    pub(crate) clock: Clock,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) snapshots: Box<dyn SnapshotStore>,
    pub(crate) overlay: Overlay,
    pub(crate) segments: RwLock<Vec<Arc<Segment>>>,
    pub(crate) durable: AtomicU64,
    pub(crate) applied: AtomicU64,
    pub(crate) sinks: RwLock<Vec<Arc<dyn EventSink>>>,
    pub(crate) committer: Mutex<Committer>,
    /// The zeroed next segment, if it is ready.
    pub(crate) spare: Mutex<Option<SpareSegment>>,
    /// The newest verified export. Locked while one is made and while segments are removed.
    pub(crate) export: Mutex<Option<ExportInfo>>,
    pub(crate) applier_notifier: Notifier,
    pub(crate) janitor_notifier: Notifier,
    pub(crate) exporter_notifier: Notifier,
    /// Scans read it, freezing writes it: while a scan runs, the snapshots change only below rows that the
    /// scan's copy of the overlay hides.
    pub(crate) apply_gate: RwLock<()>,
    /// One application at a time.
    pub(crate) applying: Mutex<()>,
    pub(crate) commit_stats: CommitStats,
    queue: Mutex<CommitQueue>,
    queue_signal: Condvar,
    failed: AtomicBool,
    on_fatal: Mutex<Option<FatalCallback>>,
    /// Runs the answers of groups off the committing thread.
    answer_sink: OnceLock<AnswersFn>,
}

type AnswersFn = Box<dyn Fn(VecDeque<Answer>) + Send + Sync>;

/// Result of the recovery.
pub(crate) struct Recovered {
    pub(crate) limits: StoreLimits,
    pub(crate) clock: Clock,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) snapshots: Box<dyn SnapshotStore>,
    pub(crate) overlay: Overlay,
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) committer: Committer,
    pub(crate) spare: Option<SpareSegment>,
    pub(crate) export: Option<ExportInfo>,
    pub(crate) applied: Seq,
}

impl StoreCore {
    pub(crate) fn new(from: Recovered) -> Self {
        let durable = from.committer.next_seq - 1;
        Self {
            limits: from.limits,
            clock: from.clock,
            disk: from.disk,
            snapshots: from.snapshots,
            overlay: from.overlay,
            segments: RwLock::new(from.segments),
            durable: AtomicU64::new(durable),
            applied: AtomicU64::new(from.applied),
            sinks: RwLock::default(),
            committer: Mutex::new(from.committer),
            spare: Mutex::new(from.spare),
            export: Mutex::new(from.export),
            applier_notifier: Notifier::default(),
            janitor_notifier: Notifier::default(),
            exporter_notifier: Notifier::default(),
            apply_gate: RwLock::default(),
            applying: Mutex::default(),
            commit_stats: CommitStats::default(),
            queue: Mutex::default(),
            queue_signal: Condvar::new(),
            failed: AtomicBool::new(false),
            on_fatal: Mutex::new(None),
            answer_sink: OnceLock::new(),
        }
    }

    pub(crate) fn now_us(&self) -> u64 {
        (self.clock)()
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.now_us() / 1_000
    }

    pub(crate) fn max_batch_bytes(&self) -> usize {
        self.limits.max_batch_bytes()
    }

    pub(crate) fn set_on_fatal(&self, hook: FatalCallback) {
        *self.on_fatal.lock() = Some(hook);
    }

    pub(crate) fn set_answer_sink(&self, sink: AnswersFn) {
        drop(self.answer_sink.set(sink));
    }

    /// Has a group's answers run, in the order of the calls.
    pub(crate) fn answer(&self, answers: VecDeque<Answer>) {
        match self.answer_sink.get() {
            Some(sink) => sink(answers),
            None if answers::run(answers) => {}
            None => self.callback_panicked(),
        }
    }

    /// What the callback would have started is missing until the next start, so the store stops.
    pub(crate) fn callback_panicked(&self) {
        self.fail("a callback panicked", &"see the log");
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Stops everything permanently: after an I/O error the state on disk is unknown.
    pub(crate) fn fail(&self, what: &str, error: &dyn std::fmt::Display) {
        self.queue.lock().closed = true;
        if self.failed.swap(true, Ordering::AcqRel) {
            return;
        }
        let reason = format!("{what}: {error}");
        tracing::error!(reason, "the store has stopped");
        self.queue_signal.notify_all();
        if let Some(hook) = self.on_fatal.lock().take() {
            hook(&reason);
        }
    }

    pub(crate) fn enqueue(&self, batch: Batch, done: CommitCallback) {
        let mut inbox = self.queue.lock();
        if inbox.closed {
            drop(inbox);
            done(Err(CommitError::Stopped));
            return;
        }
        inbox.queue.push_back(QueuedBatch { batch, callback: done });
        if inbox.wake_at.is_some_and(|enough| inbox.queue.len() >= enough) {
            inbox.wake_at = None;
            drop(inbox);
            self.queue_signal.notify_one();
        }
    }

    pub(crate) fn take_queued(&self, into: &mut VecDeque<QueuedBatch>) {
        let mut inbox = self.queue.lock();
        if into.is_empty() {
            std::mem::swap(into, &mut inbox.queue);
        } else {
            into.append(&mut inbox.queue);
        }
    }

    pub(crate) fn queued(&self) -> usize {
        self.queue.lock().queue.len()
    }

    /// Accepts no further batches; queued ones are still committed.
    pub(crate) fn close_queue(&self) {
        self.queue.lock().closed = true;
        self.queue_signal.notify_all();
    }

    /// Waits for a batch. False when the queue is empty and closed.
    pub(crate) fn wait_queued(&self) -> bool {
        let mut inbox = self.queue.lock();
        while inbox.queue.is_empty() {
            if inbox.closed {
                return false;
            }
            inbox.wake_at = Some(1);
            self.queue_signal.wait(&mut inbox);
        }
        inbox.wake_at = None;
        true
    }

    /// Waits until the next group may begin; the last one began at `last`. A closed queue is not waited for.
    pub(crate) fn wait_for_group(&self, pacing: &mut SyncPacing, last: Instant) {
        let mut inbox = self.queue.lock();
        while !inbox.closed
            && let NextGroup::Gather { enough, at_most } = pacing.next_group(last.elapsed(), inbox.queue.len())
        {
            inbox.wake_at = Some(enough);
            self.queue_signal.wait_for(&mut inbox, at_most);
        }
        inbox.wake_at = None;
    }

    /// The newest durable state of a row.
    pub(crate) fn row(&self, key: &[u8]) -> Result<Option<Row>, StoreError> {
        match self.overlay.get(key) {
            Some(known) => Ok(known),
            None => self.snapshots.get(key),
        }
    }

    /// Moves the overlay's rows into the snapshots, with a pause after every chunk of rows. False if there was nothing
    /// to move.
    pub(crate) fn apply_step(&self, breathe: &mut dyn FnMut()) -> Result<bool, StoreError> {
        const ROWS_PER_YIELD: usize = 128;
        let _one = self.applying.lock();
        let frozen = {
            let _no_scan = self.apply_gate.write();
            self.overlay.freeze()
        };
        let Some(frozen) = frozen else { return Ok(false) };
        let changes = frozen.changes().into_iter().enumerate();
        let mut changes = changes.map(|(n, change)| {
            if n % ROWS_PER_YIELD == ROWS_PER_YIELD - 1 {
                breathe();
            }
            change
        });
        self.snapshots.apply(&mut changes, Some(frozen.upto))?;
        self.applied.store(frozen.upto, Ordering::Release);
        self.overlay.drop_frozen();
        Ok(true)
    }

    /// [`StoreCore::apply_step`]. After an error the store stops, because rows of the overlay are neither in it nor in
    /// the snapshots.
    pub(crate) fn apply_or_fail(&self, breathe: &mut dyn FnMut()) -> Result<bool, StoreError> {
        self.apply_step(breathe)
            .inspect_err(|e| self.fail("the snapshots failed", e))
    }

    /// Makes the next segment ready and writes the indexes of sealed ones.
    pub(crate) fn janitor_step(&self) -> Result<(), StoreError> {
        let io = |e: std::io::Error| StoreError::Io(e.to_string());
        {
            // Locked meanwhile, so that the committer waits for this segment instead of making the same one.
            let mut spare = self.spare.lock();
            let newest = self.segments.read().last().map(|s| s.number);
            if let (None, Some(newest)) = (&*spare, newest) {
                let next = preallocate(&*self.disk, newest + 1, self.limits.segment_bytes).map_err(io)?;
                *spare = Some(next);
            }
        }
        save_sealed_indexes(self).map_err(io)
    }
}

impl StoreCore {
    /// Implementation of [`crate::Store::scan`].
    pub(crate) fn scan(
        &self,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<(RowKey, Row)>, StoreError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let _gate = self.apply_gate.read();
        let newer = self.overlay.range(prefix, after, limit);
        merged(newer, limit, <[u8]>::cmp, |visit| {
            self.snapshots.scan(prefix, after, visit)
        })
    }

    /// Implementation of [`crate::Store::scan_back`].
    pub(crate) fn scan_back(
        &self,
        prefix: &[u8],
        before: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<(RowKey, Row)>, StoreError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let _gate = self.apply_gate.read();
        let newer = self.overlay.range_back(prefix, before, limit);
        merged(
            newer,
            limit,
            |a, b| b.cmp(a),
            |visit| self.snapshots.scan_back(prefix, before, visit),
        )
    }
}

/// At most `limit` rows of the overlay and of the snapshots, which both come in this order. The overlay's are newer.
fn merged(
    overlay: Vec<(RowKey, Option<Row>)>,
    limit: usize,
    order: fn(&[u8], &[u8]) -> std::cmp::Ordering,
    snapshots: impl FnOnce(&mut dyn FnMut(&[u8], Row) -> bool) -> Result<(), StoreError>,
) -> Result<Vec<(RowKey, Row)>, StoreError> {
    let mut top = overlay.into_iter().peekable();
    let mut out: Vec<(RowKey, Row)> = Vec::new();
    snapshots(&mut |key, row| {
        while let Some((newer, state)) = top.next_if(|(newer, _)| order(newer, key).is_lt()) {
            out.extend(state.map(|row| (newer, row)));
        }
        match top.next_if(|(newer, _)| **newer == *key) {
            Some((newer, state)) => out.extend(state.map(|row| (newer, row))),
            None => out.push((key.into(), row)),
        }
        out.len() < limit
    })?;
    out.extend(top.filter_map(|(key, state)| state.map(|row| (key, row))));
    // The merge can exceed the limit by the rows before a stored row.
    out.truncate(limit);
    Ok(out)
}
