//! What ports were asked and have answered, counted since the start of the process for the operator's monitoring.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use purser_actors::port::Decline;

/// The most common reason, shown from the start.
const SHORT: &str = "insufficient_funds";
/// Reasons that are told apart; others count as `other`.
const MOST_REASONS: usize = 50;
/// Transactions that are remembered.
const MOST_COUNTED: usize = 10_000;

/// The chain gave no answer in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable;

/// Checks of payments before their claims.
#[derive(Debug)]
pub struct Prechecked {
    asked: AtomicU64,
    reads: AtomicU64,
    unavailable: AtomicU64,
    declined: Mutex<BTreeMap<String, u64>>,
}

/// The same at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrecheckFigures {
    /// How often one was asked for.
    pub asked: u64,
    /// Reads of the chain for such checks, and for those when payments are prepared: payments that come together share one.
    pub reads: u64,
    /// Of these, those that the chain did not answer in time.
    pub unavailable: u64,
    /// Of these, declines by reason.
    pub declined: Vec<(String, u64)>,
}

impl Default for Prechecked {
    fn default() -> Self {
        Self {
            asked: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            unavailable: AtomicU64::new(0),
            declined: Mutex::new(BTreeMap::from([(SHORT.to_owned(), 0)])),
        }
    }
}

impl Prechecked {
    /// Counts a read of the chain.
    pub fn read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an answer. What is not available declines nothing.
    pub fn count(&self, answer: Result<Option<Decline>, Unavailable>) -> Option<Decline> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let Ok(answer) = answer else {
            self.unavailable.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        if let Some(decline) = &answer {
            let mut declined = self.declined.lock();
            let reason = match declined.len() < MOST_REASONS || declined.contains_key(&*decline.reason) {
                true => &*decline.reason,
                false => "other",
            };
            *declined.entry(reason.to_owned()).or_default() += 1;
        }
        answer
    }

    /// As it is now.
    pub fn figures(&self) -> PrecheckFigures {
        PrecheckFigures {
            asked: self.asked.load(Ordering::Relaxed),
            reads: self.reads.load(Ordering::Relaxed),
            unavailable: self.unavailable.load(Ordering::Relaxed),
            declined: self.declined.lock().iter().map(|(of, n)| (of.clone(), *n)).collect(),
        }
    }
}

/// Counts each transaction once, among the last ones.
#[derive(Debug, Default)]
pub struct CountedOnce {
    count: AtomicU64,
    lately: Mutex<HashSet<String>>,
}

impl CountedOnce {
    /// It has happened; it may be told again.
    pub fn happened(&self, transaction: &str) {
        let mut lately = self.lately.lock();
        if lately.len() >= MOST_COUNTED {
            lately.clear();
        }
        if lately.insert(transaction.to_owned()) {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many.
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

    // Checks: each answer is counted by what it is and handed on; the number of reasons is limited.
    #[test]
    fn prechecks_are_counted_by_their_answer() {
        let tally = Prechecked::default();
        assert_eq!(tally.count(Ok(None)), None);
        assert_eq!(tally.count(Err(Unavailable)), None);
        assert_eq!(tally.count(Ok(declined(SHORT))), declined(SHORT));
        tally.read();
        let expected = PrecheckFigures {
            asked: 3,
            reads: 1,
            unavailable: 1,
            declined: vec![(SHORT.to_owned(), 1)],
        };
        assert_eq!(tally.figures(), expected);
        for n in 0..MOST_REASONS + 5 {
            tally.count(Ok(declined(&format!("reason {n:03}"))));
        }
        tally.count(Ok(declined(SHORT)));
        let figures = tally.figures();
        assert_eq!(figures.declined.len(), MOST_REASONS + 1);
        let of = |reason: &str| figures.declined.iter().find(|(of, _)| of == reason).map(|(_, n)| *n);
        assert_eq!((of(SHORT), of("other")), (Some(2), Some(6)));
    }

    // Checks: what is told twice has happened once.
    #[test]
    fn a_transaction_is_counted_once() {
        let burns = CountedOnce::default();
        for transaction in ["one", "two", "one"] {
            burns.happened(transaction);
        }
        assert_eq!(burns.count(), 2);
    }
}
