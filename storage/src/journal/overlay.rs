//! Rows that are durable in the journal and not yet in the snapshots.
//!
//! Two layers: the committer inserts into `active`; the applier freezes it, writes the frozen layer to the snapshots,
//! and drops it whole. An entry therefore needs no bookkeeping of its own, and writes of one key coalesce
//! automatically. A layer is a hash map, because inserts are far more frequent than scans; its keys are sorted on the
//! first scan.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map};
use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};

use parking_lot::{Mutex, RwLock};

use super::index::FixedState;
use crate::snapshot::{range_end, range_start};
use crate::{Row, RowKey, Seq};

/// The newest state of a key within one layer or one group.
pub(crate) struct OverlayEntry {
    /// The layers below hold nothing for this key (its creation was conditional on that). If it is then
    /// deleted within the same layer, nothing of it needs to reach the snapshots.
    pub(crate) is_new: bool,
    /// `None` if the row is deleted.
    pub(crate) row: Option<Row>,
}

/// The writes of one group, before they are durable.
pub(crate) type Staged = HashMap<RowKey, OverlayEntry, FixedState>;

/// Sorted keys, and keys that are new since they were sorted. Some may have left the layer again. One per first byte of
/// the keys, so that a scan of one table does not pay for the others.
#[derive(Default)]
struct KeyOrder {
    sorted: BTreeSet<RowKey>,
    fresh: Vec<RowKey>,
    /// How many keys have left the layer and may be here still.
    gone: usize,
}

impl KeyOrder {
    /// Sorts what is new. Once most keys may be gone, they are removed, because every scan would pass them again.
    fn sort(&mut self, rows: &HashMap<RowKey, OverlayEntry, FixedState>) {
        self.sorted.extend(self.fresh.drain(..));
        if self.gone > self.sorted.len() / 2 {
            self.sorted.retain(|key| rows.contains_key(key));
            self.gone = 0;
        }
    }
}

#[derive(Default)]
struct OverlayLayer {
    rows: HashMap<RowKey, OverlayEntry, FixedState>,
    order: Mutex<BTreeMap<u8, KeyOrder>>,
}

/// A layer on its way into the snapshots.
pub(crate) struct FrozenLayer {
    layer: OverlayLayer,
    pub(crate) upto: Seq,
    bytes: u64,
}

#[derive(Default)]
struct OverlayLayers {
    active: OverlayLayer,
    active_bytes: u64,
    last_seq: Seq,
    frozen: Option<Arc<FrozenLayer>>,
}

#[derive(Default)]
pub(crate) struct Overlay {
    layers: RwLock<OverlayLayers>,
    /// Bytes of both layers, outside the lock because every admission reads it.
    lag: AtomicU64,
}

impl OverlayLayer {
    fn absorb(&mut self, key: RowKey, entry: OverlayEntry) {
        match self.rows.entry(key) {
            hash_map::Entry::Occupied(mut old) => {
                if old.get().is_new && entry.row.is_none() {
                    let (key, _) = old.remove_entry();
                    self.order.get_mut().entry(table_of(&key)).or_default().gone += 1;
                } else {
                    old.get_mut().row = entry.row;
                }
            }
            hash_map::Entry::Vacant(place) => {
                if !(entry.is_new && entry.row.is_none()) {
                    let table = self.order.get_mut().entry(table_of(place.key())).or_default();
                    table.fresh.push(place.key().clone());
                    place.insert(entry);
                }
            }
        }
    }
}

fn table_of(key: &[u8]) -> u8 {
    key.first().copied().unwrap_or(0)
}

/// The tables that a prefix reaches.
fn tables_of(prefix: &[u8]) -> RangeInclusive<u8> {
    match prefix.first() {
        Some(table) => *table..=*table,
        None => 0..=u8::MAX,
    }
}

