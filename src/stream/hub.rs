//! Passes events from the committer to the subscribers that wait for them.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use dashmap::DashMap;
use parking_lot::Mutex;
use purser_actors::id::{SessionId, Wallet};
use purser_storage::mutants::{self, Mutant};
use purser_storage::{EventSink, Seq, StoredEvent};
use tokio::sync::Notify;

use super::frame::QueuedEvent;

/// Events that one subscriber has not taken yet.
#[derive(Default)]
struct SubscriberBuffer {
    queue: VecDeque<Arc<QueuedEvent>>,
    bytes: usize,
    /// The queue overflowed and was discarded: the missing events are in the store.
    lagged: bool,
}

struct Subscriber {
    id: u64,
    /// The ids under which it may be revoked.
    revocation_ids: [Option<SessionId>; 3],
    buffer: Mutex<SubscriberBuffer>,
    notify: Notify,
    /// The queue is half full.
    filled: Notify,
    revoked: AtomicBool,
    /// Whether the owner reads at one of our pages: stopping the agents does not end it.
    of_owner: AtomicBool,
    /// The newest event that was queued here, or would have been.
    newest: AtomicU64,
    /// The event that froze the account; 0 while none has.
    frozen_at: AtomicU64,
}

/// Whether a stream must end because its account is frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreezeState {
    None,
    /// Frozen; the freeze event has not been taken yet.
    EventPending,
    /// Frozen; the freeze event has been taken.
    EventDelivered,
}

#[derive(Debug, PartialEq, Eq)]
pub enum BufferContents {
    Nothing,
    /// Events in order.
    Events(Vec<Arc<QueuedEvent>>),
    /// Events were dropped here: read the store, then take again.
    Lagged,
}

/// Fans durable events out to the subscribers of their subject. Publishing costs one lookup per event and never waits:
/// each subscriber's queue has its own lock, held for one push.
pub struct Hub {
    by_subject: DashMap<Vec<u8>, Vec<Arc<Subscriber>>>,
    /// Connections, with or without a credential.
    connections_per_subject: AtomicUsize,
    subscribed: AtomicUsize,
    next_id: AtomicU64,
    overflows: AtomicU64,
    rate_limited: AtomicU64,
    buffer_bytes: usize,
    max_connections: usize,
    max_per_account: usize,
    stopping: AtomicBool,
    stopped: Notify,
}

/// The subscription limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubscribeError {
    /// Limit per account.
    #[error("too many streams of this account")]
    Account,
    /// Limit of the service.
    #[error("too many streams")]
    Service,
}

impl Hub {
    pub fn new(config: &crate::config::Stream) -> Arc<Self> {
        Arc::new(Self {
            by_subject: DashMap::new(),
            connections_per_subject: AtomicUsize::new(0),
            subscribed: AtomicUsize::new(0),
            next_id: AtomicU64::new(1),
            overflows: AtomicU64::new(0),
            rate_limited: AtomicU64::new(0),
            buffer_bytes: config.buffer_bytes,
            max_connections: config.max_connections,
            max_per_account: config.max_per_account,
            stopping: AtomicBool::new(false),
            stopped: Notify::new(),
        })
    }

    /// A slot for one connection of any account. It is taken before the upgrade and held until the socket is closed.
    /// Connections without a credential, and those that are closing, therefore count too.
    ///
    /// # Errors
    /// [`SubscribeError::Service`] at the limit.
    pub fn acquire_slot(self: &Arc<Self>) -> Result<ConnectionSlot, SubscribeError> {
        let seat = ConnectionSlot(self.clone());
        if self.connections_per_subject.fetch_add(1, Ordering::AcqRel) >= self.max_connections {
            Err(SubscribeError::Service)
        } else {
            Ok(seat)
        }
    }

