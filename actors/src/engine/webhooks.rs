//! Endpoints and deliveries: what their owners and operators ask of them.

mod settings;

use std::sync::Arc;

use purser_storage::{StoreError, codec};

use super::jobs::DeliveryLimiter;
pub use super::jobs::{OUTCOMES, WebhookStats};
use super::operators::corrupt;
use super::webhook_dispatcher::WebhookDispatcher;
use super::{Engine, OperationError};
use crate::id::{SessionId, Wallet, WebhookDeliveryId, WebhookId};
use crate::kernel::idempotency::{IdempotencySlot, RecordedResponse};
use crate::kernel::registry::LoadError;
use crate::kernel::{EntityKind, IdempotencyRecorder, table};
use crate::operator::OperatorAction;
use crate::port::{Entropy, Timestamp};
use crate::webhook::{self, WebhookEndpoint};
use crate::webhook_delivery::{self, WebhookDelivery};

pub use settings::{MAX_ATTEMPTS, WebhookSettings};

/// Rows of a list that are looked through for one page, at most: a filter that fits little must not read everything.
const MAX_ROWS_SCANNED: usize = 2_000;

/// Pieces of open work that are counted through for one figure, at most: cards alone have a timer each.
const MAX_ROWS_COUNTED: usize = 10_000;

