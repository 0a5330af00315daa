//! The latest value of every row, behind the journal: sled, or memory in simulations.

mod interpose;
mod memory;
mod sled_store;

pub use interpose::calls as snapshot_syncs;
pub use memory::{MemoryRows, MemorySource};
pub use sled_store::SledSource;

use std::ops::Bound;

use crate::{OpenError, Row, RowKey, Seq, StoreError};

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

    /// Rows with the prefix before `before` (exclusive), the last key first, until `visit` returns false.
    ///
    /// # Errors
    /// When the engine fails or a row is corrupt.
    fn scan_back(
        &self,
        prefix: &[u8],
        before: Option<&[u8]>,
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

/// Where a scan of `prefix` back from `before` starts: behind every key that it may return.
pub(crate) fn range_end(prefix: &[u8], before: Option<&[u8]>) -> Bound<RowKey> {
    // The first key behind those with the prefix. Bytes that are the highest already have none behind them.
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if let Some(next) = last.checked_add(1) {
            end.push(next);
            break;
        }
    }
    match before {
        Some(before) if end.is_empty() || *before < end[..] => Bound::Excluded(before.into()),
        _ if end.is_empty() => Bound::Unbounded,
        _ => Bound::Excluded(end.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: a scan backwards starts behind the last key of the prefix, or at the given key if that lies before it.
    #[test]
    fn end_of_a_prefix_is_behind_all_its_keys() {
        let end = |prefix: &[u8], before: Option<&[u8]>| match range_end(prefix, before) {
            Bound::Excluded(end) => Some(end.to_vec()),
            _ => None,
        };
        assert_eq!(end(b"ab", None), Some(b"ac".to_vec()));
        assert_eq!(end(&[7, u8::MAX], None), Some(vec![8]));
        assert_eq!(end(&[u8::MAX], None), None);
        assert_eq!(end(b"", None), None);
        assert_eq!(end(b"", Some(b"k")), Some(b"k".to_vec()));
        assert_eq!(end(b"ab", Some(b"abc")), Some(b"abc".to_vec()));
        assert_eq!(end(b"ab", Some(b"b")), Some(b"ac".to_vec()));
        assert_eq!(end(b"ab", Some(b"a")), Some(b"a".to_vec()));
    }
}
