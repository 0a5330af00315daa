//! Posting events. A try takes place in one of two rooms: endpoints that answered last time have theirs, and no other gets in
//! the way of it; everybody else, and whoever hangs, shares the other, one try each. However many are dead, they keep nobody
//! waiting who is alive.

mod limiter;

use std::time::Duration;

use purser_storage::{Span, StoreError};

use self::limiter::DeliveryPermit;
use super::{HandlerResult, JobHandlers, ask_entity, load_failed};
use crate::engine::webhook_dispatcher::message_for;
use crate::id::{WebhookDeliveryId, WebhookId};
use crate::kernel::event_record::EventRecord;
use crate::kernel::job::Job;
use crate::kernel::{AskError, AttemptFailure, OutboxJob};
use crate::port::{ExternalText, Timestamp, WebhookPostError, WebhookPostRequest, WebhookResponse};
use crate::webhook::{self, EndpointHealth, WebhookEndpoint};
use crate::webhook_delivery::{AttemptResult, Command, DeliveryAttempt, DroppedReason, Status, WebhookDelivery};

pub(in crate::engine) use limiter::DeliveryLimiter;
pub use limiter::{OUTCOMES, WebhookStats};

/// How long what belongs to a frozen account waits before somebody looks again.
const FROZEN_RETRY_MS: u64 = 10 * 60_000;
/// The longest that a receiver may ask for.
const MAX_RETRY_AFTER_MS: u64 = 24 * 3_600_000;
/// Events of an account read at once.
const PAGE: usize = 500;
/// What a frozen account's endpoints are told of all the same.
const FROZEN_EVENT: &str = "account.frozen";

/// How a try ended: an answer, or why there is none.
type PostOutcome = Result<WebhookResponse, &'static str>;

/// No answer in time, in the words that its owner reads.
const NO_RESPONSE: &str = "no answer in time";

impl JobHandlers {
    pub(super) async fn handle_webhook(&self, effect: &OutboxJob) -> HandlerResult {
        match effect.job {
            Job::DeliverWebhook {
                delivery,
                endpoint,
                round,
            } => self.deliver_webhook(effect, delivery, endpoint, round).await,
            Job::RedeliverWebhooks { endpoint, since, upto } => {
                self.redeliver_webhooks(effect, endpoint, since, upto).await
            }
            _ => Err(AttemptFailure::temporary("no work with webhooks")),
        }
    }

    async fn deliver_webhook(
        &self,
        effect: &OutboxJob,
        id: WebhookDeliveryId,
        to: WebhookId,
        round: u32,
    ) -> HandlerResult {
        let jitter = (effect.id.0 ^ u128::from(self.clock.now().0)) as u64;
        if let Some(is_well) = self.webhooks.limiter.answered_last.get(&to).map(|known| *known)
            && !is_well
        {
            // Before anything is read: of those that are dead there may be many.
            let place = self.webhooks.limiter.try_acquire_degraded(to, jitter)?;
            return self.post_with_permit(effect, (id, to, round), place).await;
        }
        let endpoint = self.registries.webhooks.read(&to).await.map_err(load_failed)?;
        let well = endpoint.filter(|(endpoint, _)| endpoint.health == EndpointHealth::Healthy);
        self.webhooks.limiter.answered_last.insert(to, well.is_some());
        let place = match well {
            Some((endpoint, _)) => self.webhooks.limiter.acquire_healthy(endpoint.owner).await?,
            None => self.webhooks.limiter.try_acquire_degraded(to, jitter)?,
        };
        self.post_with_permit(effect, (id, to, round), place).await
    }

    async fn post_with_permit(
        &self,
        effect: &OutboxJob,
        (id, to, round): (WebhookDeliveryId, WebhookId, u32),
        place: DeliveryPermit,
    ) -> HandlerResult {
        let deliveries = &self.registries.webhook_deliveries;
        let read = deliveries.read(&id).await.map_err(load_failed)?;
        let (delivery, _) = read.ok_or_else(|| AttemptFailure::temporary("the delivery is not there"))?;
        let effect_id = effect.id;
        let drop_for = |why| Command::Drop {
            job: effect_id,
            round,
            reason: why,
        };
        if delivery.redelivery_count != round || !matches!(delivery.status, Status::Pending { .. }) {
            return ask_entity(deliveries, id, drop_for(DroppedReason::Expired)).await;
        }
        let endpoint = self.registries.webhooks.read(&to).await.map_err(load_failed)?;
        let endpoint = match endpoint {
            Some((endpoint, _)) if endpoint.status == webhook::Status::Active => endpoint,
            Some((endpoint, _)) if matches!(endpoint.status, webhook::Status::Disabled(_)) => {
                return ask_entity(deliveries, id, drop_for(DroppedReason::Disabled)).await;
            }
            _ => return ask_entity(deliveries, id, drop_for(DroppedReason::Deleted)).await,
        };
        if delivery.message.kind != FROZEN_EVENT && self.is_frozen(&delivery).await? {
            let at = self.clock.now().plus_ms(FROZEN_RETRY_MS);
            let effect = effect.id;
            return ask_entity(deliveries, id, Command::Defer { job: effect, round, at }).await;
        }
        let Some(body) = self.envelope(&delivery).await? else {
            return ask_entity(deliveries, id, drop_for(DroppedReason::Expired)).await;
        };
        let (end, at) = self.post(&endpoint, &delivery, &body, place).await?;
        self.record(effect, (id, round), (&endpoint, &delivery), (end, at))
            .await
    }

