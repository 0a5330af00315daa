//! Implementation of the settlement port: payments and our own transfers.

use std::sync::Arc;
use std::time::Duration;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, BoxFuture, ChainStatus, ChainTransactionStatus, Decline, EvmAuthorization, EvmSignature, Finality,
    OutgoingTransfer, OutgoingTransferRequest, PortError, PortFuture, Preparation, PreparedTransaction, Settlement,
    SubmitResult, Timestamp,
};
use purser_chains::evm::Address;
use purser_chains::evm::node::{BalanceAt, BlockTag};
use ractor::ActorStatus;
use sha2::{Digest as _, Sha256};

use super::BaseSettlement;
use super::checking::Failure;
use super::core::{Core, Outcome, decline};
use super::gas_key;
use super::job::Job;
use super::payer_funds::{PREPARED_TTL_MS, insufficient_with_pending};
use super::rows::{MovementRow, Payment};
use crate::errors::{permanent, temporary, unknown};

/// Status of a payment, from the rows.
pub(super) enum PaymentStatus {
    /// It is on the chain.
    Confirmed { transaction: String, finality: Finality },
    /// Its authorization was cancelled, or used for another transfer; `is_final` if that cannot be reverted.
    Used { is_final: bool },
    /// No block that was read contains it.
    NotFound,
}

/// The payment of an authorization for this chain.
pub(super) fn payment(operation: &'static str, authorization: &Authorization) -> Result<Payment, PortError> {
    match authorization {
        Authorization::Evm(signed) => Ok(Payment {
            from: signed.from,
            to: signed.to,
            value: signed.value,
            valid_after: signed.valid_after,
            valid_before: signed.valid_before,
            nonce: signed.nonce,
            signature: signed.signature.as_bytes().to_vec(),
        }),
        Authorization::Solana(_) => Err(permanent(operation, "the port for Base was given a payment on Solana")),
    }
}

impl Core {
    /// Status from the rows alone.
    pub(super) async fn payment_status(
        &self,
        operation: &'static str,
        payment: &Payment,
    ) -> Result<PaymentStatus, PortError> {
        // Taken before the row is read: a depth may be understated, never overstated.
        let view = self.view();
        let row = self
            .used(&payment.key())
            .await
            .map_err(|error| temporary(operation, error))?;
        let Some(row) = row else {
            return Ok(PaymentStatus::NotFound);
        };
        if view.is_canonical(row.block, row.block_hash.into()) == Some(false) {
            return Ok(PaymentStatus::NotFound);
        }
        if row.canceled || row.to != payment.to || row.value != payment.value {
            let for_good = self.is_at_depth(&view, &row, self.settings.proof);
            return Ok(PaymentStatus::Used { is_final: for_good });
        }
        Ok(PaymentStatus::Confirmed {
            transaction: row.transaction(),
            finality: self.finality(&view, &row),
        })
    }

    fn finality(&self, view: &super::core::View, row: &MovementRow) -> Finality {
        match self.is_final(view, row, row.value) {
            true => Finality::Final,
            false => Finality::Confirmed,
        }
    }
}

impl BaseSettlement {
    async fn prepare_payment(&self, authorization: &Authorization) -> Result<Preparation, PortError> {
        let payment = payment("prepare", authorization)?;
        let key = payment.key();
        let ready = || {
            Preparation::Ready(PreparedTransaction {
                bytes: Vec::new(),
                transaction: String::new(),
            })
        };
        let used = || {
            let why = "the authorization was used for another transfer";
            Preparation::Declined(decline("invalid_exact_evm_nonce_already_used", why))
        };
        self.core.watched.insert(key, payment.valid_before);
        match self.core.payment_status("prepare", &payment).await? {
            PaymentStatus::Confirmed { .. } => return Ok(ready()),
            PaymentStatus::Used { .. } => return Ok(used()),
            PaymentStatus::NotFound => {}
        }
        if let Some(decline) = self.core.loss_limit_decline(&key.from) {
            return Ok(Preparation::Declined(decline));
        }
        if let Some(why) = self.core.stall_reason() {
            return Err(temporary("prepare", why));
        }
        if let Some(why) = self.core.send_blocked_reason() {
            return Err(temporary("prepare", why));
        }
        if self.core.is_outgoing(&payment) {
            let failure = self.core.would_fail(&payment).await;
            let failure = failure.map_err(|error| temporary("prepare", error))?;
            return Ok(failure.map_or_else(ready, Preparation::Declined));
        }
        // Checked some seconds ago, before the claim. The result is used once: a payment that is prepared again is
        // checked again.
        if let Some((good, at_ms)) = self.core.prechecks.take_passed(&payment, self.core.clock.now_ms())
            && self.has_funds(&payment, good.balance).await?
        {
            self.core.checked.insert(key, (good.has_code, at_ms));
            return Ok(ready());
        }
        let verdict = self
            .check_queue
            .submit(&self.core, Arc::new(Job::Payment(payment.clone())))
            .await;
        let verdict = verdict.map_err(|error| temporary("prepare", error))?;
        match verdict.failure {
            None if !self.has_funds(&payment, verdict.balance).await? => {
                Ok(Preparation::Declined(insufficient_with_pending()))
            }
            None => {
                let at_ms = self.core.clock.now_ms();
                self.core.checked.insert(key, (verdict.has_code, at_ms));
                Ok(ready())
            }
            Some(Failure::Declined(decline)) => Ok(Preparation::Declined(decline)),
            // Another party may have sent it in one of the newest blocks.
            Some(Failure::Used) => {
                let known = self.core.read_and_check_used(&key).await;
                known.map_err(|error| temporary("prepare", error))?;
                match self.core.payment_status("prepare", &payment).await? {
                    PaymentStatus::Confirmed { .. } => Ok(ready()),
                    PaymentStatus::Used { .. } | PaymentStatus::NotFound => Ok(used()),
                }
            }
        }
    }

