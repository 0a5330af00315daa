//! Settled payments that are not final, and the credits held for them. The chain is queried until each is final or
//! permanently reversed.

use super::{HandlerResult, JobHandlers, ask_entity};
use crate::entity::account;
use crate::entity::payment::{self, Payment, Status};
use crate::id::{PaymentId, Wallet};
use crate::kernel::{AttemptFailure, OutboxJob};
use crate::money::Usdc;
use crate::port::{ChainStatus, ChainTransactionStatus, Finality};

/// Failure reason of a product whose payment was permanently reversed.
pub(super) const PAYMENT_REVERSED: &str = "payment_reversed";

impl JobHandlers {
    /// Whether the payment was permanently reversed before it was final. Nothing that depends on it ever leaves.
    pub(super) async fn is_reversed(&self, id: PaymentId) -> Result<bool, AttemptFailure> {
        if !self.is_pending_finality(id).await? {
            return Ok(false);
        }
        Ok(matches!(self.payment(id).await?.status, Status::Reversed { .. }))
    }

    /// Queries the chain until the payment is final or permanently reversed.
    pub(super) async fn await_final(&self, effect: &OutboxJob, id: PaymentId) -> HandlerResult {
        let payment = self.payment(id).await?;
        let Some(transaction) = payment.transaction() else {
            // Another task has found the reversal meanwhile: this completes the job.
            return self.record_final(effect, id).await;
        };
        let every_ms = self.settings.watch_every_ms;
        let settlement = &self.ports.settlement;
        let standing = settlement.transaction_status(&payment.claim.authorization, None, transaction);
        match self.with_timeout(standing, "standing").await {
            Ok(ChainTransactionStatus::Final) => self.record_final(effect, id).await,
            Ok(ChainTransactionStatus::Confirmed) => Err(AttemptFailure::defer(every_ms)),
            Ok(ChainTransactionStatus::NotFound) => self.lookup_missing_transaction(effect, id, &payment).await,
            Err(error) => Err(AttemptFailure::from(error).retry_every_ms(every_ms)),
        }
    }

    /// Its transaction is gone. The payment may be in another one, or may settle again while it is valid.
    async fn lookup_missing_transaction(&self, effect: &OutboxJob, id: PaymentId, payment: &Payment) -> HandlerResult {
        let every_ms = self.settings.watch_every_ms;
        let lookup = self.ports.settlement.lookup(&payment.claim.authorization, None);
        match self.with_timeout(lookup, "lookup").await {
            Ok(ChainStatus::Confirmed { transaction, finality }) => {
                if finality == Finality::Confirmed {
                    return Err(AttemptFailure::defer(every_ms));
                }
                tracing::warn!(payment = %id, transaction, "a payment is final by another transaction than it was settled by");
                return self.record_final(effect, id).await;
            }
            Ok(ChainStatus::Pending) => return Err(AttemptFailure::defer(every_ms)),
            Ok(ChainStatus::Impossible) => {}
            Err(error) => return Err(AttemptFailure::from(error).retry_every_ms(every_ms)),
        }
        // Its credit is in progress, and is reversed once it is posted. An operator decides about other incoming
        // transfers.
        let waits = matches!(payment.status, Status::Settled { .. });
        if waits || self.incoming_outcome(id, payment.account()).await?.is_some() {
            return Err(AttemptFailure::defer(every_ms));
        }
        self.reverse(effect, id, payment).await
    }

    async fn record_final(&self, effect: &OutboxJob, id: PaymentId) -> HandlerResult {
        let command = payment::Command::RecordFinal { job: effect.id };
        ask_entity(&self.registries.payments, id, command).await
    }

    /// Ends the hold on a credit once its payment is final or reversed.
    pub(super) async fn release_credit(
        &self,
        effect: &OutboxJob,
        account: Wallet,
        (payment, amount): (PaymentId, Usdc),
    ) -> HandlerResult {
        let is_final = match self.is_pending_finality(payment).await? {
            false => true,
            true if self.is_reversed(payment).await? => false,
            true => return Err(self.defer_at_gate()),
        };
        let command = account::Command::EndProvisionalHold {
            job: effect.id,
            payment,
            amount,
            is_final,
        };
        ask_entity(&self.registries.accounts, account, command).await
    }
}
