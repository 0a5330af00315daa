//! What each effect does: it asks the outside and tells the entity. Every way through ends in the batch that deletes
//! the effect, in a failure that its supervisor writes down, or in waiting.

mod banking;
mod cards;
mod counting;
mod crediting;
mod finality;
mod gate;
mod gift_cards;
mod incoming;
mod owner;
mod payout;
mod program;
mod reversal;
mod sent_as;
mod shares;
mod spend;
mod spent_before;
mod top_up;
mod watching;
mod webhooks;
mod withdraw;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use purser_storage::planted::{self, Bug};
use purser_storage::{Batch, Condition, Store, Write};
use tokio::sync::oneshot;

use super::account_map::AccountMap;
use super::departures::Departures;
use super::families::Families;
use super::incoming::{Arrivals, Lost};
use super::lines::{self, Lines};
use super::webhooks::PostOffice;
use super::{Ports, Settings};
use crate::card;
use crate::id::{CardId, PaymentId};
use crate::intl_order;
use crate::kernel::delivery::{Tries, Worker};
use crate::kernel::effect::{Share, Work};
use crate::kernel::family::LoadError;
use crate::kernel::{Effect, Entity, Failure, Family, table};
use crate::payment::{self, NewSession, Payment, Status};
use crate::port::{
    Authorization, BoxFuture, Clock, Decline, ErrorKind, Lists, PortError, Preparation, Prepared, Submitted,
};
use crate::refund;

pub(super) use crediting::{rests_on_unfinal, taken_back};
pub(super) use webhooks::Rooms;
pub use webhooks::{OUTCOMES, PostFigures};

/// Everything that effects need.
pub(super) struct Desk {
    pub(super) families: Families,
    pub(super) store: Arc<dyn Store>,
    pub(super) ports: Ports,
    pub(super) clock: Arc<dyn Clock>,
    /// Who is posted to, and when.
    pub(super) posting: Arc<PostOffice>,
    /// What is sold now.
    pub(super) lines: Arc<Lines>,
    /// What tries come to.
    pub(super) tries: Arc<Tries>,
    pub(super) settings: Settings,
    /// The key that payment ids are made with.
    pub(super) secret: [u8; 32],
    /// The gate that money leaves by.
    pub(super) departures: Arc<Departures>,
    /// The addresses of managed wallets.
    pub(super) account_map: AccountMap,
    /// What others have written down.
    pub(super) lists: Lists,
    /// What a restore has lost.
    pub(super) lost: Option<Lost>,
    /// What came in.
    pub(super) arrivals: Arc<Arrivals>,
}

type Done = Result<(), Failure>;

impl Worker for Desk {
    fn run<'a>(&'a self, effect: &'a Effect) -> BoxFuture<'a, Done> {
        Box::pin(async move {
            match lines::of(&effect.work) {
                Some(line) => self.on_line(line, effect, self.work_off(effect)).await,
                None => self.work_off(effect).await,
            }
        })
    }
}

