//! Dead letters with their evidence: the subject and owner, the attempts, and what the provider or chain reports now.

use std::collections::BTreeSet;
use std::time::Duration;

use purser_storage::{CommitError, Condition, StoreError, codec};

use super::job_resolution::watched_payment;
use super::jobs::table;
use super::operator_actions::AuditEntry;
use super::operators::corrupt;
use super::{Engine, OperationError};
use crate::entity::payment::Status;
use crate::entity::{card_withdrawal, top_up, withdrawal};
use crate::id::{JobId, PaymentId, TopUpId, Wallet, WithdrawalId};
use crate::kernel::OutboxJob;
use crate::kernel::job::AnyJob;
use crate::kernel::registry::JobStarter as _;
use crate::kernel::table as rows;
use crate::operator::{AuditAction, OperatorAction};
use crate::port::Timestamp;
use crate::reconciliation::{EntryAmount, EntryStatus};

/// A payment with an unknown outcome, and the job that resolves it.
#[derive(Clone, Debug)]
pub struct UnknownPayment {
    /// Id of the payment.
    pub payment: PaymentId,
    /// When the outcome became unknown.
    pub since: Timestamp,
    /// The job that reads the chain for the payment.
    pub job: OutboxJob,
}

/// Everything that waits for an operator.
#[derive(Clone, Debug, Default)]
pub struct DeadLetters {
    /// Jobs that exhausted their attempts, oldest first.
    pub jobs: Vec<OutboxJob>,
    /// Jobs that are retried automatically, have failed so far, and are older than the settings allow; oldest first.
    pub late: Vec<LateJob>,
    /// Payments with an unknown outcome, oldest first.
    pub unknown_payments: Vec<UnknownPayment>,
}

/// A late job: failing, and older than the settings allow.
#[derive(Clone, Debug)]
pub struct LateJob {
    /// The stored job.
    pub job: OutboxJob,
    /// Error of the latest attempt.
    pub error: Option<String>,
    /// When the next attempt is due.
    pub next_at: Timestamp,
}

/// Subject of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobSummary {
    /// Account that owns the subject.
    pub owner: Wallet,
    /// Status of the job's entity.
    pub status: &'static str,
    /// Amount concerned: what was paid for it, if something was. `None` where no money is concerned.
    pub money: Option<EntryAmount>,
}

/// What the executor of a job reports when queried now. A query changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderReport {
    /// Status at the provider or on the chain.
    Status(EntryStatus),
    /// The provider can't be queried without placing the order.
    NotQueryable,
    /// No response was received; the text is the error.
    NoResponse(String),
}

