//! The delivery's state machine.

use super::{Attempt, Command, Delivery, Event, Rejection, Status, Verdict};
use crate::id::{DeliveryId, EffectId, Wallet};
use crate::kernel::effect::Work;
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, OutOfOrder, View, table};
use crate::operator::Deed;
use crate::port::Timestamp;

type Decided = Result<Decision<Delivery>, Rejection>;

fn open(id: DeliveryId, command: Command, context: &Context) -> Decided {
    let Command::Open { owner, letter } = command else {
        return Err(Rejection::Unknown);
    };
    let (at, endpoint) = (context.now, letter.endpoint);
    let work = Work::PostWebhook {
        delivery: id,
        endpoint,
        round: 1,
    };
    Ok(Decision::answer(())
        .put(Delivery::listed(&owner, at, id), endpoint.0.to_be_bytes().to_vec())
        .event(Event::Opened { owner, letter, at })
        .then(work, context))
}

impl Delivery {
    /// Its row in the owner's list, which begins with the newest; the value is the endpoint's number.
    pub fn listed(owner: &Wallet, at: Timestamp, id: DeliveryId) -> purser_storage::RowKey {
        table::owned_one(owner, Kind::WebhookDelivery, Timestamp(u64::MAX - at.0), id.0)
    }

    const fn work(&self, id: DeliveryId, round: u32) -> Work {
        Work::PostWebhook {
            delivery: id,
            endpoint: self.letter.endpoint,
            round,
        }
    }

    fn again(&self, id: DeliveryId, by: Option<&Deed>, context: &Context) -> Decision<Self> {
        let decided = Decision::answer(());
        let decided = match by {
            Some(act) => decided.audited(act, "webhook.redeliver", id, None, context),
            None => decided,
        };
        decided
            .event(Event::Reopened(context.now))
            .then(self.work(id, self.round.saturating_add(1)), context)
    }

    fn tried(
        &self,
        id: DeliveryId,
        (effect, round): (EffectId, u32),
        (attempt, verdict): (Attempt, Verdict),
        context: &Context,
    ) -> Decision<Self> {
        let decided = Decision::answer(()).completes(effect);
        match verdict {
            Verdict::Delivered => decided.event(Event::Delivered(attempt)),
            // The round that goes on has its own tries.
            _ if round != self.round => decided.event(Event::Missed(attempt, None)),
            Verdict::Again(at) => {
                decided
                    .event(Event::Missed(attempt, Some(at)))
                    .then_at(at, self.work(id, round), context)
            }
            Verdict::Over => decided.event(Event::Failed(attempt)),
        }
    }

    fn noted(mut self, attempt: &Attempt, status: Status) -> Self {
        if self.attempts.len() >= Self::ATTEMPTS_MAX {
            self.attempts.remove(0);
        }
        self.attempts.push(attempt.clone());
        Self {
            tries: self.tries.saturating_add(1),
            updated_at: attempt.at.plus_ms(attempt.took_ms),
            status,
            ..self
        }
    }
}

