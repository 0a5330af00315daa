//! Payments that come in.

use purser::settlement::solana::{Depth, FinalityByAmount};
use purser_actors::id::Network;
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, ChainStatus, ChainTransactionStatus, ErrorKind, Finality, Preparation, Settlement as _, SubmitResult,
};
use purser_chains::solana::address::USDC_MAINNET;
use purser_chains::solana::status::Commitment;
use purser_chains::solana::token::TransferChecked;
use purser_chains::solana::transaction::co_sign;

use crate::solana::harness::{Harness, until, wallet};

fn reason(preparation: Preparation) -> String {
    match preparation {
        Preparation::Declined(decline) => decline.reason.to_string(),
        Preparation::Ready(prepared) => panic!("{prepared:?}"),
    }
}

// Checks: a submitted payment is confirmed first and final later. The treasury has the amount, the list has its
// message, and the fee payer has paid only the fee.
#[tokio::test(flavor = "multi_thread")]
async fn payment_is_confirmed_and_then_final() {
    let Some(harness) = Harness::open(1).await else { return };
    let before = harness.lamports(&harness.fee_payer().address()).await;
    let payment = harness.payment(1_500_000, "payment").await;
    assert_eq!(harness.port.lookup(&payment, None).await.unwrap(), ChainStatus::Pending);
    let prepared = harness.ready(&payment).await;
    assert_eq!(
        harness.ready(&payment).await,
        prepared,
        "preparing again gives the same bytes"
    );
    assert_eq!(
        harness.usdc(&harness.treasury().address()).await,
        Some(0),
        "nothing is sent yet"
    );
    let SubmitResult::Settled { transaction, finality } = harness.port.submit(&payment, &prepared).await.unwrap()
    else {
        panic!("settled")
    };
    assert_eq!((&transaction, finality), (&prepared.transaction, Finality::Confirmed));
    harness.until_final(&payment, &transaction).await;
    let movements = harness.movements(1).await;
    let [movement] = movements.as_slice() else {
        panic!("{movements:?}")
    };
    assert_eq!(
        (movement.incoming, movement.amount),
        (true, Usdc::from_atomic(1_500_000))
    );
    assert_eq!(
        (movement.counterparty, movement.fingerprint),
        (wallet(&harness.client()), payment.fingerprint())
    );
    let again = harness.port.submit(&payment, &prepared).await.unwrap();
    assert_eq!(
        again,
        SubmitResult::Settled {
            transaction,
            finality: Finality::Final
        }
    );
    let holds = harness.port.final_treasury_balance(Network::Solana).await.unwrap();
    assert_eq!(holds, Usdc::from_atomic(1_500_000));
    assert_eq!(harness.lamports(&harness.fee_payer().address()).await, before - 13_000);
    until("nothing is in flight", || async {
        (harness.port.status().in_flight == 0).then_some(())
    })
    .await;
    assert!(
        harness
            .port
            .status()
            .fee_payers
            .iter()
            .all(|payer| payer.reserved == 0 && payer.spent == 13_000)
    );
}

