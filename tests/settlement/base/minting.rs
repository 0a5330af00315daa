//! Messages of the bridge on Base: our own transmitter at the real address, with a test attester.

use purser::settlement::evm::{BridgeMessage, ReceivedMessage, SentMessage};
use purser_actors::money::Usdc;
use purser_actors::port::{Finality, SubmitResult};
use purser_chains::cctp::burn::BurnOrder;
use purser_chains::cctp::message::BurnMessage;
use purser_chains::cctp::{MAINNET, THRESHOLD_FAST, mint};
use purser_chains::evm::{Address, B256, Bytes};
use purser_chains::solana::address::USDC_MAINNET;
use serde_json::{Value, json};
use sha3::{Digest as _, Keccak256};
use tokio::task::JoinHandle;

use crate::base::harness::{Harness, VALUE, hex, key, until};

pub const TRANSMITTER: Address = Address::new(MAINNET.message_transmitter);
/// The fixture's holder of all roles of the token.
const ADMIN: &str = "0xa0ee7a142d267c1f36714e4a8f75612f20a79720";

/// The transmitter's code, its attester, and its allowance to mint.
pub async fn deploy_transmitter(w: &Harness) {
    let contracts: Value =
        serde_json::from_str(include_str!("../../../src/chains/tests/anvil/contracts.json")).unwrap();
    let (at, code) = (hex(TRANSMITTER), &contracts["runtime"]["Transmitter"]);
    w.anvil.control("anvil_setCode", json!([at, code])).await;
    let attester = format!("0x{:0>64}", hex::encode(key("attester").address()));
    let slot = format!("0x{:0>64}", "0");
    w.anvil.control("anvil_setStorageAt", json!([at, slot, attester])).await;
    w.anvil.control("anvil_impersonateAccount", json!([ADMIN])).await;
    w.anvil
        .control("anvil_setBalance", json!([ADMIN, "0xde0b6b3a7640000"]))
        .await;
    // keccak256("configureMinter(address,uint256)").
    let selector = &Keccak256::digest("configureMinter(address,uint256)")[..4];
    let data = format!(
        "0x{}{:0>64}{:0>64}",
        hex::encode(selector),
        hex::encode(TRANSMITTER),
        "e8d4a51000"
    );
    let transaction = json!({"from": ADMIN, "to": hex(w.token.address()), "data": data, "gas": "0x30d40"});
    w.anvil.control("eth_sendTransaction", json!([transaction])).await;
    w.anvil.mine(1).await;
}

/// A burn of 5.0005 USDC with a fee of at most 0.0005, of which 0.0004 were taken.
pub fn attested(nonce: u8, recipient: Address) -> BurnMessage {
    let order = BurnOrder {
        owner: [3; 32],
        mint: USDC_MAINNET,
        recipient: recipient.into_array(),
        amount: 5_000_500,
        max_fee: 500,
        min_finality_threshold: THRESHOLD_FAST,
    };
    BurnMessage {
        nonce: [nonce; 32],
        finality_threshold_executed: THRESHOLD_FAST,
        fee_executed: 400,
        ..BurnMessage::emitted_by(&order, &MAINNET)
    }
}

/// As Iris signs it.
pub fn signed_by(attester: &str, message: &[u8]) -> Vec<u8> {
    let digest: [u8; 32] = Keccak256::digest(message).into();
    key(attester).sign(B256::from(digest)).unwrap().to_bytes().to_vec()
}

fn sendable(message: &BurnMessage, attester: &str) -> BridgeMessage {
    let bytes = message.encode();
    BridgeMessage {
        contract: TRANSMITTER,
        nonce: message.nonce.into(),
        call: mint::receive_message(&bytes, &signed_by(attester, &bytes)),
        amount: Usdc::from_atomic(message.arrives()),
    }
}

fn send(w: &Harness, message: &BridgeMessage) -> JoinHandle<SentMessage> {
    let (port, message) = (w.port().clone(), message.clone());
    tokio::spawn(async move { port.send_message(&message).await.unwrap() })
}

