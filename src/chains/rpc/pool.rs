//! All endpoints of one chain.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::Value;

use super::endpoint::{EndpointState, Heights};
use super::{BoxFuture, Call, Clock, EndpointSettings, EndpointStatus, RpcError, SettingsError, Transport, wire};

/// Maximum wait for our own rate limit within one call.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// Maximum number of calls in one HTTP request; longer batches are split.
const MAX_BATCH: usize = 100;

type Results = Vec<Result<Value, RpcError>>;

#[derive(Clone, Copy)]
enum Request<'a> {
    Call(&'a str, &'a Value),
    Batch(&'a [Call]),
}

impl Request<'_> {
    fn calls(self) -> u32 {
        match self {
            Self::Call(..) => 1,
            Self::Batch(calls) => u32::try_from(calls.len()).unwrap_or(u32::MAX),
        }
    }
}

struct Endpoint {
    settings: EndpointSettings,
    state: Mutex<EndpointState>,
}

/// One endpoint's response.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointAnswer {
    /// Index in the settings.
    pub endpoint: usize,
    /// Host of the endpoint's URL.
    pub host: String,
    /// Result of the call.
    pub result: Result<Value, RpcError>,
}

/// The endpoints of one chain. Cheap to share behind an [`Arc`].
pub struct RpcPool {
    endpoints: Vec<Endpoint>,
    transport: Arc<dyn Transport>,
    clock: Arc<dyn Clock>,
    next_id: AtomicU64,
}

impl std::fmt::Debug for RpcPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hosts = self.endpoints.iter().map(|e| e.settings.url.host());
        f.debug_tuple("RpcPool").field(&hosts.collect::<Vec<_>>()).finish()
    }
}

impl RpcPool {
    /// Creates a pool. Endpoints are in order of preference: among equally healthy ones the first is used.
    ///
    /// # Errors
    /// No endpoint, a duplicate, or a limit of zero.
    pub fn new(
        settings: Vec<EndpointSettings>,
        transport: Arc<dyn Transport>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SettingsError> {
        if settings.is_empty() {
            return Err(SettingsError::Empty);
        }
        for (i, endpoint) in settings.iter().enumerate() {
            endpoint.check()?;
            if settings[..i].iter().any(|other| other.url == endpoint.url) {
                return Err(SettingsError::Duplicate {
                    host: endpoint.url.host(),
                });
            }
        }
        let now_ms = clock.now_ms();
        let endpoint = |settings: EndpointSettings| Endpoint {
            state: Mutex::new(EndpointState::new(&settings, now_ms)),
            settings,
        };
        Ok(Self {
            endpoints: settings.into_iter().map(endpoint).collect(),
            transport,
            clock,
            next_id: AtomicU64::new(1),
        })
    }

    /// Number of endpoints.
    pub fn len(&self) -> usize {
        self.endpoints.len()
    }

    /// Hosts of the endpoints, in the order of the settings.
    pub fn hosts(&self) -> Vec<String> {
        self.endpoints.iter().map(|e| e.settings.url.host()).collect()
    }

    /// Always false: a pool has at least one endpoint.
    pub fn is_empty(&self) -> bool {
        self.endpoints.is_empty()
    }

    /// Queries the healthiest endpoint, then the next, until one responds. A JSON-RPC error explained by the chain's
    /// state or the call itself (a revert, a low nonce) counts as a response. See [`RpcError::is_endpoint_fault`].
    ///
    /// # Errors
    /// The last endpoint's error; [`RpcError::RateLimited`] if no endpoint may be called within 2 s.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        self.call_where(method, params, |_| true).await
    }

    /// Like [`RpcPool::call`], but tries the next endpoint while the result is not accepted: a lagging node returns
    /// `null` for existing objects. If no endpoint's result is accepted, returns the first one.
    ///
    /// # Errors
    /// Same as [`RpcPool::call`], if no endpoint returned a result.
    pub async fn call_where(
        &self,
        method: &str,
        params: Value,
        accept: impl Fn(&Value) -> bool,
    ) -> Result<Value, RpcError> {
        let request = Request::Call(method, &params);
        self.in_turn(request, |results| results.iter().flatten().all(&accept))
            .await?
            .pop()
            .unwrap_or_else(|| Err(RpcError::MalformedResponse("no result".to_owned())))
    }

