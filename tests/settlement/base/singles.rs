//! One payment at a time: finality, refusals, others who have a hand in it, proofs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, ChainStatus, ChainTransactionStatus, Finality, OutgoingTransferRequest, Preparation,
    Settlement as _, SubmitResult, Timestamp, TreasuryList as _,
};
use purser_chains::evm::multicall::{self, BatchCall, MULTICALL3};
use purser_chains::evm::node::BlockTag;
use purser_chains::evm::usdc;
use serde_json::json;

use crate::base::harness::{Harness, VALUE, hex, key, payer, treasury, until};
use crate::base::proxy::Proxy;

fn reason(preparation: Preparation) -> String {
    match preparation {
        Preparation::Declined(decline) => decline.reason.to_string(),
        Preparation::Ready(_) => "ready".to_owned(),
    }
}

// Checks: a payment is confirmed in its first block and final two blocks later. Its row is deleted once its receipt is
// final.
#[tokio::test]
async fn payment_is_confirmed_and_becomes_final_by_depth() {
    let Some(w) = Harness::start(1).await else { return };
    let payment = w.payment(0);
    assert_eq!(reason(w.prepare(&payment).await), "ready");
    let submitted = w.submit(&payment);
    w.in_pool(1).await;
    assert_eq!(
        (w.rows(b'n').await, w.lookup(&payment).await),
        (1, ChainStatus::Pending)
    );
    w.anvil.mine(1).await;
    let SubmitResult::Settled { transaction, finality } = submitted.await.unwrap() else {
        panic!()
    };
    assert_eq!(finality, Finality::Confirmed);
    let status = async || w.port().transaction_status(&payment, None, &transaction).await.unwrap();
    w.anvil.mine(1).await;
    w.read().await;
    assert_eq!(status().await, ChainTransactionStatus::Confirmed);
    w.anvil.mine(1).await;
    w.read().await;
    assert_eq!(status().await, ChainTransactionStatus::Final);
    w.assert_settled_once(&[0]).await;
    let counters = w.port().counters();
    assert_eq!(counters.transactions.load(Ordering::Relaxed), 1);
    assert_eq!(counters.gas_lost_gwei.load(Ordering::Relaxed), 0);
    assert!(counters.gas_spent_gwei.load(Ordering::Relaxed) > 0);
}

// Checks: a payment that must fail is declined with its reason before any gas is spent, at prepare and at submit.
#[tokio::test]
async fn case_05_06_failing_payment_is_declined_without_gas() {
    let Some(w) = Harness::start(2).await else { return };
    w.send_usdc(payer(1), VALUE - 1).await;
    let latest = w.node.header(BlockTag::Latest).await.unwrap().unwrap();
    let forged = match w.payment(0) {
        purser_actors::port::Authorization::Evm(mut signed) => {
            signed.value = Usdc::from_atomic(VALUE - 1);
            purser_actors::port::Authorization::Evm(signed)
        }
        other => other,
    };
    let table = [
        (w.payment(1), "insufficient_funds"),
        (forged, "invalid_exact_evm_signature"),
        (
            w.signed("payer 0", treasury(), VALUE, latest.timestamp, 9),
            "invalid_exact_evm_payload_authorization_valid_before",
        ),
    ];
    for (payment, expected) in table {
        assert_eq!(reason(w.prepare(&payment).await), expected);
        let SubmitResult::Declined(decline) = w.submit(&payment).await.unwrap() else {
            panic!()
        };
        assert_eq!(&*decline.reason, expected);
        assert_ne!(w.lookup(&payment).await, ChainStatus::Impossible);
    }
    assert_eq!((w.pending().await, w.rows(b'n').await), (0, 0));
    let sent = w.node.transaction_count(key("gas").address(), BlockTag::Latest).await;
    assert_eq!(sent, Ok(0));
}