    async fn is_frozen(&self, delivery: &WebhookDelivery) -> Result<bool, AttemptFailure> {
        let account = self
            .registries
            .accounts
            .read(&delivery.owner)
            .await
            .map_err(load_failed)?;
        Ok(account.is_some_and(|(account, _)| account.frozen.is_some()))
    }

    /// What is posted, as the stream tells it; `None` once it is no longer kept.
    async fn envelope(&self, delivery: &WebhookDelivery) -> Result<Option<String>, AttemptFailure> {
        let (seq, owner) = (delivery.message.seq, delivery.owner.key());
        let place = Span::After(seq.saturating_sub(1));
        let found = match self.store.events_of(&owner, place, 1).await {
            Err(StoreError::Expired { .. }) => return Ok(None),
            found => found.map_err(|e| AttemptFailure::temporary(e.to_string()))?,
        };
        let Some(event) = found.into_iter().find(|event| event.cursor == seq) else {
            return Ok(None);
        };
        let record = EventRecord::read(&event.payload).map_err(|e| AttemptFailure::temporary(e.to_string()))?;
        // A restored store may have something else in its place.
        let told = record
            .announcement
            .filter(|told| told.event_id() == Some(delivery.message.event));
        Ok(told.map(|told| told.with_seq(seq)))
    }

    /// One try. One that hangs gives its quick place back, and ends if the slow room is full.
    async fn post(
        &self,
        endpoint: &WebhookEndpoint,
        delivery: &WebhookDelivery,
        body: &str,
        place: DeliveryPermit,
    ) -> Result<(PostOutcome, Timestamp), AttemptFailure> {
        let (settings, at) = (&self.settings.webhooks, self.clock.now());
        let mut secrets = Vec::new();
        for secret in endpoint.signing(at) {
            let row = self.store.read(&secret.row()).await;
            let row = row.map_err(|e| AttemptFailure::temporary(e.to_string()))?;
            secrets.extend(row.map(|row| (secret.record, row.value.to_vec())));
        }
        let posting = WebhookPostRequest {
            url: &endpoint.url,
            secrets,
            event: delivery.message.event,
            at,
            body,
        };
        let whole = Duration::from_millis(settings.timeout_ms);
        let mut posted = std::pin::pin!(tokio::time::timeout(whole, self.ports.webhooks.post(posting)));
        let posted = match place {
            DeliveryPermit::Degraded(_turn) => posted.await,
            DeliveryPermit::Healthy(quick) => {
                match tokio::time::timeout(Duration::from_millis(settings.degraded_after_ms), posted.as_mut()).await {
                    Ok(posted) => posted,
                    Err(_) => match self.webhooks.limiter.degraded.clone().try_acquire_owned() {
                        Ok(_slow) => {
                            drop(quick);
                            posted.await
                        }
                        Err(_) => return Ok((Err(NO_RESPONSE), at)),
                    },
                }
            }
        };
        match posted {
            Ok(Ok(posted)) => Ok((Ok(posted), at)),
            Ok(Err(WebhookPostError::Failed(why))) => Ok((Err(why), at)),
            Ok(Err(WebhookPostError::Internal(error))) => Err(error.into()),
            Err(_) => Ok((Err(NO_RESPONSE), at)),
        }
    }

    /// The endpoint first, if this is news of it, then the delivery, whose batch ends the effect.
    async fn record(
        &self,
        effect: &OutboxJob,
        (id, round): (WebhookDeliveryId, u32),
        (endpoint, delivery): (&WebhookEndpoint, &WebhookDelivery),
        (end, at): (PostOutcome, Timestamp),
    ) -> HandlerResult {
        let (now, to) = (self.clock.now(), delivery.message.endpoint);
        self.webhooks.limiter.record(&end);
        let status = end.as_ref().ok().map(|posted| posted.status);
        let is_well = status.is_some_and(|status| (200..300).contains(&status));
        self.webhooks.limiter.answered_last.insert(to, is_well);
        if is_well && delivery.attempt_count == 0 {
            self.webhooks
                .limiter
                .first_ms
                .record(now.0.saturating_sub(delivery.message.happened_at.0));
        }
        let news = match is_well {
            true => (endpoint.health != EndpointHealth::Healthy).then_some(webhook::Command::RecordSuccess),
            false => self.failure(endpoint, status == Some(410), now),
        };
        if let Some(news) = news {
            ask_entity(&self.registries.webhooks, to, news).await?;
        }
        let verdict = match &end {
            _ if is_well => AttemptResult::Delivered,
            _ if status == Some(410) => AttemptResult::GiveUp,
            end => self.next_attempt(
                delivery,
                end.as_ref().ok().and_then(|posted| posted.retry_after_ms),
                now,
            ),
        };
        let (error, excerpt) = match end {
            Ok(posted) => (invalid_delivery(posted.status).map(ExternalText::from), posted.excerpt),
            Err(why) => (Some(ExternalText::from(why)), None),
        };
        let attempt = DeliveryAttempt {
            at,
            took_ms: now.0.saturating_sub(at.0),
            status,
            error,
            excerpt,
        };
        let command = Command::RecordAttempt {
            job: effect.id,
            round,
            attempt,
            verdict,
        };
        ask_entity(&self.registries.webhook_deliveries, id, command).await
    }

