//! Resolves dead-lettered jobs by hand. The entity gets the same commands that the provider's response would cause,
//! once. If the provider has an answer now, it overrides the operator's. A later answer counts as without the
//! resolution.

mod crediting;
mod unknown_payments;

use purser_storage::StoreError;

pub(super) use self::crediting::credit_command;
pub(super) use self::unknown_payments::watched_payment;
use super::Engine;
use super::approvals::Authority;
use super::dead_letters::ProviderReport;
use super::jobs::table;
use super::jobs::work::OperatorResolution;
use super::operator_actions::{AuditEntry, OperatorLock};
use super::operators::corrupt;
use crate::approval::ApprovableAction;
use crate::currency::Currency;
use crate::entity::payment::{self, Payment, Status};
use crate::id::{ApprovalId, JobId, PaymentId};
use crate::jobs::{Credits, OperatorPolicy};
use crate::kernel::OutboxJob;
use crate::money::Usdc;
use crate::named_enum::named_enum;
use crate::operator::{AuditAction, OperatorAction};
use crate::reconciliation::{EntryAmount, EntryStatus};

named_enum! {
    /// Outcome of a job, as an operator confirms it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum JobOutcome {
        /// The job was executed.
        Completed = "completed",
        /// The job was not executed and will not be.
        NotCompleted = "not_completed",
    }
}

/// An operator's resolution, with its evidence.
#[derive(Clone, Debug)]
pub struct JobResolution {
    /// Outcome that the operator states.
    pub outcome: JobOutcome,
    /// The provider's or the chain's id of the event, or of the answer that nothing happened.
    pub reference: String,
    /// How the operator knows, for the audit log.
    pub evidence: String,
}

/// Why a resolution was rejected. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolveError {
    /// The job does not exist or is already completed.
    NotFound,
    /// The job is in progress and is retried automatically.
    NotDeadLettered,
    /// Only the executor can know the outcome. A card gets its number from its issuer; a transfer is on its chain or
    /// not.
    NotResolvable,
    /// The provider reports another status.
    Contradicted(EntryStatus),
    /// There is no proof that the money has not left.
    NotProven,
    /// The signed transaction may still settle.
    MayStillSettle,
    /// The amount needs a second operator's approval.
    ApprovalPending(ApprovalId),
    /// A dependency did not answer. Retry later.
    Unavailable,
}

impl Engine {
    /// Records an operator's outcome of a dead-lettered job, or of a payment with an unknown outcome. The batch that
    /// changes the entity records it.
    ///
    /// # Errors
    /// [`ResolveError`].
    pub async fn resolve(
        &self,
        id: JobId,
        resolution: &JobResolution,
        act: &OperatorAction,
    ) -> Result<(), ResolveError> {
        self.resolve_by(id, resolution, Authority::Requester(act)).await
    }

    /// Whether the provider's report contradicts this outcome of a job, so that [`Self::resolve`] would reject it.
    pub fn is_outcome_contradicted(outbox_job: &OutboxJob, outcome: JobOutcome, report: &ProviderReport) -> bool {
        let policy = outbox_job.job.operator_policy();
        matches!((policy, report), (Some(policy), ProviderReport::Status(status)) if is_contradicted(policy, outcome, *status))
    }

    /// Resolves a job under an authority that was already checked.
    pub(super) async fn resolve_by(
        &self,
        id: JobId,
        resolution: &JobResolution,
        leave: Authority<'_>,
    ) -> Result<(), ResolveError> {
        let outbox_job = self.dead_lettered_job(id).await?;
        let policy = outbox_job.job.operator_policy().ok_or(ResolveError::NotResolvable)?;
        let (done, not_done) = policy.outcomes();
        if !(match resolution.outcome {
            JobOutcome::Completed => done,
            JobOutcome::NotCompleted => not_done,
        }) {
            return Err(ResolveError::NotResolvable);
        }
        let says = self.query_provider(&outbox_job).await.map_err(storage_error)?;
        if let ProviderReport::Status(status) = says
            && is_contradicted(policy, resolution.outcome, status)
        {
            return Err(ResolveError::Contradicted(status));
        }
        let JobResolution {
            outcome,
            reference,
            evidence,
        } = resolution;
        let words = match outcome {
            JobOutcome::Completed => format!("completed, {reference}: {evidence}"),
            JobOutcome::NotCompleted => format!("not completed, {reference}: {evidence}"),
        };
        let mut words = AuditEntry::for_job(leave.act(), AuditAction::JobResolve, &outbox_job, Some(words));
        if let Some(payment) = watched_payment(&outbox_job.job) {
            let lookup = self.final_chain_status(payment, resolution, &says).await?;
            let seen = || payment::Command::RecordChainLookup {
                job: id,
                lookup: lookup.clone(),
                is_ordered: false,
            };
            let one = self.ensure_not_executed(&outbox_job).await?;
            return self
                .send_resolution(&one, (&self.0.registries.payments, payment), &words, seen)
                .await;
        }
        let one = self.ensure_not_executed(&outbox_job).await?;
        let from_balance = self.is_from_balance(&outbox_job.job).await.map_err(storage_error)?;
        if credits_owner(policy, *outcome, from_balance) {
            let gift = || ApprovableAction::ResolveJob {
                job: id,
                done: *outcome == JobOutcome::Completed,
                reference: reference.clone(),
                evidence: evidence.clone(),
            };
            words.extras = self
                .authorize_action(&one, leave, self.job_amount(&outbox_job).await?, gift)
                .await?;
        }
        self.apply_resolution(&one, &outbox_job, (*outcome, reference), &words)
            .await
    }

