//! The chain's check of a payment before its claim.

use purser_actors::engine::ClaimError;
use purser_actors::entity::payment::Outcome;
use purser_actors::id::Wallet;

use crate::support::harness::{Harness, bought_card, card_for, evm, session};
use crate::support::settings::{cards_a_day, fast};

const OWNER: Wallet = evm(1);

fn declined(error: &ClaimError) -> &str {
    match error {
        ClaimError::Declined(decline) => &decline.reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_88_known_empty_wallet_claims_nothing() {
    // Checks: the caller receives the chain's reason. It leaves no payment, cap reservation, permit or transaction. The
    // same payment buys as soon as the wallet can pay.
    let mut settings = fast();
    settings.caps = cards_a_day(1, 2_000_000);
    settings.max_in_flight = 1;
    let world = Harness::with(settings).await;
    world.chain.set_empty_at_precheck(OWNER);
    let request = card_for(OWNER, 1);
    for _ in 0..3 {
        let error = world.pay(&request).await.unwrap_err();
        assert_eq!(declined(&error), "insufficient_funds");
    }
    world.wait_until_idle().await;
    let id = world.engine.payment_id(&request.authorization);
    assert_eq!(world.engine.payment(&id).await.unwrap(), None);
    assert_eq!(world.engine.account(&OWNER).await.unwrap(), None);
    assert_eq!((world.chain.submissions(), world.chain.lookups()), (0, 0));
    assert_eq!(world.chain.prechecks(), 3);
    world.chain.fill();
    bought_card(&world.pay(&request).await.unwrap());
    world.wait_until_idle().await;
    world.assert_one_card(&request);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_02_claimed_payment_is_not_checked_again() {
    // Checks: a fulfilled payment has the same answer although the wallet is empty now. A declined one is not checked
    // again.
    let world = Harness::new().await;
    let request = card_for(OWNER, 1);
    let paid = world.pay(&request).await.unwrap();
    world.chain.set_empty_at_precheck(OWNER);
    let again = world.pay(&request).await.unwrap();
    assert_eq!(bought_card(&again), bought_card(&paid));
    assert!(!again.won);
    assert_eq!(world.chain.prechecks(), 1);
    world.wait_until_idle().await;
    world.assert_one_card(&request);

    let other = evm(2);
    world.chain.drain(other);
    let mut request = card_for(other, 1);
    for _ in 0..2 {
        request.session = session();
        let paid = world.pay(&request).await.unwrap();
        assert!(matches!(paid.outcome, Outcome::Declined(_)), "{:?}", paid.outcome);
    }
    assert_eq!(world.chain.prechecks(), 2, "once, before its claim");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn chain_decline_comes_after_every_other_error() {
    // Checks: an empty wallet of a frozen account gets the error of the freeze, then of the cap, and then the decline.
    let mut settings = fast();
    settings.caps = cards_a_day(1, 2_000_000);
    let world = Harness::with(settings).await;
    bought_card(&world.pay(&card_for(OWNER, 1)).await.unwrap());
    world.wait_until_idle().await;
    world.chain.set_empty_at_precheck(OWNER);
    let message = "call us".to_owned();
    let freeze = world.engine.set_frozen(OWNER, Some(message.clone()), None);
    freeze.await.unwrap();
    let request = card_for(OWNER, 2);
    assert_eq!(world.pay(&request).await.unwrap_err(), ClaimError::Frozen { message });
    world.engine.set_frozen(OWNER, None, None).await.unwrap();
    assert_eq!(
        world.pay(&request).await.unwrap_err(),
        ClaimError::DailyCountCap { cap: 1 }
    );
    world.clock.advance(86_400_000);
    assert_eq!(declined(&world.pay(&request).await.unwrap_err()), "insufficient_funds");
    assert_eq!(world.chain.transfers(), 1);
}
