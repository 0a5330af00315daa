//! Transactions in flight: co-signed and without an outcome yet. [`InFlightTransactions::due`] returns what each one
//! needs now; [`InFlightTransactions::apply`] takes the nodes' responses. No I/O.

mod payer_funds;

use std::collections::{BTreeSet, HashMap};

use purser_chains::solana::Signature;
use purser_chains::solana::lifecycle::{
    EXPIRY_PROOF_ENDPOINTS, Evidence, Lifecycle, Pacing, Stage, StatusAnswer, Transition,
};
use purser_chains::solana::payers::FeeReservation;
use purser_chains::solana::status::{Commitment, SignatureStatus};
use tokio::sync::watch;

use self::payer_funds::PaymentDebits;
pub(super) use self::payer_funds::{FundsCheck, PaymentDebit, RemainingBalance, debit_from_bytes};
use super::rows::{End, Open};

/// A transaction that was seen but is not final is searched for again after this, in milliseconds: a fork may have
/// removed it.
const RECHECK_MS: u64 = 60_000;

/// A transaction in flight.
#[derive(Debug)]
pub(super) struct InFlightTransaction {
    open: Open,
    debit: Option<PaymentDebit>,
    lifecycle: Lifecycle,
    /// Whether it may be sent: not before [`InFlightTransactions::release`].
    released: bool,
    /// Whether it may have been sent by an earlier run of the service.
    from_earlier_run: bool,
    reservation: Option<FeeReservation>,
    /// Endpoints that show it as final and without effects.
    failed_on: BTreeSet<usize>,
    /// When to search for it regardless of its known state.
    recheck_at_ms: u64,
    /// A search, or the write of its outcome, is in progress.
    searching: bool,
    closing: bool,
    /// A fork has removed it, and it was not seen again.
    removed: bool,
    changed: watch::Sender<()>,
}

/// Actions that are due.
#[derive(Debug, Default)]
pub(super) struct Due {
    pub(super) sends: Vec<(Signature, Vec<u8>)>,
    pub(super) statuses: Vec<Signature>,
    pub(super) searches: Vec<Signature>,
    pub(super) ends: Vec<(Signature, End)>,
}

/// The changes made by a response.
#[derive(Debug)]
pub(super) struct StageChange {
    pub(super) transition: Transition,
    pub(super) payer: [u8; 32],
    /// Set once, when the fee is decided.
    pub(super) reservation: Option<FeeReservation>,
}

/// A node's report on one transaction.
#[derive(Clone, Debug)]
pub(super) enum NodeUpdate {
    Status(StatusAnswer),
    Evidence(Evidence),
    /// Sent to at least one endpoint.
    Sent,
}

/// All transactions in flight; see the module.
#[derive(Debug)]
pub(super) struct InFlightTransactions {
    transactions: HashMap<Signature, InFlightTransaction>,
    debits: PaymentDebits,
    endpoints: usize,
    pacing: Pacing,
}

