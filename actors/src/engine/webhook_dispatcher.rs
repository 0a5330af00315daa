//! Webhook fan-out: every event that an endpoint subscribes to becomes one delivery.
//!
//! The committer passes the events of accounts that have endpoints. Events that do not fit in memory are read from the
//! journal. A row stores the journal position up to which events are dispatched. It is written after the deliveries are
//! durable, and a delivery's id follows from event and endpoint. A crash in between therefore neither loses nor
//! duplicates a delivery. Accounts without endpoints cost one set lookup.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use dashmap::DashSet;
use parking_lot::Mutex;
use purser_storage::codec::{self, Stored};
use purser_storage::{EventSink, Seq, Store, StoreError, StoredEvent};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::provider_events::persist_cursor;
use super::registries::Registries;
use super::{Engine, Inner};
use crate::entity::session::AuthMethod;
use crate::entity::spend_approval::sees_event;
use crate::entity::webhook::{WebhookEndpoint, matches_filter};
use crate::entity::webhook_delivery::{Command, Rejection, WebhookMessage};
use crate::id::{Wallet, WebhookDeliveryId, WebhookId};
use crate::kernel::event_record::EventRecord;
use crate::kernel::{AskError, Entity as _, EntityKind, table};

/// Events read from the journal in one page.
const PAGE: usize = 500;
/// Largest size of the event queue in memory.
const QUEUE_BYTES: usize = 8 * 1024 * 1024;
/// Events without a subscriber after which the cursor is stored anyway, so that a restart need not read them again.
const CURSOR_INTERVAL: u64 = 20_000;
/// Interval of that check, and delay after a failure.
const POLL_INTERVAL: Duration = Duration::from_millis(1_000);
const CURSOR_KEY: &str = "webhook-dispatch-cursor";
/// Type of the test event.
const TEST_EVENT: &str = "webhook.test";

/// Journal position up to which events are dispatched.
#[derive(Clone, Copy, Debug, Default, bincode::Encode, bincode::Decode)]
struct DispatchCursor(Seq);

impl Stored for DispatchCursor {
    const SCHEMA: u16 = 234;
}

#[derive(Default)]
struct EventQueue {
    events: VecDeque<StoredEvent>,
    bytes: usize,
}

/// Buffers events between the committer and the fan-out worker.
#[derive(Default)]
pub(super) struct WebhookDispatcher {
    /// Keys of accounts that have or had an endpoint.
    watched: DashSet<Box<[u8]>>,
    /// Whether `watched` has any.
    has_endpoints: AtomicBool,
    queue: Mutex<EventQueue>,
    /// The queue was dropped; its events are read from the journal.
    overflowed: AtomicBool,
    /// Latest sequence passed by the committer, with or without subscribers.
    last_seq: AtomicU64,
    notify: Notify,
}

impl WebhookDispatcher {
    /// From now on the events of this account are buffered.
    pub(super) fn watch(&self, owner: &Wallet) {
        self.watched.insert(owner.key().into_boxed_slice());
        self.has_endpoints.store(true, Ordering::Release);
    }
}

impl EventSink for WebhookDispatcher {
    fn publish(&self, events: &[StoredEvent]) {
        if self.has_endpoints.load(Ordering::Acquire) {
            let mut queue = None;
            for event in events.iter().filter(|event| self.watched.contains(&event.subject[..])) {
                let queue = queue.get_or_insert_with(|| self.queue.lock());
                queue.bytes += event.payload.len() + size_of::<StoredEvent>();
                queue.events.push_back(event.clone());
                if queue.bytes > QUEUE_BYTES {
                    **queue = EventQueue::default();
                    self.overflowed.store(true, Ordering::Release);
                }
            }
            if queue.is_some() {
                self.notify.notify_one();
            }
        }
        if let Some(last) = events.last() {
            self.last_seq.store(last.seq, Ordering::Release);
        }
    }
}

/// An endpoint with the credentials of the session that registered it last.
pub(super) struct KnownEndpoint {
    pub(super) id: WebhookId,
    pub(super) endpoint: WebhookEndpoint,
    /// `None` if the session is not known.
    pub(super) registrant: Option<AuthMethod>,
}

/// The fan-out worker and its copy of the endpoints.
struct FanOutWorker {
    registries: Registries,
    store: Arc<dyn Store>,
    dispatcher: Arc<WebhookDispatcher>,
    /// Endpoints by account key.
    endpoints: BTreeMap<Box<[u8]>, BTreeMap<WebhookId, KnownEndpoint>>,
    /// Everything up to here is dispatched.
    position: Seq,
    persisted: Seq,
}

