//! State machine of a reloadable card.

use purser_storage::mutants::{self, Mutant};

use super::{CardDetails, CardHistoryEntry, Command, Event, Job, MAX_HISTORY, Rejection, ReloadableCard, Status};
use super::{ReloadableCardType, ReloadableCardView};
use crate::id::{CardId, JobId, Wallet};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::port::{CardAction, CardActivity, CardSnapshot, CardState, IssuedCard, Timestamp};

impl ReloadableCard {
    /// Sends the requested action to the issuer, unless it is already in effect.
    fn request_action(&self, id: CardId, action: CardAction, context: &Context) -> Result<Decision<Self>, Rejection> {
        if !self.is_usable() {
            return Err(Rejection::InvalidState(self.status()));
        }
        match self.pending_action {
            Some(under_way) if under_way == action => return Ok(Decision::answer(true)),
            Some(under_way) => return Err(Rejection::ActionInProgress(under_way)),
            None => {}
        }
        let is_so = matches!(
            (&self.status, action),
            (Status::Open(_), CardAction::Resume) | (Status::Paused(_), CardAction::Pause)
        );
        if is_so {
            return Ok(Decision::answer(false));
        }
        Ok(Decision::answer(true)
            .event(Event::ActionRequested(action, context.now))
            .enqueue(Job::ChangeCardState(id), context))
    }

    /// Events caused by an issuer event; none if it is not newer than the last one. It can report several transactions
    /// at once. Declined and refunded transactions are reported for a card that has ended too.
    fn apply_card_state(&self, standing: CardSnapshot, at: Timestamp) -> Vec<Event> {
        if standing.sequence <= self.sequence && !mutants::is_enabled(Mutant::StaleCardEventApplied) {
            return Vec::new();
        }
        if matches!(self.status, Status::Creating | Status::Failed { .. }) {
            return Vec::new();
        }
        let standing = CardSnapshot {
            activity: standing.activity.bounded(),
            ..standing
        };
        let charges = standing.activity.changes_since(&self.activity).into_iter();
        let mut events: Vec<Event> = charges
            .map(|charge| Event::Charged(standing.clone(), Some(charge), at))
            .collect();
        match (&self.status, standing.state) {
            (Status::Open(_), CardState::Paused) => events.push(Event::Paused(standing, at)),
            (Status::Paused(_), CardState::Open) => events.push(Event::Resumed(standing, at)),
            (Status::Open(_) | Status::Paused(_), CardState::Closed) => events.push(Event::Closed(standing, at)),
            _ if events.is_empty() => events.push(Event::Charged(standing, None, at)),
            _ => {}
        }
        events
    }

    /// State after an issuer event.
    fn record_state(self, standing: &CardSnapshot, status: Status, at: Timestamp) -> Self {
        Self {
            sequence: standing.sequence,
            activity: standing.activity.clone(),
            ..self
        }
        .at(status, at)
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    fn record_history(mut self, change: CardHistoryEntry, at: Timestamp) -> Self {
        let over = (self.history.len() + 1).saturating_sub(MAX_HISTORY);
        self.history.drain(..over);
        self.history.push((change, at));
        self
    }
}

fn opened(id: CardId, card: IssuedCard, decided: Decision<ReloadableCard>, at: Timestamp) -> Decision<ReloadableCard> {
    let details = CardDetails {
        issuer_ref: card.issuer_ref,
        last4: card.last4,
        exp_month: card.exp_month,
        exp_year: card.exp_year,
    };
    decided
        .put_new(table::vault(id), card.sealed)
        .event(Event::Opened(details, at))
}

impl Entity for ReloadableCard {
    const KIND: EntityKind = EntityKind::ReloadableCard;
    const CREATED_BY_COMMAND: bool = true;

    type Id = CardId;
    type Command = Command;
    /// Whether the action is pending at the issuer.
    type Reply = bool;
    type Rejection = Rejection;
    type Outcome = Self;
    type View<'a> = ReloadableCardView<'a>;

