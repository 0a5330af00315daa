//! Executes the due actions of transactions in flight: sends, status queries, searches, and writing outcomes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::join_all;
use purser_chains::solana::Signature;
use purser_chains::solana::address::base58;
use purser_chains::solana::lifecycle::{Evidence, Stage, StatusAnswer};
use purser_chains::solana::payers::FeeOutcome;
use purser_chains::solana::status::Commitment;

use super::SolanaSettlement;
use super::in_flight::NodeUpdate;
use super::rows::{Closed, End, LostFee};
use crate::read_limits::DEADLINE;

impl SolanaSettlement {
    /// Starts everything that is due now and returns; the responses arrive later.
    pub(super) fn drive(self: &Arc<Self>) {
        let block_height = self.tip.lock().proof_height();
        let due = self.in_flight.lock().due(self.timer.now_ms(), block_height);
        for (id, bytes) in due.sends {
            let port = Arc::clone(self);
            tokio::spawn(async move { port.send(id, &bytes).await });
        }
        if !due.statuses.is_empty() {
            let ids = Arc::new(due.statuses);
            for endpoint in 0..self.node.endpoints() {
                self.poll(endpoint, &ids);
            }
        }
        for id in due.searches {
            let port = Arc::clone(self);
            tokio::spawn(async move { port.search_for(id).await });
        }
        for (id, end) in due.ends {
            let port = Arc::clone(self);
            tokio::spawn(async move { port.end(id, end).await });
        }
    }

    /// Sends to every endpoint. The transaction may execute from now on, whatever they respond.
    pub(super) async fn send(&self, id: Signature, bytes: &[u8]) {
        let outcomes = self.node.send_each(bytes).await;
        tracing::debug!(transaction = base58(&id), ?outcomes, "sent");
        self.apply(&id, 0, NodeUpdate::Sent);
    }

    /// Queries statuses at one endpoint, unless a query is in progress there: an endpoint that hangs only delays
    /// itself.
    fn poll(self: &Arc<Self>, endpoint: usize, ids: &Arc<Vec<Signature>>) {
        if self.polled[endpoint].swap(true, Ordering::AcqRel) {
            return;
        }
        let (port, ids) = (Arc::clone(self), Arc::clone(ids));
        tokio::spawn(async move {
            if let Ok((context_slot, found)) = port.node.statuses_on(endpoint, &ids, false).await {
                port.record_claim(endpoint, context_slot, None);
                for (id, found) in ids.iter().zip(found).filter(|(_, found)| found.is_some()) {
                    port.apply(id, endpoint, NodeUpdate::Status(StatusAnswer { context_slot, found }));
                }
            }
            port.polled[endpoint].store(false, Ordering::Release);
        });
    }

    /// Searches the history of every endpoint.
    async fn search_for(&self, id: Signature) {
        for (endpoint, evidence) in self.node.evidence_each(&id).await.into_iter().enumerate() {
            match evidence {
                Ok(evidence) => self.apply(&id, endpoint, NodeUpdate::Evidence(evidence)),
                Err(error) => {
                    tracing::warn!(transaction = base58(&id), endpoint, %error, "a transaction could not be searched for");
                }
            }
        }
        self.in_flight.lock().searched(&id);
    }

    /// The follower has read this transaction: its reading counts as that endpoint's response.
    pub(super) fn listed(&self, id: &Signature, endpoint: usize, evidence: Evidence) {
        self.apply(id, endpoint, NodeUpdate::Evidence(evidence));
    }

    fn apply(&self, id: &Signature, endpoint: usize, answer: NodeUpdate) {
        let changed = self.in_flight.lock().apply(id, endpoint, answer, self.timer.now_ms());
        let Some(changed) = changed else { return };
        let transition = &changed.transition;
        tracing::debug!(transaction = base58(id), from = ?transition.from, to = ?transition.to, "a transaction moved on");
        if transition.is_contradiction() {
            self.contradicted(id, "it was proven expired");
        } else if transition.is_reorg() {
            tracing::warn!(
                transaction = base58(id),
                "a fork removed a transaction: it is sent again while it can execute"
            );
        }
        let Some(reservation) = changed.reservation else { return };
        let outcome = match &transition.to {
            Stage::Succeeded { .. } => FeeOutcome::Spent,
            Stage::Failed { .. } => FeeOutcome::Lost,
            _ => FeeOutcome::Unused,
        };
        let lamports = reservation.fees.charged();
        self.payers.lock().settle(reservation, outcome);
        // A withdrawal that fails is not the recipient's fault, and the treasury is never declined.
        if outcome == FeeOutcome::Lost && changed.payer != self.treasury() {
            tracing::warn!(
                transaction = base58(id),
                payer = base58(&changed.payer),
                lamports,
                "a payment failed on the chain"
            );
            let (payer, at) = (changed.payer, self.clock.now());
            self.losses.lock().lost(payer, lamports, at.0);
            self.rows.record_loss(id, &LostFee { payer, lamports, at });
        }
    }

    pub(super) fn contradicted(&self, id: &Signature, known: &str) {
        self.alarms.contradictions.fetch_add(1, Ordering::Relaxed);
        tracing::error!(
            transaction = base58(id),
            known,
            "a transaction is on the chain against two endpoints' proof"
        );
    }

    /// Persists the outcome, then removes the transaction.
    async fn end(&self, id: Signature, end: End) {
        let closed = Closed {
            end,
            at: self.clock.now(),
        };
        if let Err(error) = self.rows.close(&id, &closed).await {
            tracing::error!(transaction = base58(&id), %error, "the end of a transaction could not be written");
            return self.in_flight.lock().close_failed(&id);
        }
        let unused = self.in_flight.lock().close(&id);
        if let Some(unused) = unused {
            self.payers.lock().settle(unused, FeeOutcome::Unused);
        }
    }

    /// Reads a recent blockhash and the height of each endpoint. One that hangs only causes a short delay.
    pub(super) async fn refresh_blockhash(&self) -> Result<(), String> {
        let endpoints = self.node.endpoints();
        let asked = (0..endpoints).map(|endpoint| {
            let read = self.node.latest_blockhash_on(endpoint, Commitment::Confirmed);
            tokio::time::timeout(DEADLINE, read)
        });
        let answers = join_all(asked).await;
        let late = || "an endpoint gives no blockhash in time".to_owned();
        let mut failure = None;
        let mut claims = Vec::with_capacity(endpoints);
        for answer in answers {
            match answer
                .map_err(|_| late())
                .and_then(|read| read.map_err(|error| error.to_string()))
            {
                Ok(claim) => claims.push(claim),
                Err(error) => failure = Some(error),
            }
        }
        let read = self.tip.lock().read(claims, endpoints, self.timer.now_ms());
        read.map_err(|error| failure.map_or_else(|| error.to_owned(), |failure| format!("{error}: {failure}")))
    }

    /// Reads the balances of the fee payers.
    pub(super) async fn refresh_balances(&self) -> Result<(), String> {
        if self.fee_payer_addresses.is_empty() {
            return Ok(());
        }
        let read = self
            .node
            .accounts(&self.fee_payer_addresses, Commitment::Confirmed)
            .await;
        let (_, accounts) = read.map_err(|error| error.to_string())?;
        let mut payers = self.payers.lock();
        for (address, account) in self.fee_payer_addresses.iter().zip(accounts) {
            payers.set_balance(address, account.map_or(0, |account| account.lamports));
        }
        let poor = payers.below_floor();
        drop(payers);
        if !poor.is_empty() {
            tracing::error!(addresses = ?poor, floor = self.floor_lamports, "fee payers are below their floor");
        }
        Ok(())
    }
}