impl Desk {
    async fn work_off(&self, effect: &Effect) -> Done {
        match &effect.work {
            Work::Settle(id) => self.settle(effect, *id).await,
            Work::Watch(id) => self.watch(effect, *id).await,
            Work::AwaitFinal(id) => self.await_final(effect, *id).await,
            Work::IssueCard(id) => self.issue(effect, *id).await,
            Work::Credit { account, amount, cause } => self.credit(effect, *account, *amount, *cause).await,
            Work::ConfirmCredit(id) => self.confirm_credit(effect, *id).await,
            Work::ReleaseCredit { account, .. } => self.release_credit(effect, *account).await,
            Work::FreeShare { account, share } => self.free_share(effect, *account, *share).await,
            Work::CountShare { account, share } => self.count_share(effect, *account, *share).await,
            Work::CountUnclaimed { .. } | Work::CountClaimed { .. } => self.count_lost(effect).await,
            Work::ExpireCard(id) => tell(&self.families.cards, *id, card::Command::Expire { effect: effect.id }).await,
            Work::RefreshCard(id) => self.refresh_card(effect, *id).await,
            Work::SteerPrepaid(id) => self.steer_prepaid(effect, *id).await,
            Work::OrderGiftCard(id) => self.order_gift_card(effect, *id).await,
            Work::EndLease { order, lease } => self.end_lease(effect, *order, *lease).await,
            Work::IntlOverdue(id) => {
                let command = intl_order::Command::Overdue { effect: effect.id };
                tell(&self.families.intl_orders, *id, command).await
            }
            Work::ExpireIntl(id) => {
                let command = intl_order::Command::Expire { effect: effect.id };
                tell(&self.families.intl_orders, *id, command).await
            }
            Work::ForgetCvv(id) => self.forget_cvv(effect, *id).await,
            Work::Readmit {
                payment,
                share,
                session,
            } => self.readmit(effect, *payment, (*share, *session)).await,
            Work::SendTopUp(id) => self.send_top_up(effect, *id).await,
            Work::CrossBridge(id) => self.cross_bridge(effect, *id).await,
            Work::AwaitCardCredit(id) => self.await_card_credit(effect, *id).await,
            Work::CheckIdentity(wallet) => self.check_identity(effect, *wallet).await,
            Work::OpenIssuerAccount(wallet) => self.open_issuer_account(effect, *wallet).await,
            Work::Withdraw(id) => self.withdraw(effect, *id).await,
            Work::EndHold { account, .. } => self.end_hold(effect, *account).await,
            Work::SendPayout(id) => self.send_payout(effect, *id).await,
            Work::RecallPayout(id) => self.recall_payout(effect, *id).await,
            Work::ExpirePayout(id) => self.expire_payout(effect, *id).await,
            Work::CloseReturns(id) => self.close_returns(effect, *id).await,
            Work::LateReturn(id) => self.end_late_return(effect, *id).await,
            Work::SaveRecipient(id) => self.save_recipient(effect, *id).await,
            Work::OpenCard(id) => self.open_card(effect, *id).await,
            Work::SteerCard(id) => self.steer_card(effect, *id).await,
            Work::ReserveCardBalance(id) => self.reserve_card_balance(effect, *id).await,
            Work::EndReservation(id) => self.end_reservation(effect, *id).await,
            Work::EndCardLease { withdrawal, lease } => self.end_card_lease(effect, *withdrawal, *lease).await,
            Work::UncountPayment(id) => self.uncount_payment(effect, *id).await,
            Work::Spend(id) => self.spend(effect, *id).await,
            Work::EndSpend { wallet, spend, paid } => self.end_spend(effect, *wallet, *spend, *paid).await,
            Work::ForgetSpoken(id) => self.forget_spoken(effect, *id).await,
            Work::ReviewApplication(wallet) => self.review_application(effect, *wallet).await,
            Work::OpenBankAccount(id) => self.open_bank_account(effect, *id).await,
            Work::MoveBankMoney(id) => self.move_bank_money(effect, *id).await,
            Work::ForgetNumber(id) => self.forget_number(effect, *id).await,
            Work::PostWebhook { .. } | Work::ResendWebhooks { .. } => self.about_webhooks(effect).await,
            Work::ConfirmRefund(_) | Work::ExpireRefund { .. } => self.about_refund(effect).await,
            Work::Pursue(id) => self.pursue(effect, *id).await,
            Work::PlaceIncoming(id) => self.place_incoming(effect, *id).await,
            Work::SendBack { account, .. } => self.send_back(effect, *account).await,
            Work::ConfirmIncoming(id) => {
                let command = crate::incoming::Command::Confirm { effect: effect.id };
                tell(&self.families.incoming, *id, command).await
            }
        }
    }

    async fn readmit(&self, effect: &Effect, payment: PaymentId, (share, session): (Share, NewSession)) -> Done {
        let effect = effect.id;
        let command = payment::Command::Readmitted { effect, share, session };
        tell(&self.families.payments, payment, command).await
    }

    async fn confirm_credit(&self, effect: &Effect, id: PaymentId) -> Done {
        let command = payment::Command::Credited { effect: effect.id };
        tell(&self.families.payments, id, command).await
    }

    async fn about_refund(&self, effect: &Effect) -> Done {
        let (id, command) = match effect.work {
            Work::ConfirmRefund(id) => (id, refund::Command::Credited { effect: effect.id }),
            Work::ExpireRefund { refund, round } => {
                let effect = effect.id;
                (refund, refund::Command::Expire { effect, round })
            }
            _ => return Err(Failure::temporary("no work with refunds")),
        };
        tell(&self.families.refunds, id, command).await
    }

    async fn end_lease(&self, effect: &Effect, order: CardId, lease: u64) -> Done {
        let effect = effect.id;
        tell(
            &self.families.intl_orders,
            order,
            intl_order::Command::EndLease { effect, lease },
        )
        .await
    }

    async fn payment(&self, id: PaymentId) -> Result<Payment, Failure> {
        let read = self.families.payments.read(&id).await.map_err(unreadable)?;
        read.map(|(payment, _)| payment)
            .ok_or_else(|| Failure::temporary("the payment is not there"))
    }

