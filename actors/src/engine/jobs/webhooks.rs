//! Webhook delivery. Attempts run in one of two pools. Healthy endpoints have their own; degraded endpoints and slow
//! attempts share the other, with one attempt per endpoint. Dead endpoints therefore never delay a healthy one.

mod limiter;

use std::time::Duration;

use purser_storage::{Span, StoreError};

use self::limiter::DeliveryPermit;
use super::work::{Inquiry, OperatorResolution, Summary, Work, not_queryable, not_resolvable, summarize};
use super::{HandlerResult, JobHandlers, ask_entity, load_failed};
use crate::engine::recoveries::access_cutoff;
use crate::engine::registries::Registries;
use crate::engine::webhook_dispatcher::{KnownEndpoint, message_for};
use crate::engine::{Engine, ResolveError};
use crate::entity::session::{AuthMethod, Session};
use crate::entity::spend_approval::as_seen_by;
use crate::entity::webhook::{self, EndpointHealth, WebhookEndpoint};
use crate::entity::webhook_delivery::{
    self, AttemptResult, Command, DeliveryAttempt, DroppedReason, Status, WebhookDelivery,
};
use crate::id::{JobId, WebhookDeliveryId, WebhookId};
use crate::kernel::event_record::EventRecord;
use crate::kernel::{AskError, AttemptFailure, OutboxJob};
use crate::port::{BoxFuture, ExternalText, Timestamp, WebhookPostError, WebhookPostRequest, WebhookResponse};

pub(in crate::engine) use limiter::DeliveryLimiter;
pub use limiter::{OUTCOMES, WebhookStats};

/// Milliseconds until a frozen account's delivery is looked at again.
const FROZEN_RETRY_MS: u64 = 10 * 60_000;
/// Longest `Retry-After` that is honoured, in milliseconds.
const MAX_RETRY_AFTER_MS: u64 = 24 * 3_600_000;
/// Events of an account read in one page.
const PAGE: usize = 500;
/// The only event that is delivered to a frozen account's endpoints.
const FROZEN_EVENT: &str = "account.frozen";

/// Result of an attempt: a response, or why there is none.
type PostOutcome = Result<WebhookResponse, &'static str>;

/// Timeout, as shown to the endpoint's owner.
const NO_RESPONSE: &str = "no answer in time";

impl Work for webhook_delivery::Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let Self::DeliverWebhook {
            delivery,
            endpoint,
            round,
        } = self;
        Box::pin(on.deliver_webhook(outbox_job, delivery, endpoint, round))
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let Self::DeliverWebhook { delivery, .. } = self;
        summarize(&all.webhook_deliveries, delivery, |_| None)
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}

impl Work for webhook::Job {
    fn run<'a>(self, on: &'a JobHandlers, outbox_job: &'a OutboxJob) -> BoxFuture<'a, HandlerResult> {
        let Self::RedeliverWebhooks { endpoint, since, upto } = self;
        Box::pin(on.redeliver_webhooks(outbox_job, endpoint, since, upto))
    }

    fn summarize(self, all: &Registries) -> BoxFuture<'_, Summary> {
        let Self::RedeliverWebhooks { endpoint, .. } = self;
        summarize(&all.webhooks, endpoint, |_| None)
    }

    fn inquire(self, _: &Engine, _: JobId) -> BoxFuture<'_, Inquiry> {
        not_queryable()
    }

    fn resolve<'a>(self, _: &'a Engine, _: &'a OperatorResolution<'a>) -> BoxFuture<'a, Result<(), ResolveError>> {
        not_resolvable()
    }
}

impl JobHandlers {
    async fn deliver_webhook(
        &self,
        outbox_job: &OutboxJob,
        id: WebhookDeliveryId,
        to: WebhookId,
        round: u32,
    ) -> HandlerResult {
        let jitter = (outbox_job.id.0 ^ u128::from(self.clock.now().0)) as u64;
        if let Some(is_well) = self.webhooks.limiter.answered_last.get(&to).map(|known| *known)
            && !is_well
        {
            // Before any read: there may be many dead endpoints.
            let place = self.webhooks.limiter.try_acquire_degraded(to, jitter)?;
            return self.post_with_permit(outbox_job, (id, to, round), place).await;
        }
        let endpoint = self.registries.webhooks.read(&to).await.map_err(load_failed)?;
        let well = endpoint.filter(|(endpoint, _)| endpoint.health == EndpointHealth::Healthy);
        self.webhooks.limiter.answered_last.insert(to, well.is_some());
        let place = match well {
            Some((endpoint, _)) => self.webhooks.limiter.acquire_healthy(endpoint.owner).await?,
            None => self.webhooks.limiter.try_acquire_degraded(to, jitter)?,
        };
        self.post_with_permit(outbox_job, (id, to, round), place).await
    }

