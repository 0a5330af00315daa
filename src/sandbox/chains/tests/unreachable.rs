//! Chains that do not respond.

use super::*;

// case_11: an unreachable chain is a temporary error of every call and changes nothing.
#[tokio::test]
async fn case_11_an_unreachable_chain_charges_nothing() {
    let harness = Harness::new();
    let authorization = payment(5_000_000, 1);
    let prepared = ready(harness.chains.prepare(&authorization).await);
    harness.fault(ChainFault::Unreachable);
    assert_eq!(
        harness.chains.prepare(&authorization).await.unwrap_err().kind,
        ErrorKind::Temporary
    );
    harness.fault(ChainFault::Unreachable);
    assert_eq!(
        harness.chains.submit(&authorization, &prepared).await.unwrap_err().kind,
        ErrorKind::Temporary
    );
    harness.fault(ChainFault::Unreachable);
    assert_eq!(
        harness.chains.lookup(&authorization, None).await.unwrap_err().kind,
        ErrorKind::Temporary
    );
    assert_eq!(harness.received().await, 0);
}

// case_11: an unreachable chain prepares nothing before a claim, and that uses up no fault. A reachable one prepares the
// same as after the claim.
#[tokio::test]
async fn case_11_an_unreachable_chain_prepares_no_claim() {
    let harness = Harness::new();
    let authorization = payment(5_000_000, 1);
    harness.fault(ChainFault::Unreachable);
    for _ in 0..2 {
        assert_eq!(harness.chains.prepare_locally(&authorization), None);
    }
    harness.chains.prepare(&authorization).await.unwrap_err();
    let prepared = harness.chains.prepare_locally(&authorization);
    assert_eq!(prepared, Some(ready(harness.chains.prepare(&authorization).await)));
    // Faults of a submission leave the preparation alone.
    harness.fault(ChainFault::LoseResponse);
    assert_eq!(harness.chains.prepare_locally(&authorization), prepared);
}

// case_11: a chain that does not respond has not lost anything.
#[tokio::test]
async fn case_11_unreachable_chain_reveals_nothing_about_a_transfer() {
    let harness = Harness::new();
    let payment = payment(5_000_000, 1);
    let transaction = settled(harness.pay(&payment).await);
    harness.fault(ChainFault::Unreachable);
    let silent = harness.chains.transaction_status(&payment, None, &transaction).await;
    assert_eq!(silent.unwrap_err().kind, ErrorKind::Temporary);
    assert_eq!(
        harness
            .chains
            .transaction_status(&payment, None, &transaction)
            .await
            .unwrap(),
        ChainTransactionStatus::Final
    );
}
