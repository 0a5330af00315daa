//! An event store in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use purser_actors::id::{EventId, Wallet};
use purser_actors::kernel::event_record::{EventRecord, PublicEvent};
use purser_actors::port::Timestamp;
use purser_storage::{
    Batch, CommitCallback, Committed, EventSink, Headroom, Row, RowKey, Seq, Span, Store, StoreError, StoredEvent,
};

/// Events in memory, with the contract of the event store: an event is published after it is durable.
#[derive(Default)]
pub struct MemoryEventStore {
    events: Mutex<Vec<StoredEvent>>,
    sinks: Mutex<Vec<Arc<dyn EventSink>>>,
    pub oldest: AtomicU64,
    /// Events that pages have read.
    pub read: AtomicU64,
}

impl MemoryEventStore {
    /// Commits one event of `kind` with this many bytes of padding; returns its sequence.
    pub fn commit_event(&self, wallet: Wallet, kind: &str, padding: usize) -> Seq {
        let object = serde_json::json!({"pad": "p".repeat(padding)});
        let record = EventRecord {
            kind: 0,
            id: Vec::new(),
            revision: 1,
            at: Timestamp(0),
            status: String::new(),
            owner: wallet,
            event: Vec::new(),
            announcement: Some(PublicEvent::new(
                EventId(1),
                kind.to_owned(),
                wallet,
                Timestamp(0),
                &object,
            )),
        };
        let seq = Arc::new(AtomicU64::new(0));
        let committed = seq.clone();
        let events = vec![record.to_event()];
        let done = Box::new(move |c: Result<Committed, _>| committed.store(c.unwrap().seq, Ordering::SeqCst));
        self.commit(
            Batch {
                events,
                ..Batch::default()
            },
            done,
        );
        seq.load(Ordering::SeqCst)
    }
}

impl Store for MemoryEventStore {
    fn commit(&self, batch: Batch, done: CommitCallback) {
        // Commits run one at a time, like in the committer thread: the lock is held while publishing.
        let sinks = self.sinks.lock();
        let mut fresh = Vec::new();
        {
            let mut events = self.events.lock();
            for event in batch.events {
                let seq = events.len() as Seq + 1;
                let event = StoredEvent {
                    seq,
                    cursor: seq,
                    subject: event.subject.into(),
                    payload: event.payload.into(),
                };
                events.push(event.clone());
                fresh.push(event);
            }
        }
        sinks.iter().for_each(|s| s.publish(&fresh));
        done(Ok(Committed { seq: fresh[0].seq }));
    }

    fn read<'a>(&'a self, _: &'a [u8]) -> purser_storage::BoxFuture<'a, Result<Option<Row>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    fn scan<'a>(
        &'a self,
        _: &'a [u8],
        _: Option<&'a [u8]>,
        _: usize,
    ) -> purser_storage::BoxFuture<'a, Result<Vec<(RowKey, Row)>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn scan_back<'a>(
        &'a self,
        _: &'a [u8],
        _: Option<&'a [u8]>,
        _: usize,
    ) -> purser_storage::BoxFuture<'a, Result<Vec<(RowKey, Row)>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn events<'a>(
        &'a self,
        after: Seq,
        limit: usize,
        subject: Option<&'a [u8]>,
    ) -> purser_storage::BoxFuture<'a, Result<Vec<StoredEvent>, StoreError>> {
        Box::pin(async move {
            let oldest = self.oldest.load(Ordering::SeqCst);
            if after + 1 < oldest {
                return Err(StoreError::Expired { oldest });
            }
            let events = self.events.lock();
            let matches = |e: &&StoredEvent| e.seq > after && subject.is_none_or(|s| s == &e.subject[..]);
            Ok(events.iter().filter(matches).take(limit).cloned().collect())
        })
    }

    fn events_of<'a>(
        &'a self,
        subject: &'a [u8],
        span: Span,
        limit: usize,
    ) -> purser_storage::BoxFuture<'a, Result<Vec<StoredEvent>, StoreError>> {
        Box::pin(async move {
            let oldest = self.oldest.load(Ordering::SeqCst);
            let events = self.events.lock();
            let own = events.iter().filter(|e| e.seq >= oldest && *e.subject == *subject);
            let found: Vec<StoredEvent> = match span {
                Span::After(after) if after > 0 && after + 1 < oldest => return Err(StoreError::Expired { oldest }),
                Span::After(after) => own.filter(|e| e.cursor > after).take(limit).cloned().collect(),
                Span::Before(before) => own.rev().filter(|e| e.cursor < before).take(limit).cloned().collect(),
            };
            self.read.fetch_add(found.len() as u64, Ordering::SeqCst);
            Ok(found)
        })
    }

    fn durable_seq(&self) -> Seq {
        // The events that are no longer stored existed.
        let gone = self.oldest.load(Ordering::SeqCst).saturating_sub(1);
        gone.max(self.events.lock().len() as Seq)
    }

    fn headroom(&self) -> Headroom {
        Headroom {
            lag_bytes: 0,
            lag_limit_bytes: 1,
            queued: 0,
        }
    }

    fn subscribe(&self, sink: Arc<dyn EventSink>) {
        self.sinks.lock().push(sink);
    }
}
