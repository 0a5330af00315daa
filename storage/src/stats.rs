//! Statistics: whole numbers, counted with relaxed atomic additions. Presentation is up to the caller.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Cells of a [`PerThread`]. Further threads share a cell, which costs time and loses nothing.
const CELLS: usize = 8;

thread_local! {
    static CELL: usize = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        THREADS.fetch_add(1, Ordering::Relaxed) % CELLS
    };
}

/// One value for each of a few threads, so that they do not write to one another's cache lines.
#[derive(Debug)]
pub struct PerThread<T>([Aligned<T>; CELLS]);

#[derive(Debug)]
#[repr(align(128))]
struct Aligned<T>(T);

impl<T> PerThread<T> {
    /// Creates each value with `make`.
    pub fn new(mut make: impl FnMut() -> T) -> Self {
        Self(std::array::from_fn(|_| Aligned(make())))
    }

    /// Value of the calling thread.
    pub fn mine(&self) -> &T {
        &self.0[CELL.with(|cell| *cell)].0
    }

    /// Values of all threads.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|cell| &cell.0)
    }
}

/// A counter for many threads. Its sum is exact while no thread counts.
#[derive(Debug)]
pub struct Counter(PerThread<AtomicU64>);

impl Default for Counter {
    fn default() -> Self {
        Self(PerThread::new(AtomicU64::default))
    }
}

impl Counter {
    /// Increments the counter by one.
    pub fn add(&self) {
        self.0.mine().fetch_add(1, Ordering::Relaxed);
    }

    /// Adds one while the guard exists; it may be dropped on another thread.
    pub fn track(&self) -> CounterGuard<'_> {
        self.add();
        CounterGuard(self)
    }

    /// Sum over all threads.
    pub fn sum(&self) -> u64 {
        let cells = self.0.all().map(|cell| cell.load(Ordering::Relaxed));
        // A cell wraps below zero if one thread subtracts what another added; the sum unwraps. A concurrent read may
        // see the subtraction before the addition.
        let sum = cells.fold(0, u64::wrapping_add);
        if sum > u64::MAX / 2 { 0 } else { sum }
    }
}

/// Guard of [`Counter::track`].
#[derive(Debug)]
pub struct CounterGuard<'a>(&'a Counter);

impl Drop for CounterGuard<'_> {
    fn drop(&mut self) {
        self.0.0.mine().fetch_sub(1, Ordering::Relaxed);
    }
}

/// Distribution of values over ranges. The owner defines the unit.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// `bounds` are the upper ends of the ranges, ascending and inclusive; one more range is above the last.
    pub fn new(bounds: &'static [u64]) -> Self {
        Self {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    /// Counts one value.
    pub fn record(&self, value: u64) {
        let range = self.bounds.iter().take_while(|bound| **bound < value).count();
        if let Some(count) = self.counts.get(range) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Copy of the current bucket counts.
    pub fn snapshot(&self) -> HistogramSnapshot {
        HistogramSnapshot {
            bounds: self.bounds,
            counts: self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

/// Counts of a [`Histogram`] at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramSnapshot {
    /// Upper ends of the ranges.
    pub bounds: &'static [u64],
    /// Values in each range; the last range has no upper end.
    pub counts: Vec<u64>,
    /// Sum of all values.
    pub sum: u64,
}

impl HistogramSnapshot {
    /// Number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Upper end of the range that contains this percentile, in hundredths; `None` without a value, and for one above
    /// the last bound.
    pub fn at_most(&self, hundredths: u64) -> Option<u64> {
        let wanted = self.count().checked_mul(hundredths)?.div_ceil(100).max(1);
        let mut below = 0;
        let mut ranges = self.counts.iter().zip(self.bounds);
        ranges.find_map(|(count, bound)| {
            below += count;
            (below >= wanted).then_some(*bound)
        })
    }

    /// Adds another snapshot over the same ranges.
    pub fn add(&mut self, other: &Self) {
        debug_assert_eq!(self.bounds, other.bounds, "only like is added to like");
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.sum += other.sum;
    }
}

/// Counts of a journal's commits.
pub(crate) struct CommitStats {
    pub(crate) batches: Histogram,
    pub(crate) bytes: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) syncs: AtomicU64,
    pub(crate) rejected: AtomicU64,
    pub(crate) group_us: Histogram,
}

impl Default for CommitStats {
    fn default() -> Self {
        Self {
            batches: Histogram::new(&[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 4_096]),
            bytes: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            group_us: Histogram::new(&[
                100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 1_000_000,
            ]),
        }
    }
}

/// Counts of a journal since it was opened, and its current positions.
#[derive(Clone, Debug)]
pub struct JournalStats {
    /// Batches acknowledged together, by group; rejected ones and barriers are included.
    pub batches: HistogramSnapshot,
    /// Microseconds per group: conditions, write, sync, publishing and callbacks.
    pub group_us: HistogramSnapshot,
    /// Bytes written to the journal.
    pub bytes: u64,
    /// Batches written to the journal: neither rejected ones nor barriers.
    pub commits: u64,
    /// Syncs of groups: one for each group that wrote anything.
    pub syncs: u64,
    /// Batches rejected by a condition, a failed write session or a limit.
    pub rejected: u64,
    /// The newest durable sequence.
    pub durable_seq: u64,
    /// Newest sequence in the snapshots.
    pub applied_seq: u64,
    /// Number of segments on disk.
    pub segments: usize,
    /// Last sequence in the newest verified export; `None` without one, and while one is being made.
    pub exported_seq: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: a bound belongs to the range below it, a value above the last bound is counted too, and nothing is lost.
    #[test]
    fn value_is_counted_in_its_bucket() {
        let histogram = Histogram::new(&[10, 20]);
        for value in [0, 10, 11, 20, 21, 1_000] {
            histogram.record(value);
        }
        let mut read = histogram.snapshot();
        assert_eq!((read.counts.clone(), read.sum, read.count()), (vec![2, 2, 2], 1_062, 6));
        assert_eq!(
            [1, 33, 34, 66, 67].map(|n| read.at_most(n)),
            [Some(10), Some(10), Some(20), Some(20), None]
        );
        assert_eq!(Histogram::new(&[10]).snapshot().at_most(50), None);
        read.add(&histogram.snapshot());
        assert_eq!((read.counts, read.sum), (vec![4, 4, 4], 2_124));
    }

    // Checks: one thread may subtract what another added without changing the sum.
    #[test]
    fn counter_is_exact_across_threads() {
        let tally = Counter::default();
        let held: Vec<_> = (0..5_000).map(|_| tally.track()).collect();
        std::thread::scope(|threads| {
            for _ in 0..20 {
                threads.spawn(|| (0..1_000).for_each(|_| tally.add()));
            }
            threads.spawn(move || drop(held));
        });
        assert_eq!(tally.sum(), 20_000);
    }
}
