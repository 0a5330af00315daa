//! Jobs of withdrawals on chain.

use super::gate::OutgoingPermit;
use super::work::{Inquiry, OperatorResolution, Summary, Work, not_queryable, not_resolvable, summarize};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed};
use crate::engine::registries::Registries;
use crate::engine::untracked_transfers::gate::GateClosure;
use crate::engine::{Engine, ResolveError};
use crate::entity::withdrawal::{self, SignedTransfer, Withdrawal};
use crate::id::{JobId, PaymentId, Wallet, WithdrawalId};
use crate::jobs::OutgoingPurpose;
use crate::kernel::{AttemptFailure, OutboxJob};
use crate::port::{
    Authorization, BoxFuture, ChainStatus, Finality, OutgoingTransferRequest, PortError, Preparation, SubmitResult,
};
use crate::reconciliation::EntryAmount;

impl Work for withdrawal::Job {
    fn run<'a>(self, on: &'a JobHandlers, effect: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let Self::SendWithdrawal(id) = self;
        Box::pin(on.send_withdrawal(effect, id))
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let Self::SendWithdrawal(id) = self;
        summarize(&all.withdrawals, id, |asked| Some(EntryAmount::Usdc(asked.amount)))
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}

impl JobHandlers {
    /// Signs, persists and sends. Sends the same transfer again until the chain shows it or proves that it can never
    /// settle.
    pub(super) async fn send_withdrawal(&self, effect: &OutboxJob, id: WithdrawalId) -> HandlerResult {
        let read = self.registries.withdrawals.read(&id).await.map_err(load_failed)?;
        let Some((asked, _)) = read else {
            return Err(AttemptFailure::temporary("the withdrawal is not there"));
        };
        let leaves = OutgoingPurpose::Withdrawal(id);
        self.outgoing_guard.reserve(asked.to.network(), asked.amount, leaves);
        let fail = |reason: &str| withdrawal::Command::Fail {
            job: effect.id,
            reason: reason.into(),
        };
        let outgoing = match &asked.status {
            withdrawal::Status::Sent(outgoing) => (**outgoing).clone(),
            withdrawal::Status::Pending => {
                let pass = self
                    .acquire_outgoing_permit(&asked.owner, GateClosure::Open, PaymentId::NONE)
                    .await?;
                let signed = self.sign(&pass, id, &asked).await;
                // There may be untracked transfers. On Base a transfer is recognised by the fingerprint it would be
                // sent with. A declined one will not be looked up, so it is credited only once every outgoing transfer
                // is tracked.
                self.outgoing_allowed(match &signed {
                    Ok((authorization, Preparation::Ready(_))) => Some(authorization.fingerprint()),
                    Ok((_, Preparation::Declined(_))) | Err(_) => None,
                })?;
                match signed {
                    Ok((authorization, Preparation::Ready(prepared))) => {
                        let outgoing = SignedTransfer {
                            authorization,
                            prepared,
                        };
                        let signed = withdrawal::Command::RecordSigned(outgoing.clone());
                        let withdrawals = (&self.registries.withdrawals, id);
                        self.persist_signed(&asked.owner, withdrawals, signed).await?;
                        outgoing
                    }
                    Ok((_, Preparation::Declined(decline))) => {
                        let reason = &decline.reason;
                        tracing::warn!(withdrawal = %id, reason = reason.as_str(), "a withdrawal is declined unsent");
                        return ask_entity(&self.registries.withdrawals, id, fail(reason)).await;
                    }
                    Err(error) if self.is_exhausted(effect, &error) => {
                        tracing::warn!(withdrawal = %id, %error, "withdrawal could not be signed: its hold is released");
                        return ask_entity(&self.registries.withdrawals, id, fail("not_sent")).await;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            // The batch that ends it deletes the job, so this run is a repetition.
            _ => return Ok(()),
        };
        self.send_on(effect, id, (&asked.owner, &outgoing)).await
    }

    /// Sends the signed transfer, and queries the chain for it.
    async fn send_on(
        &self,
        effect: &OutboxJob,
        id: WithdrawalId,
        (owner, outgoing): (&Wallet, &SignedTransfer),
    ) -> HandlerResult {
        let fail = |reason: &str| withdrawal::Command::Fail {
            job: effect.id,
            reason: reason.into(),
        };
        let submitted = self
            .ports
            .settlement
            .submit(&outgoing.authorization, &outgoing.prepared);
        let declined = match self.is_owner_frozen(owner).await? {
            true => None,
            false => match self.with_timeout(submitted, "submit").await {
                Ok(SubmitResult::Settled { transaction, finality }) => {
                    return self.confirm_withdrawal(effect, id, (transaction, finality)).await;
                }
                Ok(SubmitResult::Declined(decline)) => Some(decline),
                Err(_) => None,
            },
        };
        // Neither a decline nor a timeout proves anything: the chain is read.
        let every_ms = self.settings.watch_every_ms;
        let settlement = &self.ports.settlement;
        let lookup = settlement.lookup(&outgoing.authorization, Some(&outgoing.prepared));
        match self.with_timeout(lookup, "lookup").await {
            Ok(ChainStatus::Confirmed { transaction, finality }) => {
                self.confirm_withdrawal(effect, id, (transaction, finality)).await
            }
            Ok(ChainStatus::Impossible) => {
                let reason = declined.map_or_else(|| "expired".into(), |decline| decline.reason);
                ask_entity(&self.registries.withdrawals, id, fail(&reason)).await
            }
            Ok(ChainStatus::Pending) => Err(AttemptFailure::defer(every_ms)),
            Err(error) => Err(AttemptFailure::from(error).retry_every_ms(every_ms)),
        }
    }

    /// The transfer is on chain. Until it is final the status stays `sent`: after a reorg, the same transfer is sent
    /// again.
    async fn confirm_withdrawal(
        &self,
        effect: &OutboxJob,
        id: WithdrawalId,
        (transaction, finality): (String, Finality),
    ) -> HandlerResult {
        if finality == Finality::Confirmed {
            self.outgoing_guard.release_sent(OutgoingPurpose::Withdrawal(id));
            return Err(AttemptFailure::defer(self.settings.watch_every_ms));
        }
        let command = withdrawal::Command::RecordConfirmed {
            job: effect.id,
            transaction,
        };
        ask_entity(&self.registries.withdrawals, id, command).await
    }

    async fn sign(
        &self,
        _: &OutgoingPermit,
        id: WithdrawalId,
        asked: &Withdrawal,
    ) -> Result<(Authorization, Preparation), PortError> {
        let transfer = OutgoingTransferRequest {
            key: id.0,
            to: asked.to,
            amount: asked.amount,
        };
        let authorization = self.with_timeout(self.ports.settlement.sign(&transfer), "sign").await?;
        let prepare = self.ports.settlement.prepare(&authorization);
        let preparation = self.with_timeout(prepare, "prepare").await?;
        Ok((authorization, preparation))
    }
}
