//! Rules for every `Store`, whatever its backend.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use purser_storage::{
    Batch, BoxFuture, CommitError, Committed, Condition, Event, EventSink, MAX_VALUE_BYTES, RowKey, Store, StoreError,
    StoredEvent, Write, WriteSession,
};

type Outcome = Result<Committed, CommitError>;

/// Waits for a future without a runtime.
pub(crate) fn wait<T>(mut future: BoxFuture<'_, T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

pub(crate) fn put(key: &str, revision: u64, value: &str) -> Write {
    Write::Put {
        key: key.as_bytes().into(),
        revision,
        value: value.into(),
    }
}

pub(crate) fn delete(key: &str) -> Write {
    Write::Delete {
        key: key.as_bytes().into(),
    }
}

pub(crate) fn event(subject: &str, payload: &str) -> Event {
    Event {
        subject: subject.as_bytes().into(),
        payload: payload.into(),
    }
}

pub(crate) fn batch(writes: Vec<Write>, events: Vec<Event>) -> Batch {
    Batch {
        writes,
        events,
        ..Batch::default()
    }
}

pub(crate) fn on(condition: Condition, writes: Vec<Write>) -> Batch {
    Batch {
        conditions: vec![condition],
        writes,
        ..Batch::default()
    }
}

fn key(key: &str) -> RowKey {
    key.as_bytes().into()
}

pub(crate) fn enqueue(store: &dyn Store, batch: Batch) -> Receiver<Outcome> {
    let (tell, replies) = channel();
    store.commit(batch, Box::new(move |outcome| tell.send(outcome).unwrap_or(())));
    replies
}

pub(crate) fn commit(store: &dyn Store, batch: Batch) -> Outcome {
    enqueue(store, batch).recv().expect("every batch is answered")
}

pub(crate) fn value(store: &dyn Store, key: &str) -> Option<(u64, String)> {
    let row = wait(store.read(key.as_bytes())).expect("readable")?;
    Some((row.revision, String::from_utf8(row.value.to_vec()).expect("text")))
}

pub(crate) fn keys(store: &dyn Store, prefix: &str, after: Option<&str>, limit: usize) -> Vec<String> {
    let rows = wait(store.scan(prefix.as_bytes(), after.map(str::as_bytes), limit)).expect("scannable");
    rows.into_iter()
        .map(|(key, _)| String::from_utf8(key.to_vec()).expect("text"))
        .collect()
}

pub(crate) fn keys_back(store: &dyn Store, prefix: &str, before: Option<&str>, limit: usize) -> Vec<String> {
    let rows = wait(store.scan_back(prefix.as_bytes(), before.map(str::as_bytes), limit)).expect("scannable");
    rows.into_iter()
        .map(|(key, _)| String::from_utf8(key.to_vec()).expect("text"))
        .collect()
}

pub(crate) fn payloads(store: &dyn Store, after: u64, limit: usize, subject: Option<&str>) -> Vec<(u64, String)> {
    let events = wait(store.events(after, limit, subject.map(str::as_bytes))).expect("readable");
    events
        .into_iter()
        .map(|e| (e.seq, String::from_utf8(e.payload.to_vec()).expect("text")))
        .collect()
}

/// Runs every rule, each on a store of its own.
pub(crate) fn every_rule<S: Store>(new_store: &mut dyn FnMut() -> Arc<S>) {
    let rules: [fn(&dyn Store); 13] = [
        a_batch_happens_whole_or_not_at_all,
        conditions_see_everything_enqueued_before,
        rejected_batch_fails_its_session,
        every_event_has_its_own_sequence,
        an_empty_batch_is_a_barrier,
        a_scan_is_ordered_paged_and_knows_deletions,
        a_scan_back_is_the_scan_from_its_end,
        events_are_read_back_by_cursor_and_subject,
        sink_gets_every_event_once_in_order_before_the_reply,
        oversized_batch_is_rejected,
        last_write_of_a_key_in_a_batch_wins,
        row_created_and_deleted_leaves_nothing,
        random_batches_agree_with_a_map,
    ];
    for rule in rules {
        rule(&*new_store());
    }
}

/// Checks: a batch with a failed condition has no effect.
fn a_batch_happens_whole_or_not_at_all(store: &dyn Store) {
    commit(store, batch(vec![put("a", 1, "one")], vec![])).expect("committed");
    let mut refused = on(
        Condition::Revision(key("a"), 7),
        vec![put("a", 8, "x"), put("b", 1, "x")],
    );
    refused.events = vec![event("s", "x")];
    let before = store.durable_seq();
    assert_eq!(commit(store, refused), Err(CommitError::Condition(0)));
    assert_eq!(value(store, "a"), Some((1, "one".into())));
    assert_eq!(value(store, "b"), None);
    assert_eq!(store.durable_seq(), before);
    assert!(payloads(store, 0, 10, None).is_empty());
}

/// Checks: a condition sees all earlier batches, durable or not.
fn conditions_see_everything_enqueued_before(store: &dyn Store) {
    let answers = [
        enqueue(store, on(Condition::Absent(key("k")), vec![put("k", 1, "1")])),
        enqueue(store, on(Condition::Absent(key("k")), vec![put("k", 1, "2")])),
        enqueue(store, on(Condition::Revision(key("k"), 1), vec![put("k", 2, "3")])),
        enqueue(store, on(Condition::Present(key("k")), vec![delete("k")])),
        enqueue(store, on(Condition::Present(key("k")), vec![put("k", 9, "4")])),
        enqueue(store, on(Condition::Revision(key("k"), 0), vec![put("k", 1, "5")])),
    ];
    let held: Vec<bool> = answers.iter().map(|a| a.recv().expect("answered").is_ok()).collect();
    assert_eq!(held, [true, false, true, true, false, true]);
    assert_eq!(value(store, "k"), Some((1, "5".into())));
}

/// Checks: a batch that follows a rejected one in its write session is rejected too, and other sessions are not.
fn rejected_batch_fails_its_session(store: &dyn Store) {
    let lane = Arc::new(WriteSession::default());
    let mine = |writes, conditions| Batch {
        conditions,
        writes,
        session: Some(Arc::clone(&lane)),
        ..Batch::default()
    };
    let first = enqueue(store, mine(vec![put("a", 1, "1")], vec![]));
    let refused = enqueue(
        store,
        mine(
            vec![put("a", 2, "2")],
            vec![Condition::Absent(key("x")), Condition::Absent(key("a"))],
        ),
    );
    let behind = enqueue(store, mine(vec![put("a", 3, "3")], vec![]));
    let other = enqueue(store, batch(vec![put("b", 1, "b")], vec![]));
    assert!(first.recv().expect("answered").is_ok());
    assert_eq!(refused.recv().expect("answered"), Err(CommitError::Condition(1)));
    assert_eq!(behind.recv().expect("answered"), Err(CommitError::SessionFailed));
    assert!(other.recv().expect("answered").is_ok());
    assert!(lane.has_failed());
    assert_eq!(value(store, "a"), Some((1, "1".into())));
}

/// Checks: a batch takes one sequence number per event, and at least one.
fn every_event_has_its_own_sequence(store: &dyn Store) {
    let first = commit(store, batch(vec![put("a", 1, "")], vec![]))
        .expect("committed")
        .seq;
    let three = commit(
        store,
        batch(vec![], vec![event("s", "1"), event("t", "2"), event("s", "3")]),
    )
    .expect("committed");
    let last = commit(store, batch(vec![put("a", 2, "")], vec![]))
        .expect("committed")
        .seq;
    assert_eq!((three.seq, last), (first + 1, first + 4));
    assert_eq!(store.durable_seq(), last);
    let found = payloads(store, first, 10, None);
    assert_eq!(
        found,
        [
            (first + 1, "1".into()),
            (first + 2, "2".into()),
            (first + 3, "3".into())
        ]
    );
}

/// Checks: a barrier is acknowledged after everything before it and takes no sequence number.
fn an_empty_batch_is_a_barrier(store: &dyn Store) {
    let write = enqueue(store, batch(vec![put("a", 1, "1")], vec![]));
    let barrier = commit(store, Batch::default()).expect("a barrier holds");
    let written = write
        .try_recv()
        .expect("answered before the barrier")
        .expect("committed");
    assert_eq!(barrier.seq, written.seq);
    assert_eq!(value(store, "a"), Some((1, "1".into())));
    assert_eq!(
        commit(store, Batch::default()).expect("a barrier holds").seq,
        written.seq
    );
}

/// Checks: pages follow each other without a gap and omit deleted rows.
fn a_scan_is_ordered_paged_and_knows_deletions(store: &dyn Store) {
    for name in ["p/3", "p/1", "q/1", "p/2", "p", "o/9", "p/4"] {
        commit(store, batch(vec![put(name, 1, name)], vec![])).expect("committed");
    }
    commit(store, batch(vec![delete("p/2"), delete("p/9")], vec![])).expect("committed");
    assert_eq!(keys(store, "p/", None, 10), ["p/1", "p/3", "p/4"]);
    assert_eq!(keys(store, "p/", None, 2), ["p/1", "p/3"]);
    assert_eq!(keys(store, "p/", Some("p/1"), 1), ["p/3"]);
    assert_eq!(keys(store, "p/", Some("p/2"), 10), ["p/3", "p/4"]);
    assert_eq!(keys(store, "p/", Some("a"), 10), ["p/1", "p/3", "p/4"]);
    assert_eq!(keys(store, "p/", Some("z"), 10), [""; 0]);
    assert_eq!(keys(store, "", None, 3), ["o/9", "p", "p/1"]);
    assert_eq!(keys(store, "p/", None, 0), [""; 0]);
}

/// Checks: pages from the end follow each other without a gap, omit deleted rows, and stay inside the prefix.
fn a_scan_back_is_the_scan_from_its_end(store: &dyn Store) {
    for name in ["p/3", "p/1", "q/1", "p/2", "p", "o/9", "p/4"] {
        commit(store, batch(vec![put(name, 1, name)], vec![])).expect("committed");
    }
    commit(store, batch(vec![delete("p/2"), delete("p/9")], vec![])).expect("committed");
    assert_eq!(keys_back(store, "p/", None, 10), ["p/4", "p/3", "p/1"]);
    assert_eq!(keys_back(store, "p/", None, 2), ["p/4", "p/3"]);
    assert_eq!(keys_back(store, "p/", Some("p/4"), 1), ["p/3"]);
    assert_eq!(keys_back(store, "p/", Some("p/2"), 10), ["p/1"]);
    assert_eq!(keys_back(store, "p/", Some("z"), 10), ["p/4", "p/3", "p/1"]);
    assert_eq!(keys_back(store, "p/", Some("a"), 10), [""; 0]);
    assert_eq!(keys_back(store, "p/", Some("p/1"), 10), [""; 0]);
    assert_eq!(keys_back(store, "", None, 3), ["q/1", "p/4", "p/3"]);
    assert_eq!(keys_back(store, "", Some("p"), 3), ["o/9"]);
    assert_eq!(keys_back(store, "p/", None, 0), [""; 0]);
    // Rows of both layers and of the snapshots, more than one of sled's pages has.
    for number in 0..2_000_u64 {
        let number = number * 7_919 % 2_000;
        let done = enqueue(store, batch(vec![put(&format!("r/{number:04}"), 1, "x")], vec![]));
        if number % 100 == 0 {
            done.recv().expect("answered").expect("committed");
        }
    }
    commit(store, Batch::default()).expect("a barrier");
    let mut expected = keys(store, "r/", None, usize::MAX);
    expected.reverse();
    assert_eq!(expected.len(), 2_000);
    assert_eq!(keys_back(store, "r/", None, usize::MAX), expected);
    let (mut paged, mut before) = (Vec::new(), None);
    loop {
        let page = keys_back(store, "r/", before.as_deref(), 64);
        let Some(last) = page.last() else { break };
        before = Some(last.clone());
        paged.extend(page);
    }
    assert_eq!(paged, expected);
}

/// Checks: a cursor yields exactly the events after it, of one subject or of all.
fn events_are_read_back_by_cursor_and_subject(store: &dyn Store) {
    for i in 0..200 {
        let subject = if i % 3 == 0 { "alice" } else { "bob" };
        commit(
            store,
            batch(vec![put("x", i, "x")], vec![event(subject, &i.to_string())]),
        )
        .expect("committed");
    }
    let all = payloads(store, 0, 1000, None);
    assert_eq!(all.len(), 200);
    assert!(all.windows(2).all(|w| w[0].0 < w[1].0));
    let alice = payloads(store, 0, 1000, Some("alice"));
    assert_eq!(alice.len(), 67);
    let (cursor, _) = alice[9];
    let page = payloads(store, cursor, 5, Some("alice"));
    assert_eq!(page, alice[10..15]);
    assert!(payloads(store, 0, 10, Some("carol")).is_empty());
    assert!(payloads(store, store.durable_seq(), 10, None).is_empty());
    assert!(payloads(store, u64::MAX, 10, None).is_empty());
}

struct Recorder(Mutex<Vec<String>>);

impl EventSink for Recorder {
    fn publish(&self, events: &[StoredEvent]) {
        let texts = events
            .iter()
            .map(|e| String::from_utf8(e.payload.to_vec()).expect("text"));
        self.0.lock().expect("lock").extend(texts);
    }
}

/// Checks: a caller that has its reply can rely on the event having been published.
fn sink_gets_every_event_once_in_order_before_the_reply(store: &dyn Store) {
    let sink = Arc::new(Recorder(Mutex::default()));
    store.subscribe(Arc::clone(&sink) as Arc<dyn EventSink>);
    let answers: Vec<_> = (0..50)
        .map(|i| enqueue(store, batch(vec![], vec![event("s", &i.to_string())])))
        .collect();
    for (i, answer) in answers.iter().enumerate() {
        answer.recv().expect("answered").expect("committed");
        assert!(sink.0.lock().expect("lock").len() > i);
    }
    let expected: Vec<String> = (0..50).map(|i| i.to_string()).collect();
    assert_eq!(*sink.0.lock().expect("lock"), expected);
}

/// Checks: each limit accepts its exact value, rejects one byte more, and affects nothing else.
fn oversized_batch_is_rejected(store: &dyn Store) {
    let sized = |n: usize| Write::Put {
        key: key("v"),
        revision: 1,
        value: vec![7; n],
    };
    assert!(commit(store, batch(vec![sized(MAX_VALUE_BYTES)], vec![])).is_ok());
    assert_eq!(
        commit(store, batch(vec![sized(MAX_VALUE_BYTES + 1)], vec![])),
        Err(CommitError::TooLarge("value"))
    );
    let keyed = |n: usize| Write::Delete { key: vec![7; n].into() };
    assert!(commit(store, batch(vec![keyed(purser_storage::MAX_KEY_BYTES)], vec![])).is_ok());
    let refused = commit(store, batch(vec![keyed(purser_storage::MAX_KEY_BYTES + 1)], vec![]));
    assert_eq!(refused, Err(CommitError::TooLarge("key")));
    let many = (0..200).map(|i| Write::Put {
        key: key(&i.to_string()),
        revision: 1,
        value: vec![7; MAX_VALUE_BYTES],
    });
    assert_eq!(
        commit(store, batch(many.collect(), vec![])),
        Err(CommitError::TooLarge("batch"))
    );
    assert_eq!(value(store, "0"), None);
}

fn last_write_of_a_key_in_a_batch_wins(store: &dyn Store) {
    commit(
        store,
        batch(vec![put("a", 1, "1"), delete("a"), put("a", 2, "2")], vec![]),
    )
    .expect("committed");
    assert_eq!(value(store, "a"), Some((2, "2".into())));
    commit(store, batch(vec![put("a", 3, "3"), delete("a")], vec![])).expect("committed");
    assert_eq!(value(store, "a"), None);
}

/// Checks: a short-lived outbox row leaves no trace, and its key can be used again.
fn row_created_and_deleted_leaves_nothing(store: &dyn Store) {
    commit(store, batch(vec![put("e/1", 1, "old"), delete("e/1")], vec![])).expect("committed");
    commit(store, on(Condition::Absent(key("e/1")), vec![put("e/1", 1, "x")])).expect("committed");
    commit(store, on(Condition::Present(key("e/1")), vec![delete("e/1")])).expect("committed");
    assert_eq!(value(store, "e/1"), None);
    assert_eq!(keys(store, "e/", None, 10), [""; 0]);
    commit(store, on(Condition::Absent(key("e/1")), vec![put("e/1", 4, "y")])).expect("committed");
    assert_eq!(value(store, "e/1"), Some((4, "y".into())));
}

/// Checks: a long random history has the same rows as a plain map, whatever was applied in between.
fn random_batches_agree_with_a_map(store: &dyn Store) {
    let mut model: BTreeMap<String, (u64, String)> = BTreeMap::new();
    let mut state = 0x0123_4567_89AB_CDEF_u64;
    let mut next = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    };
    for i in 0..2000u64 {
        let name = format!("k/{:02}", next(60));
        let present = model.contains_key(&name);
        let condition = match (next(3), present) {
            (0, true) => Condition::Present(key(&name)),
            (0, false) => Condition::Absent(key(&name)),
            (1, _) => Condition::Revision(key(&name), model.get(&name).map_or(0, |(r, _)| *r)),
            _ => Condition::Absent(key("never")),
        };
        let write = if next(3) == 0 {
            delete(&name)
        } else {
            put(&name, i, &i.to_string())
        };
        match &write {
            Write::Put { revision, .. } => model.insert(name, (*revision, i.to_string())),
            Write::Delete { .. } => model.remove(&name),
        };
        let answer = enqueue(store, on(condition, vec![write]));
        if next(4) == 0 {
            answer.recv().expect("answered").expect("its condition holds");
            let expected: Vec<&String> = model.keys().collect();
            assert_eq!(
                keys(store, "k/", None, 100),
                expected.into_iter().cloned().collect::<Vec<_>>()
            );
        }
    }
    commit(store, Batch::default()).expect("a barrier holds");
    for (name, (revision, text)) in &model {
        assert_eq!(value(store, name), Some((*revision, text.clone())), "{name}");
    }
}

/// The first sequence number still available, if retention dropped events behind `after`.
pub(crate) fn expired(store: &dyn Store, after: u64) -> Option<u64> {
    match wait(store.events(after, 10, None)) {
        Err(StoreError::Expired { oldest }) => Some(oldest),
        _ => None,
    }
}