impl InFlightTransactions {
    pub(super) fn new(endpoints: usize, pacing: Pacing) -> Self {
        Self {
            transactions: HashMap::new(),
            debits: PaymentDebits::default(),
            endpoints,
            pacing,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.transactions.len()
    }

    /// Number of transactions whose blockhash has expired and that are neither found nor proven absent. Worth an alarm.
    pub(super) fn unproven(&self) -> usize {
        self.transactions
            .values()
            .filter(|flight| flight.lifecycle.awaits_proof())
            .count()
    }

    /// Adds a prepared transaction; `old` if an earlier run may have sent it. Returns the reservation if it is here
    /// already.
    pub(super) fn start(
        &mut self,
        id: Signature,
        open: Open,
        old: bool,
        reservation: Option<FeeReservation>,
    ) -> Option<FeeReservation> {
        if let Some(flight) = self.transactions.get_mut(&id) {
            if !flight.open.bytes.is_empty() || open.bytes.is_empty() {
                return reservation;
            }
            // It was only tracked until now.
            flight.debit = debit_from_bytes(&open.bytes);
            if let Some(taking) = &flight.debit {
                self.debits.add_in_flight(taking, id);
            }
            flight.open = open;
            flight.reservation = reservation;
            return None;
        }
        let taking = debit_from_bytes(&open.bytes);
        if let Some(taking) = &taking {
            self.debits.add_in_flight(taking, id);
        }
        let prepared = open.prepared(id);
        let life = match old {
            true => Lifecycle::resumed(prepared, self.endpoints, self.pacing),
            false => Lifecycle::new(prepared, self.endpoints, self.pacing),
        };
        let flight = InFlightTransaction {
            open,
            debit: taking,
            lifecycle: life,
            released: false,
            from_earlier_run: old,
            reservation,
            failed_on: BTreeSet::new(),
            recheck_at_ms: u64::MAX,
            searching: false,
            closing: false,
            removed: false,
            changed: watch::Sender::new(()),
        };
        self.transactions.insert(id, flight);
        None
    }

    /// Sends the transaction repeatedly until it has ended. Returns its changes, or `None` if it is not here.
    pub(super) fn release(&mut self, id: &Signature) -> Option<watch::Receiver<()>> {
        let (endpoints, pacing) = (self.endpoints, self.pacing);
        let flight = self.transactions.get_mut(id)?;
        // It was only tracked until now: due actions are due at once.
        if !flight.released
            && matches!(flight.lifecycle.stage(), Stage::Prepared | Stage::Sent)
            && flight.lifecycle.proofs() == 0
        {
            let prepared = *flight.lifecycle.prepared();
            flight.lifecycle = match flight.from_earlier_run {
                true => Lifecycle::resumed(prepared, endpoints, pacing),
                false => Lifecycle::new(prepared, endpoints, pacing),
            };
        }
        flight.released = true;
        Some(flight.changed.subscribe())
    }

    /// The bytes, if they are to be sent at once.
    pub(super) fn first_send(&mut self, id: &Signature, now_ms: u64) -> Option<Vec<u8>> {
        let flight = self.transactions.get_mut(id)?;
        let due = flight.lifecycle.due(now_ms);
        (due.send && !flight.open.bytes.is_empty()).then(|| flight.open.bytes.clone())
    }

    /// Whether the transaction is here with its bytes.
    pub(super) fn has_bytes(&self, id: &Signature) -> bool {
        self.transactions
            .get(id)
            .is_some_and(|flight| !flight.open.bytes.is_empty())
    }

    /// Whether a fork has removed the transaction and it was not seen again.
    pub(super) fn is_removed(&self, id: &Signature) -> bool {
        self.transactions.get(id).is_some_and(|flight| flight.removed)
    }

    pub(super) fn stage(&self, id: &Signature) -> Option<&Stage> {
        self.transactions.get(id).map(|flight| flight.lifecycle.stage())
    }

    /// Number of endpoints that show the transaction at its position.
    pub(super) fn shown_by(&self, id: &Signature) -> usize {
        self.transactions
            .get(id)
            .map_or(0, |flight| flight.lifecycle.shown_by())
    }

    /// The actions that are due at this time, with the highest known block height.
    pub(super) fn due(&mut self, now_ms: u64, block_height: u64) -> Due {
        let mut all = Due::default();
        for (id, flight) in &mut self.transactions {
            flight.lifecycle.block_height(block_height);
            if let Some(end) = flight.end() {
                if !flight.closing {
                    flight.closing = true;
                    all.ends.push((*id, end));
                }
                continue;
            }
            // Only the engine has the bytes: no query is needed until they could have expired.
            if !flight.released && !flight.from_earlier_run && !flight.lifecycle.awaits_proof() {
                continue;
            }
            let failed = matches!(
                flight.lifecycle.stage(),
                Stage::Failed {
                    level: Commitment::Finalized,
                    ..
                }
            );
            let due = flight.lifecycle.due(now_ms);
            if due.send && flight.released && !flight.open.bytes.is_empty() {
                all.sends.push((*id, flight.open.bytes.clone()));
            }
            if due.status {
                all.statuses.push(*id);
            }
            if failed && flight.recheck_at_ms == u64::MAX {
                flight.recheck_at_ms = now_ms;
            }
            let doubted = now_ms >= flight.recheck_at_ms;
            if (due.proof || doubted) && !flight.searching {
                flight.searching = true;
                if doubted {
                    flight.recheck_at_ms = now_ms.saturating_add(self.pacing.proof_ms.saturating_mul(5));
                }
                all.searches.push(*id);
            }
        }
        all
    }

    /// A search has finished, with any result.
    pub(super) fn searched(&mut self, id: &Signature) {
        if let Some(flight) = self.transactions.get_mut(id) {
            flight.searching = false;
        }
    }

    /// The outcome could not be written: it is attempted again.
    pub(super) fn close_failed(&mut self, id: &Signature) {
        if let Some(flight) = self.transactions.get_mut(id) {
            flight.closing = false;
        }
    }

    /// The outcome is durable. Returns a reservation whose fee was never decided.
    pub(super) fn close(&mut self, id: &Signature) -> Option<FeeReservation> {
        let flight = self.transactions.remove(id)?;
        if let Some(taking) = flight.debit {
            self.debits.remove_in_flight(&taking.source, |other| other == id);
        }
        flight.reservation
    }

    /// Searches for the transaction at the next check: a list of the chain no longer has it.
    pub(super) fn recheck(&mut self, id: &Signature) {
        if let Some(flight) = self.transactions.get_mut(id) {
            flight.recheck_at_ms = 0;
        }
    }

    /// Applies an endpoint's response. `None` if it changes nothing.
    pub(super) fn apply(
        &mut self,
        id: &Signature,
        endpoint: usize,
        answer: NodeUpdate,
        now_ms: u64,
    ) -> Option<StageChange> {
        let flight = self.transactions.get_mut(id)?;
        if let Some(status) = answer.status()
            && status.level == Commitment::Finalized
            && status.error.is_some()
        {
            flight.failed_on.insert(endpoint);
        }
        let transition = match answer {
            NodeUpdate::Status(answer) => flight.lifecycle.status(endpoint, answer),
            NodeUpdate::Evidence(evidence) => flight.lifecycle.evidence(endpoint, evidence),
            NodeUpdate::Sent => flight.lifecycle.sent(),
        };
        let transition = transition?;
        flight.recheck_at_ms = match &transition.to {
            Stage::Succeeded { level, .. } | Stage::Failed { level, .. } if *level < Commitment::Finalized => {
                now_ms.saturating_add(RECHECK_MS)
            }
            _ => u64::MAX,
        };
        flight.removed = transition.is_reorg() || (flight.removed && !matches!(transition.to, Stage::Succeeded { .. }));
        flight.changed.send_replace(());
        let reservation = transition.to.is_final().then(|| flight.reservation.take()).flatten();
        Some(StageChange {
            transition,
            payer: flight.open.payer,
            reservation,
        })
    }
}

impl NodeUpdate {
    const fn status(&self) -> Option<&SignatureStatus> {
        match self {
            Self::Status(StatusAnswer {
                found: Some(status), ..
            })
            | Self::Evidence(Evidence::Found { status, .. }) => Some(status),
            _ => None,
        }
    }
}

impl InFlightTransaction {
    /// The outcome, once proven. If the transaction did not settle, two endpoints must prove it, even if only one is
    /// configured.
    fn end(&self) -> Option<End> {
        match self.lifecycle.stage() {
            Stage::Succeeded {
                level: Commitment::Finalized,
                ..
            } => Some(End::Confirmed),
            Stage::Failed {
                level: Commitment::Finalized,
                error,
                ..
            } => (self.failed_on.len() >= EXPIRY_PROOF_ENDPOINTS).then(|| End::Failed(error.text.clone())),
            Stage::Expired => Some(End::Expired),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
