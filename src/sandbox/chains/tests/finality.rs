//! Confirmed, final and dropped transfers.

use super::solana::{authorization, valid_draft};
use super::*;

async fn found(harness: &Harness, payment: &Authorization) -> Option<Finality> {
    match harness.chains.lookup(payment, None).await.unwrap() {
        ChainStatus::Confirmed { finality, .. } => Some(finality),
        _ => None,
    }
}

async fn transaction_status(harness: &Harness, payment: &Authorization, transaction: &str) -> ChainTransactionStatus {
    harness
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

fn one_of_each(harness: &Harness) -> [Authorization; 2] {
    [
        payment(5_000_000, 1),
        authorization(&valid_draft(&harness.chains, 5_000_000, "one")),
    ]
}

// Checks: by default a chain's first response is final, and unknown transfers are reported as such.
#[tokio::test]
async fn a_transfer_is_final_at_once() {
    let harness = Harness::new();
    for payment in one_of_each(&harness) {
        assert_eq!(
            transaction_status(&harness, &payment, "0x1").await,
            ChainTransactionStatus::NotFound
        );
        let (transaction, finality) = settled(harness.pay(&payment).await);
        assert_eq!(
            (finality, found(&harness, &payment).await),
            (Finality::Final, Some(Finality::Final))
        );
        assert_eq!(
            transaction_status(&harness, &payment, &transaction).await,
            ChainTransactionStatus::Final
        );
        assert_eq!(
            transaction_status(&harness, &payment, "0x1").await,
            ChainTransactionStatus::NotFound,
            "by another transaction"
        );
    }
}

// Checks: a transfer is only confirmed for the configured time, for every caller and however often it is sent. A
// restart changes nothing.
#[tokio::test]
async fn a_transfer_is_seen_before_it_is_final() {
    let harness = Harness::new();
    let wait = Duration::from_millis(1_000);
    harness.chains.finalize_after(wait);
    for payment in one_of_each(&harness) {
        let (transaction, finality) = settled(harness.pay(&payment).await);
        assert_eq!(finality, Finality::Confirmed);
        harness.clock.advance(999);
        let after = harness.restart_after_kill();
        after.chains.finalize_after(wait);
        for harness in [&harness, &after] {
            assert_eq!(
                settled(harness.pay(&payment).await),
                (transaction.clone(), Finality::Confirmed)
            );
            assert_eq!(found(harness, &payment).await, Some(Finality::Confirmed));
            assert_eq!(
                transaction_status(harness, &payment, &transaction).await,
                ChainTransactionStatus::Confirmed
            );
        }
        harness.clock.advance(1);
        for harness in [&harness, &after] {
            assert_eq!(
                settled(harness.pay(&payment).await),
                (transaction.clone(), Finality::Final)
            );
            assert_eq!(found(harness, &payment).await, Some(Finality::Final));
            assert_eq!(
                transaction_status(harness, &payment, &transaction).await,
                ChainTransactionStatus::Final
            );
        }
    }
}

// case_8: a transfer that a reorg will remove is never reported as final. Afterwards it is reported as dropped from its
// transaction.
#[tokio::test]
async fn case_08_dropped_transfer_is_visible_and_then_gone() {
    let harness = Harness::new();
    harness.fault(ChainFault::Reorg { after_ms: 1_000 });
    let payment = payment(5_000_000, 1);
    let (first, finality) = settled(harness.pay(&payment).await);
    assert_eq!(finality, Finality::Confirmed);
    harness.clock.advance(999);
    assert_eq!(found(&harness, &payment).await, Some(Finality::Confirmed));
    assert_eq!(
        transaction_status(&harness, &payment, &first).await,
        ChainTransactionStatus::Confirmed
    );
    harness.clock.advance(1);
    assert_eq!(found(&harness, &payment).await, None);
    assert_eq!(
        transaction_status(&harness, &payment, &first).await,
        ChainTransactionStatus::NotFound
    );
    let (second, finality) = settled(harness.pay(&payment).await);
    assert_eq!(finality, Finality::Final, "it is hit once");
    assert_eq!(
        transaction_status(&harness, &payment, &first).await,
        ChainTransactionStatus::NotFound
    );
    assert_eq!(
        transaction_status(&harness, &payment, &second).await,
        ChainTransactionStatus::Final
    );
}
