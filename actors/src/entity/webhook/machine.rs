//! State machine of a webhook endpoint.

use super::WebhookView;
use super::{
    Command, DisabledReason, EndpointHealth, Event, FailureThresholds, Job, Rejection, SecretRef, Status,
    WebhookEndpoint,
};
use crate::id::{JobId, Wallet, WebhookId};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::operator::AuditAction;
use crate::port::Timestamp;

type DecisionResult = Result<Decision<WebhookEndpoint>, Rejection>;

fn register(id: WebhookId, command: Command, context: &Context) -> DecisionResult {
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
        return Err(Rejection::InvalidState("-"));
    };
    let at = context.now;
    Ok(Decision::answer(())
        .put_new(table::webhook(&owner, &url), id.0.to_be_bytes().to_vec())
        .put_new(SecretRef { record, until: None }.row(), sealed)
        .index_for_owner(&owner, EntityKind::Webhook, id.0, context)
        .event(Event::Registered {
            owner,
            url,
            types,
            record,
            session,
            at,
        })
        .event(Event::TestSent(at)))
}

impl WebhookEndpoint {
    fn rotate(&self, command: Command, context: &Context) -> DecisionResult {
        let Command::Register {
            types,
            record,
            sealed,
            overlap_ms,
            session,
            ..
        } = command
        else {
            return Err(Rejection::InvalidState(self.status()));
        };
        let at = context.now;
        let until = at.plus_ms(overlap_ms);
        let fresh = SecretRef { record, until: None };
        let mut decided = Decision::answer(()).put_new(fresh.row(), sealed);
        // Secrets that no longer sign are removed here.
        let kept = self.keep_secrets(at);
        for over in self.secrets.iter().filter(|secret| !kept.contains(secret)) {
            decided = decided.delete(over.row());
        }
        let decided = decided.event(Event::SecretRotated {
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
        Ok(decided.event(Event::TestSent(at)))
    }

    /// Secrets that remain behind a new one.
    fn keep_secrets(&self, now: Timestamp) -> Vec<SecretRef> {
        self.signing(now).take(Self::MAX_SECRETS - 1).copied().collect()
    }

    fn failed(&self, gone: bool, patience: FailureThresholds, now: Timestamp) -> Decision<Self> {
        let decided = Decision::answer(());
        let (since, warned, decided) = match self.health {
            EndpointHealth::Failing { since, warned } => (since, warned, decided),
            EndpointHealth::Unknown | EndpointHealth::Healthy => (now, false, decided.event(Event::Failing(now))),
        };
        if gone {
            return decided.event(Event::Disabled(DisabledReason::Gone, now));
        }
        let lasts_ms = now.0.saturating_sub(since.0);
        let decided = match lasts_ms >= patience.warn_ms.min(patience.disable_ms) && !warned {
            true => decided.event(Event::OwnerWarned(now)),
            false => decided,
        };
        match lasts_ms >= patience.disable_ms {
            true => decided.event(Event::Disabled(DisabledReason::Failing, now)),
            false => decided,
        }
    }

    fn delete(&self, now: Timestamp) -> Decision<Self> {
        let decided = Decision::answer(()).delete(table::webhook(&self.owner, &self.url));
        let decided = self
            .secrets
            .iter()
            .fold(decided, |decided, secret| decided.delete(secret.row()));
        decided.event(Event::Deleted(now))
    }
}

impl Entity for WebhookEndpoint {
    const KIND: EntityKind = EntityKind::Webhook;
    const CREATED_BY_COMMAND: bool = true;

    type Id = WebhookId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = WebhookView<'a>;

    fn decide(this: Option<&Self>, id: &WebhookId, command: Command, context: &Context) -> DecisionResult {
        let Some(endpoint) = this else {
            return register(*id, command, context);
        };
        let (decided, now) = (Decision::answer(()), context.now);
        match (endpoint.status, command) {
            // A job completes whatever the state of the endpoint.
            (_, Command::RecordRedelivered { job }) => Ok(decided.completes_job(job)),
            (Status::Deleted, Command::RecordSuccess | Command::RecordFailure { .. }) => Ok(decided),
            (Status::Deleted, _) => Err(Rejection::InvalidState(endpoint.status())),
            (_, command @ Command::Register { .. }) => endpoint.rotate(command, context),
            (_, Command::Delete) => Ok(endpoint.delete(now)),
            (Status::Active, Command::RecordSuccess) => Ok(match endpoint.health {
                EndpointHealth::Healthy => decided,
                EndpointHealth::Unknown => decided.event(Event::Recovered(false, now)),
                EndpointHealth::Failing { warned, .. } => decided.event(Event::Recovered(warned, now)),
            }),
            (
                Status::Active,
                Command::RecordFailure {
                    gone,
                    thresholds: patience,
                },
            ) => Ok(endpoint.failed(gone, patience, now)),
            (Status::Active, Command::RequestRedelivery { since, upto, by }) => {
                let endpoint = *id;
                let decided = match by {
                    Some(act) => decided.audit(&act, AuditAction::WebhookRedeliver, id, None, context),
                    None => decided,
                };
                Ok(decided
                    .event(Event::RedeliveryRequested(now))
                    // One job at a time: it reads everything since then.
                    .enqueue_as(JobId(id.0), Job::RedeliverWebhooks { endpoint, since, upto }, context))
            }
            // Last attempts of an endpoint that was disabled meanwhile.
            (Status::Disabled(_), Command::RecordSuccess | Command::RecordFailure { .. }) => Ok(decided),
            (Status::Disabled(_), Command::RequestRedelivery { .. }) => Err(Rejection::InvalidState(endpoint.status())),
        }
    }

    fn apply(this: Option<Self>, _: &WebhookId, event: &Event) -> Result<Self, InvalidTransition> {
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
                    secrets: vec![SecretRef {
                        record: *record,
                        until: None,
                    }],
                    health: EndpointHealth::Unknown,
                    status: Status::Active,
                }),
                event => Err(InvalidTransition::new("-", event)),
            };
        };
        let (health, status) = (endpoint.health, endpoint.status);
        match (status, event) {
            (Status::Active | Status::Disabled(_), Event::SecretRotated { .. }) => Ok(endpoint.rotated(event)),
            (Status::Disabled(_), Event::Enabled(at)) => {
                let (health, status) = (EndpointHealth::Unknown, Status::Active);
                let since = *at;
                Ok(Self { since, ..endpoint }.at(health, status, *at))
            }
            (Status::Active, Event::TestSent(at) | Event::RedeliveryRequested(at)) => {
                Ok(endpoint.at(health, status, *at))
            }
            (Status::Active, Event::Recovered(_, at)) => Ok(endpoint.at(EndpointHealth::Healthy, status, *at)),
            (Status::Active, Event::Failing(at)) => {
                let health = EndpointHealth::Failing {
                    since: *at,
                    warned: false,
                };
                Ok(endpoint.at(health, status, *at))
            }
            (Status::Active, Event::OwnerWarned(at)) => match health {
                EndpointHealth::Failing { since, warned: false } => {
                    Ok(endpoint.at(EndpointHealth::Failing { since, warned: true }, status, *at))
                }
                _ => Err(InvalidTransition::new("active", event)),
            },
            (Status::Active, Event::Disabled(why, at)) => Ok(endpoint.at(health, Status::Disabled(*why), *at)),
            (Status::Active | Status::Disabled(_), Event::Deleted(at)) => {
                let secrets = Vec::new();
                Ok(Self { secrets, ..endpoint }.at(health, Status::Deleted, *at))
            }
            (_, event) => Err(InvalidTransition::new(endpoint.status(), event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &WebhookId) -> WebhookView<'_> {
        let failing = match self.health {
            EndpointHealth::Failing { since, .. } => Some(since.into()),
            EndpointHealth::Unknown | EndpointHealth::Healthy => None,
        };
        let why = match self.status {
            Status::Disabled(why) => Some(why),
            Status::Active | Status::Deleted => None,
        };
        WebhookView {
            webhook_id: *id,
            url: self.url.as_str().into(),
            types: &self.types,
            status: self.state(),
            disabled_reason: why,
            failing_since: failing,
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}

impl WebhookEndpoint {
    fn at(self, health: EndpointHealth, status: Status, updated_at: Timestamp) -> Self {
        Self {
            health,
            status,
            updated_at,
            ..self
        }
    }

    fn rotated(self, event: &Event) -> Self {
        let Event::SecretRotated {
            types,
            record,
            until,
            session,
            at,
        } = event
        else {
            return self;
        };
        // A secret that ends sooner is not extended.
        let before = self.keep_secrets(*at).into_iter().map(|secret| SecretRef {
            until: secret.until.or(Some(*until)),
            ..secret
        });
        let fresh = SecretRef {
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
