//! Reads the chain for payments with an unknown outcome.

use purser_storage::codec;
use purser_storage::mutants::{self, Mutant};

use super::{HandlerResult, JobHandlers, ask_entity, load_failed};
use crate::entity::payment::{self, IncomingOutcome, Status};
use crate::id::{DepositId, PaymentId, Wallet};
use crate::kernel::{AttemptFailure, OutboxJob, table};
use crate::port::ChainStatus;

impl JobHandlers {
    /// Whether the job's row is the one this attempt was started for, since the id of a watch is reused.
    async fn is_open(&self, outbox_job: &OutboxJob) -> Result<bool, AttemptFailure> {
        let row = self.store.read(&table::outbox_job(outbox_job.id)).await;
        let Some(row) = row.map_err(|e| AttemptFailure::temporary(e.to_string()))? else {
            return Ok(false);
        };
        let stored: OutboxJob = codec::decode(&row.value).map_err(|e| AttemptFailure::temporary(e.to_string()))?;
        Ok(stored.created_at == outbox_job.created_at)
    }

    /// The decision about the transfer that would settle an account's payment, if it was recorded without the payment.
    pub(super) async fn incoming_outcome(
        &self,
        id: PaymentId,
        account: Wallet,
    ) -> Result<Option<IncomingOutcome>, AttemptFailure> {
        if !self.incoming.has_taken_in() || mutants::is_enabled(Mutant::TakenInPaymentSettles) {
            return Ok(None);
        }
        let row = self.store.read(&table::taken_in_payment(id)).await;
        let Some(row) = row.map_err(|e| AttemptFailure::temporary(e.to_string()))? else {
            return Ok(None);
        };
        let damaged = || AttemptFailure::temporary("the transfer that was taken in for a payment cannot be read");
        let deposit = <[u8; 16]>::try_from(&*row.value).map_err(|_| damaged())?;
        let deposit = DepositId(u128::from_be_bytes(deposit));
        let read = self.registries.incoming.read(&deposit).await.map_err(load_failed)?;
        let (incoming, _) = read.ok_or_else(damaged)?;
        IncomingOutcome::from_incoming(&incoming, account)
            .ok_or_else(damaged)
            .map(Some)
    }

    /// Reads the chain until the payment is confirmed or can never settle.
    pub(super) async fn watch_payment(&self, outbox_job: &OutboxJob, id: PaymentId) -> HandlerResult {
        if !self.is_open(outbox_job).await? {
            // The payment was sent again meanwhile, which ended this watch. If it was declined again, a newer watch
            // exists.
            return Ok(());
        }
        let payment = self.payment(id).await?;
        let lookup = if matches!(payment.status, Status::Unknown(_) | Status::Declined(..)) {
            let lookup = self
                .ports
                .settlement
                .lookup(&payment.claim.authorization, payment.prepared());
            match self.with_timeout(lookup, "lookup").await {
                Err(_) if mutants::is_enabled(Mutant::RefusedWithoutProof) => ChainStatus::Impossible,
                Ok(ChainStatus::Pending) => return Err(AttemptFailure::defer(self.settings.watch_every_ms)),
                Err(error) => return Err(AttemptFailure::from(error).retry_every_ms(self.settings.watch_every_ms)),
                Ok(ChainStatus::Confirmed { transaction, finality }) => {
                    match self.incoming_outcome(id, payment.account()).await? {
                        Some(outcome) => {
                            let command = payment::Command::RecordRestoreCredit {
                                job: outbox_job.id,
                                transaction,
                                outcome,
                            };
                            return ask_entity(&self.registries.payments, id, command).await;
                        }
                        None => {
                            self.outgoing_guard.note_finality(finality);
                            ChainStatus::Confirmed { transaction, finality }
                        }
                    }
                }
                Ok(ChainStatus::Impossible) => ChainStatus::Impossible,
            }
        } else {
            // There is nothing left to watch: this completes the job.
            ChainStatus::Pending
        };
        let is_ordered =
            matches!(lookup, ChainStatus::Confirmed { .. }) && self.is_ordered_at_provider(id, &payment).await?;
        ask_entity(
            &self.registries.payments,
            id,
            payment::Command::RecordChainLookup {
                job: outbox_job.id,
                lookup,
                is_ordered,
            },
        )
        .await?;
        Ok(())
    }
}