    async fn post_with_permit(
        &self,
        outbox_job: &OutboxJob,
        (id, to, round): (WebhookDeliveryId, WebhookId, u32),
        place: DeliveryPermit,
    ) -> HandlerResult {
        let deliveries = &self.registries.webhook_deliveries;
        let read = deliveries.read(&id).await.map_err(load_failed)?;
        let (delivery, _) = read.ok_or_else(|| AttemptFailure::temporary("the delivery is not there"))?;
        let job = outbox_job.id;
        let drop_for = |reason| Command::Drop { job, round, reason };
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
        let registrant = self.registrant(&endpoint).await?;
        if self.has_registrant_ended(&endpoint, registrant.as_ref()).await? {
            return ask_entity(deliveries, id, drop_for(DroppedReason::Disabled)).await;
        }
        if delivery.message.kind != FROZEN_EVENT && self.is_frozen(&delivery).await? {
            let at = self.clock.now().plus_ms(FROZEN_RETRY_MS);
            let job = outbox_job.id;
            return ask_entity(deliveries, id, Command::Defer { job, round, at }).await;
        }
        let reader = registrant.map(|session| session.amr);
        let Some(body) = self.envelope(&delivery, reader).await? else {
            return ask_entity(deliveries, id, drop_for(DroppedReason::Expired)).await;
        };
        let (end, at) = self.post(&endpoint, &delivery, &body, place).await?;
        self.record(outbox_job, (id, round), (&endpoint, &delivery), (end, at))
            .await
    }

    /// The session that registered the endpoint last.
    async fn registrant(&self, endpoint: &WebhookEndpoint) -> Result<Option<Session>, AttemptFailure> {
        let session = self.registries.sessions.read(&endpoint.session).await;
        Ok(session.map_err(load_failed)?.map(|(session, _)| session))
    }

    /// Whether an agent registered the endpoint whose access has ended since, by a stop of all agents, by a recovery or
    /// because its API key was revoked: it reads nothing more, by whatever way. What the owner registered on a page goes on.
    async fn has_registrant_ended(
        &self,
        endpoint: &WebhookEndpoint,
        registrant: Option<&Session>,
    ) -> Result<bool, AttemptFailure> {
        let Some(session) = registrant.filter(|session| session.is_of_agent()) else {
            return Ok(false);
        };
        let account = self.registries.accounts.read(&endpoint.owner).await;
        if account
            .map_err(load_failed)?
            .is_some_and(|(account, _)| account.has_ended_agent_access(session.created_at))
        {
            return Ok(true);
        }
        let cutoff = access_cutoff(&*self.store, &endpoint.owner).await;
        if cutoff
            .map_err(|e| AttemptFailure::temporary(e.to_string()))?
            .is_some_and(|cutoff| cutoff.has_ended(&endpoint.session, session))
        {
            return Ok(true);
        }
        let Some(key) = session.key() else { return Ok(false) };
        let key = self.registries.api_keys.read(&key).await.map_err(load_failed)?;
        Ok(key.is_none_or(|(key, _)| !key.is_active()))
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

    /// The event envelope, as the stream sends it to who registered the endpoint; `None` once the event is no longer
    /// stored.
    async fn envelope(
        &self,
        delivery: &WebhookDelivery,
        reader: Option<AuthMethod>,
    ) -> Result<Option<String>, AttemptFailure> {
        let (seq, owner) = (delivery.message.seq, delivery.owner.key());
        let place = Span::After(seq.saturating_sub(1));
        let found = match self.store.events_of(&owner, place, 1).await {
            Err(StoreError::Expired { .. }) => return Ok(None),
            found => found.map_err(|e| AttemptFailure::temporary(e.to_string()))?,
        };
        let Some(event) = found.into_iter().find(|event| event.cursor == seq) else {
            return Ok(None);
        };
        let record =
            EventRecord::read(&event.subject, &event.payload).map_err(|e| AttemptFailure::temporary(e.to_string()))?;
        // After a restore, another event may have this sequence number.
        let announcement = record
            .announcement
            .filter(|announcement| announcement.id == delivery.message.event);
        let seen = announcement.and_then(|announcement| as_seen_by(reader, announcement));
        Ok(seen.map(|announcement| announcement.with_seq(seq)))
    }

    /// One attempt. A slow one gives up its healthy permit, and ends if the degraded pool is full.
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

    /// Records a result: on the endpoint first, if it changes its state, then on the delivery, whose batch completes
    /// the job.
    async fn record(
        &self,
        outbox_job: &OutboxJob,
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
            job: outbox_job.id,
            round,
            attempt,
            verdict,
        };
        ask_entity(&self.registries.webhook_deliveries, id, command).await
    }