    /// Queries one endpoint, by its index in the settings. Waits at most 2 s for its rate limit.
    ///
    /// # Errors
    /// The endpoint's error.
    pub async fn call_on(&self, endpoint: usize, method: &str, params: Value) -> Result<Value, RpcError> {
        let Some(endpoint) = self.endpoints.get(endpoint) else {
            return Err(RpcError::Unreachable("no such endpoint".to_owned()));
        };
        self.ask(endpoint, Request::Call(method, &params))
            .await?
            .pop()
            .unwrap_or_else(|| Err(RpcError::MalformedResponse("no result".to_owned())))
    }

    /// Several calls, at most 100, in one request to one endpoint, by its index in the settings. Waits at most 2 s for
    /// its rate limit.
    ///
    /// # Errors
    /// The endpoint's error.
    pub async fn batch_on(&self, endpoint: usize, calls: &[Call]) -> Result<Vec<Result<Value, RpcError>>, RpcError> {
        let Some(endpoint) = self.endpoints.get(endpoint) else {
            return Err(RpcError::Unreachable("no such endpoint".to_owned()));
        };
        self.ask(endpoint, Request::Batch(calls)).await
    }

    /// Several calls in one request to one endpoint, with results in their order. More than 100 are split. Only tries
    /// the next endpoint if the request fails as a whole.
    ///
    /// # Errors
    /// Same as [`RpcPool::call`].
    pub async fn batch(&self, calls: &[Call]) -> Result<Vec<Result<Value, RpcError>>, RpcError> {
        self.batch_where(calls, |_| true).await
    }

    /// Like [`RpcPool::batch`], but tries the next endpoint while the results of one request are not accepted, like
    /// [`RpcPool::call_where`]. `accept` gets at most 100 results at a time.
    ///
    /// # Errors
    /// Same as [`RpcPool::call`], if no endpoint returned results.
    pub async fn batch_where(
        &self,
        calls: &[Call],
        accept: impl Fn(&[Result<Value, RpcError>]) -> bool,
    ) -> Result<Vec<Result<Value, RpcError>>, RpcError> {
        let mut results = Vec::with_capacity(calls.len());
        for part in calls.chunks(MAX_BATCH) {
            let found = self.in_turn(Request::Batch(part), |results| accept(results)).await?;
            results.extend(found);
        }
        Ok(results)
    }

    /// Queries every endpoint concurrently and returns each response, in the order of the settings. For raw
    /// transactions: acceptance by one endpoint is enough.
    pub async fn send_to_all(&self, method: &str, params: Value) -> Vec<EndpointAnswer> {
        self.call_each(method, params).await
    }

    /// Queries every endpoint concurrently and returns each response, in the order of the settings. For proofs that
    /// need two.
    pub async fn call_each(&self, method: &str, params: Value) -> Vec<EndpointAnswer> {
        join_all((0..self.endpoints.len()).map(|endpoint| {
            let params = params.clone();
            async move {
                EndpointAnswer {
                    endpoint,
                    host: self.endpoints[endpoint].settings.url.host(),
                    result: self.call_on(endpoint, method, params).await,
                }
            }
        }))
        .await
    }

    /// Records the block height or slot that an endpoint has shown.
    pub fn observe_height(&self, endpoint: usize, height: u64) {
        if let Some(endpoint) = self.endpoints.get(endpoint) {
            endpoint.state.lock().set_height(height, self.clock.now_ms());
        }
    }

    /// Two others have shown a different chain than this endpoint: for ten minutes it is used after all others.
    pub fn outvote(&self, endpoint: usize) {
        const OUTVOTED_MS: u64 = 600_000;
        if let Some(endpoint) = self.endpoints.get(endpoint) {
            let now_ms = self.clock.now_ms();
            if endpoint
                .state
                .lock()
                .outvote(now_ms.saturating_add(OUTVOTED_MS), now_ms)
            {
                let host = endpoint.settings.url.host();
                tracing::error!(
                    host,
                    "an endpoint shows another chain than two others: it is used last for ten minutes"
                );
            }
        }
    }

    /// Highest height that any endpoint has shown.
    pub fn best_height(&self) -> Option<u64> {
        self.endpoints.iter().filter_map(|e| e.state.lock().height()).max()
    }

    fn heights(&self) -> Heights {
        let shown = self.endpoints.iter().filter_map(|e| e.state.lock().height());
        let mut shown: Vec<u64> = shown.collect();
        shown.sort_unstable_by(|one, other| other.cmp(one));
        Heights {
            best: shown.first().copied(),
            shared: shown.get(1).copied(),
        }
    }

