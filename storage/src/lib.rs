//! Durable storage.
//!
//! One append-only journal is the source of truth. sled stores the latest value of every row behind it and can be
//! rebuilt. This crate knows no entity, no actor and no HTTP: it stores rows and events atomically and reports when
//! they are durable.

#![warn(missing_docs)]

pub mod codec;
pub mod disk;
mod journal;
mod lock;
pub mod mutants;
pub mod sim_disk;
pub mod snapshot;
pub mod stats;
mod store;

pub use journal::{
    AnswerSink, Clock, FatalCallback, GroupAnswers, JournalStore, MAX_EVENT_BYTES, MAX_KEY_BYTES, OpenError,
    RestoreMarker, StoreLimits, StoreOptions,
};
pub use snapshot::snapshot_syncs;
pub use store::{
    Batch, BoxFuture, CommitCallback, CommitError, Committed, Condition, Cursor, Event, EventSink, Headroom,
    MAX_VALUE_BYTES, Row, RowKey, Seq, Span, Store, StoreError, StoredEvent, Write, WriteSession,
};
