//! The nonce manager against a real pool of transactions.

use purser_chains::evm::multicall::{Group, Stage};
use purser_chains::evm::node::BlockTag;
use purser_chains::evm::nonces::{Alarm, Attempt, NonceManager, NonceSettings, ReleaseReason, SendReply};
use purser_chains::evm::tx::{Fee, Transaction};
use purser_chains::evm::{B256, U256};
use serde_json::json;

use crate::base::harness::{CHAIN_ID, Harness, POLICY, hex, key};

fn single(payment: usize) -> Group<usize> {
    Group {
        payments: vec![payment],
        stage: Stage::First,
        gas_limit: 150_000,
    }
}

async fn restart(h: &mut Harness) {
    let rows = h.rows.values().cloned().collect();
    let (counts, pending) = (
        h.counts().await.unwrap(),
        h.node.transaction_count(h.key.address(), BlockTag::Pending).await,
    );
    let settings = NonceSettings::new(POLICY.max_fee);
    let (manager, actions) = NonceManager::start(settings, rows, counts, pending.unwrap(), h.now_ms);
    h.manager = manager;
    h.execute(actions).await;
}

// A signed transfer of nothing by the gas key, as another process with the key sends it.
async fn foreign_transaction(h: &Harness, nonce: u64, fee: Fee) -> (Vec<u8>, B256) {
    let to = key("recipient").address();
    let data = purser_chains::evm::Bytes::new();
    let transaction = Transaction {
        chain_id: CHAIN_ID,
        nonce,
        fee,
        gas_limit: 21_000,
        to,
        value: U256::ZERO,
        data,
    };
    let signed = transaction.sign(&h.key).unwrap();
    (signed.bytes, signed.hash)
}

// Checks: the texts of a real node.
#[tokio::test]
async fn replies_of_the_node_are_understood() {
    let Some(h) = Harness::start(0).await else { return };
    let fee = h.node.fees(POLICY).await.unwrap().fee;
    let send = async |nonce, fee| {
        let (bytes, hash) = foreign_transaction(&h, nonce, fee).await;
        h.node.send_raw(&bytes, hash).await.remove(0)
    };
    assert_eq!(send(0, fee).await.reply, SendReply::Accepted);
    assert_eq!(send(0, fee).await.reply, SendReply::AlreadyKnown);
    let lower = Fee {
        max_fee: fee.max_fee - 1,
        max_priority_fee: fee.max_priority_fee - 1,
    };
    assert_eq!(send(0, lower).await.reply, SendReply::ReplacementUnderpriced);
    h.anvil.mine(1).await;
    assert_eq!(send(0, fee).await.reply, SendReply::NonceTooLow);
    let low = Fee {
        max_fee: 1,
        max_priority_fee: 1,
    };
    let answer = send(1, low).await;
    assert!(
        matches!(answer.reply, SendReply::FeeTooLow | SendReply::Accepted),
        "{answer:?}"
    );
    h.anvil
        .control("anvil_setBalance", json!([hex(h.key.address()), "0x0"]))
        .await;
    assert_eq!(send(1, fee).await.reply, SendReply::InsufficientFunds);
}

// Checks: a base fee ×100 holds a transaction up until it is replaced; one of both lands.
#[tokio::test]
async fn transaction_below_the_base_fee_is_replaced() {
    let Some(mut h) = Harness::start(2).await else { return };
    h.send(&single(0)).await;
    h.send(&single(1)).await;
    let base_fee = h.node.fees(POLICY).await.unwrap().base_fee * 100;
    h.anvil
        .control("anvil_setNextBlockBaseFeePerGas", json!([hex(base_fee)]))
        .await;
    h.anvil.mine(1).await;
    h.step(1_000).await;
    assert!(h.movements_of(0).is_empty() && h.movements_of(1).is_empty());
    h.step(12_000).await;
    assert!(h.rows.values().all(|row| row.attempts.len() == 2), "{:?}", h.rows);
    h.anvil.mine(1).await;
    h.step(1_000).await;
    h.assert_settled_once(&[0, 1]).await;
}

// Checks: a pool that forgets, and drops the later nonces too: everything is sent again.
#[tokio::test]
async fn forgotten_transactions_are_sent_again() {
    let Some(mut h) = Harness::start(3).await else { return };
    for payment in 0..3 {
        h.send(&single(payment)).await;
    }
    let hash = h.rows[&0].current().unwrap().hash;
    h.anvil.control("anvil_dropTransaction", json!([hex(hash)])).await;
    h.anvil.mine(1).await;
    h.step(1_000).await;
    assert!(h.movements.is_empty());
    h.step(4_000).await;
    h.anvil.mine(1).await;
    h.step(1_000).await;
    h.assert_settled_once(&[0, 1, 2]).await;
}

// Checks: a process that ends between storing and sending, and one that loses a reservation below a stored row.
#[tokio::test]
async fn start_sends_what_is_missing_and_fills_the_gap() {
    let Some(mut h) = Harness::start(3).await else { return };
    h.send(&single(0)).await;
    // Nonce 1 is reserved and never stored; 2 is stored and not sent.
    assert_eq!(h.manager.reserve(vec![1], h.now_ms), Ok(1));
    assert_eq!(h.manager.reserve(vec![2], h.now_ms), Ok(2));
    let fee = h.node.fees(POLICY).await.unwrap().fee;
    let (to, data) = h.call(&[2]);
    let transaction = Transaction {
        chain_id: CHAIN_ID,
        nonce: 2,
        fee,
        gas_limit: 150_000,
        to,
        value: U256::ZERO,
        data,
    };
    let signed = transaction.sign(&h.key).unwrap();
    let attempt = Attempt {
        hash: signed.hash,
        bytes: signed.bytes,
        fee,
        filler: false,
    };
    let row = h.manager.signed(2, attempt, h.now_ms).unwrap().clone();
    h.rows.insert(2, row);
    h.gas_limits.insert(2, 150_000);
    restart(&mut h).await;
    assert_eq!(h.manager.gaps(), 1);
    h.step(10_000).await;
    h.anvil.mine(1).await;
    h.step(1_000).await;
    h.assert_settled_once(&[0, 2]).await;
}

// Checks: another process uses the key's next nonce: our transaction cannot land; its payment is released once that is final.
#[tokio::test]
async fn nonce_used_by_another_process_releases_the_payment() {
    let Some(mut h) = Harness::start(1).await else { return };
    h.send(&single(0)).await;
    let hash = h.rows[&0].current().unwrap().hash;
    h.anvil.control("anvil_dropTransaction", json!([hex(hash)])).await;
    let fee = h.node.fees(POLICY).await.unwrap().fee;
    let (bytes, hash) = foreign_transaction(&h, 0, fee).await;
    assert_eq!(h.node.send_raw(&bytes, hash).await[0].reply, SendReply::Accepted);
    h.anvil.mine(1).await;
    h.step(5_000).await;
    h.step(5_000).await;
    assert_eq!(h.released, []);
    h.anvil.mine(12).await;
    h.step(5_000).await;
    assert_eq!(h.released, [([0].into(), ReleaseReason::ForeignTransaction)]);
    assert_eq!(h.alarms, [Alarm::ForeignTransaction { nonce: 0 }]);
    let nonce = h.send(&single(0)).await;
    assert_eq!(nonce, 1);
    h.anvil.mine(1).await;
    h.step(1_000).await;
    h.assert_settled_once(&[0]).await;
}
