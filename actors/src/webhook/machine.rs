//! The endpoint's state machine.

use super::{Command, Endpoint, Event, Health, Patience, Rejection, SecretName, Status, Why};
use crate::id::{EffectId, EndpointId, Wallet};
use crate::kernel::effect::Work;
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, OutOfOrder, View, table};
use crate::port::Timestamp;

type Decided = Result<Decision<Endpoint>, Rejection>;

fn register(id: EndpointId, command: Command, context: &Context) -> Decided {
    let Command::Register {
        owner,
        url,
        types,
        record,
        sealed,
        session,
        ..
    } = command
    else {
        return Err(Rejection::State("-"));
    };
    let at = context.now;
    Ok(Decision::answer(())
        .put_new(table::webhook(&owner, &url), id.0.to_be_bytes().to_vec())
        .put_new(SecretName { record, until: None }.row(), sealed)
        .owned(&owner, Kind::Webhook, id.0, context)
        .event(Event::Registered {
            owner,
            url,
            types,
            record,
            session,
            at,
        })
        .event(Event::Tested(at)))
}

impl Endpoint {
    fn rotate(&self, command: Command, context: &Context) -> Decided {
        let Command::Register {
            types,
            record,
            sealed,
            overlap_ms,
            session,
            ..
        } = command
        else {
            return Err(Rejection::State(self.status()));
        };
        let at = context.now;
        let until = at.plus_ms(overlap_ms);
        let fresh = SecretName { record, until: None };
        let mut decided = Decision::answer(()).put_new(fresh.row(), sealed);
        // What signs no more is forgotten on this occasion.
        let kept = self.kept(at);
        for over in self.secrets.iter().filter(|secret| !kept.contains(secret)) {
            decided = decided.take(over.row());
        }
        let decided = decided.event(Event::Rotated {
            types,
            record,
            until,
            session,
            at,
        });
        let decided = match self.status {
            Status::Disabled(_) => decided.event(Event::Enabled(at)),
            _ => decided,
        };
        Ok(decided.event(Event::Tested(at)))
    }

    /// The secrets that a new one is put before.
    fn kept(&self, now: Timestamp) -> Vec<SecretName> {
        self.signing(now).take(Self::SECRETS_MAX - 1).copied().collect()
    }

    fn failed(&self, gone: bool, patience: Patience, now: Timestamp) -> Decision<Self> {
        let decided = Decision::answer(());
        let (since, told, decided) = match self.health {
            Health::Failing { since, told } => (since, told, decided),
            Health::Untried | Health::Well => (now, false, decided.event(Event::Failing(now))),
        };
        if gone {
            return decided.event(Event::Disabled(Why::Gone, now));
        }
        let lasts_ms = now.0.saturating_sub(since.0);
        let decided = match lasts_ms >= patience.warn_ms.min(patience.disable_ms) && !told {
            true => decided.event(Event::Warned(now)),
            false => decided,
        };
        match lasts_ms >= patience.disable_ms {
            true => decided.event(Event::Disabled(Why::Failing, now)),
            false => decided,
        }
    }

    fn delete(&self, now: Timestamp) -> Decision<Self> {
        let decided = Decision::answer(()).take(table::webhook(&self.owner, &self.url));
        let decided = self
            .secrets
            .iter()
            .fold(decided, |decided, secret| decided.take(secret.row()));
        decided.event(Event::Deleted(now))
    }
}