async fn mined(w: &Harness, sent: JoinHandle<SentMessage>) -> SentMessage {
    until("a message is answered", async || {
        w.anvil.mine(1).await;
        sent.is_finished().then_some(())
    })
    .await;
    sent.await.unwrap()
}

async fn find(w: &Harness, message: &BridgeMessage) -> Option<ReceivedMessage> {
    let BridgeMessage {
        contract,
        nonce,
        amount,
        ..
    } = message;
    w.port().find_message(*contract, *nonce, *amount).await.unwrap()
}

async fn assert_no_rows_left(w: &Harness) {
    until("no transaction is left", async || {
        w.anvil.mine(1).await;
        let left = w.rows(b'n').await + w.rows(b'w').await + w.rows(b'x').await + w.rows(b'c').await;
        (left == 0).then_some(())
    })
    .await;
    assert_eq!(w.pending().await, 0);
}

async fn harness(payers: usize) -> Option<Harness> {
    let w = Harness::start(payers).await?;
    deploy_transmitter(&w).await;
    w.read().await;
    Some(w)
}

// Checks: a message has a row before it is in the pool. It is confirmed in its first block, final at its amount's
// depth, mints the burn less the fee, and is sent once however often it is given.
#[tokio::test]
async fn message_is_minted_once_per_nonce() {
    let Some(w) = harness(0).await else { return };
    let recipient = key("recipient").address();
    let message = sendable(&attested(1, recipient), "attester");
    assert_eq!(find(&w, &message).await, None);
    let (sent, again) = (send(&w, &message), send(&w, &message));
    w.in_pool(1).await;
    assert_eq!((w.rows(b'n').await, find(&w, &message).await), (1, None));
    w.anvil.mine(1).await;
    w.read().await;
    let seen = find(&w, &message).await.unwrap();
    assert_eq!(seen.finality, Finality::Confirmed);
    assert!(!sent.is_finished(), "a reorganisation could still remove it");
    let SentMessage::Received { transaction } = mined(&w, sent).await else {
        panic!("not taken")
    };
    assert_eq!(transaction, seen.transaction);
    assert!(matches!(
        mined(&w, again).await,
        SentMessage::Received { .. } | SentMessage::AlreadyReceived
    ));
    assert_eq!(w.balance(recipient).await, 5_000_100);
    assert_eq!(send(&w, &message).await.unwrap(), SentMessage::AlreadyReceived);
    let found = find(&w, &message).await.unwrap();
    assert_eq!((found.transaction, found.finality), (transaction, Finality::Final));
    assert_no_rows_left(&w).await;
    assert_eq!(w.balance(recipient).await, 5_000_100);
}

