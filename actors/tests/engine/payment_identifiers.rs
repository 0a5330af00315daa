//! Payment identifiers: another payment under the same identifier is no other purchase.

use purser_actors::engine::{ClaimError, PaymentRequest, PaymentResult};
use purser_actors::entity::payment::Outcome;
use purser_actors::kernel::idempotency::RECORD_TTL_S;

use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::ports::PaymentBehavior;
use crate::support::{eventually, in_time};

const NAME: &str = "order-0000000000000001";

/// The first payer's payment with this nonce, under the identifier.
fn with_identifier(nonce: u8) -> PaymentRequest {
    PaymentRequest {
        identifier: Some(NAME.to_owned()),
        ..card_for(evm(1), nonce)
    }
}

/// Pays, or joins the payment that the identifier refers to if it is another.
async fn pay_or_join(world: &Harness, mut request: PaymentRequest) -> Result<PaymentResult, ClaimError> {
    loop {
        match world.pay(&request).await {
            Err(ClaimError::IdentifierClaimed(known)) => {
                request.authorization = *known;
                request.identifier = None;
            }
            result => return result,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_payments_under_one_identifier_are_one() {
    // Checks: of concurrent payments one is claimed and the others get a reference to it, also after a crash. The
    // identifier is scoped to its payer and request.
    let world = Harness::new().await;
    let calls: Vec<_> = (1..=8)
        .map(|nonce| {
            let engine = world.engine.clone();
            tokio::spawn(async move { engine.pay(with_identifier(nonce)).await })
        })
        .collect();
    let mut results = Vec::new();
    for call in calls {
        results.push(in_time("a call", call).await.unwrap());
    }
    let winner = results.iter().position(Result::is_ok).expect("one payment is claimed");
    let claimed = with_identifier(u8::try_from(winner).unwrap() + 1);
    for (at, paid) in results.iter().enumerate().filter(|(at, _)| *at != winner) {
        let known = Box::new(claimed.authorization.clone());
        assert_eq!(
            paid.clone().map(|paid| paid.won),
            Err(ClaimError::IdentifierClaimed(known)),
            "{at}"
        );
    }
    world.wait_until_idle().await;
    world.assert_one_card(&claimed);
    let world = world.crash().await;
    let late = pay_or_join(&world, with_identifier(9)).await.unwrap();
    assert_eq!((late.won, bought_card(&late)), (false, world.cards()[0].0));
    let other = PaymentRequest {
        request: [6; 32],
        ..with_identifier(10)
    };
    assert_eq!(
        pay_or_join(&world, other).await.map(|paid| paid.won),
        Err(ClaimError::IdentifierMismatch)
    );
    world.assert_one_card(&claimed);
    let theirs = PaymentRequest {
        identifier: Some(NAME.to_owned()),
        ..card_for(evm(2), 1)
    };
    assert!(
        pay_or_join(&world, theirs).await.unwrap().won,
        "another payer's name is another name"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn crash_at_any_batch_leaves_one_purchase_per_identifier() {
    // Checks: the power is cut before any batch of the call, or after it and before its response. Another payment under
    // the same identifier then gets one card, paid by one transfer.
    for last_is_answered in [true, false] {
        let mut cuts = 0;
        for after in 0.. {
            assert!(after < 50, "the call never gets through");
            let world = Harness::new().await;
            world.store.hold_after(after, last_is_answered);
            let call = tokio::spawn({
                let engine = world.engine.clone();
                async move { engine.pay(with_identifier(1)).await }
            });
            let mut through = false;
            eventually("the cut or the end", async || {
                through = call.is_finished() && world.issuer.cards() == 1 && world.cards()[0].1.details().is_some();
                through || world.store.is_starving() || (!last_is_answered && world.store.committed() > after)
            })
            .await;
            let world = world.crash().await;
            call.abort();
            let paid = loop {
                match pay_or_join(&world, with_identifier(2)).await {
                    Ok(paid) if matches!(paid.outcome, Outcome::Fulfilled { .. }) => break paid,
                    Ok(_) | Err(ClaimError::Unavailable | ClaimError::OutcomeUnknown(_)) => {}
                    Err(error) => panic!("{error:?}"),
                }
            };
            world.wait_until_idle().await;
            assert_eq!(
                (world.cards().len(), world.chain.transfers()),
                (1, 1),
                "cut after {after}"
            );
            assert_eq!(bought_card(&paid), world.cards()[0].0);
            if through {
                break;
            }
            cuts += 1;
        }
        assert!(
            cuts >= 4,
            "claim, settling, fulfilled and issued are batches of their own: {cuts}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn identifier_keeps_its_first_payment_until_that_cannot_settle() {
    // Checks: a payment that was declined or not sent is retried itself; another one under its identifier is rejected.
    // Once the first can't settle, the next payment gets the identifier.
    let world = Harness::new().await;
    world
        .chain
        .set_behavior(&with_identifier(1).authorization, PaymentBehavior::Declined);
    for nonce in [1, 2] {
        let declined = pay_or_join(&world, with_identifier(nonce)).await.unwrap();
        assert!(matches!(declined.outcome, Outcome::Declined(_)), "{declined:?}");
    }
    assert_eq!(world.chain.transfers(), 0);
    world.chain.expire(&with_identifier(1).authorization);
    let id = world.engine.payment_id(&with_identifier(1).authorization);
    eventually("it is permanently declined", async || {
        world.engine.payment(&id).await.unwrap().unwrap().is_final()
    })
    .await;
    assert_eq!(world.engine.payment_by_identifier(&evm(1), NAME).await.unwrap(), None);
    let next = pay_or_join(&world, with_identifier(3)).await.unwrap();
    assert!(next.won);
    // The first payment, presented again, gets the purchase that the identifier refers to now.
    let first = pay_or_join(&world, with_identifier(1)).await.unwrap();
    assert_eq!(bought_card(&first), bought_card(&next));
    world.wait_until_idle().await;
    world.assert_one_card(&with_identifier(3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn payment_without_an_identifier_can_get_one_later() {
    // Checks: a known payment that is presented again with an identifier joins, and owns the identifier from then on.
    let world = Harness::new().await;
    let plain = card_for(evm(1), 1);
    assert!(world.pay(&plain).await.unwrap().won);
    assert!(!pay_or_join(&world, with_identifier(1)).await.unwrap().won);
    assert!(!pay_or_join(&world, with_identifier(2)).await.unwrap().won);
    world.wait_until_idle().await;
    world.assert_one_card(&plain);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn identifier_is_stored_for_a_day() {
    // Checks: to the second; then the same identifier names a new purchase.
    let world = Harness::new().await;
    assert!(pay_or_join(&world, with_identifier(1)).await.unwrap().won);
    world.clock.advance((RECORD_TTL_S - 1) * 1_000);
    assert!(!pay_or_join(&world, with_identifier(2)).await.unwrap().won);
    world.clock.advance(2_000);
    assert!(pay_or_join(&world, with_identifier(3)).await.unwrap().won);
    world.wait_until_idle().await;
    assert_eq!(world.cards().len(), 2);
}
