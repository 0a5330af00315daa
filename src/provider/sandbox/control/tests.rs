#![allow(clippy::unwrap_used, clippy::expect_used)]

use purser_actors::port::{Clock, Entropy, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::sandbox::IssuerSettings;
use purser_sandbox::chains::DEFAULT_GRANT;
use purser_sandbox::test_store::store_in;

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp(1_768_473_000_000)
    }
}

impl Entropy for Fixed {
    fn random(&self) -> u128 {
        7
    }
}

fn control() -> (TempDir, SandboxControl) {
    let dir = tempfile::tempdir().unwrap();
    let store = store_in(dir.path());
    let settlement = SandboxSettlement::open(&store, DEFAULT_GRANT, Arc::new(Fixed), &Fixed).unwrap();
    let issuer = SandboxIssuer::open(&store, IssuerSettings::default(), Arc::new(Fixed)).unwrap();
    (dir, SandboxControl::new(Arc::new(settlement), Arc::new(issuer)))
}

fn chain_request(value: Value) -> ChainFaultRequest {
    serde_json::from_value(value).unwrap()
}

// A plain transfer moves an amount between two wallets; in a shared transaction each transfer has its own index.
#[tokio::test]
async fn plain_transfers_share_a_transaction_when_requested() {
    let (_dir, sandbox_control) = control();
    for (from, to, network) in [
        (Wallet::Evm([1; 20]), Wallet::Evm([2; 20]), "base"),
        (Wallet::Solana([1; 32]), Wallet::Solana([2; 32]), "solana"),
    ] {
        let sent = async |amount: &str, from: Wallet| {
            let request = FaucetRequest {
                wallet: to.address(),
                amount: amount.into(),
                from: Some(from.address()),
            };
            sandbox_control.faucet(&request).await.map(|balance| balance.atomic)
        };
        assert_eq!(sent("1", from).await.unwrap(), 10_001_000_000);
        let on = chain_request(json!({ "fault": "together", "network": network }));
        sandbox_control.set_chain_fault(&on).await.unwrap();
        for _ in 0..2 {
            sent("2", from).await.unwrap();
        }
        let off = chain_request(json!({ "fault": "clear", "network": network }));
        sandbox_control.set_chain_fault(&off).await.unwrap();
        sent("3", from).await.unwrap();
        for (amount, from, param) in [
            ("20000", from, "amount"),
            ("1", Wallet::Evm([3; 20]), "from"),
            ("1", Wallet::Solana([3; 32]), "from"),
        ] {
            if param == "from" && from.network() == to.network() {
                continue;
            }
            let refused = sent(amount, from).await;
            assert!(matches!(refused, Err(ControlError::Invalid { param: p, .. }) if p == param));
        }
        let asked = TransfersRequest {
            network: Some(if network == "base" {
                NetworkParam::Base
            } else {
                NetworkParam::Solana
            }),
            after: None,
            limit: None,
        };
        let all = sandbox_control.transfers(&asked).await.unwrap().transfers;
        let places: Vec<_> = all.iter().map(|one| (one.amount, one.index)).collect();
        assert_eq!(places, [(1_000_000, 0), (2_000_000, 0), (2_000_000, 1), (3_000_000, 0)]);
        assert_eq!(all[1].id, all[2].id);
        let mut ids: Vec<_> = all.iter().map(|one| &one.id).collect();
        ids.dedup();
        assert_eq!(ids.len(), 3);
        let mut marks: Vec<_> = all.iter().map(|one| &one.nonce_or_message).collect();
        marks.sort();
        marks.dedup();
        assert_eq!(marks.len(), 4, "each is known by itself");
    }
}

// A new wallet has its grant on both chains; the faucet adds to it and nothing else.
#[tokio::test]
async fn the_faucet_adds_to_the_grant() {
    let (_dir, sandbox_control) = control();
    for (wallet, network) in [(Wallet::Evm([1; 20]), "base"), (Wallet::Solana([1; 32]), "solana")] {
        let wallet = wallet.address();
        let asked = BalanceRequest { wallet: wallet.clone() };
        assert_eq!(sandbox_control.balance(&asked).await.unwrap().usdc, "10000");
        let request = FaucetRequest {
            wallet: wallet.clone(),
            amount: "12.50".into(),
            from: None,
        };
        let given = sandbox_control.faucet(&request).await.unwrap();
        assert_eq!((given.network, given.atomic), (network, 10_012_500_000));
        assert_eq!(sandbox_control.balance(&asked).await.unwrap(), given);
        for amount in ["0", "-1", "1e3", "1000000000.01", "99999999999999999", "0.001"] {
            let request = FaucetRequest {
                wallet: wallet.clone(),
                amount: amount.into(),
                from: None,
            };
            assert!(
                matches!(
                    sandbox_control.faucet(&request).await,
                    Err(ControlError::Invalid { param: "amount", .. })
                ),
                "{amount}"
            );
        }
    }
    let state = sandbox_control.state().await.unwrap();
    assert_eq!(
        state.chains.iter().map(|c| c.minted_atomic).collect::<Vec<_>>(),
        [10_012_500_000; 2]
    );
    let wrong = sandbox_control
        .balance(&BalanceRequest {
            wallet: "1".repeat(5_000),
        })
        .await;
    assert!(matches!(wrong, Err(ControlError::Invalid { param: "wallet", .. })));
}

