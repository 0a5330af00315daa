//! The card's state machine.

use purser_storage::mutants::{self, Mutant};

use super::life::{Change, Life, News, Wished};
use super::{Card, CardDetails, Command, Event, Rejection, Status};
use crate::id::{CardId, Wallet};
use crate::kernel::entity::Transition;
use crate::kernel::job::{CreditCause, Job};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, JsonObject, table};
use crate::ledger::{LedgerProvider, LedgerTransaction};
use crate::money::Usdc;
use crate::port::{CardAction, CardSnapshot, IssuedCard, Timestamp, month_end};
use crate::refund::Refunded;

impl Card {
    /// Takes back what fulfilment had posted, so that the whole charge stands in suspense for the credit.
    fn reversal(&self, id: &CardId, at: Timestamp) -> LedgerTransaction {
        let mut reversal = self.charge.reversal(at, id, LedgerProvider::CardIssuer);
        if mutants::is_enabled(Mutant::FeeReversedOneSided) {
            reversal.postings.pop();
        }
        reversal
    }

    /// Asks the issuer for what the holder wants, unless it is so already.
    fn steer(&self, id: CardId, wish: CardAction, context: &Context) -> Result<Decision<Self>, Rejection> {
        let Some(stand) = self.stand().filter(|_| self.is_alive()) else {
            return Err(Rejection::InvalidState(self.status()));
        };
        match self.life.wished(stand, wish) {
            Wished::IsSo => Ok(Decision::answer(false)),
            Wished::UnderWay => Ok(Decision::answer(true)),
            Wished::Other(under_way) => Err(Rejection::Busy(under_way)),
            Wished::Ask => Ok(Decision::answer(true)
                .event(Event::Wished(wish, context.now))
                .enqueue(Job::SteerPrepaid(id), context)),
        }
    }

    /// What a word of the issuer's brings about; nothing for a card that it has not made.
    fn hear(
        &self,
        id: CardId,
        decided: Decision<Self>,
        (standing, refunded): (CardSnapshot, Refunded),
        context: &Context,
    ) -> Decision<Self> {
        let Some(stand) = self.stand() else { return decided };
        let news = self.life.told(stand, standing, self.amount);
        let releases = self.life.releases(&news);
        let (by, given) = (LedgerProvider::CardIssuer, refunded.amount);
        let back = self.charge.given_back(context.now, id, by, releases, given);
        let decided = match back.kept > Usdc::ZERO {
            true => decided.event(Event::Kept(back.kept, context.now)),
            false => decided,
        };
        let decided = news
            .into_iter()
            .fold(decided, |decided, one| decided.event(Event::Told(one, context.now)));
        back.booked(decided, (self.owner, id), (&self.charge, refunded), context)
    }

    fn issued(&self, id: CardId, card: IssuedCard, decided: Decision<Self>, context: &Context) -> Decision<Self> {
        let details = CardDetails {
            issuer_ref: card.issuer_ref,
            last4: card.last4,
            exp_month: card.exp_month,
            exp_year: card.exp_year,
        };
        let ends = month_end(details.exp_year, details.exp_month);
        decided
            .put_new(table::vault(id), card.sealed)
            .enqueue_at(ends, Job::ExpireCard(id), context)
            .event(Event::Issued(details, context.now))
    }

