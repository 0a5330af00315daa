//! What is durable.
//!
//! One append-only journal is the truth; sled holds the latest value of every row behind it and can be
//! thrown away. This crate knows no entity, no actor and no HTTP: it stores rows and events for whoever
//! asks, atomically, and says when they are safe.

pub mod codec;
pub mod disk;
mod export;
mod journal;
mod lock;
pub mod mutants;
pub mod sim_disk;
pub mod snapshot;
pub mod stats;
mod store;

pub use export::RestoreMarker;
pub use journal::{
    Clock, FatalCallback, JournalStore, MAX_EVENT_BYTES, MAX_KEY_BYTES, OpenError, StoreLimits, StoreOptions,
};
pub use store::{
    Batch, BoxFuture, CommitCallback, CommitError, Committed, Condition, Cursor, Event, EventSink, Headroom,
    MAX_VALUE_BYTES, Row, RowKey, Seq, Span, Store, StoreError, StoredEvent, Write, WriteSession,
};
