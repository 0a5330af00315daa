//! Life cycle of one co-signed transaction, from prepared to final, failed or expired. No I/O: time and the nodes'
//! responses are the input, the next steps the output.
//!
//! One endpoint is enough to show a transaction as seen. If there are two, both must show the same slot and success for
//! it to be failed or final. The expiry proof needs two endpoints that are past the last valid block height at
//! `finalized` without it. Until then the outcome is unknown.

mod evidence;

use super::cross_check::witnesses;
use super::status::{Commitment, SignatureStatus, TransactionError};
use super::transaction::Signature;

use self::evidence::View;
pub use self::evidence::{Absence, Evidence, StatusAnswer};

/// Number of endpoints whose agreement is an expiry proof.
pub const EXPIRY_PROOF_ENDPOINTS: usize = 2;

/// Number of blocks for which a blockhash is valid.
pub const BLOCKHASH_BLOCKS: u64 = 150;

/// A transaction before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    pub id: Signature,
    /// Last block height at which it can execute. If the client chose the blockhash: the block height at which a node
    /// reported it valid, plus [`BLOCKHASH_BLOCKS`].
    pub last_valid_block_height: u64,
    /// The transaction cannot have executed before this slot: the slot of the response with the blockhash, or earlier.
    pub not_before_slot: u64,
}

/// Intervals of queries and sends, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Interval between sends to every endpoint.
    pub resend_ms: u64,
    /// Interval between status queries until the transaction is confirmed.
    pub status_ms: u64,
    /// Interval between status queries after it is confirmed.
    pub final_ms: u64,
    /// Interval between attempts to prove the expiry.
    pub proof_ms: u64,
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            resend_ms: 2000,
            status_ms: 500,
            final_ms: 2000,
            proof_ms: 2000,
        }
    }
}

/// Stage of the life cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Never sent, as far as is known.
    Prepared,
    /// Sent, not on chain; it may still settle.
    Sent,
    /// On chain, with its effects.
    Succeeded {
        /// Slot of the transaction's block.
        slot: u64,
        /// Commitment of the block; final at [`Commitment::Finalized`].
        level: Commitment,
    },
    /// On chain, without its effects. Below [`Commitment::Finalized`] another fork may still execute it.
    Failed {
        /// Slot of the transaction's block.
        slot: u64,
        /// Commitment of the block.
        level: Commitment,
        /// Error of the execution.
        error: TransactionError,
    },
    /// Not on chain, and can never settle.
    Expired,
}

impl Stage {
    /// Whether the stage can no longer change under the chain's rules.
    pub const fn is_final(&self) -> bool {
        match self {
            Self::Prepared | Self::Sent => false,
            Self::Succeeded { level, .. } | Self::Failed { level, .. } => matches!(level, Commitment::Finalized),
            Self::Expired => true,
        }
    }
}

/// A change of stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Stage before the change.
    pub from: Stage,
    /// Stage after the change.
    pub to: Stage,
}

impl Transition {
    /// The transaction was on chain and a fork removed it. It is sent again while it can execute.
    pub const fn is_reorg(&self) -> bool {
        matches!(self.from, Stage::Succeeded { .. } | Stage::Failed { .. })
            && matches!(self.to, Stage::Prepared | Stage::Sent | Stage::Expired)
    }

    /// An expiry proof was wrong: two endpoints gave false answers. An operator must be alarmed.
    pub const fn is_contradiction(&self) -> bool {
        matches!(self.from, Stage::Expired)
    }
}

/// Actions that are due now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// Send the bytes to every endpoint.
    pub send: bool,
    /// Query the status.
    pub status: bool,
    /// Collect an [`Absence`] from every endpoint.
    pub proof: bool,
}

/// State of one transaction; see the module.
#[derive(Clone, Debug)]
pub struct Lifecycle {
    prepared: Prepared,
    pacing: Pacing,
    views: Vec<View>,
    /// The first final response that enough endpoints gave; nothing overrides it.
    finalized: Option<SignatureStatus>,
    stage: Stage,
    sent: bool,
    block_height: u64,
    next_send_ms: u64,
    next_status_ms: u64,
    next_proof_ms: u64,
}

