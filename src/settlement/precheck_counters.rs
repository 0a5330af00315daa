//! Counters of prechecks by outcome since the start of the process, for monitoring.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use purser_actors::port::Decline;

/// The most common reason, listed from the start.
const INSUFFICIENT_FUNDS: &str = "insufficient_funds";
/// Maximum number of distinct reasons; others count as `other`.
const MAX_REASONS: usize = 50;
/// Maximum number of stored transactions.
const MAX_REMEMBERED: usize = 10_000;

/// The chain did not respond in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable;

/// Counters of payment checks before claims.
#[derive(Debug)]
pub struct PrecheckCounters {
    requests: AtomicU64,
    reads: AtomicU64,
    unavailable: AtomicU64,
    declined: Mutex<BTreeMap<String, u64>>,
}

/// Values of [`PrecheckCounters`] at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrecheckStats {
    /// Number of requested checks.
    pub requests: u64,
    /// Chain reads for these checks and for preparation. Payments that arrive together share one read.
    pub reads: u64,
    /// Reads that the chain did not answer in time.
    pub unavailable: u64,
    /// Declines by reason.
    pub declined: Vec<(String, u64)>,
}

impl Default for PrecheckCounters {
    fn default() -> Self {
        Self {
            requests: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            unavailable: AtomicU64::new(0),
            declined: Mutex::new(BTreeMap::from([(INSUFFICIENT_FUNDS.to_owned(), 0)])),
        }
    }
}

impl PrecheckCounters {
    /// Counts a read of the chain.
    pub fn record_read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a result. An unavailable chain declines nothing.
    pub fn record_result(&self, answer: Result<Option<Decline>, Unavailable>) -> Option<Decline> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let Ok(answer) = answer else {
            self.unavailable.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        if let Some(decline) = &answer {
            let mut declined = self.declined.lock();
            let reason = match declined.len() < MAX_REASONS || declined.contains_key(&*decline.reason) {
                true => &*decline.reason,
                false => "other",
            };
            *declined.entry(reason.to_owned()).or_default() += 1;
        }
        answer
    }

    /// The current values.
    pub fn stats(&self) -> PrecheckStats {
        PrecheckStats {
            requests: self.requests.load(Ordering::Relaxed),
            reads: self.reads.load(Ordering::Relaxed),
            unavailable: self.unavailable.load(Ordering::Relaxed),
            declined: self.declined.lock().iter().map(|(of, n)| (of.clone(), *n)).collect(),
        }
    }
}

/// Counts each transaction once, among the most recent ones.
#[derive(Debug, Default)]
pub struct UniqueCounter {
    count: AtomicU64,
    recent: Mutex<HashSet<String>>,
}

impl UniqueCounter {
    /// Records an occurrence; repeated calls for one transaction count once.
    pub fn record(&self, transaction: &str) {
        let mut lately = self.recent.lock();
        if lately.len() >= MAX_REMEMBERED {
            lately.clear();
        }
        if lately.insert(transaction.to_owned()) {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Number of distinct transactions.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declined(reason: &str) -> Option<Decline> {
        Some(Decline {
            reason: reason.into(),
            message: "why".into(),
        })
    }

    // Checks: each result is counted by kind and returned; the number of reasons is limited.
    #[test]
    fn prechecks_are_counted_by_their_answer() {
        let tally = PrecheckCounters::default();
        assert_eq!(tally.record_result(Ok(None)), None);
        assert_eq!(tally.record_result(Err(Unavailable)), None);
        assert_eq!(
            tally.record_result(Ok(declined(INSUFFICIENT_FUNDS))),
            declined(INSUFFICIENT_FUNDS)
        );
        tally.record_read();
        let expected = PrecheckStats {
            requests: 3,
            reads: 1,
            unavailable: 1,
            declined: vec![(INSUFFICIENT_FUNDS.to_owned(), 1)],
        };
        assert_eq!(tally.stats(), expected);
        for n in 0..MAX_REASONS + 5 {
            tally.record_result(Ok(declined(&format!("reason {n:03}"))));
        }
        tally.record_result(Ok(declined(INSUFFICIENT_FUNDS)));
        let figures = tally.stats();
        assert_eq!(figures.declined.len(), MAX_REASONS + 1);
        let of = |reason: &str| figures.declined.iter().find(|(of, _)| of == reason).map(|(_, n)| *n);
        assert_eq!((of(INSUFFICIENT_FUNDS), of("other")), (Some(2), Some(6)));
    }

    // Checks: a repeated report counts once.
    #[test]
    fn a_transaction_is_counted_once() {
        let burns = UniqueCounter::default();
        for transaction in ["one", "two", "one"] {
            burns.record(transaction);
        }
        assert_eq!(burns.count(), 2);
    }
}
