//! What a holder wants of an international card, and what operators report of it.

use super::{Answer, Event, IntlOrder, Rejection, Report, Status};
use crate::card::life::{Change, Life, News, Stand, Wished};
use crate::id::CardId;
use crate::kernel::job::Job;
use crate::kernel::{Context, Decision, Entity as _, InvalidTransition, table};
use crate::ledger::LedgerProvider;
use crate::money::Usdc;
use crate::operator::AuditedAction;
use crate::port::{CardAction, CardSnapshot, CardState, Timestamp};
use crate::refund::Refunded;

impl IntlOrder {
    /// Puts what the holder wants into the operators' list, unless it is so already. Nobody has begun with what waits there, so
    /// that a holder may want something else instead, or nothing.
    pub(super) fn steer(&self, id: CardId, wish: CardAction, context: &Context) -> Decision<Self> {
        let Some(stand) = self.stand() else {
            return Decision::answer(Answer::Asked(false));
        };
        let before = Life {
            wish: None,
            ..self.life.clone()
        };
        let is_so = before.wished(stand, wish) == Wished::IsSo;
        match (self.life.wished(stand, wish), is_so) {
            (Wished::UnderWay, _) => Decision::answer(Answer::Asked(true)),
            (Wished::Other(_), true) => {
                let decided = Decision::answer(Answer::Asked(false)).event(Event::WishEnded(context.now));
                self.without_wish(id, decided)
            }
            (_, true) => Decision::answer(Answer::Asked(false)),
            (_, false) => {
                let decided = Decision::answer(Answer::Asked(true)).event(Event::Wished(wish, context.now));
                // What is wanted instead keeps its place.
                match self.wished_at {
                    Some(_) => decided,
                    None => decided.put_new(table::card_wish(context.now, id), Vec::new()),
                }
            }
        }
    }

    /// What an operator's report brings about. It is the newest word by its place in the audit log.
    pub(super) fn reported(
        &self,
        id: CardId,
        act: &AuditedAction,
        (report, refunded): (Report, Refunded),
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let Some(stand) = self.stand() else {
            return Err(Rejection::InvalidState(self.status()));
        };
        if stand == Stand::Ended && report.state != CardState::Closed {
            return Err(Rejection::Ended);
        }
        if report.released > self.amount || report.released < self.life.released {
            return Err(Rejection::Released);
        }
        let standing = CardSnapshot {
            sequence: self.life.sequence.saturating_add(1),
            state: report.state,
            activity: report.activity,
            released: report.released,
        };
        let words = format!("{} released", report.released.decimal());
        let decided = Decision::answer(Answer::Done).audit(act, "intl_order.report", id, Some(words), context);
        let news = self.life.told(stand, standing, self.amount);
        let releases = self.life.releases(&news);
        let ends = news.iter().any(|one| matches!(one, News::Closed(_)));
        let (by, given) = (LedgerProvider::IntlFulfilment, refunded.amount);
        let back = self.charge.given_back(context.now, id, by, releases, given);
        let decided = match back.kept > Usdc::ZERO {
            true => decided.event(Event::Kept(back.kept, context.now)),
            false => decided,
        };
        let decided = news
            .into_iter()
            .fold(decided, |decided, one| decided.event(Event::Told(one, context.now)));
        let mut decided = back.booked(decided, (self.owner, id), (&self.charge, refunded), context);
        if ends {
            decided = decided.enqueue(Job::ShredCvv(id), context);
        }
        Ok(self.answered_by(id, (report.state, report.ends_wish), decided, context))
    }

    /// What the holder wants has come true with this, or nothing will come of it.
    fn answered_by(
        &self,
        id: CardId,
        (state, ends_wish): (CardState, bool),
        decided: Decision<Self>,
        context: &Context,
    ) -> Decision<Self> {
        let Some(wish) = self.life.wish else { return decided };
        let is_done = matches!(
            (wish, state),
            (CardAction::Pause, CardState::Paused)
                | (CardAction::Resume, CardState::Open)
                | (CardAction::Close, CardState::Closed)
        );
        if is_done {
            return self.without_wish(id, decided.event(Event::Answered(context.now)));
        }
        // Of a card that is closed nothing more can come.
        if ends_wish || state == CardState::Closed {
            return self.without_wish(id, decided.event(Event::WishEnded(context.now)));
        }
        decided
    }

    /// Takes it off the operators' list.
    pub(super) fn without_wish(&self, id: CardId, decided: Decision<Self>) -> Decision<Self> {
        match self.wished_at {
            Some(since) => decided.delete(table::card_wish(since, id)),
            None => decided,
        }
    }

    pub(super) fn wishing(self, wish: Option<CardAction>, at: Timestamp) -> Self {
        let wished_at = wish.map(|_| self.wished_at.unwrap_or(at));
        let life = Life { wish, ..self.life };
        Self {
            life,
            wished_at,
            ..self
        }
    }

    pub(super) fn noted(self, change: Change, at: Timestamp) -> Self {
        let life = self.life.noted(change, at);
        Self { life, ..self }
    }

    /// After something new was reported.
    pub(super) fn after(self, news: &News, at: Timestamp) -> Result<Self, InvalidTransition> {
        let status = match (&self.status, news) {
            (Status::Ready(d), News::Paused(_)) => Status::Paused(d.clone()),
            (Status::Paused(d), News::Resumed(_)) => Status::Ready(d.clone()),
            (Status::Ready(d) | Status::Paused(d), News::Closed(_)) => Status::Closed(d.clone()),
            (Status::Ready(_) | Status::Paused(_), News::Charged(..))
            | (Status::Closed(_) | Status::Expired(_), News::Charged(..) | News::Released(_)) => self.status.clone(),
            (_, _) => return Err(InvalidTransition::new(self.status(), news)),
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
