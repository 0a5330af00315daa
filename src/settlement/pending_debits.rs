//! Debits of a wallet's pending payments that the chain does not show yet. Without them, a wallet with funds for one
//! payment could have several claimed by presenting them together. Each would settle alone, but only one does, and the
//! cost of the others is lost.
//!
//! The ports of both networks use this. Each has its own type of source (a token account or an address) and of pending
//! entries.

use std::collections::HashMap;
use std::hash::Hash;

/// Above this number of payers with checked payments, expired entries are dropped.
const MAX_SOURCES: usize = 10_000;

/// The amount that a payment debits, and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debit<S, P> {
    /// The debited token account or address.
    pub source: S,
    /// Identifies the payment.
    pub payment: P,
    /// Amount in base units of the token.
    pub atomic: u64,
}

/// A payment that was checked and is not in flight yet.
#[derive(Debug)]
struct CheckedDebit<P> {
    payment: P,
    atomic: u64,
    until_ms: u64,
}

/// Pending debits by source. `U` is the entry of a payment in flight.
#[derive(Debug)]
pub struct PendingDebits<S, P, U> {
    in_flight: HashMap<S, Vec<U>>,
    checked: HashMap<S, Vec<CheckedDebit<P>>>,
}

impl<S, P, U> Default for PendingDebits<S, P, U> {
    fn default() -> Self {
        Self {
            in_flight: HashMap::new(),
            checked: HashMap::new(),
        }
    }
}

impl<S: Copy + Eq + Hash, P: Copy + Eq, U> PendingDebits<S, P, U> {
    /// Adds a payment in flight, whether or not it was checked.
    pub fn add_in_flight(&mut self, taking: &Debit<S, P>, under_way: U) {
        self.in_flight.entry(taking.source).or_default().push(under_way);
        if let Some(checked) = self.checked.get_mut(&taking.source) {
            checked.retain(|checked| checked.payment != taking.payment);
            if checked.is_empty() {
                self.checked.remove(&taking.source);
            }
        }
    }

    /// Removes payments that are no longer in flight.
    pub fn remove_in_flight(&mut self, source: &S, is_ended: impl Fn(&U) -> bool) {
        if let Some(under_way) = self.in_flight.get_mut(source) {
            under_way.retain(|one| !is_ended(one));
            if under_way.is_empty() {
                self.in_flight.remove(source);
            }
        }
    }

    /// All payments of this source that are in flight.
    pub fn in_flight(&self, source: &S) -> &[U] {
        self.in_flight.get(source).map_or(&[], Vec::as_slice)
    }

    /// Adds a checked payment: it counts for this number of milliseconds, or until it is in flight.
    pub fn check(&mut self, taking: &Debit<S, P>, now_ms: u64, for_ms: u64) {
        if self.checked.len() >= MAX_SOURCES {
            self.checked.retain(|_, checked| {
                checked.retain(|checked| now_ms < checked.until_ms);
                !checked.is_empty()
            });
        }
        let until_ms = now_ms.saturating_add(for_ms);
        let checked = self.checked.entry(taking.source).or_default();
        checked.retain(|checked| now_ms < checked.until_ms && checked.payment != taking.payment);
        checked.push(CheckedDebit {
            payment: taking.payment,
            atomic: taking.atomic,
            until_ms,
        });
    }

    /// The sum of other checked payments' debits. `None` if this payment was checked itself: later checks have already
    /// allowed for it.
    pub fn checked(&self, taking: &Debit<S, P>, now_ms: u64) -> Option<u64> {
        let checked = self.checked.get(&taking.source).into_iter().flatten();
        let mut valid = checked.filter(|checked| now_ms < checked.until_ms);
        valid.try_fold(0_u64, |sum, checked| {
            (checked.payment != taking.payment).then(|| sum.saturating_add(checked.atomic))
        })
    }

    /// Drops all checked payments.
    #[cfg(test)]
    pub(super) fn clear_checked(&mut self) {
        self.checked.clear();
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.is_empty() && self.checked.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn debit(source: u8, payment: u8, atomic: u64) -> Debit<u8, u8> {
        Debit {
            source,
            payment,
            atomic,
        }
    }

    // Checks: a checked payment counts for its time against others of its source, not against itself. Once in flight,
    // it is listed as such until it ends.
    #[test]
    fn payments_count_from_their_check_to_their_end() {
        let mut all: PendingDebits<u8, u8, u8> = PendingDebits::default();
        let (one, other, stranger) = (debit(1, 1, 5), debit(1, 2, 7), debit(2, 3, 9));
        all.check(&one, 0, 10);
        all.check(&stranger, 0, 10);
        assert_eq!(all.checked(&other, 9), Some(5));
        assert_eq!(all.checked(&other, 10), Some(0), "its time is over");
        assert_eq!(all.checked(&one, 9), None, "its own place");
        all.check(&one, 9, 10);
        assert_eq!(all.checked(&other, 18), Some(5), "counted once");
        all.add_in_flight(&one, 1);
        all.add_in_flight(&other, 2);
        assert_eq!(all.checked(&other, 9), Some(0));
        assert_eq!(all.in_flight(&1), [1, 2]);
        all.remove_in_flight(&1, |payment| *payment == 1);
        assert_eq!((all.in_flight(&1), all.in_flight(&2)), (&[2][..], &[][..]));
        all.remove_in_flight(&1, |_| true);
        all.clear_checked();
        assert!(all.is_empty());
    }

    // Checks: expired entries of many payers do not accumulate.
    #[test]
    fn what_has_run_out_is_dropped() {
        let mut all: PendingDebits<usize, u8, u8> = PendingDebits::default();
        for source in 0..=MAX_SOURCES {
            let taking = Debit {
                source,
                payment: 0,
                atomic: 1,
            };
            all.check(&taking, u64::from(source == MAX_SOURCES) * 10, 10);
        }
        assert_eq!(all.checked.len(), 1);
    }
}
