//! Checks before a claim.

use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, Settlement as _};

use super::{Harness, declined, payment, settled};

// Checks: after its first decline the chain knows that a wallet's balance is too low. A payment that is on the chain,
// or that the balance covers, is not declined. The wallet can pay again once it has the funds.
#[tokio::test]
async fn case_88_a_wallet_is_known_to_be_empty_after_one_decline() {
    let harness = Harness::new();
    let refused = async |payment: &Authorization| {
        let decline = harness.chains.precheck(payment).await;
        decline.map(|decline| decline.reason.to_string())
    };
    let landed = payment(9_999_000_000, 1);
    settled(harness.pay(&landed).await);
    let (short, next) = (payment(2_000_000, 2), payment(2_000_000, 3));
    assert_eq!(refused(&short).await, None, "not known yet");
    assert_eq!(declined(harness.pay(&short).await), "insufficient_funds");
    for payment in [&short, &next] {
        assert_eq!(refused(payment).await.as_deref(), Some("insufficient_funds"));
    }
    assert_eq!(refused(&landed).await, None, "on the chain");
    assert_eq!(refused(&payment(1_000_000, 4)).await, None, "the balance covers it");

    assert_eq!(declined(harness.pay(&short).await), "insufficient_funds");
    assert!(refused(&next).await.is_some());
    let funded = harness.chains.fund(next.payer(), Usdc::from_atomic(3_000_000)).await;
    assert!(funded.unwrap().is_ok());
    assert_eq!(refused(&next).await, None);
    settled(harness.pay(&next).await);
}
