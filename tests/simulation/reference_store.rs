//! What the store must hold, by the answers that it gave: rows, events and refusals by rules written a second time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use futures_util::FutureExt;
use purser_actors::entity::account::UnclaimedCapUsage;
use purser_actors::id::Wallet;
use purser_actors::kernel::table;
use purser_storage::codec;
use purser_storage::{
    Batch, CommitError, Committed, Condition, Event, JournalStore, MAX_VALUE_BYTES, Row, RowKey, Store, StoreError,
    StoredEvent, Write, WriteSession,
};

#[derive(Clone)]
struct SubmittedBatch {
    ticket: u64,
    conditions: Vec<Condition>,
    writes: Vec<Write>,
    events: Vec<Event>,
    lane: Option<Arc<WriteSession>>,
}

#[derive(Clone, Default)]
pub(crate) struct ReferenceStore {
    /// All rows that are known to be durable.
    pub(crate) rows: BTreeMap<RowKey, Row>,
    /// All events that are.
    pub(crate) events: Vec<StoredEvent>,
    pub(crate) seq: u64,
    /// The cursor of each event when it was first read. No restart changes one.
    cursors: BTreeMap<u64, u64>,
    /// Events below this are no longer kept.
    pub(crate) oldest: u64,
    submitted: VecDeque<SubmittedBatch>,
    tickets: u64,
    broken: Vec<Arc<WriteSession>>,
}

