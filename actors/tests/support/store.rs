//! A store in memory with a committer thread of its own that a test can hold, starve, refuse and crash.
//!
//! It keeps the contract of `purser_storage::Store`: order of the calls, conditions, lanes, barriers, one sequence for
//! an event, events published before the batch is answered, reads of what is durable and nothing else.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};
use purser_storage::{
    Batch, BoxFuture, CommitCallback, CommitError, Committed, Condition, EventSink, Headroom, MAX_VALUE_BYTES, Row,
    RowKey, Seq, Span, Store, StoreError, StoredEvent, Write,
};

/// Cursors are not sequence numbers.
const FIRST_CURSOR: u64 = 1_000_000;

thread_local! {
    static ROWS_READ: Cell<usize> = const { Cell::new(0) };
}

/// Rows and events that this thread has read from any store. The thread of a test runs none of the engine's tasks, so
/// between two calls there it counts what the test has read.
pub(crate) fn rows_read() -> usize {
    ROWS_READ.get()
}

fn note_read(rows: usize) {
    ROWS_READ.set(ROWS_READ.get() + rows);
}

pub(crate) struct MemoryStore(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    condvar: Condvar,
}

#[derive(Default, Clone)]
struct Durable {
    rows: BTreeMap<RowKey, Row>,
    events: Vec<StoredEvent>,
    seq: Seq,
}

#[derive(Default)]
struct State {
    durable: Durable,
    queue: VecDeque<(Batch, CommitCallback)>,
    /// Number of batches that may still be committed, without barriers; `None` is unlimited.
    allowance: Option<u64>,
    /// Whether the response to the last allowed batch is lost.
    response_lost: bool,
    /// Number of batches until one is rejected without its own fault, including that one.
    reject_in: Option<u64>,
    sinks: Vec<Arc<dyn EventSink>>,
    lag_bytes: u64,
    committed: u64,
    /// Every committed batch since [`MemoryStore::record_batches`].
    batches: Option<Vec<Batch>>,
    /// Row that can't be read.
    unreadable_row: Option<RowKey>,
    dead: bool,
}

/// Notifications of a batch, sent outside the lock.
struct PendingNotification {
    done: Option<CommitCallback>,
    outcome: Result<Committed, CommitError>,
    events: Vec<StoredEvent>,
    sinks: Vec<Arc<dyn EventSink>>,
}

impl MemoryStore {
    pub(crate) fn new() -> Arc<Self> {
        Self::of(Durable::default())
    }

