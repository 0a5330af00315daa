//! Activation and passivation: acknowledged changes stay, and waiting callers get a reply.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use purser_actors::kernel::AskError;

use crate::support::counter_entity::{Command, Counters, Name, RejectedAt};
use crate::support::harness::{Harness, card_for, evm};
use crate::support::settings::fast;
use crate::support::{eventually, in_time};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn passivation_waits_for_batches_and_loses_no_message() {
    // Checks: an actor with batches in flight is not passivated; later messages wait and are served.
    let counters = Counters::new(fast().limits).await;
    let name = Name(1);
    let ask = |n| {
        let registry = counters.registry.clone();
        tokio::spawn(async move { registry.ask(name, Command::Add(n)).await })
    };
    in_time("an answer", ask(1)).await.unwrap().unwrap();
    for round in 1..=20_u64 {
        counters.store.hold();
        let in_flight = ask(1);
        eventually("a batch is in flight", async || counters.store.queued() == 1).await;
        counters.clock.advance(3_600_001);
        counters.registry.passivate_idle();
        eventually("the actor asks for a barrier", async || counters.store.queued() == 2).await;
        let meanwhile: Vec<_> = (0..5).map(|_| ask(1)).collect();
        assert_eq!(counters.registry.active_count(), 1, "it has not left");
        counters.store.release();
        in_time("an answer", in_flight).await.unwrap().unwrap();
        for call in meanwhile {
            in_time("an answer", call).await.unwrap().unwrap();
        }
        assert_eq!(counters.durable(name).await, 1 + 6 * round);
    }
    counters.clock.advance(3_600_001);
    counters.registry.passivate_idle();
    eventually("it rests", async || counters.registry.active_count() == 0).await;
    assert_eq!(in_time("an answer", ask(1)).await.unwrap().unwrap(), 122);
    assert_eq!(counters.registry.restarts(), 0, "to rest is not to die");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn passivation_waits_for_outcome_waiters() {
    // Checks: an idle actor with a waiting caller stays active.
    let counters = Counters::new(fast().limits).await;
    let name = Name(1);
    in_time("an answer", counters.registry.ask(name, Command::Add(1)))
        .await
        .unwrap();
    let outcome = tokio::spawn(counters.registry.outcome(name, 0));
    in_time("an answer", counters.registry.ask(name, Command::Show))
        .await
        .unwrap();
    for _ in 0..20 {
        counters.clock.advance(3_600_001);
        counters.registry.passivate_idle();
        assert_eq!(
            in_time("an answer", counters.registry.ask(name, Command::Show))
                .await
                .unwrap(),
            1
        );
    }
    in_time("an answer", counters.registry.ask(name, Command::Add(99)))
        .await
        .unwrap();
    assert_eq!(in_time("the outcome", outcome).await.unwrap().unwrap(), 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sweep_passivates_the_longest_idle_above_the_limit() {
    // Checks: above the limit the sweep passivates the longest idle actors; at the limit, none.
    let mut limits = fast().limits;
    limits.max_active = 10;
    let counters = Counters::new(limits).await;
    for n in 0..10 {
        in_time("an answer", counters.registry.ask(Name(n), Command::Add(1)))
            .await
            .unwrap();
        counters.clock.advance(1_000);
    }
    counters.registry.passivate_idle();
    assert_eq!(counters.registry.active_count(), 10, "at the limit none is passivated");
    for n in 10..25 {
        in_time("an answer", counters.registry.ask(Name(n), Command::Add(1)))
            .await
            .unwrap();
        counters.clock.advance(1_000);
    }
    counters.registry.passivate_idle();
    eventually("the limit holds", async || counters.registry.active_count() == 10).await;
    // The most recently used actors stayed active: a corrupt snapshot does not affect them.
    for n in 15..25 {
        counters.corrupt(Name(n));
        assert_eq!(counters.registry.ask(Name(n), Command::Show).await.unwrap(), 1);
    }
    for n in 0..15 {
        assert_eq!(
            counters.registry.ask(Name(n), Command::Show).await.unwrap(),
            1,
            "who rests comes back"
        );
    }
}

type Answer = Result<u64, AskError<RejectedAt>>;
type Call = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Sends this many additions, one after the other without waiting for a reply in between. Returns the replies.
async fn send_in_order(counters: &Counters, name: Name, calls: usize) -> Vec<Answer> {
    let mut sent: Vec<(Poll<Answer>, Call)> = Vec::new();
    for _ in 0..calls {
        let registry = counters.registry.clone();
        let mut call: Call = Box::pin(async move { registry.ask(name, Command::Add(1)).await });
        // The first poll sends the command.
        let first = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
        sent.push((first, call));
    }
    let mut answers = Vec::new();
    for (first, call) in sent {
        answers.push(match first {
            Poll::Ready(answer) => answer,
            Poll::Pending => in_time("an answer", call).await,
        });
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn commands_of_one_caller_are_decided_in_order() {
    // Checks: whether a caller runs the entity or its mailbox does, commands are decided one at a time, and those of one
    // caller in the order in which it sent them, also while the entity is passivated and activated.
    let mut limits = fast().limits;
    limits.passivate_after_ms = 0;
    let counters = Arc::new(Counters::new(limits).await);
    let name = Name(1);
    let (senders, rounds, burst) = (8, 40, 5);
    let sending: Vec<_> = (0..senders)
        .map(|sender| {
            let counters = counters.clone();
            tokio::spawn(async move {
                let mut totals = Vec::new();
                for round in 0..rounds {
                    let answers = send_in_order(&counters, name, burst).await;
                    totals.extend(answers.into_iter().map(Result::unwrap));
                    if (sender + round) % 7 == 0 {
                        counters.registry.passivate_idle();
                    }
                }
                totals
            })
        })
        .collect();
    let mut all = Vec::new();
    for sender in sending {
        let totals = sender.await.unwrap();
        assert!(totals.is_sorted(), "a command overtook an earlier one: {totals:?}");
        all.extend(totals);
    }
    all.sort_unstable();
    let decided = (senders * rounds * burst) as u64;
    assert!(all.into_iter().eq(1..=decided), "each total is reached once");
    assert_eq!(counters.durable(name).await, decided);
    assert_eq!(counters.registry.restarts(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_67_panic_under_load_ends_one_entity() {
    // Checks: a panic in a decision ends that entity's actor, in its own task or in a caller's. Its caller hears `unknown`; callers of other
    // entities notice nothing, and nothing acknowledged is lost.
    let counters = Arc::new(Counters::new(fast().limits).await);
    let victim = Name(3);
    let stop = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..32)
        .map(|n| {
            let (counters, stop, name) = (counters.clone(), stop.clone(), Name(n % 8));
            tokio::spawn(async move {
                let (mut acknowledged, mut unknown) = (0, 0);
                while !stop.load(Ordering::SeqCst) {
                    match in_time("an answer", counters.registry.ask(name, Command::Add(1))).await {
                        Ok(_) => acknowledged += 1,
                        Err(AskError::OutcomeUnknown) if name == victim => unknown += 1,
                        Err(refusal) => panic!("{name}: {refusal:?}"),
                    }
                }
                (name, acknowledged, unknown)
            })
        })
        .collect();
    for deaths in 1..=20 {
        let death = in_time("a death", counters.registry.ask(victim, Command::Die)).await;
        assert!(matches!(death, Err(AskError::OutcomeUnknown)), "{death:?}");
        eventually("the death is counted", async || counters.registry.restarts() >= deaths).await;
    }
    stop.store(true, Ordering::SeqCst);
    let mut sums = BTreeMap::<Name, (u64, u64)>::new();
    for caller in callers {
        let (name, acknowledged, unknown) = caller.await.unwrap();
        let sum = sums.entry(name).or_default();
        *sum = (sum.0 + acknowledged, sum.1 + unknown);
    }
    for (name, (acknowledged, unknown)) in sums {
        let durable = in_time("an answer", counters.registry.ask(name, Command::Show))
            .await
            .unwrap();
        assert!((acknowledged..=acknowledged + unknown).contains(&durable), "{name}");
        assert_eq!(counters.durable(name).await, durable);
    }
    assert_eq!(counters.registry.restarts(), 20, "each panic ended one actor");
    assert!(counters.is_healthy());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn passivation_that_races_with_callers_loses_nothing() {
    // Checks: while a sweep passivates everything that it finds, callers that run idle entities get every reply, and
    // every acknowledged addition is stored once.
    let mut limits = fast().limits;
    limits.passivate_after_ms = 0;
    let counters = Arc::new(Counters::new(limits).await);
    let stop = Arc::new(AtomicBool::new(false));
    let sweeper = {
        let (counters, stop) = (counters.clone(), stop.clone());
        tokio::spawn(async move {
            while !stop.load(Ordering::SeqCst) {
                counters.registry.passivate_idle();
                tokio::task::yield_now().await;
            }
        })
    };
    let callers: Vec<_> = (0..12)
        .map(|n| {
            let (counters, name) = (counters.clone(), Name(n % 3));
            tokio::spawn(async move {
                for round in 0..500 {
                    in_time("an answer", counters.registry.ask(name, Command::Add(1)))
                        .await
                        .unwrap();
                    if round % 16 == 0 {
                        let outcome = counters.registry.outcome(name, 0);
                        in_time("an answer", counters.registry.ask(name, Command::Add(100)))
                            .await
                            .unwrap();
                        in_time("the outcome", outcome).await.unwrap();
                    }
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    sweeper.await.unwrap();
    for n in 0..3 {
        assert_eq!(counters.durable(Name(n)).await, 4 * (500 + 32 * 100));
    }
    assert_eq!(counters.registry.restarts(), 0, "to rest is not to die");
    counters.registry.passivate_idle();
    eventually("all rest", async || counters.registry.active_count() == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_67_thousand_panics_lose_nothing_acknowledged() {
    // Checks: each crash is a supervised restart, the actor's name is free again, and every acknowledged addition is
    // stored.
    let counters = Counters::new(fast().limits).await;
    let name = Name(1);
    let mut acknowledged = 0;
    for round in 1..=1_000_u64 {
        let death = in_time("a death", counters.registry.ask(name, Command::Die)).await;
        assert!(
            matches!(death, Err(AskError::OutcomeUnknown)),
            "who dies answers unknown: {death:?}"
        );
        loop {
            match in_time("an answer", counters.registry.ask(name, Command::Add(1))).await {
                Ok(total) => {
                    acknowledged += 1;
                    assert_eq!(
                        total, acknowledged,
                        "nothing acknowledged is lost, nothing else is there"
                    );
                    break;
                }
                // Sent to the mailbox of the dead actor.
                Err(refusal) => assert!(matches!(refusal, AskError::OutcomeUnknown), "{refusal:?}"),
            }
        }
        assert!(counters.registry.restarts() <= round);
    }
    eventually("every death is counted", async || counters.registry.restarts() == 1_000).await;
    assert_eq!(counters.durable(name).await, 1_000);
    assert!(counters.is_healthy());
    // Once idle, it is passivated and activated again at once.
    counters.clock.advance(3_600_001);
    counters.registry.passivate_idle();
    eventually("it rests", async || counters.registry.active_count() == 0).await;
    assert_eq!(counters.registry.ask(name, Command::Show).await.unwrap(), 1_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_67_crash_answers_every_queued_message() {
    // Checks: messages before the crash are served; later ones are served or answered `unknown`. Every answer is true.
    let counters = Counters::new(fast().limits).await;
    let name = Name(1);
    for _ in 0..50 {
        let before = counters.durable(name).await;
        let calls: Vec<_> = (0..20)
            .map(|n| {
                let registry = counters.registry.clone();
                let command = if n == 10 { Command::Die } else { Command::Add(1) };
                tokio::spawn(async move { registry.ask(name, command).await })
            })
            .collect();
        let mut acknowledged = 0;
        for call in calls {
            match in_time("an answer", call).await.unwrap() {
                Ok(_) => acknowledged += 1,
                Err(refusal) => assert!(matches!(refusal, AskError::OutcomeUnknown), "{refusal:?}"),
            }
        }
        assert_eq!(counters.durable(name).await, before + acknowledged);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn crash_with_a_batch_in_flight_loses_nothing_acknowledged() {
    // Checks: the new actor reads the last batch of the old one, although it was not durable at the crash.
    let counters = Counters::new(fast().limits).await;
    let name = Name(1);
    in_time("an answer", counters.registry.ask(name, Command::Add(1)))
        .await
        .unwrap();
    counters.store.hold();
    let registry = counters.registry.clone();
    let last = tokio::spawn(async move { registry.ask(name, Command::Add(1)).await });
    eventually("it is in flight", async || counters.store.queued() == 1).await;
    let death = in_time("a death", counters.registry.ask(name, Command::Die)).await;
    assert!(matches!(death, Err(AskError::OutcomeUnknown)));
    let registry = counters.registry.clone();
    let next = tokio::spawn(async move { registry.ask(name, Command::Add(1)).await });
    eventually("the restart passes a barrier", async || counters.store.queued() == 2).await;
    counters.store.release();
    assert_eq!(in_time("an answer", last).await.unwrap().unwrap(), 2);
    match in_time("an answer", next).await.unwrap() {
        Ok(total) => assert_eq!(total, 3),
        Err(refusal) => assert!(matches!(refusal, AskError::OutcomeUnknown), "{refusal:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn entity_that_fails_to_load_is_quarantined_alone() {
    // Checks: after the permitted failed loads, callers fail at once, operators see the entity, and others are
    // unaffected.
    let limits = fast().limits;
    let counters = Counters::new(limits).await;
    counters.corrupt(Name(1));
    let refused = in_time("an answer", counters.registry.ask(Name(1), Command::Show)).await;
    assert!(matches!(refused, Err(AskError::Quarantined)), "{refused:?}");
    assert_eq!(counters.registry.restarts(), u64::from(limits.quarantine_after));
    assert_eq!(counters.registry.quarantined(), [Name(1)]);
    let refused = in_time("an answer", counters.registry.ask(Name(1), Command::Add(1))).await;
    assert!(matches!(refused, Err(AskError::Quarantined)), "{refused:?}");
    assert_eq!(
        counters.registry.restarts(),
        u64::from(limits.quarantine_after),
        "it is not tried again"
    );
    assert_eq!(
        in_time("an answer", counters.registry.ask(Name(2), Command::Add(1)))
            .await
            .unwrap(),
        1
    );
    let closed = in_time("the outcome", counters.registry.outcome(Name(1), 0)).await;
    assert!(closed.is_err(), "who waits for its outcome is not left waiting");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_payers_with_few_residents_all_get_their_cards() {
    // Checks: constant passivation under load loses no payment.
    let mut settings = fast();
    settings.limits.max_active = 2;
    settings.limits.passivate_after_ms = 1;
    settings.sweep_every_ms = 1;
    let world = Harness::with(settings).await;
    let calls: Vec<_> = (0..60)
        .map(|n| {
            let (engine, request) = (world.engine.clone(), card_for(evm(n % 6), n));
            tokio::spawn(async move { engine.pay(request).await })
        })
        .collect();
    let mut owners = BTreeMap::<_, u32>::new();
    for call in calls {
        assert!(in_time("a call", call).await.unwrap().unwrap().won);
    }
    world.wait_until_idle().await;
    for (_, card) in world.cards() {
        assert!(card.details().is_some());
        *owners.entry(card.owner).or_default() += 1;
    }
    assert_eq!(owners.into_values().collect::<Vec<_>>(), [10; 6]);
    eventually("all rest", async || world.engine.current_load().active_entities == 0).await;
    assert_eq!(world.engine.current_load().restarts, 0);
}
