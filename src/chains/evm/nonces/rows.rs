//! In-memory state of a row.

use alloy_primitives::B256;

use super::super::tx::Fee;
use super::fee::{bumped, clamped, higher};
use super::{Action, Alarm, Attempt, NonceSettings, Row};

/// Whether an attempt of the nonce was included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// No attempt is known to be included.
    Pending,
    /// An attempt is included in this block.
    Mined { hash: B256, block: u64 },
}

#[derive(Clone, Debug)]
pub(super) struct Entry<P> {
    pub(super) row: Row<P>,
    pub(super) status: Status,
    /// The newest attempt is durable and may be sent.
    pub(super) stored: bool,
    /// The caller must sign the next attempt.
    pub(super) signing: bool,
    /// A node has a transaction with a higher price: waiting is useless.
    pub(super) bump_now: bool,
    /// An operator was alerted about the newest attempt.
    pub(super) alarmed: bool,
    pub(super) attempted_ms: u64,
    pub(super) sent_ms: Option<u64>,
    pub(super) looked_up_ms: Option<u64>,
}

impl<P> Entry<P> {
    pub(super) const fn new(row: Row<P>, stored: bool, now_ms: u64) -> Self {
        Self {
            row,
            status: Status::Pending,
            stored,
            signing: false,
            bump_now: false,
            alarmed: false,
            attempted_ms: now_ms,
            sent_ms: None,
            looked_up_ms: None,
        }
    }

    pub(super) fn push(&mut self, attempt: Attempt, now_ms: u64) {
        self.row.attempts.push(attempt);
        self.stored = false;
        self.signing = false;
        self.bump_now = false;
        self.alarmed = false;
        self.attempted_ms = now_ms;
        self.sent_ms = None;
    }

    /// Removes the payments of the row that are in `unsettled`, and returns them.
    pub(super) fn release(&mut self, unsettled: &[P]) -> Vec<P>
    where
        P: PartialEq,
    {
        let payments = std::mem::take(&mut self.row.payments);
        let (released, settled): (Vec<P>, Vec<P>) =
            payments.into_iter().partition(|payment| unsettled.contains(payment));
        self.row.released = settled.is_empty() && !released.is_empty();
        self.row.payments = settled;
        released
    }

    /// Its block was removed from the chain.
    pub(super) const fn unmined(&mut self) {
        self.status = Status::Pending;
        self.sent_ms = None;
        self.looked_up_ms = None;
    }

    pub(super) fn hashes(&self) -> Vec<B256> {
        self.row.attempts.iter().map(|attempt| attempt.hash).collect()
    }

    pub(super) fn attempt(&self, hash: B256) -> Option<&Attempt> {
        self.row.attempts.iter().find(|attempt| attempt.hash == hash)
    }

    /// Whether the next attempt must be a filler.
    pub(super) const fn needs_filler(&self) -> bool {
        self.row.released || self.row.canceled || self.row.payments.is_empty()
    }

    /// Whether the newest attempt may be sent.
    pub(super) fn sendable(&self) -> bool {
        let filler = self.row.current().is_some_and(|attempt| attempt.filler);
        self.stored && (filler || !(self.row.released || self.row.canceled))
    }

    /// The actions that are due. `first`: the chain waits for this nonce. `suggested`: fees for inclusion soon.
    pub(super) fn due(&mut self, first: bool, suggested: Fee, settings: NonceSettings, now_ms: u64) -> Option<Action<P>>
    where
        P: Clone,
    {
        let nonce = self.row.nonce;
        let current = self.row.current()?.fee;
        let waited = now_ms.saturating_sub(self.attempted_ms) >= settings.replace_ms;
        let cheap = first || current.max_fee < suggested.max_fee;
        let sendable = self.sendable();
        if self.bump_now || (waited && cheap) || (self.stored && !sendable) {
            // At the cap a filler is sent at the same price. Nodes that have dropped the payment's transaction accept
            // it.
            let least = bumped(current, settings.max_fee).or_else(|| (!sendable).then_some(current));
            if let Some(least) = least {
                let fee = clamped(higher(least, suggested), settings.max_fee);
                let payments = if self.needs_filler() {
                    Vec::new()
                } else {
                    self.row.payments.clone()
                };
                self.signing = true;
                return Some(Action::Sign { nonce, fee, payments });
            }
            if !std::mem::replace(&mut self.alarmed, true) {
                return Some(Action::Alarm(Alarm::FeeCap { nonce }));
            }
        }
        let due = self
            .sent_ms
            .is_none_or(|at| now_ms >= at.saturating_add(settings.resend_ms));
        if sendable && due {
            self.sent_ms = Some(now_ms);
            return Some(Action::Send { nonce });
        }
        None
    }
}