impl Lifecycle {
    /// A transaction that has not been sent, observed through this number of endpoints.
    pub fn new(prepared: Prepared, endpoints: usize, pacing: Pacing) -> Self {
        Self {
            prepared,
            pacing,
            views: vec![View::default(); endpoints],
            finalized: None,
            stage: Stage::Prepared,
            sent: false,
            block_height: 0,
            next_send_ms: 0,
            next_status_ms: 0,
            next_proof_ms: 0,
        }
    }

    /// A transaction of an earlier run of the service: it may have been sent.
    pub fn resumed(prepared: Prepared, endpoints: usize, pacing: Pacing) -> Self {
        Self {
            stage: Stage::Sent,
            sent: true,
            ..Self::new(prepared, endpoints, pacing)
        }
    }

    /// The current stage.
    pub const fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Number of endpoints that show it in the slot and with the success of the current stage, at least at `confirmed`.
    pub fn shown_by(&self) -> usize {
        let (at, failed) = match &self.stage {
            Stage::Succeeded { slot, .. } => (*slot, false),
            Stage::Failed { slot, .. } => (*slot, true),
            Stage::Prepared | Stage::Sent | Stage::Expired => return 0,
        };
        self.views_of(at, failed, Commitment::Confirmed)
    }

    fn views_of(&self, at: u64, failed: bool, level: Commitment) -> usize {
        let seen = self.views.iter().filter_map(|view| view.status.as_ref());
        seen.filter(|seen| (seen.slot, seen.error.is_some()) == (at, failed) && seen.level >= level)
            .count()
    }

    /// The prepared transaction.
    pub const fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// Number of endpoints that have given evidence of the expiry.
    pub fn proofs(&self) -> usize {
        self.views.iter().filter(|view| view.proof).count()
    }

    /// Whether any endpoint reports the blockhash as past its last valid height while the outcome is unknown. The
    /// transaction then needs the expiry proof, and an alarm without one.
    pub fn awaits_proof(&self) -> bool {
        matches!(self.stage, Stage::Prepared | Stage::Sent) && self.block_height > self.prepared.last_valid_block_height
    }

    /// The actions due at `now_ms`. Each kind is due again only after its interval.
    pub fn due(&mut self, now_ms: u64) -> Due {
        let open = match &self.stage {
            Stage::Prepared | Stage::Sent => true,
            Stage::Succeeded { level, .. } | Stage::Failed { level, .. } => *level == Commitment::Processed,
            Stage::Expired => false,
        };
        let mut due = Due::default();
        // If one endpoint is past that height at `finalized`, sending stops: the bytes cannot execute there.
        if open && self.proofs() == 0 && now_ms >= self.next_send_ms {
            due.send = true;
            self.next_send_ms = now_ms.saturating_add(self.pacing.resend_ms);
        }
        if !self.stage.is_final() && now_ms >= self.next_status_ms {
            due.status = true;
            let interval = if open {
                self.pacing.status_ms
            } else {
                self.pacing.final_ms
            };
            self.next_status_ms = now_ms.saturating_add(interval);
        }
        if self.awaits_proof() && now_ms >= self.next_proof_ms {
            due.proof = true;
            self.next_proof_ms = now_ms.saturating_add(self.pacing.proof_ms);
        }
        due
    }

    /// Records that the bytes were sent to at least one endpoint, whatever it responded: they may now execute.
    pub fn sent(&mut self) -> Option<Transition> {
        self.sent = true;
        self.settle()
    }

    /// Records a block height that any endpoint reported, at any commitment.
    pub fn block_height(&mut self, height: u64) {
        self.block_height = self.block_height.max(height);
    }

    /// Records an endpoint's response to a status query. A response older than the endpoint's last one is ignored.
    pub fn status(&mut self, endpoint: usize, answer: StatusAnswer) -> Option<Transition> {
        let view = self.views.get_mut(endpoint)?;
        if view.is_newer_than(answer.context_slot) {
            return None;
        }
        view.context_slot = answer.context_slot;
        match answer.found {
            Some(status) => self.record_status(endpoint, status),
            // The status cache forgets. Only a search of the history, an `Absence`, removes an earlier status.
            None => return None,
        }
        self.settle()
    }

