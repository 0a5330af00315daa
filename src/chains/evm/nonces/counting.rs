//! Effects of the chain's transaction counts on the nonces of a key, including counts that are reverted.

use super::super::tx::Fee;
use super::fee::clamped;
use super::rows::Status;
use super::{Action, Alarm, Counts, NonceManager, ReleaseReason};

/// Number of nonces that are tracked, from the chain's count on. A row above was signed with a wrong count. Its
/// transaction cannot be included before all lower nonces are used.
pub(super) const REACH: u64 = 1_024;

/// The newest block has fewer transactions than were final before. Either endpoints lag, or those that agreed were
/// wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountConflict {
    since_ms: u64,
    /// The conflict has lasted longer than endpoints lag, and was reported to an operator.
    is_lasting: bool,
    /// The highest counts read since the conflict began.
    counts: Counts,
}

impl<P: Clone + Ord> NonceManager<P> {
    /// Records the chain's counts. A later count may be lower after a reorg. A final count is only lowered after the
    /// newest block has had fewer transactions for [`super::NonceSettings::conflict_ms`].
    pub fn counted(&mut self, counts: Counts, now_ms: u64) -> Vec<Action<P>> {
        let mut actions = self.accept_counts(counts, now_ms);
        let counts = self.counts;
        self.free.retain(|nonce, _| *nonce >= counts.latest);
        self.next = self.next.max(counts.latest);
        for nonce in counts.latest..self.next.min(self.reach()) {
            let known = self.entries.contains_key(&nonce) || self.reserved.contains_key(&nonce);
            if !known {
                // An external transaction used this nonce and may be included again.
                let usable_ms = now_ms.saturating_add(self.settings.gap_ms);
                self.free.entry(nonce).or_insert(usable_ms);
            }
        }
        for (_, entry) in self.entries.range_mut(counts.latest..) {
            // Its block was replaced before it was read.
            if matches!(entry.status, Status::Mined { .. }) {
                entry.unmined();
            }
        }
        actions.extend(self.release_out_of_reach());
        for (nonce, entry) in self.entries.range_mut(..counts.latest) {
            let due = entry
                .looked_up_ms
                .is_none_or(|at| now_ms >= at.saturating_add(self.settings.resend_ms));
            // A row is only deleted after its receipt was found again with a final block above.
            if due && (entry.status == Status::Pending || *nonce < counts.finalized) {
                entry.looked_up_ms = Some(now_ms);
                actions.push(Action::FindReceipts {
                    nonce: *nonce,
                    hashes: entry.hashes(),
                });
            }
        }
        actions
    }

    /// Whether the chain contradicts the final count: the next nonce is unknown, and none is assigned.
    pub const fn has_count_conflict(&self) -> bool {
        self.count_conflict.is_some()
    }

    /// Whether that has lasted for longer than endpoints lag.
    pub fn has_lasting_count_conflict(&self) -> bool {
        self.count_conflict.is_some_and(|doubt| doubt.is_lasting)
    }

    /// Number of nonces, from the chain's count on, without a transaction although a higher nonce has one.
    pub fn gaps(&self) -> usize {
        self.free.range(..self.highest()).count()
    }

    /// The first nonce that is not tracked.
    pub(super) const fn reach(&self) -> u64 {
        self.counts.latest.saturating_add(REACH)
    }

    fn highest(&self) -> u64 {
        let reachable = self.entries.range(..self.reach()).next_back();
        reachable.map_or(0, |(nonce, _)| *nonce)
    }

    /// Applies the counts, unless they contradict the final count.
    fn accept_counts(&mut self, counts: Counts, now_ms: u64) -> Vec<Action<P>> {
        let believed = self.counts.finalized;
        if counts.latest >= believed {
            self.count_conflict = None;
            // Final counts never go down, even if a lagging endpoint responds.
            let finalized = counts.finalized.max(believed);
            let latest = counts.latest.max(finalized);
            self.counts = Counts { latest, finalized };
            return Vec::new();
        }
        let doubt = self.count_conflict.get_or_insert(CountConflict {
            since_ms: now_ms,
            is_lasting: false,
            counts,
        });
        doubt.counts.latest = doubt.counts.latest.max(counts.latest);
        doubt.counts.finalized = doubt.counts.finalized.max(counts.finalized);
        if now_ms < doubt.since_ms.saturating_add(self.settings.conflict_ms) {
            self.counts.latest = believed;
            let shown = counts.latest;
            let is_late = now_ms >= doubt.since_ms.saturating_add(self.settings.gap_ms);
            let is_new = is_late && !std::mem::replace(&mut doubt.is_lasting, is_late);
            let alarm = Action::Alarm(Alarm::Contradicted {
                expected: believed,
                reported: shown,
            });
            return is_new.then_some(alarm).into_iter().collect();
        }
        let Counts { latest, finalized } = doubt.counts;
        let latest = latest.max(finalized);
        self.counts = Counts { latest, finalized };
        self.count_conflict = None;
        self.lower_next();
        vec![Action::Alarm(Alarm::CountReverted {
            expected: believed,
            latest,
        })]
    }

    /// Lowers the next nonce to the first one that was never signed.
    fn lower_next(&mut self) {
        let reach = self.reach();
        let entries = self.entries.range(..reach).next_back().map(|(nonce, _)| *nonce);
        let reserved = self.reserved.keys().next_back().copied();
        let forgotten = self.forgotten.last().copied();
        let highest = entries.max(reserved).max(forgotten);
        let after = highest.map_or(0, |nonce| nonce.saturating_add(1));
        self.next = after.min(reach).max(self.counts.latest);
        self.free.retain(|nonce, _| *nonce < after);
    }

    /// Assigns other nonces to the payments of rows out of reach. If such a transaction is included later, the token
    /// still accepts each authorization only once.
    fn release_out_of_reach(&mut self) -> Vec<Action<P>> {
        let reach = self.reach();
        let mut actions = Vec::new();
        for (nonce, entry) in self.entries.range_mut(reach..) {
            let nonce = *nonce;
            let payments = entry.row.payments.clone();
            if !payments.is_empty() {
                entry.release(&payments);
                let reason = ReleaseReason::OutOfReach;
                actions.push(Action::Store { nonce });
                actions.push(Action::Release {
                    nonce,
                    payments,
                    reason,
                });
            }
        }
        actions
    }

    // Unused nonces at the end are assigned again. Unused nonces below a transaction block it and must be filled.
    pub(super) fn fill_gaps(&mut self, fee: Fee, now_ms: u64, actions: &mut Vec<Action<P>>) {
        while let Some(last) = self.next.checked_sub(1)
            && self.free.get(&last).is_some_and(|usable_ms| *usable_ms <= now_ms)
            && !self.forgotten.contains(&last)
        {
            self.free.remove(&last);
            self.next = last;
        }
        // At most the number of transactions that a node stores for one sender.
        let window = u64::try_from(self.settings.max_in_flight).unwrap_or(u64::MAX);
        let end = self.highest().min(self.counts.latest.saturating_add(window));
        let due = self.free.range(..end);
        let due = due.filter(|(_, usable_ms)| usable_ms.saturating_add(self.settings.gap_ms) <= now_ms);
        let due: Vec<u64> = due.map(|(nonce, _)| *nonce).collect();
        for nonce in due {
            self.free.remove(&nonce);
            self.reserved.insert(nonce, Vec::new());
            let fee = clamped(fee, self.settings.max_fee);
            actions.push(Action::Sign {
                nonce,
                fee,
                payments: Vec::new(),
            });
        }
    }
}