// Checks: a payment that would fail on chain is declined with its reason before any fee. One that names another fee
// payer is permanently rejected.
#[tokio::test(flavor = "multi_thread")]
async fn case_05_failing_payment_is_declined_without_a_fee() {
    let Some(harness) = Harness::open(2).await else { return };
    let fee = harness.fee_payer().address();
    let before = harness.lamports(&fee).await;
    let empty = harness.another(20);
    harness.chain.set_usdc(&empty.address(), 4, false).await;
    let poor = harness.payment_by(&empty, &fee, 5, "poor").await;
    assert_eq!(reason(harness.port.prepare(&poor).await.unwrap()), "insufficient_funds");
    let none = harness.payment_by(&harness.another(21), &fee, 5, "no account").await;
    let failed = "invalid_exact_svm_transaction_simulation_failed";
    assert_eq!(reason(harness.port.prepare(&none).await.unwrap()), failed);
    let client = harness.client();
    // 60,000 units at 0.4 lamports: 24,000 lamports.
    let transfers = vec![harness.transfer(&client, 5)];
    let dear = harness.signed(&client, &fee, (5, 400_000), transfers, "dear").await;
    assert_eq!(reason(harness.port.prepare(&dear).await.unwrap()), failed);
    let foreign = harness
        .payment_by(&client, &harness.another(22).address(), 5, "foreign")
        .await;
    assert_eq!(
        harness.port.prepare(&foreign).await.unwrap_err().kind,
        ErrorKind::Permanent
    );
    let mut forged = harness.payment(5, "forged").await;
    if let Authorization::Solana(transfer) = &mut forged {
        transfer.transaction[70] ^= 1;
    }
    assert_eq!(
        harness.port.prepare(&forged).await.unwrap_err().kind,
        ErrorKind::Permanent
    );
    // It may become good: once the wallet has the money, the same payment is taken.
    harness.chain.set_usdc(&empty.address(), 5, false).await;
    harness.pay(&poor).await;
    assert_eq!(
        harness.lamports(&fee).await,
        before - 13_000,
        "one fee, of the one that was sent"
    );
}

// Checks (case 88): a payment of an empty wallet is declined before its claim, and settles when the wallet has the
// money; preparing uses the simulation before the claim; a payment that is on the chain is not declined.
#[tokio::test(flavor = "multi_thread")]
async fn case_88_empty_wallet_is_declined_before_the_claim() {
    let Some(harness) = Harness::open(16).await else { return };
    let fee = harness.fee_payer().address();
    let before = harness.lamports(&fee).await;
    let refused = async |payment: &Authorization| {
        let decline = harness.port.precheck(payment).await;
        decline.map(|decline| decline.reason.to_string())
    };
    let empty = harness.another(160);
    harness.chain.set_usdc(&empty.address(), 4, false).await;
    let poor = harness.payment_by(&empty, &fee, 5, "poor").await;
    assert_eq!(refused(&poor).await.as_deref(), Some("insufficient_funds"));
    // Once more if the simulation was too old by the time of the second.
    until("it is prepared as it was simulated", || async {
        harness.chain.set_usdc(&empty.address(), 5, false).await;
        let simulated = harness.port.precheck(&poor).await.is_none();
        harness.chain.set_usdc(&empty.address(), 0, false).await;
        let prepared = harness.port.prepare(&poor).await.unwrap();
        (simulated && matches!(prepared, Preparation::Ready(_))).then_some(())
    })
    .await;
    harness.chain.set_usdc(&empty.address(), 5, false).await;
    harness.pay(&poor).await;
    assert_eq!(refused(&poor).await, None, "on the chain");
    assert_eq!(harness.lamports(&fee).await, before - 13_000);
}

// Checks: a co-signature never lets a payment move the fee payer's own money.
#[tokio::test(flavor = "multi_thread")]
async fn fee_payer_authorizes_only_the_fee() {
    let Some(harness) = Harness::open(3).await else { return };
    let (fee, client) = (harness.fee_payer(), harness.client());
    harness.chain.set_usdc(&fee.address(), 50, false).await;
    let steal = TransferChecked::between(&fee.address(), &client.address(), &USDC_MAINNET, 50).unwrap();
    let transfers = vec![harness.transfer(&client, 5), steal.instruction()];
    let payment = harness
        .signed(&client, &fee.address(), (5, 1), transfers, "theft")
        .await;
    assert_eq!(
        harness.port.prepare(&payment).await.unwrap_err().kind,
        ErrorKind::Permanent
    );
    assert_eq!(harness.usdc(&fee.address()).await, Some(50));
}