/// Runs the fan-out worker for the lifetime of the engine. After a failure or panic, the next worker starts at the
/// stored position.
pub(super) fn spawn(engine: &Engine) {
    let inner = Arc::downgrade(&engine.0);
    let dispatcher = engine.0.webhooks.dispatcher.clone();
    engine.0.store.subscribe(dispatcher.clone());
    tokio::spawn(async move {
        let mut worker: Option<FanOutWorker> = None;
        loop {
            let Some(live) = inner.upgrade() else { return };
            let sorting = tokio::spawn(async move {
                let mut worker = match worker {
                    Some(worker) => worker,
                    None => FanOutWorker::start(&live).await.map_err(|e| e.to_string())?,
                };
                drop(live);
                worker.run_once().await?;
                Ok::<_, String>(worker)
            });
            worker = match sorting.await {
                Ok(Ok(worker)) => Some(worker),
                Ok(Err(error)) => {
                    tracing::warn!(error, "events could not be brought to their endpoints, and are again");
                    None
                }
                Err(error) => {
                    tracing::error!(%error, "what brings events to their endpoints failed and begins again");
                    None
                }
            };
            if worker.is_none() {
                tokio::time::sleep(POLL_INTERVAL).await;
                continue;
            }
            tokio::select! {
                () = dispatcher.notify.notified() => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
    });
}

impl FanOutWorker {
    /// Loads every endpoint and the stored position.
    async fn start(inner: &Inner) -> Result<Self, StoreError> {
        let mut worker = Self {
            registries: inner.registries.clone(),
            store: inner.store.clone(),
            dispatcher: inner.webhooks.dispatcher.clone(),
            endpoints: BTreeMap::new(),
            position: 0,
            persisted: 0,
        };
        // The queue may lack events that the previous worker took from it.
        let newest = worker.store.durable_seq();
        worker.dispatcher.overflowed.store(true, Ordering::Release);
        let mut after = None;
        loop {
            let page = worker.store.scan(&[table::WEBHOOK], after.as_deref(), 1_000).await?;
            for (key, row) in &page {
                match (&*row.value).try_into() {
                    Ok(id) => worker.load_endpoint(WebhookId(u128::from_be_bytes(id))).await?,
                    Err(_) => tracing::error!(row = hex::encode(key), "row without a valid endpoint id: skipped"),
                }
            }
            match page.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => break,
            }
        }
        let row = worker.store.read(&table::meta(CURSOR_KEY)).await?;
        let cursor: Option<DispatchCursor> = row.and_then(|row| {
            let read = codec::decode(&row.value);
            read.inspect_err(
                |error| tracing::error!(row = CURSOR_KEY, %error, "corrupt: the journal is read from its start"),
            )
            .ok()
        });
        // Without a row, the first registration may have crashed before the row was written. Each endpoint knows since
        // when it subscribes, and deliveries already opened are recognised.
        worker.position = cursor.map_or(0, |cursor| cursor.0);
        worker.persisted = worker.position;
        if worker.endpoints.is_empty() {
            // No endpoint needs an earlier event; the account of a new endpoint is watched first.
            worker.position = worker.position.max(newest);
        }
        Ok(worker)
    }

    /// Loads an endpoint's current state. A corrupt one blocks no other.
    async fn load_endpoint(&mut self, id: WebhookId) -> Result<(), StoreError> {
        let Some((endpoint, _)) = self.registries.webhooks.read_or_skip_corrupt(&id).await? else {
            self.endpoints
                .values_mut()
                .for_each(|of_owner| drop(of_owner.remove(&id)));
            return Ok(());
        };
        self.dispatcher.watch(&endpoint.owner);
        let of_owner = self
            .endpoints
            .entry(endpoint.owner.key().into_boxed_slice())
            .or_default();
        if endpoint.status() == "active" {
            let session = self.registries.sessions.read_or_skip_corrupt(&endpoint.session).await?;
            let registrant = session.map(|(session, _)| session.amr);
            let known = KnownEndpoint {
                id,
                endpoint,
                registrant,
            };
            of_owner.insert(id, known);
        } else {
            of_owner.remove(&id);
        }
        Ok(())
    }

    /// Dispatches all new events.
    async fn run_once(&mut self) -> Result<(), String> {
        loop {
            if self.dispatcher.overflowed.swap(false, Ordering::AcqRel) {
                self.catch_up().await?;
                continue;
            }
            // In this order: an event up to `seen` is in the queue, or the queue has overflowed.
            let seen = self.dispatcher.last_seq.load(Ordering::Acquire);
            let events = std::mem::take(&mut *self.dispatcher.queue.lock()).events;
            if self.dispatcher.overflowed.load(Ordering::Acquire) {
                continue;
            }
            let opened = self.fan_out(events).await?;
            self.position = self.position.max(seen);
            if opened || self.position >= self.persisted + CURSOR_INTERVAL {
                self.persist_cursor().await?;
            }
            if !opened {
                return Ok(());
            }
        }
    }

    /// Reads the journal up to its end.
    async fn catch_up(&mut self) -> Result<(), String> {
        loop {
            let page = match self.store.events(self.position, PAGE, None).await {
                // The journal no longer has these events, so they can't be delivered.
                Err(StoreError::Expired { oldest }) => {
                    self.position = self.position.max(oldest.saturating_sub(1));
                    continue;
                }
                page => page.map_err(|e| e.to_string())?,
            };
            let Some(last) = page.last().map(|event| event.seq) else {
                return self.persist_cursor().await;
            };
            self.fan_out(page).await?;
            self.position = last;
            self.persist_cursor().await?;
        }
    }

    async fn persist_cursor(&mut self) -> Result<(), String> {
        // Without endpoints, a restart begins at the end anyway.
        if self.position > self.persisted && !self.endpoints.is_empty() {
            persist_cursor(
                &*self.store,
                table::meta(CURSOR_KEY),
                codec::encode(&DispatchCursor(self.position)),
            )
            .await?;
            self.persisted = self.position;
        }
        Ok(())
    }

    /// Opens the deliveries for these events; returns whether there were any.
    async fn fan_out(&mut self, events: impl IntoIterator<Item = StoredEvent>) -> Result<bool, String> {
        let mut opening = JoinSet::new();
        let mut some = false;
        for event in events {
            if event.seq <= self.position || !self.dispatcher.watched.contains(&event.subject[..]) {
                continue;
            }
            let record = match EventRecord::read(&event.subject, &event.payload) {
                Ok(record) => record,
                Err(error) => {
                    tracing::error!(seq = event.seq, %error, "a stored event cannot be decoded: not delivered");
                    continue;
                }
            };
            if record.kind == EntityKind::Webhook as u8 {
                let id = WebhookId(record.id.as_slice().try_into().map_or(0, u128::from_be_bytes));
                self.load_endpoint(id).await.map_err(|e| e.to_string())?;
            }
            for (endpoint, letter) in self.messages(&event, &record) {
                some = true;
                let (deliveries, owner) = (self.registries.webhook_deliveries.clone(), record.owner);
                let id = WebhookDeliveryId::for_event(endpoint, letter.event);
                opening.spawn(async move { deliveries.ask(id, Command::Create { owner, message: letter }).await });
                // Bounds the batch: one page of an account with many endpoints would open too many deliveries.
                if opening.len() >= PAGE {
                    check_opened(opening.join_next().await)?;
                }
            }
        }
        while let Some(one) = opening.join_next().await {
            check_opened(Some(one))?;
        }
        Ok(some)
    }

    fn messages(&self, event: &StoredEvent, record: &EventRecord) -> Vec<(WebhookId, WebhookMessage)> {
        let Some(endpoints) = self.endpoints.get(&event.subject[..]) else {
            return Vec::new();
        };
        let due = endpoints.iter().filter(|(_, known)| known.endpoint.since <= record.at);
        due.filter_map(|(id, known)| Some((*id, message_for(event, record, known)?)))
            .collect()
    }
}

/// The message for an endpoint of the event's account, if the endpoint subscribes to the event and its registrant may see
/// it. Events about an endpoint go to the other endpoints. Its test event goes to it alone.
pub(super) fn message_for(event: &StoredEvent, record: &EventRecord, known: &KnownEndpoint) -> Option<WebhookMessage> {
    let KnownEndpoint { id, endpoint, .. } = known;
    let announced = record.announcement.as_ref()?;
    let is_own = record.kind == EntityKind::Webhook as u8 && record.id == id.0.to_be_bytes();
    let is_test = announced.kind == TEST_EVENT;
    let is_wanted = is_test || matches_filter(&endpoint.types, &announced.kind);
    if is_own != is_test || !is_wanted || !sees_event(known.registrant, announced) {
        return None;
    }
    Some(WebhookMessage {
        endpoint: *id,
        event: announced.id,
        kind: announced.kind.clone(),
        seq: event.cursor,
        happened_at: record.at,
    })
}

type OpenResult = Result<(), AskError<Rejection>>;

/// Any other reply leaves the event for the next run.
fn check_opened(result: Option<Result<OpenResult, tokio::task::JoinError>>) -> Result<(), String> {
    match result {
        None | Some(Ok(Ok(()))) => Ok(()),
        // It blocks no other delivery; operators see quarantined entities.
        Some(Ok(Err(AskError::Quarantined))) => Ok(()),
        Some(Ok(Err(refusal))) => Err(format!("{refusal:?}")),
        Some(Err(error)) => Err(error.to_string()),
    }
}
