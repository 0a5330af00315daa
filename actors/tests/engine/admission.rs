//! Admission permits: acquired before the claim, limited in total and per payer, always released.

use purser_actors::engine::{ClaimError, OverloadError};
use purser_actors::money::Cents;

use crate::support::eventually;
use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::ports::PaymentBehavior;
use crate::support::settings::{cards_a_day, fast};

const FULL: OverloadError = OverloadError { retry_after_s: 1 };

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_68_permits_end_at_the_limit_and_are_released() {
    // Checks: the last permit is granted, one more is rejected, and a released one can be acquired again.
    let mut settings = fast();
    settings.max_in_flight = 4;
    let world = Harness::with(settings).await;
    let mut held: Vec<_> = (0..4).map(|n| world.engine.admit(&evm(n)).unwrap()).collect();
    assert_eq!(world.engine.admit(&evm(9)).unwrap_err(), FULL);
    assert_eq!(world.engine.current_load().permits_free, 0);
    held.pop();
    held.push(world.engine.admit(&evm(9)).unwrap());
    assert_eq!(world.engine.admit(&evm(9)).unwrap_err(), FULL);
    drop(held);
    assert_eq!(world.engine.current_load().permits_free, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_68_one_payer_cannot_take_all_permits() {
    // Checks: a flood by one payer leaves permits for others; rejected calls take no permit.
    let mut settings = fast();
    (settings.max_in_flight, settings.max_in_flight_per_payer) = (10, 3);
    let world = Harness::with(settings).await;
    let held: Vec<_> = (0..3).map(|_| world.engine.admit(&evm(1)).unwrap()).collect();
    for _ in 0..1_000 {
        assert_eq!(world.engine.admit(&evm(1)).unwrap_err(), FULL);
    }
    assert_eq!(world.engine.current_load().permits_free, 7);
    let other = world.engine.admit(&evm(2)).unwrap();
    drop(held);
    drop(other);
    assert_eq!(world.engine.current_load().permits_free, 10);
    let again: Vec<_> = (0..3).map(|_| world.engine.admit(&evm(1)).unwrap()).collect();
    assert_eq!(again.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_68_lagging_store_admits_nothing_and_finishes_pending_work() {
    // Checks: at the lag limit admission stops, one byte below it does not; a claimed payment continues in either case.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    world.store.set_lag(999);
    drop(world.engine.admit(&evm(1)).unwrap());
    world.store.hold_after(1, true);
    let call = tokio::spawn({
        let (engine, request) = (world.engine.clone(), request.clone());
        async move { engine.pay(request).await }
    });
    eventually("the claim is made", async || world.store.is_starving()).await;
    world.store.set_lag(1_000);
    assert_eq!(world.engine.admit(&evm(2)).unwrap_err(), FULL);
    let refused = world.engine.pay(card_for(evm(2), 1)).await.unwrap_err();
    assert_eq!(refused, ClaimError::Overloaded(FULL));
    world.store.release();
    call.await.unwrap().unwrap();
    world.wait_until_idle().await;
    world.assert_one_card(&request);
    world.store.set_lag(0);
    drop(world.engine.admit(&evm(2)).unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_68_permit_is_released_for_every_outcome() {
    // Checks: no permit is lost, whether the call buys, is rejected, is pending or is dropped before its first poll.
    let mut settings = fast();
    (settings.max_in_flight, settings.max_in_flight_per_payer) = (1, 1);
    let world = Harness::with(settings).await;
    let (bad, pending) = (card_for(evm(1), 2), card_for(evm(1), 3));
    world.chain.set_behavior(&bad.authorization, PaymentBehavior::Declined);
    world
        .chain
        .set_behavior(&pending.authorization, PaymentBehavior::NotExecuted);
    for request in [card_for(evm(1), 1), bad, pending] {
        world.pay(&request).await.unwrap();
        let mut other = request.clone();
        other.request = [8; 32];
        assert_eq!(world.pay(&other).await.unwrap_err(), ClaimError::AlreadyUsed);
    }
    drop(world.engine.pay(card_for(evm(1), 4)));
    eventually("the permit is free", async || {
        world.engine.current_load().permits_free == 1
    })
    .await;
    drop(world.engine.admit(&evm(1)).unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn daily_caps_hold_under_concurrency_and_reset_the_next_day() {
    // Checks: of many concurrent purchases exactly the cap succeeds, and midnight (UTC) resets it.
    let mut settings = fast();
    settings.caps = cards_a_day(3, 2_000_000);
    let world = Harness::with(settings).await;
    let calls: Vec<_> = (0..10)
        .map(|n| {
            let (engine, request) = (world.engine.clone(), card_for(evm(1), n));
            tokio::spawn(async move { engine.pay(request).await })
        })
        .collect();
    let mut cards = 0;
    for call in calls {
        match crate::support::in_time("a call", call).await.unwrap() {
            Ok(paid) => cards += usize::from(bought_card(&paid).0 > 0),
            Err(refused) => assert_eq!(refused, ClaimError::DailyCountCap { cap: 3 }),
        }
    }
    assert_eq!(cards, 3);
    world.clock.advance(12 * 3_600_000);
    bought_card(&world.pay(&card_for(evm(1), 20)).await.unwrap());
    world.wait_until_idle().await;
    assert_eq!(world.chain.transfers(), 4, "who was refused was not charged");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn daily_amount_cap_holds_to_the_cent() {
    // Checks: two cards of 5 dollars fit a cap of 10.00 dollars but not one of 9.99.
    for (sum, fits) in [(10_00, true), (9_99, false)] {
        let mut settings = fast();
        settings.caps = cards_a_day(200, sum);
        let world = Harness::with(settings).await;
        world.pay(&card_for(evm(1), 1)).await.unwrap();
        let second = world.pay(&card_for(evm(1), 2)).await;
        match fits {
            true => drop(bought_card(&second.unwrap())),
            false => assert_eq!(second.unwrap_err(), ClaimError::DailyAmountCap { cap: Cents::new(sum) }),
        }
    }
}
