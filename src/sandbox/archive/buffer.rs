//! The records of one provider: those in memory, and older ones that only the log has.

use std::collections::HashMap;
use std::sync::Arc;

use super::ArchiveRecord;
use super::index::{Index, IndexSnapshot};

/// Records in order of arrival. Guarded by its owner's lock.
#[derive(Debug)]
pub(crate) struct RecordBuffer<T> {
    filling: RecordBatch<T>,
    /// Being written to the index.
    flushing: Option<RecordBatch<T>>,
    /// Batches sent to the index since the start.
    flushes: u64,
    counted: u64,
    /// Names added since they were last taken.
    names: Vec<u64>,
    index: Option<Arc<Index>>,
}

#[derive(Debug)]
struct RecordBatch<T> {
    items: Vec<T>,
    by_name: HashMap<u64, Vec<usize>>,
}

impl<T> Default for RecordBatch<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            by_name: HashMap::new(),
        }
    }
}

impl<T> Default for RecordBuffer<T> {
    fn default() -> Self {
        Self {
            filling: RecordBatch::default(),
            flushing: None,
            flushes: 0,
            counted: 0,
            names: Vec::new(),
            index: None,
        }
    }
}

impl<T: ArchiveRecord> RecordBuffer<T> {
    /// Adds the newest record.
    pub(crate) fn add(&mut self, item: T) {
        let names = item.index_keys();
        let place = self.filling.items.len();
        for name in &names {
            self.filling.by_name.entry(*name).or_default().push(place);
        }
        self.counted += u64::from(item.is_counted());
        self.filling.items.push(item);
        self.names.extend(names);
    }

    /// All records that may have this name, oldest first. The result includes other records of the same frames, so the
    /// caller must check each.
    pub(crate) fn find(&self, name: u64) -> Vec<T> {
        let mut found = Vec::new();
        let view = self.view();
        if let Some((index, view)) = self.index.as_ref().zip(view.as_ref()) {
            for frame in index.frames_of(view, name) {
                found.extend(index.read(frame).0);
            }
        }
        for batch in self.in_memory(view.as_deref()) {
            let places = batch.by_name.get(&name).into_iter().flatten();
            found.extend(places.filter_map(|place| batch.items.get(*place)).cloned());
        }
        found
    }

    /// Visits the counted records from this number on (the first is 0), in order, until `visit` returns false.
    pub(crate) fn scan(&self, from: u64, mut visit: impl FnMut(u64, &T) -> bool) {
        let mut number = 0;
        let mut show = |number: &mut u64, items: &[T]| {
            items.iter().filter(|item| item.is_counted()).all(|item| {
                *number += 1;
                *number <= from || visit(*number - 1, item)
            })
        };
        let view = self.view();
        if let Some((index, view)) = self.index.as_ref().zip(view.as_ref()) {
            let (first, mut at) = view.step_before(from);
            number = first;
            while at < view.upto() {
                let (items, next) = index.read(at);
                if !show(&mut number, &items) || next <= at {
                    return;
                }
                at = next;
            }
        }
        for batch in self.in_memory(view.as_deref()) {
            if !show(&mut number, &batch.items) {
                return;
            }
        }
    }

    fn view(&self) -> Option<Arc<IndexSnapshot>> {
        self.index.as_ref().map(|index| index.view())
    }

    /// The batches that this view of the index lacks.
    fn in_memory<'a>(&'a self, view: Option<&IndexSnapshot>) -> impl Iterator<Item = &'a RecordBatch<T>> {
        let seen = view.is_some_and(|view| view.flushes == self.flushes);
        self.flushing
            .as_ref()
            .filter(|_| !seen)
            .into_iter()
            .chain([&self.filling])
    }

    /// Number of counted records.
    pub(crate) const fn counted(&self) -> u64 {
        self.counted
    }

    /// Number of records in memory.
    #[cfg(test)]
    pub(crate) fn resident(&self) -> usize {
        self.filling.items.len() + self.flushing.as_ref().map_or(0, |batch| batch.items.len())
    }

    /// Waits until the index has every flushed batch.
    #[cfg(test)]
    pub(crate) fn evict(&self) {
        assert!(self.index.as_ref().is_some_and(|index| index.wait_for(self.flushes)));
    }

    pub(super) const fn start_at(&mut self, counted: u64) {
        self.counted = counted;
    }

    pub(super) fn set_index(&mut self, index: Arc<Index>) {
        self.index = Some(index);
    }

    pub(super) fn take_names(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.names)
    }

    /// Starts to flush a batch to the index if it has `at` records and the previous flush is done. With `most` records,
    /// waits for the previous flush.
    pub(super) fn start_flush(&mut self, at: usize, most: usize) -> bool {
        let Some(index) = &self.index else { return false };
        let full = self.filling.items.len() >= most;
        if self.flushing.is_some() && (index.view().flushes == self.flushes || full && index.wait_for(self.flushes)) {
            self.flushing = None;
        }
        if self.flushing.is_some() || self.filling.items.len() < at {
            return false;
        }
        self.flushing = Some(std::mem::take(&mut self.filling));
        self.flushes += 1;
        true
    }
}