    /// Starts collecting events of this wallet's account.
    ///
    /// # Errors
    /// [`SubscribeError::Account`] at the limit.
    pub fn subscribe(
        self: &Arc<Self>,
        wallet: Wallet,
        revocation_ids: [Option<SessionId>; 3],
    ) -> Result<Subscription, SubscribeError> {
        let subscriber = Arc::new(Subscriber {
            id: self.next_id.fetch_add(1, Ordering::Relaxed),
            revocation_ids,
            buffer: Mutex::default(),
            notify: Notify::new(),
            filled: Notify::new(),
            revoked: AtomicBool::new(false),
            of_owner: AtomicBool::new(false),
            newest: AtomicU64::new(0),
            frozen_at: AtomicU64::new(0),
        });
        let subject = wallet.key();
        let mut entry = self.by_subject.entry(subject.clone()).or_default();
        if entry.len() >= self.max_per_account {
            return Err(SubscribeError::Account);
        }
        entry.push(subscriber.clone());
        self.subscribed.fetch_add(1, Ordering::AcqRel);
        drop(entry);
        Ok(Subscription {
            hub: self.clone(),
            subject,
            subscriber,
        })
    }

    /// Closes the streams of an account's session or API key: it was revoked, or its user signed out.
    pub fn revoke(&self, wallet: &Wallet, session: SessionId) {
        let Some(subscribers) = self.by_subject.get(&wallet.key()[..]) else {
            return;
        };
        for subscriber in subscribers.iter().filter(|s| s.revocation_ids.contains(&Some(session))) {
            subscriber.revoked.store(true, Ordering::Release);
            subscriber.notify.notify_one();
        }
    }

    /// Closes the streams of an account's agents: the owner has stopped them.
    pub fn stop_agents(&self, wallet: &Wallet) {
        let Some(subscribers) = self.by_subject.get(&wallet.key()[..]) else {
            return;
        };
        for subscriber in subscribers.iter().filter(|s| !s.of_owner.load(Ordering::Acquire)) {
            subscriber.revoked.store(true, Ordering::Release);
            subscriber.notify.notify_one();
        }
    }

    /// Closes all streams of an account: a recovery has ended all access from before.
    pub fn end_access(&self, wallet: &Wallet) {
        let Some(subscribers) = self.by_subject.get(&wallet.key()[..]) else {
            return;
        };
        for subscriber in subscribers.iter() {
            subscriber.revoked.store(true, Ordering::Release);
            subscriber.notify.notify_one();
        }
    }

    /// Closes all streams of an account once they have received this event, which froze it.
    pub fn freeze(&self, wallet: &Wallet, event: Seq) {
        let Some(subscribers) = self.by_subject.get(&wallet.key()[..]) else {
            return;
        };
        for subscriber in subscribers.iter() {
            subscriber.frozen_at.store(event, Ordering::Release);
            subscriber.notify.notify_one();
        }
    }

    /// Open streams of an account.
    pub fn streams_of(&self, wallet: &Wallet) -> usize {
        self.by_subject.get(&wallet.key()[..]).map_or(0, |all| all.len())
    }

    /// Resolves when the service stops, for other code that has open connections.
    pub async fn stopped(&self) {
        let notification = self.stopped.notified();
        if !self.stopping.load(Ordering::Acquire) {
            notification.await;
        }
    }

    /// Closes every stream when the service stops.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.stopped.notify_waiters();
        for entry in &self.by_subject {
            entry.value().iter().for_each(|s| s.notify.notify_one());
        }
    }

    pub fn connections(&self) -> usize {
        self.connections_per_subject.load(Ordering::Acquire)
    }

    /// Queues discarded since the start: their subscribers read the store again.
    pub fn overflows(&self) -> u64 {
        self.overflows.load(Ordering::Relaxed)
    }

    pub(super) fn record_rate_limited(&self) {
        self.rate_limited.fetch_add(1, Ordering::Relaxed);
    }

    /// Clients closed since the start because they sent too many messages.
    pub fn rate_limited(&self) -> u64 {
        self.rate_limited.load(Ordering::Relaxed)
    }

    pub fn subscriptions(&self) -> usize {
        self.subscribed.load(Ordering::Acquire)
    }
}

/// Slot from [`Hub::acquire_slot`].
pub struct ConnectionSlot(Arc<Hub>);

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.connections_per_subject.fetch_sub(1, Ordering::AcqRel);
    }
}

