//! Webhook endpoints and deliveries: requests of owners and operators.

mod settings;

use std::collections::HashMap;
use std::sync::Arc;

use purser_storage::{StoreError, codec};

use super::jobs::DeliveryLimiter;
pub use super::jobs::{OUTCOMES, WebhookStats};
use super::operators::corrupt;
use super::webhook_dispatcher::WebhookDispatcher;
use super::{Engine, OperationError};
use crate::entity::session::AuthMethod;
use crate::entity::webhook::{self, WebhookEndpoint};
use crate::entity::webhook_delivery::{self, WebhookDelivery};
use crate::id::{SessionId, Wallet, WebhookDeliveryId, WebhookId};
use crate::kernel::idempotency::{IdempotencySlot, RecordedResponse};
use crate::kernel::registry::LoadError;
use crate::kernel::{EntityKind, IdempotencyRecorder, table};
use crate::operator::OperatorAction;
use crate::port::{Entropy, Timestamp};

pub use settings::{MAX_ATTEMPTS, WebhookSettings};

/// Rows scanned for one page of a list, at most: a selective filter must not read everything.
const MAX_ROWS_SCANNED: usize = 2_000;

/// Open jobs scanned for one count, at most: cards alone have a scheduled job each.
const MAX_ROWS_COUNTED: usize = 10_000;

/// Webhook state of one engine.
pub(super) struct WebhookService {
    /// Allows one registration at a time.
    registering: tokio::sync::Mutex<()>,
    /// Buffers events for the fan-out worker.
    pub(super) dispatcher: Arc<WebhookDispatcher>,
    /// Limits concurrent delivery attempts.
    pub(super) limiter: Arc<DeliveryLimiter>,
    /// Source of jitter.
    pub(super) entropy: Arc<dyn Entropy>,
}

impl WebhookService {
    pub(super) fn new(settings: &WebhookSettings, entropy: &Arc<dyn Entropy>) -> Arc<Self> {
        Arc::new(Self {
            registering: tokio::sync::Mutex::default(),
            dispatcher: Arc::default(),
            limiter: DeliveryLimiter::new(settings),
            entropy: entropy.clone(),
        })
    }
}

/// An endpoint to register.
#[derive(Clone, Debug)]
pub struct WebhookRegistration {
    /// Account that registers the endpoint.
    pub owner: Wallet,
    /// URL of the endpoint, already checked.
    pub url: String,
    /// Event types that it subscribes to.
    pub types: Vec<String>,
    /// Number of the new secret's record in the vault.
    pub record: u128,
    /// The signing secret, sealed for that record.
    pub sealed: Vec<u8>,
    /// Session that registers it.
    pub session: SessionId,
    /// How that session began. An agent leaves an endpoint unchanged that another session has registered at this URL.
    pub amr: AuthMethod,
}

/// Why an endpoint was not registered.
#[derive(Debug)]
pub enum RegistrationError {
    /// The account has reached this limit of endpoints.
    LimitReached(usize),
    /// Another session has registered the URL.
    OwnedByOtherSession,
    /// Retry later; [`OperationError::AlreadyUsed`] when another request with the key was answered meanwhile.
    Operation(OperationError<webhook::Rejection>),
}

/// Filter and page of an account's deliveries.
#[derive(Clone, Debug, Default)]
pub struct DeliveryQuery {
    /// Only deliveries to this endpoint.
    pub endpoint: Option<WebhookId>,
    /// Only deliveries to endpoints of this session, which began like this: see [`Engine::is_own_webhook`].
    pub reader: Option<(SessionId, AuthMethod)>,
    /// Only deliveries with this status.
    pub status: Option<String>,
    /// Only deliveries after this one.
    pub after: Option<WebhookDeliveryId>,
    /// Largest number of deliveries to return.
    pub limit: usize,
}

