//! What is durable in the journal and not yet in the snapshots.
//!
//! Two layers: the committer inserts into `active`; the applier freezes it, writes the frozen layer to the
//! snapshots, and drops it whole. So an entry needs no bookkeeping of its own, and writes of one key
//! coalesce by themselves.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, btree_map};
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::RwLock;

use super::index::FixedState;
use crate::{Row, RowKey, Seq};

/// The newest state of a key within one layer or one group.
pub(crate) struct Entry {
    /// The layers below hold nothing for this key (its creation was conditional on that). If it is then
    /// deleted within the same layer, nothing of it needs to reach the snapshots.
    pub(crate) born: bool,
    /// `None`: deleted.
    pub(crate) row: Option<Row>,
}

pub(crate) type Rows = BTreeMap<RowKey, Entry>;
/// The writes of one group, before they are durable.
pub(crate) type Staged = HashMap<RowKey, Entry, FixedState>;

/// A layer on its way into the snapshots.
pub(crate) struct Frozen {
    pub(crate) rows: Rows,
    pub(crate) upto: Seq,
    pub(crate) bytes: u64,
}

#[derive(Default)]
struct Layers {
    active: Rows,
    active_bytes: u64,
    last_seq: Seq,
    frozen: Option<Arc<Frozen>>,
}

#[derive(Default)]
pub(crate) struct Overlay {
    layers: RwLock<Layers>,
}

fn absorb(active: &mut Rows, key: RowKey, entry: Entry) {
    match active.entry(key) {
        btree_map::Entry::Occupied(mut old) => {
            if old.get().born && entry.row.is_none() {
                old.remove();
            } else {
                old.get_mut().row = entry.row;
            }
        }
        btree_map::Entry::Vacant(place) => {
            if !(entry.born && entry.row.is_none()) {
                place.insert(entry);
            }
        }
    }
}

impl Overlay {
    /// An overlay over snapshots that hold everything up to `applied`.
    pub(crate) fn starting_at(applied: Seq) -> Self {
        let overlay = Self::default();
        overlay.layers.write().last_seq = applied;
        overlay
    }

    /// Takes in a group that has become durable. One lock for the whole group.
    pub(crate) fn insert(&self, staged: &mut Staged, last_seq: Seq, bytes: u64) {
        let mut layers = self.layers.write();
        for (key, entry) in staged.drain() {
            absorb(&mut layers.active, key, entry);
        }
        layers.active_bytes += bytes;
        layers.last_seq = last_seq;
    }

    /// `None`: ask the snapshots. `Some(None)`: deleted.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<Row>> {
        let layers = self.layers.read();
        if let Some(entry) = layers.active.get(key) {
            return Some(entry.row.clone());
        }
        layers
            .frozen
            .as_ref()
            .and_then(|f| f.rows.get(key))
            .map(|entry| entry.row.clone())
    }

    /// The overlay's view of a range, in key order: rows and deletions, up to and including the `limit`th row.
    /// What comes behind that cannot be among the first `limit` rows of the whole store.
    pub(crate) fn range(&self, prefix: &[u8], after: Option<&[u8]>, limit: usize) -> Vec<(RowKey, Option<Row>)> {
        let start = range_start(prefix, after);
        let layers = self.layers.read();
        let mut top = layers.active.range::<[u8], _>((start, Bound::Unbounded)).peekable();
        let empty = Rows::new();
        let below = layers.frozen.as_ref().map_or(&empty, |f| &f.rows);
        let mut below = below.range::<[u8], _>((start, Bound::Unbounded)).peekable();
        let (mut out, mut live) = (Vec::new(), 0);
        loop {
            let next = match (top.peek(), below.peek()) {
                (Some((a, _)), Some((b, _))) => match a.cmp(b) {
                    Ordering::Less => top.next(),
                    Ordering::Greater => below.next(),
                    Ordering::Equal => {
                        below.next();
                        top.next()
                    }
                },
                (Some(_), None) => top.next(),
                (None, _) => below.next(),
            };
            let Some((key, entry)) = next else { break };
            if !key.starts_with(prefix) {
                break;
            }
            live += usize::from(entry.row.is_some());
            out.push((key.clone(), entry.row.clone()));
            if live == limit {
                break;
            }
        }
        out
    }

    /// Bytes of journal whose rows the snapshots do not have.
    pub(crate) fn lag_bytes(&self) -> u64 {
        let layers = self.layers.read();
        layers.active_bytes + layers.frozen.as_ref().map_or(0, |f| f.bytes)
    }

    /// Bytes in the layer that can be frozen next.
    pub(crate) fn active_bytes(&self) -> u64 {
        self.layers.read().active_bytes
    }

    /// Closes the active layer. `None` if nothing was committed since the last time.
    pub(crate) fn freeze(&self) -> Option<Arc<Frozen>> {
        let mut layers = self.layers.write();
        debug_assert!(layers.frozen.is_none());
        if layers.active_bytes == 0 {
            return None;
        }
        let rows = std::mem::take(&mut layers.active);
        let bytes = std::mem::take(&mut layers.active_bytes);
        let frozen = Arc::new(Frozen {
            rows,
            upto: layers.last_seq,
            bytes,
        });
        layers.frozen = Some(Arc::clone(&frozen));
        Some(frozen)
    }

    /// Drops the frozen layer: the snapshots have it durably.
    pub(crate) fn drop_frozen(&self) {
        let frozen = self.layers.write().frozen.take();
        // Freeing many rows takes time: outside the lock.
        drop(frozen);
    }
}

/// Where a scan of `prefix` behind `after` starts.
pub(crate) fn range_start<'a>(prefix: &'a [u8], after: Option<&'a [u8]>) -> Bound<&'a [u8]> {
    match after {
        Some(after) if after >= prefix => Bound::Excluded(after),
        _ => Bound::Included(prefix),
    }
}
