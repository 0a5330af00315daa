//! The port that every durable store implements.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Position in the single order of everything committed. Every event has one; a batch without events takes one too.
/// Starts at 1; 0 means "before everything".
pub type Seq = u64;

/// Position among the events of one subject, for clients that follow it. It is the commit time in microseconds since
/// 1970, raised where needed so that it grows with every event of the store even if the clock is set back. Unlike a
/// [`Seq`], it does not reveal how much was committed in between. 0 means "before everything".
pub type Cursor = u64;

/// A row's key: a table byte, then the bytes that order the table.
pub type RowKey = Box<[u8]>;

/// A boxed future, so that a store over a network fits the same trait.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A stored value with the revision that its writer gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Counts the writes of an entity's snapshot, or changes with a row whose change others must notice; 0 for all other
    /// rows.
    pub revision: u64,
    /// Bytes as the writer gave them.
    pub value: Arc<[u8]>,
}

/// Condition at the time of the commit. If one fails, the whole batch is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// No row has this key.
    Absent(RowKey),
    /// A row has this key.
    Present(RowKey),
    /// The row has this revision; 0 also matches a row that does not exist.
    Revision(RowKey, u64),
}

/// A change of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Sets the row.
    Put {
        /// Key of the row.
        key: RowKey,
        /// Revision that the row must have: see [`Row::revision`].
        revision: u64,
        /// The new bytes, at most [`MAX_VALUE_BYTES`].
        value: Vec<u8>,
    },
    /// Removes the row; removing what is not there is no error.
    Delete {
        /// Key of the row.
        key: RowKey,
    },
}

/// A fact that is stored in order and read by position, either all facts or those of one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Key of the account whose history it belongs to; empty for events without an account.
    pub subject: Box<[u8]>,
    /// Content of the event, opaque here.
    pub payload: Vec<u8>,
}

/// An event with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// Position in the single order.
    pub seq: Seq,
    /// Its position for clients that follow its subject.
    pub cursor: Cursor,
    /// As given in the [`Event`].
    pub subject: Arc<[u8]>,
    /// As given in the [`Event`].
    pub payload: Arc<[u8]>,
}

/// Range of a subject's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Events after a cursor, in order. After 0 is everything stored.
    After(Cursor),
    /// Events before a cursor, newest first.
    Before(Cursor),
}

impl Span {
    /// Every stored event, newest first.
    pub const NEWEST: Self = Self::Before(Cursor::MAX);
}

/// Rows and events that become durable together or not at all.
#[derive(Debug, Default)]
pub struct Batch {
    /// All conditions must hold.
    pub conditions: Vec<Condition>,
    /// Writes, applied in order.
    pub writes: Vec<Write>,
    /// Events; they get consecutive sequence numbers.
    pub events: Vec<Event>,
    /// Write session of the writer, if its batches depend on one another.
    pub session: Option<Arc<WriteSession>>,
}

/// One writer's ordered batches. After one of them is rejected, all later batches of the session are rejected too,
/// because they were decided on a state that was never committed. The writer then reloads and continues with a new
/// session.
#[derive(Debug, Default)]
pub struct WriteSession {
    failed: AtomicBool,
}

impl WriteSession {
    /// Whether a batch of this session was rejected.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Rejects every later batch of this session.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Release);
    }
}

/// Result of a durable batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Sequence of its first event (or its own, without events). For an empty batch: the newest durable one.
    pub seq: Seq,
}

/// Reason why a batch was not committed. Nothing of it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// This condition (by its index in the batch) did not hold.
    #[error("condition {0} did not hold")]
    Condition(usize),
    /// An earlier batch of the same write session was rejected.
    #[error("an earlier batch of the same writer was refused")]
    SessionFailed,
    /// The batch is over a limit and can never be written.
    #[error("the batch is over a limit: {0}")]
    TooLarge(&'static str),
    /// The store is stopping or has failed; whether the batch is durable is unknown until recovery.
    #[error("the store has stopped")]
    Stopped,
}

/// Called once, after the batch is durable or rejected, in the order of the batches: on the committing thread, or where an
/// [`AnswerSink`](crate::AnswerSink) runs it. Must be short and must not block.
pub type CommitCallback = Box<dyn FnOnce(Result<Committed, CommitError>) + Send>;

/// Receives every durable event in order, after the sync and before the batch's [`CommitCallback`]. Must not block.
pub trait EventSink: Send + Sync {
    /// Consecutive events, never empty.
    fn publish(&self, events: &[StoredEvent]);
}

/// Lag of the store, on which backpressure is based.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Bytes journalled and not yet in the snapshots.
    pub lag_bytes: u64,
    /// Above this lag, the caller must reject new requests.
    pub lag_limit_bytes: u64,
    /// Batches waiting for the committer.
    pub queued: usize,
}

/// A read that failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk or the snapshot engine failed.
    #[error("storage failed: {0}")]
    Io(String),
    /// The bytes read are not those written.
    #[error("stored data is damaged: {0}")]
    Corrupt(String),
    /// These events were dropped by retention.
    #[error("events up to {oldest} are no longer kept")]
    Expired {
        /// Oldest stored position: a [`Seq`] or a [`Cursor`], as in the request.
        oldest: u64,
    },
}

/// Largest value of one row in bytes, below the size at which sled stores a blob.
pub const MAX_VALUE_BYTES: usize = 16 * 1024;

/// A durable, ordered, atomic store of rows and events.
///
/// Reads see exactly what is durable: no less and no more.
pub trait Store: Send + Sync + 'static {
    /// Enqueues a batch and returns at once. Batches are committed in the order of the calls. An empty batch is a
    /// barrier: its [`CommitCallback`] runs when everything enqueued before it is durable. A batch with only conditions
    /// is a barrier too, rejected if one of them fails.
    fn commit(&self, batch: Batch, done: CommitCallback);

    /// The row's latest durable value.
    fn read<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Result<Option<Row>, StoreError>>;

    /// Rows whose key starts with `prefix`, in key order, after the key `after` (exclusive), at most `limit`.
    fn scan<'a>(
        &'a self,
        prefix: &'a [u8],
        after: Option<&'a [u8]>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(RowKey, Row)>, StoreError>>;

    /// Rows whose key starts with `prefix`, the last key first, before the key `before` (exclusive), at most `limit`. Costs
    /// what it returns, however many rows lie before them.
    fn scan_back<'a>(
        &'a self,
        prefix: &'a [u8],
        before: Option<&'a [u8]>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<(RowKey, Row)>, StoreError>>;

    /// Durable events after `after`, in order, at most `limit`; of one subject, or of all.
    fn events<'a>(
        &'a self,
        after: Seq,
        limit: usize,
        subject: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<Vec<StoredEvent>, StoreError>>;

    /// Durable events of one subject, at most `limit`. Reading before the oldest stored event is
    /// [`StoreError::Expired`] for [`Span::After`], and the end for [`Span::Before`].
    fn events_of<'a>(
        &'a self,
        subject: &'a [u8],
        span: Span,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredEvent>, StoreError>>;

    /// The newest durable sequence.
    fn durable_seq(&self) -> Seq;

    /// Lag and queue length, for admission.
    fn headroom(&self) -> Headroom;

    /// Registers a sink for every event durable from now on.
    fn subscribe(&self, sink: Arc<dyn EventSink>);
}