// Injected faults show in the state, chain by chain, and clear removes all of them.
#[tokio::test]
async fn faults_show_and_clear() {
    let (_dir, sandbox_control) = control();
    let wallet = Wallet::Evm([1; 20]).address();
    let request = json!({ "fault": "decline", "wallet": wallet, "times": 3, "reason": "insufficient_funds" });
    let state = sandbox_control.set_chain_fault(&chain_request(request)).await.unwrap();
    let expected = PendingFault {
        fault: "decline",
        wallet: Some(wallet),
        remaining: Some(3),
    };
    assert_eq!(
        (state.chains[0].faults.clone(), state.chains[1].faults.len()),
        (vec![expected], 0)
    );
    let forever = json!({ "fault": "slow", "delay_ms": 5, "times": 0 });
    let state = sandbox_control.set_chain_fault(&chain_request(forever)).await.unwrap();
    assert_eq!(state.chains[1].faults[0].remaining, None);
    let held = sandbox_control
        .set_chain_fault(&chain_request(json!({ "fault": "hold", "network": "solana" })))
        .await
        .unwrap();
    assert_eq!((held.chains[0].held, held.chains[1].held), (false, true));
    let issuer: IssuerFaultRequest = serde_json::from_value(json!({ "fault": "malformed_response" })).unwrap();
    assert_eq!(
        sandbox_control.set_issuer_fault(&issuer).await.unwrap().issuer.faults[0].fault,
        "malformed_response"
    );
    let issuer: IssuerFaultRequest = serde_json::from_value(json!({ "fault": "clear" })).unwrap();
    assert!(
        sandbox_control
            .set_issuer_fault(&issuer)
            .await
            .unwrap()
            .issuer
            .faults
            .is_empty()
    );
    let clear = sandbox_control
        .set_chain_fault(&chain_request(json!({ "fault": "clear" })))
        .await
        .unwrap();
    assert!(clear.chains.iter().all(|c| c.faults.is_empty() && !c.held));
}

// A field that is invalid, or belongs to another fault, is rejected by name and nothing changes.
#[tokio::test]
async fn invalid_control_requests_change_nothing() {
    let (_dir, sandbox_control) = control();
    let evm = Wallet::Evm([1; 20]).address();
    for (request, expected) in [
        (json!({ "fault": "slow", "delay_ms": 600_001 }), "delay_ms"),
        (json!({ "fault": "decline", "delay_ms": 5 }), "delay_ms"),
        (json!({ "fault": "slow", "reason": "x" }), "reason"),
        (json!({ "fault": "decline", "reason": "Not a word" }), "reason"),
        (json!({ "fault": "hold", "times": 2 }), "fault"),
        (
            json!({ "fault": "front_run", "wallet": evm, "network": "solana" }),
            "wallet",
        ),
        (json!({ "fault": "front_run", "wallet": "0x12" }), "wallet"),
    ] {
        match sandbox_control.set_chain_fault(&chain_request(request)).await {
            Err(ControlError::Invalid { param, .. }) => assert_eq!(param, expected),
            other => panic!("{other:?}"),
        }
    }
    assert!(serde_json::from_value::<ChainFaultRequest>(json!({ "fault": "slow", "sm": 1 })).is_err());
    assert!(
        sandbox_control
            .state()
            .await
            .unwrap()
            .chains
            .iter()
            .all(|c| c.faults.is_empty() && !c.held)
    );
    let page = TransfersRequest {
        network: None,
        after: None,
        limit: Some(1_001),
    };
    assert!(matches!(
        sandbox_control.transfers(&page).await,
        Err(ControlError::Invalid { param: "limit", .. })
    ));
}

// The table of magic amounts names each amount once per target.
#[test]
fn magic_amounts_are_listed_once() {
    let (_dir, sandbox_control) = control();
    let magic = sandbox_control.magic_values();
    let mut amounts: Vec<_> = magic.iter().map(|m| m.amount.as_str()).collect();
    assert!(
        ["6.66", "7.77", "8.88", "9.99", "13.01"]
            .iter()
            .all(|a| amounts.contains(a)),
        "{amounts:?}"
    );
    amounts.sort_unstable();
    amounts.dedup();
    assert_eq!(amounts.len(), magic.len());
}
