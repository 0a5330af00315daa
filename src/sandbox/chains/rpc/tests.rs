#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::Signer as _;
use purser_actors::id::{Network, Wallet};
use purser_actors::port::Settlement as _;
use serde_json::{Value, json};

use crate::chains::svm::{TOKEN_PROGRAM, USDC_MINT, pubkey, token_account};
use crate::chains::tests::solana::{authorization, payer, valid_draft, wire};
use crate::chains::tests::{Harness, ready, settled};
use crate::chains::wire::Transaction;
use crate::keys::{fee_payer, fee_payer_signer, treasury};
use purser_settlement::chain::BlockhashSource as _;

async fn raw(harness: &Harness, method: &str, params: Value) -> Value {
    harness
        .chains
        .handle_rpc(json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }))
        .await
}

async fn result(harness: &Harness, method: &str, params: Value) -> Value {
    let answer = raw(harness, method, params).await;
    assert_eq!(
        (&answer["jsonrpc"], &answer["id"]),
        (&json!("2.0"), &json!(7)),
        "{answer}"
    );
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].clone()
}

async fn error_code(harness: &Harness, method: &str, params: Value) -> i64 {
    raw(harness, method, params).await["error"]["code"]
        .as_i64()
        .expect("an error")
}

fn treasury_account() -> String {
    let Wallet::Solana(owner) = treasury(Network::Solana) else {
        panic!("not a Solana treasury")
    };
    bs58::encode(token_account(&owner)).into_string()
}

/// A valid payment with both signatures, as an observer of the broadcast sees it.
fn fully_signed(bytes: &[u8]) -> String {
    let mut transaction = Transaction::parse(bytes).unwrap();
    transaction.signatures[0] = fee_payer_signer().sign(&transaction.message).to_bytes();
    BASE64.encode(transaction.wire())
}

// The stock client reads the mint: its owner program and the 82 bytes with 6 decimals at byte 44.
#[tokio::test]
async fn the_mint_has_the_token_programs_layout() {
    let harness = Harness::new();
    let answer = result(&harness, "getAccountInfo", json!([USDC_MINT, { "encoding": "base64" }])).await;
    let value = &answer["value"];
    assert_eq!((&value["owner"], &value["space"]), (&json!(TOKEN_PROGRAM), &json!(82)));
    assert_eq!(value["data"][1], "base64");
    let data = BASE64.decode(value["data"][0].as_str().unwrap()).unwrap();
    assert_eq!((data.len(), data[44], data[45]), (82, 6, 1));
    let parsed = result(
        &harness,
        "getAccountInfo",
        json!([USDC_MINT, { "encoding": "jsonParsed" }]),
    )
    .await;
    assert_eq!(parsed["value"]["data"]["parsed"]["info"]["decimals"], 6);
    let slice = json!([USDC_MINT, { "encoding": "base64", "dataSlice": { "offset": 44, "length": 1 } }]);
    assert_eq!(
        result(&harness, "getAccountInfo", slice).await["value"]["data"][0],
        BASE64.encode([6])
    );
}

