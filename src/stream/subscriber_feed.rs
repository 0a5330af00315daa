//! One subscriber's events in order: from the store to its end, then live, and back to the store after an overflow.

use std::collections::VecDeque;
use std::sync::Arc;

use purser_actors::entity::session::AuthMethod;
use purser_storage::{Cursor, Span, Store, StoreError};

use super::frame::{EventFilter, QueuedEvent, StreamEvent};
use super::hub::{BufferContents, Subscription};

/// Events per read of the store.
const PAGE: usize = 256;

/// Yields every event after its cursor exactly once, in order.
pub struct SubscriberFeed {
    store: Arc<dyn Store>,
    subscription: Subscription,
    filter: EventFilter,
    /// Whose credentials opened the stream, if it is an account's.
    reader: Option<AuthMethod>,
    /// Everything up to here has been yielded or filtered out.
    cursor: Cursor,
    /// Whether events may be missing from the queue.
    behind: bool,
    ready: VecDeque<Arc<QueuedEvent>>,
}

impl SubscriberFeed {
    /// Events after `after`. The subscription must exist before this feed's first read, so the caller creates it.
    pub fn new(store: Arc<dyn Store>, subscription: Subscription, after: Cursor, filter: EventFilter) -> Self {
        Self {
            store,
            subscription,
            filter,
            reader: None,
            cursor: after,
            behind: true,
            ready: VecDeque::new(),
        }
    }

    /// Leaves out what the holder of these credentials may not see.
    #[must_use]
    pub fn for_reader(self, reader: AuthMethod) -> Self {
        let reader = Some(reader);
        Self { reader, ..self }
    }

    /// Restarts from another cursor or with another filter.
    pub fn restart(&mut self, after: Cursor, filter: EventFilter) {
        self.ready.clear();
        self.cursor = after;
        self.filter = filter;
        self.behind = true;
    }

    /// The cursor of the newest event that need not be sent again.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// The subscription, for its signals.
    pub fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    /// The next available event, or `None` when the feed has caught up.
    ///
    /// # Errors
    /// The store's: [`StoreError::Expired`] when the cursor is older than the retained events.
    pub async fn next(&mut self) -> Result<Option<Arc<StreamEvent>>, StoreError> {
        loop {
            while let Some(event) = self.ready.pop_front() {
                // An event that was read from the store arrives once more in the queue; the cursor detects it.
                if event.stored.cursor <= self.cursor {
                    continue;
                }
                self.cursor = event.stored.cursor;
                let Some(event) = event.public().filter(|e| self.filter.matches(e.kind())) else {
                    continue;
                };
                let seen = match self.reader {
                    Some(reader) => StreamEvent::shared_with(event, reader),
                    None => Some(Arc::clone(event)),
                };
                if seen.is_some() {
                    return Ok(seen);
                }
            }
            if self.behind {
                let subject = self.subscription.subject();
                let page = self.store.events_of(subject, Span::After(self.cursor), PAGE).await?;
                self.behind = page.len() == PAGE;
                self.ready = page.into_iter().map(QueuedEvent::new).collect();
                continue;
            }
            match self.subscription.take() {
                BufferContents::Nothing => {
                    // A feed may wait for hours, so it frees its empty page.
                    self.ready = VecDeque::new();
                    return Ok(None);
                }
                BufferContents::Events(events) => self.ready = events.into(),
                BufferContents::Lagged => self.behind = true,
            }
        }
    }
}

/// The cursor of the account's newest event, 0 without one: the resume position of a client that has seen everything.
/// The service's own newest cursor would reveal the activity of other accounts.
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
/// The store's: [`StoreError::Expired`] when the events that the cursor may refer to are no longer retained.
pub async fn is_ahead(store: &dyn Store, subject: &[u8], cursor: Cursor) -> Result<bool, StoreError> {
    // 0 is before everything, and a cursor with an event behind it is not ahead.
    if cursor == 0 || !store.events_of(subject, Span::After(cursor), 1).await?.is_empty() {
        return Ok(false);
    }
    let newest = newest(store, subject).await?;
    if newest > 0 {
        return Ok(cursor > newest);
    }
    // No event of the account is stored: it may resume from the oldest cursor, which the error for an expired one
    // contains.
    match store.events_of(subject, Span::After(cursor - 1), 1).await {
        Err(StoreError::Expired { .. }) => Ok(false),
        read => read.map(|_| true),
    }
}
