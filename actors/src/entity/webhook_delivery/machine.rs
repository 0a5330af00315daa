//! State machine of a webhook delivery.

use super::{AttemptResult, Command, DeliveryAttempt, Event, Job, Rejection, Status, WebhookDelivery};
use super::{WebhookAttemptView, WebhookDeliveryView};
use crate::id::{JobId, Wallet, WebhookDeliveryId};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::operator::{AuditAction, AuditedAction};
use crate::port::Timestamp;

type DecisionResult = Result<Decision<WebhookDelivery>, Rejection>;

fn open(id: WebhookDeliveryId, command: Command, context: &Context) -> DecisionResult {
    let Command::Create { owner, message: letter } = command else {
        return Err(Rejection::NotFound);
    };
    let (at, endpoint) = (context.now, letter.endpoint);
    let work = Job::DeliverWebhook {
        delivery: id,
        endpoint,
        round: 1,
    };
    Ok(Decision::answer(())
        .put(
            WebhookDelivery::list_key(&owner, at, id),
            endpoint.0.to_be_bytes().to_vec(),
        )
        .event(Event::Created {
            owner,
            message: letter,
            at,
        })
        .enqueue(work, context))
}

impl WebhookDelivery {
    /// Row key in the owner's list, newest first; the value is the endpoint's number.
    pub fn list_key(owner: &Wallet, at: Timestamp, id: WebhookDeliveryId) -> purser_storage::RowKey {
        table::owner_index_entry(owner, EntityKind::WebhookDelivery, Timestamp(u64::MAX - at.0), id.0)
    }

    const fn delivery_job(&self, id: WebhookDeliveryId, round: u32) -> Job {
        Job::DeliverWebhook {
            delivery: id,
            endpoint: self.message.endpoint,
            round,
        }
    }

    fn redeliver(&self, id: WebhookDeliveryId, by: Option<&AuditedAction>, context: &Context) -> Decision<Self> {
        let decided = Decision::answer(());
        let decided = match by {
            Some(act) => decided.audit(act, AuditAction::WebhookRedeliver, id, None, context),
            None => decided,
        };
        decided
            .event(Event::Reopened(context.now))
            .enqueue(self.delivery_job(id, self.redelivery_count.saturating_add(1)), context)
    }

    fn record_attempt(
        &self,
        id: WebhookDeliveryId,
        (job, round): (JobId, u32),
        (attempt, verdict): (DeliveryAttempt, AttemptResult),
        context: &Context,
    ) -> Decision<Self> {
        let decided = Decision::answer(()).completes_job(job);
        match verdict {
            AttemptResult::Delivered => decided.event(Event::Delivered(attempt)),
            // The current round has its own attempts.
            _ if round != self.redelivery_count => decided.event(Event::AttemptFailed(attempt, None)),
            AttemptResult::Retry(at) => decided.event(Event::AttemptFailed(attempt, Some(at))).enqueue_at(
                at,
                self.delivery_job(id, round),
                context,
            ),
            AttemptResult::GiveUp => decided.event(Event::Failed(attempt)),
        }
    }

    fn with_attempt(mut self, attempt: &DeliveryAttempt, status: Status) -> Self {
        if self.attempts.len() >= Self::MAX_STORED_ATTEMPTS {
            self.attempts.remove(0);
        }
        self.attempts.push(attempt.clone());
        Self {
            attempt_count: self.attempt_count.saturating_add(1),
            updated_at: attempt.at.plus_ms(attempt.took_ms),
            status,
            ..self
        }
    }
}

impl Entity for WebhookDelivery {
    const KIND: EntityKind = EntityKind::WebhookDelivery;
    const CREATED_BY_COMMAND: bool = true;

    type Id = WebhookDeliveryId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = WebhookDeliveryView<'a>;

