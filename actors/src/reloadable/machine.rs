//! The card's state machine.

use purser_storage::planted::{self, Bug};

use super::{Change, Command, Details, Event, HISTORY, Rejection, Reloadable, Status};
use crate::id::{CardId, EffectId, Wallet};
use crate::kernel::effect::Work;
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, OutOfOrder, View, table};
use crate::port::{CardActivity, CardState, ChargeNews, IssuedCard, Standing, Timestamp, Wish};

impl Reloadable {
    /// Asks the issuer for what the holder wants, unless it is so already.
    fn steer(&self, id: CardId, wish: Wish, context: &Context) -> Result<Decision<Self>, Rejection> {
        if !self.is_alive() {
            return Err(Rejection::State(self.status()));
        }
        match self.wish {
            Some(under_way) if under_way == wish => return Ok(Decision::answer(true)),
            Some(under_way) => return Err(Rejection::Busy(under_way)),
            None => {}
        }
        let is_so = matches!(
            (&self.status, wish),
            (Status::Open(_), Wish::Resume) | (Status::Paused(_), Wish::Pause)
        );
        if is_so {
            return Ok(Decision::answer(false));
        }
        Ok(Decision::answer(true)
            .event(Event::Wished(wish, context.now))
            .then(Work::SteerCard(id), context))
    }

    /// What a word of the issuer's changes; nothing if it is not newer than the last one. It may tell of several charges at
    /// once; a charge that is refused, or given back, is told of a card that has ended, too.
    fn stands(&self, standing: Standing, at: Timestamp) -> Vec<Event> {
        if standing.sequence <= self.sequence && !planted::is(Bug::OldCardWord) {
            return Vec::new();
        }
        if matches!(self.status, Status::Creating | Status::Failed { .. }) {
            return Vec::new();
        }
        let standing = Standing {
            activity: standing.activity.bounded(),
            ..standing
        };
        let charges = standing.activity.news(&self.activity).into_iter();
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

    /// After a word of the issuer's.
    fn standing(self, standing: &Standing, status: Status, at: Timestamp) -> Self {
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

    fn noted(mut self, change: Change, at: Timestamp) -> Self {
        let over = (self.history.len() + 1).saturating_sub(HISTORY);
        self.history.drain(..over);
        self.history.push((change, at));
        self
    }
}

fn opened(id: CardId, card: IssuedCard, decided: Decision<Reloadable>, at: Timestamp) -> Decision<Reloadable> {
    let details = Details {
        issuer_ref: card.issuer_ref,
        last4: card.last4,
        exp_month: card.exp_month,
        exp_year: card.exp_year,
    };
    decided
        .put_new(table::vault(id), card.sealed)
        .event(Event::Opened(details, at))
}

impl Entity for Reloadable {
    const KIND: Kind = Kind::Reloadable;
    const CHANGES: &'static [&'static str] = &[
        "creating",
        "open",
        "failed",
        "pause_requested",
        "resume_requested",
        "close_requested",
        "paused",
        "resumed",
        "closed",
        "charged",
        "charge_settled",
        "charge_declined",
        "charge_refunded",
        "details_viewed",
    ];
    const MOVES: &'static [Move] = &[
        ("-", "holder orders it", "creating"),
        ("creating", "issuer opened and loaded it", "open"),
        ("creating", "issuer definitely refused; nothing was taken", "failed"),
        ("open", "holder pauses it", "paused"),
        ("paused", "holder resumes it", "open"),
        ("open", "holder closes it, or its one charge was made", "closed"),
        ("paused", "holder or issuer closes it", "closed"),
    ];
    const SELF_BORN: bool = true;

    type Id = CardId;
    type Command = Command;
    type Event = Event;
    /// Whether the issuer is asked for something by then.
    type Answer = bool;
    type Rejection = Rejection;
    type Outcome = Self;

