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

use crate::harness::{Harness, until, wallet};

fn reason(preparation: Preparation) -> String {
    match preparation {
        Preparation::Declined(decline) => decline.reason.to_string(),
        Preparation::Ready(prepared) => panic!("{prepared:?}"),
    }
}

// Aim: a payment is on the chain once it is submitted, seen first and final later; the treasury has it, the list names it by its
// message, and the fee payer has paid no more than the fee.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_seen_and_then_final() {
    let Some(house) = Harness::open(1).await else { return };
    let before = house.lamports(&house.fee_payer().address()).await;
    let payment = house.payment(1_500_000, "payment").await;
    assert_eq!(house.port.lookup(&payment, None).await.unwrap(), ChainStatus::Pending);
    let prepared = house.ready(&payment).await;
    assert_eq!(
        house.ready(&payment).await,
        prepared,
        "preparing again gives the same bytes"
    );
    assert_eq!(
        house.usdc(&house.treasury().address()).await,
        Some(0),
        "nothing is sent yet"
    );
    let SubmitResult::Settled { transaction, finality } = house.port.submit(&payment, &prepared).await.unwrap() else {
        panic!("settled")
    };
    assert_eq!((&transaction, finality), (&prepared.transaction, Finality::Confirmed));
    house.until_final(&payment, &transaction).await;
    let movements = house.movements(1).await;
    let [movement] = movements.as_slice() else {
        panic!("{movements:?}")
    };
    assert_eq!(
        (movement.incoming, movement.amount),
        (true, Usdc::from_atomic(1_500_000))
    );
    assert_eq!(
        (movement.counterparty, movement.fingerprint),
        (wallet(&house.client()), payment.fingerprint())
    );
    let again = house.port.submit(&payment, &prepared).await.unwrap();
    assert_eq!(
        again,
        SubmitResult::Settled {
            transaction,
            finality: Finality::Final
        }
    );
    let holds = house.port.final_treasury_balance(Network::Solana).await.unwrap();
    assert_eq!(holds, Usdc::from_atomic(1_500_000));
    assert_eq!(house.lamports(&house.fee_payer().address()).await, before - 13_000);
    until("nothing is in flight", || async {
        (house.port.status().in_flight == 0).then_some(())
    })
    .await;
    assert!(
        house
            .port
            .status()
            .fee_payers
            .iter()
            .all(|payer| payer.reserved == 0 && payer.spent == 13_000)
    );
}

// Aim: what the chain would refuse is declined with its reason before any fee; what is not ours to pay for is refused for good.
#[tokio::test(flavor = "multi_thread")]
async fn case_05_what_would_fail_is_declined_without_a_fee() {
    let Some(house) = Harness::open(2).await else { return };
    let fee = house.fee_payer().address();
    let before = house.lamports(&fee).await;
    let empty = house.another(20);
    house.chain.set_usdc(&empty.address(), 4, false).await;
    let poor = house.payment_by(&empty, &fee, 5, "poor").await;
    assert_eq!(reason(house.port.prepare(&poor).await.unwrap()), "insufficient_funds");
    let none = house.payment_by(&house.another(21), &fee, 5, "no account").await;
    let failed = "invalid_exact_svm_transaction_simulation_failed";
    assert_eq!(reason(house.port.prepare(&none).await.unwrap()), failed);
    let client = house.client();
    // 60,000 units at 0.4 lamports: 24,000 lamports.
    let transfers = vec![house.transfer(&client, 5)];
    let dear = house.signed(&client, &fee, (5, 400_000), transfers, "dear").await;
    assert_eq!(reason(house.port.prepare(&dear).await.unwrap()), failed);
    let foreign = house
        .payment_by(&client, &house.another(22).address(), 5, "foreign")
        .await;
    assert_eq!(
        house.port.prepare(&foreign).await.unwrap_err().kind,
        ErrorKind::Permanent
    );
    let mut forged = house.payment(5, "forged").await;
    if let Authorization::Solana(transfer) = &mut forged {
        transfer.transaction[70] ^= 1;
    }
    assert_eq!(
        house.port.prepare(&forged).await.unwrap_err().kind,
        ErrorKind::Permanent
    );
    // It may become good: once the wallet has the money, the same payment is taken.
    house.chain.set_usdc(&empty.address(), 5, false).await;
    house.pay(&poor).await;
    assert_eq!(
        house.lamports(&fee).await,
        before - 13_000,
        "one fee, of the one that was sent"
    );
}

