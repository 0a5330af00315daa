//! The life of one co-signed transaction, from prepared to final, failed or expired. Pure: time and the nodes' answers come
//! in, what to do next comes out.
//!
//! A transaction is seen by one endpoint's word, and failed or final by two that show the same slot and success, where there are two. The
//! expiry proof needs two that are past the last valid block height at `finalized` without it; until then the outcome is unknown.

mod evidence;

use super::cross_check::witnesses;
use super::status::{Commitment, SignatureStatus, TransactionError};
use super::transaction::Signature;

use self::evidence::View;
pub use self::evidence::{Absence, Evidence, StatusAnswer};

/// Endpoints whose agreement is an expiry proof.
pub const EXPIRY_PROOF_ENDPOINTS: usize = 2;

/// Blocks for which a blockhash is valid.
pub const BLOCKHASH_BLOCKS: u64 = 150;

/// What is known of a transaction before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Its id.
    pub id: Signature,
    /// The last block height at which it can execute. For a blockhash that the client chose: the block height at which
    /// a node reported it valid, plus [`BLOCKHASH_BLOCKS`].
    pub last_valid_block_height: u64,
    /// A slot before which it cannot have executed: that of the answer which gave the blockhash, or earlier.
    pub not_before_slot: u64,
}

/// Intervals in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Between two sends to every endpoint.
    pub resend_ms: u64,
    /// Between two status queries until the transaction is confirmed.
    pub status_ms: u64,
    /// Between two status queries from then on.
    pub final_ms: u64,
    /// Between two attempts to prove the expiry.
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

/// Where the transaction is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Never sent as far as is known.
    Prepared,
    /// Sent, not on chain; it may still settle.
    Sent,
    /// On chain, with its effects.
    Succeeded {
        /// Slot of its block.
        slot: u64,
        /// How certain the block is; final at [`Commitment::Finalized`].
        level: Commitment,
    },
    /// On chain, without its effects. Below [`Commitment::Finalized`] another fork may still execute it.
    Failed {
        /// Slot of its block.
        slot: u64,
        /// How certain the block is.
        level: Commitment,
        /// Why.
        error: TransactionError,
    },
    /// Not on chain, and can never settle.
    Expired,
}

impl Stage {
    /// Whether nothing can change any more, as far as the chain's rules go.
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
    /// Before.
    pub from: Stage,
    /// After.
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

/// What to do now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// Send the bytes to every endpoint.
    pub send: bool,
    /// Query the status.
    pub status: bool,
    /// Collect an [`Absence`] from every endpoint.
    pub proof: bool,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Lifecycle {
    prepared: Prepared,
    pacing: Pacing,
    views: Vec<View>,
    /// The first final answer that enough endpoints gave; nothing overrides it.
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

    /// The present stage.
    pub const fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Number of endpoints that show it in the slot and with the success of the present stage, at `confirmed` at least.
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

    /// What was prepared.
    pub const fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// Number of endpoints that have given evidence of the expiry.
    pub fn proofs(&self) -> usize {
        self.views.iter().filter(|view| view.proof).count()
    }

    /// Whether the blockhash is past its last valid height by any report while the outcome is unknown: it needs the
    /// expiry proof, and an alarm if that does not come.
    pub fn awaits_proof(&self) -> bool {
        matches!(self.stage, Stage::Prepared | Stage::Sent) && self.block_height > self.prepared.last_valid_block_height
    }

    /// What to do at `now_ms`. Each kind is due again only after its interval.
    pub fn due(&mut self, now_ms: u64) -> Due {
        let open = match &self.stage {
            Stage::Prepared | Stage::Sent => true,
            Stage::Succeeded { level, .. } | Stage::Failed { level, .. } => *level == Commitment::Processed,
            Stage::Expired => false,
        };
        let mut due = Due::default();
        // An endpoint that is past the point at `finalized` is reason enough to stop: the bytes cannot execute there.
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

    /// The bytes were handed to at least one endpoint, whatever it answered: from now on they may execute.
    pub fn sent(&mut self) -> Option<Transition> {
        self.sent = true;
        self.settle()
    }

    /// A block height that any endpoint reported, at any commitment.
    pub fn block_height(&mut self, height: u64) {
        self.block_height = self.block_height.max(height);
    }

    /// An endpoint answered a status query. An answer older than the endpoint's last one is ignored.
    pub fn status(&mut self, endpoint: usize, answer: StatusAnswer) -> Option<Transition> {
        let view = self.views.get_mut(endpoint)?;
        if view.is_newer_than(answer.context_slot) {
            return None;
        }
        view.context_slot = answer.context_slot;
        match answer.found {
            Some(status) => self.record_status(endpoint, status),
            // The cache forgets; only a search of history, an `Absence`, takes a sighting back.
            None => return None,
        }
        self.settle()
    }

    /// An endpoint searched its history.
    pub fn evidence(&mut self, endpoint: usize, evidence: Evidence) -> Option<Transition> {
        match evidence {
            Evidence::Found { context_slot, status } => {
                let found = Some(status);
                self.status(endpoint, StatusAnswer { context_slot, found })
            }
            Evidence::Absent(absence) => self.record_absence(endpoint, absence),
        }
    }

    /// An endpoint searched its history and does not know the transaction.
    pub fn record_absence(&mut self, endpoint: usize, absence: Absence) -> Option<Transition> {
        self.block_height(absence.finalized_block_height);
        let proof = absence.proves_expiry_of(&self.prepared);
        let view = self.views.get_mut(endpoint)?;
        if view.is_newer_than(absence.context_slot) {
            return None;
        }
        view.context_slot = absence.context_slot;
        view.proof |= proof;
        // What this endpoint had seen is gone. What another has seen in a slot that is finalised here without the
        // transaction was on a fork, unless that one has it as final: then one of the two is wrong.
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

    /// What the endpoints show before it is final. A success counts by one endpoint's word, a failure by those of as many as
    /// must agree: one that is wrong would have a payment declined that is on the chain. Of two that contradict each other
    /// the one that more endpoints show.
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

    /// Derives the stage from all that is known.
    fn settle(&mut self) -> Option<Transition> {
        let best = self.finalized.as_ref().or_else(|| self.best_status());
        // One endpoint alone that has it as final shows no more than that it is there.
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
        // A fork took it away: it must not wait for the slow interval.
        if matches!(to, Stage::Sent) && !matches!(from, Stage::Prepared) {
            (self.next_send_ms, self.next_status_ms) = (0, 0);
        }
        Some(Transition { from, to })
    }
}

#[cfg(test)]
mod tests;