impl Engine {
    /// Everything that waits for an operator. Reads every open job.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn dead_letters(&self) -> Result<DeadLetters, StoreError> {
        let mut found = DeadLetters::default();
        for outbox_job in self.open_jobs(usize::MAX).await? {
            if outbox_job.dead_lettered {
                found.jobs.push(outbox_job);
            } else if let Some(id) = watched_payment(&outbox_job.job)
                && let Some(payment) = self.payment(&id).await.map_err(corrupt)?
                && matches!(payment.status, Status::Unknown(_))
            {
                found.unknown_payments.push(UnknownPayment {
                    payment: id,
                    since: payment.updated_at,
                    job: outbox_job,
                });
            } else if let Some(late) = self.late_job(outbox_job) {
                found.late.push(late);
            }
        }
        found.late.sort_by_key(|late| (late.job.created_at, late.job.id));
        found
            .jobs
            .sort_by_key(|outbox_job| (outbox_job.created_at, outbox_job.id));
        found.unknown_payments.sort_by_key(|doubt| (doubt.since, doubt.payment));
        Ok(found)
    }

    /// Top-ups of which a job is dead-lettered. Reads every open job.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn dead_lettered_top_ups(&self) -> Result<BTreeSet<TopUpId>, StoreError> {
        self.dead_lettered(|job| {
            Some(match job.typed()? {
                top_up::Job::SendTopUp(id) | top_up::Job::BridgeTopUp(id) | top_up::Job::AwaitIssuerCredit(id) => id,
            })
        })
        .await
    }

    /// Withdrawals of which the job that carries them out is dead-lettered. Reads every open job.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn dead_lettered_withdrawals(&self) -> Result<BTreeSet<WithdrawalId>, StoreError> {
        self.dead_lettered(|job| match (job.typed(), job.typed()) {
            (Some(withdrawal::Job::SendWithdrawal(id)), _) | (_, Some(card_withdrawal::Job::HoldCardBalance(id))) => {
                Some(id)
            }
            _ => None,
        })
        .await
    }

    async fn dead_lettered<I: Ord>(&self, subject: fn(&AnyJob) -> Option<I>) -> Result<BTreeSet<I>, StoreError> {
        let open = self.open_jobs(usize::MAX).await?.into_iter();
        let jobs = open.filter(|outbox_job| outbox_job.dead_lettered);
        Ok(jobs.filter_map(|outbox_job| subject(&outbox_job.job)).collect())
    }

    /// Whether a job is late: failing, and old. A job that only has to wait is not late.
    pub(super) fn late_job(&self, outbox_job: OutboxJob) -> Option<LateJob> {
        let (now, after_ms) = (self.0.clock.now(), self.0.settings.late_after_ms);
        if after_ms == 0 || outbox_job.dead_lettered || outbox_job.created_at.plus_ms(after_ms) > now {
            return None;
        }
        if let Some(trouble) = self.0.attempts.record_last_failure(outbox_job.id) {
            return Some(LateJob {
                error: Some(trouble.error),
                next_at: trouble.next_at,
                job: outbox_job,
            });
        }
        // Recorded by an earlier process, and not attempted since.
        (outbox_job.attempts > 0 && outbox_job.next_attempt_at > now).then(|| LateJob {
            error: outbox_job.last_error.clone(),
            next_at: outbox_job.next_attempt_at,
            job: outbox_job,
        })
    }

    /// An open job by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn job(&self, id: JobId) -> Result<Option<OutboxJob>, StoreError> {
        let row = self.0.store.read(&rows::outbox_job(id)).await?;
        row.map(|row| codec::decode(&row.value).map_err(corrupt)).transpose()
    }

    /// Runs a dead-lettered job once more, now. If the attempt fails, the job is dead-lettered again.
    ///
    /// # Errors
    /// [`OperationError::AlreadyUsed`] when the job does not exist, [`OperationError::Rejected`] when it is not
    /// dead-lettered.
    pub async fn retry_job(&self, id: JobId, act: &OperatorAction) -> Result<(), OperationError<()>> {
        // Two retries at once would start two attempts.
        let one = self.lock_operator().await;
        let outbox_job = self.job(id).await.map_err(|_| OperationError::Unavailable)?;
        let mut outbox_job = outbox_job.ok_or(OperationError::AlreadyUsed)?;
        if !outbox_job.dead_lettered {
            return Err(OperationError::Rejected(()));
        }
        outbox_job.dead_lettered = false;
        outbox_job.next_attempt_at = self.0.clock.now();
        let words = AuditEntry::for_job(act, AuditAction::JobRetry, &outbox_job, None);
        let there = vec![Condition::Present(rows::outbox_job(id))];
        match self
            .commit_with_audit(&one, &words, there, vec![outbox_job.put()])
            .await
        {
            Ok(()) => {
                self.0.outbox.start(outbox_job);
                Ok(())
            }
            Err(CommitError::Condition(_)) => Err(OperationError::AlreadyUsed),
            Err(_) => Err(OperationError::Unavailable),
        }
    }

    /// Subject of a job, if the job concerns an account owner's entity.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn job_summary(&self, job: &AnyJob) -> Result<Option<JobSummary>, StoreError> {
        table::summarize(job, &self.0.registries).await
    }

    /// Queries the job's executor for the outcome.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn query_provider(&self, outbox_job: &OutboxJob) -> Result<ProviderReport, StoreError> {
        Ok(match table::inquire(outbox_job, self).await? {
            None => ProviderReport::NotQueryable,
            Some(Ok(status)) => ProviderReport::Status(status),
            Some(Err(error)) => ProviderReport::NoResponse(error.to_string()),
        })
    }

    pub(super) fn query_timeout(&self) -> Duration {
        let settings = &self.0.settings;
        Duration::from_millis(settings.issuer_timeout_ms.max(settings.settle_timeout_ms))
    }
}