// Checks (case 88): a payment of an empty wallet is declined before its claim, and settles when the wallet has the money; preparing uses
// the simulation before the claim; a payment that is on the chain is not declined.
#[tokio::test(flavor = "multi_thread")]
async fn case_88_an_empty_wallet_is_declined_before_the_claim() {
    let Some(house) = Harness::open(16).await else { return };
    let fee = house.fee_payer().address();
    let before = house.lamports(&fee).await;
    let refused = async |payment: &Authorization| {
        let decline = house.port.precheck(payment).await;
        decline.map(|decline| decline.reason.to_string())
    };
    let empty = house.another(160);
    house.chain.set_usdc(&empty.address(), 4, false).await;
    let poor = house.payment_by(&empty, &fee, 5, "poor").await;
    assert_eq!(refused(&poor).await.as_deref(), Some("insufficient_funds"));
    // Once more if the simulation was too old by the time of the second.
    until("it is prepared as it was simulated", || async {
        house.chain.set_usdc(&empty.address(), 5, false).await;
        let simulated = house.port.precheck(&poor).await.is_none();
        house.chain.set_usdc(&empty.address(), 0, false).await;
        let prepared = house.port.prepare(&poor).await.unwrap();
        (simulated && matches!(prepared, Preparation::Ready(_))).then_some(())
    })
    .await;
    house.chain.set_usdc(&empty.address(), 5, false).await;
    house.pay(&poor).await;
    assert_eq!(refused(&poor).await, None, "on the chain");
    assert_eq!(house.lamports(&fee).await, before - 13_000);
}

// Aim: a fee payer is never made to move its own money by what it co-signs.
#[tokio::test(flavor = "multi_thread")]
async fn the_fee_payer_authorises_nothing_but_the_fee() {
    let Some(house) = Harness::open(3).await else { return };
    let (fee, client) = (house.fee_payer(), house.client());
    house.chain.set_usdc(&fee.address(), 50, false).await;
    let steal = TransferChecked::between(&fee.address(), &client.address(), &USDC_MAINNET, 50).unwrap();
    let transfers = vec![house.transfer(&client, 5), steal.instruction()];
    let payment = house.signed(&client, &fee.address(), (5, 1), transfers, "theft").await;
    assert_eq!(
        house.port.prepare(&payment).await.unwrap_err().kind,
        ErrorKind::Permanent
    );
    assert_eq!(house.usdc(&fee.address()).await, Some(50));
}

// Aim: a wallet that is emptied while its payment is under way: that fails on the chain, costs its fee, is declined with its reason, and
// is proven impossible; who costs too much in fees is declined before anything is sent, after a restart too.
#[tokio::test(flavor = "multi_thread")]
async fn case_88_a_payment_that_fails_on_the_chain_is_declined_and_its_payer_refused_for_a_time() {
    let change = |settings: &mut purser::settlement::solana::SolanaSettings| settings.loss_limits.lamports = 12_000;
    let Some(mut house) = Harness::open_with(4, change).await else {
        return;
    };
    let payments = [
        house.payment(60_000_000, "first").await,
        house.payment(40_000_000, "second").await,
    ];
    let prepared = [house.ready(&payments[0]).await, house.ready(&payments[1]).await];
    house.port.submit(&payments[0], &prepared[0]).await.unwrap();
    house.chain.set_usdc(&house.client().address(), 0, false).await;
    let SubmitResult::Declined(decline) = house.port.submit(&payments[1], &prepared[1]).await.unwrap() else {
        panic!("declined")
    };
    assert_eq!(decline.reason, "insufficient_funds");
    until("the failure is proven", || async {
        let looked = house.port.lookup(&payments[1], Some(&prepared[1])).await.unwrap();
        (looked == ChainStatus::Impossible).then_some(())
    })
    .await;
    assert_eq!(house.usdc(&house.treasury().address()).await, Some(60_000_000));
    assert_eq!(house.port.status().fee_payers[0].lost, 13_000);
    house.chain.set_usdc(&house.client().address(), 1, false).await;
    let third = house.payment(1, "third").await;
    let Preparation::Declined(decline) = house.port.prepare(&third).await.unwrap() else {
        panic!("declined")
    };
    assert!(decline.message.contains("failed too often"), "{decline:?}");
    house.kill().await;
    let Preparation::Declined(decline) = house.port.prepare(&house.payment(1, "fourth").await).await.unwrap() else {
        panic!("declined")
    };
    assert!(decline.message.contains("failed too often"), "{decline:?}");
}

// Aim: endpoints that accept and drop lose nothing: the same bytes are sent to both again until they land, once.
#[tokio::test(flavor = "multi_thread")]
async fn case_07_what_endpoints_accept_and_drop_is_sent_again() {
    let Some(house) = Harness::open(5).await else { return };
    house.faults.drop_transactions(true);
    let payment = house.payment(7, "dropped").await;
    let prepared = house.ready(&payment).await;
    let submitted = house.port.submit(&payment, &prepared);
    let heal = async {
        until("four were dropped", || async {
            let swallowed = house.faults.dropped.load(std::sync::atomic::Ordering::SeqCst);
            (swallowed >= 4).then_some(())
        })
        .await;
        house.faults.drop_transactions(false);
    };
    let (submitted, ()) = tokio::join!(submitted, heal);
    assert!(matches!(submitted.unwrap(), SubmitResult::Settled { .. }));
    house.until_final(&payment, &prepared.transaction).await;
    assert_eq!(house.usdc(&house.treasury().address()).await, Some(7));
    assert_eq!(house.movements(1).await.len(), 1);
}

