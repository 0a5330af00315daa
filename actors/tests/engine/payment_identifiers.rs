//! Payment identifiers: another payment under the same name is no other purchase.

use purser_actors::engine::{ClaimError, PaymentRequest, PaymentResult};
use purser_actors::kernel::idempotency::RECORD_TTL_S;
use purser_actors::payment::Outcome;

use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::ports::PaymentBehavior;
use crate::support::{eventually, in_time};

const NAME: &str = "order-0000000000000001";

/// The first payer's payment with this nonce, under the name.
fn with_identifier(nonce: u8) -> PaymentRequest {
    PaymentRequest {
        identifier: Some(NAME.to_owned()),
        ..card_for(evm(1), nonce)
    }
}

/// Pays, and joins the payment that the name stands for if that is another.
async fn pay_or_join(world: &Harness, mut request: PaymentRequest) -> Result<PaymentResult, ClaimError> {
    loop {
        match world.pay(&request).await {
            Err(ClaimError::IdentifierClaimed(known)) => {
                request.authorization = *known;
                request.identifier = None;
            }
            told => return told,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn payments_at_once_under_one_identifier_are_one() {
    // Aim: of many payments at once one is claimed and the others are told of it; also after a crash. The name is its
    // payer's and its request's alone.
    let world = Harness::new().await;
    let calls: Vec<_> = (1..=8)
        .map(|nonce| {
            let engine = world.engine.clone();
            tokio::spawn(async move { engine.pay(with_identifier(nonce)).await })
        })
        .collect();
    let mut told = Vec::new();
    for call in calls {
        told.push(in_time("a call", call).await.unwrap());
    }
    let winner = told.iter().position(Result::is_ok).expect("one payment is claimed");
    let claimed = with_identifier(u8::try_from(winner).unwrap() + 1);
    for (at, paid) in told.iter().enumerate().filter(|(at, _)| *at != winner) {
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
async fn a_cut_at_any_batch_leaves_one_purchase_under_an_identifier() {
    // Aim: the power is cut before any batch of the call, or after it and before its answer; who then comes with another
    // payment under the same name has one card, paid by one transfer.
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
async fn an_identifier_tries_its_first_payment_until_that_never_can_land() {
    // Aim: a payment that was declined, or could not be sent, is itself tried again and another under its name is not; once
    // it can never land, the next one has the name.
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
    eventually("it is refused for good", async || {
        world.engine.payment(&id).await.unwrap().unwrap().is_final()
    })
    .await;
    assert_eq!(world.engine.payment_by_identifier(&evm(1), NAME).await.unwrap(), None);
    let next = pay_or_join(&world, with_identifier(3)).await.unwrap();
    assert!(next.won);
    // The first one comes again too: it is answered with what the name stands for now.
    let first = pay_or_join(&world, with_identifier(1)).await.unwrap();
    assert_eq!(bought_card(&first), bought_card(&next));
    world.wait_until_idle().await;
    world.assert_one_card(&with_identifier(3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_payment_that_came_without_a_name_may_be_given_one() {
    // Aim: a known payment that comes again under a name is joined, and the name is its own from then on.
    let world = Harness::new().await;
    let plain = card_for(evm(1), 1);
    assert!(world.pay(&plain).await.unwrap().won);
    assert!(!pay_or_join(&world, with_identifier(1)).await.unwrap().won);
    assert!(!pay_or_join(&world, with_identifier(2)).await.unwrap().won);
    world.wait_until_idle().await;
    world.assert_one_card(&plain);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_identifier_is_remembered_for_a_day() {
    // Aim: to the second; then it names a new purchase.
    let world = Harness::new().await;
    assert!(pay_or_join(&world, with_identifier(1)).await.unwrap().won);
    world.clock.advance((RECORD_TTL_S - 1) * 1_000);
    assert!(!pay_or_join(&world, with_identifier(2)).await.unwrap().won);
    world.clock.advance(2_000);
    assert!(pay_or_join(&world, with_identifier(3)).await.unwrap().won);
    world.wait_until_idle().await;
    assert_eq!(world.cards().len(), 2);
}
