//! Job handlers: they call providers and chains, and send the result to the entity. Each run ends in one of three ways.
//! The batch with the outcome deletes the job, the supervisor records a failure, or the job is deferred.

mod banking;
mod cap_reservations;
mod cards;
mod counting;
mod credits;
mod finality;
mod gate;
mod gift_cards;
mod incoming;
mod owner;
mod payment_watch;
mod payouts;
mod reloadable_cards;
mod reorg;
mod sent_transfer_match;
mod spent_before;
mod top_ups;
mod wallet_payments;
mod webhooks;
mod withdrawals;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use purser_storage::mutants::{self, Mutant};
use purser_storage::{Batch, Condition, Store, Write};
use tokio::sync::oneshot;

use super::account_map::AccountMap;
use super::incoming::{IncomingTracker, LostHistory};
use super::lines::{self, LineBreakers};
use super::registries::Registries;
use super::untracked_transfers::OutgoingTransferGuard;
use super::webhooks::WebhookService;
use super::{EngineSettings, Ports};
use crate::card;
use crate::id::{CardId, PaymentId};
use crate::intl_order;
use crate::kernel::job::{CapReservation, Job};
use crate::kernel::outbox::{AttemptCounters, JobHandler};
use crate::kernel::registry::LoadError;
use crate::kernel::{AttemptFailure, Entity, EntityRegistry, OutboxJob, table};
use crate::payment::{self, Payment, SessionSeed, Status};
use crate::port::{
    Authorization, BoxFuture, Clock, Decline, ErrorKind, PortError, Preparation, PreparedTransaction,
    ReconciliationLists, SubmitResult,
};
use crate::refund;

pub(super) use credits::{pending_payment_behind, reorged_payment};
pub(super) use webhooks::DeliveryLimiter;
pub use webhooks::{OUTCOMES, WebhookStats};

/// Dependencies of the job handlers.
pub(super) struct JobHandlers {
    pub(super) registries: Registries,
    pub(super) store: Arc<dyn Store>,
    pub(super) ports: Ports,
    pub(super) clock: Arc<dyn Clock>,
    /// Webhook fan-out and delivery.
    pub(super) webhooks: Arc<WebhookService>,
    /// Breakers of the product lines.
    pub(super) lines: Arc<LineBreakers>,
    /// Counts attempts by result.
    pub(super) attempts: Arc<AttemptCounters>,
    pub(super) settings: EngineSettings,
    /// Key from which payment ids are derived.
    pub(super) secret: [u8; 32],
    /// Decides whether outgoing transfers are allowed.
    pub(super) outgoing_guard: Arc<OutgoingTransferGuard>,
    /// Addresses of agent wallets and their owners.
    pub(super) account_map: AccountMap,
    /// External lists of reconciliation.
    pub(super) lists: ReconciliationLists,
    /// The history that a restore lost, if any.
    pub(super) lost_history: Option<LostHistory>,
    /// State of incoming transfers.
    pub(super) incoming: Arc<IncomingTracker>,
}

type HandlerResult = Result<(), AttemptFailure>;

impl JobHandler for JobHandlers {
    fn handle<'a>(&'a self, effect: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        Box::pin(async move {
            match lines::line_of_job(&effect.job) {
                Some(line) => self.run_on_line(line, effect, self.dispatch(effect)).await,
                None => self.dispatch(effect).await,
            }
        })
    }
}