// Checks: a stranger's transaction settles a payment that is in our pool too. Ours costs gas and moves nothing, and
// waiting callers receive the stranger's transaction.
#[tokio::test]
async fn case_10_stranger_settles_a_pending_payment_first() {
    let Some(w) = Harness::start(1).await else { return };
    let payment = w.payment(0);
    w.prepare(&payment).await;
    let submitted = w.submit(&payment);
    w.in_pool(1).await;
    let pool = w.anvil.control("txpool_content", json!([])).await;
    let ours = pool["pending"].as_object().unwrap().values().next().unwrap()["0"]["hash"].clone();
    w.submit_foreign("stranger", 0, w.token.address(), w.calldata(&payment))
        .await;
    let SubmitResult::Settled { transaction, .. } = w.mined(submitted).await else {
        panic!()
    };
    assert_ne!(json!(transaction), ours);
    w.assert_settled_once(&[0]).await;
}

// Checks: two payments that a stranger settles in one transaction are two transfers with one transaction hash and an
// index each. Two of our transfers in one transaction are two outgoing transfers.
#[tokio::test]
async fn transfers_in_one_transaction_have_distinct_references() {
    let Some(w) = Harness::start(2).await else { return };
    w.send_usdc(treasury(), 10 * VALUE).await;
    let mut all = vec![w.payment(0), w.payment(1)];
    for key in [1, 2] {
        let transfer = OutgoingTransferRequest {
            key,
            to: Wallet::Evm(payer(7).into_array()),
            amount: Usdc::from_atomic(VALUE),
        };
        all.push(w.port().sign(&transfer).await.unwrap());
    }
    let calls = all.iter().map(|authorization| BatchCall {
        target: w.token.address(),
        data: w.calldata(authorization),
    });
    let data = multicall::encode(&calls.collect::<Vec<_>>()).unwrap();
    w.submit_foreign("stranger", 0, MULTICALL3, data.into()).await;
    w.anvil.mine(1).await;
    w.read().await;
    let port = w.port();
    let page = port.movements(Network::Base, None, 10).await.unwrap();
    let names: Vec<(u32, bool)> = page.items.iter().map(|moved| (moved.index, moved.incoming)).collect();
    // Before each transfer there is the log of its authorization.
    assert_eq!(names, [(1, true), (3, true), (5, false), (7, false)]);
    let transactions: BTreeSet<&String> = page.items.iter().map(|moved| &moved.transaction).collect();
    assert_eq!(transactions.len(), 1);
    let found = port.in_transaction(Network::Base, &page.items[0].transaction).await;
    assert_eq!(found.unwrap(), page.items);
    let transfers = port.stored_transfers(1, 2).await.unwrap();
    let indexes: Vec<(u64, u32)> = transfers.iter().map(|one| (one.position, one.index)).collect();
    assert_eq!(indexes, [(2, 3), (3, 5)]);
    let marks = |from: usize| {
        all[from..]
            .iter()
            .map(|signed| signed.fingerprint())
            .collect::<BTreeSet<_>>()
    };
    let outgoing = port
        .outgoing_transfers(Timestamp(0), Timestamp(u64::MAX))
        .await
        .unwrap();
    assert_eq!(
        outgoing.iter().map(|left| left.fingerprint).collect::<BTreeSet<_>>(),
        marks(2)
    );
    let indexes: Vec<u32> = outgoing.iter().map(|left| left.index).collect();
    assert_eq!(indexes, [5, 7]);
    let ours = Wallet::Evm(treasury().into_array());
    assert_eq!(port.sent_by(&ours, Timestamp(0)).await.unwrap(), outgoing);
    for authorization in &all {
        assert!(matches!(w.lookup(authorization).await, ChainStatus::Confirmed { .. }));
    }
}