    fn of(durable: Durable) -> Arc<Self> {
        let shared = Arc::new(Shared::default());
        shared.state.lock().durable = durable;
        let committer = shared.clone();
        std::thread::spawn(move || committer.run());
        Arc::new(Self(shared))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    /// A backup: all durable data, in its own store.
    pub(crate) fn backup(&self) -> Arc<Self> {
        Self::of(self.state().durable.clone())
    }

    /// The store after a power cut: all durable data and nothing else. This store is dead from now on.
    pub(crate) fn crash(&self) -> Arc<Self> {
        let mut state = self.state();
        state.dead = true;
        let lost = std::mem::take(&mut state.queue);
        let durable = state.durable.clone();
        drop(state);
        self.0.condvar.notify_all();
        drop(lost);
        Self::of(durable)
    }

    /// Commits nothing from now on.
    pub(crate) fn hold(&self) {
        self.state().allowance = Some(0);
    }

    /// Commits this many more batches and then none; the last of them is answered or not.
    pub(crate) fn hold_after(&self, batches: u64, last_is_answered: bool) {
        let mut state = self.state();
        (state.allowance, state.response_lost) = (Some(batches), !last_is_answered);
    }

    pub(crate) fn release(&self) {
        self.state().allowance = None;
        self.0.condvar.notify_all();
    }

    /// Rejects the n-th next batch (1 is the next) and breaks its write session.
    pub(crate) fn reject_nth(&self, nth: u64) {
        self.state().reject_in = Some(nth);
    }

    /// Number of queued batches, barriers included.
    pub(crate) fn queued(&self) -> usize {
        self.state().queue.len()
    }

    /// Whether a queued batch may not be committed.
    pub(crate) fn is_starving(&self) -> bool {
        let state = self.state();
        state.allowance == Some(0) && state.queue.iter().any(|(batch, _)| !is_barrier(batch))
    }

    /// Number of committed batches, without barriers.
    pub(crate) fn committed(&self) -> u64 {
        self.state().committed
    }

    /// Keeps every batch that is committed from now on.
    pub(crate) fn record_batches(&self) {
        self.state().batches = Some(Vec::new());
    }

    /// The batches committed since [`MemoryStore::record_batches`].
    pub(crate) fn take_batches(&self) -> Vec<Batch> {
        self.state().batches.take().unwrap_or_default()
    }

    pub(crate) fn set_lag(&self, bytes: u64) {
        self.state().lag_bytes = bytes;
    }

    /// Overwrites a row without a batch, as broken hardware would.
    pub(crate) fn overwrite(&self, key: RowKey, value: &[u8]) {
        let row = Row {
            revision: 1,
            value: value.into(),
        };
        self.state().durable.rows.insert(key, row);
    }

    /// Makes this row unreadable, or with `None` all rows readable.
    pub(crate) fn set_unreadable(&self, key: Option<RowKey>) {
        self.state().unreadable_row = key;
    }

    pub(crate) fn rows(&self, prefix: &[u8]) -> Vec<(RowKey, Row)> {
        let state = self.state();
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let rows = state.durable.rows.range::<[u8], _>(from);
        rows.take_while(|(key, _)| key.starts_with(prefix))
            .map(|(key, row)| (key.clone(), row.clone()))
            .collect()
    }

    /// What a read found.
    fn counted<T>(&self, found: Vec<T>) -> Result<Vec<T>, StoreError> {
        note_read(found.len());
        if self.state().dead { Err(dead()) } else { Ok(found) }
    }

    pub(crate) fn all_events(&self) -> Vec<StoredEvent> {
        self.state().durable.events.clone()
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.state().dead = true;
        self.0.condvar.notify_all();
    }
}

const fn is_barrier(batch: &Batch) -> bool {
    batch.writes.is_empty() && batch.events.is_empty()
}

impl Shared {
    fn run(&self) {
        loop {
            let mut state = self.state.lock();
            let applied = loop {
                if state.dead {
                    return;
                }
                match state.step() {
                    Some(applied) => break applied,
                    None => self.condvar.wait(&mut state),
                }
            };
            drop(state);
            if !applied.events.is_empty() {
                applied.sinks.iter().for_each(|sink| sink.publish(&applied.events));
            }
            if let Some(done) = applied.done {
                done(applied.outcome);
            }
        }
    }
}

impl State {
    /// Takes the next batch, if it may be committed.
    fn step(&mut self) -> Option<PendingNotification> {
        let barrier = is_barrier(&self.queue.front()?.0);
        if !barrier && self.allowance == Some(0) {
            return None;
        }
        let (batch, done) = self.queue.pop_front()?;
        let before = self.durable.events.len();
        let outcome = self.admit(&batch, barrier).map(|()| self.write(&batch, barrier));
        if outcome.is_err()
            && let Some(lane) = &batch.session
        {
            lane.fail();
        }
        let mut done = Some(done);
        if !barrier && let Some(left) = &mut self.allowance {
            *left -= 1;
            if *left == 0 && self.response_lost {
                done = None;
            }
        }
        if outcome.is_ok()
            && !barrier
            && let Some(batches) = &mut self.batches
        {
            batches.push(batch);
        }
        Some(PendingNotification {
            done,
            outcome,
            events: self.durable.events[before..].to_vec(),
            sinks: self.sinks.clone(),
        })
    }

    fn admit(&mut self, batch: &Batch, barrier: bool) -> Result<(), CommitError> {
        if batch.session.as_ref().is_some_and(|lane| lane.has_failed()) {
            return Err(CommitError::SessionFailed);
        }
        if !barrier && let Some(left) = &mut self.reject_in {
            *left -= 1;
            if *left == 0 {
                self.reject_in = None;
                return Err(CommitError::TooLarge("the test wants it so"));
            }
        }
        let large = |w: &Write| matches!(w, Write::Put { value, .. } if value.len() > MAX_VALUE_BYTES);
        if batch.writes.iter().any(large) {
            return Err(CommitError::TooLarge("a value"));
        }
        let broken = batch.conditions.iter().position(|condition| {
            let (Condition::Absent(key) | Condition::Present(key) | Condition::Revision(key, _)) = condition;
            let revision = self.durable.rows.get(key).map(|row| row.revision);
            !match condition {
                Condition::Absent(_) => revision.is_none(),
                Condition::Present(_) => revision.is_some(),
                Condition::Revision(_, wanted) => revision.unwrap_or(0) == *wanted,
            }
        });
        broken.map_or(Ok(()), |index| Err(CommitError::Condition(index)))
    }