impl JobHandlers {
    async fn dispatch(&self, effect: &OutboxJob) -> HandlerResult {
        match &effect.job {
            Job::SettlePayment(id) => self.settle_payment(effect, *id).await,
            Job::WatchPayment(id) => self.watch_payment(effect, *id).await,
            Job::AwaitFinal(id) => self.await_final(effect, *id).await,
            Job::IssueCard(id) => self.issue_card(effect, *id).await,
            Job::CreditAccount { account, amount, cause } => {
                self.credit_account(effect, *account, *amount, *cause).await
            }
            Job::ConfirmPaymentCredit(id) => self.confirm_payment_credit(effect, *id).await,
            Job::ReleaseCredit { account, .. } => self.release_credit(effect, *account).await,
            Job::ReleaseCapReservation {
                account,
                reservation: share,
            } => self.release_cap_reservation(effect, *account, *share).await,
            Job::CountCapReservation {
                account,
                reservation: share,
            } => self.count_cap_reservation(effect, *account, *share).await,
            Job::CountUnclaimed { .. } | Job::CountClaimed { .. } => self.handle_count(effect).await,
            Job::ExpireCard(id) => {
                ask_entity(&self.registries.cards, *id, card::Command::Expire { job: effect.id }).await
            }
            Job::RefreshCard(id) => self.refresh_card(effect, *id).await,
            Job::ChangePrepaidCardState(id) => self.change_prepaid_card_state(effect, *id).await,
            Job::OrderGiftCard(id) => self.order_gift_card(effect, *id).await,
            Job::ExpireOrderLease { order, lease } => self.expire_order_lease(effect, *order, *lease).await,
            Job::MarkOrderOverdue(id) => {
                let command = intl_order::Command::MarkOverdue { job: effect.id };
                ask_entity(&self.registries.intl_orders, *id, command).await
            }
            Job::ExpireIntlCard(id) => {
                let command = intl_order::Command::Expire { job: effect.id };
                ask_entity(&self.registries.intl_orders, *id, command).await
            }
            Job::ShredCvv(id) => self.shred_cvv(effect, *id).await,
            Job::ReadmitPayment {
                payment,
                reservation: share,
                session,
            } => self.readmit_payment(effect, *payment, (*share, *session)).await,
            Job::SendTopUp(id) => self.send_top_up(effect, *id).await,
            Job::BridgeTopUp(id) => self.bridge_top_up(effect, *id).await,
            Job::AwaitIssuerCredit(id) => self.await_issuer_credit(effect, *id).await,
            Job::CheckIdentity(wallet) => self.check_identity(effect, *wallet).await,
            Job::OpenIssuerAccount(wallet) => self.open_issuer_account(effect, *wallet).await,
            Job::SendWithdrawal(id) => self.send_withdrawal(effect, *id).await,
            Job::SettleHold { account, .. } => self.settle_hold(effect, *account).await,
            Job::SendPayout(id) => self.send_payout(effect, *id).await,
            Job::RecallPayout(id) => self.recall_payout(effect, *id).await,
            Job::ExpirePayout(id) => self.expire_payout(effect, *id).await,
            Job::CloseReturnWindow(id) => self.close_return_window(effect, *id).await,
            Job::ConfirmLateReturnCredit(id) => self.confirm_late_return_credit(effect, *id).await,
            Job::SaveRecipient(id) => self.save_recipient(effect, *id).await,
            Job::OpenReloadableCard(id) => self.open_reloadable_card(effect, *id).await,
            Job::ChangeCardState(id) => self.change_card_state(effect, *id).await,
            Job::HoldCardBalance(id) => self.hold_card_balance(effect, *id).await,
            Job::SettleCardHold(id) => self.settle_card_hold(effect, *id).await,
            Job::ExpireWithdrawalLease { withdrawal, lease } => {
                self.expire_withdrawal_lease(effect, *withdrawal, *lease).await
            }
            Job::ReverseRecipientTotals(id) => self.reverse_recipient_totals(effect, *id).await,
            Job::SendWalletPayment(id) => self.send_wallet_payment(effect, *id).await,
            Job::SettleWalletHold {
                wallet,
                payment: spend,
                paid,
            } => self.settle_wallet_hold(effect, *wallet, *spend, *paid).await,
            Job::PurgeHttpRecord(id) => self.delete_http_record(effect, *id).await,
            Job::SubmitBankApplication(wallet) => self.submit_bank_application(effect, *wallet).await,
            Job::OpenBankAccount(id) => self.open_bank_account(effect, *id).await,
            Job::ExecuteBankTransfer(id) => self.execute_bank_transfer(effect, *id).await,
            Job::ShredAccountNumber(id) => self.shred_account_number(effect, *id).await,
            Job::DeliverWebhook { .. } | Job::RedeliverWebhooks { .. } => self.handle_webhook(effect).await,
            Job::ConfirmRefund(_) | Job::ExpireRefund { .. } => self.handle_refund(effect).await,
            Job::ConfirmReorg(id) => self.confirm_reorg(effect, *id).await,
            Job::ClassifyIncoming(id) => self.classify_incoming(effect, *id).await,
            Job::SendBack { account, .. } => self.send_back(effect, *account).await,
            Job::ConfirmIncoming(id) => {
                let command = crate::incoming::Command::Confirm { job: effect.id };
                ask_entity(&self.registries.incoming, *id, command).await
            }
        }
    }

    async fn readmit_payment(
        &self,
        effect: &OutboxJob,
        payment: PaymentId,
        (share, session): (CapReservation, SessionSeed),
    ) -> HandlerResult {
        let effect = effect.id;
        let command = payment::Command::RecordReadmitted {
            job: effect,
            reservation: share,
            session,
        };
        ask_entity(&self.registries.payments, payment, command).await
    }

