//! A JSON-RPC endpoint in front of a node that fails, loses and lies by a seed. A cluster of Solana is mainnet behind
//! it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser::payment::SolanaChain;
use purser_chains::evm::tx::SignedTransaction;
use purser_chains::solana::address::base58;
use serde_json::{Value, json};

/// Longer than the service waits for an answer.
const HANG: Duration = Duration::from_secs(3);
/// Of a hundred requests.
const LIE_PERCENT: u64 = 15;
/// Blocks that a lying endpoint is behind.
const LAG: u64 = 3;

/// Serves until the test ends.
pub struct RpcProxy {
    pub url: String,
    node: Arc<Node>,
}

struct Node {
    url: String,
    http: reqwest::Client,
    random: AtomicU64,
    /// Also falsifies responses. At most one endpoint of a chain may do so. If two of them agree on a false response,
    /// the service believes it.
    is_lying: bool,
    faulty: AtomicBool,
    faults: AtomicU64,
    is_silent: AtomicBool,
}

impl RpcProxy {
    pub async fn start(node: &str, seed: u64, lies: bool) -> Self {
        let node = Arc::new(Node {
            url: node.to_owned(),
            http: crate::anvil::client(),
            random: AtomicU64::new(seed),
            is_lying: lies,
            faulty: AtomicBool::new(false),
            faults: AtomicU64::new(0),
            is_silent: AtomicBool::new(false),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(serve).with_state(node.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, node }
    }

    /// Begins or ends the faults.
    pub fn fail(&self, faulty: bool) {
        self.node.faulty.store(faulty, Ordering::SeqCst);
    }

    /// Whether it answers anything.
    pub fn set_responding(&self, answers: bool) {
        self.node.is_silent.store(!answers, Ordering::SeqCst);
    }

    /// How many requests met a fault.
    pub fn faults(&self) -> u64 {
        self.node.faults.load(Ordering::SeqCst)
    }
}

async fn serve(State(node): State<Arc<Node>>, body: Bytes) -> Response {
    if node.is_silent.load(Ordering::SeqCst) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let request: Value = serde_json::from_slice(&body).unwrap();
    if request["method"] == "getGenesisHash" {
        // Stock clients pay on no cluster that they do not know.
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": SolanaChain::MAINNET.genesis_hash});
        return answer.to_string().into_response();
    }
    if !node.faulty.load(Ordering::SeqCst) {
        return node.forward(body).await;
    }
    if node.is_lying
        && node.below(100) < LIE_PERCENT
        && let Some(lie) = node.false_response(&request).await
    {
        node.faults.fetch_add(1, Ordering::SeqCst);
        return lie.to_string().into_response();
    }
    let fault = node.below(40);
    if fault < 5 {
        node.faults.fetch_add(1, Ordering::SeqCst);
    }
    match fault {
        0 => (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "0")]).into_response(),
        1 => (StatusCode::BAD_GATEWAY, "<html>").into_response(),
        2 => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        // Carried out, and the answer is lost.
        3 => {
            node.forward(body).await;
            StatusCode::GATEWAY_TIMEOUT.into_response()
        }
        4 => {
            tokio::time::sleep(HANG).await;
            node.forward(body).await
        }
        _ => node.forward(body).await,
    }
}

impl Node {
    // SplitMix64.
    fn below(&self, bound: u64) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.random.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    async fn forward(&self, body: Bytes) -> Response {
        let request = self.http.post(&self.url).header("content-type", "application/json");
        match request.body(body).send().await {
            Ok(answer) => answer.bytes().await.unwrap_or_default().into_response(),
            Err(_) => StatusCode::BAD_GATEWAY.into_response(),
        }
    }

    async fn call(&self, method: &str, params: Value) -> Option<Value> {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = self.http.post(&self.url).json(&request).send().await.ok()?;
        Some(answer.json::<Value>().await.ok()?["result"].take())
    }

    /// What it says of itself instead of the node; `None` where it says the truth.
    async fn false_response(&self, request: &Value) -> Option<Value> {
        if let Some(calls) = request.as_array() {
            let null = |call: &Value| json!({"jsonrpc": "2.0", "id": call["id"], "result": null});
            return Some(calls.iter().map(null).collect());
        }
        let reply = |result: Value| Some(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
        let params = &request["params"];
        match request["method"].as_str()? {
            "eth_sendRawTransaction" => self.rejected_transaction(request),
            "eth_getTransactionReceipt" | "getTransaction" => reply(Value::Null),
            "eth_getBlockByNumber" => match params[0].as_str()? {
                "latest" => reply(self.earlier().await?),
                _ => reply(Value::Null),
            },
            "eth_chainId" => reply(json!("0x1")),
            "getSignatureStatuses" => {
                let unknown = vec![Value::Null; params[0].as_array()?.len()];
                reply(json!({"context": {"slot": self.call("getSlot", json!([])).await?}, "value": unknown}))
            }
            // Accepted and forgotten.
            "sendTransaction" => {
                let bytes = STANDARD.decode(params[0].as_str()?).ok()?;
                reply(json!(base58(bytes.get(1..65)?)))
            }
            _ => None,
        }
    }

    /// A transaction of Base that is not passed on.
    fn rejected_transaction(&self, request: &Value) -> Option<Value> {
        let fail = |text: &str| {
            let error = json!({"code": -32000, "message": text});
            Some(json!({"jsonrpc": "2.0", "id": request["id"], "error": error}))
        };
        match self.below(4) {
            0 => fail("already known"),
            1 => fail("replacement transaction underpriced"),
            2 => fail("nonce too low"),
            // Accepted and forgotten.
            _ => {
                let bytes = hex::decode(request["params"][0].as_str()?.strip_prefix("0x")?).ok()?;
                let hash = SignedTransaction::parse(&bytes).ok()?.hash;
                Some(json!({"jsonrpc": "2.0", "id": request["id"], "result": format!("{hash:#x}")}))
            }
        }
    }

    /// A block that was the newest one before.
    async fn earlier(&self) -> Option<Value> {
        let head = self.call("eth_blockNumber", json!([])).await?;
        let head = u64::from_str_radix(head.as_str()?.trim_start_matches("0x"), 16).ok()?;
        let block = json!([format!("{:#x}", head.saturating_sub(LAG)), false]);
        self.call("eth_getBlockByNumber", block).await
    }
}