    fn decide(this: Option<&Self>, id: &WebhookDeliveryId, command: Command, context: &Context) -> DecisionResult {
        let Some(delivery) = this else {
            return open(*id, command, context);
        };
        let decided = Decision::answer(());
        Ok(match (delivery.status, command) {
            (_, Command::Create { .. }) => decided,
            (Status::Failed | Status::Dropped(_), Command::Redeliver { by, .. })
            | (Status::Pending { .. } | Status::Delivered, Command::Redeliver { force: true, by }) => {
                delivery.redeliver(*id, by.as_ref(), context)
            }
            (Status::Pending { .. } | Status::Delivered, Command::Redeliver { force: false, .. }) => decided,
            (
                Status::Pending { .. },
                Command::RecordAttempt {
                    job,
                    round,
                    attempt,
                    verdict,
                },
            ) => delivery.record_attempt(*id, (job, round), (attempt, verdict), context),
            (Status::Pending { .. }, Command::Defer { job, round, at }) if round == delivery.redelivery_count => {
                decided
                    .completes_job(job)
                    .enqueue_at(at, delivery.delivery_job(*id, round), context)
            }
            (Status::Pending { .. }, Command::Drop { job, round, reason }) if round == delivery.redelivery_count => {
                decided.completes_job(job).event(Event::Dropped(reason, context.now))
            }
            // From an earlier round, or after the end.
            (_, Command::RecordAttempt { job, .. } | Command::Defer { job, .. } | Command::Drop { job, .. }) => {
                decided.completes_job(job)
            }
        })
    }

    fn apply(this: Option<Self>, _: &WebhookDeliveryId, event: &Event) -> Result<Self, InvalidTransition> {
        let Some(delivery) = this else {
            return match event {
                Event::Created {
                    owner,
                    message: letter,
                    at,
                } => Ok(Self {
                    owner: *owner,
                    message: letter.clone(),
                    created_at: *at,
                    updated_at: *at,
                    redelivery_count: 1,
                    failed: 0,
                    attempt_count: 0,
                    attempts: Vec::new(),
                    status: Status::Pending { next_at: *at },
                }),
                event => Err(InvalidTransition::new("-", event)),
            };
        };
        match (delivery.status, event) {
            (_, Event::Reopened(at)) => Ok(Self {
                redelivery_count: delivery.redelivery_count.saturating_add(1),
                failed: 0,
                updated_at: *at,
                status: Status::Pending { next_at: *at },
                ..delivery
            }),
            (Status::Pending { .. }, Event::Delivered(attempt)) => {
                Ok(delivery.with_attempt(attempt, Status::Delivered))
            }
            (Status::Pending { .. }, Event::AttemptFailed(attempt, Some(next_at))) => {
                let failed = delivery.failed.saturating_add(1);
                let next_at = *next_at;
                Ok(Self { failed, ..delivery }.with_attempt(attempt, Status::Pending { next_at }))
            }
            (status @ Status::Pending { .. }, Event::AttemptFailed(attempt, None)) => {
                Ok(delivery.with_attempt(attempt, status))
            }
            (Status::Pending { .. }, Event::Failed(attempt)) => {
                let failed = delivery.failed.saturating_add(1);
                Ok(Self { failed, ..delivery }.with_attempt(attempt, Status::Failed))
            }
            (Status::Pending { .. }, Event::Dropped(why, at)) => Ok(Self {
                updated_at: *at,
                status: Status::Dropped(*why),
                ..delivery
            }),
            (_, event) => Err(InvalidTransition::new(delivery.status(), event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    /// Always `None`: an event about a delivery would itself need a delivery.
    fn view(&self, id: &WebhookDeliveryId) -> WebhookDeliveryView<'_> {
        let (next_at, why) = match self.status {
            Status::Pending { next_at } => (Some(next_at.into()), None),
            Status::Dropped(why) => (None, Some(why)),
            Status::Delivered | Status::Failed => (None, None),
        };
        WebhookDeliveryView {
            delivery_id: *id,
            webhook_id: self.message.endpoint,
            event_id: self.message.event,
            r#type: &self.message.kind,
            seq: self.message.seq,
            status: self.state(),
            dropped_reason: why,
            next_attempt_at: next_at,
            attempt_count: u64::from(self.attempt_count),
            attempts: self.attempts.iter().map(DeliveryAttempt::view).collect(),
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}

impl DeliveryAttempt {
    fn view(&self) -> WebhookAttemptView<'_> {
        WebhookAttemptView {
            at: self.at.into(),
            duration_ms: self.took_ms,
            status: self.status.map(u64::from),
            error: self.error.as_deref(),
            response_excerpt: self.excerpt.as_deref(),
        }
    }
}