    fn decide(
        this: Option<&Self>,
        id: &CardId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let (decided, at) = (Decision::answer(false), context.now);
        let Some(card) = this else {
            let Command::Create {
                owner,
                account,
                amount,
                reusable,
                funding,
            } = command
            else {
                return Err(Rejection::State("-"));
            };
            let ordered = Event::Ordered {
                owner,
                account,
                amount,
                reusable,
                funded_by: funding.map(|(payment, _)| payment),
                at,
            };
            // Two orders that were judged by the same sum do not both hold.
            let decided = match funding {
                Some((payment, nth)) => decided.put_new(table::payment_card(payment, nth), id.0.to_be_bytes().to_vec()),
                None => decided,
            };
            return Ok(decided
                .requires_present(table::linked(&owner))
                .owned(&owner, Kind::Reloadable, id.0, context)
                .event(ordered)
                .then_as(EffectId(id.0), Work::OpenCard(*id), context));
        };
        match (&card.status, command) {
            (Status::Creating, Command::Opened { effect, card }) => {
                Ok(opened(*id, card, decided.completes(effect), at))
            }
            (Status::Creating, Command::Refused { effect, reason }) => {
                Ok(decided.completes(effect).event(Event::Refused(reason, at)))
            }
            (_, Command::Steer(wish)) => card.steer(*id, wish, context),
            (_, Command::Steered { effect, standing }) if card.wish.is_some() => {
                let decided = decided.completes(effect);
                let decided = card.stands(standing, at).into_iter().fold(decided, Decision::event);
                Ok(decided.event(Event::Answered(at)))
            }
            (Status::Open(_) | Status::Paused(_) | Status::Closed(_), Command::Told(standing)) => {
                Ok(card.stands(standing, at).into_iter().fold(decided, Decision::event))
            }
            (Status::Open(_) | Status::Paused(_), Command::Reveal) => Ok(decided.event(Event::Revealed(at))),
            (_, _) => Err(Rejection::State(card.status())),
        }
    }

    fn apply(this: Option<Self>, _: &CardId, event: &Event) -> Result<Self, OutOfOrder> {
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
                    wish: None,
                    sequence: 0,
                    activity: CardActivity::default(),
                    history: Vec::new(),
                    status: Status::Creating,
                }),
                event => Err(OutOfOrder::new("-", event)),
            };
        };
        match (card.status.clone(), event) {
            (Status::Creating, Event::Opened(details, at)) => {
                let available = card.amount;
                let loaded = Self {
                    activity: CardActivity::loaded(available),
                    ..card
                };
                Ok(loaded.at(Status::Open(details.clone()), *at).noted(Change::Opened, *at))
            }
            (Status::Creating, Event::Refused(reason, at)) => {
                let reason = reason.clone();
                Ok(card.at(Status::Failed { reason }, *at).noted(Change::Failed, *at))
            }
            (status @ (Status::Open(_) | Status::Paused(_)), Event::Wished(wish, at)) if card.wish.is_none() => {
                let wish = Some(*wish);
                Ok(Self { wish, ..card }.at(status, *at))
            }
            (status, Event::Answered(at)) if card.wish.is_some() => Ok(Self { wish: None, ..card }.at(status, *at)),
            (Status::Open(details), Event::Paused(standing, at)) => Ok(card
                .standing(standing, Status::Paused(details), *at)
                .noted(Change::Paused, *at)),
            (Status::Paused(details), Event::Resumed(standing, at)) => Ok(card
                .standing(standing, Status::Open(details), *at)
                .noted(Change::Resumed, *at)),
            (Status::Open(details) | Status::Paused(details), Event::Closed(standing, at)) => Ok(card
                .standing(standing, Status::Closed(details), *at)
                .noted(Change::Closed, *at)),
            (status @ (Status::Open(_) | Status::Paused(_) | Status::Closed(_)), Event::Charged(standing, _, at)) => {
                Ok(card.standing(standing, status, *at))
            }
            (Status::Open(_) | Status::Paused(_), Event::Revealed(_)) => Ok(card),
            (_, event) => Err(OutOfOrder::new(card.status(), event)),
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Creating => "creating",
            Status::Open(_) => "open",
            Status::Paused(_) => "paused",
            Status::Closed(_) => "closed",
            Status::Failed { .. } => "failed",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn announces(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Ordered { .. } => "creating",
            Event::Opened(..) => Change::Opened.name(),
            Event::Refused(..) => Change::Failed.name(),
            Event::Wished(wish, _) => wish.requested(),
            // What the answer changed is told by itself.
            Event::Answered(_) => return None,
            Event::Paused(..) => Change::Paused.name(),
            Event::Resumed(..) => Change::Resumed.name(),
            Event::Closed(..) => Change::Closed.name(),
            Event::Charged(_, news, _) => return news.map(ChargeNews::name),
            Event::Revealed(_) => "details_viewed",
        })
    }

    fn view(&self, id: &CardId) -> View {
        let reason = match &self.status {
            Status::Failed { reason } => Some(reason.as_str()),
            _ => None,
        };
        View::new()
            .text("card_id", id)
            .text("status", self.status())
            .text("state", self.status())
            .text("card_type", "Reloadable")
            .number("usd_amount", self.amount.decimal())
            .number("available_usd_amount", self.activity.available.decimal())
            .flag("reusable", self.reusable)
            .text("country", "US")
            .maybe("last4", self.details().map(|d| d.last4.as_str()))
            .maybe("requested", self.wish.map(Wish::name))
            .maybe("failure_reason", reason)
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<Self> {
        (self.status != Status::Creating && self.wish.is_none()).then(|| self.clone())
    }
}