    /// The endpoint's command for a failed attempt, if the attempt changes its state.
    fn failure(&self, endpoint: &WebhookEndpoint, gone: bool, now: Timestamp) -> Option<webhook::Command> {
        let patience = self.settings.webhooks.failure_thresholds;
        let is_news = match endpoint.health {
            _ if gone => true,
            EndpointHealth::Unknown | EndpointHealth::Healthy => true,
            EndpointHealth::Failing { since, warned } => {
                let lasts_ms = now.0.saturating_sub(since.0);
                lasts_ms >= patience.disable_ms || (!warned && lasts_ms >= patience.warn_ms)
            }
        };
        is_news.then_some(webhook::Command::RecordFailure {
            gone,
            thresholds: patience,
        })
    }

    /// Time of the next attempt: the backoff with up to a tenth of jitter, or later if the endpoint requests it.
    fn next_attempt(&self, delivery: &WebhookDelivery, retry_after_ms: Option<u64>, now: Timestamp) -> AttemptResult {
        let tried = usize::try_from(delivery.failed).unwrap_or(usize::MAX);
        let Some(pause) = self.settings.webhooks.pauses_ms.get(tried.saturating_add(1)) else {
            return AttemptResult::GiveUp;
        };
        let jitter = (self.webhooks.entropy.random() % u128::from(pause / 10 + 1)) as u64;
        let asked = retry_after_ms.unwrap_or(0).min(MAX_RETRY_AFTER_MS);
        AttemptResult::Retry(now.plus_ms((pause + jitter).max(asked)))
    }

    /// Redelivers every event since a time that an endpoint subscribes to and has not received.
    async fn redeliver_webhooks(
        &self,
        outbox_job: &OutboxJob,
        id: WebhookId,
        since: Timestamp,
        upto: u64,
    ) -> HandlerResult {
        let endpoint = self.registries.webhooks.read(&id).await.map_err(load_failed)?;
        let active = endpoint.map(|(endpoint, _)| endpoint);
        if let Some(endpoint) = active.filter(|endpoint| endpoint.status == webhook::Status::Active) {
            let registrant = self.registrant(&endpoint).await?.map(|session| session.amr);
            let (owner, mut after) = (endpoint.owner.key(), 0);
            let known = KnownEndpoint {
                id,
                endpoint,
                registrant,
            };
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
                    let record = EventRecord::read(&event.subject, &event.payload)
                        .map_err(|e| AttemptFailure::temporary(e.to_string()))?;
                    if record.at < since {
                        continue;
                    }
                    if let Some(letter) = message_for(event, &record, &known) {
                        let delivery = WebhookDeliveryId::for_event(id, letter.event);
                        let owner = known.endpoint.owner;
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
        let job = outbox_job.id;
        ask_entity(
            &self.registries.webhooks,
            id,
            webhook::Command::RecordRedelivered { job },
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

/// Error for a status that is no success.
const fn invalid_delivery(status: u16) -> Option<&'static str> {
    match status {
        200..300 => None,
        300..400 => Some("redirects are not followed"),
        410 => Some("gone: the endpoint is disabled"),
        _ => Some("not a 2xx status"),
    }
}
