//! What deliveries count: tries, those that run, those that failed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::id::JobId;
use crate::kernel::job::{Job, OutboxJob};
use crate::port::{ErrorKind, Timestamp};

/// How a try can fail; `crash` is a panic, or an end that no worker spoke of. What only has to wait is none.
pub const FAILURE_REASONS: [&str; 4] = ["temporary", "unknown", "permanent", "crash"];

/// Of one kind of work.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttemptCounts {
    /// Being tried now.
    pub running: u64,
    /// Tries since the start.
    pub attempts: u64,
    /// Those that failed, in the order of [`FAILURES`].
    pub failures: [u64; FAILURE_REASONS.len()],
}

/// What the newest try of an effect that is not done came to, where that was nothing good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastFailure {
    /// What was said.
    pub error: String,
    /// When it is tried next.
    pub next_at: Timestamp,
}

/// Of all deliveries of one engine, by [`Work::NAMES`]. Each cell is written by one supervisor.
#[derive(Debug)]
pub struct AttemptCounters {
    counters: [CounterCells; Job::NAMES.len()],
    last_failures: Mutex<HashMap<JobId, LastFailure>>,
    /// How many troubles there are: who has none asks for no lock.
    failing_jobs: AtomicUsize,
}

// The standard library has defaults of arrays up to 32.
impl Default for AttemptCounters {
    fn default() -> Self {
        Self {
            counters: std::array::from_fn(|_| CounterCells::default()),
            last_failures: Mutex::default(),
            failing_jobs: AtomicUsize::new(0),
        }
    }
}

#[derive(Debug, Default)]
struct CounterCells {
    running: AtomicU64,
    attempts: AtomicU64,
    failures: [AtomicU64; FAILURE_REASONS.len()],
    /// How often what waits was woken. A count and no time: a clock that is set back wakes nothing again.
    wakes: AtomicU64,
}

impl AttemptCounters {
    /// What waits for a later try of such work waits no longer: what it needs is there again.
    pub(crate) fn wake(&self, work: usize) {
        self.counters[work].wakes.fetch_add(1, Ordering::Relaxed);
    }

    /// How often such work was woken so far.
    pub(super) fn wakes(&self, work: &Job) -> u64 {
        self.counters[work.index()].wakes.load(Ordering::Relaxed)
    }

    /// The newest try did not end the effect and something is wrong.
    pub(super) fn last_failure(&self, effect: &OutboxJob, error: String, next_at: Timestamp) {
        let mut troubles = self.last_failures.lock();
        troubles.insert(effect.id, LastFailure { error, next_at });
        self.failing_jobs.store(troubles.len(), Ordering::Relaxed);
    }

    /// Nothing is wrong with it any more, or nobody tries it any more.
    pub(super) fn clear_last_failure(&self, effect: JobId) {
        if self.failing_jobs.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut troubles = self.last_failures.lock();
        troubles.remove(&effect);
        self.failing_jobs.store(troubles.len(), Ordering::Relaxed);
    }

    /// What is wrong with an effect.
    pub fn record_last_failure(&self, effect: JobId) -> Option<LastFailure> {
        match self.failing_jobs.load(Ordering::Relaxed) {
            0 => None,
            _ => self.last_failures.lock().get(&effect).cloned(),
        }
    }

    pub(super) fn started(&self, work: &Job) {
        let cells = &self.counters[work.index()];
        cells.running.fetch_add(1, Ordering::Relaxed);
        cells.attempts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn finished(&self, work: &Job) {
        self.counters[work.index()].running.fetch_sub(1, Ordering::Relaxed);
    }

    /// `None` is a crash.
    pub(super) fn failed(&self, work: &Job, kind: Option<ErrorKind>) {
        let place = match kind {
            Some(ErrorKind::Temporary) => 0,
            Some(ErrorKind::Unknown) => 1,
            Some(ErrorKind::Permanent) => 2,
            None => 3,
        };
        self.counters[work.index()].failures[place].fetch_add(1, Ordering::Relaxed);
    }

    /// In the order of [`Work::NAMES`].
    pub fn read(&self) -> [AttemptCounts; Job::NAMES.len()] {
        self.counters.each_ref().map(|cells| AttemptCounts {
            running: cells.running.load(Ordering::Relaxed),
            attempts: cells.attempts.load(Ordering::Relaxed),
            failures: cells.failures.each_ref().map(|n| n.load(Ordering::Relaxed)),
        })
    }
}