// Checks: a mint does not share a transaction with waiting payments.
#[tokio::test]
async fn mint_has_its_own_transaction() {
    let Some(w) = harness(3).await else { return };
    let recipient = key("recipient").address();
    let message = sendable(&attested(2, recipient), "attester");
    let mut paid = Vec::new();
    for n in 0..3 {
        w.prepare(&w.payment(n)).await;
    }
    let sent = send(&w, &message);
    for n in 0..3 {
        paid.push(w.submit(&w.payment(n)));
    }
    assert!(matches!(mined(&w, sent).await, SentMessage::Received { .. }));
    for paid in paid {
        assert!(matches!(w.mined(paid).await, SubmitResult::Settled { .. }));
    }
    let found = find(&w, &message).await.unwrap();
    let receipt = w
        .node
        .receipt(found.transaction.parse().unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(receipt.logs.iter().filter_map(mint::nonce_of).count(), 1);
    let from_us = |log: &&purser_chains::evm::usdc::Log| log.address == TRANSMITTER;
    assert_eq!(receipt.logs.iter().filter(from_us).count(), 1);
    w.assert_settled_once(&[0, 1, 2]).await;
    assert_eq!(w.balance(recipient).await, 5_000_100);
    assert_eq!(w.balance(crate::base::harness::treasury()).await, 3 * VALUE);
}

// Checks: a forged, an expired and a misdirected message cost no gas when the transmitter rejects them, and may be
// given again.
#[tokio::test]
async fn case_36_message_rejected_by_the_transmitter_costs_no_gas() {
    let Some(w) = harness(0).await else { return };
    let recipient = key("recipient").address();
    let expired = BurnMessage {
        expiration_block: 2,
        ..attested(4, recipient)
    };
    let other_recipient = BurnMessage {
        recipient: [9; 32],
        ..attested(5, recipient)
    };
    for (message, text) in [
        (sendable(&attested(3, recipient), "stranger"), "not attester"),
        (sendable(&expired, "attester"), "expired"),
        (sendable(&other_recipient, "attester"), "recipient"),
    ] {
        let SentMessage::Declined(decline) = send(&w, &message).await.unwrap() else {
            panic!("{text}")
        };
        assert_eq!(&*decline.reason, "mint_refused");
        assert!(decline.message.contains(text), "{decline:?}");
        assert_eq!(find(&w, &message).await, None);
    }
    let gas = key("gas").address();
    assert_eq!((w.pending().await, w.rows(b'n').await), (0, 0));
    let latest = purser_chains::evm::node::BlockTag::Latest;
    assert_eq!(w.node.transaction_count(gas, latest).await, Ok(0));
    // Attested again under the same nonce it is taken.
    let renewed = sendable(&attested(4, recipient), "attester");
    let sent = send(&w, &renewed);
    assert!(matches!(mined(&w, sent).await, SentMessage::Received { .. }));
}

// Checks: a mint by another party is found by its nonce, with its own transaction, also while ours is in the pool.
#[tokio::test]
async fn case_36_mint_by_another_party_counts() {
    let Some(w) = harness(0).await else { return };
    let recipient = key("recipient").address();
    let message = sendable(&attested(6, recipient), "attester");
    let sent = send(&w, &message);
    w.in_pool(1).await;
    let call = Bytes::from(message.call.clone());
    w.submit_foreign("stranger", 0, TRANSMITTER, call).await;
    let SentMessage::Received { transaction } = mined(&w, sent).await else {
        panic!("not taken")
    };
    let receipt = w.node.receipt(transaction.parse().unwrap()).await.unwrap().unwrap();
    assert!(receipt.success);
    assert_eq!(w.balance(recipient).await, 5_000_100, "once");
    assert_eq!(send(&w, &message).await.unwrap(), SentMessage::AlreadyReceived);
    assert_no_rows_left(&w).await;
}

// Checks: a killed port sent a message and the pool lost it. The next port sends it again automatically.
#[tokio::test]
async fn message_of_a_killed_port_is_sent_again() {
    let Some(mut w) = harness(0).await else { return };
    let recipient = key("recipient").address();
    let message = sendable(&attested(7, recipient), "attester");
    drop(send(&w, &message));
    w.in_pool(1).await;
    w.kill().await;
    w.anvil.control("anvil_dropAllTransactions", json!([])).await;
    assert_eq!((w.pending().await, w.rows(b'n').await), (0, 1));
    w.open().await;
    until("the message is taken", async || {
        w.anvil.mine(1).await;
        find(&w, &message)
            .await
            .filter(|taken| taken.finality == Finality::Final)
    })
    .await;
    assert_eq!(w.balance(recipient).await, 5_000_100);
    assert_no_rows_left(&w).await;
}

// Checks: a mint removed by a reorg is sent again, and counts only once it is deep enough.
#[tokio::test]
async fn a_mint_that_is_removed_is_sent_again() {
    let Some(w) = harness(0).await else { return };
    let recipient = key("recipient").address();
    let message = sendable(&attested(8, recipient), "attester");
    let sent = send(&w, &message);
    w.in_pool(1).await;
    w.anvil.mine(1).await;
    w.read().await;
    assert!(find(&w, &message).await.is_some());
    w.anvil.control("anvil_reorg", json!([1, []])).await;
    w.anvil.control("anvil_dropAllTransactions", json!([])).await;
    assert!(matches!(mined(&w, sent).await, SentMessage::Received { .. }));
    assert_eq!(w.balance(recipient).await, 5_000_100);
    assert_no_rows_left(&w).await;
}
