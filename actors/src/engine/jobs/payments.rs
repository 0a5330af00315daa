//! Jobs of payments.

use purser_storage::mutants::{self, Mutant};

use super::work::{Inquiry, OperatorResolution, Summary, Work, ask, not_queryable, not_resolvable, summarize};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed, with_timeout_ms};
use crate::engine::operators::corrupt;
use crate::engine::registries::Registries;
use crate::engine::{Engine, ResolveError};
use crate::entity::payment::{self, Command, Job, Payment, Status};
use crate::id::{JobId, PaymentId};
use crate::kernel::{AttemptFailure, OutboxJob};
use crate::port::{
    Authorization, BoxFuture, ChainStatus, Decline, ErrorKind, Preparation, PreparedTransaction, SubmitResult,
};
use crate::reconciliation::{EntryAmount, EntryStatus};

#[deny(clippy::wildcard_enum_match_arm, reason = "a new job must be handled here")]
impl Work for Job {
    fn run<'a>(self, on: &'a JobHandlers, effect: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let (payments, job) = (&on.registries.payments, effect.id);
        match self {
            Self::SettlePayment(id) => Box::pin(on.settle_payment(effect, id)),
            Self::WatchPayment(id) => Box::pin(on.watch_payment(effect, id)),
            Self::AwaitFinal(id) => Box::pin(on.await_final(effect, id)),
            Self::ConfirmPaymentCredit(id) => ask(payments, id, Command::RecordCredit { job }),
            Self::ReadmitPayment {
                payment,
                reservation,
                session,
            } => {
                let command = Command::RecordReadmitted {
                    job,
                    reservation,
                    session,
                };
                ask(payments, payment, command)
            }
        }
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let (Self::SettlePayment(id)
        | Self::WatchPayment(id)
        | Self::AwaitFinal(id)
        | Self::ConfirmPaymentCredit(id)
        | Self::ReadmitPayment { payment: id, .. }) = self;
        summarize(&all.payments, id, |payment| Some(EntryAmount::Usdc(payment.price())))
    }

    fn inquire(self, engine: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        match self {
            Self::WatchPayment(id) => Box::pin(engine.chain_entry_status(id)),
            Self::SettlePayment(_)
            | Self::AwaitFinal(_)
            | Self::ConfirmPaymentCredit(_)
            | Self::ReadmitPayment { .. } => not_queryable(),
        }
    }

    /// An unknown payment is resolved by what its chain shows, before this is asked.
    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}

impl Engine {
    async fn chain_entry_status(&self, id: PaymentId) -> Inquiry {
        let Some((payment, _)) = self.0.registries.payments.read(&id).await.map_err(corrupt)? else {
            return Ok(None);
        };
        let settlement = &self.0.ports.settlement;
        let lookup = settlement.lookup(&payment.claim.authorization, payment.prepared());
        let lookup = with_timeout_ms(self.query_timeout(), lookup, "lookup").await;
        Ok(Some(lookup.map(|lookup| match lookup {
            ChainStatus::Confirmed { .. } => EntryStatus::Completed,
            ChainStatus::Pending => EntryStatus::Pending,
            ChainStatus::Impossible => EntryStatus::Declined,
        })))
    }
}

impl JobHandlers {
    pub(super) async fn payment(&self, id: PaymentId) -> Result<Payment, AttemptFailure> {
        let read = self.registries.payments.read(&id).await.map_err(load_failed)?;
        read.map(|(payment, _)| payment)
            .ok_or_else(|| AttemptFailure::temporary("the payment is not there"))
    }

    /// Prepares, persists, sends and reports. An earlier attempt's prepared transaction is sent again unchanged.
    async fn settle_payment(&self, effect: &OutboxJob, id: PaymentId) -> HandlerResult {
        let (payment, payments) = (self.payment(id).await?, &self.registries.payments);
        let authorization = &payment.claim.authorization;
        let prepared = match &payment.status {
            Status::Settling(prepared) => prepared.clone(),
            Status::Claimed => match self.prepared(effect, id, authorization).await? {
                Some(prepared) => prepared,
                None => return Ok(()),
            },
            // The batch that leaves `settling` deletes the job, so this run is a repetition.
            _ => return Ok(()),
        };
        let submitted = self.ports.settlement.submit(authorization, &prepared);
        let effect_id = effect.id;
        let command = match self.with_timeout(submitted, "submit").await {
            Ok(SubmitResult::Settled { transaction, finality }) => {
                match self.incoming_outcome(id, payment.account()).await? {
                    Some(taken_in) => payment::Command::RecordRestoreCredit {
                        job: effect_id,
                        transaction,
                        outcome: taken_in,
                    },
                    None => {
                        self.outgoing_guard.note_finality(finality);
                        payment::Command::RecordSettled {
                            job: effect_id,
                            transaction,
                            finality,
                        }
                    }
                }
            }
            Ok(SubmitResult::Declined(decline)) => payment::Command::RecordDeclined {
                job: effect_id,
                decline,
            },
            Err(error)
                if error.kind == ErrorKind::Permanent
                    || (mutants::is_enabled(Mutant::TimeoutDeclines) && error.kind == ErrorKind::Unknown) =>
            {
                let decline = Decline {
                    reason: "settlement_failed".into(),
                    message: "the chain refused the transfer".into(),
                };
                payment::Command::RecordDeclined {
                    job: effect_id,
                    decline,
                }
            }
            Err(error) if error.kind == ErrorKind::Unknown || self.is_exhausted(effect, &error) => {
                let request = effect.request_id;
                tracing::warn!(payment = %id, %request, %error, "the outcome of a settlement is unknown");
                payment::Command::RecordNoResponse { job: effect_id }
            }
            Err(error) => return Err(error.into()),
        };
        ask_entity(payments, id, command).await
    }

    /// Prepares a payment and persists the result; `None` once it is released unsent.
    async fn prepared(
        &self,
        effect: &OutboxJob,
        id: PaymentId,
        authorization: &Authorization,
    ) -> Result<Option<PreparedTransaction>, AttemptFailure> {
        let (payments, request) = (&self.registries.payments, effect.request_id);
        let prepare = self.ports.settlement.prepare(authorization);
        match self.with_timeout(prepare, "prepare").await {
            Ok(Preparation::Ready(prepared)) => {
                if mutants::is_enabled(Mutant::SentBeforeDurable) {
                    let early = self.ports.settlement.submit(authorization, &prepared);
                    drop(self.with_timeout(early, "submit").await);
                }
                ask_entity(payments, id, payment::Command::RecordPrepared(prepared.clone())).await?;
                Ok(Some(prepared))
            }
            Ok(Preparation::Declined(decline)) => {
                let reason = decline.reason.as_str();
                tracing::info!(payment = %id, %request, reason, "the chain would refuse a payment: it is not sent");
                let effect = effect.id;
                ask_entity(
                    payments,
                    id,
                    payment::Command::RecordDeclinedUnsent { job: effect, decline },
                )
                .await?;
                Ok(None)
            }
            Err(error) if self.is_exhausted(effect, &error) => {
                tracing::warn!(payment = %id, %request, %error, "a payment could not be sent and is released");
                ask_entity(payments, id, payment::Command::Release { job: effect.id }).await?;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}
