//! A facilitator of x402 version 2 over HTTP, in front of a chain that a test brings: it settles there, and answers as
//! its mode says.

#![allow(unreachable_pub, reason = "used by tests/interop too")]

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use parking_lot::Mutex;
use purser_actors::port::BoxFuture;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Why a payment was not executed.
pub struct Failure {
    pub reason: &'static str,
    /// Empty if nothing was sent.
    pub transaction: String,
}

impl From<&'static str> for Failure {
    fn from(reason: &'static str) -> Self {
        let transaction = String::new();
        Self { reason, transaction }
    }
}

/// What is behind the facilitator: a chain, and a key of its own where the chain needs one.
pub trait Backend: Send + Sync + 'static {
    /// CAIP-2 name of the chain.
    fn caip2(&self) -> &'static str;

    /// `extra` of the kind in `/supported`.
    fn extra(&self) -> Value;

    /// The reason why the chain would not execute the payment of this request now.
    fn verify<'a>(&'a self, request: &'a Value) -> BoxFuture<'a, Result<(), &'static str>>;

    /// Executes it and waits for its end; gives the transaction.
    fn settle<'a>(&'a self, request: &'a Value) -> BoxFuture<'a, Result<String, Failure>>;
}

/// What it does with a settlement, and what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Executes and reports it.
    Succeeds,
    /// Executes; the report has no transaction.
    NoHash,
    /// Executes; the transaction has another chain's form.
    WrongFormat,
    /// Executes; the report names another network.
    OtherNetwork,
    /// Executes and says that it is pending.
    Pending,
    /// Executes and fails with this status, without JSON.
    FailsAfter(u16),
    /// Executes and fails, with a decline in its body.
    DeclinesAfter(u16, &'static str),
    /// Executes and never answers.
    HangsAfter,
    /// Executes and sends more than anybody reads.
    EndlessAfter,
    /// Executes; the answer ends in the middle.
    CutAfter,
    /// Reports a settlement and does nothing.
    FalseReport,
    /// Fails with this status and does nothing.
    Fails(u16),
    /// Declines with this reason and does nothing.
    Declines(&'static str),
    /// Its `/verify` fails.
    NoVerify,
    /// Its `/verify` finds the payment invalid.
    Invalid(&'static str),
    /// Its `/verify` finds the payment invalid; it executes what it was shown, some time later.
    ExecutesInvalid(&'static str),
    /// Its `/verify` executes the payment and never answers.
    HangsInVerify,
    /// Sends everybody to another place.
    Redirects,
}

/// When it executes what it has called invalid.
const LATER: Duration = Duration::from_millis(500);

struct Shared {
    chain: Arc<dyn Backend>,
    mode: Mutex<Mode>,
    extra: Mutex<Option<Value>>,
    kinds: Mutex<Option<Value>>,
    settles: Mutex<usize>,
    verifies: Mutex<usize>,
    authorization: Mutex<Vec<(String, String)>>,
}

/// Ends when dropped.
pub struct Server {
    shared: Arc<Shared>,
    address: std::net::SocketAddr,
    serving: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Server {
    pub async fn start(chain: Arc<dyn Backend>, mode: Mode) -> Self {
        let shared = Arc::new(Shared {
            chain,
            mode: Mutex::new(mode),
            extra: Mutex::default(),
            kinds: Mutex::default(),
            settles: Mutex::default(),
            verifies: Mutex::default(),
            authorization: Mutex::default(),
        });
        let routes = Router::new()
            .route("/x402/supported", get(supported))
            .route("/x402/verify", post(verify))
            .route("/x402/settle", post(settle))
            .layer(axum::middleware::map_response(closed))
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

    pub fn url(&self) -> reqwest::Url {
        // The slash at the end makes no difference.
        reqwest::Url::parse(&format!("http://{}/x402/", self.address)).unwrap()
    }

    pub fn set(&self, mode: Mode) {
        *self.shared.mode.lock() = mode;
    }

    /// `extra` of the kind in `/supported`, in the place of the chain's.
    pub fn offers(&self, extra: Value) {
        *self.shared.extra.lock() = Some(extra);
    }

    /// What `/supported` says from now on.
    pub fn supports(&self, kinds: Value) {
        *self.shared.kinds.lock() = Some(kinds);
    }

    /// How often it was asked to settle.
    pub fn settles(&self) -> usize {
        *self.shared.settles.lock()
    }

    pub fn verifies(&self) -> usize {
        *self.shared.verifies.lock()
    }

    /// Route and `Authorization` of each call that had one.
    pub fn authorization(&self) -> Vec<(String, String)> {
        self.shared.authorization.lock().clone()
    }

    /// Stops listening on the address.
    pub async fn stop(&mut self) {
        self.serving.abort();
        let _ = (&mut self.serving).await;
    }
}

/// Each connection carries one call, so that an old connection cannot reach a stopped facilitator.
async fn closed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert("connection", axum::http::HeaderValue::from_static("close"));
    response
}

fn record(shared: &Shared, route: &str, headers: &HeaderMap) {
    if let Some(value) = headers.get("authorization") {
        let value = value.to_str().unwrap().to_owned();
        shared.authorization.lock().push((route.to_owned(), value));
    }
}

async fn supported(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    record(&shared, "supported", &headers);
    let kinds = shared.kinds.lock().clone();
    let kinds = kinds.unwrap_or_else(|| {
        let extra = shared.extra.lock().clone();
        let extra = extra.unwrap_or_else(|| shared.chain.extra());
        json!([{"x402Version": 2, "scheme": "exact", "network": shared.chain.caip2(), "extra": extra}])
    });
    axum::Json(json!({"kinds": kinds, "extensions": [], "signers": {}})).into_response()
}

async fn verify(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    record(&shared, "verify", &headers);
    *shared.verifies.lock() += 1;
    let invalid = |reason: &str| axum::Json(json!({"isValid": false, "invalidReason": reason})).into_response();
    let mode = *shared.mode.lock();
    match mode {
        Mode::NoVerify => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Mode::Invalid(reason) => return invalid(reason),
        _ => {}
    }
    let request: Value = serde_json::from_slice(&body).unwrap();
    match mode {
        Mode::ExecutesInvalid(reason) => {
            let chain = shared.chain.clone();
            tokio::spawn(async move {
                tokio::time::sleep(LATER).await;
                drop(chain.settle(&request).await);
            });
            return invalid(reason);
        }
        Mode::HangsInVerify => {
            drop(shared.chain.settle(&request).await);
            return std::future::pending().await;
        }
        _ => {}
    }
    match shared.chain.verify(&request).await {
        Ok(()) => axum::Json(json!({"isValid": true, "payer": "0x01"})).into_response(),
        Err(reason) => invalid(reason),
    }
}

async fn settle(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    record(&shared, "settle", &headers);
    *shared.settles.lock() += 1;
    let mode = *shared.mode.lock();
    let network = shared.chain.caip2();
    let failure = |reason: &str, transaction: &str| json!({"success": false, "errorReason": reason, "transaction": transaction, "network": network});
    let success =
        |transaction: &str, network: &str| json!({"success": true, "transaction": transaction, "network": network});
    let made_up = format!("0x{}", "77".repeat(32));
    match mode {
        Mode::FalseReport => return axum::Json(success(&made_up, network)).into_response(),
        Mode::Fails(status) => return StatusCode::from_u16(status).unwrap().into_response(),
        Mode::Declines(reason) => return axum::Json(failure(reason, "")).into_response(),
        Mode::Redirects => return (StatusCode::TEMPORARY_REDIRECT, [("location", "/x402/other")]).into_response(),
        _ => {}
    }
    let request: Value = serde_json::from_slice(&body).unwrap();
    // It sends again whenever it is asked: the chain takes the payment once.
    let transaction = match shared.chain.settle(&request).await {
        Ok(transaction) => transaction,
        Err(Failure { reason, transaction }) => return axum::Json(failure(reason, &transaction)).into_response(),
    };
    match mode {
        Mode::NoHash => axum::Json(success("", network)).into_response(),
        Mode::WrongFormat => axum::Json(success("a transaction", network)).into_response(),
        Mode::OtherNetwork => axum::Json(success(&transaction, "eip155:1")).into_response(),
        Mode::Pending => axum::Json(failure("settlement_pending", &transaction)).into_response(),
        Mode::FailsAfter(status) => (StatusCode::from_u16(status).unwrap(), "<html>").into_response(),
        Mode::DeclinesAfter(status, reason) => {
            let status = StatusCode::from_u16(status).unwrap();
            (status, axum::Json(failure(reason, ""))).into_response()
        }
        Mode::HangsAfter => std::future::pending().await,
        Mode::EndlessAfter => vec![b' '; 1024 * 1024].into_response(),
        Mode::CutAfter => "{\"success\": tr".into_response(),
        _ => axum::Json(success(&transaction, network)).into_response(),
    }
}
