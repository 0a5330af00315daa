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
type Lie = Arc<dyn Fn(&Value, &mut Value) + Send + Sync>;

/// A transport that loses what it is told to lose, and lies where it is told to.
pub struct Faults {
    inner: HttpTransport,
    url: EndpointUrl,
    hanging: Mutex<BTreeSet<&'static str>>,
    lies: Mutex<Vec<(&'static str, Lie)>>,
    dead: Mutex<BTreeSet<&'static str>>,
    swallows: AtomicBool,
    pub swallowed: AtomicUsize,
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
            lies: Mutex::default(),
            dead: Mutex::default(),
            swallows: AtomicBool::new(false),
            swallowed: AtomicUsize::new(0),
            sent: AtomicUsize::new(0),
            signed_simulations: AtomicUsize::new(0),
        }
    }

    /// Endpoints whose host begins so do not answer.
    pub fn kill(&self, host: &'static str) {
        self.dead.lock().insert(host);
    }

    pub fn revive(&self) {
        self.dead.lock().clear();
        self.hanging.lock().clear();
    }

    /// Endpoints whose host begins so take the request and never answer.
    pub fn hang(&self, host: &'static str) {
        self.hanging.lock().insert(host);
    }

    /// The endpoint whose host begins so answers so.
    pub fn lie(&self, host: &'static str, lie: impl Fn(&Value, &mut Value) + Send + Sync + 'static) {
        self.lies.lock().push((host, Arc::new(lie)));
    }

    /// No endpoint lies any more.
    pub fn be_honest(&self) {
        self.lies.lock().clear();
    }

    /// Transactions are accepted and dropped.
    pub fn swallow(&self, swallows: bool) {
        self.swallows.store(swallows, Ordering::SeqCst);
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
            if self.dead.lock().iter().any(|host| url.host().starts_with(host)) {
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
                if self.swallows.load(Ordering::SeqCst) {
                    self.swallowed.fetch_add(1, Ordering::SeqCst);
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
            let lies: Vec<Lie> = {
                let lies = self.lies.lock();
                let told = lies.iter().filter(|(host, _)| url.host().starts_with(host));
                told.map(|(_, lie)| Arc::clone(lie)).collect()
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