// Checks: a transfer without an authorization is listed with its own fingerprint and matches no payment. It is
// confirmed, then final at its amount's depth, and not found once a reorg has dropped it.
#[tokio::test]
async fn plain_transfer_is_listed_but_is_not_a_payment() {
    let Some(w) = Harness::start(1).await else { return };
    w.send_ether(payer(0), "0xde0b6b3a7640000").await;
    // transfer(address,uint256).
    let mut data = vec![0xa9, 0x05, 0x9c, 0xbb];
    data.extend_from_slice(treasury().into_word().as_slice());
    data.extend(purser_chains::evm::U256::from(VALUE).to_be_bytes::<32>());
    w.submit_foreign("payer 0", 0, w.token.address(), data.into()).await;
    w.anvil.mine(1).await;
    w.read().await;
    let page = w.port().movements(Network::Base, None, 10).await.unwrap();
    assert_eq!(page.items.len(), 1);
    assert_eq!((page.items[0].incoming, page.items[0].amount.atomic()), (true, VALUE));
    assert_ne!(page.items[0].fingerprint, [0; 32]);
    assert_eq!(w.lookup(&w.payment(0)).await, ChainStatus::Pending);
    let finality = async || {
        let asked = w.port().movement_finality(Network::Base, &page.items[0]);
        asked.await.unwrap()
    };
    assert_eq!(finality().await, Finality::Confirmed);
    w.anvil.mine(2).await;
    w.read().await;
    assert_eq!(finality().await, Finality::Final);
    w.anvil.control("anvil_reorg", json!([3, []])).await;
    until("it is not listed any more", async || {
        w.anvil.mine(1).await;
        let page = w.port().movements(Network::Base, None, 10).await.unwrap();
        page.items.is_empty().then_some(())
    })
    .await;
    w.anvil.mine(2).await;
    w.read().await;
    assert_eq!(finality().await, Finality::Confirmed);
}

// Checks: a top-up on Base is one transfer of exactly its amount, however often it is signed and sent. It becomes final
// without a bridge.
#[tokio::test]
async fn case_39_a_top_up_on_base_is_one_transfer_of_exactly_its_amount() {
    let Some(w) = Harness::start(0).await else { return };
    w.send_usdc(treasury(), 10 * VALUE).await;
    let transfer = OutgoingTransferRequest {
        key: 39,
        to: Wallet::Evm(payer(7).into_array()),
        amount: Usdc::from_atomic(VALUE + 1),
    };
    let signed = w.port().sign(&transfer).await.unwrap();
    assert_eq!(
        w.port().sign(&transfer).await.unwrap().fingerprint(),
        signed.fingerprint()
    );
    w.prepare(&signed).await;
    let first = w.mined(w.submit(&signed)).await;
    let SubmitResult::Settled { transaction, .. } = first else {
        panic!()
    };
    let again = w.submit(&w.port().sign(&transfer).await.unwrap()).await.unwrap();
    assert!(matches!(again, SubmitResult::Settled { transaction: same, .. } if same == transaction));
    w.anvil.mine(2).await;
    w.read().await;
    let finality = Finality::Final;
    assert_eq!(
        w.lookup(&signed).await,
        ChainStatus::Confirmed { transaction, finality }
    );
    assert_eq!(w.balance(payer(7)).await, VALUE + 1);
    assert_eq!(w.balance(treasury()).await, 9 * VALUE - 1);
    let page = w.port().movements(Network::Base, None, 10).await.unwrap();
    assert_eq!(page.items.len(), 1);
}

// Checks: preparing one of our transfers shows its signature to no endpoint, which could submit it and report a
// failure. A transfer that the token would reject is still declined.
#[tokio::test]
async fn preparing_a_transfer_hides_its_signature_from_endpoints() {
    let Some(mut w) = Harness::closed(1).await else { return };
    let proxy = Proxy::start(&w.anvil.url).await;
    let seen = Arc::new(Mutex::new(String::new()));
    let requests = seen.clone();
    proxy.falsify(move |request, result| {
        requests.lock().push_str(&request.to_string());
        Some(result)
    });
    w.urls = vec![proxy.url.clone()];
    w.open().await;
    w.port().track_wallets([payer(0)]);
    w.send_usdc(treasury(), VALUE).await;
    w.send_usdc(payer(0), VALUE).await;
    w.anvil.mine(1).await;
    let transfer = |atomic| OutgoingTransferRequest {
        key: 41,
        to: Wallet::Evm(payer(7).into_array()),
        amount: Usdc::from_atomic(atomic),
    };
    let ours = w.port().sign(&transfer(VALUE)).await.unwrap();
    let managed = w.signed("payer 0", payer(7), VALUE, u64::from(u32::MAX), 9);
    for authorization in [&ours, &managed] {
        assert!(matches!(w.prepare(authorization).await, Preparation::Ready(_)));
        let Authorization::Evm(signed) = authorization else {
            panic!()
        };
        assert!(!seen.lock().contains(&hex::encode(&signed.signature.as_bytes()[..32])));
    }
    let short = w.port().sign(&transfer(VALUE + 1)).await.unwrap();
    let Preparation::Declined(decline) = w.prepare(&short).await else {
        panic!()
    };
    assert_eq!(&*decline.reason, "insufficient_funds");
    assert!(matches!(w.mined(w.submit(&ours)).await, SubmitResult::Settled { .. }));
}

