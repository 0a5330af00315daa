//! Responses under an idempotency key: stored in one batch with the command, over every crash.

use purser_actors::engine::KeyState;
use purser_actors::id::Wallet;
use purser_actors::kernel::idempotency::{
    CommandResult, IdempotencyRecord, IdempotencySlot, RECORD_TTL_S, RecordedResponse,
};
use purser_actors::kernel::{AskError, IdempotencyRecorder, table};
use purser_storage::codec;

use crate::support::counter_entity::{Command, Counter, Counters, Name, RejectedAt, TestGate};
use crate::support::harness::{Harness, evm};
use crate::support::settings::fast;
use crate::support::{eventually, in_time};

const OWNER: Wallet = evm(1);
const KEY: u128 = 7;

const fn slot(replaces: Option<u64>) -> IdempotencySlot {
    IdempotencySlot {
        wallet: OWNER,
        key: KEY,
        fingerprint: [3; 32],
        replaces,
    }
}

/// Stores totals and rejections as text.
fn recorder(replaces: Option<u64>) -> IdempotencyRecorder<Counter> {
    IdempotencyRecorder::new(slot(replaces), |result: CommandResult<'_, Counter>| {
        let (status, body) = match result {
            Ok((answer, state)) => (200, format!("{answer} of {}", state.map_or(0, |c| c.total))),
            Err(RejectedAt(total)) => (409, format!("refused at {total}")),
        };
        Some(RecordedResponse::Body { status, body })
    })
}

fn row(counters: &Counters) -> Option<IdempotencyRecord> {
    let rows = counters.store.rows(&table::idempotency(&OWNER, KEY));
    rows.first()
        .map(|(_, row)| codec::decode(&row.value).expect("a remembered answer"))
}