    /// Amount of a job, in the balance's currency.
    async fn job_amount(&self, outbox_job: &OutboxJob) -> Result<Usdc, ResolveError> {
        let evidence = self.job_summary(&outbox_job.job).await.map_err(storage_error)?;
        let worth = match evidence.and_then(|evidence| evidence.money) {
            Some(EntryAmount::Usdc(amount)) => Some(amount),
            Some(EntryAmount::Cents(amount, Currency::USD)) => Usdc::from_cents(amount).ok(),
            Some(EntryAmount::Cents(..)) | None => None,
        };
        // An amount that can't be determined can't be approved.
        worth.ok_or(ResolveError::NotResolvable)
    }

    /// A job that waits for an operator.
    async fn dead_lettered_job(&self, id: JobId) -> Result<OutboxJob, ResolveError> {
        let outbox_job = self
            .job(id)
            .await
            .map_err(storage_error)?
            .ok_or(ResolveError::NotFound)?;
        let in_doubt = match watched_payment(&outbox_job.job) {
            Some(payment) => self.resolve_unknown_payment(payment).await?.is_some(),
            None => false,
        };
        match outbox_job.dead_lettered || in_doubt {
            true => Ok(outbox_job),
            false => Err(ResolveError::NotDeadLettered),
        }
    }

    /// Locks the job for the operator, if it has not changed since it was read. The lock is taken after the provider's
    /// answer, so that no operator waits for another's provider.
    async fn ensure_not_executed(&self, outbox_job: &OutboxJob) -> Result<OperatorLock<'_>, ResolveError> {
        let one = self.lock_operator().await;
        match self.dead_lettered_job(outbox_job.id).await? == *outbox_job {
            true => Ok(one),
            false => Err(ResolveError::NotDeadLettered),
        }
    }

    async fn resolve_unknown_payment(&self, id: PaymentId) -> Result<Option<Payment>, ResolveError> {
        let read = self.payment(&id).await.map_err(|error| storage_error(corrupt(error)))?;
        Ok(read.filter(|payment| matches!(payment.status, Status::Unknown(_))))
    }

    /// Applies the command that the provider's response would have caused.
    async fn apply_resolution(
        &self,
        one: &OperatorLock<'_>,
        outbox_job: &OutboxJob,
        (outcome, reference): (JobOutcome, &str),
        words: &AuditEntry<'_>,
    ) -> Result<(), ResolveError> {
        let resolution = OperatorResolution {
            id: outbox_job.id,
            done: outcome == JobOutcome::Completed,
            reference,
            lock: one,
            words,
        };
        table::resolve(&outbox_job.job, self, &resolution).await
    }
}

/// Whether the outcome brings the owner money that was not on a balance before. `from_balance`, for bank transfers:
/// whether the money was to leave the balance.
fn credits_owner(policy: &OperatorPolicy, outcome: JobOutcome, from_balance: bool) -> bool {
    let done = outcome == JobOutcome::Completed;
    match policy.credits {
        Credits::Never => false,
        Credits::IfCompleted => done,
        Credits::IfNotCompleted => !done,
        Credits::ByDirection => done != from_balance,
    }
}

/// Whether the provider's or chain's status contradicts the outcome.
const fn is_contradicted(policy: &OperatorPolicy, outcome: JobOutcome, status: EntryStatus) -> bool {
    match (outcome, status) {
        (JobOutcome::Completed, EntryStatus::Declined | EntryStatus::Returned)
        | (JobOutcome::NotCompleted, EntryStatus::Completed | EntryStatus::Pending | EntryStatus::Held) => true,
        (JobOutcome::Completed, EntryStatus::NotSubmitted) => policy.absence_is_definitive,
        (JobOutcome::Completed, EntryStatus::Pending | EntryStatus::Held) => policy.pending_means_not_completed,
        (JobOutcome::Completed, EntryStatus::Completed)
        | (JobOutcome::NotCompleted, EntryStatus::NotSubmitted | EntryStatus::Declined | EntryStatus::Returned) => {
            false
        }
    }
}

fn storage_error(error: StoreError) -> ResolveError {
    tracing::error!(%error, "dead-lettered jobs could not be read");
    ResolveError::Unavailable
}
