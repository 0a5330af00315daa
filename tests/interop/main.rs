//! Unmodified clients from the npm registry against the real binary: `@x402/fetch` with `@x402/evm` and `@x402/svm`,
//! the sign-in helpers of `@x402/extensions`, and `mppx` with both of its protocols and its validator; and a seller of
//! the published server packages in front of a managed wallet.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

mod allowed_differences;
#[path = "../../src/chains/tests/base/anvil.rs"]
#[expect(dead_code, reason = "part of it is for the tests of the ports")]
mod anvil;
#[path = "../protocol/authorizations.rs"]
mod authorizations;
mod calls;
mod chromium;
mod differential;
mod documents;
mod facilitators;
#[path = "../protocol/input.rs"]
mod input;
mod local_chains;
mod login_page;
mod node;
mod pages;
#[path = "../providers/process.rs"]
mod process;
mod production;
mod production_faults;
mod production_products;
mod products;
mod python;
mod reorgs;
mod restarts;
mod rpc_proxy;
#[path = "../../src/chains/tests/surfpool/runtime.rs"]
#[expect(dead_code, reason = "part of it is for the tests of the ports")]
mod runtime;
mod schemathesis;
#[path = "../protocol/seller.rs"]
mod seller;
mod server_process;
#[path = "../protocol/solana_drafts.rs"]
mod solana_drafts;
mod third_party_seller;
mod webhooks;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use node::Node;
use serde_json::{Value, json};
use server_process::ServerProcess;

/// 32 bytes that are a key on both chains.
const KEY: &str = "5f1c7e0a94b2d36881fe0c2b7a49d5e36c08f7b1a2d4e59360718c9fabcdef01";
const NETWORKS: [(&str, &str); 2] = [
    ("base", "eip155:8453"),
    ("solana", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"),
];

/// `@x402/fetch` whose owner allows it to spend.
fn buyer(purser: &ServerProcess, chain: &str) -> Value {
    json!({"client": "x402", "chain": chain, "key": KEY, "cap": "$1000", "rpc": purser.url("/sandbox/solana")})
}

fn statuses(call: &Value) -> Vec<u64> {
    let exchanges = call["exchanges"].as_array().unwrap();
    exchanges.iter().map(|e| e["status"].as_u64().unwrap()).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

fn receipt(headers: &Value) -> Value {
    let header = STANDARD.decode(text(&headers["payment-response"])).unwrap();
    serde_json::from_slice(&header).unwrap()
}

async fn a_card_is_bought_and_read(chain: &str, network: &str) {
    let Some(node) = Node::ready() else { return };
    let purser = ServerProcess::start();
    let call = node.call(&purser.url("/get-card?amount=5"), &buyer(&purser, chain));
    assert_eq!(statuses(&call), [402, 200], "{call:#}");
    let (bought, payer) = (&call["body"], text(&call["wallet"]));
    assert_eq!(bought["status"], "pending");
    assert_eq!(text(&bought["user_id"]), payer.to_lowercase());
    let receipt = receipt(&call["headers"]);
    assert_eq!(
        (&receipt["success"], &receipt["network"]),
        (&json!(true), &json!(network)),
        "{receipt}"
    );

    let moved = purser.transfers(chain).await;
    assert_eq!(moved.len(), 1, "{moved:?}");
    assert_eq!(
        (&moved[0]["amount"], &moved[0]["id"]),
        (&json!(5_000_000), &receipt["transaction"])
    );
    assert!(text(&moved[0]["from"]).eq_ignore_ascii_case(payer));

    let (card_id, tokens) = (text(&bought["card_id"]), &bought["auth"]);
    let card = purser.card(card_id, text(&tokens["id_token"])).await;
    assert_eq!(card["status"], "ready", "{card}");
    for detail in ["card_number", "cvv", "exp_month", "exp_year"] {
        assert!(!card["card_details"][detail].is_null(), "{detail}: {card}");
    }

    // The tokens renew themselves, and the new one reads the same card.
    let refresh = json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]});
    let (status, renewed) = purser.post("/auth", &refresh).await;
    assert_eq!(status, 200, "{renewed}");
    assert_ne!(renewed["refresh_token"], tokens["refresh_token"]);
    assert_eq!(
        purser.card(card_id, text(&renewed["id_token"])).await["status"],
        "ready"
    );

    // The same header again: the same card, no credentials, no second transfer.
    let paid = &call["exchanges"][1]["sent"];
    let header = text(&paid["payment-signature"]);
    let (status, _, again) = purser.get("/get-card?amount=5", &[("payment-signature", header)]).await;
    assert_eq!((status, &again["card_id"]), (200, &bought["card_id"]), "{again}");
    assert!(again.get("auth").is_none(), "{again}");
    assert_eq!(purser.transfers(chain).await.len(), 1);
}

#[tokio::test]
async fn stock_x402_buys_a_card_on_base() {
    // Checks: one 402, one payment, one transfer on chain, and a card that its tokens can read. A replay buys nothing.
    a_card_is_bought_and_read(NETWORKS[0].0, NETWORKS[0].1).await;
}

