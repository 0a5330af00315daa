//! Faults between the port and its endpoints.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use purser_chains::rpc::{BoxFuture, EndpointUrl, HttpTransport, Response, Transport, TransportError};
use purser_chains::solana::transaction::{Transaction, UNSIGNED};
use serde_json::{Value, json};

/// Changes an endpoint's answer: the request, and its result.
type FalseResponse = Arc<dyn Fn(&Value, &mut Value) + Send + Sync>;

/// A transport that drops and falsifies responses as the test orders.
pub struct Faults {
    inner: HttpTransport,
    url: EndpointUrl,
    hanging: Mutex<BTreeSet<&'static str>>,
    false_responses: Mutex<Vec<(&'static str, FalseResponse)>>,
    unreachable: Mutex<BTreeSet<&'static str>>,
    drops_transactions: AtomicBool,
    pub dropped: AtomicUsize,
    pub sent: AtomicUsize,
    /// Simulations that showed a signature.
    pub signed_simulations: AtomicUsize,
}

/// Whether a transaction in base64 has any signature.
fn is_signed(transaction: &Value) -> bool {
    let bytes = STANDARD.decode(transaction.as_str().unwrap()).unwrap();
    let transaction = Transaction::parse(&bytes).unwrap();
    transaction.signatures.iter().any(|signature| *signature != UNSIGNED)
}

impl Faults {
    /// `url`: where an endpoint is whose host is in `.test`.
    pub fn new(inner: HttpTransport, url: EndpointUrl) -> Self {
        Self {
            inner,
            url,
            hanging: Mutex::default(),
            false_responses: Mutex::default(),
            unreachable: Mutex::default(),
            drops_transactions: AtomicBool::new(false),
            dropped: AtomicUsize::new(0),
            sent: AtomicUsize::new(0),
            signed_simulations: AtomicUsize::new(0),
        }
    }

    /// Endpoints whose host begins so do not answer.
    pub fn kill(&self, host: &'static str) {
        self.unreachable.lock().insert(host);
    }

    pub fn revive(&self) {
        self.unreachable.lock().clear();
        self.hanging.lock().clear();
    }

    /// Endpoints whose host begins so take the request and never answer.
    pub fn hang(&self, host: &'static str) {
        self.hanging.lock().insert(host);
    }

    /// The endpoint whose host begins so answers so.
    pub fn falsify(&self, host: &'static str, lie: impl Fn(&Value, &mut Value) + Send + Sync + 'static) {
        self.false_responses.lock().push((host, Arc::new(lie)));
    }

    /// No endpoint lies any more.
    pub fn clear_false_responses(&self) {
        self.false_responses.lock().clear();
    }

    /// Transactions are accepted and dropped.
    pub fn drop_transactions(&self, swallows: bool) {
        self.drops_transactions.store(swallows, Ordering::SeqCst);
    }
}

impl Transport for Faults {
    fn post<'a>(
        &'a self,
        url: &'a EndpointUrl,
        body: Vec<u8>,
        timeout: Duration,
        max_response_bytes: usize,
    ) -> BoxFuture<'a, Result<Response, TransportError>> {
        Box::pin(async move {
            if self.unreachable.lock().iter().any(|host| url.host().starts_with(host)) {
                return Err(TransportError::Timeout);
            }
            if self.hanging.lock().iter().any(|host| url.host().starts_with(host)) {
                tokio::time::sleep(timeout).await;
                return Err(TransportError::Timeout);
            }
            let request: Value = serde_json::from_slice(&body).unwrap();
            if request["method"] == "simulateTransaction" && is_signed(&request["params"][0]) {
                self.signed_simulations.fetch_add(1, Ordering::SeqCst);
            }
            if request["method"] == "sendTransaction" {
                self.sent.fetch_add(1, Ordering::SeqCst);
                if self.drops_transactions.load(Ordering::SeqCst) {
                    self.dropped.fetch_add(1, Ordering::SeqCst);
                    let body = json!({"jsonrpc": "2.0", "id": request["id"], "result": "1"}).to_string();
                    return Ok(Response {
                        status: 200,
                        retry_after: None,
                        body: body.into_bytes(),
                    });
                }
            }
            let to = if url.host().contains(".test") { &self.url } else { url };
            let answer = self.inner.post(to, body, timeout, max_response_bytes).await;
            let lies: Vec<FalseResponse> = {
                let lies = self.false_responses.lock();
                let matching = lies.iter().filter(|(host, _)| url.host().starts_with(host));
                matching.map(|(_, lie)| Arc::clone(lie)).collect()
            };
            let mut response = answer?;
            if !lies.is_empty() {
                let mut document: Value = serde_json::from_slice(&response.body).unwrap();
                lies.iter().for_each(|lie| lie(&request, &mut document["result"]));
                response.body = document.to_string().into_bytes();
            }
            Ok(response)
        })
    }
}
