//! Dead letters with their evidence: the subject and owner, the attempts, and what the provider or chain reports now.

#![deny(clippy::wildcard_enum_match_arm, reason = "a new kind of work is asked about here")]

use std::time::Duration;

use purser_storage::{CommitError, Condition, StoreError, codec};

use super::job_resolution::Resolvable;
use super::jobs::with_timeout_ms;
use super::operator_actions::AuditEntry;
use super::operators::corrupt;
use super::{Engine, OperationError};
use crate::id::{JobId, PaymentId, TopUpId, Wallet};
use crate::kernel::job::Job;
use crate::kernel::registry::JobStarter as _;
use crate::kernel::{Entity, EntityRegistry, OutboxJob, table};
use crate::money::Cents;
use crate::operator::OperatorAction;
use crate::payment::Status;
use crate::port::payouts::PayoutRailStatus;
use crate::port::{CardDeposit, ChainStatus, EntryKey, HoldStatus, PortError, Timestamp};
use crate::product::Currency;
use crate::reconciliation::{EntryAmount, EntryStatus, ReconciliationSource};

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

const fn usd(amount: Cents) -> EntryAmount {
    EntryAmount::Cents(amount, Currency::USD)
}

impl Engine {
    /// Everything that waits for an operator. Reads every open job.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn dead_letters(&self) -> Result<DeadLetters, StoreError> {
        let mut found = DeadLetters::default();
        for effect in self.open_jobs(usize::MAX).await? {
            if effect.dead_lettered {
                found.jobs.push(effect);
            } else if let Job::WatchPayment(id) = effect.job
                && let Some(payment) = self.payment(&id).await.map_err(corrupt)?
                && matches!(payment.status, Status::Unknown(_))
            {
                found.unknown_payments.push(UnknownPayment {
                    payment: id,
                    since: payment.updated_at,
                    job: effect,
                });
            } else if let Some(late) = self.late_job(effect) {
                found.late.push(late);
            }
        }
        found.late.sort_by_key(|late| (late.job.created_at, late.job.id));
        found.jobs.sort_by_key(|effect| (effect.created_at, effect.id));
        found.unknown_payments.sort_by_key(|doubt| (doubt.since, doubt.payment));
        Ok(found)
    }

    /// Whether a job is late: failing, and old. A job that only has to wait is not late.
    pub(super) fn late_job(&self, effect: OutboxJob) -> Option<LateJob> {
        let (now, after_ms) = (self.0.clock.now(), self.0.settings.late_after_ms);
        if after_ms == 0 || effect.dead_lettered || effect.created_at.plus_ms(after_ms) > now {
            return None;
        }
        if let Some(trouble) = self.0.attempts.record_last_failure(effect.id) {
            return Some(LateJob {
                error: Some(trouble.error),
                next_at: trouble.next_at,
                job: effect,
            });
        }
        // Recorded by an earlier process, and not attempted since.
        (effect.attempts > 0 && effect.next_attempt_at > now).then(|| LateJob {
            error: effect.last_error.clone(),
            next_at: effect.next_attempt_at,
            job: effect,
        })
    }

    /// An open job by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn job(&self, id: JobId) -> Result<Option<OutboxJob>, StoreError> {
        let row = self.0.store.read(&table::outbox_job(id)).await?;
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
        let effect = self.job(id).await.map_err(|_| OperationError::Unavailable)?;
        let mut effect = effect.ok_or(OperationError::AlreadyUsed)?;
        if !effect.dead_lettered {
            return Err(OperationError::Rejected(()));
        }
        effect.dead_lettered = false;
        effect.next_attempt_at = self.0.clock.now();
        let words = AuditEntry::for_job(act, "job.retry", &effect, None);
        let there = vec![Condition::Present(table::outbox_job(id))];
        match self.commit_with_audit(&one, &words, there, vec![effect.put()]).await {
            Ok(()) => {
                self.0.outbox.start(effect);
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
    pub async fn job_summary(&self, work: &Job) -> Result<Option<JobSummary>, StoreError> {
        let all = &self.0.registries;
        match work {
            Job::SettlePayment(id)
            | Job::WatchPayment(id)
            | Job::AwaitFinal(id)
            | Job::ConfirmPaymentCredit(id)
            | Job::ReadmitPayment { payment: id, .. } => {
                summarize(&all.payments, id, |payment| Some(EntryAmount::Usdc(payment.price()))).await
            }
            Job::IssueCard(id) | Job::ExpireCard(id) | Job::RefreshCard(id) | Job::ChangePrepaidCardState(id) => {
                summarize(&all.cards, id, |card| Some(EntryAmount::Usdc(card.charge.charged))).await
            }
            Job::OrderGiftCard(id) => {
                summarize(&all.gift_cards, id, |gift| Some(EntryAmount::Usdc(gift.charge.charged))).await
            }
            Job::ExpireOrderLease { order: id, .. }
            | Job::MarkOrderOverdue(id)
            | Job::ExpireIntlCard(id)
            | Job::ShredCvv(id) => {
                summarize(&all.intl_orders, id, |order| {
                    Some(EntryAmount::Usdc(order.charge.charged))
                })
                .await
            }
            Job::SendPayout(id)
            | Job::RecallPayout(id)
            | Job::ExpirePayout(id)
            | Job::CloseReturnWindow(id)
            | Job::SaveRecipient(id)
            | Job::ReverseRecipientTotals(id) => {
                summarize(&all.payouts, id, |payout| {
                    Some(EntryAmount::Usdc(payout.charge.charged))
                })
                .await
            }
            Job::ConfirmLateReturnCredit(id) => {
                summarize(&all.late_returns, id, |late| Some(EntryAmount::Usdc(late.amount))).await
            }
            Job::SendTopUp(id) | Job::BridgeTopUp(id) | Job::AwaitIssuerCredit(id) => {
                summarize(&all.top_ups, id, |top_up| {
                    Some(EntryAmount::Usdc(top_up.charge.charged))
                })
                .await
            }
            Job::SendWithdrawal(id) => {
                summarize(&all.withdrawals, id, |asked| Some(EntryAmount::Usdc(asked.amount))).await
            }
            Job::HoldCardBalance(id) | Job::SettleCardHold(id) | Job::ExpireWithdrawalLease { withdrawal: id, .. } => {
                summarize(&all.card_withdrawals, id, |asked| Some(usd(asked.amount))).await
            }
            Job::OpenReloadableCard(id) | Job::ChangeCardState(id) => {
                summarize(&all.reloadable_cards, id, |card| Some(usd(card.amount))).await
            }
            Job::ExecuteBankTransfer(id) => {
                summarize(&all.bank_transfers, id, |moved| Some(EntryAmount::Usdc(moved.amount))).await
            }
            Job::OpenBankAccount(id) => summarize(&all.bank_accounts, id, |_| None).await,
            Job::SubmitBankApplication(wallet) => summarize(&all.applications, wallet, |_| None).await,
            Job::CheckIdentity(wallet) => summarize(&all.identities, wallet, |_| None).await,
            Job::OpenIssuerAccount(wallet) => summarize(&all.issuer_links, wallet, |_| None).await,
            Job::SendWalletPayment(id) | Job::SettleWalletHold { payment: id, .. } | Job::PurgeHttpRecord(id) => {
                summarize(&all.wallet_payments, id, |spend| {
                    Some(EntryAmount::Usdc(spend.order.amount))
                })
                .await
            }
            Job::CreditAccount { account, amount, .. }
            | Job::SettleHold { account, amount, .. }
            | Job::ReleaseCredit { account, amount, .. } => {
                summarize(&all.accounts, account, |_| Some(EntryAmount::Usdc(*amount))).await
            }
            Job::ReleaseCapReservation {
                account,
                reservation: share,
            }
            | Job::CountCapReservation {
                account,
                reservation: share,
            } => summarize(&all.accounts, account, |_| Some(usd(share.cents))).await,
            Job::CountUnclaimed { account, .. } | Job::CountClaimed { account, .. } => {
                summarize(&all.accounts, account, |_| None).await
            }
            Job::ShredAccountNumber(id) => summarize(&all.destinations, id, |_| None).await,
            Job::DeliverWebhook { delivery, .. } => summarize(&all.webhook_deliveries, delivery, |_| None).await,
            Job::RedeliverWebhooks { endpoint, .. } => summarize(&all.webhooks, endpoint, |_| None).await,
            Job::ConfirmRefund(id) | Job::ExpireRefund { refund: id, .. } => {
                summarize(&all.refunds, id, |refund| {
                    Some(EntryAmount::Usdc(refund.request.amount))
                })
                .await
            }
            Job::ConfirmReorg(id) => summarize(&all.discrepancies, id, |_| None).await,
            Job::ClassifyIncoming(id) | Job::SendBack { deposit: id, .. } | Job::ConfirmIncoming(id) => {
                summarize(&all.incoming, id, |incoming| {
                    Some(EntryAmount::Usdc(incoming.transfer.amount))
                })
                .await
            }
        }
    }

    /// Queries the job's executor for the outcome.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn query_provider(&self, effect: &OutboxJob) -> Result<ProviderReport, StoreError> {
        let all = &self.0.registries;
        let response = match effect.job.resolvable() {
            Resolvable::Card(_) => self.provider_order_status(ReconciliationSource::Cards, effect.id).await,
            Resolvable::GiftCard(_) => {
                self.provider_order_status(ReconciliationSource::GiftCards, effect.id)
                    .await
            }
            Resolvable::BankTransfer(_) => {
                self.provider_order_status(ReconciliationSource::BankTransfers, effect.id)
                    .await
            }
            Resolvable::ReloadableCard(_) => {
                self.provider_order_status(ReconciliationSource::ReloadableCards, effect.id)
                    .await
            }
            Resolvable::Payout(_) => Some(self.payout_order_status(effect.id).await),
            Resolvable::Recall(id) => match all.payouts.read(&id).await.map_err(corrupt)? {
                Some((payout, _)) => Some(self.payout_order_status(payout.key).await.map(recall_status)),
                None => None,
            },
            Resolvable::Payment(id) => match all.payments.read(&id).await.map_err(corrupt)? {
                Some((payment, _)) => {
                    let settlement = &self.0.ports.settlement;
                    let lookup = settlement.lookup(&payment.claim.authorization, payment.prepared());
                    Some(
                        with_timeout_ms(self.query_timeout(), lookup, "lookup")
                            .await
                            .map(|lookup| chain_entry_status(&lookup)),
                    )
                }
                None => None,
            },
            Resolvable::IssuerCredit(id) => self.issuer_credit_status(&id).await?,
            Resolvable::CardHold(_) => Some(self.card_hold_status(effect.id).await),
            Resolvable::CardHoldSettlement(id) => match all.card_withdrawals.read(&id).await.map_err(corrupt)? {
                Some((asked, _)) => match asked.hold_key.zip(asked.is_paid()) {
                    Some((key, paid)) => Some(self.settled_hold_status(key, paid).await),
                    None => None,
                },
                None => None,
            },
            // These can't be queried without placing an order, or no external party executes them.
            Resolvable::Credit(..)
            | Resolvable::BankAccount(_)
            | Resolvable::IssuerAccount(_)
            | Resolvable::Unresolvable => None,
        };
        Ok(match response {
            None => ProviderReport::NotQueryable,
            Some(Ok(standing)) => ProviderReport::Status(standing),
            Some(Err(error)) => ProviderReport::NoResponse(error.to_string()),
        })
    }

    pub(super) fn query_timeout(&self) -> Duration {
        let settings = &self.0.settings;
        Duration::from_millis(settings.issuer_timeout_ms.max(settings.settle_timeout_ms))
    }

    /// Status of an order on the provider's own list, if there is a list.
    async fn provider_order_status(
        &self,
        source: ReconciliationSource,
        key: JobId,
    ) -> Option<Result<EntryStatus, PortError>> {
        let list = self.0.lists.providers.get(&source)?;
        let entry = with_timeout_ms(self.query_timeout(), list.entry(&EntryKey::for_order(key)), "entry").await;
        Some(entry.map(|entry| entry.map_or(EntryStatus::NotSubmitted, |entry| entry.status)))
    }

    async fn payout_order_status(&self, key: JobId) -> Result<EntryStatus, PortError> {
        let word = with_timeout_ms(self.query_timeout(), self.0.ports.payout_rails.find(key), "ask after").await?;
        Ok(word.map_or(EntryStatus::NotSubmitted, |word| match word.status {
            PayoutRailStatus::InProcess { .. } => EntryStatus::Pending,
            PayoutRailStatus::Complete { .. } => EntryStatus::Completed,
            PayoutRailStatus::Failed { .. } | PayoutRailStatus::Cancelled { .. } => EntryStatus::Declined,
            PayoutRailStatus::Returned { .. } => EntryStatus::Returned,
        }))
    }

    async fn card_hold_status(&self, key: JobId) -> Result<EntryStatus, PortError> {
        let reported = with_timeout_ms(
            self.query_timeout(),
            self.0.ports.reloadable_cards.hold_status(key),
            "reservation",
        )
        .await?;
        Ok(match reported {
            HoldStatus::Held => EntryStatus::Completed,
            HoldStatus::Settled { .. } => EntryStatus::Returned,
            HoldStatus::NotFound => EntryStatus::NotSubmitted,
        })
    }

    /// Whether the hold has ended in the intended way.
    async fn settled_hold_status(&self, key: JobId, wanted: bool) -> Result<EntryStatus, PortError> {
        let reported = with_timeout_ms(
            self.query_timeout(),
            self.0.ports.reloadable_cards.hold_status(key),
            "reservation",
        )
        .await?;
        Ok(match reported {
            HoldStatus::Held => EntryStatus::Pending,
            HoldStatus::Settled { paid } if paid == wanted => EntryStatus::Completed,
            HoldStatus::Settled { .. } => EntryStatus::Declined,
            HoldStatus::NotFound => EntryStatus::NotSubmitted,
        })
    }

    /// Whether the issuer has credited what was delivered to it.
    async fn issuer_credit_status(&self, id: &TopUpId) -> Result<Option<Result<EntryStatus, PortError>>, StoreError> {
        let Some(top_up) = self.top_up(id).await.map_err(corrupt)? else {
            return Ok(None);
        };
        let (transaction, amount) = top_up.delivered().unwrap_or(("", top_up.delivered_amount()));
        let deposit = CardDeposit {
            address: top_up.address,
            transaction: transaction.to_owned(),
            amount,
        };
        let asked = self.0.ports.card_balances.is_credited(&deposit);
        let response = with_timeout_ms(self.query_timeout(), asked, "credited").await;
        Ok(Some(response.map(|counted| match counted {
            true => EntryStatus::Completed,
            false => EntryStatus::Pending,
        })))
    }
}

async fn summarize<E: Entity>(
    family: &EntityRegistry<E>,
    id: &E::Id,
    money: impl FnOnce(&E) -> Option<EntryAmount>,
) -> Result<Option<JobSummary>, StoreError> {
    let read = family.read(id).await.map_err(corrupt)?;
    Ok(read.map(|(entity, _)| JobSummary {
        owner: entity.owner(),
        status: entity.status(),
        money: money(&entity),
    }))
}

/// A completed payout has not been recalled yet.
const fn recall_status(standing: EntryStatus) -> EntryStatus {
    match standing {
        EntryStatus::Returned | EntryStatus::Declined => EntryStatus::Completed,
        EntryStatus::Completed => EntryStatus::Pending,
        other @ (EntryStatus::NotSubmitted | EntryStatus::Pending | EntryStatus::Held) => other,
    }
}

const fn chain_entry_status(lookup: &ChainStatus) -> EntryStatus {
    match lookup {
        ChainStatus::Confirmed { .. } => EntryStatus::Completed,
        ChainStatus::Pending => EntryStatus::Pending,
        ChainStatus::Impossible => EntryStatus::Declined,
    }
}