/// Sorts the tables that a prefix reaches, and returns the entries of their keys from `start` on.
fn sorted<'a>(
    order: &'a mut BTreeMap<u8, KeyOrder>,
    rows: &'a HashMap<RowKey, OverlayEntry, FixedState>,
    prefix: &[u8],
    start: Bound<&'a [u8]>,
) -> impl Iterator<Item = (&'a RowKey, &'a OverlayEntry)> {
    let keys = order.range_mut(tables_of(prefix)).flat_map(move |(_, table)| {
        table.sort(rows);
        table.sorted.range::<[u8], _>((start, Bound::Unbounded))
    });
    keys.filter_map(move |key| rows.get(key).map(|entry| (key, entry)))
}

/// The same backwards from `end`.
fn sorted_back<'a>(
    order: &'a mut BTreeMap<u8, KeyOrder>,
    rows: &'a HashMap<RowKey, OverlayEntry, FixedState>,
    prefix: &[u8],
    end: Bound<&'a [u8]>,
) -> impl Iterator<Item = (&'a RowKey, &'a OverlayEntry)> {
    let keys = order.range_mut(tables_of(prefix)).rev().flat_map(move |(_, table)| {
        table.sort(rows);
        table.sorted.range::<[u8], _>((Bound::Unbounded, end)).rev()
    });
    keys.filter_map(move |key| rows.get(key).map(|entry| (key, entry)))
}