    fn write(&mut self, batch: &Batch, barrier: bool) -> Committed {
        if barrier {
            return Committed { seq: self.durable.seq };
        }
        self.committed += 1;
        for write in &batch.writes {
            match write {
                Write::Put { key, revision, value } => {
                    let row = Row {
                        revision: *revision,
                        value: value.as_slice().into(),
                    };
                    self.durable.rows.insert(key.clone(), row);
                }
                Write::Delete { key } => drop(self.durable.rows.remove(key)),
            }
        }
        let first = self.durable.seq + 1;
        for (event, seq) in batch.events.iter().zip(first..) {
            self.durable.events.push(StoredEvent {
                seq,
                cursor: FIRST_CURSOR + seq,
                subject: (&*event.subject).into(),
                payload: event.payload.as_slice().into(),
            });
        }
        self.durable.seq += (batch.events.len() as u64).max(1);
        Committed { seq: first }
    }
}

fn dead() -> StoreError {
    StoreError::Io("the power is off".into())
}

impl Store for MemoryStore {
    fn commit(&self, batch: Batch, done: CommitCallback) {
        let mut state = self.state();
        if state.dead {
            // The calling process is dead as well: it gets no answer.
            return;
        }
        state.queue.push_back((batch, done));
        drop(state);
        self.0.condvar.notify_all();
    }

    fn read<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Row>, StoreError>> {
        note_read(1);
        let state = self.state();
        let row = if state.dead {
            Err(dead())
        } else if state.unreadable_row.as_deref() == Some(key) {
            Err(StoreError::Io("the disk does not answer".into()))
        } else {
            Ok(state.durable.rows.get(key).cloned())
        };
        Box::pin(std::future::ready(row))
    }

    fn scan<'a>(
        &'a self,
        prefix: &'a [u8],
        after: Option<&'a [u8]>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(RowKey, Row)>, StoreError>> {
        let mut rows = self.rows(prefix);
        rows.retain(|(key, _)| after.is_none_or(|after| **key > *after));
        rows.truncate(limit);
        Box::pin(std::future::ready(self.counted(rows)))
    }

    fn scan_back<'a>(
        &'a self,
        prefix: &'a [u8],
        before: Option<&'a [u8]>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(RowKey, Row)>, StoreError>> {
        let mut rows = self.rows(prefix);
        rows.retain(|(key, _)| before.is_none_or(|before| **key < *before));
        rows.reverse();
        rows.truncate(limit);
        Box::pin(std::future::ready(self.counted(rows)))
    }

    fn events<'a>(
        &'a self,
        after: Seq,
        limit: usize,
        subject: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<Vec<StoredEvent>, StoreError>> {
        let mut events = self.all_events();
        events.retain(|e| e.seq > after && subject.is_none_or(|s| *e.subject == *s));
        events.truncate(limit);
        Box::pin(std::future::ready(Ok(events)))
    }

    fn events_of<'a>(
        &'a self,
        subject: &'a [u8],
        span: Span,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredEvent>, StoreError>> {
        let mut events = self.all_events();
        events.retain(|e| *e.subject == *subject);
        match span {
            Span::After(after) => events.retain(|e| e.cursor > after),
            Span::Before(before) => {
                events.retain(|e| e.cursor < before);
                events.reverse();
            }
        }
        events.truncate(limit);
        note_read(events.len());
        Box::pin(std::future::ready(Ok(events)))
    }

    fn durable_seq(&self) -> Seq {
        self.state().durable.seq
    }

    fn headroom(&self) -> Headroom {
        let state = self.state();
        Headroom {
            lag_bytes: state.lag_bytes,
            lag_limit_bytes: 1_000,
            queued: state.queue.len(),
        }
    }

    fn subscribe(&self, sink: Arc<dyn EventSink>) {
        self.state().sinks.push(sink);
    }
}
