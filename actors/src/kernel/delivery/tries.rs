//! What deliveries count: tries, those that run, those that failed.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::kernel::effect::Work;
use crate::port::ErrorKind;

/// How a try can fail; `crash` is a panic, or an end that no worker spoke of. What only has to wait is none.
pub const FAILURES: [&str; 4] = ["temporary", "unknown", "permanent", "crash"];

/// Of one kind of work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried {
    /// Being tried now.
    pub running: u64,
    /// Tries since the start.
    pub tries: u64,
    /// Those that failed, in the order of [`FAILURES`].
    pub failures: [u64; FAILURES.len()],
}

/// Of all deliveries of one engine, by [`Work::NAMES`]. Each cell is written by one supervisor.
#[derive(Debug)]
pub struct Tries([Cells; Work::NAMES.len()]);

// The standard library has defaults of arrays up to 32.
impl Default for Tries {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Cells::default()))
    }
}

#[derive(Debug, Default)]
struct Cells {
    running: AtomicU64,
    tries: AtomicU64,
    failures: [AtomicU64; FAILURES.len()],
}

impl Tries {
    pub(super) fn begins(&self, work: &Work) {
        let cells = &self.0[work.index()];
        cells.running.fetch_add(1, Ordering::Relaxed);
        cells.tries.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ends(&self, work: &Work) {
        self.0[work.index()].running.fetch_sub(1, Ordering::Relaxed);
    }

    /// `None` is a crash.
    pub(super) fn fails(&self, work: &Work, kind: Option<ErrorKind>) {
        let place = match kind {
            Some(ErrorKind::Temporary) => 0,
            Some(ErrorKind::Unknown) => 1,
            Some(ErrorKind::Permanent) => 2,
            None => 3,
        };
        self.0[work.index()].failures[place].fetch_add(1, Ordering::Relaxed);
    }

    /// In the order of [`Work::NAMES`].
    pub fn read(&self) -> [Tried; Work::NAMES.len()] {
        self.0.each_ref().map(|cells| Tried {
            running: cells.running.load(Ordering::Relaxed),
            tries: cells.tries.load(Ordering::Relaxed),
            failures: cells.failures.each_ref().map(|n| n.load(Ordering::Relaxed)),
        })
    }
}
