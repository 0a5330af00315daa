//! The [`NonceManager`]; see the parent module.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::B256;

use super::super::tx::Fee;
use super::counting::{CountConflict, REACH};
use super::fee::{bumped, replaces};
use super::rows::{Entry, Status};
use super::{Action, Alarm, Attempt, Counts, NonceError, NonceSettings, ReleaseReason, Row, SendReply};

/// Maximum number of stored nonces whose rows were deleted.
const MAX_FORGOTTEN: usize = 1_024;

/// Manages the nonces of one key; see the parent module. Times are milliseconds of one clock that never goes back.
#[derive(Clone, Debug)]
pub struct NonceManager<P> {
    pub(super) settings: NonceSettings,
    pub(super) counts: Counts,
    /// The lowest nonce that was never assigned.
    pub(super) next: u64,
    pub(super) entries: BTreeMap<u64, Entry<P>>,
    /// Assigned and not signed; empty for a filler.
    pub(super) reserved: BTreeMap<u64, Vec<P>>,
    /// Nonces below `next` that are unused as far as is known, with the time from which they are available.
    pub(super) free: BTreeMap<u64, u64>,
    /// The most recent nonces with deleted rows. If the chain turns out not to have used them, they are still never
    /// assigned.
    pub(super) forgotten: BTreeSet<u64>,
    /// The chain contradicts the final count.
    pub(super) count_conflict: Option<CountConflict>,
}

impl<P: Clone + Ord> NonceManager<P> {
    /// Starts from the durable rows and the chain. `pending` is the count that includes the endpoint's pool.
    pub fn start(
        settings: NonceSettings,
        rows: Vec<Row<P>>,
        counts: Counts,
        pending: u64,
        now_ms: u64,
    ) -> (Self, Vec<Action<P>>) {
        let reach = counts.latest.saturating_add(REACH);
        let nonces = rows.iter().map(|row| row.nonce).filter(|nonce| *nonce < reach);
        let after_rows = nonces.map(|nonce| nonce + 1).max().unwrap_or_default();
        let entry = |row: Row<P>| (row.nonce, Entry::new(row, true, now_ms));
        let pending = pending.min(reach);
        let mut manager = Self {
            settings,
            counts,
            next: after_rows.max(pending).max(counts.latest),
            entries: rows.into_iter().map(entry).collect(),
            reserved: BTreeMap::new(),
            free: BTreeMap::new(),
            forgotten: BTreeSet::new(),
            count_conflict: None,
        };
        for nonce in counts.latest..manager.next {
            if !manager.entries.contains_key(&nonce) {
                // Below the pending count, the pool has a transaction that is missing in our rows.
                let unknown = nonce < pending;
                let usable_ms = if unknown {
                    now_ms.saturating_add(settings.gap_ms)
                } else {
                    now_ms
                };
                manager.free.insert(nonce, usable_ms);
            }
        }
        let actions = manager.counted(counts, now_ms);
        (manager, actions)
    }

    /// Assigns the lowest usable nonce to these payments. An empty list is for a transaction without payments.
    ///
    /// # Errors
    /// [`NonceError::Full`], [`NonceError::Duplicate`], [`NonceError::CountConflict`].
    pub fn reserve(&mut self, payments: Vec<P>, now_ms: u64) -> Result<u64, NonceError> {
        if self.has_count_conflict() {
            return Err(NonceError::CountConflict);
        }
        if self.in_flight() >= self.settings.max_in_flight {
            return Err(NonceError::Full);
        }
        if payments.iter().any(|payment| self.carries(payment)) {
            return Err(NonceError::Duplicate);
        }
        let mut free = self.free.iter();
        let usable = free.find(|(nonce, usable_ms)| **usable_ms <= now_ms && !self.forgotten.contains(nonce));
        let nonce = match usable.map(|(nonce, _)| *nonce) {
            Some(nonce) => {
                self.free.remove(&nonce);
                nonce
            }
            None => {
                // A nonce with a row was out of reach until now and stays with its row.
                while self.entries.contains_key(&self.next) {
                    self.next = self.next.saturating_add(1);
                }
                let next = self.next.saturating_add(1);
                std::mem::replace(&mut self.next, next)
            }
        };
        self.reserved.insert(nonce, payments);
        Ok(nonce)
    }