// Token accounts are 165 bytes with mint, owner and amount. A missing one is null, and its balance is an error.
#[tokio::test]
async fn token_accounts_show_what_the_ledger_holds() {
    let harness = Harness::new();
    settled(
        harness
            .pay(&authorization(&valid_draft(&harness.chains, 5_250_000, "one")))
            .await,
    );
    let account = treasury_account();
    let balance = result(&harness, "getTokenAccountBalance", json!([account])).await;
    let expected = json!({ "amount": "5250000", "decimals": 6, "uiAmount": 5.25, "uiAmountString": "5.25" });
    assert_eq!(balance["value"], expected);
    let both = json!([[account, bs58::encode([9; 32]).into_string()], { "encoding": "base64" }]);
    let both = result(&harness, "getMultipleAccounts", both).await;
    let data = BASE64.decode(both["value"][0]["data"][0].as_str().unwrap()).unwrap();
    assert_eq!(
        (data.len(), &data[..32], &data[64..72]),
        (165, &pubkey(USDC_MINT)[..], &5_250_000u64.to_le_bytes()[..])
    );
    assert_eq!((data[108], both["value"][1].clone()), (1, Value::Null));
    let unknown = json!([bs58::encode([9; 32]).into_string()]);
    assert_eq!(error_code(&harness, "getTokenAccountBalance", unknown).await, -32602);
    let owner = bs58::encode(payer().verifying_key().to_bytes()).into_string();
    let of_mint = json!([owner, { "mint": USDC_MINT }, { "encoding": "jsonParsed" }]);
    let owned = result(&harness, "getTokenAccountsByOwner", of_mint).await;
    assert_eq!(
        owned["value"][0]["account"]["data"]["parsed"]["info"]["owner"],
        json!(owner)
    );
    let foreign = json!([owner, { "mint": "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB" }, {}]);
    assert_eq!(error_code(&harness, "getTokenAccountsByOwner", foreign).await, -32602);
}

// A block hash from the chain equals the challenge's, is valid for 150 slots, and then expires.
#[tokio::test]
async fn block_hashes_live_150_slots() {
    let harness = Harness::new();
    let latest = result(&harness, "getLatestBlockhash", json!([{ "commitment": "finalized" }])).await;
    let hint = harness.chains.newest().unwrap();
    assert_eq!(
        latest["value"]["blockhash"],
        json!(bs58::encode(hint.hash).into_string())
    );
    assert_eq!(
        latest["value"]["lastValidBlockHeight"],
        json!(hint.last_valid_block_height)
    );
    let height = result(&harness, "getBlockHeight", json!([])).await.as_u64().unwrap();
    assert_eq!(height + 150, hint.last_valid_block_height);
    harness.clock.advance(150 * 400);
    let valid =
        |harness, hash| async move { result(harness, "isBlockhashValid", json!([hash])).await["value"].clone() };
    assert_eq!(
        valid(&harness, bs58::encode(hint.hash).into_string().clone()).await,
        true
    );
    harness.clock.advance(400);
    assert_eq!(valid(&harness, bs58::encode(hint.hash).into_string()).await, false);
    assert!(result(&harness, "getBlockHeight", json!([])).await.as_u64().unwrap() > height + 150);
}

// case_10: an observer sends the signed transaction first; the service recognises it as its own payment.
#[tokio::test]
async fn case_10_an_observer_may_send_first() {
    let harness = Harness::new();
    let draft = valid_draft(&harness.chains, 5_000_000, "one");
    let payment = authorization(&draft);
    let prepared = ready(harness.chains.prepare(&payment).await);
    let signed = fully_signed(&wire(&draft));
    let base64 = json!({ "encoding": "base64" });
    let simulated = result(&harness, "simulateTransaction", json!([signed, base64])).await;
    assert_eq!(simulated["value"]["err"], Value::Null);
    let sent = result(&harness, "sendTransaction", json!([signed, base64])).await;
    assert_eq!(sent, json!(prepared.transaction));
    let status = result(&harness, "getSignatureStatuses", json!([[sent, "unknown"]])).await;
    assert_eq!(status["value"][0]["confirmationStatus"], "finalized");
    assert_eq!(status["value"][1], Value::Null);
    harness.chains.finalize_after(Duration::from_secs(1));
    let status = result(&harness, "getSignatureStatuses", json!([[sent]])).await;
    assert_eq!(status["value"][0]["confirmationStatus"], "confirmed", "not final yet");
    assert_eq!(
        settled(harness.chains.submit(&payment, &prepared).await),
        prepared.transaction
    );
    assert_eq!(
        error_code(&harness, "sendTransaction", json!([signed, base64])).await,
        -32002
    );
    let balance = harness.chains.balance(&treasury(Network::Solana)).await.unwrap();
    assert_eq!(balance.atomic(), 5_000_000, "moved once");
}