    fn decide(
        this: Option<&Self>,
        id: &CardId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let (decided, at) = (Decision::answer(false), context.now);
        let Some(card) = this else {
            let Command::Request {
                owner,
                account,
                amount,
                reusable,
                funding,
            } = command
            else {
                return Err(Rejection::InvalidState("-"));
            };
            let ordered = Event::Ordered {
                owner,
                account,
                amount,
                reusable,
                funded_by: funding.map(|(payment, _)| payment),
                at,
            };
            // Of two orders decided on the same sum, only one commits.
            let decided = match funding {
                Some((payment, nth)) => decided.put_new(table::payment_card(payment, nth), id.0.to_be_bytes().to_vec()),
                None => decided,
            };
            return Ok(decided
                .requires_present(table::issuer_linked(&owner))
                .index_for_owner(&owner, EntityKind::ReloadableCard, id.0, context)
                .event(ordered)
                .enqueue_as(JobId(id.0), Job::OpenReloadableCard(*id), context));
        };
        match (&card.status, command) {
            (Status::Creating, Command::RecordOpened { job: effect, card }) => {
                Ok(opened(*id, card, decided.completes_job(effect), at))
            }
            (Status::Creating, Command::RecordDecline { job: effect, reason }) => {
                Ok(decided.completes_job(effect).event(Event::Declined(reason, at)))
            }
            (_, Command::RequestAction(action)) => card.request_action(*id, action, context),
            (
                _,
                Command::RecordActionResult {
                    job: effect,
                    snapshot: standing,
                },
            ) if card.pending_action.is_some() => {
                let decided = decided.completes_job(effect);
                let decided = card
                    .apply_card_state(standing, at)
                    .into_iter()
                    .fold(decided, Decision::event);
                Ok(decided.event(Event::ActionCompleted(at)))
            }
            (Status::Open(_) | Status::Paused(_) | Status::Closed(_), Command::RecordCardEvent(standing)) => Ok(card
                .apply_card_state(standing, at)
                .into_iter()
                .fold(decided, Decision::event)),
            (Status::Open(_) | Status::Paused(_), Command::Reveal) => Ok(decided.event(Event::Revealed(at))),
            (_, _) => Err(Rejection::InvalidState(card.status())),
        }
    }

    fn apply(this: Option<Self>, _: &CardId, event: &Event) -> Result<Self, InvalidTransition> {
        let Some(card) = this else {
            return match event {
                Event::Ordered {
                    owner,
                    account,
                    amount,
                    reusable,
                    funded_by,
                    at,
                } => Ok(Self {
                    owner: *owner,
                    account: *account,
                    amount: *amount,
                    reusable: *reusable,
                    funded_by: *funded_by,
                    created_at: *at,
                    updated_at: *at,
                    pending_action: None,
                    sequence: 0,
                    activity: CardActivity::default(),
                    history: Vec::new(),
                    status: Status::Creating,
                }),
                event => Err(InvalidTransition::new("-", event)),
            };
        };
        match (card.status.clone(), event) {
            (Status::Creating, Event::Opened(details, at)) => {
                let available = card.amount;
                let loaded = Self {
                    activity: CardActivity::loaded(available),
                    ..card
                };
                Ok(loaded
                    .at(Status::Open(details.clone()), *at)
                    .record_history(CardHistoryEntry::Opened, *at))
            }
            (Status::Creating, Event::Declined(reason, at)) => {
                let reason = reason.clone();
                Ok(card
                    .at(Status::Failed { reason }, *at)
                    .record_history(CardHistoryEntry::Failed, *at))
            }
            (status @ (Status::Open(_) | Status::Paused(_)), Event::ActionRequested(action, at))
                if card.pending_action.is_none() =>
            {
                let action = Some(*action);
                Ok(Self {
                    pending_action: action,
                    ..card
                }
                .at(status, *at))
            }
            (status, Event::ActionCompleted(at)) if card.pending_action.is_some() => Ok(Self {
                pending_action: None,
                ..card
            }
            .at(status, *at)),
            (Status::Open(details), Event::Paused(standing, at)) => Ok(card
                .record_state(standing, Status::Paused(details), *at)
                .record_history(CardHistoryEntry::Paused, *at)),
            (Status::Paused(details), Event::Resumed(standing, at)) => Ok(card
                .record_state(standing, Status::Open(details), *at)
                .record_history(CardHistoryEntry::Resumed, *at)),
            (Status::Open(details) | Status::Paused(details), Event::Closed(standing, at)) => Ok(card
                .record_state(standing, Status::Closed(details), *at)
                .record_history(CardHistoryEntry::Closed, *at)),
            (status @ (Status::Open(_) | Status::Paused(_) | Status::Closed(_)), Event::Charged(standing, _, at)) => {
                Ok(card.record_state(standing, status, *at))
            }
            (Status::Open(_) | Status::Paused(_), Event::Revealed(_)) => Ok(card),
            (_, event) => Err(InvalidTransition::new(card.status(), event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &CardId) -> ReloadableCardView<'_> {
        let reason = match &self.status {
            Status::Failed { reason } => Some(reason.as_str()),
            _ => None,
        };
        ReloadableCardView {
            card_id: *id,
            status: self.state(),
            state: self.state(),
            card_type: ReloadableCardType::Reloadable,
            usd_amount: self.amount.into(),
            available_usd_amount: self.activity.available.into(),
            reusable: self.reusable,
            country: "US",
            last4: self.details().map(|d| d.last4.as_str()),
            pending_action: self.pending_action,
            failure_reason: reason,
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<Self> {
        (self.status != Status::Creating && self.pending_action.is_none()).then(|| self.clone())
    }
}