impl EventSink for Hub {
    fn publish(&self, events: &[StoredEvent]) {
        if self.subscriptions() == 0 || mutants::is_enabled(Mutant::NothingPublished) {
            return;
        }
        for event in events {
            let Some(subscribers) = self.by_subject.get(&event.subject[..]) else {
                continue;
            };
            let event = QueuedEvent::new(event.clone());
            for subscriber in subscribers.iter() {
                if subscriber.push(&event, self.buffer_bytes) == PushResult::Overflowed {
                    self.overflows.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}

#[derive(PartialEq, Eq)]
enum PushResult {
    Buffered,
    /// The queue exceeded its byte limit with this event.
    Overflowed,
}

impl Subscriber {
    fn push(&self, event: &Arc<QueuedEvent>, limit: usize) -> PushResult {
        let mut live = self.buffer.lock();
        let mut pushed = PushResult::Buffered;
        let before = live.bytes;
        if !live.lagged {
            live.bytes += event.stored.payload.len() + size_of::<QueuedEvent>();
            if live.bytes > limit {
                *live = SubscriberBuffer {
                    lagged: !mutants::is_enabled(Mutant::OverflowUnnoticed),
                    ..SubscriberBuffer::default()
                };
                pushed = PushResult::Overflowed;
            } else {
                live.queue.push_back(Arc::clone(event));
            }
        }
        // Under the lock, so that a reader that sees it and then finds the queue empty has taken the event.
        self.newest.store(event.stored.seq, Ordering::Release);
        let is_filled = (before..live.bytes).contains(&(limit / 2));
        drop(live);
        if is_filled {
            self.filled.notify_one();
        }
        if !mutants::is_enabled(Mutant::SubscriberNotWoken) {
            self.notify.notify_one();
        }
        pushed
    }
}

/// A registered subscriber; dropping it ends the subscription.
pub struct Subscription {
    hub: Arc<Hub>,
    subject: Vec<u8>,
    subscriber: Arc<Subscriber>,
}

impl Subscription {
    /// States that the owner reads at one of our pages.
    #[must_use]
    pub fn of_owner(self, of_owner: bool) -> Self {
        self.subscriber.of_owner.store(of_owner, Ordering::Release);
        self
    }

    /// The subject of its events.
    pub fn subject(&self) -> &[u8] {
        &self.subject
    }

    /// Events since the last call.
    pub fn take(&self) -> BufferContents {
        let live = std::mem::take(&mut *self.subscriber.buffer.lock());
        match live {
            SubscriberBuffer { lagged: true, .. } => BufferContents::Lagged,
            SubscriberBuffer { queue, .. } if queue.is_empty() => BufferContents::Nothing,
            SubscriberBuffer { queue, .. } => BufferContents::Events(queue.into()),
        }
    }

    /// This subscriber's offset within a period, so that clients that reconnect together after a restart are spread
    /// over it.
    pub(super) fn phase(&self, period: Duration) -> Duration {
        // Multiples of the golden ratio, modulo one: consecutive ones lie far apart.
        let turn = self.subscriber.id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let millis = u64::try_from(period.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(1 + (millis.saturating_mul(turn) >> 32))
    }

    /// Resolves when events have arrived, the session was revoked or the service stops. May wake early.
    pub async fn notified(&self) {
        self.subscriber.notify.notified().await;
    }

    /// Resolves when the queue is half full: a subscriber that lets events wait takes them before it overflows. May wake
    /// early.
    pub async fn filled(&self) {
        self.subscriber.filled.notified().await;
    }

    pub fn is_revoked(&self) -> bool {
        self.subscriber.revoked.load(Ordering::Acquire)
    }

    /// Whether the account is frozen. Call before [`Subscription::take`]: after [`FreezeState::EventDelivered`] no
    /// further event follows once the feed has caught up.
    pub fn freeze(&self) -> FreezeState {
        match self.subscriber.frozen_at.load(Ordering::Acquire) {
            0 => FreezeState::None,
            event if self.subscriber.newest.load(Ordering::Acquire) >= event => FreezeState::EventDelivered,
            _ => FreezeState::EventPending,
        }
    }

    pub fn is_stopping(&self) -> bool {
        self.hub.stopping.load(Ordering::Acquire)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let dashmap::Entry::Occupied(mut entry) = self.hub.by_subject.entry(std::mem::take(&mut self.subject)) {
            entry.get_mut().retain(|s| s.id != self.subscriber.id);
            if entry.get().is_empty() {
                entry.remove();
            }
        }
        self.hub.subscribed.fetch_sub(1, Ordering::AcqRel);
    }
}