// Checks: a wallet is emptied while its payment is pending. The payment fails on chain, costs its fee, is declined with
// a reason and proven impossible. A payer that costs too much in fees is declined before submission, after a restart
// too.
#[tokio::test(flavor = "multi_thread")]
async fn case_88_payment_that_fails_on_chain_blocks_its_payer_temporarily() {
    let change = |settings: &mut purser::settlement::solana::SolanaSettings| settings.loss_limits.lamports = 12_000;
    let Some(mut harness) = Harness::open_with(4, change).await else {
        return;
    };
    let payments = [
        harness.payment(60_000_000, "first").await,
        harness.payment(40_000_000, "second").await,
    ];
    let prepared = [harness.ready(&payments[0]).await, harness.ready(&payments[1]).await];
    harness.port.submit(&payments[0], &prepared[0]).await.unwrap();
    harness.chain.set_usdc(&harness.client().address(), 0, false).await;
    let SubmitResult::Declined(decline) = harness.port.submit(&payments[1], &prepared[1]).await.unwrap() else {
        panic!("declined")
    };
    assert_eq!(decline.reason, "insufficient_funds");
    until("the failure is proven", || async {
        let status = harness.port.lookup(&payments[1], Some(&prepared[1])).await.unwrap();
        (status == ChainStatus::Impossible).then_some(())
    })
    .await;
    assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(60_000_000));
    assert_eq!(harness.port.status().fee_payers[0].lost, 13_000);
    harness.chain.set_usdc(&harness.client().address(), 1, false).await;
    let third = harness.payment(1, "third").await;
    let Preparation::Declined(decline) = harness.port.prepare(&third).await.unwrap() else {
        panic!("declined")
    };
    assert!(decline.message.contains("failed too often"), "{decline:?}");
    harness.kill().await;
    let Preparation::Declined(decline) = harness.port.prepare(&harness.payment(1, "fourth").await).await.unwrap()
    else {
        panic!("declined")
    };
    assert!(decline.message.contains("failed too often"), "{decline:?}");
}

// Checks: if the endpoints accept and drop a transaction, the same bytes are sent to both again until it settles, once.
#[tokio::test(flavor = "multi_thread")]
async fn case_07_transaction_dropped_by_endpoints_is_sent_again() {
    let Some(harness) = Harness::open(5).await else { return };
    harness.faults.drop_transactions(true);
    let payment = harness.payment(7, "dropped").await;
    let prepared = harness.ready(&payment).await;
    let submitted = harness.port.submit(&payment, &prepared);
    let heal = async {
        until("four were dropped", || async {
            let swallowed = harness.faults.dropped.load(std::sync::atomic::Ordering::SeqCst);
            (swallowed >= 4).then_some(())
        })
        .await;
        harness.faults.drop_transactions(false);
    };
    let (submitted, ()) = tokio::join!(submitted, heal);
    assert!(matches!(submitted.unwrap(), SubmitResult::Settled { .. }));
    harness.until_final(&payment, &prepared.transaction).await;
    assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(7));
    assert_eq!(harness.movements(1).await.len(), 1);
}

// Checks: a payment with an expired blockhash stays unknown while only one endpoint reports the expiry. It is
// impossible once two do.
#[tokio::test(flavor = "multi_thread")]
async fn case_86_expiry_proof_needs_two_endpoints() {
    let Some(harness) = Harness::open(6).await else { return };
    harness.faults.drop_transactions(true);
    let payment = harness.payment(7, "lost").await;
    let prepared = harness.ready(&payment).await;
    let port = std::sync::Arc::clone(&harness.port);
    let (copy, bytes) = (payment.clone(), prepared.clone());
    let submitted = tokio::spawn(async move { port.submit(&copy, &bytes).await });
    harness.faults.kill("localhost");
    until("its blockhash has expired", || async {
        (harness.port.status().unproven == 1).then_some(())
    })
    .await;
    // Long enough for several searches.
    let slot = harness.node().position(Commitment::Confirmed).await.unwrap().slot;
    until("one endpoint was asked again and again", || async {
        let now = harness.node().position(Commitment::Confirmed).await.unwrap().slot;
        (now > slot + 40).then_some(())
    })
    .await;
    assert_eq!(
        harness.port.lookup(&payment, Some(&prepared)).await.unwrap(),
        ChainStatus::Pending
    );
    assert!(!submitted.is_finished());
    harness.faults.revive();
    let ended = submitted.await.unwrap().unwrap_err();
    assert_eq!(ended.kind, ErrorKind::Permanent);
    assert_eq!(
        harness.port.lookup(&payment, Some(&prepared)).await.unwrap(),
        ChainStatus::Impossible
    );
    assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(0));
    assert_eq!(harness.port.status().fee_payers[0].spent, 0);
}

