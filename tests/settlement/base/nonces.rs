//! Gas keys in trouble.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use purser_actors::port::{ChainStatus, ErrorKind, Settlement as _, SubmitResult};
use purser_chains::evm::Bytes;
use purser_chains::evm::node::{BlockTag, FeePolicy};
use purser_storage::{Batch, Store as _, Write};
use serde_json::json;

use crate::base::harness::{Harness, hex, key, until};
use crate::base::proxy::Proxy;

const POLICY: FeePolicy = FeePolicy {
    min_priority_fee: 1_000,
    max_priority_fee: 1_000_000_000,
    max_fee: 500_000_000_000,
};

// Checks: a hundredfold base fee delays transactions until they are replaced. One attempt of each is included.
#[tokio::test]
async fn case_85_hundredfold_base_fee_is_followed() {
    let Some(w) = Harness::start(2).await else { return };
    let mut submitted = Vec::new();
    for n in 0..2 {
        w.prepare(&w.payment(n)).await;
        submitted.push(w.submit(&w.payment(n)));
        w.in_pool(n + 1).await;
    }
    let base_fee = w.node.fees(POLICY).await.unwrap().base_fee * 100;
    w.anvil
        .control("anvil_setNextBlockBaseFeePerGas", json!([hex(base_fee)]))
        .await;
    w.anvil.mine(1).await;
    for submitted in submitted {
        assert!(matches!(w.mined(submitted).await, SubmitResult::Settled { .. }));
    }
    assert!(w.port().counters().replacements.load(Ordering::Relaxed) >= 1);
    w.assert_settled_once(&[0, 1]).await;
}

// Checks: a nonce with a lost row below a stored one is filled, and its payment uses a later nonce.
#[tokio::test]
async fn case_85_nonce_gap_is_filled() {
    let Some(mut w) = Harness::start(2).await else { return };
    for n in 0..2 {
        w.prepare(&w.payment(n)).await;
        drop(w.submit(&w.payment(n)));
        w.in_pool(n + 1).await;
    }
    w.kill().await;
    w.anvil.control("anvil_dropAllTransactions", json!([])).await;
    let prefix = [purser_actors::kernel::table::BASE, b'n'];
    let (lowest, _) = w.store.scan(&prefix, None, 1).await.unwrap().remove(0);
    let batch = Batch {
        writes: vec![Write::Delete { key: lowest }],
        ..Batch::default()
    };
    let (done, committed) = tokio::sync::oneshot::channel();
    w.store.commit(batch, Box::new(move |result| drop(done.send(result))));
    committed.await.unwrap().unwrap();
    w.open().await;
    until("the second lands behind the filler", async || {
        w.anvil.mine(1).await;
        matches!(w.lookup(&w.payment(1)).await, ChainStatus::Confirmed { .. }).then_some(())
    })
    .await;
    assert_eq!(w.lookup(&w.payment(0)).await, ChainStatus::Pending);
    let again = w.submit(&w.payment(0));
    assert!(matches!(w.mined(again).await, SubmitResult::Settled { .. }));
    // Nothing is sent for the lost row.
    assert_eq!(
        w.balance(crate::base::harness::treasury()).await,
        2 * crate::base::harness::VALUE
    );
    let sent = w.node.transaction_count(key("gas").address(), BlockTag::Latest).await;
    assert_eq!(sent, Ok(3));
}

// Checks: another process uses the key's next nonce. The payment is released once two endpoints show that nonce as
// final, and settles with the next nonce.
#[tokio::test]
async fn case_85_gas_key_recovers_from_foreign_use() {
    let Some(w) = Harness::start(1).await else { return };
    w.prepare(&w.payment(0)).await;
    let submitted = w.submit(&w.payment(0));
    w.in_pool(1).await;
    w.anvil.control("anvil_dropAllTransactions", json!([])).await;
    w.submit_foreign("gas", 0, key("recipient").address(), Bytes::new())
        .await;
    assert!(matches!(w.mined(submitted).await, SubmitResult::Settled { .. }));
    w.assert_settled_once(&[0]).await;
    assert!(w.port().counters().alarms.load(Ordering::Relaxed) > 0);
}

