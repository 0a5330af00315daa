//! Answers under an idempotency key: one batch with the command, whoever dies.

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

/// Remembers totals and refusals as text.
fn recorder(replaces: Option<u64>) -> IdempotencyRecorder<Counter> {
    IdempotencyRecorder::new(slot(replaces), |told: CommandResult<'_, Counter>| {
        let (status, body) = match told {
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
async fn case_52_a_command_and_its_remembered_answer_are_one_batch() {
    // Aim: while the batch is held neither is there, afterwards both are; the same key a second time executes nothing.
    let counters = Counters::new(fast().limits).await;
    let name = Name(1);
    counters.store.hold();
    let family = counters.registry.clone();
    let first = tokio::spawn(async move { family.ask_idempotent(name, Command::Add(5), Some(recorder(None))).await });
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
        // Another entity's command is no other matter: the key is the account's.
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
async fn case_55_a_refusal_is_remembered_by_a_batch_of_its_own() {
    // Aim: what an executed command refused is remembered and durable when it is told, and changes nothing else; what
    // changes nothing is remembered too.
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
async fn case_55_a_key_whose_time_is_over_is_used_anew_once() {
    // Aim: an expired record is replaced by the batch of the next command, and of two who saw it expired only one is
    // executed.
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
async fn case_56_a_key_held_by_a_dead_process_left_its_record_or_nothing() {
    // Aim: a power cut before the batch leaves no trace, and the retry executes; a cut after it leaves the answer.
    let counters = Counters::new(fast().limits).await;
    let name = Name(1);
    counters.store.hold();
    let family = counters.registry.clone();
    let call = tokio::spawn(async move { family.ask_idempotent(name, Command::Add(5), Some(recorder(None))).await });
    eventually("the batch is enqueued", async || counters.store.queued() == 1).await;
    let survivor = counters.store.crash();
    assert!(survivor.rows(&[table::IDEMPOTENCY]).is_empty() && survivor.rows(&[table::ENTITY]).is_empty());
    drop(in_time("the call's end", call).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_52_a_key_has_one_user_at_a_time() {
    // Aim: while a command runs, the same key is `running` or `reused`, another account's is free; when it is dropped
    // without a record the key is free again.
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