// A transaction that cannot execute is rejected before it is sent, with the runtime's own error.
#[tokio::test]
async fn transaction_that_cannot_execute_is_rejected() {
    let harness = Harness::new();
    let base64 = json!({ "encoding": "base64" });
    let draft = valid_draft(&harness.chains, u64::MAX, "rich");
    let answer = raw(
        &harness,
        "sendTransaction",
        json!([fully_signed(&wire(&draft)), base64]),
    )
    .await;
    assert_eq!(answer["error"]["code"], -32002);
    assert_eq!(
        answer["error"]["data"]["err"],
        json!({ "InstructionError": [2, { "Custom": 1 }] })
    );
    let half = BASE64.encode(wire(&valid_draft(&harness.chains, 1, "half")));
    assert_eq!(
        error_code(&harness, "sendTransaction", json!([half, base64])).await,
        -32003
    );
    let mut mint = valid_draft(&harness.chains, 1, "mint");
    mint.mint = [3; 32];
    let answer = raw(&harness, "sendTransaction", json!([fully_signed(&wire(&mint)), base64])).await;
    assert_eq!(
        answer["error"]["data"]["err"],
        json!({ "InstructionError": [2, { "Custom": 3 }] })
    );
    harness.clock.advance(200 * 400);
    let dead = json!([fully_signed(&wire(&draft)), base64]);
    assert_eq!(
        result(&harness, "simulateTransaction", dead).await["value"]["err"],
        "BlockhashNotFound"
    );
}

// case_15: invalid requests get the errors of JSON-RPC. A batch is answered in order, and rejected above its limit.
#[tokio::test]
async fn case_15_invalid_requests_get_their_error() {
    let harness = Harness::new();
    let call = |method: &str| json!({ "jsonrpc": "2.0", "id": method, "method": method });
    let batch = harness
        .chains
        .handle_rpc(json!([call("getHealth"), call("noSuchMethod"), 5, call("getVersion")]))
        .await;
    assert_eq!(batch[0], json!({ "jsonrpc": "2.0", "id": "getHealth", "result": "ok" }));
    assert_eq!(
        batch[1]["error"],
        json!({ "code": -32601, "message": "Method not found" })
    );
    assert_eq!(
        (&batch[2]["error"]["code"], &batch[2]["id"]),
        (&json!(-32600), &Value::Null)
    );
    assert_eq!(batch[3]["id"], "getVersion");
    let many: Vec<_> = (0..101).map(|_| call("getHealth")).collect();
    for request in [
        json!([]),
        json!(many),
        json!({}),
        json!({ "method": "getHealth" }),
        Value::Null,
    ] {
        assert_eq!(harness.chains.handle_rpc(request).await["error"]["code"], -32600);
    }
    let long = "1".repeat(100_000);
    for (method, params) in [
        ("getBalance", json!([])),
        ("getBalance", json!(["0OIl"])),
        ("getBalance", json!(["11111111"])),
        ("getBalance", json!({ "a": 1 })),
        ("getAccountInfo", json!([USDC_MINT, { "encoding": "base64+zstd" }])),
        ("getAccountInfo", json!([long])),
        ("getMultipleAccounts", json!([vec![USDC_MINT; 101]])),
        ("getSignatureStatuses", json!([vec!["x"; 257]])),
        ("sendTransaction", json!([long])),
        ("simulateTransaction", json!(["AAAA", { "encoding": "base64" }])),
        ("getMinimumBalanceForRentExemption", json!([u64::MAX])),
    ] {
        assert_eq!(error_code(&harness, method, params.clone()).await, -32602, "{method}");
    }
    assert_eq!(
        result(&harness, "getMinimumBalanceForRentExemption", json!([165])).await,
        2_039_280
    );
    let payer = bs58::encode(fee_payer()).into_string();
    assert!(
        result(&harness, "getBalance", json!([payer])).await["value"]
            .as_u64()
            .unwrap()
            > 0
    );
}
