#![allow(clippy::unwrap_used, reason = "a test")]
use purser_actors::money::Usdc;

use super::*;

fn failed(reason: &str) -> Option<Failure> {
    Some(Failure::Declined(decline(reason, "by the token")))
}

fn verdict(has_code: bool, failure: Option<Failure>) -> Verdict {
    Verdict {
        has_code,
        balance: None,
        failure,
    }
}

// Checks: for each kind of payer (key, contract, contract deployed with the payment) and each response of the token. Is
// a signature not made by the payer's key valid, and is the payment declined before its claim?
#[test]
fn the_result_of_a_check_before_the_claim() {
    let declined = |reason: &str| Some(Acceptance::Declined(decline(reason, "by the token")));
    let other = "invalid_exact_evm_transaction_simulation_failed";
    let signature = "invalid_exact_evm_signature";
    // The token's response; whether a contract's signature is valid; why the payment is declined.
    let table = [
        (None, Some(Acceptance::Accepted), None),
        (Some(Failure::Used), None, None),
        (
            failed(INSUFFICIENT_FUNDS),
            Some(Acceptance::Accepted),
            Some(INSUFFICIENT_FUNDS),
        ),
        (failed(signature), Some(Acceptance::NotAccepted), Some(signature)),
        (failed(other), declined(other), Some(other)),
    ];
    for (failure, of_contract, refused) in table {
        for (has_code, deploys) in [(true, false), (false, true), (true, true)] {
            let found = verdict(has_code, failure.clone());
            assert_eq!(
                acceptance(&found, deploys),
                of_contract,
                "{failure:?} {has_code} {deploys}"
            );
        }
        let plain = verdict(false, failure.clone());
        assert_eq!(acceptance(&plain, false), Some(Acceptance::NotAContract), "{failure:?}");
        for has_code in [false, true] {
            let refusal = verdict_decline(&verdict(has_code, failure.clone()));
            assert_eq!(refusal.map(|decline| decline.reason.to_string()).as_deref(), refused);
        }
    }
}

fn payment(nonce: u8, value: u64, signature: &[u8]) -> Arc<Payment> {
    Arc::new(Payment {
        from: [1; 20],
        to: [2; 20],
        value: Usdc::from_atomic(value),
        valid_after: 0,
        valid_before: 100,
        nonce: [nonce; 32],
        signature: signature.to_vec(),
    })
}

// Checks: the result of a check is used once, for exactly the same payment, and for a limited time. It is never used
// for another amount or signature with the same nonce, which the chain has not verified.
#[test]
fn a_check_holds_for_the_payment_that_was_checked() {
    let prechecks = Prechecks::default();
    let checked = payment(1, 5, &[7; 80]);
    prechecks.cache(&checked, &verdict(true, None), 0);
    assert!(prechecks.passed(&checked, PASSED_TTL_MS - 1).is_some());
    assert!(prechecks.passed(&checked, PASSED_TTL_MS).is_none());
    for other in [
        payment(1, 500, &[7; 80]),
        payment(1, 5, &[8; 80]),
        payment(2, 5, &[7; 80]),
    ] {
        assert!(prechecks.passed(&other, 0).is_none(), "{other:?}");
    }
    let good = PassedCheck {
        has_code: true,
        balance: None,
    };
    assert_eq!(prechecks.take_passed(&checked, 1), Some((good, 0)));
    assert_eq!(prechecks.take_passed(&checked, 1), None, "used once");
    prechecks.cache(&checked, &verdict(true, None), 0);
    assert_eq!(prechecks.take_passed(&payment(1, 500, &[7; 80]), 1), None);
}

// Checks: a payment's low balance and an address without code are cached for a limited time. The cache does not decline
// another payment of the payer, which may already be on the chain. An address with code is not cached.
#[test]
fn payers_are_cached_for_a_limited_time() {
    let prechecks = Prechecks::default();
    let payer = Address::repeat_byte(1);
    let short = payment(1, 5, &[7; 65]);
    prechecks.cache(&short, &verdict(true, failed(INSUFFICIENT_FUNDS)), 0);
    assert_eq!(prechecks.plain.get(&payer, 0), None);
    assert!(prechecks.is_insufficient(&short, CACHE_TTL_MS - 1));
    assert!(!prechecks.is_insufficient(&short, CACHE_TTL_MS));
    assert!(!prechecks.is_insufficient(&payment(2, 5, &[7; 65]), 0));
    assert!(!prechecks.is_insufficient(&payment(1, 6, &[7; 65]), 0));
    prechecks.cache(&short, &verdict(false, Some(Failure::Used)), 0);
    assert!(prechecks.plain.get(&payer, CACHE_TTL_MS - 1).is_some());
    assert!(prechecks.plain.get(&payer, CACHE_TTL_MS).is_none());
}
