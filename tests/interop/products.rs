//! Every product that is sold, bought by every kind of stock client on every network that it can pay on.

use std::time::Duration;

use serde_json::{Value, json};

use crate::node::Node;
use crate::running::Purser;
use crate::{KEY, buyer, receipt, statuses, text};

/// A paid route, asked with its document's own examples; the destination is one of the payer's.
fn sample(path: &str, operation: &Value, destination: &str) -> String {
    let parameters = operation["parameters"].as_array().unwrap().iter();
    let query: Vec<String> = parameters
        .filter(|parameter| parameter["in"] == "query" && parameter.get("example").is_some())
        .map(|parameter| match text(&parameter["name"]) {
            "destination_id" => format!("destination_id={destination}"),
            name => format!("{name}={}", text(&parameter["example"]).replace('@', "%40")),
        })
        .collect();
    format!("{path}?{}", query.join("&"))
}

impl Purser {
    /// What only the owner of a wallet may do, done as its owner does: identity, link to the issuer, a bank account.
    async fn prepare(&self, wallet: &str, token: &str) -> String {
        let (_, link) = self.bearer("/get-kyc-link", token).await;
        let code = text(&link["kyc_url"]).split_once("code=").unwrap().1.to_owned();
        let plain = purser::outbound::client();
        let plain = plain.build().unwrap();
        let login = plain.post(self.url("/login")).body(format!("code={code}"));
        let login = login.send().await.unwrap();
        let cookie = login.headers()["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let form = plain.post(self.url("/account/identity"));
        let form = form.header("cookie", &cookie).header("origin", self.url(""));
        assert_eq!(form.send().await.unwrap().status().as_u16(), 303);
        let check = self
            .soon(async || {
                let page = plain.get(self.url("/login")).header("cookie", &cookie).send().await;
                let page = page.unwrap().text().await.unwrap();
                let (_, rest) = page.split_once("href=\"/sandbox/identity-check")?;
                Some(format!("/sandbox/identity-check{}", rest.split_once('"')?.0))
            })
            .await;
        let person = "given_name=Ada&family_name=Lovelace&date_of_birth=1990-12-10&country=GB";
        let told = plain.post(self.url(&check)).body(person).send().await.unwrap();
        assert_eq!(told.status().as_u16(), 200);
        self.soon(async || (self.bearer("/get-kyc-status", token).await.1["status"] == "verified").then_some(()))
            .await;
        let (status, linked) = self
            .post("/sandbox/link", &json!({"wallet": wallet, "linked": true}))
            .await;
        assert_eq!((status, &linked["linked"]), (200, &json!(true)), "{linked}");
        let bank = json!({"wallet": wallet, "name": "Ada Lovelace", "destinations": [{
            "destination_type": "fiat_us", "nickname": "Rent", "bank_name": "First Bank",
            "routing_number": "021000021", "account_number": "000123456789"}]});
        let (status, registered) = self.post("/sandbox/bank-recipients", &bank).await;
        assert_eq!(status, 200, "{registered}");
        text(&registered["destination_ids"][0]).to_owned()
    }

    async fn soon<T>(&self, ask: impl AsyncFn() -> Option<T>) -> T {
        for _ in 0..300 {
            if let Some(found) = ask().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("it never came");
    }
}

async fn every_product_is_bought(client: &str, chain: &str) {
    let Some(node) = Node::ready() else { return };
    let purser = Purser::start();
    let sign_in = json!({"client": "extension", "chain": chain, "key": KEY});
    let signed_in = node.call(&purser.url(&format!("/auth?network={chain}")), &sign_in);
    let token = text(&signed_in["body"]["auth"]["id_token"]);
    let destination = purser.prepare(text(&signed_in["wallet"]), token).await;
    let options = match client {
        "x402" => {
            let mut options = buyer(&purser, chain);
            options["cap"] = json!("$5000");
            options
        }
        client => json!({"client": client, "chain": chain, "key": KEY}),
    };
    let (_, _, document) = purser.get("/openapi.json", &[]).await;
    let mut bought = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let operation = &methods["get"];
        if operation.get("x-payment-info").is_none() {
            continue;
        }
        let call = node.call(&purser.url(&sample(path, operation, &destination)), &options);
        assert_eq!(statuses(&call), [402, 200], "{client} on {chain}: {path}: {call:#}");
        assert_eq!(receipt(&call["headers"])["success"], json!(true), "{path}");
        assert!(
            call["body"].get("payment_id").is_some_and(Value::is_string),
            "{path}: {call:#}"
        );
        bought += 1;
    }
    let (_, _, pricing) = purser.get("/get-pricing", &[]).await;
    let sold = pricing["products"].as_array().unwrap().iter();
    assert_eq!(bought, sold.filter(|product| product["available"] == true).count());
    let paid = purser.transfers(chain).await;
    let payer = text(&signed_in["wallet"]);
    let from = paid
        .iter()
        .filter(|transfer| text(&transfer["from"]).eq_ignore_ascii_case(payer));
    assert_eq!(from.count(), bought, "{paid:#?}");
}

#[tokio::test]
async fn stock_x402_buys_every_product_on_base() {
    // Aim: one payment and one transfer for each product of the price list, which all say `available`.
    every_product_is_bought("x402", "base").await;
}

#[tokio::test]
async fn stock_x402_buys_every_product_on_solana() {
    // Aim: the same on Solana.
    every_product_is_bought("x402", "solana").await;
}

#[tokio::test]
async fn mppx_buys_every_product() {
    // Aim: the same by MPP.
    every_product_is_bought("mppx", "base").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stock_client_buys_once_under_one_payment_identifier() {
    // Aim: the published extension puts a name into each payment; a second one under it is answered with the first one's card
    // and never lands, and for another request it is a conflict that the client does not pay its way around.
    let Some(node) = Node::ready() else { return };
    let purser = Purser::start();
    for (chain, _) in crate::NETWORKS {
        let mut options = buyer(&purser, chain);
        options["name"] = json!("pay_7d5d747be160e280504c099d984bcfe0");
        let before = purser.transfers(chain).await.len();
        let calls = [(); 2].map(|()| node.call(&purser.url("/get-card?amount=5"), &options));
        let [first, again] = &calls;
        assert_eq!(
            (statuses(first), statuses(again)),
            (vec![402, 200], vec![402, 200]),
            "{calls:#?}"
        );
        let sent = |call: &Value| call["exchanges"][1]["sent"]["payment-signature"].clone();
        assert_ne!(sent(first), sent(again), "each call signs for itself");
        assert_eq!(first["body"]["card_id"], again["body"]["card_id"]);
        assert!(!first["body"]["auth"].is_null() && again["body"]["auth"].is_null());
        assert_eq!(receipt(&first["headers"]), receipt(&again["headers"]));
        assert_eq!(again["headers"]["idempotency-replayed"], "true");
        let other = node.call(&purser.url("/get-card?amount=6"), &options);
        assert_eq!(statuses(&other), [402, 409], "{other:#}");
        assert_eq!(other["body"]["code"], "payment_identifier_reused");
        assert_eq!(purser.transfers(chain).await.len(), before + 1);
    }
}

#[tokio::test]
async fn case_90_a_stock_mpp_client_that_knows_real_usdc_alone_signs_nothing_here() {
    // Aim: as it is shipped it signs by the real token's name, so it must refuse the sandbox's challenge: nothing is sent.
    let Some(node) = Node::ready() else { return };
    let purser = Purser::start();
    let options = json!({"client": "mppx", "chain": "base", "key": KEY, "real": true});
    let call = node.call(&purser.url("/get-card?amount=5"), &options);
    assert!(text(&call["gaveUp"]).contains("currency is not allowed"), "{call:#}");
    assert_eq!(statuses(&call), [402], "{call:#}");
}
