//! Resolves dead-lettered jobs by hand. The entity gets the same commands that the provider's response would cause,
//! once. If the provider has an answer now, it overrides the operator's. A later answer counts as without the
//! resolution.

#![deny(clippy::wildcard_enum_match_arm, reason = "a new kind of work is asked about here")]

mod crediting;
mod kinds;
mod unknown_payments;

pub(in crate::engine) use self::kinds::Resolvable;
use purser_storage::StoreError;

use super::Engine;
use super::approvals::Authority;
use super::dead_letters::ProviderReport;
use super::operator_actions::{AuditEntry, OperatorLock};
use super::operators::corrupt;
use crate::approval::ApprovableAction;
use crate::banking::{account, transfer};
use crate::id::{ApprovalId, JobId, PaymentId};
use crate::kernel::job::Job;
use crate::kernel::{AskError, Entity, EntityRegistry, OutboxJob};
use crate::money::Usdc;
use crate::operator::OperatorAction;
use crate::payment::{self, Payment, Status};
use crate::port::banking::{BankTransferResult, OpenAccountResult};
use crate::port::payouts::PayoutRailStatus;
use crate::product::Currency;
use crate::reconciliation::{EntryAmount, EntryStatus};
use crate::{card, card_withdrawal, gift_card, issuer_link, payout, reloadable_card, top_up};

/// Reason shown to the account owner where the provider gave none.
const NOT_COMPLETED_REASON: &str = "not_completed";

