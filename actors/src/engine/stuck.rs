//! What waits for a person, with the evidence: what it is about and whose, what was tried, and what the other side says of
//! it now.

#![deny(clippy::wildcard_enum_match_arm, reason = "a new kind of work is asked about here")]

use std::time::Duration;

use purser_storage::{CommitError, Condition, StoreError, codec};

use super::acting::Words;
use super::operating::damaged;
use super::resolving::Resolvable;
use super::work::within;
use super::{Denied, Engine};
use crate::id::{EffectId, PaymentId, TopUpId, Wallet};
use crate::kernel::effect::Work;
use crate::kernel::family::StartEffects as _;
use crate::kernel::{Effect, Entity, Family, table};
use crate::money::Cents;
use crate::operator::Act;
use crate::payment::Status;
use crate::port::payout::RailState;
use crate::port::{Deposited, EntryName, Lookup, PortError, Reserved, Timestamp};
use crate::product::Currency;
use crate::reconcile::{Money, Source, Standing};

/// A payment whose outcome is not known, and what looks after it.
#[derive(Clone, Debug)]
pub struct Doubt {
    /// Which.
    pub payment: PaymentId,
    /// Since when its outcome is unknown.
    pub since: Timestamp,
    /// The effect that reads the chain for it.
    pub effect: Effect,
}

/// What waits for a person.
#[derive(Clone, Debug, Default)]
pub struct Stuck {
    /// Effects that were tried often enough, the oldest first.
    pub effects: Vec<Effect>,
    /// Effects that are tried again by themselves, have failed so far, and are older than the settings allow; the oldest first.
    pub late: Vec<Late>,
    /// Payments whose outcome is not known, the oldest first.
    pub unknown: Vec<Doubt>,
}

/// Work that is late.
#[derive(Clone, Debug)]
pub struct Late {
    /// As it is kept.
    pub effect: Effect,
    /// What its newest try came to.
    pub error: Option<String>,
    /// When it is tried next.
    pub next_at: Timestamp,
}

/// What a piece of work is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Whose it is.
    pub owner: Wallet,
    /// Where its entity stands.
    pub status: &'static str,
    /// How much it is about: what was paid for it, where something was. `None` where no money is.
    pub money: Option<Money>,
}

/// What whoever has to do the work says of it when asked now. Asking changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// What came of it there.
    Stands(Standing),
    /// It cannot be asked after without being asked for.
    Nothing,
    /// There was no answer.
    Silent(String),
}

const fn usd(amount: Cents) -> Money {
    Money::Cents(amount, Currency::USD)
}