    /// The caller could not sign. The nonce goes to the next reservation, or a filler uses it.
    pub fn returned(&mut self, nonce: u64, now_ms: u64) {
        if self.reserved.remove(&nonce).is_some() && nonce >= self.counts.latest {
            self.free.insert(nonce, now_ms);
        }
        if let Some(entry) = self.entries.get_mut(&nonce) {
            entry.signing = false;
        }
    }

    /// Records a signed attempt. The caller persists the returned row and then calls [`NonceManager::stored`].
    ///
    /// # Errors
    /// [`NonceError::Used`]: reserve again. [`NonceError::NotReserved`], [`NonceError::Mismatch`].
    pub fn signed(&mut self, nonce: u64, attempt: Attempt, now_ms: u64) -> Result<&Row<P>, NonceError> {
        if attempt.fee.max_fee > self.settings.max_fee {
            return Err(NonceError::Mismatch);
        }
        if let Some(payments) = self.reserved.get(&nonce) {
            if nonce < self.counts.latest {
                self.reserved.remove(&nonce);
                return Err(NonceError::Used);
            }
            if attempt.filler && !payments.is_empty() {
                return Err(NonceError::Mismatch);
            }
            let payments = self.reserved.remove(&nonce).unwrap_or_default();
            let row = Row {
                nonce,
                payments,
                attempts: Vec::new(),
                released: false,
                canceled: false,
            };
            let entry = self
                .entries
                .entry(nonce)
                .or_insert_with(|| Entry::new(row, false, now_ms));
            entry.push(attempt, now_ms);
            return Ok(&entry.row);
        }
        let entry = self.entries.get_mut(&nonce).filter(|entry| entry.signing);
        let entry = entry.ok_or(NonceError::NotReserved)?;
        let at_cap = attempt.filler && bumped(attempt.fee, self.settings.max_fee).is_none();
        let dearer = entry
            .row
            .current()
            .is_none_or(|current| replaces(attempt.fee, current.fee));
        if !(dearer || at_cap) || attempt.filler != entry.needs_filler() {
            return Err(NonceError::Mismatch);
        }
        entry.push(attempt, now_ms);
        Ok(&entry.row)
    }

    /// Records that the row is durable.
    pub fn stored(&mut self, nonce: u64, now_ms: u64) -> Vec<Action<P>> {
        match self.entries.get_mut(&nonce) {
            Some(entry) if !entry.stored => {
                entry.stored = true;
                entry.sent_ms = Some(now_ms);
                vec![Action::Send { nonce }]
            }
            _ => Vec::new(),
        }
    }

    /// Records one endpoint's response to the attempt with this hash.
    pub fn replied(&mut self, nonce: u64, hash: B256, reply: SendReply, now_ms: u64) -> Vec<Action<P>> {
        let Some(entry) = self.entries.get_mut(&nonce) else {
            return Vec::new();
        };
        if entry.status != Status::Pending || entry.attempt(hash).is_none() {
            return Vec::new();
        }
        let newest = entry.row.current().is_some_and(|current| current.hash == hash);
        match reply {
            SendReply::Accepted | SendReply::AlreadyKnown | SendReply::Unknown => Vec::new(),
            SendReply::NonceTooLow => {
                entry.looked_up_ms = Some(now_ms);
                vec![Action::FindReceipts {
                    nonce,
                    hashes: entry.hashes(),
                }]
            }
            SendReply::ReplacementUnderpriced | SendReply::FeeTooLow => {
                entry.bump_now |= newest;
                Vec::new()
            }
            SendReply::InsufficientFunds => vec![Action::Alarm(Alarm::NoGas)],
            SendReply::Rejected => vec![Action::Alarm(Alarm::Rejected { nonce })],
        }
    }

    /// Records that an attempt is in this block of the chain. `unsettled` lists the payments that it did not settle;
    /// all of them if it reverted. If the block is replaced, they may still settle by this attempt. A second
    /// transaction for them then fails because of its EIP-3009 nonce. The row is deleted once a final block uses the
    /// nonce.
    pub fn mined(&mut self, nonce: u64, hash: B256, block: u64, unsettled: &[P]) -> Vec<Action<P>> {
        let Some(entry) = self.entries.get_mut(&nonce) else {
            return Vec::new();
        };
        let Some(filler) = entry.attempt(hash).map(|attempt| attempt.filler) else {
            return Vec::new();
        };
        entry.status = Status::Mined { hash, block };
        let mut actions = Vec::new();
        if !filler && !entry.row.released {
            let payments = entry.release(unsettled);
            if !payments.is_empty() {
                let reason = ReleaseReason::Unsettled;
                actions = vec![
                    Action::Store { nonce },
                    Action::Release {
                        nonce,
                        payments,
                        reason,
                    },
                ];
            }
        }
        if nonce < self.counts.finalized {
            actions.extend(self.forget(nonce, ReleaseReason::Canceled));
        }
        actions
    }