#[tokio::test]
async fn stock_x402_buys_a_card_on_solana() {
    a_card_is_bought_and_read(NETWORKS[1].0, NETWORKS[1].1).await;
}

#[tokio::test]
async fn stock_x402_pays_on_solana_with_and_without_the_blockhash_hint() {
    // Checks: with the hint the client does not fetch a blockhash. Without it the sandbox's chain returns one, and the
    // payment is accepted too.
    let Some(node) = Node::ready() else { return };
    let purser = ServerProcess::start();
    let mut options = buyer(&purser, "solana");
    for asks in [false, true] {
        options["withoutBlockhash"] = json!(asks);
        let call = node.call(&purser.url("/get-card?amount=6"), &options);
        assert_eq!(statuses(&call), [402, 200], "{call:#}");
        let asked = call["rpcMethods"]
            .as_array()
            .unwrap()
            .contains(&json!("getLatestBlockhash"));
        assert_eq!(asked, asks, "{}", call["rpcMethods"]);
    }
    assert_eq!(purser.transfers("solana").await.len(), 2);
}

#[tokio::test]
async fn mppx_buys_a_card_by_its_own_protocol() {
    // Checks: with both offers, mppx answers the MPP challenge once and parses the receipt. The same credential returns
    // the same card without a transfer, and its tokens read the card.
    let Some(node) = Node::ready() else { return };
    let purser = ServerProcess::start();
    let options = json!({"client": "mppx", "chain": "base", "key": KEY});
    let call = node.call(&purser.url("/get-card?amount=7"), &options);
    assert_eq!(statuses(&call), [402, 200], "{call:#}");
    let bought = &call["body"];
    assert_eq!(bought["status"], "pending");
    let sent = &call["exchanges"][1]["sent"];
    let credential = text(&sent["authorization"]);
    assert!(credential.starts_with("Payment ") && sent.get("payment-signature").is_none());
    let moved = purser.transfers("base").await;
    assert_eq!(moved.len(), 1, "{moved:?}");
    assert_eq!(
        (&call["receipt"]["reference"], &call["receipt"]["status"]),
        (&moved[0]["id"], &json!("success"))
    );
    assert_eq!(receipt(&call["headers"])["transaction"], moved[0]["id"]);

    let (status, headers, again) = purser.get("/get-card?amount=7", &[("authorization", credential)]).await;
    assert_eq!((status, &again["card_id"]), (200, &bought["card_id"]), "{again}");
    assert!(again.get("auth").is_none(), "{again}");
    assert_eq!(headers["payment-receipt"], text(&call["headers"]["payment-receipt"]));
    assert_eq!(purser.transfers("base").await.len(), 1);
    let card = purser
        .card(text(&bought["card_id"]), text(&bought["auth"]["id_token"]))
        .await;
    assert_eq!(card["status"], "ready", "{card}");
}

#[tokio::test]
async fn mppx_still_pays_the_x402_offer_where_it_is_alone() {
    // Checks: without `WWW-Authenticate`, dropped by a proxy, mppx finds the offer on Base among the x402 offers.
    let Some(node) = Node::ready() else { return };
    let purser = ServerProcess::start();
    let options = json!({"client": "mppx", "chain": "base", "key": KEY, "withoutMpp": true});
    let call = node.call(&purser.url("/get-card?amount=7"), &options);
    assert_eq!(statuses(&call), [402, 200], "{call:#}");
    assert_eq!(call["body"]["status"], "pending");
    assert!(call["exchanges"][1]["sent"]["payment-signature"].is_string());
    assert_eq!(purser.transfers("base").await.len(), 1);
}

#[tokio::test]
async fn mppx_validate_passes_on_every_paid_route() {
    // Checks: the protocol's own conformance run passes for every documented paid route, with the examples of its
    // required parameters.
    let Some(node) = Node::ready() else { return };
    let purser = ServerProcess::start();
    let (_, _, document) = purser.get("/openapi.json", &[]).await;
    let mut validated = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if operation.get("x-payment-info").is_none() {
                continue;
            }
            let parameters = operation["parameters"].as_array().unwrap();
            let shown = parameters
                .iter()
                .filter(|parameter| parameter["in"] == "query")
                .filter(|parameter| parameter["required"] == true || parameter.get("example").is_some());
            let query: Vec<String> = shown
                .map(|parameter| match &parameter["example"] {
                    Value::Null => panic!("{path}: no example of {}", parameter["name"]),
                    Value::String(example) => format!("{}={example}", text(&parameter["name"])),
                    example => format!("{}={example}", text(&parameter["name"])),
                })
                .collect();
            let report = node.validate(&purser.url(""), &format!("{}:{path}", method.to_uppercase()), &query);
            let summary = &report["summary"];
            assert_eq!(
                (&summary["failed"], &summary["warnings"]),
                (&json!(0), &json!(0)),
                "{report:#}"
            );
            assert!(summary["passed"].as_u64().unwrap() >= 14, "{report:#}");
            validated += 1;
        }
    }
    assert!(validated > 0, "no operation is listed as paid");
    assert_eq!(purser.transfers("base").await, Vec::<Value>::new());
}

