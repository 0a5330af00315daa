//! One subscriber's events in order: from the store until its end, then live, back to the store after an overflow.

use std::collections::VecDeque;
use std::sync::Arc;

use purser_storage::{Seq, Store, StoreError, StoredEvent};

use super::frame::{Announced, Filter};
use super::hub::{Subscription, Taken};

/// Events read from the store at once.
const PAGE: usize = 256;

/// See the module. Yields every event after its cursor exactly once, in order.
pub struct Feed {
    store: Arc<dyn Store>,
    subscription: Subscription,
    filter: Filter,
    /// Everything up to here has been yielded or filtered out.
    cursor: Seq,
    /// Whether events may be missing from the queue.
    behind: bool,
    ready: VecDeque<StoredEvent>,
}

impl Feed {
    /// Events after `after`. The subscription must be older than any read this feed makes, so it comes in made.
    pub fn new(store: Arc<dyn Store>, subscription: Subscription, after: Seq, filter: Filter) -> Self {
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
    pub fn restart(&mut self, after: Seq, filter: Filter) {
        self.ready.clear();
        self.cursor = after;
        self.filter = filter;
        self.behind = true;
    }

    /// The newest sequence that needs no sending again.
    pub fn cursor(&self) -> Seq {
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
    pub async fn next(&mut self) -> Result<Option<Announced>, StoreError> {
        loop {
            while let Some(event) = self.ready.pop_front() {
                // What the store already gave comes again from the queue once; the cursor knows.
                if event.seq <= self.cursor {
                    continue;
                }
                self.cursor = event.seq;
                if let Some(event) = Announced::read(&event).filter(|e| self.filter.wants(e.kind())) {
                    return Ok(Some(event));
                }
            }
            if self.behind {
                let read = self.store.events(self.cursor, PAGE, Some(self.subscription.subject()));
                let page = match read.await {
                    // No sequence is 0: it asks for what is kept, whatever that begins with.
                    Err(StoreError::Expired { oldest }) if self.cursor == 0 && oldest > 1 => {
                        self.cursor = oldest - 1;
                        continue;
                    }
                    read => read?,
                };
                self.behind = page.len() == PAGE;
                self.ready = page.into();
                continue;
            }
            match self.subscription.take() {
                Taken::Nothing => {
                    // Whoever waits, perhaps for hours, keeps no empty page.
                    self.ready = VecDeque::new();
                    return Ok(None);
                }
                Taken::Events(events) => self.ready = events.into(),
                Taken::Lagged => self.behind = true,
            }
        }
    }
}
