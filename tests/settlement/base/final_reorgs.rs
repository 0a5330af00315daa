//! Reorganisations beyond what was final: nothing is taken until an operator accepts the chain that two endpoints show.

use purser::settlement::evm::{RollBackError, RollBackResult};
use purser_actors::port::{ChainStatus, Settlement as _, SubmitResult};
use purser_chains::evm::node::BlockTag;
use serde_json::json;

use crate::base::anvil::Anvil;
use crate::base::cross_checks::{behind_proxy, fork, is_final};
use crate::base::harness::{Harness, treasury, until};

async fn head(w: &Harness) -> u64 {
    w.node.header(BlockTag::Latest).await.unwrap().unwrap().number
}

/// Until what is finalized now is durable: a level is stored with the next block.
async fn stored(w: &Harness) {
    for _ in 0..3 {
        w.anvil.mine(1).await;
        w.read().await;
    }
}

/// Pays, and waits until the payment is below what is finalized; its block.
async fn paid(w: &Harness, n: usize, deep: u64) -> u64 {
    w.prepare(&w.payment(n)).await;
    let submitted = w.submit(&w.payment(n));
    let SubmitResult::Settled { transaction, .. } = w.mined(submitted).await else {
        panic!()
    };
    let receipt = w.node.receipt(transaction.parse().unwrap()).await.unwrap().unwrap();
    w.anvil.mine(deep).await;
    w.read().await;
    stored(w).await;
    assert!(is_final(&w.lookup(&w.payment(n)).await));
    receipt.block_number
}

/// Replaces all blocks from this one on, by as many and one more.
async fn replace_from(w: &Harness, lowest: u64) {
    let depth = head(w).await - lowest + 1;
    w.anvil.control("anvil_reorg", json!([depth, []])).await;
    w.anvil.mine(1).await;
}

async fn assert_reported(w: &Harness) {
    until("the operator command is reported", async || {
        let why = w.port().payments_blocked_reason();
        why.is_some_and(|why| why.contains("`purser admin chains accept base`"))
            .then_some(())
    })
    .await;
}

/// As if the process were killed and started anew, on a chain that is not read.
async fn restart(w: &mut Harness) {
    w.kill().await;
    let port = w.try_open(w.settings()).await.unwrap();
    w.port = Some(std::sync::Arc::new(port));
}

// Checks: a final payment's block is replaced beyond `finalized`. No payment is accepted, after a restart too, and the
// reason is reported. An operator's order drops the affected rows once. Then the payment can be sent again, is final
// once, and no list position is reused.
#[tokio::test]
async fn case_08_operator_orders_a_reread_after_a_final_reorg() {
    let Some(mut w) = Harness::start(2).await else { return };
    let block = paid(&w, 0, 12).await;
    assert_eq!(w.port().roll_back().await, Err(RollBackError::NotNeeded));
    let to = head(&w).await;
    replace_from(&w, block).await;
    assert_reported(&w).await;
    let refused = w.port().prepare(&w.payment(1)).await.unwrap_err();
    assert!(
        refused.message.contains("replaced blocks that were final"),
        "{refused:?}"
    );
    restart(&mut w).await;
    assert_reported(&w).await;

    let expected = RollBackResult {
        from: block,
        to,
        movements: 1,
    };
    assert_eq!(w.port().preview_roll_back().await, Ok(expected));
    assert!(
        matches!(w.lookup(&w.payment(0)).await, ChainStatus::Confirmed { .. }),
        "nothing has changed"
    );
    assert_eq!(w.port().roll_back().await, Ok(expected));
    assert_eq!(w.port().roll_back().await, Err(RollBackError::NotNeeded));
    assert!(!is_final(&w.lookup(&w.payment(0)).await));
    // Dropped transfers stay dropped, and transfers read since then follow them in the list.
    restart(&mut w).await;
    w.read().await;
    for n in 0..2 {
        let submitted = w.submit(&w.payment(n));
        assert!(matches!(w.mined(submitted).await, SubmitResult::Settled { .. }));
    }
    w.anvil.mine(12).await;
    w.read().await;
    for n in 0..2 {
        assert!(is_final(&w.lookup(&w.payment(n)).await));
    }
    w.assert_settled_once(&[0, 1]).await;
    let rows = w.port().stored_transfers(0, 100).await.unwrap();
    let dropped: Vec<bool> = rows.iter().map(|one| one.reorged).collect();
    assert_eq!(dropped, [true, false, false], "{rows:?}");
}

// Checks: the same without a restart: the gas key continues from the chain's count of its transactions.
#[tokio::test]
async fn case_08_payments_are_resent_after_an_operator_orders_a_reread() {
    let Some(w) = Harness::start(2).await else { return };
    let block = paid(&w, 0, 12).await;
    replace_from(&w, block).await;
    assert_reported(&w).await;
    w.port().roll_back().await.unwrap();
    w.read().await;
    for n in 0..2 {
        // A submitter retries while the gas key starts again.
        until("the payment is on the chain", async || {
            let submitted = w.submit(&w.payment(n));
            for _ in 0..20 {
                w.anvil.mine(1).await;
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                if submitted.is_finished() {
                    return Some(());
                }
            }
            submitted.abort();
            None
        })
        .await;
    }
    w.assert_settled_once(&[0, 1]).await;
}

// Checks: a reorg deeper than all stored blocks starts behind the newest payment that the chain still has.
#[tokio::test]
async fn case_08_start_of_a_deep_reorg_is_found_by_its_transfers() {
    let Some(w) = Harness::start(2).await else { return };
    let first = paid(&w, 0, 12).await;
    let second = paid(&w, 1, 80).await;
    replace_from(&w, second - 2).await;
    assert_reported(&w).await;
    let done = w.port().roll_back().await.unwrap();
    assert_eq!((done.from, done.movements), (first + 1, 1));
    w.read().await;
    assert!(is_final(&w.lookup(&w.payment(0)).await));
    assert!(!matches!(w.lookup(&w.payment(1)).await, ChainStatus::Confirmed { .. }));
    assert_eq!(w.balance(treasury()).await, crate::base::harness::VALUE);
}

// Checks: one endpoint reports a chain that replaces final blocks. With two endpoints nothing is rolled back, because
// they disagree. With three it is outvoted and nothing stops.
#[tokio::test]
async fn case_08_operator_reread_needs_more_than_one_endpoint() {
    let Some((mut w, proxy)) = behind_proxy(Anvil::start(), 1).await else {
        return;
    };
    w.open().await;
    w.anvil.mine(20).await;
    w.read().await;
    stored(&w).await;
    let base = head(&w).await - 15;
    let base = w.node.header(BlockTag::Number(base)).await.unwrap().unwrap();
    fork(&proxy, &base, 40);
    until("the endpoints do not agree", async || {
        let refused = w.port().roll_back().await;
        matches!(refused, Err(RollBackError::Disagreement { .. })).then_some(())
    })
    .await;
    assert_eq!(w.port().height(), Some(base.number + 15));
    w.urls.push(w.anvil.url.replace("127.0.0.1", "localhost"));
    restart(&mut w).await;
    w.anvil.mine(3).await;
    w.read().await;
    assert_eq!(w.port().roll_back().await, Err(RollBackError::NotNeeded));
}