    /// Deletes an effect whose outcome was recorded without it: only what [`Bug::CreditThenDelete`] does.
    async fn strike_off(&self, effect: &Effect) -> Done {
        let key = table::effect(effect.id);
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
            _ => Err(Failure::temporary("the effect could not be struck off")),
        }
    }

    /// Prepare, make durable, send, tell. What was prepared by an earlier try is sent again as it is.
    async fn settle(&self, effect: &Effect, id: PaymentId) -> Done {
        let (payment, payments) = (self.payment(id).await?, &self.families.payments);
        let authorization = &payment.claim.authorization;
        let prepared = match &payment.status {
            Status::Settling(prepared) => prepared.clone(),
            Status::Claimed => match self.prepared(effect, id, authorization).await? {
                Some(prepared) => prepared,
                None => return Ok(()),
            },
            // The effect is deleted by the batch that leaves `settling`: this is an echo of it.
            _ => return Ok(()),
        };
        let submitted = self.ports.settlement.submit(authorization, &prepared);
        let effect_id = effect.id;
        let command = match self.in_time(submitted, "submit").await {
            Ok(Submitted::Settled { transaction, finality }) => match self.taken_in(id, payment.account()).await? {
                Some(taken_in) => payment::Command::Deposited {
                    effect: effect_id,
                    transaction,
                    taken_in,
                },
                None => {
                    self.departures.settles(finality);
                    payment::Command::Settled {
                        effect: effect_id,
                        transaction,
                        finality,
                    }
                }
            },
            Ok(Submitted::Declined(decline)) => payment::Command::Declined {
                effect: effect_id,
                decline,
            },
            Err(error)
                if error.kind == ErrorKind::Permanent
                    || (planted::is(Bug::TimeoutDeclines) && error.kind == ErrorKind::Unknown) =>
            {
                let decline = Decline {
                    reason: "settlement_failed".into(),
                    message: "the chain refused the transfer".into(),
                };
                payment::Command::Declined {
                    effect: effect_id,
                    decline,
                }
            }
            Err(error) if error.kind == ErrorKind::Unknown || self.gives_up(effect, &error) => {
                let request = effect.origin;
                tracing::warn!(payment = %id, %request, %error, "the outcome of a settlement is unknown");
                payment::Command::Lost { effect: effect_id }
            }
            Err(error) => return Err(error.into()),
        };
        tell(payments, id, command).await
    }

    /// Prepares a payment and makes that durable; `None` once it is given back unsent.
    async fn prepared(
        &self,
        effect: &Effect,
        id: PaymentId,
        authorization: &Authorization,
    ) -> Result<Option<Prepared>, Failure> {
        let (payments, request) = (&self.families.payments, effect.origin);
        let prepare = self.ports.settlement.prepare(authorization);
        match self.in_time(prepare, "prepare").await {
            Ok(Preparation::Ready(prepared)) => {
                if planted::is(Bug::SentBeforeDurable) {
                    let early = self.ports.settlement.submit(authorization, &prepared);
                    drop(self.in_time(early, "submit").await);
                }
                tell(payments, id, payment::Command::Prepared(prepared.clone())).await?;
                Ok(Some(prepared))
            }
            Ok(Preparation::Declined(decline)) => {
                let reason = decline.reason.as_str();
                tracing::info!(payment = %id, %request, reason, "the chain would refuse a payment: it is not sent");
                let effect = effect.id;
                tell(payments, id, payment::Command::DeclinedUnsent { effect, decline }).await?;
                Ok(None)
            }
            Err(error) if self.gives_up(effect, &error) => {
                tracing::warn!(payment = %id, %request, %error, "a payment could not be sent and is released");
                tell(payments, id, payment::Command::Unsendable { effect: effect.id }).await?;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn gives_up(&self, effect: &Effect, error: &PortError) -> bool {
        error.kind == ErrorKind::Permanent || effect.attempts + 1 >= self.settings.prepare_attempts
    }

    /// The key first, the record afterwards: what is left of the record without its key is noise.
    async fn forget_cvv(&self, effect: &Effect, id: CardId) -> Done {
        let row = self.store.read(&table::cvv(id)).await;
        if let Some(row) = row.map_err(|e| Failure::temporary(e.to_string()))? {
            let timeout = Duration::from_millis(self.settings.issuer_timeout_ms);
            within(timeout, self.ports.shredder.shred(&row.value), "shred").await?;
        }
        let command = intl_order::Command::Forgotten { effect: effect.id };
        tell(&self.families.intl_orders, id, command).await
    }

    async fn in_time<T>(
        &self,
        call: impl Future<Output = Result<T, PortError>>,
        operation: &'static str,
    ) -> Result<T, PortError> {
        within(Duration::from_millis(self.settings.settle_timeout_ms), call, operation).await
    }
}

/// A call that does not answer in time may have happened.
pub(super) async fn within<T>(
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

/// Tells an entity. Any refusal is a failed try: if the effect was completed meanwhile, writing the failure down finds
/// the row gone and that is the end of it; if not, the next try reads the entity afresh.
async fn tell<E: Entity>(family: &Family<E>, id: E::Id, command: E::Command) -> Done {
    match family.ask(id, command).await {
        Ok(_) => Ok(()),
        Err(refusal) => Err(Failure::temporary(format!("{} {id}: {refusal:?}", E::KIND.name()))),
    }
}

fn unreadable(error: LoadError) -> Failure {
    Failure::temporary(error.to_string())
}
