//! Payments that wait together.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use purser::settlement::evm::BaseSettings;
use purser_actors::port::{ChainStatus, Preparation, SubmitResult};
use purser_chains::evm::U256;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::base::harness::{Harness, VALUE, hex, key, payer, treasury, until};

/// A world whose gas key has one transaction on its way, so that all others wait together.
async fn held(payers: usize) -> Option<(Harness, JoinHandle<SubmitResult>)> {
    let mut w = Harness::closed(payers).await?;
    let settings = BaseSettings {
        max_in_flight: 1,
        // It lands when the test says so, and not because it was replaced.
        replace_ms: 600_000,
        ..w.settings()
    };
    let port = w.try_open(settings).await.unwrap();
    w.port = Some(Arc::new(port));
    w.read().await;
    w.prepare(&w.payment(0)).await;
    let first = w.submit(&w.payment(0));
    w.in_pool(1).await;
    Some((w, first))
}

async fn submit_all(w: &Harness, payers: std::ops::Range<usize>) -> Vec<JoinHandle<SubmitResult>> {
    let mut submitted = Vec::new();
    for n in payers {
        w.prepare(&w.payment(n)).await;
        submitted.push(w.submit(&w.payment(n)));
    }
    until("all wait", async || {
        let loads: usize = w.port().loads().iter().map(|(_, load)| load).sum();
        (loads == submitted.len() + 1).then_some(())
    })
    .await;
    submitted
}

fn transaction(submitted: SubmitResult) -> String {
    match submitted {
        SubmitResult::Settled { transaction, .. } => transaction,
        SubmitResult::Declined(decline) => panic!("{decline:?}"),
    }
}

// Checks: waiting payments share one transaction. A payer whose money has gone meanwhile is declined without gas.
#[tokio::test]
async fn waiting_payments_share_one_transaction() {
    let Some((w, first)) = held(12).await else { return };
    let submitted = submit_all(&w, 1..12).await;
    w.send_usdc(payer(5), 0).await;
    w.anvil.mine(1).await;
    first.await.unwrap();
    w.in_pool(1).await;
    w.anvil.mine(1).await;
    let mut transactions = BTreeSet::new();
    for (n, submitted) in (1..12).zip(submitted) {
        match submitted.await.unwrap() {
            SubmitResult::Settled { transaction, .. } => {
                assert_ne!(n, 5);
                transactions.insert(transaction);
            }
            SubmitResult::Declined(decline) => assert_eq!((n, &*decline.reason), (5, "insufficient_funds")),
        }
    }
    assert_eq!(transactions.len(), 1);
    let others: Vec<usize> = (0..12).filter(|n| *n != 5).collect();
    w.assert_settled_once(&others).await;
    assert_eq!(w.port().counters().transactions.load(Ordering::Relaxed), 2);
    assert_eq!(w.port().counters().gas_lost_gwei.load(Ordering::Relaxed), 0);
}

// Checks: a payer becomes a contract that uses up all gas after the batch was sent. The others cost one further
// transaction, the lost gas is counted, and the payer is declined.
#[tokio::test]
async fn case_84_hostile_payer_costs_others_one_more_transaction() {
    const HOSTILE: usize = 6;
    let Some((w, first)) = held(50).await else { return };
    let submitted = submit_all(&w, 1..50).await;
    w.anvil.mine(1).await;
    first.await.unwrap();
    w.in_pool(1).await;
    // JUMPDEST PUSH0 JUMP: never ends.
    w.anvil
        .control("anvil_setCode", json!([hex(payer(HOSTILE)), "0x5b5f56"]))
        .await;
    w.anvil.mine(1).await;
    w.in_pool(1).await;
    w.anvil.mine(1).await;
    let mut transactions = BTreeSet::new();
    for (n, submitted) in (1..50).zip(submitted) {
        match submitted.await.unwrap() {
            SubmitResult::Declined(decline) => assert_eq!(n, HOSTILE, "{decline:?}"),
            settled @ SubmitResult::Settled { .. } => drop(transactions.insert(transaction(settled))),
        }
    }
    // Those before the hostile one may have settled by the first.
    assert!((1..=2).contains(&transactions.len()), "{transactions:?}");
    let others: Vec<usize> = (0..50).filter(|n| *n != HOSTILE).collect();
    w.assert_settled_once(&others).await;
    assert_eq!(w.balance(payer(HOSTILE)).await, VALUE);
    assert!(w.port().counters().gas_lost_gwei.load(Ordering::Relaxed) > 0);
    assert_eq!(w.port().counters().transactions.load(Ordering::Relaxed), 3);
}

