//! Every product that is sold, bought by every kind of stock client on every network that it can pay on.

use std::time::Duration;

use serde_json::{Value, json};

use crate::node::Node;
use crate::server_process::ServerProcess;
use crate::{KEY, buyer, receipt, statuses, text};

/// A paid route, asked with its document's own examples; the destination is one of the payer's.
pub fn sample(path: &str, operation: &Value, destination: &str) -> String {
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

impl ServerProcess {
    /// Takes the steps that only an account owner can take, on the account page: identity verification, card issuer
    /// link, bank destination. `origin` is the public URL. Returns the destination's id.
    pub async fn prepare_owner(&self, origin: &str, token: &str) -> String {
        let (_, link) = self.bearer("/get-kyc-link", token).await;
        let code = text(&link["kyc_url"]).split_once("code=").unwrap().1.to_owned();
        let plain = purser::outbound::client().build().unwrap();
        let login = plain.post(self.url("/login")).body(format!("code={code}"));
        let login = login.send().await.unwrap();
        let cookie = login.headers()["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        for form in ["/account/identity", "/account/link"] {
            let act = plain.post(self.url(form)).header("cookie", &cookie);
            let sent = act.header("origin", origin).send().await.unwrap();
            assert_eq!(sent.status().as_u16(), 200);
        }
        let check = self
            .soon(async || {
                let account = plain.get(self.url("/account")).header("cookie", &cookie).send().await;
                let account: Value = account.unwrap().json().await.unwrap();
                let url = account["identity"]["check_url"].as_str()?;
                Some(match url.starts_with('/') {
                    true => self.url(url),
                    false => url.to_owned(),
                })
            })
            .await;
        let person = "given_name=Ada&family_name=Lovelace&date_of_birth=1990-12-10&country=GB";
        let reported = plain.post(check).body(person).send().await.unwrap();
        assert_eq!(reported.status().as_u16(), 200);
        self.soon(async || (self.bearer("/get-kyc-status", token).await.1["status"] == "verified").then_some(()))
            .await;
        let bank = json!({"name": "Ada Lovelace", "address": "1 Main St", "destination": {"type": "fiat_us",
            "nickname": "Rent", "bankName": "First Bank", "routingNumber": "021000021", "accountNumber": "000123456789"}});
        let request = self.http.post(self.url("/createBankingRecipient")).bearer_auth(token);
        let request = request.json(&json!({"data": bank}));
        let created = request.send().await.unwrap();
        let (status, created): (_, Value) = (created.status().as_u16(), created.json().await.unwrap());
        assert_eq!(status, 200, "{created}");
        text(&created["result"]["destination"]["destinationId"]).to_owned()
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

    /// Buys every paid route of the document but `except` with a stock client. Returns how many it bought.
    pub async fn sell_everything(&self, node: Node, options: &Value, destination: &str, except: &[&str]) -> usize {
        let (_, _, document) = self.get("/openapi.json", &[]).await;
        let mut bought = 0;
        for (path, methods) in document["paths"].as_object().unwrap() {
            let operation = &methods["get"];
            if operation.get("x-payment-info").is_none() || except.contains(&path.as_str()) {
                continue;
            }
            let call = node.call(&self.url(&sample(path, operation, destination)), options);
            assert_eq!(statuses(&call), [402, 200], "{options}: {path}: {call:#}");
            assert_eq!(receipt(&call["headers"])["success"], json!(true), "{path}");
            assert!(
                call["body"].get("payment_id").is_some_and(Value::is_string),
                "{path}: {call:#}"
            );
            bought += 1;
        }
        let (_, _, pricing) = self.get("/get-pricing", &[]).await;
        let sold = pricing["products"].as_array().unwrap().iter();
        let sold = sold.filter(|product| product["available"] == true).count();
        assert_eq!(bought + except.len(), sold);
        bought
    }
}

async fn buy_every_product(client: &str, chain: &str) {
    let Some(node) = Node::ready() else { return };
    let purser = ServerProcess::start();
    let sign_in = json!({"client": "extension", "chain": chain, "key": KEY});
    let signed_in = node.call(&purser.url(&format!("/auth?network={chain}")), &sign_in);
    let (token, payer) = (text(&signed_in["body"]["auth"]["id_token"]), text(&signed_in["wallet"]));
    let destination = purser.prepare_owner(&purser.url(""), token).await;
    let options = match client {
        "x402" => {
            let mut options = buyer(&purser, chain);
            options["cap"] = json!("$5000");
            options
        }
        client => json!({"client": client, "chain": chain, "key": KEY}),
    };
    let bought = purser.sell_everything(node, &options, &destination, &[]).await;
    let paid = purser.transfers(chain).await;
    let from = paid
        .iter()
        .filter(|transfer| text(&transfer["from"]).eq_ignore_ascii_case(payer));
    assert_eq!(from.count(), bought, "{paid:#?}");
}

#[tokio::test]
async fn stock_x402_buys_every_product_on_base() {
    // Checks: one payment and one transfer for each `available` product of the price list.
    buy_every_product("x402", "base").await;
}

#[tokio::test]
async fn stock_x402_buys_every_product_on_solana() {
    buy_every_product("x402", "solana").await;
}

#[tokio::test]
async fn mppx_buys_every_product() {
    // Checks: the same with MPP.
    buy_every_product("mppx", "base").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stock_client_buys_once_per_payment_identifier() {
    // Checks: the published extension adds a payment identifier. A second payment with it returns the first card and
    // never settles. With another request it is a conflict, and the client does not pay again.
    let Some(node) = Node::ready() else { return };
    let purser = ServerProcess::start();
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
async fn case_90_stock_mpp_client_signs_nothing_for_the_sandbox_token() {
    // Checks: with its defaults the client signs with the real token's name, so it must reject the sandbox's challenge
    // and send nothing.
    let Some(node) = Node::ready() else { return };
    let purser = ServerProcess::start();
    let options = json!({"client": "mppx", "chain": "base", "key": KEY, "real": true});
    let call = node.call(&purser.url("/get-card?amount=5"), &options);
    assert!(text(&call["gaveUp"]).contains("currency is not allowed"), "{call:#}");
    assert_eq!(statuses(&call), [402], "{call:#}");
}
