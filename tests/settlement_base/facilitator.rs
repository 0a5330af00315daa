//! A facilitator of x402 version 2 with a gas key of its own: what `@x402/core` and `@x402/evm` do on Base, for one token.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use purser_chains::evm::node::{BlockTag, CallError, CallRequest, Node};
use purser_chains::evm::tx::Transaction;
use purser_chains::evm::usdc::{self, Token};
use purser_chains::evm::{Address, B256, Bytes, U256};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::anvil::pool;
use crate::world::{CHAIN_ID, POLICY, World, key};

const NETWORK: &str = "eip155:8453";
/// Whose gas is spent.
pub const GAS_KEY: &str = "stranger";

struct Shared {
    node: Node,
    token: Token,
    /// The next nonce of its gas key; locked while it sends.
    nonce: tokio::sync::Mutex<u64>,
    /// Answers 502 once it has settled.
    fails: AtomicBool,
    settles: AtomicUsize,
}

/// Ends when dropped.
pub struct Facilitator {
    shared: Arc<Shared>,
    address: std::net::SocketAddr,
    serving: JoinHandle<()>,
}

impl Drop for Facilitator {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Facilitator {
    pub async fn start(world: &World) -> Self {
        let token = Token::new(CHAIN_ID, world.token.address(), "USD Coin", "2");
        let shared = Arc::new(Shared {
            node: Node::new(Arc::new(pool(&[&world.anvil.url]))),
            token,
            nonce: tokio::sync::Mutex::new(0),
            fails: AtomicBool::new(false),
            settles: AtomicUsize::new(0),
        });
        let routes = Router::new()
            .route("/supported", get(supported))
            .route("/verify", post(verify))
            .route("/settle", post(settle))
            .with_state(shared.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self {
            shared,
            address,
            serving,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on it answers 502 once it has settled.
    pub fn fail(&self) {
        self.shared.fails.store(true, Ordering::SeqCst);
    }

    pub fn settles(&self) -> usize {
        self.shared.settles.load(Ordering::SeqCst)
    }
}

async fn supported() -> Json<Value> {
    let kind = json!({"x402Version": 2, "scheme": "exact", "network": NETWORK});
    let signer = key(GAS_KEY).address().to_string();
    Json(json!({"kinds": [kind], "extensions": [], "signers": {"eip155:*": [signer]}}))
}

fn bytes<const N: usize>(value: &Value) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    hex::decode_to_slice(value.as_str()?.strip_prefix("0x")?, &mut bytes).ok()?;
    Some(bytes)
}

fn number(value: &Value) -> Option<U256> {
    value.as_str()?.parse().ok()
}

/// The call that moves the money, if the request is of the protocol.
fn calldata(request: &Value, token: &Token) -> Option<Bytes> {
    let (payment, required) = (&request["paymentPayload"], &request["paymentRequirements"]);
    let signed = &payment["payload"]["authorization"];
    let authorization = usdc::Authorization {
        from: bytes(&signed["from"])?.into(),
        to: bytes(&signed["to"])?.into(),
        value: number(&signed["value"])?,
        valid_after: number(&signed["validAfter"])?,
        valid_before: number(&signed["validBefore"])?,
        nonce: bytes(&signed["nonce"])?.into(),
    };
    let good = request["x402Version"] == 2
        && payment["x402Version"] == 2
        && payment["accepted"] == *required
        && required["scheme"] == "exact"
        && required["network"] == NETWORK
        && bytes::<20>(&required["asset"]).map(Address::from) == Some(token.address())
        && bytes::<20>(&required["payTo"]).map(Address::from) == Some(authorization.to)
        && number(&required["amount"]) == Some(authorization.value)
        && required["extra"] == json!({"name": "USD Coin", "version": "2"});
    let signature = hex::decode(payment["payload"]["signature"].as_str()?.strip_prefix("0x")?).ok()?;
    let data = usdc::transfer_bytes_call(&authorization, &signature).ok()?;
    good.then(|| data.into())
}

/// The reason why the token refuses it now.
async fn simulate(shared: &Shared, data: &Bytes) -> Result<(), &'static str> {
    let request = CallRequest {
        from: key(GAS_KEY).address(),
        to: shared.token.address(),
        data: data.clone(),
        gas: 1_000_000,
    };
    match shared.node.call(&request, BlockTag::Latest).await {
        Ok(_) => Ok(()),
        Err(CallError::Reverted { reason, .. }) if reason.contains("exceeds balance") => {
            Err("invalid_exact_evm_insufficient_balance")
        }
        Err(CallError::Reverted { reason, .. }) if reason.contains("used or canceled") => {
            Err("invalid_exact_evm_nonce_already_used")
        }
        Err(CallError::Reverted { .. }) => Err("invalid_exact_evm_transaction_simulation_failed"),
        Err(CallError::Node(_)) => Err("unexpected_verify_error"),
    }
}

async fn verify(State(shared): State<Arc<Shared>>, Json(request): Json<Value>) -> Json<Value> {
    let Some(data) = calldata(&request, &shared.token) else {
        return Json(json!({"isValid": false, "invalidReason": "invalid_payload"}));
    };
    Json(match simulate(&shared, &data).await {
        Ok(()) => json!({"isValid": true}),
        Err(reason) => json!({"isValid": false, "invalidReason": reason}),
    })
}

async fn send(shared: &Shared, data: Bytes) -> B256 {
    let mut nonce = shared.nonce.lock().await;
    let transaction = Transaction {
        chain_id: CHAIN_ID,
        nonce: *nonce,
        fee: shared.node.fees(POLICY).await.unwrap().fee,
        gas_limit: 200_000,
        to: shared.token.address(),
        value: U256::ZERO,
        data,
    };
    let signed = transaction.sign(&key(GAS_KEY)).unwrap();
    let answers = shared.node.send_raw(&signed.bytes, signed.hash).await;
    assert!(answers.iter().all(|answer| answer.error.is_none()), "{answers:?}");
    *nonce += 1;
    signed.hash
}

async fn settle(State(shared): State<Arc<Shared>>, Json(request): Json<Value>) -> Response {
    shared.settles.fetch_add(1, Ordering::SeqCst);
    let failed = |reason: &str, transaction: &str| {
        let body = json!({"success": false, "errorReason": reason, "transaction": transaction, "network": NETWORK});
        Json(body).into_response()
    };
    let Some(data) = calldata(&request, &shared.token) else {
        return failed("invalid_payload", "");
    };
    if let Err(reason) = simulate(&shared, &data).await {
        return failed(reason, "");
    }
    let hash = send(&shared, data).await;
    loop {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let Ok(Some(receipt)) = shared.node.receipt(hash).await else {
            continue;
        };
        if shared.fails.load(Ordering::SeqCst) {
            return StatusCode::BAD_GATEWAY.into_response();
        }
        let transaction = format!("{hash:#x}");
        return match receipt.success {
            true => {
                let body = json!({"success": true, "transaction": transaction, "network": NETWORK});
                Json(body).into_response()
            }
            false => failed("invalid_exact_evm_transaction_failed", &transaction),
        };
    }
}
