//! Announces what waits for operators at their webhook: a signed POST for each new item of a queue.
//!
//! An announcement is durable before it is sent, and is delivered at least once, across restarts, under one id. An item is
//! announced when it is first seen in its queue, and again only after it has left the queue. The message has ids and no
//! other data of a customer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use purser_actors::announcement::{Announcement, AnnouncementDelivery};
use purser_actors::answer::rfc3339;
use purser_actors::id::EventId;
use purser_actors::kernel::table;
use purser_actors::port::{
    Clock, Entropy, Timestamp, WebhookPostError, WebhookPostRequest, WebhookResponse, WebhookSender as _,
};
use purser_storage::stats::Counter;
use purser_storage::{Batch, CommitError, RowKey, Store, StoreError, Write, codec};
use serde_json::json;
use tokio::sync::{Mutex, Notify, oneshot};

use crate::stream::Hub;
use crate::webhooks::HttpWebhookSender;

/// Longest time between two looks for attempts that are due. The sandbox's clock can be advanced meanwhile.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Announcements of items that have left their queue are removed after this time.
const RETENTION_MS: u64 = 30 * 24 * 3_600 * 1_000;
/// Time between two looks for such announcements.
const PURGE_INTERVAL_MS: u64 = 24 * 3_600 * 1_000;
/// Announcements removed or read at once.
const PAGE: usize = 500;
/// Queue of the announcement that an operator sends as a test.
pub const TEST_QUEUE: &str = "test";

/// An item of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingItem {
    pub queue: &'static str,
    /// Its id, or the name of a line.
    pub item: String,
    /// Since when it waits.
    pub since: Option<Timestamp>,
}

/// The operators' webhook.
pub struct OperatorWebhook {
    pub sender: HttpWebhookSender,
    /// Its URL, already checked.
    pub url: String,
    /// The signing secret: a sealed record of the vault with its number.
    pub secret: (u128, Vec<u8>),
}

/// Why an announcement was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum AnnouncementError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// Counts of the attempts since the start, and of what waits for one.
#[derive(Default)]
pub struct AnnouncementStats {
    delivered: Counter,
    rejected: Counter,
    not_sent: Counter,
    given_up: Counter,
    pending: AtomicU64,
}

impl AnnouncementStats {
    /// Attempts by outcome.
    pub fn attempts(&self) -> [(&'static str, u64); 3] {
        [
            ("delivered", self.delivered.sum()),
            ("rejected", self.rejected.sum()),
            ("not_sent", self.not_sent.sum()),
        ]
    }

    /// Announcements that were given up after their last attempt.
    pub fn given_up(&self) -> u64 {
        self.given_up.sum()
    }

    /// Announcements that are not delivered yet.
    pub fn pending(&self) -> u64 {
        self.pending.load(Ordering::Relaxed)
    }
}

/// Items that wait and attempts that are due, by row key.
#[derive(Default)]
struct State {
    is_loaded: bool,
    /// When announcements older than their retention are removed next.
    next_purge_at: Timestamp,
    open: BTreeMap<RowKey, Announcement>,
}

/// Records announcements and delivers them.
pub struct Announcer {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    webhook: Arc<OperatorWebhook>,
    /// Delay before each attempt.
    pauses_ms: Vec<u64>,
    stats: Arc<AnnouncementStats>,
    state: Mutex<State>,
    recorded: Notify,
}

impl Announcer {
    /// `pauses_ms` is the delay before each attempt; there are as many attempts.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        webhook: Arc<OperatorWebhook>,
        pauses_ms: Vec<u64>,
        stats: Arc<AnnouncementStats>,
    ) -> Self {
        Self {
            store,
            clock,
            entropy,
            webhook,
            pauses_ms,
            stats,
            state: Mutex::default(),
            recorded: Notify::new(),
        }
    }

    /// Scheme, host and port of the URL. The rest of it can contain a credential.
    pub fn origin(&self) -> String {
        let end = self.webhook.url.find("://").map_or(0, |scheme| scheme + 3);
        let host = self.webhook.url[end..].find(['/', '?', '#']);
        host.map_or(&*self.webhook.url, |host| &self.webhook.url[..end + host])
            .to_owned()
    }

    /// Records an announcement for each item that was not in its queue before. `items` are all that wait now.
    ///
    /// # Errors
    /// When the store rejects it: the same call can be repeated.
    pub async fn observe(&self, items: &[WaitingItem]) -> Result<(), AnnouncementError> {
        let mut state = self.state.lock().await;
        self.load(&mut state).await?;
        let now = self.clock.now();
        let waiting: BTreeSet<_> = items.iter().map(|one| (one.queue, one.item.as_str())).collect();
        let is_known = |known: &Announcement| waiting.contains(&(known.queue.as_str(), known.item.as_str()));
        let known = state.open.values().filter(|one| one.waits);
        let known: BTreeSet<_> = known.map(|one| (one.queue.as_str(), one.item.as_str())).collect();
        let mut changed: Vec<Announcement> = items
            .iter()
            .filter(|one| !known.contains(&(one.queue, one.item.as_str())))
            .map(|one| self.announcement(one.queue, &one.item, one.since, now))
            .collect();
        let has_new = !changed.is_empty();
        let left = state.open.values().filter(|one| one.waits && !is_known(one));
        changed.extend(left.cloned().map(|one| Announcement { waits: false, ..one }));
        self.put(&mut state, changed).await?;
        if has_new {
            self.recorded.notify_one();
        }
        Ok(())
    }