#[tokio::test]
async fn wallet_that_cannot_pay_gets_one_error() {
    // Checks: the error has no challenge, so that no client signs again automatically, and the wallet keeps its money.
    // With a challenge, mppx would sign up to three payments.
    let Some(node) = Node::ready() else { return };
    let purser = ServerProcess::start_with(&[("PURSER_SANDBOX__INITIAL_BALANCE_USDC", "4")]);
    let mppx = json!({"client": "mppx", "chain": "base", "key": KEY});
    for options in [buyer(&purser, "base"), buyer(&purser, "solana"), mppx] {
        let call = node.call(&purser.url("/get-card?amount=5"), &options);
        assert_eq!(statuses(&call), [402, 402], "{call:#}");
        let (body, headers) = (&call["body"], &call["headers"]);
        assert_eq!(body["success"], json!(false), "{body}");
        assert_eq!(body["errorReason"], "insufficient_funds", "{body}");
        assert_eq!(receipt(headers)["success"], json!(false));
        assert!(headers.get("payment-required").is_none() && headers.get("www-authenticate").is_none());
        let (_, _, balance) = purser
            .get(&format!("/sandbox/balances?wallet={}", text(&call["wallet"])), &[])
            .await;
        assert_eq!(balance["atomic"], json!(4_000_000), "{balance}");
    }
    for (chain, _) in NETWORKS {
        assert_eq!(purser.transfers(chain).await, Vec::<Value>::new());
    }
}

#[tokio::test]
async fn client_limit_stops_the_purchase_before_signing() {
    // Checks: with its defaults, @x402/fetch does not pay more than one dollar. This is not our failure: the server
    // sees one request without a payment. Owners raise `maxAmountPerPayment`.
    let Some(node) = Node::ready() else { return };
    let purser = ServerProcess::start();
    for (chain, _) in NETWORKS {
        let mut options = buyer(&purser, chain);
        options.as_object_mut().unwrap().remove("cap");
        let call = node.call(&purser.url("/get-card?amount=5"), &options);
        assert_eq!(statuses(&call), [402], "{call:#}");
        assert!(text(&call["gaveUp"]).contains("spendControls"), "{call:#}");
        assert_eq!(purser.transfers(chain).await, Vec::<Value>::new());
    }
}

#[tokio::test]
async fn both_stock_sign_in_helpers_work_on_both_chains() {
    // Checks: every entry point of @x402/extensions gets tokens for its wallet's account without a payment. A proof is
    // valid once: a second use gets a fresh challenge.
    let Some(node) = Node::ready() else { return };
    let purser = ServerProcess::start();
    for (chain, _) in NETWORKS {
        for client in ["extension", "wrapper"] {
            let path = format!("/auth?network={chain}");
            let options = json!({"client": client, "chain": chain, "key": KEY});
            let call = node.call(&purser.url(&path), &options);
            assert_eq!(statuses(&call), [402, 200], "{client} on {chain}: {call:#}");
            assert_eq!(text(&call["body"]["user_id"]), text(&call["wallet"]).to_lowercase());
            let token = text(&call["body"]["auth"]["id_token"]);
            let (status, account) = purser.bearer("/get-account-balance", token).await;
            assert_eq!(
                (status, &account["user_id"]),
                (200, &call["body"]["user_id"]),
                "{account}"
            );

            let proof = text(&call["exchanges"][1]["sent"]["sign-in-with-x"]);
            let (status, headers, _) = purser.get(&path, &[("sign-in-with-x", proof)]).await;
            assert!(status == 402 && headers.contains_key("payment-required"));
        }
        assert_eq!(purser.transfers(chain).await, Vec::<Value>::new());
    }
}

#[tokio::test]
async fn signing_in_reaches_the_cards_that_the_wallet_bought() {
    // Checks: an agent without its tokens signs in with the wallet that paid and reads the card. Another wallet cannot.
    let Some(node) = Node::ready() else { return };
    let purser = ServerProcess::start();
    for (chain, _) in NETWORKS {
        let bought = node.call(&purser.url("/get-card?amount=5"), &buyer(&purser, chain));
        let card_id = text(&bought["body"]["card_id"]);
        let mut sign_in = json!({"client": "extension", "chain": chain, "key": KEY});
        let own = node.call(&purser.url("/auth"), &sign_in);
        let card = purser.card(card_id, text(&own["body"]["auth"]["id_token"])).await;
        assert_eq!(card["status"], "ready");
        sign_in["key"] = json!(KEY.replace("5f1c", "6f1c"));
        let other = node.call(&purser.url("/auth"), &sign_in);
        let path = format!("/get-card-data?card_id={card_id}");
        let (status, body) = purser.bearer(&path, text(&other["body"]["auth"]["id_token"])).await;
        assert_eq!(status, 403, "{body}");
    }
}