// Checks: a setting gives the finality depth by amount, and two endpoints must report that depth.
#[tokio::test(flavor = "multi_thread")]
async fn small_payments_are_final_when_confirmed() {
    let change = |settings: &mut purser::settlement::solana::SolanaSettings| {
        let deep = Depth::Slots(1_000_000);
        settings.finality = FinalityByAmount(vec![
            (Usdc::from_atomic(10), Depth::Confirmed),
            (Usdc::from_atomic(11), deep),
        ]);
    };
    let Some(harness) = Harness::open_with(7, change).await else {
        return;
    };
    // As if no block were final yet: only the depth of the amount counts.
    for host in ["127.0.0.1", "localhost"] {
        harness.faults.falsify(host, not_final_yet);
    }
    for amount in [10, 11] {
        let payment = harness.payment(amount, "small").await;
        let prepared = harness.ready(&payment).await;
        let submitted = harness.port.submit(&payment, &prepared).await.unwrap();
        assert!(matches!(submitted, SubmitResult::Settled { .. }), "{submitted:?}");
        let landed = |finality| ChainStatus::Confirmed {
            transaction: prepared.transaction.clone(),
            finality,
        };
        if amount == 10 {
            until("two endpoints show it", || async {
                let status = harness.port.lookup(&payment, None).await.unwrap();
                (status == landed(Finality::Final)).then_some(())
            })
            .await;
        }
        let slot = harness.node().position(Commitment::Confirmed).await.unwrap().slot;
        until("the chain goes on", || async {
            let now = harness.node().position(Commitment::Confirmed).await.unwrap().slot;
            (now > slot + 5).then_some(())
        })
        .await;
        let finality = if amount == 10 {
            Finality::Final
        } else {
            Finality::Confirmed
        };
        assert_eq!(harness.port.lookup(&payment, None).await.unwrap(), landed(finality));
    }
}

/// An endpoint that has no later block as final than it had in the beginning.
fn not_final_yet(request: &serde_json::Value, result: &mut serde_json::Value) {
    let level = |status: &mut serde_json::Value| {
        if status["confirmationStatus"] == "finalized" {
            status["confirmationStatus"] = "confirmed".into();
        }
    };
    match request["method"].as_str().unwrap() {
        "getSignatureStatuses" => result["value"].as_array_mut().unwrap().iter_mut().for_each(level),
        "getSignaturesForAddress" => result.as_array_mut().unwrap().iter_mut().for_each(level),
        _ => {}
    }
}

// Checks: a payment to another server, with another fee payer, is found by its message regardless of the submitter.
// Until then it is pending.
#[tokio::test(flavor = "multi_thread")]
async fn case_10_payment_submitted_by_another_server_is_found_by_message() {
    let Some(harness) = Harness::open(8).await else { return };
    let seller = harness.another(30);
    harness.chain.set_lamports(&seller.address(), 1_000_000_000).await;
    let payment = harness
        .payment_by(&harness.client(), &seller.address(), 9, "another server")
        .await;
    assert_eq!(harness.port.lookup(&payment, None).await.unwrap(), ChainStatus::Pending);
    let Authorization::Solana(transfer) = &payment else {
        panic!("solana")
    };
    let signed = co_sign(&transfer.transaction, &seller).unwrap();
    harness.node().send_each(&signed.bytes).await;
    let transaction = until("it is found", || async {
        match harness.port.lookup(&payment, None).await.unwrap() {
            ChainStatus::Confirmed { transaction, .. } => Some(transaction),
            ChainStatus::Pending => None,
            ChainStatus::Impossible => panic!("impossible"),
        }
    })
    .await;
    let id = purser_chains::solana::address::base58(&signed.id);
    assert_eq!(transaction, id);
    let status = harness.port.transaction_status(&payment, None, &id).await.unwrap();
    assert_ne!(status, ChainTransactionStatus::NotFound);
}