type Violation = (&'static str, String);

impl ReferenceStore {
    /// How many cap reservations of an account belong to payments of a lost history that were not presented again.
    pub(crate) fn unclaimed(&self, account: &Wallet) -> usize {
        let rows = self.rows.iter().filter(|(key, _)| key[0] == table::UNCLAIMED_CAP_USAGE);
        let counted = rows.map(|(_, row)| codec::decode::<UnclaimedCapUsage>(&row.value).unwrap());
        let own = counted.filter(|counted| counted.account == *account);
        own.map(|counted| counted.reservations.len()).sum()
    }

    /// Records events that were published to subscribers.
    pub(crate) fn published(&mut self, events: &[StoredEvent]) {
        self.cursors
            .extend(events.iter().map(|event| (event.seq, event.cursor)));
    }

    /// A batch is on its way; its number.
    pub(crate) fn submit(&mut self, batch: &Batch) -> u64 {
        self.tickets += 1;
        self.submitted.push_back(SubmittedBatch {
            ticket: self.tickets,
            conditions: batch.conditions.clone(),
            writes: batch.writes.clone(),
            events: batch.events.clone(),
            lane: batch.session.clone(),
        });
        self.tickets
    }

    /// Compares the store's answer with the expected one.
    pub(crate) fn answer(&mut self, ticket: u64, answer: &Result<Committed, CommitError>) -> Result<(), Violation> {
        let Some(asked) = self.submitted.pop_front() else {
            return Err(("commit.order", format!("an answer to {ticket}, which is not pending")));
        };
        if asked.ticket != ticket {
            return Err(("commit.order", format!("{ticket} was answered before {}", asked.ticket)));
        }
        let conditions = asked.conditions.clone();
        let expected = self.expected_result(asked);
        let too_large = matches!(answer, Err(CommitError::TooLarge(_)));
        if *answer != expected && !(too_large && matches!(expected, Err(CommitError::TooLarge(_)))) {
            return Err(("commit.answer", format!("{ticket}: {answer:?}, and not {expected:?}")));
        }
        if let Err(CommitError::Condition(n)) = answer
            && let Condition::Revision(key, revision) = &conditions[*n]
        {
            // An actor starts from its predecessor's last revision and is the entity's only writer.
            let detail = format!("{} was decided on at {revision}, which is old", hex::encode(key));
            return Err(("entity.two_actors", detail));
        }
        Ok(())
    }

    /// The expected result of a batch behind all batches that were already checked.
    fn expected_result(&mut self, asked: SubmittedBatch) -> Result<Committed, CommitError> {
        let refusal = self.expected_error(&asked);
        match refusal {
            Some(refusal) => {
                self.broken.extend(asked.lane);
                Err(refusal)
            }
            None => Ok(self.write(asked)),
        }
    }

    fn expected_error(&self, asked: &SubmittedBatch) -> Option<CommitError> {
        let lane = asked.lane.as_ref();
        if lane.is_some_and(|lane| self.broken.iter().any(|b| Arc::ptr_eq(b, lane))) {
            return Some(CommitError::SessionFailed);
        }
        if asked
            .writes
            .iter()
            .any(|w| matches!(w, Write::Put { value, .. } if value.len() > MAX_VALUE_BYTES))
        {
            return Some(CommitError::TooLarge("value"));
        }
        let broken = asked.conditions.iter().position(|condition| !match condition {
            Condition::Absent(key) => !self.rows.contains_key(key),
            Condition::Present(key) => self.rows.contains_key(key),
            Condition::Revision(key, expected) => self.rows.get(key).map_or(0, |row| row.revision) == *expected,
        });
        broken.map(CommitError::Condition)
    }

    fn write(&mut self, asked: SubmittedBatch) -> Committed {
        if asked.writes.is_empty() && asked.events.is_empty() {
            return Committed { seq: self.seq };
        }
        for write in asked.writes {
            match write {
                Write::Put { key, revision, value } => {
                    let value = value.into();
                    self.rows.insert(key, Row { revision, value })
                }
                Write::Delete { key } => self.rows.remove(&key),
            };
        }
        let first = self.seq + 1;
        self.seq += (asked.events.len() as u64).max(1);
        for (event, seq) in asked.events.into_iter().zip(first..) {
            self.events.push(StoredEvent {
                seq,
                cursor: self.cursors.get(&seq).copied().unwrap_or(0),
                subject: event.subject.into(),
                payload: event.payload.into(),
            });
        }
        Committed { seq: first }
    }

    /// After a restart: everything acknowledged is there, and what is there beyond it is a prefix of what was asked.
    pub(crate) fn recovered(&mut self, store: &JournalStore) -> Result<(), Violation> {
        let durable = store.durable_seq();
        while self.seq < durable {
            match self.submitted.pop_front() {
                Some(asked) => drop(self.expected_result(asked)),
                None => {
                    let detail = format!("{durable} is durable, and nothing behind {} was asked for", self.seq);
                    return Err(("recovery.invented", detail));
                }
            }
        }
        if self.seq != durable {
            let detail = format!(
                "{} was acknowledged or half a batch appeared, and {durable} is durable",
                self.seq
            );
            return Err(("recovery.lost", detail));
        }
        self.submitted.clear();
        self.broken.clear();
        self.compare(store)
    }

    /// The store holds exactly what it acknowledged.
    pub(crate) fn compare(&mut self, store: &dyn Store) -> Result<(), Violation> {
        let rows = store.scan(&[], None, usize::MAX).now_or_never();
        let rows = rows.and_then(Result::ok).unwrap_or_default();
        let same = rows.len() == self.rows.len()
            && rows
                .iter()
                .zip(&self.rows)
                .all(|((k, r), (key, row))| k == key && r == row);
        if !same {
            let found: BTreeMap<_, _> = rows.into_iter().collect();
            let mut keys = found.keys().chain(self.rows.keys());
            let key = keys.find(|key| found.get(*key) != self.rows.get(*key));
            return Err(("store.rows", format!("{:?} differs", key.map(hex::encode))));
        }
        let mut events = store.events(0, usize::MAX, None).now_or_never();
        if let Some(Err(StoreError::Expired { oldest })) = events {
            self.oldest = oldest;
            events = store.events(oldest - 1, usize::MAX, None).now_or_never();
        }
        let events = events.and_then(Result::ok).unwrap_or_default();
        let first_retained = self.events.partition_point(|e| e.seq < self.oldest);
        let retained = &mut self.events[first_retained..];
        // The first read assigns the cursors of events that became durable before any response.
        for (retained, found) in retained
            .iter_mut()
            .zip(&events)
            .filter(|(retained, _)| retained.cursor == 0)
        {
            retained.cursor = found.cursor;
        }
        if events != retained {
            let detail = format!("{} are there, {} were acknowledged", events.len(), retained.len());
            return Err(("store.events", detail));
        }
        if retained.windows(2).any(|pair| pair[0].cursor >= pair[1].cursor) {
            return Err(("store.cursors", "a cursor does not grow".to_owned()));
        }
        Self::page(store, retained)
    }

    /// The newest events, read in pages that end anywhere within a batch.
    fn page(store: &dyn Store, retained: &[StoredEvent]) -> Result<(), Violation> {
        /// Events that are read so, and of them in a page.
        const NEWEST: usize = 60;
        const PAGE: usize = 3;
        let newest = &retained[retained.len().saturating_sub(NEWEST)..];
        let mut found: Vec<StoredEvent> = Vec::new();
        while found.len() < newest.len() {
            let after = found.last().map_or(newest[0].seq - 1, |last| last.seq);
            let page = store.events(after, PAGE, None).now_or_never();
            match page.and_then(Result::ok) {
                Some(page) if !page.is_empty() => found.extend(page),
                _ => break,
            }
        }
        match found == newest {
            true => Ok(()),
            false => Err((
                "store.pages",
                "pages of events leave some out or repeat them".to_owned(),
            )),
        }
    }

    /// Goes on from what it was when a backup was made, in a store whose next event has this number or a later one.
    pub(crate) fn recall(&mut self, then: &Self, first_seq: u64) {
        *self = Self {
            seq: first_seq - 1,
            // Events are in no backup.
            oldest: first_seq,
            submitted: VecDeque::new(),
            broken: Vec::new(),
            tickets: self.tickets,
            ..then.clone()
        };
    }

    /// Batches that were not answered.
    pub(crate) fn unanswered(&self) -> usize {
        self.submitted.len()
    }
}