    /// Same contract as [`Core::has_funds`].
    async fn has_funds(&self, payment: &Payment, held: Option<BalanceAt>) -> Result<bool, PortError> {
        let has_funds = self.core.has_funds(payment, held, PREPARED_TTL_MS).await;
        has_funds.map_err(|error| temporary("prepare", error))
    }

    async fn submit_payment(&self, authorization: &Authorization) -> Result<SubmitResult, PortError> {
        let payment = payment("submit", authorization)?;
        let key = payment.key();
        // Subscribe before the rows are read, so that no block is missed in between.
        let outcome = self.core.subscribe_outcome(key);
        let answer = match self.core.payment_status("submit", &payment).await {
            Ok(PaymentStatus::NotFound) => {
                self.core.watched.insert(key, payment.valid_before);
                self.assign_to_gas_key(Arc::new(Job::Payment(payment.clone()))).await?;
                match outcome.await {
                    Ok(Outcome::Declined(decline)) => Ok(SubmitResult::Declined(decline)),
                    Ok(Outcome::Settled) => submitted(self.core.payment_status("submit", &payment).await?),
                    Err(_) => Err(unknown("submit", "the port is closed")),
                }
            }
            Ok(seen) => submitted(seen),
            Err(error) => Err(error),
        };
        self.core.unsubscribe_outcome(&key);
        answer
    }

