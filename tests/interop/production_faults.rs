//! Attacks and faults of payments on the real chains, through the whole service: invalid signatures, foreign
//! submissions and transfers without a purchase.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::system::SystemEntropy;
use purser::wallet::payment::SigningContext;
use purser::wallet::{PaymentRequired, TestWallet};
use purser_actors::id::Network;
use purser_actors::port::{Clock as _, Timestamp};
use purser_chains::evm::usdc::{Authorization, transfer_bytes_call};
use purser_chains::evm::{Address, U256};
use serde_json::{Value, json};

use crate::local_chains::{BASE_USDC, ETHER, LocalChains, Production, until};
use crate::production::{ORDER, PRICE, ended, signed, wallet};
use crate::text;

const STRANGER: &str = "0x00000000000000000000000000000000000a11ce";

/// The challenge for an order, as JSON.
async fn challenge(production: &Production) -> Value {
    let (status, headers, body) = production.purser.get(ORDER, &[]).await;
    assert_eq!(status, 402, "{body}");
    let json = STANDARD.decode(headers["payment-required"].as_bytes()).unwrap();
    serde_json::from_slice(&json).unwrap()
}

/// A payment for a challenge, signed at a time.
fn signed_payment(wallet: &TestWallet, challenge: &Value, now: Timestamp) -> String {
    let header = STANDARD.encode(challenge.to_string());
    let required = PaymentRequired::from_header(header.as_bytes()).unwrap();
    let offer = required.choose(Some(Network::Base)).unwrap();
    let circumstances = SigningContext {
        now,
        entropy: &SystemEntropy,
        blockhash: None,
    };
    wallet.pay(&required, &offer, &circumstances).unwrap()
}

/// The service's answer to a payment that it refuses: its reason, in a new challenge or, of a payment that may be sent
/// again, in the body.
async fn rejection_reason(production: &Production, payment: &str) -> String {
    let headers = [("payment-signature", payment)];
    let (status, headers, body) = production.purser.get(ORDER, &headers).await;
    assert_eq!(status, 402, "{body}");
    let Some(header) = headers.get("payment-required") else {
        return body.to_string();
    };
    let required: Value = serde_json::from_slice(&STANDARD.decode(header.as_bytes()).unwrap()).unwrap();
    text(&required["error"]).to_owned()
}

/// Sends a transaction from an impersonated address on Base.
async fn sent_by(chains: &LocalChains, from: &str, data: Vec<u8>) -> String {
    chains.base("anvil_impersonateAccount", json!([from])).await;
    chains.base("anvil_setBalance", json!([from, ETHER])).await;
    let data = format!("0x{}", hex::encode(data));
    let transaction = json!({"from": from, "to": BASE_USDC, "data": data, "gas": "0x30d40"});
    let hash = chains.base("eth_sendTransaction", json!([transaction])).await;
    let hash = text(&hash).to_owned();
    until("it is in a block", async || {
        let receipt = chains.base("eth_getTransactionReceipt", json!([hash])).await;
        (receipt["status"] == "0x1").then_some(())
    })
    .await;
    hash
}

