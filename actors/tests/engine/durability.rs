//! Replies wait for durable batches, and a rejected batch rejects everything decided on it.

use std::sync::Arc;

use purser_actors::kernel::AskError;
use purser_storage::{EventSink, Store, StoredEvent};
use tokio::task::JoinHandle;

use crate::support::counter_entity::{Command, Counters, Name, RejectedAt, TestGate};
use crate::support::harness::{Harness, card_for, evm};
use crate::support::settings::fast;
use crate::support::{eventually, in_time};

type BatchResult = Result<u64, AskError<RejectedAt>>;

const ONE: Name = Name(1);

impl Counters {
    fn ask(&self, command: Command) -> JoinHandle<BatchResult> {
        let registry = self.registry.clone();
        tokio::spawn(async move { registry.ask(ONE, command).await })
    }

    /// Waits until this number of batches and barriers is queued for the committer.
    async fn queued(&self, n: usize) {
        eventually("the batches wait", async || self.store.queued() >= n).await;
    }
}

async fn result_of(call: JoinHandle<BatchResult>) -> BatchResult {
    in_time("an answer", call).await.unwrap()
}

fn open_gate() -> Arc<TestGate> {
    let gate = Arc::new(TestGate::default());
    gate.open();
    gate
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replies_wait_for_durability() {
    // Checks: while the committer is held, no success, rejection, no-op or outcome is reported; once it is released,
    // all are.
    let counters = Counters::new(fast().limits).await;
    assert_eq!(result_of(counters.ask(Command::Add(1))).await.unwrap(), 1);
    counters.store.hold();
    let add = counters.ask(Command::Add(100));
    counters.queued(1).await;
    let show = counters.ask(Command::Show);
    counters.queued(2).await;
    let refuse = counters.ask(Command::Reject(open_gate()));
    counters.queued(3).await;
    let outcome = tokio::spawn(counters.registry.outcome(ONE, 0));
    counters.queued(4).await;
    let more = counters.ask(Command::Add(1));
    counters.queued(5).await;
    assert_eq!(counters.durable(ONE).await, 1);
    for call in [&add, &show, &refuse, &more] {
        assert!(!call.is_finished(), "an answer came before its ground was durable");
    }
    assert!(!outcome.is_finished());
    counters.store.release();
    assert_eq!(result_of(add).await.unwrap(), 101);
    assert_eq!(result_of(show).await.unwrap(), 101);
    assert!(matches!(
        result_of(refuse).await,
        Err(AskError::Rejected(RejectedAt(101)))
    ));
    assert_eq!(in_time("the outcome", outcome).await.unwrap().unwrap(), 101);
    assert_eq!(result_of(more).await.unwrap(), 102);
    assert_eq!(counters.durable(ONE).await, 102);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replay_waits_for_durability() {
    // Checks: a paid call and its replay do not return while the committer is held.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    world.store.hold();
    let calls: Vec<_> = (0..3)
        .map(|_| {
            let (engine, request) = (world.engine.clone(), request.clone());
            tokio::spawn(async move { engine.pay(request).await })
        })
        .collect();
    eventually("one of them claims", async || world.store.queued() == 1).await;
    assert!(calls.iter().all(|call| !call.is_finished()));
    assert!(world.history().is_empty());
    world.store.release();
    for call in calls {
        in_time("a call", call).await.unwrap().unwrap();
    }
    world.wait_until_idle().await;
    world.assert_one_card(&request);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rejected_batch_discards_decisions_based_on_it() {
    // Checks: the batch and everything after it are conflicts, rejections and no-ops included; the actor continues from
    // the durable state.
    let counters = Counters::new(fast().limits).await;
    assert_eq!(result_of(counters.ask(Command::Add(1))).await.unwrap(), 1);
    counters.store.hold();
    let first = counters.ask(Command::Add(10));
    counters.queued(1).await;
    counters.store.reject_nth(2);
    let refused = counters.ask(Command::Add(100));
    counters.queued(2).await;
    let on_top = counters.ask(Command::Add(1_000));
    counters.queued(3).await;
    let no_op = counters.ask(Command::Show);
    counters.queued(4).await;
    let rejection = counters.ask(Command::Reject(open_gate()));
    counters.queued(5).await;
    counters.store.release();
    assert_eq!(result_of(first).await.unwrap(), 11);
    for call in [refused, on_top, no_op, rejection] {
        assert!(matches!(result_of(call).await, Err(AskError::Conflict)));
    }
    assert_eq!(result_of(counters.ask(Command::Show)).await.unwrap(), 11);
    assert_eq!(result_of(counters.ask(Command::Add(1))).await.unwrap(), 12);
    assert_eq!(counters.durable(ONE).await, 12);
    assert_eq!(counters.registry.restarts(), 0, "a rejected batch stops no actor");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rejection_based_on_a_rejected_batch_is_a_conflict() {
    // Checks: the batch below may be rejected between decision and reply. The reply must not report a state that was
    // never durable.
    let counters = Counters::new(fast().limits).await;
    assert_eq!(result_of(counters.ask(Command::Add(1))).await.unwrap(), 1);
    counters.store.hold();
    counters.store.reject_nth(1);
    let never = counters.ask(Command::Add(41));
    counters.queued(1).await;
    let gate = Arc::new(TestGate::default());
    let refusal = counters.ask(Command::Reject(gate.clone()));
    eventually("it decides", async || gate.is_reached()).await;
    counters.store.release();
    assert!(matches!(result_of(never).await, Err(AskError::Conflict)));
    gate.open();
    let refusal = result_of(refusal).await;
    assert!(matches!(refusal, Err(AskError::Conflict)), "{refusal:?}");
    assert_eq!(result_of(counters.ask(Command::Show)).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn outcome_waiters_survive_a_rejected_batch() {
    // Checks: after a rejected batch, callers that waited for the outcome before it or after it still get one.
    let counters = Counters::new(fast().limits).await;
    assert_eq!(result_of(counters.ask(Command::Add(1))).await.unwrap(), 1);
    let before = tokio::spawn(counters.registry.outcome(ONE, 0));
    assert_eq!(result_of(counters.ask(Command::Show)).await.unwrap(), 1);
    counters.store.hold();
    counters.store.reject_nth(1);
    let never = counters.ask(Command::Add(200));
    counters.queued(1).await;
    let after = tokio::spawn(counters.registry.outcome(ONE, 0));
    counters.queued(2).await;
    counters.store.release();
    assert!(matches!(result_of(never).await, Err(AskError::Conflict)));
    assert_eq!(result_of(counters.ask(Command::Add(100))).await.unwrap(), 101);
    for outcome in [before, after] {
        assert_eq!(in_time("the outcome", outcome).await.unwrap(), Ok(101));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rejected_batch_in_a_paid_call_is_retried() {
    // Checks: whichever batch of the call is rejected without its own fault, the payment still ends with one card.
    for (locally, nth) in (1..=3).map(|nth| (true, nth)).chain((1..=4).map(|nth| (false, nth))) {
        let world = Harness::new().await;
        world.chain.set_prepares_locally(locally);
        let request = card_for(evm(1), 1);
        world.store.reject_nth(nth);
        world.pay_until_known(&request).await;
        world.wait_until_idle().await;
        world.assert_one_card(&request);
    }
}

#[derive(Default)]
struct Observed(parking_lot::Mutex<Vec<u64>>);

impl EventSink for Observed {
    fn publish(&self, events: &[StoredEvent]) {
        self.0.lock().extend(events.iter().map(|e| e.seq));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn subscribers_get_events_before_the_caller_gets_its_reply() {
    // Checks: when the reply is returned, its events are published, each with its own sequence number.
    let counters = Counters::new(fast().limits).await;
    let seen = Arc::new(Observed::default());
    counters.store.subscribe(seen.clone());
    for n in 1..=20_u64 {
        assert_eq!(result_of(counters.ask(Command::Add(1))).await.unwrap(), n);
        assert_eq!(seen.0.lock().len() as u64, n);
    }
    let events = counters.store.events(0, 100, None).await.unwrap();
    let stored: Vec<_> = events.iter().map(|e| e.seq).collect();
    assert_eq!(*seen.0.lock(), stored);
    assert_eq!(counters.store.durable_seq(), *stored.last().unwrap());
}