/// A page of deliveries.
#[derive(Clone, Debug, Default)]
pub struct DeliveryPage {
    /// Deliveries of the page, newest first.
    pub found: Vec<(WebhookDeliveryId, WebhookDelivery)>,
    /// Whether there may be more.
    pub more: bool,
    /// The last delivery that was scanned. The next page starts after it.
    pub last: Option<WebhookDeliveryId>,
}

/// Parses the reference in a registration's idempotency record: the endpoint, then the secret's record.
pub fn parse_entity_ref(id: &[u8]) -> Option<(WebhookId, u128)> {
    let (endpoint, record) = id.split_first_chunk::<16>()?;
    let record = <[u8; 16]>::try_from(record).ok()?;
    Some((WebhookId(u128::from_be_bytes(*endpoint)), u128::from_be_bytes(record)))
}

impl Engine {
    /// Registers an endpoint, or gives the one at this URL another secret. The idempotency record refers to endpoint
    /// and secret.
    ///
    /// # Errors
    /// [`RegistrationError`].
    pub async fn register_webhook(
        &self,
        wanted: WebhookRegistration,
        place: Option<IdempotencySlot>,
    ) -> Result<WebhookId, RegistrationError> {
        let unavailable = |_| RegistrationError::Operation(OperationError::Unavailable);
        // One at a time, so that the count is still valid when the endpoint is stored.
        let _one = self.0.webhooks.registering.lock().await;
        let known = self.webhook_rows(&wanted.owner).await.map_err(unavailable)?;
        let row = table::webhook(&wanted.owner, &wanted.url);
        let (id, is_new) = match known.iter().find(|(key, _)| *key == row) {
            Some((_, id)) => (*id, false),
            None => (WebhookId::mint(wanted.owner.shard(), self.0.entropy.random()), true),
        };
        let most = self.0.settings.webhooks.max_per_account;
        if is_new && known.len() >= most {
            return Err(RegistrationError::LimitReached(most));
        }
        if !is_new {
            let failed = |_| RegistrationError::Operation(OperationError::Unavailable);
            if let Some(known) = self.webhook(&id).await.map_err(failed)?
                && !self
                    .is_own_webhook(&known, wanted.session, wanted.amr)
                    .await
                    .map_err(failed)?
            {
                return Err(RegistrationError::OwnedByOtherSession);
            }
        }
        // Before the endpoint exists, so that no event is missed between its first one and the dispatcher's notice.
        self.0.webhooks.dispatcher.watch(&wanted.owner);
        let (owner, record) = (wanted.owner, wanted.record);
        let recorder = place.map(|place| {
            IdempotencyRecorder::<WebhookEndpoint>::new(place, move |result| {
                let id = [id.0.to_be_bytes(), record.to_be_bytes()].concat();
                let kind = EntityKind::Webhook as u8;
                result.is_ok().then_some(RecordedResponse::EntityRef { kind, id })
            })
        });
        let command = webhook::Command::Register {
            owner,
            url: wanted.url,
            types: wanted.types,
            record,
            sealed: wanted.sealed,
            overlap_ms: self.0.settings.webhooks.overlap_ms,
            session: wanted.session,
        };
        let result = self
            .ask_idempotent(&self.0.registries.webhooks, id, command, recorder)
            .await;
        result.map(|()| id).map_err(RegistrationError::Operation)
    }

