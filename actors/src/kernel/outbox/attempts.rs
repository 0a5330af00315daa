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
    pub tries: u64,
    /// Those that failed, in the order of [`FAILURES`].
    pub failures: [u64; FAILURE_REASONS.len()],
}

/// What the newest try of an effect that is not done came to, where that was nothing good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What was said.
    pub error: String,
    /// When it is tried next.
    pub next_at: Timestamp,
}

/// Of all deliveries of one engine, by [`Work::NAMES`]. Each cell is written by one supervisor.
#[derive(Debug)]
pub struct AttemptCounters {
    works: [CounterCells; Job::NAMES.len()],
    troubles: Mutex<HashMap<JobId, Trouble>>,
    /// How many troubles there are: who has none asks for no lock.
    troubled: AtomicUsize,
}

// The standard library has defaults of arrays up to 32.
impl Default for AttemptCounters {
    fn default() -> Self {
        Self {
            works: std::array::from_fn(|_| CounterCells::default()),
            troubles: Mutex::default(),
            troubled: AtomicUsize::new(0),
        }
    }
}

#[derive(Debug, Default)]
struct CounterCells {
    running: AtomicU64,
    tries: AtomicU64,
    failures: [AtomicU64; FAILURE_REASONS.len()],
    /// How often what waits was woken. A count and no time: a clock that is set back wakes nothing again.
    wakes: AtomicU64,
}

impl AttemptCounters {
    /// What waits for a later try of such work waits no longer: what it needs is there again.
    pub(crate) fn wake(&self, work: usize) {
        self.works[work].wakes.fetch_add(1, Ordering::Relaxed);
    }

    /// How often such work was woken so far.
    pub(super) fn wakes(&self, work: &Job) -> u64 {
        self.works[work.index()].wakes.load(Ordering::Relaxed)
    }

    /// The newest try did not end the effect and something is wrong.
    pub(super) fn trouble(&self, effect: &OutboxJob, error: String, next_at: Timestamp) {
        let mut troubles = self.troubles.lock();
        troubles.insert(effect.id, Trouble { error, next_at });
        self.troubled.store(troubles.len(), Ordering::Relaxed);
    }

    /// Nothing is wrong with it any more, or nobody tries it any more.
    pub(super) fn ease(&self, effect: JobId) {
        if self.troubled.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut troubles = self.troubles.lock();
        troubles.remove(&effect);
        self.troubled.store(troubles.len(), Ordering::Relaxed);
    }

    /// What is wrong with an effect.
    pub fn troubled(&self, effect: JobId) -> Option<Trouble> {
        match self.troubled.load(Ordering::Relaxed) {
            0 => None,
            _ => self.troubles.lock().get(&effect).cloned(),
        }
    }

    pub(super) fn started(&self, work: &Job) {
        let cells = &self.works[work.index()];
        cells.running.fetch_add(1, Ordering::Relaxed);
        cells.tries.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn finished(&self, work: &Job) {
        self.works[work.index()].running.fetch_sub(1, Ordering::Relaxed);
    }

    /// `None` is a crash.
    pub(super) fn failed(&self, work: &Job, kind: Option<ErrorKind>) {
        let place = match kind {
            Some(ErrorKind::Temporary) => 0,
            Some(ErrorKind::Unknown) => 1,
            Some(ErrorKind::Permanent) => 2,
            None => 3,
        };
        self.works[work.index()].failures[place].fetch_add(1, Ordering::Relaxed);
    }

    /// In the order of [`Work::NAMES`].
    pub fn read(&self) -> [AttemptCounts; Job::NAMES.len()] {
        self.works.each_ref().map(|cells| AttemptCounts {
            running: cells.running.load(Ordering::Relaxed),
            tries: cells.tries.load(Ordering::Relaxed),
            failures: cells.failures.each_ref().map(|n| n.load(Ordering::Relaxed)),
        })
    }
}