/// Another party that has seen a payment submits it to the chain.
async fn observed(chains: &LocalChains, payment: &str) {
    let payment: Value = serde_json::from_slice(&STANDARD.decode(payment).unwrap()).unwrap();
    let payload = &payment["payload"];
    let field = |name: &str| text(&payload["authorization"][name]).to_owned();
    let number = |name: &str| field(name).parse::<U256>().unwrap();
    let authorization = Authorization {
        from: field("from").parse().unwrap(),
        to: field("to").parse().unwrap(),
        value: number("value"),
        valid_after: number("validAfter"),
        valid_before: number("validBefore"),
        nonce: field("nonce").parse().unwrap(),
    };
    let signature = hex::decode(text(&payload["signature"]).trim_start_matches("0x")).unwrap();
    let data = transfer_bytes_call(&authorization, &signature).unwrap();
    sent_by(chains, STRANGER, data).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_05_06_mismatched_or_expired_payment_moves_nothing_on_real_chains() {
    // Checks: an amount one unit short or long, another recipient, and an expired payment are each rejected with their
    // own reason. No money moves. `purser trigger` buys nothing on real chains without an explicit flag.
    const VALUE: &str = "invalid_exact_evm_payload_authorization_value_mismatch";
    let Some(production) = Production::start().await else {
        return;
    };
    let wallet = wallet("signs wrong", &production).await;
    let good = challenge(&production).await;
    let now = purser::system::SystemClock.now();
    let changed = |name: &str, value: String| {
        let mut challenge = good.clone();
        for offer in challenge["accepts"].as_array_mut().unwrap() {
            if text(&offer["network"]).starts_with("eip155:") {
                offer[name] = json!(value);
            }
        }
        signed_payment(&wallet, &challenge, now)
    };
    let short = changed("amount", (PRICE - 1).to_string());
    let long = changed("amount", (PRICE + 1).to_string());
    let other_recipient = changed("payTo", STRANGER.to_owned());
    let late = signed_payment(&wallet, &good, Timestamp(now.0 - 3_600_000));
    let mut reasons = Vec::new();
    for payment in [&short, &long, &other_recipient, &late] {
        reasons.push(rejection_reason(&production, payment).await);
    }
    let expected = [
        VALUE,
        VALUE,
        "invalid_exact_evm_recipient_mismatch",
        "invalid_exact_evm_payload_authorization_valid_before",
    ];
    for (reason, expected) in reasons.iter().zip(expected) {
        assert!(reason.contains(expected), "{reasons:?}");
    }
    let url = production.purser.url("");
    let triggered = production.client(&["trigger", "intl_order.queued", "--url", &url]);
    assert_eq!(triggered.status.code(), Some(2), "{triggered:?}");
    assert!(
        String::from_utf8_lossy(&triggered.stderr).contains("--yes"),
        "{triggered:?}"
    );
    assert_eq!(production.treasury("base").await, 0);
    let has = production
        .chains
        .usdc_balance("base", &wallet.address(Network::Base))
        .await;
    assert_eq!(has, 1_000_000_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_07_slow_settlement_is_fulfilled_once_it_is_on_chain() {
    // Checks: a payment is sent, but no block comes while the request waits. The response is 202 without a new
    // challenge. Presented again it is the same purchase, and one transfer settles it once there are blocks.
    let Some(mut production) = Production::start().await else {
        return;
    };
    let wallet = wallet("waits for a block", &production).await;
    let payment = signed(&production, &wallet, Network::Base).await;
    production.chains.base("evm_setIntervalMining", json!([0])).await;
    let headers = [("payment-signature", payment.as_str())];
    for _ in 0..2 {
        let (status, headers, body) = production.purser.get(ORDER, &headers).await;
        assert_eq!(status, 202, "{body}");
        assert!(!headers.contains_key("payment-required"));
    }
    assert_eq!(production.treasury("base").await, 0);
    production.chains.base("evm_setIntervalMining", json!([1])).await;
    assert_eq!(ended(&production, ORDER, &payment).await, 200);
    assert_eq!(production.treasury("base").await, PRICE);
    production.purser.stop().await;
    production.offline("verify");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_09_10_payment_submitted_by_another_party_counts_on_real_chains() {
    // Checks: a payment declined for lack of money settles later through a stranger, and another settles before it is
    // presented. Each buys once when presented, with its one transfer.
    let Some(mut production) = Production::start().await else {
        return;
    };
    let wallet = wallet("is observed", &production).await;
    let address = wallet.address(Network::Base);
    let payments = [
        signed(&production, &wallet, Network::Base).await,
        signed(&production, &wallet, Network::Base).await,
    ];
    production.chains.set_base_usdc(&address, PRICE - 1).await;
    let reason = rejection_reason(&production, &payments[0]).await;
    assert!(reason.contains("insufficient_funds"), "{reason}");
    production.chains.set_base_usdc(&address, 1_000_000_000).await;
    for payment in &payments {
        observed(&production.chains, payment).await;
        // Until its block is read it lacks the money that it has paid, as far as the service knows.
        until("it has bought", async || {
            let headers = [("payment-signature", payment.as_str())];
            let (status, _, body) = production.purser.get(ORDER, &headers).await;
            assert!(matches!(status, 200 | 202 | 402 | 503), "{status}: {body}");
            (status == 200).then_some(())
        })
        .await;
    }
    assert_eq!(production.treasury("base").await, 2 * PRICE);
    assert_eq!(
        production.chains.usdc_balance("base", &address).await,
        1_000_000_000 - 2 * PRICE
    );
    production.purser.stop().await;
    production.offline("verify");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_34_unmatched_deposit_is_reported_on_real_chains() {
    // Checks: a plain transfer to the treasury becomes a discrepancy with its transaction once it is final. An operator
    // decides about it. No account is credited, and the ledger stays correct.
    let Some(chains) = LocalChains::start().await else {
        return;
    };
    let both = |url: String| vec![url.replace("127.0.0.1", "localhost"), url];
    let endpoints = chains.urls().map(both);
    let mut production = Production::start_at(chains, &endpoints, "safe", 1_000).await;
    let wallet = wallet("sends plainly", &production).await;
    let treasury: Address = text(&production.keys["base"]["treasury"]).parse().unwrap();
    // transfer(address,uint256).
    let mut data = vec![0xa9, 0x05, 0x9c, 0xbb];
    data.extend_from_slice(treasury.into_word().as_slice());
    data.extend(U256::from(5_000_000_u64).to_be_bytes::<32>());
    let hash = sent_by(&production.chains, &wallet.address(Network::Base), data).await;
    until("it waits for an operator", async || {
        let page = production.metrics().await;
        let waits = |line: &str| line.starts_with("purser_incoming_transfers{state=\"waiting\"} 1");
        page.lines().any(waits).then_some(())
    })
    .await;
    production.purser.stop().await;
    let proved = production.command(&["verify", "--json"]);
    let report: Value = serde_json::from_slice(&proved.stdout).unwrap();
    assert!(proved.status.success(), "{report:#}");
    assert_eq!(report["unclaimed_transfers"], 1);
    let compared = production.command(&["reconcile", "--json"]);
    assert!(!compared.status.success());
    let report: Value = serde_json::from_slice(&compared.stdout).unwrap();
    let differ = report["discrepancies"].as_array().unwrap();
    let listed: Vec<_> = differ
        .iter()
        .map(|one| (text(&one["kind"]), text(&one["key"])))
        .collect();
    assert_eq!(listed, [("unmatched_deposit", hash.as_str())], "{report:#}");
}
