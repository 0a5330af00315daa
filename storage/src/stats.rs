//! Figures of what a room has done: whole numbers, counted with relaxed atomic additions. Who shows them, and how, is
//! not known here.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Cells of a [`PerThread`]: threads beyond that share one, which costs time and loses nothing.
const CELLS: usize = 8;

thread_local! {
    static CELL: usize = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        THREADS.fetch_add(1, Ordering::Relaxed) % CELLS
    };
}

/// The same thing once for each of a few threads, so that they do not write to one another's cache lines.
#[derive(Debug)]
pub struct PerThread<T>([Aligned<T>; CELLS]);

#[derive(Debug)]
#[repr(align(128))]
struct Aligned<T>(T);

impl<T> PerThread<T> {
    /// One made by `make` for each.
    pub fn new(mut make: impl FnMut() -> T) -> Self {
        Self(std::array::from_fn(|_| Aligned(make())))
    }

    /// The calling thread's.
    pub fn mine(&self) -> &T {
        &self.0[CELL.with(|cell| *cell)].0
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|cell| &cell.0)
    }
}

/// A number that many threads count. Its sum is exact once they rest.
#[derive(Debug)]
pub struct Counter(PerThread<AtomicU64>);

impl Default for Counter {
    fn default() -> Self {
        Self(PerThread::new(AtomicU64::default))
    }
}

impl Counter {
    /// Adds one.
    pub fn add(&self) {
        self.0.mine().fetch_add(1, Ordering::Relaxed);
    }

    /// Adds one for as long as the guard lives, which may be dropped on another thread.
    pub fn track(&self) -> CounterGuard<'_> {
        self.add();
        CounterGuard(self)
    }

    /// What all threads made of it.
    pub fn sum(&self) -> u64 {
        let cells = self.0.all().map(|cell| cell.load(Ordering::Relaxed));
        // A cell wraps below zero where one thread takes what another added; the sum unwraps. Read in between, it may
        // see the taking before the adding.
        let sum = cells.fold(0, u64::wrapping_add);
        if sum > u64::MAX / 2 { 0 } else { sum }
    }
}

/// See [`Tally::hold`].
#[derive(Debug)]
pub struct CounterGuard<'a>(&'a Counter);

impl Drop for CounterGuard<'_> {
    fn drop(&mut self) {
        self.0.0.mine().fetch_sub(1, Ordering::Relaxed);
    }
}

/// How values spread over ranges. The unit is its owner's.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// `bounds` are the upper ends of the ranges, ascending and each within its range; one more range is above the last.
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

    /// As it is now.
    pub fn snapshot(&self) -> HistogramSnapshot {
        HistogramSnapshot {
            bounds: self.bounds,
            counts: self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

/// What a [`Histogram`] held at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramSnapshot {
    /// Upper ends of the ranges.
    pub bounds: &'static [u64],
    /// Values in each range; the last range has no upper end.
    pub counts: Vec<u64>,
    /// Of all values.
    pub sum: u64,
}

impl HistogramSnapshot {
    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The upper end of the range that holds this share of the values, in hundredths; `None` without a value, and for one
    /// above the last bound.
    pub fn at_most(&self, hundredths: u64) -> Option<u64> {
        let wanted = self.count().checked_mul(hundredths)?.div_ceil(100).max(1);
        let mut below = 0;
        let mut ranges = self.counts.iter().zip(self.bounds);
        ranges.find_map(|(count, bound)| {
            below += count;
            (below >= wanted).then_some(*bound)
        })
    }

    /// Adds another one over the same ranges.
    pub fn add(&mut self, other: &Self) {
        debug_assert_eq!(self.bounds, other.bounds, "only like is added to like");
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.sum += other.sum;
    }
}

/// What a journal counts as it commits.
pub(crate) struct CommitStats {
    pub(crate) batches: Histogram,
    pub(crate) bytes: AtomicU64,
    pub(crate) rejected: AtomicU64,
    pub(crate) group_us: Histogram,
}

impl Default for CommitStats {
    fn default() -> Self {
        Self {
            batches: Histogram::new(&[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 4_096]),
            bytes: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            group_us: Histogram::new(&[
                100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 1_000_000,
            ]),
        }
    }
}

/// What a journal has done since it was opened, and how it stands.
#[derive(Clone, Debug)]
pub struct JournalStats {
    /// Batches answered together, by group; refused ones and barriers are among them.
    pub batches: HistogramSnapshot,
    /// Microseconds a group took: conditions, write, sync, publishing and answers.
    pub group_us: HistogramSnapshot,
    /// Written to the journal.
    pub bytes: u64,
    /// Batches refused, by a condition, a broken lane or a limit.
    pub rejected: u64,
    /// The newest durable sequence.
    pub durable_seq: u64,
    /// The newest sequence in the snapshots.
    pub applied_seq: u64,
    /// Segments on disk.
    pub segments: usize,
    /// Up to where the newest verified export reaches; `None` without one, and while one is being made.
    pub exported_seq: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    // Aim: a bound belongs to the range below it, what is above the last bound is counted too, and nothing is lost.
    #[test]
    fn a_value_falls_into_its_range() {
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

    // Aim: what one thread adds another may take: the sum knows.
    #[test]
    fn a_tally_is_exact_across_threads() {
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