    /// Whether a session that began like this may see and change an endpoint: all are the owner's, and an agent's are
    /// those that it registered last.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn is_own_webhook(
        &self,
        endpoint: &WebhookEndpoint,
        session: SessionId,
        amr: AuthMethod,
    ) -> Result<bool, LoadError> {
        if amr.is_owner() || endpoint.session == session {
            return Ok(true);
        }
        let Some(key) = amr.key() else { return Ok(false) };
        let registrant = self.session(&endpoint.session).await?;
        Ok(registrant.is_some_and(|registrant| registrant.amr.key() == Some(key)))
    }

    async fn may_read_deliveries(
        &self,
        to: &WebhookId,
        reader: Option<(SessionId, AuthMethod)>,
    ) -> Result<bool, LoadError> {
        let Some((session, amr)) = reader else { return Ok(true) };
        match self.webhook(to).await? {
            Some(endpoint) => self.is_own_webhook(&endpoint, session, amr).await,
            None => Ok(false),
        }
    }

    async fn webhook_rows(&self, owner: &Wallet) -> Result<Vec<(purser_storage::RowKey, WebhookId)>, StoreError> {
        let rows = self.0.store.scan(&table::webhooks(owner), None, usize::MAX).await?;
        let named = |value: &[u8]| WebhookId(value.try_into().map_or(0, u128::from_be_bytes));
        Ok(rows.into_iter().map(|(key, row)| (key, named(&row.value))).collect())
    }

    /// An endpoint by its id, deleted ones included.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn webhook(&self, id: &WebhookId) -> Result<Option<WebhookEndpoint>, LoadError> {
        Ok(self.0.registries.webhooks.read(id).await?.map(|(endpoint, _)| endpoint))
    }

    /// A wallet's endpoints except deleted ones, oldest first.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn webhooks_of(&self, owner: &Wallet) -> Result<Vec<(WebhookId, WebhookEndpoint)>, LoadError> {
        let mut found = Vec::new();
        for (_, id) in self.webhook_rows(owner).await? {
            found.extend(self.webhook(&id).await?.map(|endpoint| (id, endpoint)));
        }
        found.sort_by_key(|(id, endpoint)| (endpoint.created_at, *id));
        Ok(found)
    }

    /// All endpoints except deleted ones, by account, after the given one; at most `limit`.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn all_webhooks(
        &self,
        after: Option<&WebhookEndpoint>,
        limit: usize,
    ) -> Result<Vec<(WebhookId, WebhookEndpoint)>, LoadError> {
        let after = after.map(|endpoint| table::webhook(&endpoint.owner, &endpoint.url));
        let rows = self.0.store.scan(&[table::WEBHOOK], after.as_deref(), limit).await?;
        let mut found = Vec::with_capacity(rows.len());
        for (_, row) in rows {
            let id = WebhookId((&*row.value).try_into().map_or(0, u128::from_be_bytes));
            found.extend(self.webhook(&id).await?.map(|endpoint| (id, endpoint)));
        }
        Ok(found)
    }

    /// The sealed secret in a record of the vault, if it is still there.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn sealed_secret(&self, record: u128) -> Result<Option<Vec<u8>>, StoreError> {
        self.sealed(crate::id::CardId(record)).await
    }

    /// Deletes an endpoint for its owner.
    ///
    /// # Errors
    /// When it is already deleted.
    pub async fn delete_webhook(
        &self,
        id: WebhookId,
        recorder: Option<IdempotencyRecorder<WebhookEndpoint>>,
    ) -> Result<(), OperationError<webhook::Rejection>> {
        let command = webhook::Command::Delete;
        self.ask_idempotent(&self.0.registries.webhooks, id, command, recorder)
            .await
    }

    /// Redelivers the events since a time that an endpoint has not received. An operator's request is recorded in the
    /// audit log.
    ///
    /// # Errors
    /// When the endpoint is disabled or deleted.
    pub async fn redeliver_since(
        &self,
        id: WebhookId,
        since: Timestamp,
        by: Option<OperatorAction>,
        recorder: Option<IdempotencyRecorder<WebhookEndpoint>>,
    ) -> Result<(), OperationError<webhook::Rejection>> {
        let upto = self.0.store.durable_seq();
        let command = |by| webhook::Command::RequestRedelivery { since, upto, by };
        let endpoint = (&self.0.registries.webhooks, id);
        self.ask_as_operator_or_owner(endpoint, (by.as_ref(), recorder), command)
            .await
    }

    /// A delivery by its id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn webhook_delivery(&self, id: &WebhookDeliveryId) -> Result<Option<WebhookDelivery>, LoadError> {
        let read = self.0.registries.webhook_deliveries.read(id).await?;
        Ok(read.map(|(delivery, _)| delivery))
    }

    /// Redelivers a delivery in any status. An operator's request is recorded in the audit log.
    ///
    /// # Errors
    /// When there is no such delivery.
    pub async fn redeliver_webhook(
        &self,
        id: WebhookDeliveryId,
        by: Option<OperatorAction>,
        recorder: Option<IdempotencyRecorder<WebhookDelivery>>,
    ) -> Result<(), OperationError<webhook_delivery::Rejection>> {
        let command = |by| webhook_delivery::Command::Redeliver { force: true, by };
        let delivery = (&self.0.registries.webhook_deliveries, id);
        self.ask_as_operator_or_owner(delivery, (by.as_ref(), recorder), command)
            .await
    }

    /// A wallet's deliveries, newest first. A page shorter than `limit` need not be the last.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn webhook_deliveries_of(
        &self,
        owner: &Wallet,
        wanted: &DeliveryQuery,
    ) -> Result<DeliveryPage, LoadError> {
        let prefix = table::owner_index(owner, EntityKind::WebhookDelivery);
        let mut page = DeliveryPage::default();
        let mut after = match wanted.after {
            None => None,
            Some(id) => {
                let known = self.webhook_delivery(&id).await?;
                known.map(|delivery| WebhookDelivery::list_key(&delivery.owner, delivery.created_at, id))
            }
        };
        let (mut looked, mut own) = (0, HashMap::new());
        while looked < MAX_ROWS_SCANNED {
            let rows = self
                .0
                .store
                .scan(&prefix, after.as_deref(), wanted.limit.max(50))
                .await?;
            let Some((last, _)) = rows.last() else { return Ok(page) };
            after = Some(last.clone());
            for (key, row) in rows {
                if page.found.len() == wanted.limit {
                    page.more = true;
                    return Ok(page);
                }
                looked += 1;
                let Some((_, number)) = table::created_and_id(&key) else {
                    continue;
                };
                let id = WebhookDeliveryId(number);
                page.last = Some(id);
                let fits = |e: WebhookId| *row.value == e.0.to_be_bytes();
                if wanted.endpoint.is_some_and(|endpoint| !fits(endpoint)) {
                    continue;
                }
                let Some(delivery) = self.webhook_delivery(&id).await? else {
                    continue;
                };
                let to = delivery.message.endpoint;
                let is_seen = match own.get(&to) {
                    Some(is_own) => *is_own,
                    None => {
                        let is_own = self.may_read_deliveries(&to, wanted.reader).await?;
                        own.insert(to, is_own);
                        is_own
                    }
                };
                if !is_seen {
                    continue;
                }
                use crate::kernel::Entity as _;
                if wanted.status.as_deref().is_none_or(|state| state == delivery.status()) {
                    page.found.push((id, delivery));
                }
            }
        }
        page.more = true;
        Ok(page)
    }

    /// Statistics of webhook deliveries.
    pub fn webhook_stats(&self) -> WebhookStats {
        self.0.webhooks.limiter.stats()
    }

    /// Deliveries that are being attempted or wait for an attempt, among the first 10,000 open jobs.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn webhooks_pending(&self) -> Result<u64, StoreError> {
        let (mut pending, mut looked_at, prefixes) = (0, 0, [table::OUTBOX, table::TIMER]);
        for prefix in prefixes {
            let mut after = None;
            while looked_at < MAX_ROWS_COUNTED {
                let page = self.0.store.scan(&[prefix], after.as_deref(), 1_000).await?;
                for (_, row) in &page {
                    let outbox_job: crate::kernel::OutboxJob = codec::decode(&row.value).map_err(corrupt)?;
                    pending += u64::from(matches!(
                        outbox_job.job.typed(),
                        Some(webhook_delivery::Job::DeliverWebhook { .. })
                    ));
                }
                looked_at += page.len();
                match page.into_iter().last() {
                    Some((key, _)) => after = Some(key),
                    None => break,
                }
            }
        }
        Ok(pending)
    }
}
