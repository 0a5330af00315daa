//! What payments of a wallet take that are under way, though the chain does not show it yet. Else a wallet with one payment's money
//! has several claimed by presenting them together: each would settle alone, one does, and what the others have cost is lost.
//!
//! Both networks' ports keep them: by what pays (a token account, an address), and with names of their own for what is under way.

use std::collections::HashMap;
use std::hash::Hash;

/// Payers with payments that were checked before those that have run out are dropped.
const MOST: usize = 10_000;

/// What a payment takes, and from whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taking<S, P> {
    /// What pays.
    pub source: S,
    /// Which payment it is.
    pub payment: P,
    /// In base units of the token.
    pub atomic: u64,
}

/// A payment that was checked and is not under way yet.
#[derive(Debug)]
struct Checked<P> {
    payment: P,
    atomic: u64,
    until_ms: u64,
}

/// Payments by what pays. `U` is what is kept of one that is under way.
#[derive(Debug)]
pub struct Takings<S, P, U> {
    under_way: HashMap<S, Vec<U>>,
    checked: HashMap<S, Vec<Checked<P>>>,
}

impl<S, P, U> Default for Takings<S, P, U> {
    fn default() -> Self {
        Self {
            under_way: HashMap::new(),
            checked: HashMap::new(),
        }
    }
}

impl<S: Copy + Eq + Hash, P: Copy + Eq, U> Takings<S, P, U> {
    /// A payment is under way from now on, whether or not it was checked.
    pub fn begin(&mut self, taking: &Taking<S, P>, under_way: U) {
        self.under_way.entry(taking.source).or_default().push(under_way);
        if let Some(checked) = self.checked.get_mut(&taking.source) {
            checked.retain(|checked| checked.payment != taking.payment);
            if checked.is_empty() {
                self.checked.remove(&taking.source);
            }
        }
    }

    /// These are no longer under way.
    pub fn end(&mut self, source: &S, is_ended: impl Fn(&U) -> bool) {
        if let Some(under_way) = self.under_way.get_mut(source) {
            under_way.retain(|one| !is_ended(one));
            if under_way.is_empty() {
                self.under_way.remove(source);
            }
        }
    }

    /// All of this source that are under way.
    pub fn under_way(&self, source: &S) -> &[U] {
        self.under_way.get(source).map_or(&[], Vec::as_slice)
    }

    /// A payment was checked: it counts for so many milliseconds, or until it is under way.
    pub fn check(&mut self, taking: &Taking<S, P>, now_ms: u64, for_ms: u64) {
        if self.checked.len() >= MOST {
            self.checked.retain(|_, checked| {
                checked.retain(|checked| now_ms < checked.until_ms);
                !checked.is_empty()
            });
        }
        let until_ms = now_ms.saturating_add(for_ms);
        let checked = self.checked.entry(taking.source).or_default();
        checked.retain(|checked| now_ms < checked.until_ms && checked.payment != taking.payment);
        checked.push(Checked {
            payment: taking.payment,
            atomic: taking.atomic,
            until_ms,
        });
    }

    /// What others take that were checked; `None` if this payment was: whatever came since had to leave room for it.
    pub fn checked(&self, taking: &Taking<S, P>, now_ms: u64) -> Option<u64> {
        let checked = self.checked.get(&taking.source).into_iter().flatten();
        let mut valid = checked.filter(|checked| now_ms < checked.until_ms);
        valid.try_fold(0_u64, |sum, checked| {
            (checked.payment != taking.payment).then(|| sum.saturating_add(checked.atomic))
        })
    }

    /// Nothing that was checked counts any more.
    #[cfg(test)]
    pub(super) fn forget_checked(&mut self) {
        self.checked.clear();
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_empty() && self.checked.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn taking(source: u8, payment: u8, atomic: u64) -> Taking<u8, u8> {
        Taking {
            source,
            payment,
            atomic,
        }
    }

    // Checks: a payment that was checked counts for its time against others of its source, not against itself; from when it is under
    // way it is listed as that, until it ends.
    #[test]
    fn payments_count_from_their_check_to_their_end() {
        let mut all: Takings<u8, u8, u8> = Takings::default();
        let (one, other, stranger) = (taking(1, 1, 5), taking(1, 2, 7), taking(2, 3, 9));
        all.check(&one, 0, 10);
        all.check(&stranger, 0, 10);
        assert_eq!(all.checked(&other, 9), Some(5));
        assert_eq!(all.checked(&other, 10), Some(0), "its time is over");
        assert_eq!(all.checked(&one, 9), None, "its own place");
        all.check(&one, 9, 10);
        assert_eq!(all.checked(&other, 18), Some(5), "counted once");
        all.begin(&one, 1);
        all.begin(&other, 2);
        assert_eq!(all.checked(&other, 9), Some(0));
        assert_eq!(all.under_way(&1), [1, 2]);
        all.end(&1, |payment| *payment == 1);
        assert_eq!((all.under_way(&1), all.under_way(&2)), (&[2][..], &[][..]));
        all.end(&1, |_| true);
        all.forget_checked();
        assert!(all.is_empty());
    }

    // Checks: entries of many payers do not pile up.
    #[test]
    fn what_has_run_out_is_dropped() {
        let mut all: Takings<usize, u8, u8> = Takings::default();
        for source in 0..=MOST {
            let taking = Taking {
                source,
                payment: 0,
                atomic: 1,
            };
            all.check(&taking, u64::from(source == MOST) * 10, 10);
        }
        assert_eq!(all.checked.len(), 1);
    }
}
