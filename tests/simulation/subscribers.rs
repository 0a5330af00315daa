//! Subscribers: the hub and the feed of the stream, below the socket.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use purser::config::{Config, ConfigSources};
use purser::stream::{EventFilter, Hub, StreamEvent, SubscriberFeed};
use purser_actors::id::SessionId;
use purser_storage::{Store, StoreError, StoredEvent};
use tokio::task::JoinHandle;

use crate::clients::wallet;
use crate::environment::Environment;

/// What a subscriber has, whatever becomes of its connections.
pub(crate) struct SimSubscriber {
    wallet: u8,
    received: Vec<(u64, String)>,
    stalled_until_ms: u64,
}

impl SimSubscriber {
    /// After a restore it begins anew: its cursor is of a history that is lost.
    pub(crate) fn recall(&mut self) {
        self.received.clear();
    }
}

/// The connections of one life.
pub(crate) struct Stream {
    environment: Arc<Environment>,
    store: Arc<dyn Store>,
    pub(crate) hub: Arc<Hub>,
    connections: Vec<Option<JoinHandle<()>>>,
}

impl Stream {
    pub(crate) fn open(world: &Arc<Environment>, store: Arc<dyn Store>) -> Self {
        thread_local! {
            static CONFIG: purser::config::Stream = Config::load(&ConfigSources::default()).unwrap().stream;
        }
        let mut config = CONFIG.with(Clone::clone);
        config.buffer_bytes = world.plan.watch_bytes;
        let hub = Hub::new(&config);
        store.subscribe(hub.clone());
        Self {
            environment: world.clone(),
            store,
            hub,
            connections: Vec::new(),
        }
    }

    pub(crate) fn watch(&mut self, wallet: u8) {
        let mut watchers = self.environment.subscribers.lock();
        watchers.push(SimSubscriber {
            wallet,
            received: Vec::new(),
            stalled_until_ms: 0,
        });
        let n = watchers.len() - 1;
        drop(watchers);
        self.connect(n);
    }

    pub(crate) fn stall(&self, watcher: u8, ms: u64) {
        let until = self.environment.true_ms() + ms;
        if let Some(watcher) = self.environment.subscribers.lock().get_mut(usize::from(watcher)) {
            watcher.stalled_until_ms = until;
        }
    }

    /// Closes what is open and resumes from the cursor.
    pub(crate) fn connect(&mut self, n: usize) {
        let Some((wallet_no, cursor)) = ({
            let watchers = self.environment.subscribers.lock();
            watchers
                .get(n)
                .map(|w| (w.wallet, w.received.last().map_or(0, |(seq, _)| *seq)))
        }) else {
            return;
        };
        self.disconnect(n);
        self.connections.resize_with(self.connections.len().max(n + 1), || None);
        // The account's limit is met: the client would come back later, and does at the end.
        let Ok(subscription) = self
            .hub
            .subscribe(wallet(wallet_no), [Some(SessionId(n as u128)), None, None])
        else {
            return;
        };
        let feed = SubscriberFeed::new(self.store.clone(), subscription, cursor, EventFilter::default());
        self.connections[n] = Some(tokio::spawn(follow(self.environment.clone(), feed, n)));
    }

    fn disconnect(&mut self, n: usize) {
        if let Some(connection) = self.connections.get_mut(n).and_then(Option::take) {
            connection.abort();
        }
    }

    /// Subscribers that are connected and take what they are sent.
    pub(crate) fn listening(&self) -> Vec<usize> {
        let (watchers, now) = (self.environment.subscribers.lock(), self.environment.true_ms());
        let connected = |n: usize| matches!(self.connections.get(n), Some(Some(c)) if !c.is_finished());
        (0..watchers.len())
            .filter(|n| connected(*n) && watchers[*n].stalled_until_ms <= now)
            .collect()
    }

    pub(crate) fn all(&self) -> Vec<usize> {
        (0..self.environment.subscribers.lock().len()).collect()
    }

    pub(crate) fn connect_all(&mut self) {
        let n = self.environment.subscribers.lock().len();
        self.environment
            .subscribers
            .lock()
            .iter_mut()
            .for_each(|w| w.stalled_until_ms = 0);
        (0..n).for_each(|n| self.connect(n));
    }

    pub(crate) fn disconnect_all(&mut self) {
        (0..self.connections.len()).for_each(|n| self.disconnect(n));
    }
}

async fn follow(world: Arc<Environment>, mut feed: SubscriberFeed, n: usize) {
    loop {
        let stalled = world.subscribers.lock()[n]
            .stalled_until_ms
            .saturating_sub(world.true_ms());
        world.delay(stalled).await;
        match feed.next().await {
            Ok(Some(event)) => {
                if world.is_crashed() {
                    return;
                }
                let durable = world
                    .reference
                    .lock()
                    .events
                    .binary_search_by_key(&event.seq, |e| e.cursor)
                    .is_ok();
                let mut watchers = world.subscribers.lock();
                let got = &mut watchers[n].received;
                let last = got.last().map_or(0, |(seq, _)| *seq);
                got.push((event.seq, event.to_json()));
                drop(watchers);
                if event.seq <= last {
                    world.report_violation("stream.order", format!("{} came after {last}", event.seq));
                }
                if !durable {
                    world.report_violation("stream.early", format!("{} is not durable", event.seq));
                }
            }
            Ok(None) => feed.subscription().notified().await,
            Err(StoreError::Expired { oldest }) if world.may_lose_events() => {
                feed.restart(oldest - 1, EventFilter::default())
            }
            Err(error) => return world.report_violation("stream.failed", error.to_string()),
        }
    }
}

/// Each of these subscribers has every event of its account once and in order, from the first to the last.
pub(crate) fn check_events(world: &Environment, rule: &'static str, which: &[usize]) {
    let shadow = world.reference.lock();
    let watchers = world.subscribers.lock();
    let mut wrong = None;
    for (n, watcher) in watchers.iter().enumerate().filter(|(n, _)| which.contains(n)) {
        let subject = wallet(watcher.wallet).key();
        let to_message = |event: &StoredEvent| StreamEvent::read(event).map(|a| (event.seq, (a.seq, a.to_json())));
        let mut due: Vec<_> = shadow
            .events
            .iter()
            .filter(|e| *e.subject == *subject)
            .filter_map(to_message)
            .collect();
        // What retention dropped before it was read is the one thing that may be missing.
        let got: BTreeSet<u64> = watcher.received.iter().map(|(seq, _)| *seq).collect();
        due.retain(|(seq, (cursor, _))| *seq >= shadow.oldest || got.contains(cursor));
        let due: Vec<_> = due.into_iter().map(|(_, message)| message).collect();
        if watcher.received != due {
            let at = watcher.received.iter().zip(&due).position(|(got, due)| got != due);
            let lengths = (watcher.received.len(), due.len());
            wrong = Some(format!(
                "watcher {n} has {} of {} events, first other: {at:?}",
                lengths.0, lengths.1
            ));
        }
    }
    drop((shadow, watchers));
    if let Some(wrong) = wrong {
        world.report_violation(rule, wrong);
    }
}

/// Long enough for everything published to have been taken.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}