    /// Records the result of an endpoint's search of its history.
    pub fn evidence(&mut self, endpoint: usize, evidence: Evidence) -> Option<Transition> {
        match evidence {
            Evidence::Found { context_slot, status } => {
                let found = Some(status);
                self.status(endpoint, StatusAnswer { context_slot, found })
            }
            Evidence::Absent(absence) => self.record_absence(endpoint, absence),
        }
    }

    /// Records that an endpoint searched its history and does not have the transaction.
    pub fn record_absence(&mut self, endpoint: usize, absence: Absence) -> Option<Transition> {
        self.block_height(absence.finalized_block_height);
        let proof = absence.proves_expiry_of(&self.prepared);
        let view = self.views.get_mut(endpoint)?;
        if view.is_newer_than(absence.context_slot) {
            return None;
        }
        view.context_slot = absence.context_slot;
        view.proof |= proof;
        // Clear this endpoint's status. If this endpoint finalised a slot without the transaction, a status of another
        // endpoint in that slot was on a fork. If the other shows it as final, one of the two is wrong.
        view.status = None;
        if absence.context_slot >= absence.finalized_slot {
            for view in &mut self.views {
                if view
                    .status
                    .as_ref()
                    .is_some_and(|seen| seen.slot <= absence.finalized_slot && seen.level < Commitment::Finalized)
                {
                    view.status = None;
                }
            }
        }
        self.settle()
    }

    fn record_status(&mut self, endpoint: usize, status: SignatureStatus) {
        let view = &mut self.views[endpoint];
        view.proof = false;
        view.status = Some(status.clone());
        let (at, failed) = (status.slot, status.error.is_some());
        let shown_by = self.views_of(at, failed, Commitment::Finalized);
        let enough = status.level == Commitment::Finalized && shown_by >= witnesses(self.views.len());
        if enough && self.finalized.is_none() {
            self.finalized = Some(status);
        }
    }

    /// The status that endpoints show before it is final. One endpoint is enough for a success. A failure needs the
    /// required number of endpoints: a single wrong one could decline a payment that is on the chain. If two statuses
    /// conflict, the one that more endpoints show is used.
    fn best_status(&self) -> Option<&SignatureStatus> {
        let seen = self.views.iter().filter_map(|view| view.status.as_ref());
        let ranked = seen.filter_map(|status| {
            let level = status.level.min(Commitment::Confirmed);
            let failed = status.error.is_some();
            let agreed = self.views_of(status.slot, failed, level) >= witnesses(self.views.len());
            (agreed || !failed).then_some(((level, agreed, status.slot), status))
        });
        let best = ranked.max_by_key(|(rank, _)| *rank);
        best.map(|(_, status)| status)
    }

    /// Derives the stage from everything that is known.
    fn settle(&mut self) -> Option<Transition> {
        let best = self.finalized.as_ref().or_else(|| self.best_status());
        // A single endpoint with a final status only shows that the transaction is on the chain.
        let highest = match self.finalized {
            Some(_) => Commitment::Finalized,
            None => Commitment::Confirmed,
        };
        let to = match best {
            Some(status) => {
                let (slot, level) = (status.slot, status.level.min(highest));
                match status.error.clone() {
                    None => Stage::Succeeded { slot, level },
                    Some(error) => Stage::Failed { slot, level, error },
                }
            }
            None if self.proofs() >= EXPIRY_PROOF_ENDPOINTS => Stage::Expired,
            None if self.sent => Stage::Sent,
            None => Stage::Prepared,
        };
        if to == self.stage {
            return None;
        }
        let from = std::mem::replace(&mut self.stage, to.clone());
        // A fork removed it: it must not wait for the slow interval.
        if matches!(to, Stage::Sent) && !matches!(from, Stage::Prepared) {
            (self.next_send_ms, self.next_status_ms) = (0, 0);
        }
        Some(Transition { from, to })
    }
}

#[cfg(test)]
mod tests;
