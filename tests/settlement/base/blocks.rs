//! Blocks that are replaced, and ports that end at every stage.

use purser_actors::id::Network;
use purser_actors::port::{ChainStatus, ChainTransactionStatus, Settlement as _, SubmitResult, TreasuryList as _};
use purser_chains::evm::node::BlockTag;
use serde_json::{Value, json};

use crate::base::harness::{Harness, until};

/// The transactions of a block, as they were signed.
async fn raw_of_latest(w: &Harness) -> Vec<Value> {
    let block = w.anvil.control("eth_getBlockByNumber", json!(["latest", false])).await;
    let mut raw = Vec::new();
    for hash in block["transactions"].as_array().unwrap() {
        raw.push(w.anvil.control("eth_getRawTransactionByHash", json!([hash])).await);
    }
    raw
}

// Checks: a reorg drops a single-transaction payment and a batch. They vanish and are included again. The list names
// each confirmed transfer once, and a reader of it misses none.
#[tokio::test]
async fn case_08_payments_survive_reorgs_that_drop_them() {
    let Some(w) = Harness::deep(6).await else { return };
    for (depth, payers) in [(1, 0..1), (3, 1..3), (10, 3..6)] {
        let payments: Vec<_> = payers.clone().map(|n| w.payment(n)).collect();
        for payment in &payments {
            w.prepare(payment).await;
        }
        let submitted: Vec<_> = payments.iter().map(|payment| w.submit(payment)).collect();
        let mut landed = Vec::new();
        for submitted in submitted {
            let SubmitResult::Settled { transaction, .. } = w.mined(submitted).await else {
                panic!()
            };
            landed.push(transaction);
        }
        let mut lowest = u64::MAX;
        for transaction in &landed {
            let receipt = w.node.receipt(transaction.parse().unwrap()).await.unwrap().unwrap();
            lowest = lowest.min(receipt.block_number);
        }
        w.anvil.mine(depth - 1).await;
        w.read().await;
        let before = w.port().movements(Network::Base, None, 100).await.unwrap();
        let head = w.node.header(BlockTag::Latest).await.unwrap().unwrap();
        // From the block of the first of them on.
        let depth = head.number - lowest + 1;
        w.anvil.control("anvil_reorg", json!([depth, []])).await;
        until("the other branch is read", async || {
            let gone = w.port().transaction_status(&payments[0], None, &landed[0]).await;
            (gone == Ok(ChainTransactionStatus::NotFound)).then_some(())
        })
        .await;
        assert_eq!(w.port().height(), Some(head.number));
        for payment in &payments {
            until("the payment is on the chain again", async || {
                w.anvil.mine(1).await;
                let found = w.lookup(payment).await;
                assert_ne!(found, ChainStatus::Impossible);
                matches!(found, ChainStatus::Confirmed { .. }).then_some(())
            })
            .await;
        }
        // A reader that was at the end continues from there.
        let after = w
            .port()
            .movements(Network::Base, before.next.as_ref(), 100)
            .await
            .unwrap();
        for payment in &payments {
            assert_eq!(
                after
                    .items
                    .iter()
                    .filter(|moved| moved.fingerprint == payment.fingerprint())
                    .count(),
                1
            );
        }
    }
    w.assert_settled_once(&[0, 1, 2, 3, 4, 5]).await;
    let whole = w.port().movements(Network::Base, None, 100).await.unwrap();
    assert_eq!(whole.items.len(), 6);
}

// Checks: a reorg moves the transaction to another block.
#[tokio::test]
async fn payment_included_again_at_once_stays_confirmed() {
    let Some(w) = Harness::start(1).await else { return };
    let payment = w.payment(0);
    w.prepare(&payment).await;
    let submitted = w.submit(&payment);
    w.in_pool(1).await;
    w.anvil.mine(1).await;
    let SubmitResult::Settled { transaction, .. } = submitted.await.unwrap() else {
        panic!()
    };
    let raw = raw_of_latest(&w).await;
    w.anvil.mine(1).await;
    w.read().await;
    let included: Vec<Value> = raw.iter().map(|raw| json!([raw, 1])).collect();
    w.anvil.control("anvil_reorg", json!([2, included])).await;
    w.anvil.mine(1).await;
    w.read().await;
    let found = w.lookup(&payment).await;
    assert!(matches!(found, ChainStatus::Confirmed { transaction: again, .. } if again == transaction));
    w.assert_settled_once(&[0]).await;
}

// Checks: a port is killed before, during and after a payment is sent, mined or final. The next port reaches the same
// result.
#[tokio::test]
async fn port_killed_at_any_stage_settles_once() {
    let Some(mut w) = Harness::start(5).await else { return };
    // 0: submitted, with an unknown outcome.
    w.prepare(&w.payment(0)).await;
    let lost = w.submit(&w.payment(0));
    tokio::task::yield_now().await;
    w.kill().await;
    lost.abort();
    w.open().await;
    let again = w.submit(&w.payment(0));
    w.mined(again).await;
    // 1: sent, and forgotten by the chain's pool.
    w.prepare(&w.payment(1)).await;
    let lost = w.submit(&w.payment(1));
    w.in_pool(1).await;
    w.kill().await;
    lost.abort();
    w.anvil.control("anvil_dropAllTransactions", json!([])).await;
    w.open().await;
    w.in_pool(1).await;
    until("it lands without being submitted again", async || {
        w.anvil.mine(1).await;
        matches!(w.lookup(&w.payment(1)).await, ChainStatus::Confirmed { .. }).then_some(())
    })
    .await;
    // 2: mined while the port was closed.
    w.prepare(&w.payment(2)).await;
    let lost = w.submit(&w.payment(2));
    w.in_pool(1).await;
    w.kill().await;
    lost.abort();
    w.anvil.mine(3).await;
    w.open().await;
    let SubmitResult::Settled { .. } = w.submit(&w.payment(2)).await.unwrap() else {
        panic!()
    };
    // 3: seen, and not final.
    w.prepare(&w.payment(3)).await;
    let submitted = w.submit(&w.payment(3));
    w.in_pool(1).await;
    w.anvil.mine(1).await;
    submitted.await.unwrap();
    w.kill().await;
    w.open().await;
    // 4: its block was replaced while the port was closed.
    w.prepare(&w.payment(4)).await;
    let submitted = w.submit(&w.payment(4));
    w.in_pool(1).await;
    w.anvil.mine(1).await;
    submitted.await.unwrap();
    w.kill().await;
    w.anvil.control("anvil_reorg", json!([1, []])).await;
    w.anvil.mine(1).await;
    w.open().await;
    until("it lands again", async || {
        w.anvil.mine(1).await;
        matches!(w.lookup(&w.payment(4)).await, ChainStatus::Confirmed { .. }).then_some(())
    })
    .await;
    w.assert_settled_once(&[0, 1, 2, 3, 4]).await;
}