    /// What an endpoint is told of a failed try, if it is news to it.
    fn failure(&self, endpoint: &WebhookEndpoint, gone: bool, now: Timestamp) -> Option<webhook::Command> {
        let patience = self.settings.webhooks.failure_thresholds;
        let is_news = match endpoint.health {
            _ if gone => true,
            EndpointHealth::Unknown | EndpointHealth::Healthy => true,
            EndpointHealth::Failing { since, warned: told } => {
                let lasts_ms = now.0.saturating_sub(since.0);
                lasts_ms >= patience.disable_ms || (!told && lasts_ms >= patience.warn_ms)
            }
        };
        is_news.then_some(webhook::Command::RecordFailure {
            gone,
            thresholds: patience,
        })
    }

    /// The pause before the next try, with a tenth of it for jitter, or longer if the receiver asks for it.
    fn next_attempt(&self, delivery: &WebhookDelivery, retry_after_ms: Option<u64>, now: Timestamp) -> AttemptResult {
        let tried = usize::try_from(delivery.failed).unwrap_or(usize::MAX);
        let Some(pause) = self.settings.webhooks.pauses_ms.get(tried.saturating_add(1)) else {
            return AttemptResult::GiveUp;
        };
        let jitter = (self.webhooks.entropy.random() % u128::from(pause / 10 + 1)) as u64;
        let asked = retry_after_ms.unwrap_or(0).min(MAX_RETRY_AFTER_MS);
        AttemptResult::Retry(now.plus_ms((pause + jitter).max(asked)))
    }

    /// Every event since a moment that an endpoint wants and has not received is delivered again.
    async fn redeliver_webhooks(
        &self,
        effect: &OutboxJob,
        id: WebhookId,
        since: Timestamp,
        upto: u64,
    ) -> HandlerResult {
        let endpoint = self.registries.webhooks.read(&id).await.map_err(load_failed)?;
        let active = endpoint.map(|(endpoint, _)| endpoint);
        if let Some(endpoint) = active.filter(|endpoint| endpoint.status == webhook::Status::Active) {
            let (owner, mut after) = (endpoint.owner.key(), 0);
            loop {
                let page = match self.store.events(after, PAGE, Some(&owner)).await {
                    Err(StoreError::Expired { oldest }) if after < oldest => {
                        after = oldest.saturating_sub(1).max(after + 1);
                        continue;
                    }
                    page => page.map_err(|e| AttemptFailure::temporary(e.to_string()))?,
                };
                let Some(last) = page.last().map(|event| event.seq) else {
                    break;
                };
                for event in page.iter().filter(|event| event.seq <= upto) {
                    let record =
                        EventRecord::read(&event.payload).map_err(|e| AttemptFailure::temporary(e.to_string()))?;
                    if record.at < since {
                        continue;
                    }
                    if let Some(letter) = message_for(event, &record, id, &endpoint) {
                        let delivery = WebhookDeliveryId::for_event(id, letter.event);
                        let owner = endpoint.owner;
                        self.ask_delivery(delivery, Command::Create { owner, message: letter })
                            .await?;
                        self.ask_delivery(delivery, Command::Redeliver { force: false, by: None })
                            .await?;
                    }
                }
                if last >= upto {
                    break;
                }
                after = last;
            }
        }
        let effect = effect.id;
        ask_entity(
            &self.registries.webhooks,
            id,
            webhook::Command::RecordRedelivered { job: effect },
        )
        .await
    }

    async fn ask_delivery(&self, id: WebhookDeliveryId, command: Command) -> HandlerResult {
        match self.registries.webhook_deliveries.ask(id, command).await {
            Ok(()) => Ok(()),
            Err(AskError::Rejected(rejection)) => Err(AttemptFailure::temporary(format!("{id}: {rejection:?}"))),
            Err(refusal) => Err(AttemptFailure::temporary(format!("{id}: {refusal:?}"))),
        }
    }
}

/// What is wrong with a status.
const fn invalid_delivery(status: u16) -> Option<&'static str> {
    match status {
        200..300 => None,
        300..400 => Some("redirects are not followed"),
        410 => Some("gone: the endpoint is disabled"),
        _ => Some("not a 2xx status"),
    }
}
