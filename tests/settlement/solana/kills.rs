//! The port is ended at each stage of a payment and opened again on the same store.

use std::sync::Arc;

use purser_actors::port::{ChainStatus, Finality, Settlement as _, SubmitResult};

use crate::solana::harness::{Harness, until};

// Checks: the port is killed with a payment prepared, dropped by every endpoint, submitted without a response, or
// confirmed. The payment settles once. A start sends nothing that was never submitted.
#[tokio::test(flavor = "multi_thread")]
async fn payment_settles_once_whenever_the_port_is_killed() {
    let Some(mut harness) = Harness::open(50).await else {
        return;
    };
    let mut all = Vec::new();

    let prepared_only = harness.payment(1, "prepared").await;
    let prepared = harness.ready(&prepared_only).await;
    harness.kill().await;
    assert_eq!(
        harness.port.lookup(&prepared_only, Some(&prepared)).await.unwrap(),
        ChainStatus::Pending
    );
    assert_eq!(harness.faults.sent.load(std::sync::atomic::Ordering::SeqCst), 0);
    assert_eq!(harness.ready(&prepared_only).await, prepared);
    harness.port.submit(&prepared_only, &prepared).await.unwrap();
    all.push((prepared_only, prepared));

    let dropped = harness.payment(2, "dropped").await;
    let prepared = harness.ready(&dropped).await;
    harness.faults.drop_transactions(true);
    start_submit(&harness, &dropped, &prepared).await;
    harness.kill().await;
    harness.faults.drop_transactions(false);
    assert_eq!(
        harness.port.lookup(&dropped, Some(&prepared)).await.unwrap(),
        ChainStatus::Pending
    );
    assert!(matches!(
        harness.port.submit(&dropped, &prepared).await.unwrap(),
        SubmitResult::Settled { .. }
    ));
    all.push((dropped, prepared));

    let sent = harness.payment(4, "sent").await;
    let prepared = harness.ready(&sent).await;
    start_submit(&harness, &sent, &prepared).await;
    harness.kill().await;
    // Found without being sent again.
    until("it is found", || async {
        let status = harness.port.lookup(&sent, Some(&prepared)).await.unwrap();
        matches!(status, ChainStatus::Confirmed { .. }).then_some(())
    })
    .await;
    all.push((sent, prepared));

    let seen = harness.payment(8, "seen").await;
    let prepared = harness.ready(&seen).await;
    harness.port.submit(&seen, &prepared).await.unwrap();
    harness.kill().await;
    all.push((seen, prepared));

    for (payment, prepared) in &all {
        harness.until_final(payment, &prepared.transaction).await;
    }
    harness.kill().await;
    for (payment, prepared) in &all {
        let landed = ChainStatus::Confirmed {
            transaction: prepared.transaction.clone(),
            finality: Finality::Final,
        };
        assert_eq!(harness.port.lookup(payment, Some(prepared)).await.unwrap(), landed);
    }
    assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(15));
    let movements = harness.movements(4).await;
    let amounts: Vec<u64> = movements.iter().map(|movement| movement.amount.atomic()).collect();
    assert_eq!(amounts, [1, 2, 4, 8]);
}

/// Submits and gives up the wait once something was sent.
async fn start_submit(
    harness: &Harness,
    payment: &purser_actors::port::Authorization,
    prepared: &purser_actors::port::PreparedTransaction,
) {
    let sent = || harness.faults.sent.load(std::sync::atomic::Ordering::SeqCst);
    let before = sent();
    let (port, payment, prepared) = (Arc::clone(&harness.port), payment.clone(), prepared.clone());
    let submitted = tokio::spawn(async move { port.submit(&payment, &prepared).await });
    until("it is sent", || async { (sent() >= before + 2).then_some(()) }).await;
    submitted.abort();
}