// Checks: one endpoint does not prove an expiry. Two that are past it in a final block do.
#[tokio::test]
async fn case_86_expiry_needs_two_endpoints() {
    let Some(mut w) = Harness::closed(1).await else { return };
    let both = std::mem::take(&mut w.urls);
    w.urls = both[..1].to_vec();
    w.open().await;
    let latest = w.node.header(BlockTag::Latest).await.unwrap().unwrap();
    let end = latest.timestamp + 1_000;
    let payment = w.signed("payer 0", treasury(), VALUE, end, 1);
    w.anvil.control("evm_setNextBlockTimestamp", json!([hex(end)])).await;
    w.anvil.mine(12).await;
    w.read().await;
    until("an operator is notified", async || {
        assert_eq!(w.lookup(&payment).await, ChainStatus::Pending);
        let alarms = w.port().counters().alarms.load(Ordering::Relaxed);
        (alarms > 0).then_some(())
    })
    .await;
    w.kill().await;
    w.urls = both;
    w.open().await;
    until("it is proven", async || {
        (w.lookup(&payment).await == ChainStatus::Impossible).then_some(())
    })
    .await;
    assert_eq!(w.balance(payer(0)).await, VALUE);
}

// Checks: an authorization cancelled by its payer is impossible once the cancellation is final. One whose nonce paid
// another recipient first is impossible once two endpoints list that transaction.
#[tokio::test]
async fn cancelled_or_used_authorization_is_impossible_once_final() {
    let Some(w) = Harness::start(2).await else { return };
    let canceled = w.payment(0);
    let payer_key = key("payer 0");
    let nonce = [1; 32].into();
    let signature = payer_key
        .sign(w.token.cancel_digest(payer_key.address(), nonce))
        .unwrap();
    let data = usdc::cancel_call(payer_key.address(), nonce, signature);
    w.submit_foreign("stranger", 0, w.token.address(), data.into()).await;
    let latest = w.node.header(BlockTag::Latest).await.unwrap().unwrap();
    let end = latest.timestamp + 1_000;
    let used = w.signed("payer 1", treasury(), VALUE, end, 2);
    let other_payment = w.signed("payer 1", payer(9), VALUE, end, 2);
    w.submit_foreign("stranger", 1, w.token.address(), w.calldata(&other_payment))
        .await;
    w.anvil.mine(1).await;
    w.read().await;
    assert_eq!(w.lookup(&canceled).await, ChainStatus::Pending);
    assert_eq!(w.lookup(&used).await, ChainStatus::Pending);
    for payment in [&canceled, &used] {
        assert_eq!(reason(w.prepare(payment).await), "invalid_exact_evm_nonce_already_used");
    }
    w.anvil.control("evm_setNextBlockTimestamp", json!([hex(end)])).await;
    w.anvil.mine(12).await;
    w.read().await;
    until("its cancellation is final", async || {
        (w.lookup(&canceled).await == ChainStatus::Impossible).then_some(())
    })
    .await;
    until("its use is found", async || {
        (w.lookup(&used).await == ChainStatus::Impossible).then_some(())
    })
    .await;
    assert_eq!(w.balance(treasury()).await, 0);
}