    fn wishing(self, wish: Option<CardAction>) -> Self {
        let life = Life { wish, ..self.life };
        Self { life, ..self }
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    /// After a word of the issuer's.
    fn after(self, news: &News, at: Timestamp) -> Result<Self, InvalidTransition> {
        let status = match (&self.status, news) {
            (Status::Ready(d), News::Paused(_)) => Status::Paused(d.clone()),
            (Status::Paused(d), News::Resumed(_)) => Status::Ready(d.clone()),
            (Status::Ready(d) | Status::Paused(d), News::Closed(_)) => Status::Closed(d.clone()),
            (Status::Ready(_) | Status::Paused(_), News::Charged(..))
            | (Status::Closed(_) | Status::Expired(_), News::Charged(..) | News::Released(_)) => self.status.clone(),
            _ => return Err(InvalidTransition::new(self.status(), news)),
        };
        let life = self.life.after(news, at);
        Ok(Self {
            status,
            life,
            updated_at: at,
            ..self
        })
    }
}

impl Entity for Card {
    const KIND: EntityKind = EntityKind::Card;
    const EVENT_NAMES: &'static [&'static str] = &[
        "pending",
        "ready",
        "failed",
        "details_viewed",
        "refresh_requested",
        "refreshed",
        "pause_requested",
        "resume_requested",
        "close_requested",
        "paused",
        "resumed",
        "closed",
        "expired",
        "charged",
        "charge_settled",
        "charge_declined",
        "charge_refunded",
        "remainder_released",
    ];
    const TRANSITIONS: &'static [Transition] = &[
        ("-", "payment settled", "pending"),
        ("pending", "issuer made it", "ready"),
        ("pending", "issuer definitely refused; charge credited", "failed"),
        ("ready", "holder or issuer paused it", "paused"),
        ("paused", "holder or issuer resumed it", "ready"),
        ("ready", "holder or issuer closed it", "closed"),
        ("paused", "holder or issuer closed it", "closed"),
        ("ready", "end of the month printed on it", "expired"),
        ("paused", "end of the month printed on it", "expired"),
    ];

    type Id = CardId;
    type Command = Command;
    type Event = Event;
    /// Whether the issuer is asked for something by then.
    type Reply = bool;
    type Rejection = Rejection;
    type Outcome = Self;

    fn decide(
        this: Option<&Self>,
        id: &CardId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let Some(card) = this else {
            return Err(Rejection::InvalidState("-"));
        };
        let (decided, at) = (Decision::answer(false), context.now);
        match (&card.status, command) {
            (Status::Pending, Command::RecordIssuance { effect, card: issued }) => {
                Ok(card.issued(*id, issued, decided.completes_job(effect), context))
            }
            (Status::Pending, Command::RecordDecline { effect, reason }) => Ok(decided
                .completes_job(effect)
                .event(Event::Declined(reason, at))
                .post_ledger(&card.reversal(id, at), context)
                .enqueue(
                    Job::CreditAccount {
                        account: card.owner,
                        amount: card.charge.charged,
                        cause: CreditCause::Card(*id),
                    },
                    context,
                )),
            (Status::Ready(_) | Status::Paused(_), Command::Reveal) => Ok(decided.event(Event::Revealed(at))),
            (Status::Ready(_) | Status::Paused(_), Command::RequestRefresh) => {
                let asked = card.check_refresh_allowed(at)?;
                Ok(Decision::answer(true)
                    .event(Event::RefreshRequested(asked))
                    .enqueue(Job::RefreshCard(*id), context))
            }
            // What was spent last is news of a card that has ended meanwhile, too.
            (
                _,
                Command::RecordRefresh {
                    effect,
                    standing,
                    refunded,
                },
            ) if card.refreshing => {
                let heard = card.hear(*id, decided.completes_job(effect), (standing, refunded), context);
                Ok(heard.event(Event::Refreshed(at)))
            }
            (_, Command::Steer(wish)) => card.steer(*id, wish, context),
            (
                _,
                Command::Steered {
                    effect,
                    standing,
                    refunded,
                },
            ) if card.life.wish.is_some() => {
                let heard = card.hear(*id, decided.completes_job(effect), (standing, refunded), context);
                Ok(heard.event(Event::Answered(at)))
            }
            (_, Command::Told(standing, refunded)) if card.stand().is_some() => {
                Ok(card.hear(*id, decided, (standing, refunded), context))
            }
            (Status::Ready(_) | Status::Paused(_), Command::Expire { effect }) => {
                Ok(decided.completes_job(effect).event(Event::Expired(at)))
            }
            (_, Command::Expire { effect }) => Ok(decided.completes_job(effect)),
            (_, _) => Err(Rejection::InvalidState(card.status())),
        }
    }

    fn apply(this: Option<Self>, _: &CardId, event: &Event) -> Result<Self, InvalidTransition> {
        let status = this.as_ref().map_or("-", Self::status);
        match (this, event) {
            (
                None,
                Event::Ordered {
                    owner,
                    charge,
                    amount,
                    at,
                },
            ) => Ok(Self {
                owner: *owner,
                charge: *charge,
                amount: *amount,
                created_at: *at,
                updated_at: *at,
                status: Status::Pending,
                refreshes: Vec::new(),
                refreshing: false,
                life: Life::default(),
            }),
            (Some(card), Event::Issued(details, at)) if card.status == Status::Pending => {
                let life = Life::begun(card.amount, *at);
                Ok(Self { life, ..card }.at(Status::Ready(details.clone()), *at))
            }
            (Some(card), Event::Declined(reason, at)) if card.status == Status::Pending => {
                let life = card.life.clone().noted(Change::Failed, *at);
                Ok(Self { life, ..card }.at(Status::Failed { reason: reason.clone() }, *at))
            }
            (Some(card), Event::Told(news, at)) => card.after(news, *at),
            (Some(card), Event::Kept(amount, at)) if card.stand().is_some() => {
                let (status, life) = (card.status.clone(), card.life.clone().keeping(*amount));
                Ok(Self { life, ..card }.at(status, *at))
            }
            (Some(card), event) => match (card.status.clone(), event) {
                (Status::Ready(_) | Status::Paused(_), Event::Revealed(_)) => Ok(card),
                (Status::Ready(_) | Status::Paused(_), Event::RefreshRequested(at)) => Ok(card.asked(*at)),
                (status, Event::Refreshed(at)) if card.refreshing => Ok(Self {
                    refreshing: false,
                    ..card
                }
                .at(status, *at)),
                (status @ (Status::Ready(_) | Status::Paused(_)), Event::Wished(wish, at))
                    if card.life.wish.is_none() =>
                {
                    Ok(card.wishing(Some(*wish)).at(status, *at))
                }
                (status, Event::Answered(at)) if card.life.wish.is_some() => Ok(card.wishing(None).at(status, *at)),
                (Status::Ready(d) | Status::Paused(d), Event::Expired(at)) => {
                    let life = card.life.clone().noted(Change::Expired, *at);
                    Ok(Self { life, ..card }.at(Status::Expired(d), *at))
                }
                (_, event) => Err(InvalidTransition::new(status, event)),
            },
            (None, event) => Err(InvalidTransition::new(status, event)),
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Pending => "pending",
            Status::Ready(_) => "ready",
            Status::Paused(_) => "paused",
            Status::Failed { .. } => "failed",
            Status::Closed(_) => "closed",
            Status::Expired(_) => "expired",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn event_name(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Ordered { .. } => "pending",
            Event::Issued(..) => "ready",
            Event::Declined(..) => "failed",
            Event::Revealed(_) => "details_viewed",
            Event::RefreshRequested(_) => "refresh_requested",
            Event::Refreshed(_) => "refreshed",
            Event::Wished(wish, _) => wish.requested(),
            // What the answer changed is told by itself.
            Event::Answered(_) | Event::Kept(..) => return None,
            Event::Told(news, _) => return news.announced(),
            Event::Expired(_) => "expired",
        })
    }

    fn view(&self, id: &CardId) -> JsonObject {
        let reason = match &self.status {
            Status::Failed { reason } => Some(reason.as_str()),
            _ => None,
        };
        JsonObject::new()
            .text("card_id", id)
            .text("status", self.status())
            .text("state", self.status())
            .text("card_type", "Non-Reloadable U.S.")
            .number("usd_amount", self.amount.decimal())
            .number("charged_usd_amount", self.charge.charged.decimal())
            .number("fees_paid", self.charge.fee().decimal())
            .number("available_usd_amount", self.life.activity.available.decimal())
            .number("credited_usd_amount", self.credited().decimal())
            .text("country", "US")
            .optional_text("last4", self.details().map(|d| d.last4.as_str()))
            .optional_text("requested", self.life.wish.map(CardAction::name))
            .optional_text("failure_reason", reason)
            .text("payment_id", self.charge.payment)
            .boolean("refreshing", self.refreshing)
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<Self> {
        (self.status != Status::Pending).then(|| self.clone())
    }
}
