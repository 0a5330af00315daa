//! What is durable.
//!
//! One append-only journal is the truth; sled holds the latest value of every row behind it and can be
//! thrown away. This crate knows no entity, no actor and no HTTP: it stores rows and events for whoever
//! asks, atomically, and says when they are safe.

pub mod codec;
mod store;

pub use store::{
    Batch, CommitError, Committed, Condition, Done, Event, EventSink, Headroom, Lane, Row, RowKey, Seq, Store, StoreError,
    StoredEvent, Write, BoxFuture, MAX_VALUE_BYTES,
};
