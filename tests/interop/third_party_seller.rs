//! An agent wallet pays a third-party seller: the published server packages (`seller.mjs`), on both chains.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::node::Node;
use crate::server_process::ServerProcess;
use crate::{KEY, NETWORKS, text};

/// What everything costs there.
const PRICE: u64 = 250_000;

/// A running `seller.mjs`; ended when dropped.
struct SellerProcess {
    child: Child,
    address: String,
    /// Who is paid on Solana, and pays its fees.
    payee: String,
}

impl SellerProcess {
    fn open(node: Node) -> Self {
        let seed = "42".repeat(32);
        let mut child = node
            .script("seller.mjs")
            .args([seed.as_str(), "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut greeting = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut greeting)
            .unwrap();
        let (address, payee) = greeting.trim().split_once(' ').expect("the shop says where it is");
        Self {
            address: address.to_owned(),
            payee: payee.to_owned(),
            child,
        }
    }

    /// Where its facilitator settles from now on.
    async fn settles_on(&self, purser: &ServerProcess) {
        let result = purser
            .http
            .post(format!("http://{}/settles-on", self.address))
            .body(purser.url(""));
        assert_eq!(result.send().await.unwrap().status(), 200);
    }

    fn page(&self, page: &str, chain: &str) -> Value {
        json!({"url": format!("http://{}/{page}", self.address), "expectedNetwork": chain})
    }
}

impl Drop for SellerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A service that knows the shop, and the token of an account with a managed wallet.
async fn opened(node: Node, shop: &SellerProcess, timeout_ms: &str) -> (ServerProcess, String) {
    let listed = format!("[\"{}\"]", shop.address);
    let purser = ServerProcess::start_with(&[
        ("PURSER_OUTBOUND__ALLOWED_HOSTS", listed.as_str()),
        ("PURSER_OUTBOUND__RESPONSE_TIMEOUT_MS", timeout_ms),
        ("PURSER_LIMITS__REQUESTS_PER_WINDOW", "1000000"),
        // Tokens outlive a restart on another port.
        ("PURSER_IDENTITY__ISSUER", "purser-under-test"),
    ]);
    shop.settles_on(&purser).await;
    let (status, result) = purser
        .post("/sandbox/faucet", &json!({"wallet": shop.payee, "amount": "1"}))
        .await;
    assert_eq!(status, 200, "{result}");
    let signed_in = node.call(
        &purser.url("/auth"),
        &json!({"client": "extension", "chain": "base", "key": KEY}),
    );
    let token = text(&signed_in["body"]["auth"]["id_token"]).to_owned();
    let (status, result) = call(&purser, &token, "createAgentWallet", None, &json!({})).await;
    assert_eq!(status, 200, "{result}");
    (purser, token)
}

async fn call(purser: &ServerProcess, token: &str, name: &str, key: Option<&str>, data: &Value) -> (u16, Value) {
    let request = purser.http.post(purser.url(&format!("/{name}"))).bearer_auth(token);
    let request = match key {
        Some(key) => request.header("idempotency-key", key),
        None => request,
    };
    let answer = request.json(&json!({ "data": data })).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

/// What left the managed wallet on a chain, in atomic USDC.
async fn outgoing_amounts(purser: &ServerProcess, token: &str, chain: &str) -> Vec<u64> {
    let (_, now) = call(purser, token, "getAgentWallet", None, &json!({})).await;
    let from = text(&now["result"]["wallet"]["addresses"][chain]).to_owned();
    let moved = purser.transfers(chain).await;
    let own = moved.iter().filter(|moved| text(&moved["from"]) == from);
    own.map(|moved| moved["amount"].as_u64().unwrap()).collect()
}

/// Response to a repeated call that was paid but not answered the first time. On Base the shop looks up its settlement
/// and serves. On Solana the published facilitator simulates the transaction, finds it already on chain, and the shop
/// requests payment again. That is an error of the shop, because it has the money.
fn assert_paid_response(chain: &str, status: u16, result: &Value) {
    match chain {
        "base" => assert_eq!(
            (
                status,
                &result["result"]["status"],
                &result["result"]["response"]["body"]
            ),
            (200, &json!("settled"), &json!({"page": "takes"})),
            "{result}"
        ),
        _ => assert_eq!(
            (status, &result["error"]["code"]),
            (502, &json!("http_error")),
            "{result}"
        ),
    }
}

#[tokio::test]
async fn stock_seller_is_paid_on_both_chains_and_its_errors_are_reported() {
    // Checks: the agent wallet buys the page on Base and on Solana, with one transfer each and once per key. If the
    // shop rejects the payment or hangs unsettled, nothing moves and the amount stays held. If it settled without a
    // response, the same payment is presented again and is on chain once.
    let Some(node) = Node::ready() else { return };
    let shop = SellerProcess::open(node);
    let (purser, token) = opened(node, &shop, "1500").await;
    for (chain, _) in NETWORKS {
        for _ in 0..2 {
            let (status, bought) = call(&purser, &token, "agentX402Pay", Some(chain), &shop.page("page", chain)).await;
            let result = &bought["result"];
            assert_eq!(
                (status, &result["status"], &result["response"]["body"]),
                (200, &json!("settled"), &json!({"page": "page"})),
                "{bought}"
            );
            let moved = purser.transfers(chain).await;
            assert_eq!(moved.last().unwrap()["id"], result["walletPayment"]["txHash"]);
        }
        assert_eq!(outgoing_amounts(&purser, &token, chain).await, [PRICE]);
        let (status, refused) = call(&purser, &token, "agentX402Pay", None, &shop.page("refuses", chain)).await;
        assert_eq!(
            (status, &refused["error"]["code"]),
            (409, &json!("unsettled")),
            "{refused}"
        );
        assert_eq!(outgoing_amounts(&purser, &token, chain).await, [PRICE]);
        let (status, late) = call(&purser, &token, "agentX402Pay", None, &shop.page("takes", chain)).await;
        assert_paid_response(chain, status, &late);
        assert_eq!(outgoing_amounts(&purser, &token, chain).await, [PRICE, PRICE]);
        let (status, silent) = call(&purser, &token, "agentX402Pay", None, &shop.page("hangs", chain)).await;
        assert_eq!(
            (status, &silent["error"]["code"]),
            (502, &json!("fetch_failed")),
            "{silent}"
        );
        assert_eq!(outgoing_amounts(&purser, &token, chain).await, [PRICE, PRICE]);
    }
    // What was refused and what was not answered can land until its time is over.
    let (_, now) = call(&purser, &token, "getAgentWallet", None, &json!({})).await;
    assert_eq!(now["result"]["pendingPayments"].as_array().unwrap().len(), 4, "{now}");
}

#[tokio::test]
async fn stock_seller_is_paid_once_when_killed_before_the_response() {
    // Checks: the shop has settled but not answered, and our service is killed. The same call with the same key returns
    // the shop's response to the same payment, and one payment is on chain.
    let Some(node) = Node::ready() else { return };
    let shop = SellerProcess::open(node);
    let (mut purser, token) = opened(node, &shop, "20000").await;
    for (chain, _) in NETWORKS {
        let page_request = shop.page("takes", chain);
        let first = {
            let request = purser.http.post(purser.url("/agentX402Pay")).bearer_auth(&token);
            let request = request
                .header("idempotency-key", chain)
                .json(&json!({"data": page_request}));
            tokio::spawn(request.send())
        };
        let mut attempts = 0;
        while outgoing_amounts(&purser, &token, chain).await.is_empty() {
            attempts += 1;
            assert!(attempts < 400, "it is never settled on {chain}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        purser.run();
        assert!(first.await.unwrap().is_err(), "its answer is lost");
        shop.settles_on(&purser).await;
        let mut answered = call(&purser, &token, "agentX402Pay", Some(chain), &page_request).await;
        for _ in 0..100 {
            if answered.1["result"]["status"] != "pending" {
                break;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
            answered = call(&purser, &token, "agentX402Pay", Some(chain), &page_request).await;
        }
        assert_paid_response(chain, answered.0, &answered.1);
        assert_eq!(outgoing_amounts(&purser, &token, chain).await, [PRICE], "{chain}");
    }
}