    /// Assigns the payment to the gas key that already has it, or to the one with the lowest load. Waits for a key that
    /// is starting or restarting.
    pub(super) async fn assign_to_gas_key(&self, payment: Arc<Job>) -> Result<(), PortError> {
        const PAUSE: Duration = Duration::from_millis(50);
        let owner = self.core.assign_gas_key(payment.key());
        let owner = owner.ok_or_else(|| unknown("submit", "there is no gas key"))?;
        self.core.track_payment(&payment);
        if !self.core.settings.gas_keys.iter().any(|key| key.address() == owner) {
            return Err(unknown(
                "submit",
                "the gas key of this payment is not in the settings any more",
            ));
        }
        loop {
            let actor = self.core.actors.get(&owner).map(|actor| actor.clone());
            if let Some(actor) = actor
                && actor.cast(gas_key::Message::Submit(payment.clone())).is_ok()
            {
                return Ok(());
            }
            if self.supervisor.get_status() != ActorStatus::Running {
                return Err(unknown("submit", "the port is closed"));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn sign_transfer(&self, transfer: &OutgoingTransferRequest) -> Result<Authorization, PortError> {
        let Wallet::Evm(to) = transfer.to else {
            return Err(permanent(
                "sign",
                "the port for Base was asked for a transfer on Solana",
            ));
        };
        let now = self.newest_time("sign")?;
        let mut nonce = Sha256::new();
        nonce.update(b"purser treasury transfer");
        nonce.update(self.core.settings.chain_id.to_be_bytes());
        nonce.update(transfer.key.to_be_bytes());
        let mut signed = EvmAuthorization {
            from: self.core.treasury(),
            to,
            value: transfer.amount,
            valid_after: 0,
            valid_before: now.seconds().saturating_add(self.core.settings.signed_s),
            nonce: nonce.finalize().into(),
            signature: EvmSignature::ecdsa([0; 65]),
        };
        let unsigned = payment("sign", &Authorization::Evm(signed.clone()))?;
        let digest = self.core.token.transfer_digest(&unsigned.authorization());
        let signature = self.core.settings.treasury.sign(digest);
        let signature = signature.map_err(|error| temporary("sign", error))?;
        signed.signature = EvmSignature::ecdsa(signature.to_bytes());
        Ok(Authorization::Evm(signed))
    }

    /// Time of the newest block that was read. Signatures that use it require a verified chain.
    pub(crate) fn newest_time(&self, operation: &'static str) -> Result<Timestamp, PortError> {
        self.core.gate.if_open(operation)?;
        self.tip_time(operation)
    }

    /// Time of the newest block that was read.
    pub(super) fn tip_time(&self, operation: &'static str) -> Result<Timestamp, PortError> {
        let view = self.core.view();
        let tip = view
            .tip()
            .ok_or_else(|| temporary(operation, "no block was read yet"))?;
        Ok(Timestamp(tip.timestamp.saturating_mul(1_000)))
    }

    async fn find_transaction_status(
        &self,
        authorization: &Authorization,
        transaction: &str,
    ) -> Result<ChainTransactionStatus, PortError> {
        let payment = payment("standing", authorization)?;
        match self.core.payment_status("standing", &payment).await? {
            PaymentStatus::Confirmed {
                transaction: found,
                finality,
            } if found == transaction => Ok(finality.into()),
            // It may be in a block that was not read yet.
            _ if !self.core.is_up_to_date() => Err(temporary("standing", "the newest blocks were not read")),
            _ => Ok(ChainTransactionStatus::NotFound),
        }
    }
}

fn submitted(seen: PaymentStatus) -> Result<SubmitResult, PortError> {
    match seen {
        PaymentStatus::Confirmed { transaction, finality } => Ok(SubmitResult::Settled { transaction, finality }),
        PaymentStatus::Used { .. } => {
            let why = "the authorization was used for another transfer";
            Ok(SubmitResult::Declined(decline(
                "invalid_exact_evm_nonce_already_used",
                why,
            )))
        }
        // A reorg removed it at the same moment.
        PaymentStatus::NotFound => Err(unknown("submit", "the block of the payment was replaced")),
    }
}

impl Settlement for BaseSettlement {
    fn sign<'a>(&'a self, transfer: &'a OutgoingTransferRequest) -> PortFuture<'a, Authorization> {
        Box::pin(self.sign_transfer(transfer))
    }

    fn precheck<'a>(&'a self, authorization: &'a Authorization) -> BoxFuture<'a, Option<Decline>> {
        Box::pin(self.precheck_payment(authorization))
    }

    fn prepare<'a>(&'a self, authorization: &'a Authorization) -> PortFuture<'a, Preparation> {
        Box::pin(self.prepare_payment(authorization))
    }

    fn submit<'a>(
        &'a self,
        authorization: &'a Authorization,
        _prepared: &'a PreparedTransaction,
    ) -> PortFuture<'a, SubmitResult> {
        Box::pin(self.submit_payment(authorization))
    }

    fn lookup<'a>(
        &'a self,
        authorization: &'a Authorization,
        _prepared: Option<&'a PreparedTransaction>,
    ) -> PortFuture<'a, ChainStatus> {
        Box::pin(self.lookup_payment(authorization))
    }

    fn transaction_status<'a>(
        &'a self,
        authorization: &'a Authorization,
        _prepared: Option<&'a PreparedTransaction>,
        transaction: &'a str,
    ) -> PortFuture<'a, ChainTransactionStatus> {
        Box::pin(self.find_transaction_status(authorization, transaction))
    }

    fn can_receive<'a>(&'a self, to: &'a Wallet) -> PortFuture<'a, bool> {
        // The token rejects the zero address; USDC sent to the token contract is lost.
        let can = match to {
            Wallet::Evm(to) => *to != [0; 20] && Address::from(*to) != self.core.token.address(),
            Wallet::Solana(_) => false,
        };
        Box::pin(async move { Ok(can) })
    }

    fn final_treasury_balance(&self, network: Network) -> PortFuture<'_, Usdc> {
        Box::pin(async move {
            if network != Network::Base {
                return Err(temporary("treasury holds", "the port for Base knows Base alone"));
            }
            let treasury = self.treasury();
            let tag = self.core.proof_tag();
            let tag = tag.ok_or_else(|| temporary("treasury holds", "no block was read yet"))?;
            // Incoming transfers count when they are durable, outgoing ones immediately.
            let (durable, newest) = tokio::join!(
                self.core.holds(treasury, tag),
                self.core.holds(treasury, BlockTag::Latest)
            );
            let failed = |error: String| temporary("treasury holds", error);
            let least = durable.map_err(failed)?.min(newest.map_err(failed)?);
            Ok(Usdc::from_atomic(least.try_into().unwrap_or(u64::MAX)))
        })
    }

    fn sent_by<'a>(&'a self, from: &'a Wallet, since: Timestamp) -> PortFuture<'a, Vec<OutgoingTransfer>> {
        Box::pin(async move {
            match from {
                Wallet::Evm(from) => self.outgoing_from(*from, since, Timestamp(u64::MAX)).await,
                Wallet::Solana(_) => Ok(Vec::new()),
            }
        })
    }

    fn outgoing_transfers(&self, since: Timestamp, until: Timestamp) -> PortFuture<'_, Vec<OutgoingTransfer>> {
        Box::pin(async move { self.outgoing_from(self.core.treasury(), since, until).await })
    }
}
