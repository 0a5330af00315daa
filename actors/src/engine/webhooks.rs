//! Endpoints and deliveries: what their owners and operators ask of them.

mod settings;

use std::sync::Arc;

use purser_storage::{StoreError, codec};

use super::mailroom::Mailroom;
use super::operating::damaged;
use super::work::Rooms;
pub use super::work::{OUTCOMES, PostFigures};
use super::{Denied, Engine};
use crate::id::{DeliveryId, EndpointId, SessionId, Wallet};
use crate::kernel::family::LoadError;
use crate::kernel::memo::{Kept, Place};
use crate::kernel::{Kind, Memo, table};
use crate::operator::Act;
use crate::port::{Entropy, Timestamp};
use crate::webhook::{self, Endpoint};
use crate::webhook_delivery::{self, Delivery};

pub use settings::{TRIES, WebhookSettings};

/// Rows of a list that are looked through for one page, at most: a filter that fits little must not read everything.
const LOOKED_AT_MAX: usize = 2_000;

/// Pieces of open work that are counted through for one figure, at most: cards alone have a timer each.
const COUNTED_MAX: usize = 10_000;

/// What posting needs of one engine.
pub(super) struct PostOffice {
    /// One at a time.
    registering: tokio::sync::Mutex<()>,
    /// Where events wait to be brought to endpoints.
    pub(super) mailroom: Arc<Mailroom>,
    /// Who is posted to, and when.
    pub(super) rooms: Arc<Rooms>,
    /// Jitter.
    pub(super) entropy: Arc<dyn Entropy>,
}

impl PostOffice {
    pub(super) fn new(settings: &WebhookSettings, entropy: &Arc<dyn Entropy>) -> Arc<Self> {
        Arc::new(Self {
            registering: tokio::sync::Mutex::default(),
            mailroom: Arc::default(),
            rooms: Rooms::new(settings),
            entropy: entropy.clone(),
        })
    }
}

/// An endpoint as it is registered.
#[derive(Clone, Debug)]
pub struct Registration {
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
pub enum NotRegistered {
    /// The account has as many as it may.
    Full(usize),
    /// Another session has registered the URL.
    OfAnotherSession,
    /// Ask again later; [`Denied::Used`] when the key's answer came to be in between.
    Denied(Denied<webhook::Rejection>),
}

/// Which deliveries of an account.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Of this endpoint only.
    pub endpoint: Option<EndpointId>,
    /// In this state only.
    pub state: Option<String>,
    /// Behind this one.
    pub after: Option<DeliveryId>,
    /// At most so many.
    pub limit: usize,
}

/// A page of deliveries; whether there may be more; and the last that was looked at, behind which the next page begins.
#[derive(Clone, Debug, Default)]
pub struct DeliveryPage {
    /// The newest first.
    pub found: Vec<(DeliveryId, Delivery)>,
    /// Whether the list goes on.
    pub more: bool,
    /// The last that was looked at.
    pub last: Option<DeliveryId>,
}

/// What a registration's remembered answer follows: the endpoint, then the secret's record.
pub fn followed(id: &[u8]) -> Option<(EndpointId, u128)> {
    let (endpoint, record) = id.split_first_chunk::<16>()?;
    let record = <[u8; 16]>::try_from(record).ok()?;
    Some((EndpointId(u128::from_be_bytes(*endpoint)), u128::from_be_bytes(record)))
}

