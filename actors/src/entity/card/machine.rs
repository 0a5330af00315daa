//! State machine of a prepaid card.

use purser_storage::mutants::{self, Mutant};

use super::lifecycle::{ActionDecision, CardLifecycle, CardUpdate, LifecycleChange};
use super::{Card, CardDetails, Command, Event, Job, Rejection, Status};
use super::{CardView, PrepaidCardType};
use crate::entity::account;
use crate::entity::account::CreditCause;
use crate::entity::refund::Refunded;
use crate::id::{CardId, Wallet};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::ledger::{LedgerProvider, LedgerTransaction};
use crate::money::Usdc;
use crate::port::{CardAction, CardSnapshot, IssuedCard, Timestamp, month_end};

impl Card {
    /// Reverses the capture, so that the whole charge is in suspense for the credit.
    fn reversal(&self, id: &CardId, at: Timestamp) -> LedgerTransaction {
        let mut reversal = self.charge.reversal(at, id, LedgerProvider::CardIssuer);
        if mutants::is_enabled(Mutant::FeeReversedOneSided) {
            reversal.postings.pop();
        }
        reversal
    }

    /// Sends the requested action to the issuer, unless it is already in effect.
    fn request_action(&self, id: CardId, action: CardAction, context: &Context) -> Result<Decision<Self>, Rejection> {
        let Some(state) = self.lifecycle_state().filter(|_| self.is_usable()) else {
            return Err(Rejection::InvalidState(self.status()));
        };
        match self.lifecycle.decide_action(state, action) {
            ActionDecision::AlreadyInEffect => Ok(Decision::answer(false)),
            ActionDecision::InProgress => Ok(Decision::answer(true)),
            ActionDecision::OtherInProgress(under_way) => Err(Rejection::ActionInProgress(under_way)),
            ActionDecision::Request => Ok(Decision::answer(true)
                .event(Event::ActionRequested(action, context.now))
                .enqueue(Job::ChangePrepaidCardState(id), context)),
        }
    }

    /// Applies an issuer event; no effect on a card that was not issued.
    fn apply_snapshot(
        &self,
        id: CardId,
        decided: Decision<Self>,
        (standing, refunded): (CardSnapshot, Refunded),
        context: &Context,
    ) -> Decision<Self> {
        let Some(state) = self.lifecycle_state() else {
            return decided;
        };
        let news = self.lifecycle.updates_from(state, standing, self.amount);
        let releases = self.lifecycle.released_totals(&news);
        let (by, given) = (LedgerProvider::CardIssuer, refunded.amount);
        let back = self.charge.return_remainder(context.now, id, by, releases, given);
        let decided = match back.retained > Usdc::ZERO {
            true => decided.event(Event::RemainderRetained(back.retained, context.now)),
            false => decided,
        };
        let decided = news
            .into_iter()
            .fold(decided, |decided, one| decided.event(Event::Updated(one, context.now)));
        back.post_and_credit(decided, (self.owner, id), (&self.charge, refunded), context)
    }