    /// Status of each endpoint, in the order of the settings.
    pub fn status(&self) -> Vec<EndpointStatus> {
        let (best, now_ms) = (self.best_height(), self.clock.now_ms());
        let status = |e: &Endpoint| e.state.lock().status(&e.settings, best, now_ms);
        self.endpoints.iter().map(status).collect()
    }

    // Queries endpoints until results are accepted; otherwise returns the first results, otherwise the last failure.
    async fn in_turn(&self, request: Request<'_>, accept: impl Fn(&Results) -> bool) -> Result<Results, RpcError> {
        let (mut failure, mut fallback) = (None, None);
        for index in self.by_health(request.calls()) {
            let endpoint = &self.endpoints[index];
            match self.ask(endpoint, request).await {
                Ok(results) if accept(&results) => return Ok(results),
                Ok(results) => drop(fallback.get_or_insert(results)),
                Err(error) if error.is_endpoint_fault() => failure = Some(error),
                Err(error) => return Err(error),
            }
        }
        match (fallback, failure) {
            (Some(results), _) => Ok(results),
            (None, Some(error)) => Err(error),
            (None, None) => Err(RpcError::Unreachable("no endpoint".to_owned())),
        }
    }

    fn by_health(&self, calls: u32) -> Vec<usize> {
        let (heights, now_ms) = (self.heights(), self.clock.now_ms());
        let mut order: Vec<usize> = (0..self.endpoints.len()).collect();
        // A stable sort: the order of the settings decides between equals.
        order.sort_by_cached_key(|index| {
            let endpoint = &self.endpoints[*index];
            endpoint.state.lock().rank(&endpoint.settings, calls, heights, now_ms)
        });
        order
    }

    // Boxed, so that its code is generated in this crate and not wherever a call is awaited.
    fn ask<'a>(&'a self, endpoint: &'a Endpoint, request: Request<'a>) -> BoxFuture<'a, Result<Results, RpcError>> {
        Box::pin(async move {
            self.admit(endpoint, request.calls()).await?;
            self.exchange(endpoint, request).await
        })
    }

    async fn admit(&self, endpoint: &Endpoint, calls: u32) -> Result<(), RpcError> {
        let mut waited = Duration::ZERO;
        loop {
            let taken = endpoint
                .state
                .lock()
                .take(&endpoint.settings, calls, self.clock.now_ms());
            let Err(wait) = taken else { return Ok(()) };
            if waited + wait > MAX_WAIT {
                return Err(RpcError::RateLimited { retry_after: wait });
            }
            self.clock.sleep(wait).await;
            waited += wait;
        }
    }

    async fn exchange(&self, endpoint: &Endpoint, request: Request<'_>) -> Result<Results, RpcError> {
        let first = self.next_id.fetch_add(u64::from(request.calls()), Ordering::Relaxed);
        let (method, results) = match request {
            Request::Call(method, params) => {
                let response = self.post(endpoint, &wire::request(first, method, params)).await;
                (method, wire::single(response, first).map(|value| vec![Ok(value)]))
            }
            Request::Batch(calls) => {
                let requests = (first..).zip(calls);
                let requests = requests.map(|(id, call)| wire::request(id, call.method, &call.params));
                let response = self.post(endpoint, &requests.collect()).await;
                ("batch", wire::batch(response, first, calls.len()))
            }
        };
        self.record(endpoint, method, results.as_ref().err());
        results
    }

    async fn post(&self, endpoint: &Endpoint, document: &Value) -> Result<super::Response, super::TransportError> {
        let settings = &endpoint.settings;
        let body = document.to_string().into_bytes();
        self.transport
            .post(&settings.url, body, settings.timeout, settings.max_response_bytes)
            .await
    }

    fn record(&self, endpoint: &Endpoint, method: &str, error: Option<&RpcError>) {
        let failed = error.filter(|error| error.is_endpoint_fault());
        let was_failing = {
            let mut state = endpoint.state.lock();
            let was_failing = state.is_failing();
            state.record(error, self.clock.now_ms());
            was_failing
        };
        let host = || endpoint.settings.url.host();
        // An outage is logged when it begins and when it ends, not at each call.
        match (was_failing, failed) {
            (false, Some(error)) => tracing::warn!(host = host(), method, %error, "an endpoint fails"),
            (true, Some(error)) => tracing::debug!(host = host(), method, %error, "rpc call failed"),
            (true, None) => tracing::info!(host = host(), "an endpoint answers again"),
            (false, None) => {}
        }
    }
}