// Checks: a contract wallet (ERC-1271) pays with its owner's signature, in its own transaction beside the others'
// batch.
#[tokio::test]
async fn case_84_a_contract_wallet_never_shares_a_transaction() {
    const WALLET: usize = 2;
    let Some(mut w) = Harness::closed(5).await else { return };
    let contracts = include_str!("../../../src/chains/tests/anvil/contracts.json");
    let contracts: serde_json::Value = serde_json::from_str(contracts).unwrap();
    let code = &contracts["runtime"]["SmartWallet"];
    w.anvil
        .control("anvil_setCode", json!([hex(payer(WALLET)), code]))
        .await;
    let owner = format!("{:#x}", key("owner").address().into_word());
    w.anvil
        .control("anvil_setStorageAt", json!([hex(payer(WALLET)), "0x0", owner]))
        .await;
    w.anvil.mine(1).await;
    w.open().await;
    let payment = |n: usize| match n {
        WALLET => w.signed_for("owner", payer(WALLET), treasury(), VALUE, u64::from(u32::MAX), 3),
        n => w.payment(n),
    };
    let prepared: Vec<_> = (0..5).map(payment).collect();
    for payment in &prepared {
        w.prepare(payment).await;
    }
    let submitted: Vec<_> = prepared.iter().map(|payment| w.submit(payment)).collect();
    let mut transactions = Vec::new();
    for submitted in submitted {
        transactions.push(transaction(w.mined(submitted).await));
    }
    let of_wallet = transactions
        .iter()
        .filter(|other| **other == transactions[WALLET])
        .count();
    assert_eq!(of_wallet, 1, "{transactions:?}");
    assert_eq!(w.balance(treasury()).await, 5 * VALUE);
    assert!(matches!(
        w.lookup(&prepared[WALLET]).await,
        ChainStatus::Confirmed { .. }
    ));
}

// Checks: once payers with code have cost too much gas, payments of payers with code are rejected and the others
// settle. A restart keeps the gas count of each payer.
#[tokio::test]
async fn case_84_payers_with_code_share_a_budget_of_lost_gas() {
    // Accepts every signature where gas has no price, as in a check; else it uses up all gas.
    const HOSTILE: &str = "0x3a15600657fe5b631626ba7e60e01b5f5260205ff3";
    let Some(mut w) = Harness::closed(3).await else { return };
    for n in 0..2 {
        w.anvil.control("anvil_setCode", json!([hex(payer(n)), HOSTILE])).await;
    }
    w.anvil.mine(1).await;
    let open = async |w: &mut Harness| {
        let settings = BaseSettings {
            lost_gas_max: U256::ONE,
            ..w.settings()
        };
        w.port = Some(Arc::new(w.try_open(settings).await.unwrap()));
        w.read().await;
    };
    let why = async |w: &Harness, n: usize| match w.prepare(&w.payment(n)).await {
        Preparation::Declined(decline) => decline.message.to_string(),
        ready @ Preparation::Ready(_) => panic!("{ready:?}"),
    };
    open(&mut w).await;
    assert!(matches!(w.prepare(&w.payment(0)).await, Preparation::Ready(_)));
    let submitted = w.submit(&w.payment(0));
    assert!(matches!(w.mined(submitted).await, SubmitResult::Declined(_)));
    assert!(w.port().counters().gas_lost_gwei.load(Ordering::Relaxed) > 0);
    assert!(why(&w, 1).await.contains("wallets with code"));
    w.kill().await;
    open(&mut w).await;
    assert!(why(&w, 1).await.contains("wallets with code"));
    assert!(why(&w, 0).await.contains("within an hour"));
    w.prepare(&w.payment(2)).await;
    let submitted = w.submit(&w.payment(2));
    assert!(matches!(w.mined(submitted).await, SubmitResult::Settled { .. }));
    w.assert_settled_once(&[2]).await;
}