// Checks: a key without gas is reported, and later payments use the other key.
#[tokio::test]
async fn case_85_gas_key_without_gas_is_replaced_by_the_other() {
    let Some(mut w) = Harness::closed(3).await else { return };
    w.gas_keys = vec!["gas", "gas 2"];
    w.open().await;
    w.send_ether(key("gas").address(), "0x0").await;
    w.prepare(&w.payment(0)).await;
    let held = w.submit(&w.payment(0));
    until("an operator is notified", async || {
        (w.port().counters().alarms.load(Ordering::Relaxed) > 0).then_some(())
    })
    .await;
    for n in 1..3 {
        w.prepare(&w.payment(n)).await;
        let submitted = w.submit(&w.payment(n));
        assert!(matches!(w.mined(submitted).await, SubmitResult::Settled { .. }));
    }
    assert!(!held.is_finished());
    w.send_ether(key("gas").address(), "0xde0b6b3a7640000").await;
    assert!(matches!(w.mined(held).await, SubmitResult::Settled { .. }));
    w.assert_settled_once(&[0, 1, 2]).await;
}

// Checks: once the only key is known to have no gas, payments are not prepared and their payers not blamed. Readiness
// has the reason until there is gas.
#[tokio::test]
async fn case_85_without_any_gas_a_payment_is_not_prepared() {
    let Some(mut w) = Harness::closed(2).await else { return };
    w.open().await;
    w.send_ether(key("gas").address(), "0x0").await;
    w.prepare(&w.payment(0)).await;
    let held = w.submit(&w.payment(0));
    until("an operator is notified", async || {
        (w.port().counters().alarms.load(Ordering::Relaxed) > 0).then_some(())
    })
    .await;
    let error = w.port().prepare(&w.payment(1)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Temporary, "{error}");
    let why = w.port().payments_blocked_reason();
    assert!(why.as_ref().is_some_and(|why| why.contains("gas")), "{why:?}");
    w.send_ether(key("gas").address(), "0xde0b6b3a7640000").await;
    assert!(matches!(w.mined(held).await, SubmitResult::Settled { .. }));
    until("payments are taken", async || {
        w.port().payments_blocked_reason().is_none().then_some(())
    })
    .await;
    w.assert_settled_once(&[0]).await;
}

// Checks: two of three endpoints briefly report too many transactions of the only key. Readiness then reports an
// unknown next nonce, an operator is notified, and no payment is prepared. The key recovers automatically, without a
// filler.
#[tokio::test]
async fn gas_key_recovers_after_two_endpoints_report_wrong_counts() {
    let Some(mut w) = Harness::closed(2).await else { return };
    let liars = [Proxy::start(&w.anvil.url).await, Proxy::start(&w.anvil.url).await];
    w.urls = vec![w.anvil.url.clone(), liars[0].url.clone(), liars[1].url.clone()];
    w.open().await;
    w.prepare(&w.payment(0)).await;
    let submitted = w.submit(&w.payment(0));
    assert!(matches!(w.mined(submitted).await, SubmitResult::Settled { .. }));
    let asked = Arc::new(AtomicU64::new(0));
    for liar in &liars {
        let asked = asked.clone();
        liar.falsify(move |request, result| {
            if request["method"] != "eth_getTransactionCount" {
                return Some(result);
            }
            asked.fetch_add(1, Ordering::SeqCst);
            let count = u64::from_str_radix(&result.as_str().unwrap()[2..], 16).unwrap();
            Some(json!(format!("{:#x}", count + 50)))
        });
    }
    until("the counts were read some times", async || {
        (asked.load(Ordering::SeqCst) > 20).then_some(())
    })
    .await;
    liars.iter().for_each(Proxy::restore);
    let why = until("readiness names it", async || w.port().payments_blocked_reason()).await;
    assert!(why.contains("fewer transactions"), "{why}");
    let error = w.port().prepare(&w.payment(1)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Temporary, "{error}");
    assert!(w.port().counters().alarms.load(Ordering::Relaxed) > 0);
    until("payments are taken", async || {
        w.port().payments_blocked_reason().is_none().then_some(())
    })
    .await;
    w.prepare(&w.payment(1)).await;
    let submitted = w.submit(&w.payment(1));
    assert!(matches!(w.mined(submitted).await, SubmitResult::Settled { .. }));
    w.assert_settled_once(&[0, 1]).await;
    let sent = w.node.transaction_count(key("gas").address(), BlockTag::Latest).await;
    assert_eq!(sent, Ok(2));
}
