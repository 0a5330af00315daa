//! Confirmed, final and dropped transfers.

use super::solana::{authorization, valid_draft};
use super::*;

async fn found(house: &Harness, payment: &Authorization) -> Option<Finality> {
    match house.chains.lookup(payment, None).await.unwrap() {
        ChainStatus::Confirmed { finality, .. } => Some(finality),
        _ => None,
    }
}

async fn transaction_status(house: &Harness, payment: &Authorization, transaction: &str) -> ChainTransactionStatus {
    house
        .chains
        .transaction_status(payment, None, transaction)
        .await
        .unwrap()
}

fn settled(outcome: Result<SubmitResult, PortError>) -> (String, Finality) {
    match outcome {
        Ok(SubmitResult::Settled { transaction, finality }) => (transaction, finality),
        other => panic!("not settled: {other:?}"),
    }
}

fn one_of_each(house: &Harness) -> [Authorization; 2] {
    [
        payment(5_000_000, 1),
        authorization(&valid_draft(&house.chains, 5_000_000, "one")),
    ]
}

// Checks: by default a chain's first response is final, and unknown transfers are reported as such.
#[tokio::test]
async fn a_transfer_is_final_at_once() {
    let house = Harness::new();
    for payment in one_of_each(&house) {
        assert_eq!(
            transaction_status(&house, &payment, "0x1").await,
            ChainTransactionStatus::NotFound
        );
        let (transaction, finality) = settled(house.pay(&payment).await);
        assert_eq!(
            (finality, found(&house, &payment).await),
            (Finality::Final, Some(Finality::Final))
        );
        assert_eq!(
            transaction_status(&house, &payment, &transaction).await,
            ChainTransactionStatus::Final
        );
        assert_eq!(
            transaction_status(&house, &payment, "0x1").await,
            ChainTransactionStatus::NotFound,
            "by another transaction"
        );
    }
}

// Checks: a transfer is only confirmed for the configured time, for every caller and however often it is sent. A
// restart changes nothing.
#[tokio::test]
async fn a_transfer_is_seen_before_it_is_final() {
    let house = Harness::new();
    let wait = Duration::from_millis(1_000);
    house.chains.finalize_after(wait);
    for payment in one_of_each(&house) {
        let (transaction, finality) = settled(house.pay(&payment).await);
        assert_eq!(finality, Finality::Confirmed);
        house.clock.advance(999);
        let after = house.restart_after_kill();
        after.chains.finalize_after(wait);
        for house in [&house, &after] {
            assert_eq!(
                settled(house.pay(&payment).await),
                (transaction.clone(), Finality::Confirmed)
            );
            assert_eq!(found(house, &payment).await, Some(Finality::Confirmed));
            assert_eq!(
                transaction_status(house, &payment, &transaction).await,
                ChainTransactionStatus::Confirmed
            );
        }
        house.clock.advance(1);
        for house in [&house, &after] {
            assert_eq!(
                settled(house.pay(&payment).await),
                (transaction.clone(), Finality::Final)
            );
            assert_eq!(found(house, &payment).await, Some(Finality::Final));
            assert_eq!(
                transaction_status(house, &payment, &transaction).await,
                ChainTransactionStatus::Final
            );
        }
    }
}

// case_8: a transfer that a reorg will remove is never reported as final. Afterwards it is reported as dropped from its
// transaction.
#[tokio::test]
async fn case_08_what_will_be_dropped_is_seen_and_then_gone() {
    let house = Harness::new();
    house.fault(ChainFault::Reorg { after_ms: 1_000 });
    let payment = payment(5_000_000, 1);
    let (first, finality) = settled(house.pay(&payment).await);
    assert_eq!(finality, Finality::Confirmed);
    house.clock.advance(999);
    assert_eq!(found(&house, &payment).await, Some(Finality::Confirmed));
    assert_eq!(
        transaction_status(&house, &payment, &first).await,
        ChainTransactionStatus::Confirmed
    );
    house.clock.advance(1);
    assert_eq!(found(&house, &payment).await, None);
    assert_eq!(
        transaction_status(&house, &payment, &first).await,
        ChainTransactionStatus::NotFound
    );
    let (second, finality) = settled(house.pay(&payment).await);
    assert_eq!(finality, Finality::Final, "it is hit once");
    assert_eq!(
        transaction_status(&house, &payment, &first).await,
        ChainTransactionStatus::NotFound
    );
    assert_eq!(
        transaction_status(&house, &payment, &second).await,
        ChainTransactionStatus::Final
    );
}