    /// Records that the blocks from this one on were removed from the chain.
    pub fn reorganized(&mut self, from_block: u64) {
        for entry in self.entries.values_mut() {
            if matches!(entry.status, Status::Mined { block, .. } if block >= from_block) {
                entry.unmined();
            }
        }
    }

    /// Records that no attempt has a receipt, according to two endpoints that have the final block of the last counts.
    /// Has no effect unless that block uses the nonce.
    pub fn not_found(&mut self, nonce: u64) -> Vec<Action<P>> {
        if nonce >= self.counts.finalized || !self.entries.contains_key(&nonce) {
            return Vec::new();
        }
        let mut actions = vec![Action::Alarm(Alarm::ForeignTransaction { nonce })];
        if let Some(entry) = self.entries.get_mut(&nonce) {
            entry.unmined();
        }
        actions.extend(self.forget(nonce, ReleaseReason::ForeignTransaction));
        actions
    }

    /// The actions that are due. `fee` is the price at which a transaction would be included soon.
    pub fn tick(&mut self, fee: Fee, now_ms: u64) -> Vec<Action<P>> {
        let mut actions = Vec::new();
        let (settings, latest) = (self.settings, self.counts.latest);
        for (nonce, entry) in self.entries.range_mut(latest..latest.saturating_add(REACH)) {
            if entry.status == Status::Pending && !entry.signing {
                actions.extend(entry.due(*nonce == latest, fee, settings, now_ms));
            }
        }
        self.fill_gaps(fee, now_ms, &mut actions);
        actions
    }

    /// Cancels the payments of a row: a filler uses the nonce, and when that is final the payments are released. If an
    /// earlier attempt is included instead, they have settled.
    pub fn cancel(&mut self, nonce: u64) -> Vec<Action<P>> {
        match self.entries.get_mut(&nonce) {
            Some(entry) if !entry.row.canceled && !entry.row.released => {
                entry.row.canceled = true;
                vec![Action::Store { nonce }]
            }
            _ => Vec::new(),
        }
    }

    /// The row of a nonce, to be persisted.
    pub fn row(&self, nonce: u64) -> Option<&Row<P>> {
        self.entries.get(&nonce).map(|entry| &entry.row)
    }

    /// All rows, lowest nonce first.
    pub fn rows(&self) -> impl Iterator<Item = &Row<P>> {
        self.entries.values().map(|entry| &entry.row)
    }

    /// The attempt of a nonce that was included.
    pub fn mined_attempt(&self, nonce: u64) -> Option<B256> {
        match self.entries.get(&nonce)?.status {
            Status::Mined { hash, .. } => Some(hash),
            Status::Pending => None,
        }
    }

    /// Number of nonces in use whose transaction was not included yet.
    pub fn in_flight(&self) -> usize {
        let reachable = self.entries.range(..self.reach());
        let pending = reachable.filter(|(_, entry)| entry.status == Status::Pending);
        pending.count() + self.reserved.len()
    }

    fn carries(&self, payment: &P) -> bool {
        let rows = self.entries.values().filter(|entry| !entry.row.released);
        let rows = rows.flat_map(|entry| &entry.row.payments);
        rows.chain(self.reserved.values().flatten())
            .any(|other| other == payment)
    }

    // Payments that none of our included attempts carried are released for this reason.
    fn forget(&mut self, nonce: u64, reason: ReleaseReason) -> Vec<Action<P>> {
        let Some(entry) = self.entries.remove(&nonce) else {
            return Vec::new();
        };
        self.forgotten.insert(nonce);
        if self.forgotten.len() > MAX_FORGOTTEN {
            self.forgotten.pop_first();
        }
        let carried = match entry.status {
            Status::Mined { hash, .. } => entry.attempt(hash).is_some_and(|attempt| !attempt.filler),
            Status::Pending => false,
        };
        let mut actions = Vec::new();
        if !carried && !entry.row.released && !entry.row.payments.is_empty() {
            actions.push(Action::Release {
                nonce,
                payments: entry.row.payments,
                reason,
            });
        }
        actions.push(Action::Forget { nonce });
        actions
    }
}
