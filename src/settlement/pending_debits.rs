//! What payments of a wallet take that are under way, though the chain does not show it yet. Else a wallet with one payment's money
//! has several claimed by presenting them together: each would settle alone, one does, and what the others have cost is lost.
//!
//! Both networks' ports keep them: by what pays (a token account, an address), and with names of their own for what is under way.

use std::collections::HashMap;
use std::hash::Hash;

/// Payers with payments that were checked before those that have run out are dropped.
const MAX_SOURCES: usize = 10_000;

/// What a payment takes, and from whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debit<S, P> {
    /// What pays.
    pub source: S,
    /// Which payment it is.
    pub payment: P,
    /// In base units of the token.
    pub atomic: u64,
}

/// A payment that was checked and is not under way yet.
#[derive(Debug)]
struct CheckedDebit<P> {
    payment: P,
    atomic: u64,
    until_ms: u64,
}

/// Payments by what pays. `U` is what is kept of one that is under way.
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
    /// A payment is under way from now on, whether or not it was checked.
    pub fn add_in_flight(&mut self, taking: &Debit<S, P>, under_way: U) {
        self.in_flight.entry(taking.source).or_default().push(under_way);
        if let Some(checked) = self.checked.get_mut(&taking.source) {
            checked.retain(|checked| checked.payment != taking.payment);
            if checked.is_empty() {
                self.checked.remove(&taking.source);
            }
        }
    }

    /// These are no longer under way.
    pub fn remove_in_flight(&mut self, source: &S, is_ended: impl Fn(&U) -> bool) {
        if let Some(under_way) = self.in_flight.get_mut(source) {
            under_way.retain(|one| !is_ended(one));
            if under_way.is_empty() {
                self.in_flight.remove(source);
            }
        }
    }

    /// All of this source that are under way.
    pub fn in_flight(&self, source: &S) -> &[U] {
        self.in_flight.get(source).map_or(&[], Vec::as_slice)
    }

    /// A payment was checked: it counts for so many milliseconds, or until it is under way.
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

    /// What others take that were checked; `None` if this payment was: whatever came since had to leave room for it.
    pub fn checked(&self, taking: &Debit<S, P>, now_ms: u64) -> Option<u64> {
        let checked = self.checked.get(&taking.source).into_iter().flatten();
        let mut valid = checked.filter(|checked| now_ms < checked.until_ms);
        valid.try_fold(0_u64, |sum, checked| {
            (checked.payment != taking.payment).then(|| sum.saturating_add(checked.atomic))
        })
    }

    /// Nothing that was checked counts any more.
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

    // Checks: a payment that was checked counts for its time against others of its source, not against itself; from when it is under
    // way it is listed as that, until it ends.
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

    // Checks: entries of many payers do not pile up.
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