impl Engine {
    /// Registers an endpoint, or gives the one at this URL another secret. The answer to a key follows endpoint and secret.
    ///
    /// # Errors
    /// [`NotRegistered`].
    pub async fn register_webhook(
        &self,
        wanted: Registration,
        place: Option<Place>,
    ) -> Result<EndpointId, NotRegistered> {
        let unavailable = |_| NotRegistered::Denied(Denied::Unavailable);
        // One at a time, so that what was counted is what there is.
        let _one = self.0.posting.registering.lock().await;
        let known = self.webhook_rows(&wanted.owner).await.map_err(unavailable)?;
        let row = table::webhook(&wanted.owner, &wanted.url);
        let (id, is_new) = match known.iter().find(|(key, _)| *key == row) {
            Some((_, id)) => (*id, false),
            None => (EndpointId(self.0.entropy.random()), true),
        };
        let most = self.0.settings.webhooks.per_account_max;
        if is_new && known.len() >= most {
            return Err(NotRegistered::Full(most));
        }
        if wanted.only_own && !is_new {
            let known = self
                .webhook(&id)
                .await
                .map_err(|_| NotRegistered::Denied(Denied::Unavailable))?;
            if known.is_some_and(|endpoint| endpoint.session != wanted.session) {
                return Err(NotRegistered::OfAnotherSession);
            }
        }
        // Before the endpoint exists: no event between its first and the dispatcher's notice is missed.
        self.0.posting.mailroom.watch(&wanted.owner);
        let (owner, record) = (wanted.owner, wanted.record);
        let memo = place.map(|place| {
            Memo::<Endpoint>::new(place, move |told| {
                let id = [id.0.to_be_bytes(), record.to_be_bytes()].concat();
                let kind = Kind::Webhook as u8;
                told.is_ok().then_some(Kept::Follow { kind, id })
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
        let told = self.ask_once(&self.0.families.webhooks, id, command, memo).await;
        told.map(|()| id).map_err(NotRegistered::Denied)
    }

    async fn webhook_rows(&self, owner: &Wallet) -> Result<Vec<(purser_storage::RowKey, EndpointId)>, StoreError> {
        let rows = self.0.store.scan(&table::webhooks(owner), None, usize::MAX).await?;
        let named = |value: &[u8]| EndpointId(value.try_into().map_or(0, u128::from_be_bytes));
        Ok(rows.into_iter().map(|(key, row)| (key, named(&row.value))).collect())
    }

    /// An endpoint, a deleted one too.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn webhook(&self, id: &EndpointId) -> Result<Option<Endpoint>, LoadError> {
        Ok(self.0.families.webhooks.read(id).await?.map(|(endpoint, _)| endpoint))
    }

    /// A wallet's endpoints but for those that are deleted, the oldest first.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn webhooks_of(&self, owner: &Wallet) -> Result<Vec<(EndpointId, Endpoint)>, LoadError> {
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
        after: Option<&Endpoint>,
        limit: usize,
    ) -> Result<Vec<(EndpointId, Endpoint)>, LoadError> {
        let after = after.map(|endpoint| table::webhook(&endpoint.owner, &endpoint.url));
        let rows = self.0.store.scan(&[table::WEBHOOK], after.as_deref(), limit).await?;
        let mut found = Vec::with_capacity(rows.len());
        for (_, row) in rows {
            let id = EndpointId((&*row.value).try_into().map_or(0, u128::from_be_bytes));
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
        id: EndpointId,
        memo: Option<Memo<Endpoint>>,
    ) -> Result<(), Denied<webhook::Rejection>> {
        let command = webhook::Command::Delete;
        self.ask_once(&self.0.families.webhooks, id, command, memo).await
    }

    /// What an endpoint has not received of events since a moment is posted again; an operator who asks for it is written down.
    ///
    /// # Errors
    /// When the endpoint is disabled or deleted.
    pub async fn resend_webhooks(
        &self,
        id: EndpointId,
        since: Timestamp,
        by: Option<Act>,
        memo: Option<Memo<Endpoint>>,
    ) -> Result<(), Denied<webhook::Rejection>> {
        let upto = self.0.store.durable_seq();
        let command = |by| webhook::Command::Resend { since, upto, by };
        let endpoint = (&self.0.families.webhooks, id);
        self.act_or_ask(endpoint, (by.as_ref(), memo), command).await
    }

    /// A delivery.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn webhook_delivery(&self, id: &DeliveryId) -> Result<Option<Delivery>, LoadError> {
        let read = self.0.families.webhook_deliveries.read(id).await?;
        Ok(read.map(|(delivery, _)| delivery))
    }

    /// A delivery is posted again, whatever became of it; an operator who asks for it is written down.
    ///
    /// # Errors
    /// When there is no such delivery.
    pub async fn redeliver_webhook(
        &self,
        id: DeliveryId,
        by: Option<Act>,
        memo: Option<Memo<Delivery>>,
    ) -> Result<(), Denied<webhook_delivery::Rejection>> {
        let command = |by| webhook_delivery::Command::Again { whatever: true, by };
        let delivery = (&self.0.families.webhook_deliveries, id);
        self.act_or_ask(delivery, (by.as_ref(), memo), command).await
    }

    /// A wallet's deliveries, the newest first. A page may be shorter than asked for and not the last.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn webhook_deliveries_of(&self, owner: &Wallet, wanted: &Wanted) -> Result<DeliveryPage, LoadError> {
        let prefix = table::owned(owner, Kind::WebhookDelivery);
        let mut page = DeliveryPage::default();
        let mut after = match wanted.after {
            None => None,
            Some(id) => {
                let known = self.webhook_delivery(&id).await?;
                known.map(|delivery| Delivery::listed(&delivery.owner, delivery.created_at, id))
            }
        };
        let mut looked = 0;
        while looked < LOOKED_AT_MAX {
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
                let Some((_, number)) = table::made(&key) else { continue };
                let id = DeliveryId(number);
                page.last = Some(id);
                let fits = |e: EndpointId| *row.value == e.0.to_be_bytes();
                if wanted.endpoint.is_some_and(|endpoint| !fits(endpoint)) {
                    continue;
                }
                let Some(delivery) = self.webhook_delivery(&id).await? else {
                    continue;
                };
                use crate::kernel::Entity as _;
                if wanted.state.as_deref().is_none_or(|state| state == delivery.status()) {
                    page.found.push((id, delivery));
                }
            }
        }
        page.more = true;
        Ok(page)
    }

    /// What posting has come to.
    pub fn posting(&self) -> PostFigures {
        self.0.posting.rooms.figures()
    }

    /// Deliveries that are being tried or wait for it, among the first 10,000 pieces of open work.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn webhooks_pending(&self) -> Result<u64, StoreError> {
        let (mut pending, mut looked_at, prefixes) = (0, 0, [table::EFFECT, table::TIMER]);
        for prefix in prefixes {
            let mut after = None;
            while looked_at < COUNTED_MAX {
                let page = self.0.store.scan(&[prefix], after.as_deref(), 1_000).await?;
                for (_, row) in &page {
                    let effect: crate::kernel::Effect = codec::decode(&row.value).map_err(damaged)?;
                    pending += u64::from(matches!(effect.work, crate::kernel::effect::Work::PostWebhook { .. }));
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