    async fn confirm_payment_credit(&self, effect: &OutboxJob, id: PaymentId) -> HandlerResult {
        let command = payment::Command::RecordCredit { job: effect.id };
        ask_entity(&self.registries.payments, id, command).await
    }

    async fn handle_refund(&self, effect: &OutboxJob) -> HandlerResult {
        let (id, command) = match effect.job {
            Job::ConfirmRefund(id) => (id, refund::Command::RecordCredit { job: effect.id }),
            Job::ExpireRefund { refund, round } => {
                let effect = effect.id;
                (refund, refund::Command::Expire { job: effect, round })
            }
            _ => return Err(AttemptFailure::temporary("no work with refunds")),
        };
        ask_entity(&self.registries.refunds, id, command).await
    }

    async fn expire_order_lease(&self, effect: &OutboxJob, order: CardId, lease: u64) -> HandlerResult {
        let effect = effect.id;
        ask_entity(
            &self.registries.intl_orders,
            order,
            intl_order::Command::ExpireLease { job: effect, lease },
        )
        .await
    }

    async fn payment(&self, id: PaymentId) -> Result<Payment, AttemptFailure> {
        let read = self.registries.payments.read(&id).await.map_err(load_failed)?;
        read.map(|(payment, _)| payment)
            .ok_or_else(|| AttemptFailure::temporary("the payment is not there"))
    }

    /// Deletes a job whose outcome was recorded without it. Only [`Mutant::CreditThenDelete`] does this.
    async fn complete_job(&self, effect: &OutboxJob) -> HandlerResult {
        let key = table::outbox_job(effect.id);
        let batch = Batch {
            conditions: vec![Condition::Present(key.clone())],
            writes: vec![Write::Delete { key }],
            ..Batch::default()
        };
        let (done, struck) = oneshot::channel();
        self.store
            .commit(batch, Box::new(move |result| drop(done.send(result))));
        match struck.await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(AttemptFailure::temporary("the effect could not be struck off")),
        }
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

    fn is_exhausted(&self, effect: &OutboxJob, error: &PortError) -> bool {
        error.kind == ErrorKind::Permanent || effect.attempts + 1 >= self.settings.prepare_attempts
    }

    /// The key first, then the record: what is left of the record without its key is noise.
    async fn shred_cvv(&self, effect: &OutboxJob, id: CardId) -> HandlerResult {
        let row = self.store.read(&table::cvv(id)).await;
        if let Some(row) = row.map_err(|e| AttemptFailure::temporary(e.to_string()))? {
            let timeout = Duration::from_millis(self.settings.issuer_timeout_ms);
            with_timeout_ms(timeout, self.ports.shredder.shred(&row.value), "shred").await?;
        }
        let command = intl_order::Command::RecordCvvShredded { job: effect.id };
        ask_entity(&self.registries.intl_orders, id, command).await
    }

    async fn with_timeout<T>(
        &self,
        call: impl Future<Output = Result<T, PortError>>,
        operation: &'static str,
    ) -> Result<T, PortError> {
        with_timeout_ms(Duration::from_millis(self.settings.settle_timeout_ms), call, operation).await
    }
}

/// Calls with a timeout. After a timeout the operation may have happened.
pub(super) async fn with_timeout_ms<T>(
    timeout: Duration,
    call: impl Future<Output = Result<T, PortError>>,
    operation: &'static str,
) -> Result<T, PortError> {
    tracing::debug!(operation, "the outside is asked");
    match tokio::time::timeout(timeout, call).await {
        Ok(result) => {
            tracing::debug!(operation, answered = result.is_ok(), "the outside has answered");
            result
        }
        Err(_) => Err(PortError {
            kind: ErrorKind::Unknown,
            operation,
            message: "no answer in time".into(),
        }),
    }
}

/// Asks an entity. Any error is a failed attempt. If the job was completed meanwhile, recording the failure finds no
/// row and ends there. Otherwise the next attempt reads the entity again.
async fn ask_entity<E: Entity>(family: &EntityRegistry<E>, id: E::Id, command: E::Command) -> HandlerResult {
    match family.ask(id, command).await {
        Ok(_) => Ok(()),
        Err(refusal) => Err(AttemptFailure::temporary(format!(
            "{} {id}: {refusal:?}",
            E::KIND.name()
        ))),
    }
}

fn load_failed(error: LoadError) -> AttemptFailure {
    AttemptFailure::temporary(error.to_string())
}
