//! The port every durable store implements.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Position in the one order of everything committed. Every event has its own; a batch without events
/// takes one all the same. Starts at 1; 0 means "before everything".
pub type Seq = u64;

/// Position among the events of one subject, for clients that follow it: microseconds since 1970 of the commit,
/// raised where that is needed to grow with every event of the store, however often the clock is set back. Unlike a
/// [`Seq`] it does not tell how much was committed in between. 0 means "before everything".
pub type Cursor = u64;

/// A row's key: a table byte and whatever the caller orders by.
pub type RowKey = Box<[u8]>;

/// A boxed future, so that a store over a network fits the same trait.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A stored value with the revision its writer gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Counts the writes of an entity's snapshot; 0 for rows that are not snapshots.
    pub revision: u64,
    /// The bytes as the writer gave them.
    pub value: Arc<[u8]>,
}

/// What must hold at the moment of the commit; otherwise nothing of the batch happens.
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
        /// Where.
        key: RowKey,
        /// See [`Row::revision`].
        revision: u64,
        /// The new bytes, at most [`MAX_VALUE_BYTES`].
        value: Vec<u8>,
    },
    /// Removes the row; removing what is not there is no error.
    Delete {
        /// Where.
        key: RowKey,
    },
}

/// A fact to be kept in order and read back by position, by everybody or by one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whose history it belongs to (an account's key); empty for nobody's.
    pub subject: Box<[u8]>,
    /// The fact itself, opaque here.
    pub payload: Vec<u8>,
}

/// An event with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its place in the one order.
    pub seq: Seq,
    /// Its position for clients that follow its subject.
    pub cursor: Cursor,
    /// As given.
    pub subject: Arc<[u8]>,
    /// As given.
    pub payload: Arc<[u8]>,
}

/// Which events of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Those behind a cursor, in order. Behind 0 is all that is stored.
    After(Cursor),
    /// Those before a cursor, the newest first.
    Before(Cursor),
}

impl Span {
    /// All that are stored, the newest first.
    pub const NEWEST: Self = Self::Before(Cursor::MAX);
}

/// Rows and events that become durable together or not at all.
#[derive(Debug, Default)]
pub struct Batch {
    /// All must hold.
    pub conditions: Vec<Condition>,
    /// Applied in order.
    pub writes: Vec<Write>,
    /// Take consecutive sequences.
    pub events: Vec<Event>,
    /// The writer's lane, if its batches rest on one another.
    pub session: Option<Arc<WriteSession>>,
}

/// One writer's chain of batches. After one of them is refused, all that the writer enqueued behind it
/// are refused too, because they were decided on a state that never came to be. The writer then reloads
/// and goes on with a new lane.
#[derive(Debug, Default)]
pub struct WriteSession {
    failed: AtomicBool,
}

impl WriteSession {
    /// Whether a batch of this lane was refused.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Refuses every later batch of this lane.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Release);
    }
}

/// A batch that is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Sequence of its first event (or its own, without events). For an empty batch: the newest durable one.
    pub seq: Seq,
}

/// Why a batch did not happen. Nothing of it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// This condition (by its index in the batch) did not hold.
    #[error("condition {0} did not hold")]
    Condition(usize),
    /// An earlier batch of the same lane was refused.
    #[error("an earlier batch of the same writer was refused")]
    SessionFailed,
    /// The batch is over a limit and can never be written.
    #[error("the batch is over a limit: {0}")]
    TooLarge(&'static str),
    /// The store is stopping or has failed; whether the batch is durable is unknown until recovery.
    #[error("the store has stopped")]
    Stopped,
}

/// Called once, on the committing thread, after the batch is durable or refused. Must be short and must not block.
pub type CommitCallback = Box<dyn FnOnce(Result<Committed, CommitError>) + Send>;

/// Receives every durable event in order, after the sync and before the batch's [`Done`]. Must not block.
pub trait EventSink: Send + Sync {
    /// Consecutive events, never empty.
    fn publish(&self, events: &[StoredEvent]);
}

/// How much can still be accepted before the store must slow its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Bytes journalled and not yet in the snapshots.
    pub lag_bytes: u64,
    /// Above this lag, new work is to be refused at the edge.
    pub lag_limit_bytes: u64,
    /// Batches waiting for the committer.
    pub queued: usize,
}

/// A read that failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk or the engine below failed.
    #[error("storage failed: {0}")]
    Io(String),
    /// What was read is not what was written.
    #[error("stored data is damaged: {0}")]
    Corrupt(String),
    /// These events were dropped by retention.
    #[error("events up to {oldest} are no longer kept")]
    Expired {
        /// The oldest position still kept: a [`Seq`] or a [`Cursor`], as in the request.
        oldest: u64,
    },
}

/// Largest value of one row in bytes; sled must never make a blob of it.
pub const MAX_VALUE_BYTES: usize = 16 * 1024;

/// A durable, ordered, atomic store of rows and events.
///
/// Reads see exactly what is durable: never less, never more.
pub trait Store: Send + Sync + 'static {
    /// Enqueues a batch; returns at once. Batches are committed in the order of the calls. An empty batch
    /// is a barrier: its [`Done`] runs when everything enqueued before it is durable. A batch of conditions
    /// only is a barrier too, refused if one of them does not hold.
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

    /// Durable events after `after`, in order, at most `limit`; of one subject, or of all.
    fn events<'a>(
        &'a self,
        after: Seq,
        limit: usize,
        subject: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<Vec<StoredEvent>, StoreError>>;

    /// Durable events of one subject, at most `limit`. What lies before the oldest that is kept is
    /// [`StoreError::Expired`] for [`Span::After`], and the end for [`Span::Before`].
    fn events_of<'a>(
        &'a self,
        subject: &'a [u8],
        span: Span,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredEvent>, StoreError>>;

    /// The newest durable sequence.
    fn durable_seq(&self) -> Seq;

    /// For admission.
    fn headroom(&self) -> Headroom;

    /// Registers a sink for every event durable from now on.
    fn subscribe(&self, sink: Arc<dyn EventSink>);
}
