//! Counters of the outbox: attempts, running attempts, failures.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use purser_storage::stats::{Histogram, HistogramSnapshot};

use crate::id::JobId;
use crate::kernel::job::OutboxJob;
use crate::port::{ErrorKind, Timestamp};

/// Failure reasons of attempts; `crash` is a panic, or an exit without a report. A deferred job has no failure.
pub const FAILURE_REASONS: [&str; 4] = ["temporary", "unknown", "permanent", "crash"];

/// Upper bounds of the durations of attempts, in milliseconds.
const DURATIONS_MS: &[u64] = &[
    5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000,
];

/// Counts of one job type.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttemptCounts {
    /// Attempts that are running now.
    pub running: u64,
    /// Attempts since the start.
    pub attempts: u64,
    /// Failed attempts, in the order of [`FAILURE_REASONS`].
    pub failures: [u64; FAILURE_REASONS.len()],
}

/// Failure of the latest attempt of a pending job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastFailure {
    /// Error message of the attempt.
    pub error: String,
    /// Time of the next attempt.
    pub next_at: Timestamp,
}

/// Counters of one engine, by the index of a job's type. Each cell is written by one supervisor.
#[derive(Debug)]
pub struct AttemptCounters {
    counters: Box<[CounterCells]>,
    last_failures: Mutex<HashMap<JobId, LastFailure>>,
    /// Number of jobs with a failure; while it is zero, no lock is taken.
    failing_jobs: AtomicUsize,
}

impl AttemptCounters {
    /// Counters for this many types, and for the jobs of unknown types.
    pub fn new(types: usize) -> Self {
        Self {
            counters: (0..=types).map(|_| CounterCells::default()).collect(),
            last_failures: Mutex::default(),
            failing_jobs: AtomicUsize::new(0),
        }
    }
}

#[derive(Debug)]
struct CounterCells {
    running: AtomicU64,
    attempts: AtomicU64,
    failures: [AtomicU64; FAILURE_REASONS.len()],
    durations_ms: Histogram,
    /// How often waiting jobs were woken. A counter rather than a time: setting the clock back wakes nothing again.
    wakes: AtomicU64,
}

impl Default for CounterCells {
    fn default() -> Self {
        Self {
            running: AtomicU64::default(),
            attempts: AtomicU64::default(),
            failures: std::array::from_fn(|_| AtomicU64::default()),
            durations_ms: Histogram::new(DURATIONS_MS),
            wakes: AtomicU64::default(),
        }
    }
}

impl AttemptCounters {
    /// Wakes waiting jobs of this type: their dependency is available again.
    pub(crate) fn wake(&self, work: usize) {
        self.counters[work].wakes.fetch_add(1, Ordering::Relaxed);
    }

    /// How often jobs of this type were woken so far.
    pub(super) fn wakes(&self, work: usize) -> u64 {
        self.counters[work].wakes.load(Ordering::Relaxed)
    }

    /// The latest attempt did not complete the job and failed.
    pub(super) fn last_failure(&self, outbox_job: &OutboxJob, error: String, next_at: Timestamp) {
        let mut troubles = self.last_failures.lock();
        troubles.insert(outbox_job.id, LastFailure { error, next_at });
        self.failing_jobs.store(troubles.len(), Ordering::Relaxed);
    }

    /// The job's failure is over, or it is no longer attempted.
    pub(super) fn clear_last_failure(&self, job: JobId) {
        if self.failing_jobs.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut troubles = self.last_failures.lock();
        troubles.remove(&job);
        self.failing_jobs.store(troubles.len(), Ordering::Relaxed);
    }

    /// Failure of a job, if there is one.
    pub fn record_last_failure(&self, job: JobId) -> Option<LastFailure> {
        match self.failing_jobs.load(Ordering::Relaxed) {
            0 => None,
            _ => self.last_failures.lock().get(&job).cloned(),
        }
    }

    pub(super) fn started(&self, work: usize) {
        let cells = &self.counters[work];
        cells.running.fetch_add(1, Ordering::Relaxed);
        cells.attempts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn finished(&self, work: usize, took_ms: u64) {
        let cells = &self.counters[work];
        cells.running.fetch_sub(1, Ordering::Relaxed);
        cells.durations_ms.record(took_ms);
    }

    /// Durations of the finished attempts in milliseconds, by type, in the order of the index.
    pub fn durations_ms(&self) -> Vec<HistogramSnapshot> {
        let known = &self.counters[..self.counters.len() - 1];
        known.iter().map(|cells| cells.durations_ms.snapshot()).collect()
    }

    /// `None` is a crash.
    pub(super) fn failed(&self, work: usize, kind: Option<ErrorKind>) {
        let place = match kind {
            Some(ErrorKind::Temporary) => 0,
            Some(ErrorKind::Unknown) => 1,
            Some(ErrorKind::Permanent) => 2,
            None => 3,
        };
        self.counters[work].failures[place].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts by type, in the order of the index. Jobs of unknown types are left out.
    pub fn read(&self) -> Vec<AttemptCounts> {
        let known = &self.counters[..self.counters.len() - 1];
        let counts = known.iter().map(|cells| AttemptCounts {
            running: cells.running.load(Ordering::Relaxed),
            attempts: cells.attempts.load(Ordering::Relaxed),
            failures: cells.failures.each_ref().map(|n| n.load(Ordering::Relaxed)),
        });
        counts.collect()
    }
}
