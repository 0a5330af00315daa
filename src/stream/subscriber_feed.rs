//! One subscriber's events in order: from the store until its end, then live, back to the store after an overflow.

use std::collections::VecDeque;
use std::sync::Arc;

use purser_storage::{Cursor, Span, Store, StoreError, StoredEvent};

use super::frame::{EventFilter, StreamEvent};
use super::hub::{BufferContents, Subscription};

/// Events read from the store at once.
const PAGE: usize = 256;

/// See the module. Yields every event after its cursor exactly once, in order.
pub struct SubscriberFeed {
    store: Arc<dyn Store>,
    subscription: Subscription,
    filter: EventFilter,
    /// Everything up to here has been yielded or filtered out.
    cursor: Cursor,
    /// Whether events may be missing from the queue.
    behind: bool,
    ready: VecDeque<StoredEvent>,
}

impl SubscriberFeed {
    /// Events after `after`. The subscription must be older than any read this feed makes, so it comes in made.
    pub fn new(store: Arc<dyn Store>, subscription: Subscription, after: Cursor, filter: EventFilter) -> Self {
        Self {
            store,
            subscription,
            filter,
            cursor: after,
            behind: true,
            ready: VecDeque::new(),
        }
    }

    /// Starts again from another place or with another filter.
    pub fn restart(&mut self, after: Cursor, filter: EventFilter) {
        self.ready.clear();
        self.cursor = after;
        self.filter = filter;
        self.behind = true;
    }

    /// The cursor of the newest event that needs no sending again.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// The subscription below, for its signals.
    pub fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    /// The next event that is there already, or `None` when the feed has caught up.
    ///
    /// # Errors
    /// The store's: [`StoreError::Expired`] when the cursor is older than what is kept.
    pub async fn next(&mut self) -> Result<Option<StreamEvent>, StoreError> {
        loop {
            while let Some(event) = self.ready.pop_front() {
                // What the store already gave comes again from the queue once; the cursor knows.
                if event.cursor <= self.cursor {
                    continue;
                }
                self.cursor = event.cursor;
                if let Some(event) = StreamEvent::read(&event).filter(|e| self.filter.matches(e.kind())) {
                    return Ok(Some(event));
                }
            }
            if self.behind {
                let subject = self.subscription.subject();
                let page = self.store.events_of(subject, Span::After(self.cursor), PAGE).await?;
                self.behind = page.len() == PAGE;
                self.ready = page.into();
                continue;
            }
            match self.subscription.take() {
                BufferContents::Nothing => {
                    // Whoever waits, perhaps for hours, keeps no empty page.
                    self.ready = VecDeque::new();
                    return Ok(None);
                }
                BufferContents::Events(events) => self.ready = events.into(),
                BufferContents::Lagged => self.behind = true,
            }
        }
    }
}

/// The cursor of the account's newest event, 0 without one: where a client resumes that has seen all there is. The service's
/// own newest would show how much other accounts do.
///
/// # Errors
/// The store's.
pub async fn newest(store: &dyn Store, subject: &[u8]) -> Result<Cursor, StoreError> {
    let newest = store.events_of(subject, Span::NEWEST, 1).await?;
    Ok(newest.first().map_or(0, |event| event.cursor))
}

/// Whether no event of the account can have had this cursor or a later one: it is another service's.
///
/// # Errors
/// The store's: [`StoreError::Expired`] when what the cursor may have been about is no longer kept.
pub async fn is_ahead(store: &dyn Store, subject: &[u8], cursor: Cursor) -> Result<bool, StoreError> {
    // Nothing is before everything, and what has something behind it is ahead of nothing.
    if cursor == 0 || !store.events_of(subject, Span::After(cursor), 1).await?.is_empty() {
        return Ok(false);
    }
    let newest = newest(store, subject).await?;
    if newest > 0 {
        return Ok(cursor > newest);
    }
    // No event of the account is stored: it may go on from the oldest cursor, which an expired one is answered with.
    match store.events_of(subject, Span::After(cursor - 1), 1).await {
        Err(StoreError::Expired { .. }) => Ok(false),
        read => read.map(|_| true),
    }
}