/// What posting needs of one engine.
pub(super) struct WebhookService {
    /// One at a time.
    registering: tokio::sync::Mutex<()>,
    /// Where events wait to be brought to endpoints.
    pub(super) dispatcher: Arc<WebhookDispatcher>,
    /// Who is posted to, and when.
    pub(super) limiter: Arc<DeliveryLimiter>,
    /// Jitter.
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

/// An endpoint as it is registered.
#[derive(Clone, Debug)]
pub struct WebhookRegistration {
    /// Whose.
    pub owner: Wallet,
    /// Where; judged before.
    pub url: String,
    /// What it wants to hear of.
    pub types: Vec<String>,
    /// The number of the new secret's record.
    pub record: u128,
    /// The secret, sealed for it.
    pub sealed: Vec<u8>,
    /// Whose session registers it.
    pub session: SessionId,
    /// Whether what another session has registered at this URL stays as it is.
    pub only_own: bool,
}

/// Why an endpoint was not registered.
#[derive(Debug)]
pub enum RegistrationError {
    /// The account has as many as it may.
    LimitReached(usize),
    /// Another session has registered the URL.
    OwnedByOtherSession,
    /// Ask again later; [`Denied::Used`] when the key's answer came to be in between.
    Operation(OperationError<webhook::Rejection>),
}

/// Which deliveries of an account.
#[derive(Clone, Debug, Default)]
pub struct DeliveryQuery {
    /// Of this endpoint only.
    pub endpoint: Option<WebhookId>,
    /// In this state only.
    pub status: Option<String>,
    /// Behind this one.
    pub after: Option<WebhookDeliveryId>,
    /// At most so many.
    pub limit: usize,
}

/// A page of deliveries; whether there may be more; and the last that was looked at, behind which the next page begins.
#[derive(Clone, Debug, Default)]
pub struct DeliveryPage {
    /// The newest first.
    pub found: Vec<(WebhookDeliveryId, WebhookDelivery)>,
    /// Whether the list goes on.
    pub more: bool,
    /// The last that was looked at.
    pub last: Option<WebhookDeliveryId>,
}

/// What a registration's remembered answer follows: the endpoint, then the secret's record.
pub fn parse_entity_ref(id: &[u8]) -> Option<(WebhookId, u128)> {
    let (endpoint, record) = id.split_first_chunk::<16>()?;
    let record = <[u8; 16]>::try_from(record).ok()?;
    Some((WebhookId(u128::from_be_bytes(*endpoint)), u128::from_be_bytes(record)))
}

impl Engine {
    /// Registers an endpoint, or gives the one at this URL another secret. The answer to a key follows endpoint and secret.
    ///
    /// # Errors
    /// [`NotRegistered`].
    pub async fn register_webhook(
        &self,
        wanted: WebhookRegistration,
        place: Option<IdempotencySlot>,
    ) -> Result<WebhookId, RegistrationError> {
        let unavailable = |_| RegistrationError::Operation(OperationError::Unavailable);
        // One at a time, so that what was counted is what there is.
        let _one = self.0.webhooks.registering.lock().await;
        let known = self.webhook_rows(&wanted.owner).await.map_err(unavailable)?;
        let row = table::webhook(&wanted.owner, &wanted.url);
        let (id, is_new) = match known.iter().find(|(key, _)| *key == row) {
            Some((_, id)) => (*id, false),
            None => (WebhookId(self.0.entropy.random()), true),
        };
        let most = self.0.settings.webhooks.max_per_account;
        if is_new && known.len() >= most {
            return Err(RegistrationError::LimitReached(most));
        }
        if wanted.only_own && !is_new {
            let known = self
                .webhook(&id)
                .await
                .map_err(|_| RegistrationError::Operation(OperationError::Unavailable))?;
            if known.is_some_and(|endpoint| endpoint.session != wanted.session) {
                return Err(RegistrationError::OwnedByOtherSession);
            }
        }
        // Before the endpoint exists: no event between its first and the dispatcher's notice is missed.
        self.0.webhooks.dispatcher.watch(&wanted.owner);
        let (owner, record) = (wanted.owner, wanted.record);
        let memo = place.map(|place| {
            IdempotencyRecorder::<WebhookEndpoint>::new(place, move |told| {
                let id = [id.0.to_be_bytes(), record.to_be_bytes()].concat();
                let kind = EntityKind::Webhook as u8;
                told.is_ok().then_some(RecordedResponse::EntityRef { kind, id })
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
        let told = self
            .ask_idempotent(&self.0.registries.webhooks, id, command, memo)
            .await;
        told.map(|()| id).map_err(RegistrationError::Operation)
    }

    async fn webhook_rows(&self, owner: &Wallet) -> Result<Vec<(purser_storage::RowKey, WebhookId)>, StoreError> {
        let rows = self.0.store.scan(&table::webhooks(owner), None, usize::MAX).await?;
        let named = |value: &[u8]| WebhookId(value.try_into().map_or(0, u128::from_be_bytes));
        Ok(rows.into_iter().map(|(key, row)| (key, named(&row.value))).collect())
    }

    /// An endpoint, a deleted one too.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn webhook(&self, id: &WebhookId) -> Result<Option<WebhookEndpoint>, LoadError> {
        Ok(self.0.registries.webhooks.read(id).await?.map(|(endpoint, _)| endpoint))
    }

    /// A wallet's endpoints but for those that are deleted, the oldest first.
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

    /// Everybody's endpoints but for those that are deleted, account by account, behind the given one; at most `limit`.
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

    /// The owner wants an endpoint gone.
    ///
    /// # Errors
    /// When it is gone already.
    pub async fn delete_webhook(
        &self,
        id: WebhookId,
        memo: Option<IdempotencyRecorder<WebhookEndpoint>>,
    ) -> Result<(), OperationError<webhook::Rejection>> {
        let command = webhook::Command::Delete;
        self.ask_idempotent(&self.0.registries.webhooks, id, command, memo)
            .await
    }

    /// What an endpoint has not received of events since a moment is posted again; an operator who asks for it is written down.
    ///
    /// # Errors
    /// When the endpoint is disabled or deleted.
    pub async fn redeliver_since(
        &self,
        id: WebhookId,
        since: Timestamp,
        by: Option<OperatorAction>,
        memo: Option<IdempotencyRecorder<WebhookEndpoint>>,
    ) -> Result<(), OperationError<webhook::Rejection>> {
        let upto = self.0.store.durable_seq();
        let command = |by| webhook::Command::RequestRedelivery { since, upto, by };
        let endpoint = (&self.0.registries.webhooks, id);
        self.ask_as_operator_or_owner(endpoint, (by.as_ref(), memo), command)
            .await
    }

    /// A delivery.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn webhook_delivery(&self, id: &WebhookDeliveryId) -> Result<Option<WebhookDelivery>, LoadError> {
        let read = self.0.registries.webhook_deliveries.read(id).await?;
        Ok(read.map(|(delivery, _)| delivery))
    }

    /// A delivery is posted again, whatever became of it; an operator who asks for it is written down.
    ///
    /// # Errors
    /// When there is no such delivery.
    pub async fn redeliver_webhook(
        &self,
        id: WebhookDeliveryId,
        by: Option<OperatorAction>,
        memo: Option<IdempotencyRecorder<WebhookDelivery>>,
    ) -> Result<(), OperationError<webhook_delivery::Rejection>> {
        let command = |by| webhook_delivery::Command::Redeliver { force: true, by };
        let delivery = (&self.0.registries.webhook_deliveries, id);
        self.ask_as_operator_or_owner(delivery, (by.as_ref(), memo), command)
            .await
    }

    /// A wallet's deliveries, the newest first. A page may be shorter than asked for and not the last.
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
        let mut looked = 0;
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
                use crate::kernel::Entity as _;
                if wanted.status.as_deref().is_none_or(|state| state == delivery.status()) {
                    page.found.push((id, delivery));
                }
            }
        }
        page.more = true;
        Ok(page)
    }

    /// What posting has come to.
    pub fn webhook_stats(&self) -> WebhookStats {
        self.0.webhooks.limiter.stats()
    }

    /// Deliveries that are being tried or wait for it, among the first 10,000 pieces of open work.
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
                    let effect: crate::kernel::OutboxJob = codec::decode(&row.value).map_err(corrupt)?;
                    pending += u64::from(matches!(effect.job, crate::kernel::job::Job::DeliverWebhook { .. }));
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