    /// Records an announcement that only tests the webhook.
    ///
    /// # Errors
    /// When the store rejects it.
    pub async fn send_test(&self, operator: &str) -> Result<Announcement, AnnouncementError> {
        let mut state = self.state.lock().await;
        self.load(&mut state).await?;
        let test = Announcement {
            waits: false,
            ..self.announcement(TEST_QUEUE, operator, None, self.clock.now())
        };
        self.put(&mut state, vec![test.clone()]).await?;
        self.recorded.notify_one();
        Ok(test)
    }

    fn announcement(&self, queue: &str, item: &str, since: Option<Timestamp>, now: Timestamp) -> Announcement {
        Announcement {
            id: EventId(self.entropy.random()),
            queue: queue.to_owned(),
            item: item.to_owned(),
            since,
            at: now,
            waits: true,
            attempts: 0,
            delivery: AnnouncementDelivery::Pending(now.plus_ms(self.pauses_ms.first().copied().unwrap_or(0))),
            last_error: None,
        }
    }

    /// Delivers what is due until the service stops.
    pub async fn run(self: Arc<Self>, hub: Arc<Hub>) {
        loop {
            match self.deliver_next().await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => tracing::error!(%error, "an announcement to operators could not be recorded"),
            }
            tokio::select! {
                () = self.recorded.notified() => {}
                () = tokio::time::sleep(LOOK_INTERVAL) => {}
                () = hub.stopped() => return,
            }
        }
    }

    /// Makes the attempt that is due first. Returns whether there was one.
    async fn deliver_next(&self) -> Result<bool, AnnouncementError> {
        let next = {
            let mut state = self.state.lock().await;
            self.load(&mut state).await?;
            if let Err(error) = self.purge(&mut state).await {
                tracing::warn!(%error, "old announcements could not be removed");
            }
            let now = self.clock.now();
            let due = state.open.iter().filter_map(|(key, one)| match one.delivery {
                AnnouncementDelivery::Pending(at) if at <= now => Some((at, key.clone(), one.clone())),
                _ => None,
            });
            due.min_by_key(|(at, key, _)| (*at, std::cmp::Reverse(key.clone())))
        };
        let Some((_, key, announcement)) = next else {
            return Ok(false);
        };
        let answered = self.post(&announcement).await;
        let mut state = self.state.lock().await;
        // Whether the item still waits can have changed during the attempt.
        let Some(mut announcement) = state.open.get(&key).cloned() else {
            return Ok(true);
        };
        self.record_attempt(&mut announcement, answered);
        self.put(&mut state, vec![announcement]).await?;
        Ok(true)
    }

    async fn post(&self, announcement: &Announcement) -> Result<WebhookResponse, WebhookPostError> {
        let body = body_of(announcement).to_string();
        let (record, sealed) = &self.webhook.secret;
        let request = WebhookPostRequest {
            url: &self.webhook.url,
            secrets: vec![(*record, sealed.clone())],
            event: announcement.id,
            at: self.clock.now(),
            body: &body,
        };
        self.webhook.sender.post(request).await
    }

    fn record_attempt(&self, announcement: &mut Announcement, answered: Result<WebhookResponse, WebhookPostError>) {
        let now = self.clock.now();
        announcement.attempts = announcement.attempts.saturating_add(1);
        let (error, asked_ms) = match answered {
            Ok(response) if (200..300).contains(&response.status) => {
                announcement.delivery = AnnouncementDelivery::Delivered(now);
                announcement.last_error = None;
                self.stats.delivered.add();
                return;
            }
            Ok(response) => {
                self.stats.rejected.add();
                (format!("it answered {}", response.status), response.retry_after_ms)
            }
            Err(error) => {
                self.stats.not_sent.add();
                let reason = match error {
                    WebhookPostError::Failed(reason) => reason,
                    WebhookPostError::Internal(error) => error.operation,
                };
                (reason.to_owned(), None)
            }
        };
        let attempts = usize::try_from(announcement.attempts).unwrap_or(usize::MAX);
        announcement.delivery = match self.pauses_ms.get(attempts) {
            Some(pause) => {
                let longest = self.pauses_ms.iter().copied().max().unwrap_or(0);
                let pause = asked_ms.unwrap_or(0).min(longest).max(*pause);
                AnnouncementDelivery::Pending(now.plus_ms(pause))
            }
            None => {
                let (id, queue) = (announcement.id, &announcement.queue);
                tracing::error!(%id, queue, error, "an announcement could not be delivered to the operators' webhook");
                self.stats.given_up.add();
                AnnouncementDelivery::Failed(now)
            }
        };
        announcement.last_error = Some(error);
    }

    /// Removes the rows that are of no use any more, at the start and then daily.
    async fn purge(&self, state: &mut State) -> Result<(), AnnouncementError> {
        let now = self.clock.now();
        if now < state.next_purge_at {
            return Ok(());
        }
        state.next_purge_at = now.plus_ms(PURGE_INTERVAL_MS);
        let oldest = Timestamp(now.0.saturating_sub(RETENTION_MS));
        // Newer rows come first, so all after this key are older.
        let mut after = table::announcement(oldest, EventId(u128::MAX));
        loop {
            let rows = self.store.scan(&[table::ANNOUNCEMENT], Some(&after), PAGE).await?;
            let is_last = rows.len() < PAGE;
            if let Some((key, _)) = rows.last() {
                after = key.clone();
            }
            let keys = rows.into_iter().map(|(key, _)| key);
            let of_no_use = keys.filter(|key| !state.open.contains_key(key));
            let removed: Vec<Write> = of_no_use.map(|key| Write::Delete { key }).collect();
            if !removed.is_empty() {
                self.commit(removed).await?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Reads the rows, once.
    async fn load(&self, state: &mut State) -> Result<(), StoreError> {
        if state.is_loaded {
            return Ok(());
        }
        let mut after = None;
        loop {
            let rows = self.store.scan(&[table::ANNOUNCEMENT], after.as_deref(), PAGE).await?;
            let is_last = rows.len() < PAGE;
            for (key, row) in rows {
                after = Some(key.clone());
                let read: Result<Announcement, _> = codec::decode(&row.value);
                match read {
                    Ok(one) if is_open(&one) => drop(state.open.insert(key, one)),
                    Ok(_) => {}
                    Err(error) => tracing::error!(row = hex::encode(&key), %error, "corrupt announcement: skipped"),
                }
            }
            if is_last {
                break;
            }
        }
        state.is_loaded = true;
        self.count_pending(state);
        Ok(())
    }

    /// Stores announcements, then knows them.
    async fn put(&self, state: &mut State, changed: Vec<Announcement>) -> Result<(), CommitError> {
        for some in changed.chunks(PAGE) {
            let put = |one: &Announcement| Write::Put {
                key: table::announcement(one.at, one.id),
                revision: 0,
                value: codec::encode(one),
            };
            self.commit(some.iter().map(put).collect()).await?;
            for one in some {
                let key = table::announcement(one.at, one.id);
                match is_open(one) {
                    true => drop(state.open.insert(key, one.clone())),
                    false => drop(state.open.remove(&key)),
                }
            }
            self.count_pending(state);
        }
        Ok(())
    }

    fn count_pending(&self, state: &State) {
        let open = state.open.values();
        let pending = open.filter(|one| matches!(one.delivery, AnnouncementDelivery::Pending(_)));
        self.stats.pending.store(pending.count() as u64, Ordering::Relaxed);
    }

    async fn commit(&self, writes: Vec<Write>) -> Result<(), CommitError> {
        let batch = Batch {
            writes,
            ..Batch::default()
        };
        let (done, committed) = oneshot::channel();
        self.store
            .commit(batch, Box::new(move |result| drop(done.send(result))));
        committed.await.unwrap_or(Err(CommitError::Stopped)).map(drop)
    }
}

/// Whether it has to be known: the item waits, or an attempt is due.
const fn is_open(announcement: &Announcement) -> bool {
    announcement.waits || matches!(announcement.delivery, AnnouncementDelivery::Pending(_))
}

/// The message. Ids only: the receiver is outside the service.
fn body_of(announcement: &Announcement) -> serde_json::Value {
    let Announcement {
        id,
        queue,
        item,
        since,
        at,
        ..
    } = announcement;
    let (kind, text) = match queue.as_str() {
        TEST_QUEUE => ("webhook.test", format!("{item} tests this webhook.")),
        _ => ("queue.item_added", format!("{}: {item}", title(queue))),
    };
    json!({
        "id": id.to_string(),
        "type": kind,
        "created_at": rfc3339(*at),
        "text": text,
        "data": {"object": {
            "queue": queue,
            "item": item,
            "waiting_since": since.map(rfc3339),
        }},
    })
}

/// What a new item of this queue is, for people.
fn title(queue: &str) -> &'static str {
    match queue {
        "intl_orders" => "An international order waits",
        "card_withdrawals" => "A card withdrawal waits",
        "card_actions" => "An account owner requests a card action",
        "dead_letters" => "A job is dead-lettered",
        "unknown_payments" => "The outcome of a payment is unknown",
        "approvals" => "An action waits for approval",
        "refunds" => "A refund waits for approval",
        "incoming_transfers" => "An incoming transfer belongs to no payment",
        "untracked_transfers" => "An outgoing transfer is missing from the ledger",
        "discrepancies" => "Reconciliation found a discrepancy",
        "lines_not_sold" => "A product line is not sold",
        _ => "Something waits",
    }
}
