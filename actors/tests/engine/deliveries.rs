//! Job attempts fail, panic and are dead-lettered; supervisors and jobs survive.

use purser_actors::entity::card;
use purser_actors::entity::payment::Outcome;
use purser_actors::id::{JobId, RequestId};
use purser_actors::kernel::job::AnyJob;
use purser_actors::kernel::{OutboxJob, table};
use purser_actors::port::Timestamp;
use purser_storage::{Batch, Store as _, Write, codec};

use crate::support::eventually;
use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::ports::{IssuerBehavior, PaymentBehavior};
use crate::support::settings::fast;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn outbox_supervisors_survive_panics_of_every_job_type() {
    // Checks: a panic in the chain's or issuer's port is one failed attempt; the same supervisor continues.
    let world = Harness::new().await;
    for nonce in 0..5 {
        let request = card_for(evm(1), nonce);
        world
            .chain
            .set_behavior(&request.authorization, PaymentBehavior::Panics(3));
        world
            .issuer
            .set_behaviors(&[IssuerBehavior::Panics, IssuerBehavior::Panics]);
        let paid = world.pay(&request).await.unwrap();
        bought_card(&paid);
        world.wait_until_idle().await;
    }
    assert_eq!((world.chain.transfers(), world.issuer.cards()), (5, 5));
    assert_eq!(world.chain.submissions(), 20);
    assert_eq!(world.issuer.calls().len(), 15);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn job_that_fails_too_often_stays_dead_lettered() {
    // Checks: after the last attempt it does not run again, even after a restart, and keeps its job type and error.
    let mut settings = fast();
    settings.retry.max_attempts = 3;
    let world = Harness::with(settings).await;
    world.issuer.set_behaviors(&[IssuerBehavior::Busy; 3]);
    let paid = world.pay(&card_for(evm(1), 1)).await.unwrap();
    eventually("it is dead-lettered", async || {
        world
            .engine
            .open_jobs(10)
            .await
            .unwrap()
            .iter()
            .any(|outbox_job| outbox_job.dead_lettered)
    })
    .await;
    let jobs = world.engine.open_jobs(10).await.unwrap();
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].job, card::Job::IssueCard(bought_card(&paid)));
    assert_eq!(jobs[0].attempts, 3);
    assert_eq!(jobs[0].last_error.as_deref(), Some("issue: as the script says"));
    let world = world.crash().await;
    // Jobs of another purchase run meanwhile.
    world.pay(&card_for(evm(1), 2)).await.unwrap();
    eventually("the second card is made", async || world.issuer.cards() == 1).await;
    eventually("only the dead-lettered job is left", async || {
        world.engine.open_jobs(10).await.unwrap() == jobs
    })
    .await;
    assert_eq!(
        world.issuer.calls().len(),
        4,
        "three tries of the first, one of the second"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn permanent_failure_is_dead_lettered_at_once() {
    // Checks: a permanent failure is not retried and does not count as a decline that would be credited.
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Broken]);
    world.pay(&card_for(evm(1), 1)).await.unwrap();
    eventually("it is dead-lettered", async || {
        world
            .engine
            .open_jobs(10)
            .await
            .unwrap()
            .iter()
            .any(|outbox_job| outbox_job.dead_lettered)
    })
    .await;
    assert_eq!(world.issuer.calls().len(), 1);
    let account = world.engine.account(&evm(1)).await.unwrap().unwrap();
    assert_eq!(account.balance.atomic(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn failed_attempts_are_durable() {
    // Checks: after a restart the attempt count continues.
    let mut settings = fast();
    settings.retry.initial_backoff_ms = 3_600_000;
    settings.retry.max_backoff_ms = 3_600_000;
    let world = Harness::with(settings).await;
    world.issuer.set_behaviors(&[IssuerBehavior::Busy]);
    world.pay(&card_for(evm(1), 1)).await.unwrap();
    let tried = async |world: &Harness| {
        let jobs = world.engine.open_jobs(10).await.unwrap();
        jobs.iter()
            .any(|e| e.attempts == 1 && !e.dead_lettered && e.next_attempt_at > e.created_at)
    };
    eventually("the failure is stored", async || tried(&world).await).await;
    let world = world.crash().await;
    assert!(tried(&world).await);
    assert_eq!(world.issuer.calls().len(), 1, "it is not time yet");
    world.clock.advance(2 * 3_600_000);
    let world = world.crash().await;
    world.wait_until_idle().await;
    assert_eq!(world.issuer.cards(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn jobs_above_the_concurrency_limit_wait() {
    // Checks: above the limit jobs are pending, and each runs in the end.
    let mut settings = fast();
    settings.retry.max_concurrent = 2;
    let world = Harness::with(settings).await;
    let requests: Vec<_> = (0..6).map(|n| card_for(evm(1), n)).collect();
    let calls: Vec<_> = requests
        .iter()
        .map(|request| {
            world.chain.set_behavior(&request.authorization, PaymentBehavior::Waits);
            let (engine, request) = (world.engine.clone(), request.clone());
            tokio::spawn(async move { engine.pay(request).await })
        })
        .collect();
    eventually("two are at the chain", async || world.chain.at_gate() == 2).await;
    eventually("all are claimed", async || {
        world.engine.open_jobs(10).await.unwrap().len() == 6
    })
    .await;
    assert_eq!(world.chain.at_gate(), 2, "one past the limit waits");
    world.chain.open_gate();
    for call in calls {
        let paid = crate::support::in_time("a call", call).await.unwrap().unwrap();
        assert!(matches!(paid.outcome, Outcome::Fulfilled { .. }));
    }
    world.wait_until_idle().await;
    assert_eq!(world.cards().len(), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn response_of_any_length_keeps_the_job() {
    // Checks: external text is stored in a row of bounded size, so a long error does not prevent the write.
    let world = Harness::new().await;
    world.issuer.set_error_bytes(100_000);
    world
        .issuer
        .set_behaviors(&[IssuerBehavior::Busy, IssuerBehavior::Busy]);
    let request = card_for(evm(1), 1);
    world.pay(&request).await.unwrap();
    world.wait_until_idle().await;
    world.assert_one_card(&request);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn job_of_an_unknown_type_is_dead_lettered_by_name() {
    // Checks: a stored job whose entity kind or number this program does not know, or whose bytes it cannot read, is
    // neither run nor skipped: it becomes a dead letter that says which it is.
    let world = Harness::new().await;
    let unknown = [
        ((1, 250), "there is no job 250 of entity kind 1"),
        ((250, 3), "there is no job 3 of entity kind 250"),
        ((6, 8), "the bytes of this order_gift_card job cannot be read"),
    ];
    let row = |(n, ((kind, op), _)): (usize, &((u8, u8), &str))| {
        // Kind, number, and the lengths of the subject and of the rest.
        let bytes = [*kind, *op, 0, 0];
        let id = JobId(n as u128 + 1);
        let job = OutboxJob {
            id,
            job: codec::decode_body::<AnyJob>(&bytes).unwrap(),
            request_id: RequestId::NONE,
            created_at: Timestamp(n as u64),
            attempts: 0,
            next_attempt_at: Timestamp(0),
            last_error: None,
            dead_lettered: false,
        };
        Write::Put {
            key: table::outbox_job(id),
            revision: 0,
            value: codec::encode(&job),
        }
    };
    let batch = Batch {
        writes: unknown.iter().enumerate().map(row).collect(),
        ..Batch::default()
    };
    let (done, committed) = tokio::sync::oneshot::channel();
    world
        .store
        .commit(batch, Box::new(move |result| drop(done.send(result))));
    assert!(committed.await.unwrap().is_ok());
    let world = world.crash().await;
    let dead = async || world.engine.dead_letters().await.unwrap().jobs;
    eventually("they are dead letters", async || dead().await.len() == unknown.len()).await;
    let errors: Vec<_> = dead().await.into_iter().map(|job| job.last_error.unwrap()).collect();
    assert_eq!(errors, unknown.map(|(_, error)| error));
    let names: Vec<_> = dead().await.iter().map(|job| job.job.name()).collect();
    assert_eq!(names, ["unknown_job", "unknown_job", "order_gift_card"]);
    assert!(world.engine.stats().await.is_ok(), "they are counted, or left out");
}