    fn record_issuance(
        &self,
        id: CardId,
        card: IssuedCard,
        decided: Decision<Self>,
        context: &Context,
    ) -> Decision<Self> {
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

    fn with_pending_action(self, action: Option<CardAction>) -> Self {
        let life = CardLifecycle {
            pending_action: action,
            ..self.lifecycle
        };
        Self {
            lifecycle: life,
            ..self
        }
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    /// State after an issuer event.
    fn apply_update(self, news: &CardUpdate, at: Timestamp) -> Result<Self, InvalidTransition> {
        let status = match (&self.status, news) {
            (Status::Ready(d), CardUpdate::Paused(_)) => Status::Paused(d.clone()),
            (Status::Paused(d), CardUpdate::Resumed(_)) => Status::Ready(d.clone()),
            (Status::Ready(d) | Status::Paused(d), CardUpdate::Closed(_)) => Status::Closed(d.clone()),
            (Status::Ready(_) | Status::Paused(_), CardUpdate::Charged(..))
            | (Status::Closed(_) | Status::Expired(_), CardUpdate::Charged(..) | CardUpdate::Released(_)) => {
                self.status.clone()
            }
            _ => return Err(InvalidTransition::new(self.status(), news)),
        };
        let life = self.lifecycle.apply_update(news, at);
        Ok(Self {
            status,
            lifecycle: life,
            updated_at: at,
            ..self
        })
    }
}

impl Entity for Card {
    const KIND: EntityKind = EntityKind::Card;

    type Id = CardId;
    type Command = Command;
    /// Whether the action is pending at the issuer.
    type Reply = bool;
    type Rejection = Rejection;
    type Outcome = Self;
    type View<'a> = CardView<'a>;

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
            (
                Status::Pending,
                Command::RecordIssuance {
                    job: effect,
                    card: issued,
                },
            ) => Ok(card.record_issuance(*id, issued, decided.completes_job(effect), context)),
            (Status::Pending, Command::RecordDecline { job: effect, reason }) => Ok(decided
                .completes_job(effect)
                .event(Event::Declined(reason, at))
                .post_ledger(&card.reversal(id, at), context)
                .enqueue(
                    account::Job::CreditAccount {
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
            // The latest transactions are news of a card that has ended meanwhile too.
            (
                _,
                Command::RecordRefresh {
                    job: effect,
                    snapshot: standing,
                    refunded,
                },
            ) if card.refreshing => {
                let heard = card.apply_snapshot(*id, decided.completes_job(effect), (standing, refunded), context);
                Ok(heard.event(Event::Refreshed(at)))
            }
            (_, Command::RequestAction(action)) => card.request_action(*id, action, context),
            (
                _,
                Command::RecordActionResult {
                    job: effect,
                    snapshot: standing,
                    refunded,
                },
            ) if card.lifecycle.pending_action.is_some() => {
                let heard = card.apply_snapshot(*id, decided.completes_job(effect), (standing, refunded), context);
                Ok(heard.event(Event::ActionCompleted(at)))
            }
            (_, Command::RecordCardEvent(standing, refunded)) if card.lifecycle_state().is_some() => {
                Ok(card.apply_snapshot(*id, decided, (standing, refunded), context))
            }
            (Status::Ready(_) | Status::Paused(_), Command::Expire { job: effect }) => {
                Ok(decided.completes_job(effect).event(Event::Expired(at)))
            }
            (_, Command::Expire { job: effect }) => Ok(decided.completes_job(effect)),
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
                lifecycle: CardLifecycle::default(),
            }),
            (Some(card), Event::Issued(details, at)) if card.status == Status::Pending => {
                let life = CardLifecycle::activated(card.amount, *at);
                Ok(Self {
                    lifecycle: life,
                    ..card
                }
                .at(Status::Ready(details.clone()), *at))
            }
            (Some(card), Event::Declined(reason, at)) if card.status == Status::Pending => {
                let life = card.lifecycle.clone().with_history_entry(LifecycleChange::Failed, *at);
                Ok(Self {
                    lifecycle: life,
                    ..card
                }
                .at(Status::Failed { reason: reason.clone() }, *at))
            }
            (Some(card), Event::Updated(news, at)) => card.apply_update(news, *at),
            (Some(card), Event::RemainderRetained(amount, at)) if card.lifecycle_state().is_some() => {
                let (status, life) = (card.status.clone(), card.lifecycle.clone().with_retained(*amount));
                Ok(Self {
                    lifecycle: life,
                    ..card
                }
                .at(status, *at))
            }
            (Some(card), event) => match (card.status.clone(), event) {
                (Status::Ready(_) | Status::Paused(_), Event::Revealed(_)) => Ok(card),
                (Status::Ready(_) | Status::Paused(_), Event::RefreshRequested(at)) => {
                    Ok(card.with_refresh_requested(*at))
                }
                (status, Event::Refreshed(at)) if card.refreshing => Ok(Self {
                    refreshing: false,
                    ..card
                }
                .at(status, *at)),
                (status @ (Status::Ready(_) | Status::Paused(_)), Event::ActionRequested(action, at))
                    if card.lifecycle.pending_action.is_none() =>
                {
                    Ok(card.with_pending_action(Some(*action)).at(status, *at))
                }
                (status, Event::ActionCompleted(at)) if card.lifecycle.pending_action.is_some() => {
                    Ok(card.with_pending_action(None).at(status, *at))
                }
                (Status::Ready(d) | Status::Paused(d), Event::Expired(at)) => {
                    let life = card.lifecycle.clone().with_history_entry(LifecycleChange::Expired, *at);
                    Ok(Self {
                        lifecycle: life,
                        ..card
                    }
                    .at(Status::Expired(d), *at))
                }
                (_, event) => Err(InvalidTransition::new(status, event)),
            },
            (None, event) => Err(InvalidTransition::new(status, event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &CardId) -> CardView<'_> {
        let reason = match &self.status {
            Status::Failed { reason } => Some(reason.as_str()),
            _ => None,
        };
        CardView {
            card_id: *id,
            status: self.state(),
            state: self.state(),
            card_type: PrepaidCardType::NonReloadableUs,
            usd_amount: self.amount.into(),
            charged_usd_amount: self.charge.charged.into(),
            fees_paid: self.charge.fee().into(),
            available_usd_amount: self.lifecycle.activity.available.into(),
            credited_usd_amount: self.credited().into(),
            country: "US",
            last4: self.details().map(|d| d.last4.as_str()),
            pending_action: self.lifecycle.pending_action,
            failure_reason: reason,
            payment_id: self.charge.payment,
            refreshing: self.refreshing,
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<Self> {
        (self.status != Status::Pending).then(|| self.clone())
    }
}