impl Engine {
    /// Everything that waits for a person. Reads every open effect.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn stuck(&self) -> Result<Stuck, StoreError> {
        let mut stuck = Stuck::default();
        for effect in self.open_effects(usize::MAX).await? {
            if effect.stuck {
                stuck.effects.push(effect);
            } else if let Work::Watch(id) = effect.work
                && let Some(payment) = self.payment(&id).await.map_err(damaged)?
                && matches!(payment.status, Status::Unknown(_))
            {
                stuck.unknown.push(Doubt {
                    payment: id,
                    since: payment.updated_at,
                    effect,
                });
            } else if let Some(late) = self.late(effect) {
                stuck.late.push(late);
            }
        }
        stuck.late.sort_by_key(|late| (late.effect.created_at, late.effect.id));
        stuck.effects.sort_by_key(|effect| (effect.created_at, effect.id));
        stuck.unknown.sort_by_key(|doubt| (doubt.since, doubt.payment));
        Ok(stuck)
    }

    /// Whether work is late: something is wrong with it, and it is old. What only has to wait is not.
    pub(super) fn late(&self, effect: Effect) -> Option<Late> {
        let (now, after_ms) = (self.0.clock.now(), self.0.settings.late_after_ms);
        if after_ms == 0 || effect.stuck || effect.created_at.plus_ms(after_ms) > now {
            return None;
        }
        if let Some(trouble) = self.0.tries.troubled(effect.id) {
            return Some(Late {
                error: Some(trouble.error),
                next_at: trouble.next_at,
                effect,
            });
        }
        // Written down by a process that has ended, and not tried since.
        (effect.attempts > 0 && effect.next_at > now).then(|| Late {
            error: effect.last_error.clone(),
            next_at: effect.next_at,
            effect,
        })
    }

    /// Work that is not done, by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn effect(&self, id: EffectId) -> Result<Option<Effect>, StoreError> {
        let row = self.0.store.read(&table::effect(id)).await?;
        row.map(|row| codec::decode(&row.value).map_err(damaged)).transpose()
    }

    /// Tries a stuck effect once more, now. If that fails too, it is stuck again.
    ///
    /// # Errors
    /// [`Denied::Used`] when there is no such effect, [`Denied::Rejected`] when it is not stuck.
    pub async fn retry(&self, id: EffectId, act: &Act) -> Result<(), Denied<()>> {
        // Twice at once would start two tries.
        let one = self.acting().await;
        let effect = self.effect(id).await.map_err(|_| Denied::Unavailable)?;
        let mut effect = effect.ok_or(Denied::Used)?;
        if !effect.stuck {
            return Err(Denied::Rejected(()));
        }
        effect.stuck = false;
        effect.next_at = self.0.clock.now();
        let words = Words::of(act, "effect.retry", &effect, None);
        let there = vec![Condition::Present(table::effect(id))];
        match self.act_alone(&one, &words, there, vec![effect.put()]).await {
            Ok(()) => {
                self.0.deliveries.start(effect);
                Ok(())
            }
            Err(CommitError::Condition(_)) => Err(Denied::Used),
            Err(_) => Err(Denied::Unavailable),
        }
    }

    /// What a piece of work is about, where it is about something of a holder's.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn evidence(&self, work: &Work) -> Result<Option<Evidence>, StoreError> {
        let all = &self.0.families;
        match work {
            Work::Settle(id)
            | Work::Watch(id)
            | Work::AwaitFinal(id)
            | Work::ConfirmCredit(id)
            | Work::Readmit { payment: id, .. } => {
                of(&all.payments, id, |payment| Some(Money::Usdc(payment.price()))).await
            }
            Work::IssueCard(id) | Work::ExpireCard(id) | Work::RefreshCard(id) | Work::SteerPrepaid(id) => {
                of(&all.cards, id, |card| Some(Money::Usdc(card.charge.charged))).await
            }
            Work::OrderGiftCard(id) => of(&all.gift_cards, id, |gift| Some(Money::Usdc(gift.charge.charged))).await,
            Work::EndLease { order: id, .. } | Work::IntlOverdue(id) | Work::ExpireIntl(id) | Work::ForgetCvv(id) => {
                of(&all.intl_orders, id, |order| Some(Money::Usdc(order.charge.charged))).await
            }
            Work::SendPayout(id)
            | Work::RecallPayout(id)
            | Work::ExpirePayout(id)
            | Work::CloseReturns(id)
            | Work::SaveRecipient(id)
            | Work::UncountPayment(id) => of(&all.payouts, id, |payout| Some(Money::Usdc(payout.charge.charged))).await,
            Work::LateReturn(id) => of(&all.late_returns, id, |late| Some(Money::Usdc(late.amount))).await,
            Work::SendTopUp(id) | Work::CrossBridge(id) | Work::AwaitCardCredit(id) => {
                of(&all.top_ups, id, |top_up| Some(Money::Usdc(top_up.charge.charged))).await
            }
            Work::Withdraw(id) => of(&all.withdrawals, id, |asked| Some(Money::Usdc(asked.amount))).await,
            Work::ReserveCardBalance(id) | Work::EndReservation(id) | Work::EndCardLease { withdrawal: id, .. } => {
                of(&all.card_withdrawals, id, |asked| Some(usd(asked.amount))).await
            }
            Work::OpenCard(id) | Work::SteerCard(id) => of(&all.reloadables, id, |card| Some(usd(card.amount))).await,
            Work::MoveBankMoney(id) => of(&all.bank_transfers, id, |moved| Some(Money::Usdc(moved.amount))).await,
            Work::OpenBankAccount(id) => of(&all.bank_accounts, id, |_| None).await,
            Work::ReviewApplication(wallet) => of(&all.applications, wallet, |_| None).await,
            Work::CheckIdentity(wallet) => of(&all.identities, wallet, |_| None).await,
            Work::OpenIssuerAccount(wallet) => of(&all.links, wallet, |_| None).await,
            Work::Spend(id) | Work::EndSpend { spend: id, .. } | Work::ForgetSpoken(id) => {
                of(&all.spends, id, |spend| Some(Money::Usdc(spend.order.amount))).await
            }
            Work::Credit { account, amount, .. }
            | Work::EndHold { account, amount, .. }
            | Work::ReleaseCredit { account, amount, .. } => {
                of(&all.accounts, account, |_| Some(Money::Usdc(*amount))).await
            }
            Work::FreeShare { account, share } | Work::CountShare { account, share } => {
                of(&all.accounts, account, |_| Some(usd(share.cents))).await
            }
            Work::CountUnclaimed { account, .. } | Work::CountClaimed { account, .. } => {
                of(&all.accounts, account, |_| None).await
            }
            Work::ForgetNumber(id) => of(&all.destinations, id, |_| None).await,
            Work::PostWebhook { delivery, .. } => of(&all.webhook_deliveries, delivery, |_| None).await,
            Work::ResendWebhooks { endpoint, .. } => of(&all.webhooks, endpoint, |_| None).await,
            Work::ConfirmRefund(id) | Work::ExpireRefund { refund: id, .. } => {
                of(&all.refunds, id, |refund| Some(Money::Usdc(refund.asked.amount))).await
            }
            Work::Pursue(id) => of(&all.differences, id, |_| None).await,
            Work::PlaceIncoming(id) | Work::SendBack { deposit: id, .. } | Work::ConfirmIncoming(id) => {
                of(&all.incoming, id, |incoming| {
                    Some(Money::Usdc(incoming.transfer.amount))
                })
                .await
            }
        }
    }

    /// Asks whoever has to do it what came of it.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn says(&self, effect: &Effect) -> Result<Says, StoreError> {
        let all = &self.0.families;
        let told = match effect.work.resolvable() {
            Resolvable::Card(_) => self.order_at(Source::Cards, effect.id).await,
            Resolvable::GiftCard(_) => self.order_at(Source::GiftCards, effect.id).await,
            Resolvable::BankMove(_) => self.order_at(Source::Bank, effect.id).await,
            Resolvable::Reloadable(_) => self.order_at(Source::CardProgram, effect.id).await,
            Resolvable::Payout(_) => Some(self.sent(effect.id).await),
            Resolvable::Recall(id) => match all.payouts.read(&id).await.map_err(damaged)? {
                Some((payout, _)) => Some(self.sent(payout.key).await.map(recalled)),
                None => None,
            },
            Resolvable::Payment(id) => match all.payments.read(&id).await.map_err(damaged)? {
                Some((payment, _)) => {
                    let settlement = &self.0.ports.settlement;
                    let lookup = settlement.lookup(&payment.claim.authorization, payment.prepared());
                    Some(
                        within(self.patience(), lookup, "lookup")
                            .await
                            .map(|lookup| shown(&lookup)),
                    )
                }
                None => None,
            },
            Resolvable::CardCredit(id) => self.counted(&id).await?,
            Resolvable::Reservation(_) => Some(self.set_aside(effect.id).await),
            Resolvable::ReservationEnd(id) => match all.card_withdrawals.read(&id).await.map_err(damaged)? {
                Some((asked, _)) => match asked.reservation.zip(asked.is_paid()) {
                    Some((key, paid)) => Some(self.ended(key, paid).await),
                    None => None,
                },
                None => None,
            },
            // These cannot be asked after without being asked for, or are nobody else's.
            Resolvable::Credit(..)
            | Resolvable::BankAccount(_)
            | Resolvable::IssuerAccount(_)
            | Resolvable::Nobodys => None,
        };
        Ok(match told {
            None => Says::Nothing,
            Some(Ok(standing)) => Says::Stands(standing),
            Some(Err(error)) => Says::Silent(error.to_string()),
        })
    }

    pub(super) fn patience(&self) -> Duration {
        let settings = &self.0.settings;
        Duration::from_millis(settings.issuer_timeout_ms.max(settings.settle_timeout_ms))
    }

    /// What a provider's own list says of an order, if there is a list.
    async fn order_at(&self, source: Source, key: EffectId) -> Option<Result<Standing, PortError>> {
        let list = self.0.lists.providers.get(&source)?;
        let entry = within(self.patience(), list.entry(&EntryName::of(key)), "entry").await;
        Some(entry.map(|entry| entry.map_or(Standing::NotAsked, |entry| entry.standing)))
    }

    async fn sent(&self, key: EffectId) -> Result<Standing, PortError> {
        let word = within(self.patience(), self.0.ports.rails.ordered(key), "ask after").await?;
        Ok(word.map_or(Standing::NotAsked, |word| match word.state {
            RailState::InProcess { .. } => Standing::UnderWay,
            RailState::Complete { .. } => Standing::Done,
            RailState::Failed { .. } | RailState::Cancelled { .. } => Standing::Refused,
            RailState::Returned { .. } => Standing::Returned,
        }))
    }

    async fn set_aside(&self, key: EffectId) -> Result<Standing, PortError> {
        let stands = within(self.patience(), self.0.ports.program.reservation(key), "reservation").await?;
        Ok(match stands {
            Reserved::Held => Standing::Done,
            Reserved::Ended { .. } => Standing::Returned,
            Reserved::Never => Standing::NotAsked,
        })
    }

    /// Whether what was set aside has ended as it was to.
    async fn ended(&self, key: EffectId, wanted: bool) -> Result<Standing, PortError> {
        let stands = within(self.patience(), self.0.ports.program.reservation(key), "reservation").await?;
        Ok(match stands {
            Reserved::Held => Standing::UnderWay,
            Reserved::Ended { paid } if paid == wanted => Standing::Done,
            Reserved::Ended { .. } => Standing::Refused,
            Reserved::Never => Standing::NotAsked,
        })
    }

    /// Whether the issuer counts what was delivered to it.
    async fn counted(&self, id: &TopUpId) -> Result<Option<Result<Standing, PortError>>, StoreError> {
        let Some(top_up) = self.top_up(id).await.map_err(damaged)? else {
            return Ok(None);
        };
        let (transaction, amount) = top_up.delivered().unwrap_or(("", top_up.arrives()));
        let deposit = Deposited {
            address: top_up.address,
            transaction: transaction.to_owned(),
            amount,
        };
        let asked = self.0.ports.card_balances.is_credited(&deposit);
        let told = within(self.patience(), asked, "credited").await;
        Ok(Some(told.map(|counted| match counted {
            true => Standing::Done,
            false => Standing::UnderWay,
        })))
    }
}

async fn of<E: Entity>(
    family: &Family<E>,
    id: &E::Id,
    money: impl FnOnce(&E) -> Option<Money>,
) -> Result<Option<Evidence>, StoreError> {
    let read = family.read(id).await.map_err(damaged)?;
    Ok(read.map(|(entity, _)| Evidence {
        owner: entity.owner(),
        status: entity.status(),
        money: money(&entity),
    }))
}

/// What is paid has not come back yet.
const fn recalled(standing: Standing) -> Standing {
    match standing {
        Standing::Returned | Standing::Refused => Standing::Done,
        Standing::Done => Standing::UnderWay,
        other @ (Standing::NotAsked | Standing::UnderWay | Standing::Held) => other,
    }
}

const fn shown(lookup: &Lookup) -> Standing {
    match lookup {
        Lookup::Landed { .. } => Standing::Done,
        Lookup::Pending => Standing::UnderWay,
        Lookup::Impossible => Standing::Refused,
    }
}