/// Outcome of a job, as an operator confirms it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// The job was executed.
    Completed,
    /// The job was not executed and will not be.
    NotCompleted,
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

    /// Resolves a job under an authority that was already checked.
    pub(super) async fn resolve_by(
        &self,
        id: JobId,
        resolution: &JobResolution,
        leave: Authority<'_>,
    ) -> Result<(), ResolveError> {
        let effect = self.dead_lettered_job(id).await?;
        let (done, not_done) = effect.job.resolvable_outcomes();
        if !(match resolution.outcome {
            JobOutcome::Completed => done,
            JobOutcome::NotCompleted => not_done,
        }) {
            return Err(ResolveError::NotResolvable);
        }
        let says = self.query_provider(&effect).await.map_err(storage_error)?;
        if let ProviderReport::Status(standing) = says
            && effect.job.resolvable().is_contradicted(resolution.outcome, standing)
        {
            return Err(ResolveError::Contradicted(standing));
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
        let mut words = AuditEntry::for_job(leave.act(), "job.resolve", &effect, Some(words));
        if let Resolvable::Payment(payment) = effect.job.resolvable() {
            let lookup = self.final_chain_status(payment, resolution, &says).await?;
            let seen = || payment::Command::RecordChainLookup {
                job: id,
                lookup: lookup.clone(),
                is_ordered: false,
            };
            let one = self.ensure_not_executed(&effect).await?;
            return self
                .send_resolution(&one, (&self.0.registries.payments, payment), &words, seen)
                .await;
        }
        let one = self.ensure_not_executed(&effect).await?;
        let from_balance = self.is_from_balance(&effect.job).await?;
        if effect.job.resolvable().credits_owner(*outcome, from_balance) {
            let gift = || ApprovableAction::ResolveJob {
                job: id,
                done: *outcome == JobOutcome::Completed,
                reference: reference.clone(),
                evidence: evidence.clone(),
            };
            words.extras = self
                .authorize_action(&one, leave, self.job_amount(&effect).await?, gift)
                .await?;
        }
        self.apply_resolution(&one, &effect, (*outcome, reference), &words)
            .await
    }

    /// Amount of a job, in the balance's currency.
    async fn job_amount(&self, effect: &OutboxJob) -> Result<Usdc, ResolveError> {
        let evidence = self.job_summary(&effect.job).await.map_err(storage_error)?;
        let worth = match evidence.and_then(|evidence| evidence.money) {
            Some(EntryAmount::Usdc(amount)) => Some(amount),
            Some(EntryAmount::Cents(amount, Currency::USD)) => Usdc::from_cents(amount).ok(),
            Some(EntryAmount::Cents(..)) | None => None,
        };
        // An amount that can't be determined can't be approved.
        worth.ok_or(ResolveError::NotResolvable)
    }

    /// False for money that was to come from a bank account: it was never part of the balance.
    async fn is_from_balance(&self, work: &Job) -> Result<bool, ResolveError> {
        let Resolvable::BankTransfer(id) = work.resolvable() else {
            return Ok(true);
        };
        let read = self.0.registries.bank_transfers.read(&id).await;
        let read = read.map_err(|error| storage_error(corrupt(error)))?;
        Ok(read.is_some_and(|(moved, _)| moved.direction == transfer::TransferDirection::ToAccount))
    }

    /// A job that waits for an operator.
    async fn dead_lettered_job(&self, id: JobId) -> Result<OutboxJob, ResolveError> {
        let effect = self
            .job(id)
            .await
            .map_err(storage_error)?
            .ok_or(ResolveError::NotFound)?;
        let in_doubt = match effect.job.resolvable() {
            Resolvable::Payment(payment) => self.resolve_unknown_payment(payment).await?.is_some(),
            Resolvable::Card(_)
            | Resolvable::GiftCard(_)
            | Resolvable::Payout(_)
            | Resolvable::Recall(_)
            | Resolvable::Credit(..)
            | Resolvable::BankTransfer(_)
            | Resolvable::BankAccount(_)
            | Resolvable::IssuerAccount(_)
            | Resolvable::ReloadableCard(_)
            | Resolvable::CardHold(_)
            | Resolvable::CardHoldSettlement(_)
            | Resolvable::IssuerCredit(_)
            | Resolvable::Unresolvable => false,
        };
        match effect.dead_lettered || in_doubt {
            true => Ok(effect),
            false => Err(ResolveError::NotDeadLettered),
        }
    }

    /// Locks the job for the operator, if it has not changed since it was read. The lock is taken after the provider's
    /// answer, so that no operator waits for another's provider.
    async fn ensure_not_executed(&self, effect: &OutboxJob) -> Result<OperatorLock<'_>, ResolveError> {
        let one = self.lock_operator().await;
        match self.dead_lettered_job(effect.id).await? == *effect {
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
        effect: &OutboxJob,
        (outcome, reference): (JobOutcome, &str),
        words: &AuditEntry<'_>,
    ) -> Result<(), ResolveError> {
        let (all, id, done) = (&self.0.registries, effect.id, outcome == JobOutcome::Completed);
        match effect.job.resolvable() {
            Resolvable::Card(card) if !done => {
                let refused = || card::Command::RecordDecline {
                    job: id,
                    reason: NOT_COMPLETED_REASON.into(),
                };
                self.send_resolution(one, (&all.cards, card), words, refused).await
            }
            Resolvable::GiftCard(gift) if !done => {
                let refused = || gift_card::Command::RecordDecline {
                    job: id,
                    reason: NOT_COMPLETED_REASON.into(),
                };
                self.send_resolution(one, (&all.gift_cards, gift), words, refused).await
            }
            Resolvable::Payout(payout) => {
                let resolved = || payout::Command::ResolveManually {
                    job: id,
                    state: payout_rail_status(done, reference),
                };
                self.send_resolution(one, (&all.payouts, payout), words, resolved).await
            }
            Resolvable::Credit(account, amount, cause) if !done => {
                let unfinal = self.pending_payment_of_credit(cause).await?;
                let credit = || crediting::credit_command(id, amount, (cause, unfinal));
                self.send_resolution(one, (&all.accounts, account), words, credit).await
            }
            Resolvable::Recall(payout) if done => {
                let recalled = || payout::Command::RecordRecall { job: id, done };
                self.send_resolution(one, (&all.payouts, payout), words, recalled).await
            }
            Resolvable::BankTransfer(moving) => {
                let command = || transfer::Command::RecordResult {
                    job: id,
                    result: bank_transfer_result(done, reference),
                };
                self.send_resolution(one, (&all.bank_transfers, moving), words, command)
                    .await
            }
            Resolvable::Card(_)
            | Resolvable::GiftCard(_)
            | Resolvable::Recall(_)
            | Resolvable::Credit(..)
            | Resolvable::BankAccount(_)
            | Resolvable::IssuerAccount(_)
            | Resolvable::ReloadableCard(_)
            | Resolvable::CardHold(_)
            | Resolvable::CardHoldSettlement(_)
            | Resolvable::IssuerCredit(_)
            | Resolvable::Payment(_)
            | Resolvable::Unresolvable => self.apply_uncredited_resolution(one, effect, done, words).await,
        }
    }

    /// Applies the resolution where no balance is credited: bank accounts, and money on balances at the issuer.
    async fn apply_uncredited_resolution(
        &self,
        one: &OperatorLock<'_>,
        effect: &OutboxJob,
        done: bool,
        words: &AuditEntry<'_>,
    ) -> Result<(), ResolveError> {
        let (all, id) = (&self.0.registries, effect.id);
        match effect.job.resolvable() {
            Resolvable::BankAccount(bank_account) if !done => {
                let refused = || account::Command::RecordResult {
                    job: id,
                    result: OpenAccountResult::Rejected {
                        reason: NOT_COMPLETED_REASON.to_owned(),
                    },
                };
                self.send_resolution(one, (&all.bank_accounts, bank_account), words, refused)
                    .await
            }
            Resolvable::IssuerAccount(wallet) if !done => {
                let refused = || issuer_link::Command::RecordDecline {
                    job: id,
                    reason: NOT_COMPLETED_REASON.into(),
                };
                self.send_resolution(one, (&all.issuer_links, wallet), words, refused)
                    .await
            }
            Resolvable::ReloadableCard(card) if !done => {
                let refused = || reloadable_card::Command::RecordDecline {
                    job: id,
                    reason: NOT_COMPLETED_REASON.into(),
                };
                self.send_resolution(one, (&all.reloadable_cards, card), words, refused)
                    .await
            }
            Resolvable::CardHold(withdrawal) => {
                let command = || match done {
                    true => card_withdrawal::Command::RecordHold { job: id },
                    false => card_withdrawal::Command::RecordDecline {
                        job: id,
                        reason: NOT_COMPLETED_REASON.into(),
                    },
                };
                self.send_resolution(one, (&all.card_withdrawals, withdrawal), words, command)
                    .await
            }
            Resolvable::CardHoldSettlement(withdrawal) if done => {
                let settled = || card_withdrawal::Command::RecordHoldSettled { job: id };
                self.send_resolution(one, (&all.card_withdrawals, withdrawal), words, settled)
                    .await
            }
            Resolvable::IssuerCredit(top_up) if done => {
                let credited = || top_up::Command::RecordIssuerCredit { job: id };
                self.send_resolution(one, (&all.top_ups, top_up), words, credited).await
            }
            Resolvable::BankAccount(_)
            | Resolvable::IssuerAccount(_)
            | Resolvable::ReloadableCard(_)
            | Resolvable::CardHoldSettlement(_)
            | Resolvable::IssuerCredit(_)
            | Resolvable::Card(_)
            | Resolvable::GiftCard(_)
            | Resolvable::Payout(_)
            | Resolvable::Recall(_)
            | Resolvable::Credit(..)
            | Resolvable::BankTransfer(_)
            | Resolvable::Payment(_)
            | Resolvable::Unresolvable => Err(ResolveError::NotResolvable),
        }
    }

    async fn send_resolution<E: Entity>(
        &self,
        one: &OperatorLock<'_>,
        to: (&EntityRegistry<E>, E::Id),
        words: &AuditEntry<'_>,
        command: impl Fn() -> E::Command + Send + Sync,
    ) -> Result<(), ResolveError> {
        match self.ask_with_audit(one, to, words, command).await {
            Ok(_) => {
                tracing::warn!(
                    what = words.action,
                    subject = words.subject,
                    by = words.act.operator,
                    "an operator's word was taken"
                );
                Ok(())
            }
            // The entity has changed since it was read.
            Err(AskError::Rejected(_) | AskError::NotFound | AskError::Conflict) => Err(ResolveError::NotFound),
            Err(AskError::OutcomeUnknown | AskError::Quarantined) => Err(ResolveError::Unavailable),
        }
    }
}

/// The status that a rail would have reported.
fn payout_rail_status(done: bool, reference: &str) -> PayoutRailStatus {
    match done {
        true => PayoutRailStatus::Complete {
            reference: reference.into(),
        },
        false => PayoutRailStatus::Failed {
            reason: NOT_COMPLETED_REASON.into(),
        },
    }
}

/// The result that the bank would have reported.
fn bank_transfer_result(done: bool, reference: &str) -> BankTransferResult {
    match done {
        true => BankTransferResult::Complete {
            reference: reference.to_owned(),
        },
        false => BankTransferResult::Failed {
            reason: NOT_COMPLETED_REASON.to_owned(),
        },
    }
}

fn storage_error(error: StoreError) -> ResolveError {
    tracing::error!(%error, "dead-lettered jobs could not be read");
    ResolveError::Unavailable
}