impl Entity for Delivery {
    const KIND: Kind = Kind::WebhookDelivery;
    const CHANGES: &'static [&'static str] = &[];
    const MOVES: &'static [Move] = &[
        ("-", "an event that its endpoint wants", "pending"),
        ("pending", "receiver answers 2xx", "delivered"),
        ("pending", "the last try fails, or 410", "failed"),
        ("pending", "its endpoint or its event is there no more", "dropped"),
        ("delivered", "asked for again", "pending"),
        ("failed", "asked for again", "pending"),
        ("dropped", "asked for again", "pending"),
    ];
    const SELF_BORN: bool = true;

    type Id = DeliveryId;
    type Command = Command;
    type Event = Event;
    type Answer = ();
    type Rejection = Rejection;
    type Outcome = ();

    fn decide(this: Option<&Self>, id: &DeliveryId, command: Command, context: &Context) -> Decided {
        let Some(delivery) = this else {
            return open(*id, command, context);
        };
        let decided = Decision::answer(());
        Ok(match (delivery.status, command) {
            (_, Command::Open { .. }) => decided,
            (Status::Failed | Status::Dropped(_), Command::Again { by, .. })
            | (Status::Pending { .. } | Status::Delivered, Command::Again { whatever: true, by }) => {
                delivery.again(*id, by.as_ref(), context)
            }
            (Status::Pending { .. } | Status::Delivered, Command::Again { whatever: false, .. }) => decided,
            (
                Status::Pending { .. },
                Command::Tried {
                    effect,
                    round,
                    attempt,
                    verdict,
                },
            ) => delivery.tried(*id, (effect, round), (attempt, verdict), context),
            (Status::Pending { .. }, Command::Later { effect, round, at }) if round == delivery.round => decided
                .completes(effect)
                .then_at(at, delivery.work(*id, round), context),
            (Status::Pending { .. }, Command::Drop { effect, round, why }) if round == delivery.round => {
                decided.completes(effect).event(Event::Dropped(why, context.now))
            }
            // Of an earlier round, or after the end.
            (_, Command::Tried { effect, .. } | Command::Later { effect, .. } | Command::Drop { effect, .. }) => {
                decided.completes(effect)
            }
        })
    }

    fn apply(this: Option<Self>, _: &DeliveryId, event: &Event) -> Result<Self, OutOfOrder> {
        let Some(delivery) = this else {
            return match event {
                Event::Opened { owner, letter, at } => Ok(Self {
                    owner: *owner,
                    letter: letter.clone(),
                    created_at: *at,
                    updated_at: *at,
                    round: 1,
                    failed: 0,
                    tries: 0,
                    attempts: Vec::new(),
                    status: Status::Pending { next_at: *at },
                }),
                event => Err(OutOfOrder::new("-", event)),
            };
        };
        match (delivery.status, event) {
            (_, Event::Reopened(at)) => Ok(Self {
                round: delivery.round.saturating_add(1),
                failed: 0,
                updated_at: *at,
                status: Status::Pending { next_at: *at },
                ..delivery
            }),
            (Status::Pending { .. }, Event::Delivered(attempt)) => Ok(delivery.noted(attempt, Status::Delivered)),
            (Status::Pending { .. }, Event::Missed(attempt, Some(next_at))) => {
                let failed = delivery.failed.saturating_add(1);
                let next_at = *next_at;
                Ok(Self { failed, ..delivery }.noted(attempt, Status::Pending { next_at }))
            }
            (status @ Status::Pending { .. }, Event::Missed(attempt, None)) => Ok(delivery.noted(attempt, status)),
            (Status::Pending { .. }, Event::Failed(attempt)) => {
                let failed = delivery.failed.saturating_add(1);
                Ok(Self { failed, ..delivery }.noted(attempt, Status::Failed))
            }
            (Status::Pending { .. }, Event::Dropped(why, at)) => Ok(Self {
                updated_at: *at,
                status: Status::Dropped(*why),
                ..delivery
            }),
            (_, event) => Err(OutOfOrder::new(delivery.status(), event)),
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Pending { .. } => "pending",
            Status::Delivered => "delivered",
            Status::Failed => "failed",
            Status::Dropped(_) => "dropped",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    /// Nothing: what is told of events would be an event, and have to be told of.
    fn announces(_: &Event) -> Option<&'static str> {
        None
    }

    fn view(&self, id: &DeliveryId) -> View {
        let (next_at, why) = match self.status {
            Status::Pending { next_at } => (Some(crate::kernel::record::rfc3339(next_at)), None),
            Status::Dropped(why) => (None, Some(why.name())),
            Status::Delivered | Status::Failed => (None, None),
        };
        let attempts = self.attempts.iter().map(Attempt::view);
        View::new()
            .text("id", id)
            .text("delivery_id", id)
            .text("webhook_id", self.letter.endpoint)
            .text("event_id", self.letter.event)
            .text("type", &self.letter.kind)
            .integer("seq", self.letter.seq)
            .text("state", self.status())
            .maybe("dropped_reason", why)
            .maybe("next_attempt_at", next_at)
            .integer("attempt_count", u64::from(self.tries))
            .list("attempts", attempts)
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}

impl Attempt {
    fn view(&self) -> View {
        let view = View::new().time("at", self.at).integer("duration_ms", self.took_ms);
        let view = match self.status {
            Some(status) => view.integer("status", u64::from(status)),
            None => view.maybe("status", None::<&str>),
        };
        view.maybe("error", self.error.as_deref())
            .maybe("response_excerpt", self.excerpt.as_deref())
    }
}