/// Entries of two layers in one order: of a key that both have, the upper one's. Ends with the `limit`th row.
fn merge<'a>(
    top: impl Iterator<Item = (&'a RowKey, &'a OverlayEntry)>,
    below: impl Iterator<Item = (&'a RowKey, &'a OverlayEntry)>,
    prefix: &[u8],
    limit: usize,
    order: fn(&RowKey, &RowKey) -> Ordering,
) -> Vec<(RowKey, Option<Row>)> {
    let (mut top, mut below) = (top.peekable(), below.peekable());
    let (mut out, mut live) = (Vec::new(), 0);
    loop {
        let next = match (top.peek(), below.peek()) {
            (Some((a, _)), Some((b, _))) => match order(a, b) {
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

impl FrozenLayer {
    /// All changes, by key.
    pub(crate) fn changes(&self) -> Vec<(&[u8], Option<&Row>)> {
        let mut changes: Vec<_> = self
            .layer
            .rows
            .iter()
            .map(|(key, e)| (&key[..], e.row.as_ref()))
            .collect();
        changes.sort_unstable_by_key(|(key, _)| *key);
        changes
    }
}

impl Overlay {
    /// An overlay over snapshots that hold everything up to `applied`.
    pub(crate) fn starting_at(applied: Seq) -> Self {
        let overlay = Self::default();
        overlay.layers.write().last_seq = applied;
        overlay
    }

    /// Inserts a group that has become durable. One lock for the whole group.
    pub(crate) fn insert(&self, staged: &mut Staged, last_seq: Seq, bytes: u64) {
        self.lag.fetch_add(bytes, atomic::Ordering::Relaxed);
        let mut layers = self.layers.write();
        for (key, entry) in staged.drain() {
            layers.active.absorb(key, entry);
        }
        layers.active_bytes += bytes;
        layers.last_seq = last_seq;
    }

    /// `None`: read the snapshots. `Some(None)`: deleted.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<Row>> {
        let layers = self.layers.read();
        if let Some(entry) = layers.active.rows.get(key) {
            return Some(entry.row.clone());
        }
        layers
            .frozen
            .as_ref()
            .and_then(|f| f.layer.rows.get(key))
            .map(|entry| entry.row.clone())
    }

    /// The overlay's view of a range, in key order: rows and deletions, up to and including the `limit`th row. Later
    /// keys cannot be among the first `limit` rows of the whole store.
    pub(crate) fn range(&self, prefix: &[u8], after: Option<&[u8]>, limit: usize) -> Vec<(RowKey, Option<Row>)> {
        let start = range_start(prefix, after);
        let layers = self.layers.read();
        let empty = OverlayLayer::default();
        let below = layers.frozen.as_ref().map_or(&empty, |f| &f.layer);
        let (mut top_order, mut below_order) = (layers.active.order.lock(), below.order.lock());
        let top = sorted(&mut top_order, &layers.active.rows, prefix, start);
        let below = sorted(&mut below_order, &below.rows, prefix, start);
        merge(top, below, prefix, limit, Ord::cmp)
    }

    /// The same backwards, from before a key.
    pub(crate) fn range_back(&self, prefix: &[u8], before: Option<&[u8]>, limit: usize) -> Vec<(RowKey, Option<Row>)> {
        let end = range_end(prefix, before);
        let end = end.as_ref().map(|end| &**end);
        let layers = self.layers.read();
        let empty = OverlayLayer::default();
        let below = layers.frozen.as_ref().map_or(&empty, |f| &f.layer);
        let (mut top_order, mut below_order) = (layers.active.order.lock(), below.order.lock());
        let top = sorted_back(&mut top_order, &layers.active.rows, prefix, end);
        let below = sorted_back(&mut below_order, &below.rows, prefix, end);
        merge(top, below, prefix, limit, |a, b| b.cmp(a))
    }

    /// Bytes of journal whose rows the snapshots do not have.
    pub(crate) fn lag_bytes(&self) -> u64 {
        self.lag.load(atomic::Ordering::Relaxed)
    }

    /// Bytes in the layer that can be frozen next.
    pub(crate) fn active_bytes(&self) -> u64 {
        self.layers.read().active_bytes
    }

    /// Closes the active layer. `None` if nothing was committed since the last time.
    pub(crate) fn freeze(&self) -> Option<Arc<FrozenLayer>> {
        let mut layers = self.layers.write();
        debug_assert!(layers.frozen.is_none());
        if layers.active_bytes == 0 {
            return None;
        }
        let layer = std::mem::take(&mut layers.active);
        let bytes = std::mem::take(&mut layers.active_bytes);
        let frozen = Arc::new(FrozenLayer {
            layer,
            upto: layers.last_seq,
            bytes,
        });
        layers.frozen = Some(Arc::clone(&frozen));
        Some(frozen)
    }

    /// Drops the frozen layer: the snapshots have it durably.
    pub(crate) fn drop_frozen(&self) {
        let frozen = self.layers.write().frozen.take();
        if let Some(frozen) = &frozen {
            self.lag.fetch_sub(frozen.bytes, atomic::Ordering::Relaxed);
        }
        // Freeing many rows takes time: outside the lock.
        drop(frozen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: rows that came and went within a layer are not passed by every later scan, and a scan finds the others.
    #[test]
    fn keys_that_are_gone_leave_the_order() {
        let overlay = Overlay::default();
        let write = |number: u32, row: Option<Row>| {
            let entry = OverlayEntry { is_new: true, row };
            let mut staged = Staged::default();
            staged.insert([&[7], &number.to_be_bytes()[..]].concat().into(), entry);
            overlay.insert(&mut staged, 1, 100);
        };
        let row = |revision| Row {
            revision,
            value: b"value".as_slice().into(),
        };
        let found = || -> Vec<u64> {
            let rows = overlay.range(&[7], None, usize::MAX).into_iter();
            rows.map(|(_, row)| row.map_or(0, |row| row.revision)).collect()
        };
        for number in 0..1_000 {
            write(number, Some(row(1)));
            if number % 10 != 0 {
                write(number, None);
            }
        }
        assert_eq!(found(), [1; 100]);
        let kept = || overlay.layers.read().active.order.lock()[&7].sorted.len();
        assert_eq!(kept(), 100);
        // One that comes again is found again.
        write(3, Some(row(2)));
        write(4, Some(row(3)));
        write(4, None);
        assert_eq!((found().len(), found()[1]), (101, 2));
    }
}
