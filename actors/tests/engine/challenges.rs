//! One payment per challenge.

use purser_actors::engine::{ClaimError, PaymentRequest};
use purser_actors::money::Cents;
use purser_actors::port::Authorization;

use crate::support::harness::{Harness, card_for, evm};
use crate::support::in_time;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_17_challenge_is_answered_by_one_payment() {
    // Checks: of concurrent payments for one challenge one is claimed and the others claim nothing, also after a
    // restart. The same payment joins; with another signature it does not. A declined one leaves the challenge to the
    // next payment.
    let world = Harness::new().await;
    let challenge = Some(([7; 16], u64::MAX));
    let answer = |payer: u8| PaymentRequest {
        challenge,
        ..card_for(evm(payer), payer)
    };
    let too_dear = PaymentRequest {
        worth: Cents::new(2_000_001),
        ..answer(9)
    };
    let refused = world.pay(&too_dear).await;
    assert!(matches!(refused, Err(ClaimError::DailyAmountCap { .. })), "{refused:?}");

    let calls: Vec<_> = (1..=8)
        .map(|payer| {
            let (engine, request) = (world.engine.clone(), answer(payer));
            tokio::spawn(async move { engine.pay(request).await })
        })
        .collect();
    let mut results = Vec::new();
    for call in calls {
        results.push(in_time("a call", call).await.unwrap());
    }
    let winner = results.iter().position(Result::is_ok).expect("one payment is claimed");
    for (at, paid) in results.iter().enumerate().filter(|(at, _)| *at != winner) {
        assert_eq!(
            paid.clone().map(|paid| paid.won),
            Err(ClaimError::ChallengeUsed),
            "{at}"
        );
    }
    let winning = answer(u8::try_from(winner).unwrap() + 1);
    world.wait_until_idle().await;
    world.assert_one_card(&winning);
    let world = world.crash().await;
    assert!(!world.pay(&winning).await.unwrap().won);
    let mut otherwise = winning.clone();
    if let Authorization::Evm(evm) = &mut otherwise.authorization {
        evm.signature = [2; 65].into();
    }
    for other in [otherwise, answer(10)] {
        assert_eq!(
            world.pay(&other).await.map(|paid| paid.won),
            Err(ClaimError::ChallengeUsed)
        );
    }
    // x402 has no challenges; it is the same payment there too.
    let plain = PaymentRequest {
        challenge: None,
        ..winning.clone()
    };
    assert!(!world.pay(&plain).await.unwrap().won);
    world.assert_one_card(&winning);
}
