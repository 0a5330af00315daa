//! Credits the owner for a failed dead-lettered job.

use purser_storage::StoreError;

use super::{JobOutcome, ResolveError, storage_error};
use crate::approval::ApprovableAction;
use crate::engine::Engine;
use crate::engine::approvals::Authority;
use crate::engine::dead_letters::ProviderReport;
use crate::engine::jobs::{pending_payment_behind, reorged_payment};
use crate::engine::operator_actions::AuditEntry;
use crate::engine::operators::corrupt;
use crate::entity::account::{self, CreditCause};
use crate::entity::late_return;
use crate::id::{JobId, PaymentId};
use crate::kernel::OutboxJob;
use crate::money::Usdc;
use crate::operator::{AuditAction, OperatorAction};
use crate::reconciliation::EntryStatus;

impl Engine {
    /// Credits the owner with what was paid for a failed dead-lettered job. The provider is queried for whether the
    /// money has left. Where that proves nothing, `not_left` is the operator's own statement that it has not. A credit
    /// withheld because of a reorg needs no such statement: it is posted at the service's loss.
    ///
    /// # Errors
    /// [`ResolveError`].
    pub async fn credit_job(&self, id: JobId, stated: (&str, bool), act: &OperatorAction) -> Result<(), ResolveError> {
        self.credit_job_by(id, stated, Authority::Requester(act)).await
    }

    /// Credits a job under an authority that was already checked.
    pub(in crate::engine) async fn credit_job_by(
        &self,
        id: JobId,
        (evidence, not_left): (&str, bool),
        leave: Authority<'_>,
    ) -> Result<(), ResolveError> {
        let effect = self.dead_lettered_job(id).await?;
        let policy = effect.job.operator_policy().filter(|policy| policy.is_creditable());
        let policy = policy.ok_or(ResolveError::NotResolvable)?;
        if !self.is_from_balance(&effect.job).await.map_err(storage_error)? {
            return Err(ResolveError::NotResolvable);
        }
        let proof = match self.query_provider(&effect).await.map_err(storage_error)? {
            ProviderReport::Status(standing @ (EntryStatus::Completed | EntryStatus::Pending | EntryStatus::Held)) => {
                return Err(ResolveError::Contradicted(standing));
            }
            ProviderReport::Status(standing @ (EntryStatus::Declined | EntryStatus::Returned)) => standing.name(),
            ProviderReport::Status(EntryStatus::NotSubmitted) if policy.absence_is_definitive => {
                EntryStatus::NotSubmitted.name()
            }
            ProviderReport::Status(EntryStatus::NotSubmitted)
            | ProviderReport::NotQueryable
            | ProviderReport::NoResponse(_) => match (policy.credit_needs_proof, not_left) {
                (false, _) => "a credit that was not given",
                (true, true) => "the operator states that it has not left",
                (true, false) => return Err(ResolveError::NotProven),
            },
        };
        let words = Some(format!("{evidence} ({proof})"));
        let mut words = AuditEntry::for_job(leave.act(), AuditAction::JobCredit, &effect, words);
        let one = self.ensure_not_executed(&effect).await?;
        let gift = || ApprovableAction::CreditJob {
            job: id,
            evidence: evidence.to_owned(),
            funds_not_sent: not_left,
        };
        words.extras = self
            .authorize_action(&one, leave, self.job_amount(&effect).await?, gift)
            .await?;
        self.apply_resolution(&one, &effect, (JobOutcome::NotCompleted, ""), &words)
            .await
    }

    /// Ends a withheld credit without posting it. The service, which has lost the payment, gets the amount from the
    /// suspense account. It gives no money, so it counts against no limit.
    ///
    /// # Errors
    /// [`ResolveError`]: [`ResolveError::NotResolvable`] if the job is no withheld credit.
    pub async fn retain_credit(&self, id: JobId, evidence: &str, act: &OperatorAction) -> Result<(), ResolveError> {
        let effect = self.dead_lettered_job(id).await?;
        let (Some(account::Job::CreditAccount { account, amount, cause }), true) = (
            effect.job.typed(),
            self.is_retainable_credit(&effect).await.map_err(storage_error)?,
        ) else {
            return Err(ResolveError::NotResolvable);
        };
        let words = AuditEntry::for_job(act, AuditAction::JobKeep, &effect, Some(evidence.to_owned()));
        let one = self.ensure_not_executed(&effect).await?;
        let all = &self.0.registries;
        if let CreditCause::LateReturn(late) = cause {
            let keep = || late_return::Command::RecordRetained { job: id };
            return self
                .send_resolution(&one, (&all.late_returns, late), &words, keep)
                .await;
        }
        let keep = || account::Command::RetainCredit { job: id, amount, cause };
        self.send_resolution(&one, (&all.accounts, account), &words, keep).await
    }

    /// The payment that a credit still waits for, though an operator posts it. A credit for a reorged payment waits for
    /// nothing: it is posted at the service's loss.
    pub(in crate::engine) async fn pending_payment_of_credit(
        &self,
        cause: CreditCause,
    ) -> Result<Option<PaymentId>, ResolveError> {
        let all = &self.0.registries;
        let unread = |error| storage_error(corrupt(error));
        match reorged_payment(all, cause).await.map_err(unread)? {
            Some(_) => Ok(None),
            None => pending_payment_behind(all, &self.0.outgoing_guard, cause)
                .await
                .map_err(unread),
        }
    }

    /// Whether an operator can have the owner credited for it now: not for a bank transfer to the balance, which took
    /// nothing from it.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn is_creditable(&self, effect: &OutboxJob) -> Result<bool, StoreError> {
        Ok(effect.dead_lettered && effect.job.is_creditable() && self.is_from_balance(&effect.job).await?)
    }

    /// Whether it is a withheld credit, which can be ended without being posted.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn is_retainable_credit(&self, effect: &OutboxJob) -> Result<bool, StoreError> {
        let Some(account::Job::CreditAccount { cause, .. }) = effect.job.typed() else {
            return Ok(false);
        };
        let paid = reorged_payment(&self.0.registries, cause).await.map_err(corrupt)?;
        Ok(effect.dead_lettered && paid.is_some())
    }
}

/// The command that posts the credit.
pub(in crate::engine) const fn credit_command(
    effect: JobId,
    amount: Usdc,
    (cause, unfinal): (CreditCause, Option<PaymentId>),
) -> account::Command {
    match unfinal {
        Some(payment) => account::Command::CreditProvisionally {
            job: effect,
            amount,
            cause,
            payment,
        },
        None => account::Command::Credit {
            job: effect,
            amount,
            cause,
        },
    }
}
