//! The latest value of every row, behind the journal: sled, or memory in simulations.

mod interpose;
mod memory;
mod sled_store;

pub use interpose::calls as snapshot_syncs;
pub use memory::{MemoryRows, MemorySource};
pub use sled_store::SledSource;

use std::ops::Bound;

use crate::{OpenError, Row, Seq, StoreError};

/// One change of a row; `None` deletes it.
pub type RowChange<'a> = (&'a [u8], Option<&'a Row>);

/// Rows as of one sequence. Only the applier writes; any thread may read.
pub trait SnapshotStore: Send + Sync + 'static {
    /// The sequence up to which every row is durably here; `None` in a new store.
    ///
    /// # Errors
    /// When the engine fails or its record of the sequence is corrupt.
    fn applied_seq(&self) -> Result<Option<Seq>, StoreError>;

    /// Reads one row; `None` if it does not exist.
    ///
    /// # Errors
    /// When the engine fails or the row is corrupt.
    fn get(&self, key: &[u8]) -> Result<Option<Row>, StoreError>;

    /// Rows with the prefix after `after` (exclusive), in key order, until `visit` returns false.
    ///
    /// # Errors
    /// When the engine fails or a row is corrupt.
    fn scan(
        &self,
        prefix: &[u8],
        after: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], Row) -> bool,
    ) -> Result<(), StoreError>;

    /// Writes rows, and with the last of them the record that everything up to `seq` is here. Durable on return. A
    /// power cut in the middle leaves some of the rows and the old sequence. `None` writes rows only.
    ///
    /// # Errors
    /// When the engine fails; the process must then stop.
    fn apply(&self, changes: &mut dyn Iterator<Item = RowChange<'_>>, seq: Option<Seq>) -> Result<(), StoreError>;
}

/// Opens or discards the snapshots.
pub trait SnapshotSource: Send + Sync + 'static {
    /// Opens the existing store, or an empty one. `Ok(None)`: the existing store is unusable and must be rebuilt.
    ///
    /// # Errors
    /// When even an empty store cannot be opened.
    fn open(&self) -> Result<Option<Box<dyn SnapshotStore>>, OpenError>;

    /// Removes everything, so that the next open gives an empty store.
    ///
    /// # Errors
    /// When that is not possible.
    fn discard(&self) -> Result<(), OpenError>;
}

/// Where a scan of `prefix` behind `after` starts.
pub(crate) fn range_start<'a>(prefix: &'a [u8], after: Option<&'a [u8]>) -> Bound<&'a [u8]> {
    match after {
        Some(after) if after >= prefix => Bound::Excluded(after),
        _ => Bound::Included(prefix),
    }
}
