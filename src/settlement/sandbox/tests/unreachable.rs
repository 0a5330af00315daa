//! Chains that do not respond.

use super::*;

// case_11: an unreachable chain is a temporary error of every call and changes nothing.
#[tokio::test]
async fn case_11_an_unreachable_chain_charges_nothing() {
    let house = Harness::new();
    let authorization = payment(5_000_000, 1);
    let prepared = ready(house.chains.prepare(&authorization).await);
    house.fault(ChainFault::Unreachable);
    assert_eq!(
        house.chains.prepare(&authorization).await.unwrap_err().kind,
        ErrorKind::Temporary
    );
    house.fault(ChainFault::Unreachable);
    assert_eq!(
        house.chains.submit(&authorization, &prepared).await.unwrap_err().kind,
        ErrorKind::Temporary
    );
    house.fault(ChainFault::Unreachable);
    assert_eq!(
        house.chains.lookup(&authorization, None).await.unwrap_err().kind,
        ErrorKind::Temporary
    );
    assert_eq!(house.received().await, 0);
}

// case_11: a chain that does not respond has not lost anything.
#[tokio::test]
async fn case_11_an_unreachable_chain_says_nothing_of_a_transfer() {
    let house = Harness::new();
    let payment = payment(5_000_000, 1);
    let transaction = settled(house.pay(&payment).await);
    house.fault(ChainFault::Unreachable);
    let silent = house.chains.transaction_status(&payment, None, &transaction).await;
    assert_eq!(silent.unwrap_err().kind, ErrorKind::Temporary);
    assert_eq!(
        house
            .chains
            .transaction_status(&payment, None, &transaction)
            .await
            .unwrap(),
        ChainTransactionStatus::Final
    );
}
