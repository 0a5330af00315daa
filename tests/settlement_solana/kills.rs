//! The port is ended at each stage of a payment and opened again on the same store.

use std::sync::Arc;

use purser_actors::port::{ChainStatus, Finality, Settlement as _, SubmitResult};

use crate::harness::{Harness, until};

// Aim: wherever the port ends, the payment lands once: prepared and not sent, sent and dropped by every endpoint, sent and not
// answered, seen and not final. What was not asked to be sent is not sent by the start.
#[tokio::test(flavor = "multi_thread")]
async fn whenever_the_port_ends_the_payment_lands_once() {
    let Some(mut house) = Harness::open(50).await else {
        return;
    };
    let mut all = Vec::new();

    let prepared_only = house.payment(1, "prepared").await;
    let prepared = house.ready(&prepared_only).await;
    house.kill().await;
    assert_eq!(
        house.port.lookup(&prepared_only, Some(&prepared)).await.unwrap(),
        ChainStatus::Pending
    );
    assert_eq!(house.faults.sent.load(std::sync::atomic::Ordering::SeqCst), 0);
    assert_eq!(house.ready(&prepared_only).await, prepared);
    house.port.submit(&prepared_only, &prepared).await.unwrap();
    all.push((prepared_only, prepared));

    let dropped = house.payment(2, "dropped").await;
    let prepared = house.ready(&dropped).await;
    house.faults.drop_transactions(true);
    start_submit(&house, &dropped, &prepared).await;
    house.kill().await;
    house.faults.drop_transactions(false);
    assert_eq!(
        house.port.lookup(&dropped, Some(&prepared)).await.unwrap(),
        ChainStatus::Pending
    );
    assert!(matches!(
        house.port.submit(&dropped, &prepared).await.unwrap(),
        SubmitResult::Settled { .. }
    ));
    all.push((dropped, prepared));

    let sent = house.payment(4, "sent").await;
    let prepared = house.ready(&sent).await;
    start_submit(&house, &sent, &prepared).await;
    house.kill().await;
    // Found without being sent again.
    until("it is found", || async {
        let looked = house.port.lookup(&sent, Some(&prepared)).await.unwrap();
        matches!(looked, ChainStatus::Confirmed { .. }).then_some(())
    })
    .await;
    all.push((sent, prepared));

    let seen = house.payment(8, "seen").await;
    let prepared = house.ready(&seen).await;
    house.port.submit(&seen, &prepared).await.unwrap();
    house.kill().await;
    all.push((seen, prepared));

    for (payment, prepared) in &all {
        house.until_final(payment, &prepared.transaction).await;
    }
    house.kill().await;
    for (payment, prepared) in &all {
        let landed = ChainStatus::Confirmed {
            transaction: prepared.transaction.clone(),
            finality: Finality::Final,
        };
        assert_eq!(house.port.lookup(payment, Some(prepared)).await.unwrap(), landed);
    }
    assert_eq!(house.usdc(&house.treasury().address()).await, Some(15));
    let movements = house.movements(4).await;
    let amounts: Vec<u64> = movements.iter().map(|movement| movement.amount.atomic()).collect();
    assert_eq!(amounts, [1, 2, 4, 8]);
}

/// Submits and gives up the wait once something was sent.
async fn start_submit(
    house: &Harness,
    payment: &purser_actors::port::Authorization,
    prepared: &purser_actors::port::PreparedTransaction,
) {
    let sent = || house.faults.sent.load(std::sync::atomic::Ordering::SeqCst);
    let before = sent();
    let (port, payment, prepared) = (Arc::clone(&house.port), payment.clone(), prepared.clone());
    let submitted = tokio::spawn(async move { port.submit(&payment, &prepared).await });
    until("it is sent", || async { (sent() >= before + 2).then_some(()) }).await;
    submitted.abort();
}
