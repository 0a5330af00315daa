//! Snapshots in memory, for simulations: they survive a simulated restart, as sled's files would.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::{RowChange, SnapshotSource, SnapshotStore, range_end, range_start};
use crate::{OpenError, Row, RowKey, Seq, StoreError};

/// The rows, shared between the "disk" and every open handle.
#[derive(Clone, Debug, Default)]
pub struct MemoryRows {
    /// All rows, in key order.
    pub rows: BTreeMap<RowKey, Row>,
    /// Last sequence up to which the rows are complete.
    pub applied: Option<Seq>,
}

/// Opens the same rows again and again.
#[derive(Clone, Debug, Default)]
pub struct MemorySource {
    state: Arc<RwLock<MemoryRows>>,
    /// Number of changes that are still written before writing fails.
    dies_after: Arc<Mutex<Option<usize>>>,
}

impl MemorySource {
    /// A copy of what is stored now.
    pub fn image(&self) -> MemoryRows {
        self.state.read().clone()
    }

    /// Sets what is stored, as a restart from an older or empty state would.
    pub fn set_image(&self, image: MemoryRows) {
        *self.state.write() = image;
    }

    /// Stops an application of rows after this many changes, as a power cut would.
    pub fn die_after(&self, changes: Option<usize>) {
        *self.dies_after.lock() = changes;
    }
}

impl SnapshotSource for MemorySource {
    fn open(&self) -> Result<Option<Box<dyn SnapshotStore>>, OpenError> {
        Ok(Some(Box::new(MemorySnapshots(self.clone()))))
    }

    fn discard(&self) -> Result<(), OpenError> {
        *self.state.write() = MemoryRows::default();
        Ok(())
    }
}

struct MemorySnapshots(MemorySource);

impl SnapshotStore for MemorySnapshots {
    fn applied_seq(&self) -> Result<Option<Seq>, StoreError> {
        Ok(self.0.state.read().applied)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Row>, StoreError> {
        Ok(self.0.state.read().rows.get(key).cloned())
    }

    fn scan(
        &self,
        prefix: &[u8],
        after: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], Row) -> bool,
    ) -> Result<(), StoreError> {
        let state = self.0.state.read();
        let range = (range_start(prefix, after), Bound::Unbounded);
        for (key, row) in state.rows.range::<[u8], _>(range) {
            if !key.starts_with(prefix) || !visit(key, row.clone()) {
                break;
            }
        }
        Ok(())
    }

    fn scan_back(
        &self,
        prefix: &[u8],
        before: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], Row) -> bool,
    ) -> Result<(), StoreError> {
        let state = self.0.state.read();
        let end = range_end(prefix, before);
        let range = (Bound::Unbounded, end.as_ref().map(|end| &**end));
        for (key, row) in state.rows.range::<[u8], _>(range).rev() {
            if !key.starts_with(prefix) || !visit(key, row.clone()) {
                break;
            }
        }
        Ok(())
    }

    fn apply(&self, changes: &mut dyn Iterator<Item = RowChange<'_>>, seq: Option<Seq>) -> Result<(), StoreError> {
        let mut state = self.0.state.write();
        let mut left = self.0.dies_after.lock();
        for (key, row) in changes {
            match &mut *left {
                Some(0) => return Err(StoreError::Io("the power is gone".into())),
                Some(left) => *left -= 1,
                None => {}
            }
            match row {
                Some(row) => state.rows.insert(key.into(), row.clone()),
                None => state.rows.remove(key),
            };
        }
        if seq.is_some() {
            state.applied = seq;
        }
        Ok(())
    }
}
