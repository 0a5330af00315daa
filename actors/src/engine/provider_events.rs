//! Provider events that arrive without a request: payouts returned days later, card transactions, incoming transfers.
//! Each provider numbers its events. A row stores the position up to which they are processed.

use std::sync::Arc;
use std::time::Duration;

use purser_storage::codec::{self, Stored};
use purser_storage::{Batch, CommitError, RowKey, Store, Write};
use tokio::sync::{Notify, oneshot};

use super::{Engine, Inner};
use crate::kernel::table;
use crate::port::{BoxFuture, PortError};

/// Events read in one page.
const PAGE: usize = 200;

/// A provider with an event feed, and the entities that its events go to.
pub(super) trait ProviderEventSource: Send + Sync + 'static {
    /// An event of this provider.
    type Event: Send + Sync + 'static;
    /// Key of the META row that stores the position.
    const CURSOR_KEY: &'static str;
    /// Provider name in logs.
    const PROVIDER: &'static str;

    /// Takes what it needs from the engine, without a reference to the engine itself.
    fn from_engine(inner: &Inner) -> Self;

    /// Notified when the provider may have new events.
    fn wake(inner: &Inner) -> Arc<Notify>;

    /// Position of an event in the provider's feed, from 1.
    fn position(word: &Self::Event) -> u64;

    /// Events after a position, oldest first.
    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<Self::Event>, PortError>>;

    /// Applies an event to its entity. An event that can't change anything is no error.
    fn apply<'a>(&'a self, word: &'a Self::Event) -> BoxFuture<'a, Result<(), String>>;
}

/// Position up to which a provider's events are processed.
#[derive(Clone, Copy, Debug, Default, bincode::Encode, bincode::Decode)]
struct ProviderCursor(u64);

impl Stored for ProviderCursor {
    const SCHEMA: u16 = 127;
}

/// A poller's state since the process started.
struct Poller<W> {
    /// Position of the last event read; `None` before the first page.
    position: Option<u64>,
    /// Events that their entities could not accept yet. The stored position stays before them.
    deferred: Vec<W>,
}

/// Polls a provider for the lifetime of the engine. A page that panics is logged, and the next one starts at the stored
/// position.
pub(super) fn spawn_poller<T: ProviderEventSource>(engine: &Engine) {
    let inner = Arc::downgrade(&engine.0);
    let bell = T::wake(&engine.0);
    let every = Duration::from_millis(engine.0.settings.payouts.poll_interval_ms.max(1));
    tokio::spawn(async move {
        let mut poller = Poller::default();
        // A provider that is down for a day is logged once, not at each poll.
        let mut failing = None;
        loop {
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = bell.notified() => {}
            }
            let Some(inner) = inner.upgrade() else { return };
            let timeout = Duration::from_millis(inner.settings.payouts.timeout_ms);
            let (store, source) = (inner.store.clone(), T::from_engine(&inner));
            drop(inner);
            let mut listening = std::mem::take(&mut poller);
            let reading = tokio::spawn(async move {
                let heard = listening.poll_once(&*store, &source, timeout).await;
                (listening, heard)
            });
            match reading.await {
                Ok((listening, heard)) => {
                    poller = listening;
                    let error = heard.err();
                    match &error {
                        Some(error) if failing.as_ref() != Some(error) => {
                            tracing::warn!(who = T::PROVIDER, error, "provider events could not be read: retrying");
                        }
                        None if failing.is_some() => {
                            tracing::info!(who = T::PROVIDER, "provider events are read again")
                        }
                        _ => {}
                    }
                    failing = error;
                }
                Err(error) => tracing::error!(who = T::PROVIDER, %error, "listening failed and goes on"),
            }
        }
    });
}

impl<W> Default for Poller<W> {
    fn default() -> Self {
        Self {
            position: None,
            deferred: Vec::new(),
        }
    }
}

impl<W> Poller<W> {
    /// Reads new events, applies them to their entities, and then stores the position. A repeated event changes
    /// nothing. An entity that can't accept its event delays no other.
    async fn poll_once<T: ProviderEventSource<Event = W>>(
        &mut self,
        store: &dyn Store,
        source: &T,
        timeout: Duration,
    ) -> Result<(), String> {
        let key = table::meta(T::CURSOR_KEY);
        let heard: ProviderCursor = match store.read(&key).await.map_err(|e| e.to_string())? {
            Some(row) => codec::decode(&row.value).map_err(|e| e.to_string())?,
            None => ProviderCursor::default(),
        };
        let mut words = std::mem::take(&mut self.deferred);
        let mut at = self.position.unwrap_or(heard.0);
        let mut failed = None;
        if words.len() < PAGE {
            match tokio::time::timeout(timeout, source.events_after(at, PAGE)).await {
                Ok(Ok(events)) => words.extend(events),
                Ok(Err(error)) => failed = Some(error.to_string()),
                Err(_) => failed = Some("no answer in time".into()),
            }
        }
        words.sort_by_key(T::position);
        at = words.last().map_or(at, |word| at.max(T::position(word)));
        for word in words {
            if let Err(error) = source.apply(&word).await {
                failed = Some(error);
                self.deferred.push(word);
            }
        }
        self.position = Some(at);
        let known = self
            .deferred
            .iter()
            .map(|word| T::position(word) - 1)
            .fold(at, u64::min);
        if known > heard.0 {
            persist_cursor(store, key, codec::encode(&ProviderCursor(known))).await?;
        }
        failed.map_or(Ok(()), Err)
    }
}

/// Writes a META row.
pub(super) async fn persist_cursor(store: &dyn Store, key: RowKey, value: Vec<u8>) -> Result<(), String> {
    let batch = Batch {
        writes: vec![Write::Put {
            key,
            revision: 0,
            value,
        }],
        ..Batch::default()
    };
    let (done, committed) = oneshot::channel();
    store.commit(batch, Box::new(move |result| drop(done.send(result))));
    let committed = committed.await.unwrap_or(Err(CommitError::Stopped));
    committed.map(|_| ()).map_err(|e| e.to_string())
}