impl Entity for Endpoint {
    const KIND: Kind = Kind::Webhook;
    const CHANGES: &'static [&'static str] = &[
        "registered",
        "rotated",
        "enabled",
        "test",
        "recovered",
        "failing",
        "redelivery_requested",
        "disabled",
        "deleted",
    ];
    const MOVES: &'static [Move] = &[
        ("-", "owner registers it", "active"),
        ("active", "it answers 410, or only fails for too long", "disabled"),
        ("disabled", "owner registers its URL again", "active"),
        ("active", "owner deletes it", "deleted"),
        ("disabled", "owner deletes it", "deleted"),
    ];
    const SELF_BORN: bool = true;

    type Id = EndpointId;
    type Command = Command;
    type Event = Event;
    type Answer = ();
    type Rejection = Rejection;
    type Outcome = ();

    fn decide(this: Option<&Self>, id: &EndpointId, command: Command, context: &Context) -> Decided {
        let Some(endpoint) = this else {
            return register(*id, command, context);
        };
        let (decided, now) = (Decision::answer(()), context.now);
        match (endpoint.status, command) {
            // An effect ends whatever has become of the endpoint.
            (_, Command::Resent { effect }) => Ok(decided.completes(effect)),
            (Status::Deleted, Command::Answered | Command::Failed { .. }) => Ok(decided),
            (Status::Deleted, _) => Err(Rejection::State(endpoint.status())),
            (_, command @ Command::Register { .. }) => endpoint.rotate(command, context),
            (_, Command::Delete) => Ok(endpoint.delete(now)),
            (Status::Active, Command::Answered) => Ok(match endpoint.health {
                Health::Well => decided,
                Health::Untried => decided.event(Event::Recovered(false, now)),
                Health::Failing { told, .. } => decided.event(Event::Recovered(told, now)),
            }),
            (Status::Active, Command::Failed { gone, patience }) => Ok(endpoint.failed(gone, patience, now)),
            (Status::Active, Command::Resend { since, upto, by }) => {
                let endpoint = *id;
                let decided = match by {
                    Some(act) => decided.audited(&act, "webhook.redeliver", id, None, context),
                    None => decided,
                };
                Ok(decided
                    .event(Event::ResendAsked(now))
                    // One at a time: it reads everything since then.
                    .then_as(EffectId(id.0), Work::ResendWebhooks { endpoint, since, upto }, context))
            }
            // The last tries of one that was given up.
            (Status::Disabled(_), Command::Answered | Command::Failed { .. }) => Ok(decided),
            (Status::Disabled(_), Command::Resend { .. }) => Err(Rejection::State(endpoint.status())),
        }
    }

    fn apply(this: Option<Self>, _: &EndpointId, event: &Event) -> Result<Self, OutOfOrder> {
        let Some(endpoint) = this else {
            return match event {
                Event::Registered {
                    owner,
                    url,
                    types,
                    record,
                    session,
                    at,
                } => Ok(Self {
                    owner: *owner,
                    url: url.clone(),
                    types: types.clone(),
                    created_at: *at,
                    updated_at: *at,
                    since: *at,
                    session: *session,
                    secrets: vec![SecretName {
                        record: *record,
                        until: None,
                    }],
                    health: Health::Untried,
                    status: Status::Active,
                }),
                event => Err(OutOfOrder::new("-", event)),
            };
        };
        let (health, status) = (endpoint.health, endpoint.status);
        match (status, event) {
            (Status::Active | Status::Disabled(_), Event::Rotated { .. }) => Ok(endpoint.rotated(event)),
            (Status::Disabled(_), Event::Enabled(at)) => {
                let (health, status) = (Health::Untried, Status::Active);
                let since = *at;
                Ok(Self { since, ..endpoint }.at(health, status, *at))
            }
            (Status::Active, Event::Tested(at) | Event::ResendAsked(at)) => Ok(endpoint.at(health, status, *at)),
            (Status::Active, Event::Recovered(_, at)) => Ok(endpoint.at(Health::Well, status, *at)),
            (Status::Active, Event::Failing(at)) => {
                let health = Health::Failing {
                    since: *at,
                    told: false,
                };
                Ok(endpoint.at(health, status, *at))
            }
            (Status::Active, Event::Warned(at)) => match health {
                Health::Failing { since, told: false } => {
                    Ok(endpoint.at(Health::Failing { since, told: true }, status, *at))
                }
                _ => Err(OutOfOrder::new("active", event)),
            },
            (Status::Active, Event::Disabled(why, at)) => Ok(endpoint.at(health, Status::Disabled(*why), *at)),
            (Status::Active | Status::Disabled(_), Event::Deleted(at)) => {
                let secrets = Vec::new();
                Ok(Self { secrets, ..endpoint }.at(health, Status::Deleted, *at))
            }
            (_, event) => Err(OutOfOrder::new(endpoint.status(), event)),
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Active => "active",
            Status::Disabled(_) => "disabled",
            Status::Deleted => "deleted",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn announces(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Registered { .. } => "registered",
            Event::Rotated { .. } => "rotated",
            Event::Enabled(_) => "enabled",
            Event::Tested(_) => "test",
            Event::Recovered(true, _) => "recovered",
            // A single bad try is nobody's business.
            Event::Recovered(false, _) | Event::Failing(_) => return None,
            Event::Warned(_) => "failing",
            Event::ResendAsked(_) => "redelivery_requested",
            Event::Disabled(..) => "disabled",
            Event::Deleted(_) => "deleted",
        })
    }

    fn view(&self, id: &EndpointId) -> View {
        let failing = match self.health {
            Health::Failing { since, .. } => Some(crate::kernel::record::rfc3339(since)),
            Health::Untried | Health::Well => None,
        };
        let why = match self.status {
            Status::Disabled(why) => Some(why.name()),
            Status::Active | Status::Deleted => None,
        };
        View::new()
            .text("id", id)
            .text("webhook_id", id)
            .text("url", &self.url)
            .texts("types", &self.types)
            .text("state", self.status())
            .maybe("disabled_reason", why)
            .maybe("failing_since", failing)
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}

impl Endpoint {
    fn at(self, health: Health, status: Status, updated_at: Timestamp) -> Self {
        Self {
            health,
            status,
            updated_at,
            ..self
        }
    }

    fn rotated(self, event: &Event) -> Self {
        let Event::Rotated {
            types,
            record,
            until,
            session,
            at,
        } = event
        else {
            return self;
        };
        // One that ends sooner is not made to last.
        let before = self.kept(*at).into_iter().map(|secret| SecretName {
            until: secret.until.or(Some(*until)),
            ..secret
        });
        let fresh = SecretName {
            record: *record,
            until: None,
        };
        Self {
            types: types.clone(),
            session: *session,
            secrets: std::iter::once(fresh).chain(before).collect(),
            updated_at: *at,
            ..self
        }
    }
}
