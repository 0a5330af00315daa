//! Card actions of an international card, and operators' reports.

use super::{CardReport, Event, IntlOrder, Job, Rejection, Reply, Status};
use crate::entity::card::lifecycle::{ActionDecision, CardLifecycle, CardUpdate, LifecycleChange, LifecycleState};
use crate::entity::refund::Refunded;
use crate::id::CardId;
use crate::kernel::{Context, Decision, Entity as _, InvalidTransition, table};
use crate::ledger::LedgerProvider;
use crate::money::Usdc;
use crate::operator::{AuditAction, AuditedAction};
use crate::port::{CardAction, CardSnapshot, CardState, Timestamp};

impl IntlOrder {
    /// Puts the requested action into the operators' list, unless it is already in effect. An action in the list has
    /// not been started, so the account owner may replace or cancel it.
    pub(super) fn request_action(&self, id: CardId, action: CardAction, context: &Context) -> Decision<Self> {
        let Some(state) = self.lifecycle_state() else {
            return Decision::answer(Reply::ActionRequested(false));
        };
        let before = CardLifecycle {
            pending_action: None,
            ..self.lifecycle.clone()
        };
        let is_so = before.decide_action(state, action) == ActionDecision::AlreadyInEffect;
        match (self.lifecycle.decide_action(state, action), is_so) {
            (ActionDecision::InProgress, _) => Decision::answer(Reply::ActionRequested(true)),
            (ActionDecision::OtherInProgress(_), true) => {
                let decided =
                    Decision::answer(Reply::ActionRequested(false)).event(Event::ActionCancelled(context.now));
                self.clear_pending_action(id, decided)
            }
            (_, true) => Decision::answer(Reply::ActionRequested(false)),
            (_, false) => {
                let decided =
                    Decision::answer(Reply::ActionRequested(true)).event(Event::ActionRequested(action, context.now));
                // A replacing action keeps the position of the first.
                match self.action_requested_at {
                    Some(_) => decided,
                    None => decided.put_new(table::pending_card_action(context.now, id), Vec::new()),
                }
            }
        }
    }

    /// Applies an operator's report. Its position in the audit log makes it the newest event.
    pub(super) fn record_report(
        &self,
        id: CardId,
        act: &AuditedAction,
        (report, refunded): (CardReport, Refunded),
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let Some(state) = self.lifecycle_state() else {
            return Err(Rejection::InvalidState(self.status()));
        };
        if state == LifecycleState::Ended && report.state != CardState::Closed {
            return Err(Rejection::Ended);
        }
        if report.released > self.amount || report.released < self.lifecycle.released {
            return Err(Rejection::Released);
        }
        let standing = CardSnapshot {
            sequence: self.lifecycle.sequence.saturating_add(1),
            state: report.state,
            activity: report.activity,
            released: report.released,
        };
        let words = format!("{} released", report.released.decimal());
        let decided = Decision::answer(Reply::Done).audit(act, AuditAction::IntlOrderReport, id, Some(words), context);
        let news = self.lifecycle.updates_from(state, standing, self.amount);
        let releases = self.lifecycle.released_totals(&news);
        let ends = news.iter().any(|one| matches!(one, CardUpdate::Closed(_)));
        let (by, given) = (LedgerProvider::IntlFulfilment, refunded.amount);
        let back = self.charge.return_remainder(context.now, id, by, releases, given);
        let decided = match back.retained > Usdc::ZERO {
            true => decided.event(Event::RemainderRetained(back.retained, context.now)),
            false => decided,
        };
        let decided = news
            .into_iter()
            .fold(decided, |decided, one| decided.event(Event::Updated(one, context.now)));
        let mut decided = back.post_and_credit(decided, (self.owner, id), (&self.charge, refunded), context);
        if ends {
            decided = decided.enqueue(Job::ShredCvv(id), context);
        }
        Ok(self.complete_action(id, (report.state, report.ends_action), decided, context))
    }

    /// Whether the report completes the pending action, or the action can no longer be carried out.
    fn complete_action(
        &self,
        id: CardId,
        (state, ends_action): (CardState, bool),
        decided: Decision<Self>,
        context: &Context,
    ) -> Decision<Self> {
        let Some(action) = self.lifecycle.pending_action else {
            return decided;
        };
        let is_done = matches!(
            (action, state),
            (CardAction::Pause, CardState::Paused)
                | (CardAction::Resume, CardState::Open)
                | (CardAction::Close, CardState::Closed)
        );
        if is_done {
            return self.clear_pending_action(id, decided.event(Event::ActionCompleted(context.now)));
        }
        // A closed card can have no further action.
        if ends_action || state == CardState::Closed {
            return self.clear_pending_action(id, decided.event(Event::ActionCancelled(context.now)));
        }
        decided
    }

    /// Removes it from the operators' list.
    pub(super) fn clear_pending_action(&self, id: CardId, decided: Decision<Self>) -> Decision<Self> {
        match self.action_requested_at {
            Some(since) => decided.delete(table::pending_card_action(since, id)),
            None => decided,
        }
    }

    pub(super) fn with_pending_action(self, action: Option<CardAction>, at: Timestamp) -> Self {
        let requested_at = action.map(|_| self.action_requested_at.unwrap_or(at));
        let life = CardLifecycle {
            pending_action: action,
            ..self.lifecycle
        };
        Self {
            lifecycle: life,
            action_requested_at: requested_at,
            ..self
        }
    }

    pub(super) fn with_history_entry(self, change: LifecycleChange, at: Timestamp) -> Self {
        let life = self.lifecycle.with_history_entry(change, at);
        Self {
            lifecycle: life,
            ..self
        }
    }

    /// State after a reported update.
    pub(super) fn apply_update(self, news: &CardUpdate, at: Timestamp) -> Result<Self, InvalidTransition> {
        let status = match (&self.status, news) {
            (Status::Ready(d), CardUpdate::Paused(_)) => Status::Paused(d.clone()),
            (Status::Paused(d), CardUpdate::Resumed(_)) => Status::Ready(d.clone()),
            (Status::Ready(d) | Status::Paused(d), CardUpdate::Closed(_)) => Status::Closed(d.clone()),
            (Status::Ready(_) | Status::Paused(_), CardUpdate::Charged(..))
            | (Status::Closed(_) | Status::Expired(_), CardUpdate::Charged(..) | CardUpdate::Released(_)) => {
                self.status.clone()
            }
            (_, _) => return Err(InvalidTransition::new(self.status(), news)),
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
