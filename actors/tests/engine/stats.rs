//! Engine statistics, and the request ids of jobs.

use purser_actors::engine::stats::OverloadReason;
use purser_actors::entity::card;
use purser_actors::id::RequestId;
use purser_actors::kernel::request_context;

use crate::support::eventually;
use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::ports::{IssuerBehavior, PaymentBehavior};
use crate::support::settings::fast;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn job_keeps_its_request_id_over_a_restart() {
    // Checks: the request id of the claim is stored in its settlement job and copied to the card order; it survives a
    // power cut. Jobs of another request have that one's id.
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Busy; 1_000]);
    for n in [1, 2] {
        let request = card_for(evm(n), 1);
        let paid = request_context::with_request(RequestId(u128::from(n)), world.pay(&request))
            .await
            .unwrap();
        bought_card(&paid);
    }
    let named = async |world: &Harness| {
        let effects = world.engine.open_jobs(10).await.unwrap();
        assert!(
            effects
                .iter()
                .all(|effect| matches!(effect.job.typed(), Some(card::Job::IssueCard(_))))
        );
        let mut origins: Vec<u128> = effects.iter().map(|effect| effect.request_id.0).collect();
        origins.sort_unstable();
        origins
    };
    assert_eq!(named(&world).await, [1, 2]);
    let world = world.crash().await;
    assert_eq!(named(&world).await, [1, 2]);
    assert_eq!(
        request_context::current_request(),
        RequestId::NONE,
        "the test itself is no request"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stats_count_running_crashed_and_rejected_work() {
    // Checks: a job inside the chain's port counts as running, a panic in the port as one crash, a payer above its
    // share as a rejection with that reason. At the end nothing is open.
    let mut settings = fast();
    settings.max_in_flight_per_payer = 1;
    let world = Harness::with(settings).await;
    let crashing = card_for(evm(1), 1);
    world
        .chain
        .set_behavior(&crashing.authorization, PaymentBehavior::Panics(1));
    bought_card(&world.pay(&crashing).await.unwrap());
    world.wait_until_idle().await;
    let settle = 0;
    let figures = world.engine.stats().await.unwrap();
    assert_eq!(figures.jobs[settle].attempts.failures, [0, 0, 0, 1]);
    assert_eq!(figures.jobs[settle].attempts.attempts, 2);

    let held = card_for(evm(1), 2);
    world.chain.set_behavior(&held.authorization, PaymentBehavior::Waits);
    let (engine, request) = (world.engine.clone(), held.clone());
    let call = tokio::spawn(async move { engine.pay(request).await });
    eventually("the chain is asked", async || world.chain.at_gate() == 1).await;
    assert!(world.pay(&card_for(evm(1), 3)).await.is_err());
    let figures = world.engine.stats().await.unwrap();
    let at = &figures.jobs[settle];
    assert_eq!((at.attempts.running, at.scheduled, at.dead_lettered), (1, 0, 0));
    assert_eq!((figures.in_flight, figures.payers), (1, 1));
    assert_eq!(figures.rejected[OverloadReason::PayerLimit as usize], 1);
    assert_eq!(figures.rejected.iter().sum::<u64>(), 1);
    world.chain.open_gate();
    bought_card(&call.await.unwrap().unwrap());
    world.wait_until_idle().await;
    eventually("nothing is open", async || {
        let figures = world.engine.stats().await.unwrap();
        let open =
            |work: &purser_actors::engine::stats::JobStats| work.attempts.running + work.scheduled + work.oldest_age_ms;
        let asked = figures.kinds.iter().map(|kind| kind.commands_in_flight).sum::<u64>();
        figures.jobs.iter().map(open).sum::<u64>() + asked + figures.in_flight as u64 == 0
    })
    .await;
}