fn answer(counters: &Counters) -> Option<(u16, String)> {
    match row(counters)?.response {
        RecordedResponse::Body { status, body } => Some((status, body)),
        RecordedResponse::EntityRef { .. } => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_52_command_and_stored_response_are_one_batch() {
    // Checks: while the batch is held neither exists; afterwards both do. The same key a second time executes nothing.
    let counters = Counters::new(fast().limits).await;
    let name = Name(1);
    counters.store.hold();
    let registry = counters.registry.clone();
    let first = tokio::spawn(async move {
        registry
            .ask_idempotent(name, Command::Add(5), Some(recorder(None)))
            .await
    });
    eventually("the batch is enqueued", async || counters.store.queued() == 1).await;
    assert_eq!((counters.durable(name).await, row(&counters)), (0, None));
    counters.store.release();
    assert_eq!(in_time("an answer", first).await.unwrap().unwrap(), 5);
    assert_eq!(answer(&counters), Some((200, "5 of 5".to_owned())));
    for _ in 0..3 {
        let again = counters
            .registry
            .ask_idempotent(name, Command::Add(5), Some(recorder(None)))
            .await;
        assert!(matches!(again, Err(AskError::Conflict)), "{again:?}");
        // For another entity's command too: the key belongs to the account.
        let other = counters
            .registry
            .ask_idempotent(Name(2), Command::Add(1), Some(recorder(None)))
            .await;
        assert!(matches!(other, Err(AskError::Conflict)), "{other:?}");
    }
    assert_eq!((counters.durable(name).await, counters.durable(Name(2)).await), (5, 0));
    assert_eq!(answer(&counters), Some((200, "5 of 5".to_owned())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_55_rejection_is_stored_by_its_own_batch() {
    // Checks: the rejection of an executed command is stored, durable when it is returned, and changes nothing else. A
    // no-op is stored too.
    let counters = Counters::new(fast().limits).await;
    let name = Name(1);
    counters.registry.ask(name, Command::Add(2)).await.unwrap();
    let gate = std::sync::Arc::new(TestGate::default());
    gate.open();
    let refused = counters
        .registry
        .ask_idempotent(name, Command::Reject(gate), Some(recorder(None)))
        .await;
    assert!(matches!(refused, Err(AskError::Rejected(RejectedAt(2)))), "{refused:?}");
    assert_eq!(answer(&counters), Some((409, "refused at 2".to_owned())));
    assert_eq!(counters.durable(name).await, 2);

    let mut shown = recorder(None);
    for (n, wanted) in [
        (8, Some(RecordedResponse::EntityRef { kind: 10, id: vec![1] })),
        (9, None),
    ] {
        let place = IdempotencySlot { key: n, ..slot(None) };
        let kept = wanted.clone();
        shown = IdempotencyRecorder::new(place, move |_| kept.clone());
        assert_eq!(
            counters
                .registry
                .ask_idempotent(name, Command::Show, Some(shown.clone()))
                .await
                .unwrap(),
            2
        );
        let rows = counters.store.rows(&table::idempotency(&OWNER, n));
        let kept = rows
            .first()
            .map(|(_, row)| codec::decode::<IdempotencyRecord>(&row.value).unwrap().response);
        assert_eq!(kept, wanted, "a closure that keeps nothing leaves no row");
    }
    drop(shown);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_55_expired_key_is_reused_once() {
    // Checks: the batch of the next command replaces an expired record. Of two callers that saw it expired, only one
    // executes.
    let counters = Counters::new(fast().limits).await;
    let name = Name(1);
    counters
        .registry
        .ask_idempotent(name, Command::Add(1), Some(recorder(None)))
        .await
        .unwrap();
    let expired = row(&counters).unwrap().expires_s;
    counters.clock.advance(RECORD_TTL_S * 1_000 + 60_000);
    counters
        .registry
        .ask_idempotent(name, Command::Add(1), Some(recorder(Some(expired))))
        .await
        .unwrap();
    assert_eq!(answer(&counters), Some((200, "2 of 2".to_owned())));
    let late = counters
        .registry
        .ask_idempotent(name, Command::Add(1), Some(recorder(Some(expired))))
        .await;
    assert!(matches!(late, Err(AskError::Conflict)), "{late:?}");
    assert_eq!(counters.durable(name).await, 2);
    let ends = counters.store.rows(&[table::IDEMPOTENCY_EXPIRY]);
    assert_eq!(ends.len(), 1, "the old end went with the old record");
    assert!(row(&counters).unwrap().expires_s > expired);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_56_key_of_a_dead_process_left_a_record_or_nothing() {
    // Checks: a power cut before the batch leaves no record, and the retry executes; a cut after it leaves the
    // response.
    let counters = Counters::new(fast().limits).await;
    let name = Name(1);
    counters.store.hold();
    let registry = counters.registry.clone();
    let call = tokio::spawn(async move {
        registry
            .ask_idempotent(name, Command::Add(5), Some(recorder(None)))
            .await
    });
    eventually("the batch is enqueued", async || counters.store.queued() == 1).await;
    let survivor = counters.store.crash();
    assert!(survivor.rows(&[table::IDEMPOTENCY]).is_empty() && survivor.rows(&[table::ENTITY]).is_empty());
    drop(in_time("the call's end", call).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_52_key_has_one_user_at_a_time() {
    // Checks: while a command runs, the same key is `running` or `reused`; another account's is free. A key dropped
    // without a record is free again.
    let world = Harness::new().await;
    let once = |wallet, print: u8| world.engine.acquire_key(wallet, "key", [print; 32]);
    let KeyState::Acquired(turn) = once(evm(1), 1).await.unwrap() else {
        panic!("a new key is free");
    };
    assert!(matches!(once(evm(1), 1).await.unwrap(), KeyState::InProgress));
    assert!(matches!(once(evm(1), 2).await.unwrap(), KeyState::Mismatch));
    assert!(matches!(once(evm(2), 2).await.unwrap(), KeyState::Acquired(_)));
    drop(turn);
    assert!(matches!(once(evm(1), 2).await.unwrap(), KeyState::Acquired(_)));
}