// Aim: a payment whose blockhash is dead stays unknown while one endpoint alone says so, and is impossible once two do.
#[tokio::test(flavor = "multi_thread")]
async fn case_86_an_expiry_is_proven_by_two_endpoints_only() {
    let Some(house) = Harness::open(6).await else { return };
    house.faults.drop_transactions(true);
    let payment = house.payment(7, "lost").await;
    let prepared = house.ready(&payment).await;
    let port = std::sync::Arc::clone(&house.port);
    let (copy, bytes) = (payment.clone(), prepared.clone());
    let submitted = tokio::spawn(async move { port.submit(&copy, &bytes).await });
    house.faults.kill("localhost");
    until("its blockhash has expired", || async {
        (house.port.status().unproven == 1).then_some(())
    })
    .await;
    // Long enough for several searches.
    let slot = house.node().position(Commitment::Confirmed).await.unwrap().slot;
    until("one endpoint was asked again and again", || async {
        let now = house.node().position(Commitment::Confirmed).await.unwrap().slot;
        (now > slot + 40).then_some(())
    })
    .await;
    assert_eq!(
        house.port.lookup(&payment, Some(&prepared)).await.unwrap(),
        ChainStatus::Pending
    );
    assert!(!submitted.is_finished());
    house.faults.revive();
    let ended = submitted.await.unwrap().unwrap_err();
    assert_eq!(ended.kind, ErrorKind::Permanent);
    assert_eq!(
        house.port.lookup(&payment, Some(&prepared)).await.unwrap(),
        ChainStatus::Impossible
    );
    assert_eq!(house.usdc(&house.treasury().address()).await, Some(0));
    assert_eq!(house.port.status().fee_payers[0].spent, 0);
}

// Aim: from which depth a transfer is final is a setting, by amount; two endpoints must show that depth.
#[tokio::test(flavor = "multi_thread")]
async fn small_payments_are_final_when_confirmed() {
    let change = |settings: &mut purser::settlement::solana::SolanaSettings| {
        let deep = Depth::Slots(1_000_000);
        settings.finality = FinalityByAmount(vec![
            (Usdc::from_atomic(10), Depth::Confirmed),
            (Usdc::from_atomic(11), deep),
        ]);
    };
    let Some(house) = Harness::open_with(7, change).await else {
        return;
    };
    // As if no block were final yet: only the depth of the amount counts.
    for host in ["127.0.0.1", "localhost"] {
        house.faults.falsify(host, not_final_yet);
    }
    for amount in [10, 11] {
        let payment = house.payment(amount, "small").await;
        let prepared = house.ready(&payment).await;
        let submitted = house.port.submit(&payment, &prepared).await.unwrap();
        assert!(matches!(submitted, SubmitResult::Settled { .. }), "{submitted:?}");
        let landed = |finality| ChainStatus::Confirmed {
            transaction: prepared.transaction.clone(),
            finality,
        };
        if amount == 10 {
            until("two endpoints show it", || async {
                let looked = house.port.lookup(&payment, None).await.unwrap();
                (looked == landed(Finality::Final)).then_some(())
            })
            .await;
        }
        let slot = house.node().position(Commitment::Confirmed).await.unwrap().slot;
        until("the chain goes on", || async {
            let now = house.node().position(Commitment::Confirmed).await.unwrap().slot;
            (now > slot + 5).then_some(())
        })
        .await;
        let finality = if amount == 10 {
            Finality::Final
        } else {
            Finality::Confirmed
        };
        assert_eq!(house.port.lookup(&payment, None).await.unwrap(), landed(finality));
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

// Aim: a payment to another server, whose fee payer is not ours, is found by its message wherever it was sent from; before that
// it may still come.
#[tokio::test(flavor = "multi_thread")]
async fn case_10_a_payment_that_another_server_sends_is_found_by_its_message() {
    let Some(house) = Harness::open(8).await else { return };
    let seller = house.another(30);
    house.chain.set_lamports(&seller.address(), 1_000_000_000).await;
    let payment = house
        .payment_by(&house.client(), &seller.address(), 9, "elsewhere")
        .await;
    assert_eq!(house.port.lookup(&payment, None).await.unwrap(), ChainStatus::Pending);
    let Authorization::Solana(transfer) = &payment else {
        panic!("solana")
    };
    let signed = co_sign(&transfer.transaction, &seller).unwrap();
    house.node().send_each(&signed.bytes).await;
    let transaction = until("it is found", || async {
        match house.port.lookup(&payment, None).await.unwrap() {
            ChainStatus::Confirmed { transaction, .. } => Some(transaction),
            ChainStatus::Pending => None,
            ChainStatus::Impossible => panic!("impossible"),
        }
    })
    .await;
    let id = purser_chains::solana::address::base58(&signed.id);
    assert_eq!(transaction, id);
    let standing = house.port.transaction_status(&payment, None, &id).await.unwrap();
    assert_ne!(standing, ChainTransactionStatus::NotFound);
}
