//! The one layer around the routes. It handles everything common to all requests and responses: ids, limits, the
//! caller, preflights, timeouts, panics, error bodies, headers.
//!
//! Invariant: nothing here knows a product, a payment or the engine, and no route adds these headers itself.

use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::response::Response;
use bytes::Bytes;
use futures_util::FutureExt;
use http::header::{ACCEPT, ALLOW, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, Version};
use purser_actors::kernel::request_context;
use purser_actors::port::{Clock, Entropy};
use tower::Service;

use super::auth::{Authenticator, BearerAuth, RequestExtensions, RequestId, RequestIds};
use super::deprecation::DeprecationHeaders;
use super::error::{ApiError, ErrorCode, ErrorFormat, JSON, PROBLEM, PendingError, PrebuiltBody};
use super::forwarded::TrustedProxies;
use super::headers::{FixedHeaders, write_preflight};
use super::json;
use super::rate_limit::{RateLimitKey, RateLimitStatus, RateLimiter};
use super::request_metrics::RequestMetrics;
use purser_config::Config;
use purser_host::system::Stopwatch;

/// What the front has to know of paths before it calls a handler.
#[derive(Default)]
pub struct PathRules {
    /// GET routes that reject HEAD: paid ones, and those that consume something.
    pub head_not_allowed: Vec<&'static str>,
    /// Callable functions, which have their own error format.
    pub callables: Vec<&'static str>,
    /// Routes with their own body limit, in bytes.
    pub body_limits: Vec<(&'static str, usize)>,
    /// Routes that wait for a provider or the owner, with their own timeout.
    pub timeouts: Vec<(&'static str, Duration)>,
}

/// Dependencies of the front.
pub struct FrontConfig {
    pub routes: Router,
    pub rules: PathRules,
    /// Verifies bearer tokens.
    pub authenticator: Arc<dyn Authenticator>,
    /// Shared with the paid routes, which count verified payments.
    pub limiter: Arc<RateLimiter>,
    pub request_metrics: Arc<RequestMetrics>,
    pub clock: Arc<dyn Clock>,
    /// Seeds the request ids.
    pub entropy: Arc<dyn Entropy>,
    /// First 12 hex digits of the documents' hash.
    pub docs_version: String,
    /// Whether pages of any origin may call, under any host name. Otherwise there is no CORS, and a `Host` other than
    /// an address or `localhost` is rejected: this stops DNS rebinding.
    pub cors: bool,
}

/// Paths that are never limited.
const HEALTH: [&str; 2] = ["/healthz", "/readyz"];

pub struct Front {
    routes: Router,
    rules: PathRules,
    authenticator: Arc<dyn Authenticator>,
    limiter: Arc<RateLimiter>,
    request_metrics: Arc<RequestMetrics>,
    clock: Arc<dyn Clock>,
    ids: RequestIds,
    fixed_headers: FixedHeaders,
    deprecated_routes: DeprecationHeaders,
    cors: bool,
    proxies: TrustedProxies,
    max_url_bytes: usize,
    max_header_bytes: usize,
    max_body_bytes: usize,
    body_timeout: Duration,
    request_timeout: Duration,
}

impl Front {
    /// Wraps the routes with the limits of the settings.
    pub fn new(config: &Config, parts: FrontConfig) -> Self {
        let limits = &config.limits;
        let (docs, sandbox) = (&parts.docs_version, config.is_sandbox());
        Self {
            routes: parts.routes,
            rules: parts.rules,
            authenticator: parts.authenticator,
            limiter: parts.limiter,
            request_metrics: parts.request_metrics,
            clock: parts.clock,
            ids: RequestIds::new(&*parts.entropy),
            deprecated_routes: DeprecationHeaders::new(&config.versions.deprecated_routes),
            cors: parts.cors,
            fixed_headers: FixedHeaders::new(docs, limits, sandbox, parts.cors),
            proxies: TrustedProxies::new(config.server.trusted_proxies.clone(), config.server.forwarded_header),
            max_url_bytes: config.server.max_url_bytes,
            max_header_bytes: config.server.max_header_bytes,
            max_body_bytes: config.server.max_body_bytes,
            body_timeout: config.server.body_timeout(),
            request_timeout: config.server.request_timeout(),
        }
    }

    /// Answers one request. Never fails and never panics.
    pub async fn respond(&self, request: Request<Body>, peer: SocketAddr) -> Response {
        let watch = Stopwatch::start();
        let route = self.request_metrics.route(request.uri().path());
        let response = self.handle(request, peer).await;
        self.request_metrics.record(route, response.status(), watch.micros());
        response
    }

    async fn handle(&self, request: Request<Body>, peer: SocketAddr) -> Response {
        let id = self.ids.next();
        let (mut parts, body) = request.into_parts();
        let ip = self.proxies.client(peer.ip(), &parts.headers);
        let bearer = BearerAuth::authenticate(&parts.headers, &*self.authenticator);
        let caller = match &bearer {
            BearerAuth::Valid(claims) => RateLimitKey::Wallet(claims.wallet),
            _ => RateLimitKey::from(ip),
        };
        let now = self.clock.now();
        let free = parts.method == Method::OPTIONS || HEALTH.contains(&parts.uri.path());
        let budget = if free {
            self.limiter.peek(caller, now)
        } else {
            self.limiter.count(caller, now)
        };
        let form = self.error_format(&parts);
        let is_preflight = parts.method == Method::OPTIONS;
        let announced = self.deprecated_routes.of(parts.uri.path());
        let uri = parts.uri.clone();

        let mut is_body_left = !body.is_end_stream();
        let mut response = if let Err(error) = self.precheck(&parts) {
            error.render(id, form)
        } else if is_preflight && self.cors {
            preflight(self.methods(&uri).await)
        } else {
            match self.received(&parts, body).await {
                Err(error) => error.render(id, form),
                Ok(received) => {
                    is_body_left = false;
                    match self.early_error(&parts, &budget, free).await {
                        Some(error) => error.render(id, form),
                        None => {
                            // What was valid when the headers came can have been revoked while the body did.
                            let bearer = match received {
                                None => bearer,
                                Some(_) => BearerAuth::authenticate(&parts.headers, &*self.authenticator),
                            };
                            let body = received.map_or_else(Body::empty, Body::from);
                            parts.extensions.insert(RequestExtensions { bearer, id, ip });
                            finish(self.run(id, parts, body).await, id, form)
                        }
                    }
                }
            }
        };
        if is_body_left {
            // Its rest is not read, so the connection closes, and the client must not send another request on it.
            response
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(announced) = announced {
            response.headers_mut().extend(announced.clone());
        }
        self.complete_allow(&mut response, uri.path());
        self.add_headers(response, id, &budget)
    }

    /// Calls the handler. Its log lines name the request.
    async fn run(&self, id: RequestId, parts: Parts, body: Body) -> Response {
        let work = async move {
            tracing::debug!(method = %parts.method, path = parts.uri.path(), "asked");
            self.route(Request::from_parts(parts, body)).await
        };
        request_context::in_request(purser_actors::id::RequestId(id.0), work).await
    }

    /// Completes the methods that a 405 lists.
    fn complete_allow(&self, response: &mut Response, path: &str) {
        let (status, headers) = (response.status(), response.headers_mut());
        if status == StatusCode::METHOD_NOT_ALLOWED
            && let Some(allow) = headers.get(ALLOW).and_then(|routed| self.allow(path, routed))
        {
            headers.insert(ALLOW, allow);
        }
    }

    fn error_format(&self, parts: &Parts) -> ErrorFormat {
        if accepts_problem_json(&parts.headers) {
            ErrorFormat::Problem
        } else if self.rules.callables.contains(&parts.uri.path()) {
            ErrorFormat::Callable
        } else {
            ErrorFormat::Plain
        }
    }

    fn add_headers(&self, mut response: Response, id: RequestId, budget: &RateLimitStatus) -> Response {
        self.fixed_headers.write(response.headers_mut(), id.header(), budget);
        response
    }

    /// Checks limits on the request itself, before any work.
    fn precheck(&self, parts: &Parts) -> Result<(), ApiError> {
        let none = HeaderMap::new();
        let url = parts.uri.path_and_query().map_or(0, |p| p.as_str().len());
        if url > self.max_url_bytes {
            return Err(ApiError::of_status(StatusCode::URI_TOO_LONG, &none));
        }
        let sent: usize = parts
            .headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + 4)
            .sum();
        if sent > self.max_header_bytes {
            let hint = format!("At most {} bytes of headers.", self.max_header_bytes);
            return Err(ApiError::of_status(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, &none).hint(hint));
        }
        // RFC 9112, section 3.2.
        let hosts = parts.headers.get_all(HOST).iter().count();
        if hosts > 1 || (hosts == 0 && parts.version == Version::HTTP_11) {
            return Err(ApiError::of_status(StatusCode::BAD_REQUEST, &none));
        }
        if !self.cors && !parts.headers.get(HOST).is_none_or(is_address) {
            let error = "This address is called by its number, or as localhost.";
            return Err(ApiError::new(ErrorCode::HostNotAllowed, error));
        }
        let declared = parts
            .headers
            .get(CONTENT_LENGTH)
            .and_then(|v| v.to_str().ok())
            .and_then(|v| v.parse().ok());
        let most = self.body_limit(parts);
        if declared.is_some_and(|bytes: u64| bytes > most as u64) {
            let hint = format!("At most {most} bytes.");
            return Err(ApiError::of_status(StatusCode::PAYLOAD_TOO_LARGE, &none).hint(hint));
        }
        Ok(())
    }

    fn body_limit(&self, parts: &Parts) -> usize {
        let mut own = self.rules.body_limits.iter();
        let own = own.find(|(path, _)| *path == parts.uri.path());
        own.map_or(self.max_body_bytes, |(_, bytes)| *bytes)
    }

    /// The whole body, if there is one. No handler waits for its client: between what a handler reads of credentials and
    /// what it does, the client cannot gain time.
    async fn received(&self, parts: &Parts, body: Body) -> Result<Option<Bytes>, ApiError> {
        if body.is_end_stream() {
            return Ok(None);
        }
        match tokio::time::timeout(self.body_timeout, json::collect(body, self.body_limit(parts))).await {
            Ok(received) => received.map(Some),
            Err(_elapsed) => Err(ApiError::of_status(StatusCode::REQUEST_TIMEOUT, &HeaderMap::new())),
        }
    }

    /// 405 goes before 429: even a caller over its limit learns that the method is not supported.
    async fn early_error(&self, parts: &Parts, budget: &RateLimitStatus, free: bool) -> Option<ApiError> {
        if parts.method == Method::HEAD && self.rules.head_not_allowed.contains(&parts.uri.path()) {
            return Some(ApiError::method_not_allowed(HeaderValue::from_static("GET")));
        }
        if free || budget.allowed {
            return None;
        }
        let wrong_method = self.wrong_method(parts).await;
        Some(wrong_method.unwrap_or_else(|| ApiError::rate_limited(u64::from(budget.reset_seconds))))
    }

    /// Asks the routes for the methods of a path with an unsupported method, so that no handler runs. `None` if the
    /// path is unknown.
    async fn methods(&self, uri: &Uri) -> Option<HeaderValue> {
        let mut probe = Request::new(Body::empty());
        *probe.method_mut() = Method::from_bytes(b"PROBE").ok()?;
        *probe.uri_mut() = uri.clone();
        let Ok(answer) = self.routes.clone().call(probe).await;
        let is_there = answer.status() == StatusCode::METHOD_NOT_ALLOWED;
        let routed = answer.headers().get(ALLOW).filter(|_| is_there)?;
        self.allow(uri.path(), routed)
    }

    /// The methods a path supports. The routes answer HEAD wherever there is a GET, but the front rejects it where it
    /// would have a cost. The front answers preflights.
    fn allow(&self, path: &str, routed: &HeaderValue) -> Option<HeaderValue> {
        let routed = routed.to_str().ok()?.split(',').map(str::trim);
        let mut methods: Vec<&str> = routed
            .filter(|method| *method != "HEAD" || !self.rules.head_not_allowed.contains(&path))
            .collect();
        if self.cors && !methods.contains(&"OPTIONS") {
            methods.push("OPTIONS");
        }
        HeaderValue::from_str(&methods.join(", ")).ok()
    }

    async fn wrong_method(&self, parts: &Parts) -> Option<ApiError> {
        let allow = self.methods(&parts.uri).await?;
        let known = allow.to_str().ok()?.split(", ").any(|one| one == parts.method.as_str());
        (!known).then(|| ApiError::method_not_allowed(allow.clone()))
    }

    /// Runs the routes. A panic is a 500, a timeout a 503.
    async fn route(&self, request: Request<Body>) -> Response {
        use axum::response::IntoResponse;
        let patient = self
            .rules
            .timeouts
            .iter()
            .find(|(path, _)| *path == request.uri().path());
        let within = patient.map_or(self.request_timeout, |(_, within)| *within);
        let answer = AssertUnwindSafe(self.routes.clone().call(request)).catch_unwind();
        match tokio::time::timeout(within, answer).await {
            Ok(Ok(Ok(response))) => response,
            Ok(Err(_panic)) => {
                tracing::error!("a handler panicked");
                ApiError::internal().into_response()
            }
            Err(_elapsed) => {
                tracing::warn!("a request took too long");
                ApiError::unavailable(
                    ErrorCode::ProcessingTimeout,
                    "The request took too long. It may have taken effect.",
                    2,
                )
                .into_response()
            }
        }
    }

    /// The whole response, as bytes, for input that could not be parsed as a request.
    pub fn respond_to_parse_error(&self, status: StatusCode, peer: IpAddr) -> Vec<u8> {
        let id = self.ids.next();
        // An unparsed request has no route and no processing time.
        self.request_metrics.record(self.request_metrics.route(""), status, 0);
        let error = ApiError::of_status(status, &HeaderMap::new());
        let budget = self.limiter.count(RateLimitKey::from(peer), self.clock.now());
        let body = error.body(id, ErrorFormat::Plain);
        let response = self.add_headers(error.render(id, ErrorFormat::Plain), id, &budget);
        let mut bytes = format!(
            "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        )
        .into_bytes();
        for (name, value) in response.headers() {
            bytes.extend_from_slice(name.as_str().as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&body);
        bytes
    }
}

/// Whether a `Host` is an address or `localhost`, with or without a port. A page can't choose either as its own name.
fn is_address(host: &HeaderValue) -> bool {
    let Ok(host) = http::uri::Authority::try_from(host.as_bytes()) else {
        return false;
    };
    let name = host.host().trim_matches(['[', ']']);
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

fn preflight(allow: Option<HeaderValue>) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    write_preflight(response.headers_mut());
    if let Some(allow) = allow {
        response.headers_mut().insert(ALLOW, allow);
    }
    response
}

/// Writes the body of an error. Other responses stay unchanged.
fn finish(mut response: Response, id: RequestId, form: ErrorFormat) -> Response {
    let status = response.status();
    if status.as_u16() < 400 {
        return response;
    }
    if let Some(PendingError(error)) = response.extensions_mut().remove::<PendingError>() {
        let mut rendered = error.render(id, form);
        // The routes set the length of the empty body that carried the error.
        response.headers_mut().remove(CONTENT_LENGTH);
        // Headers that the handler set (a deprecation, a lower limit) stay.
        for (name, value) in response.headers() {
            rendered.headers_mut().entry(name).or_insert_with(|| value.clone());
        }
        return rendered;
    }
    if response.extensions().get::<PrebuiltBody>().is_some() {
        // A 402 has its own members, which may be part of a problem document. A page stays a page.
        let is_json = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == JSON);
        if form == ErrorFormat::Problem && is_json {
            response
                .headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM));
        }
        return response;
    }
    ApiError::of_status(status, response.headers()).render(id, form)
}

/// Whether the client accepts RFC 9457 by name, with a quality above 0. `*/*` does not count.
fn accepts_problem_json(headers: &HeaderMap) -> bool {
    let asked = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    asked.flat_map(|value| value.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let unwanted = |part: &str| {
            let quality = part.split_once('=').filter(|(name, _)| name.eq_ignore_ascii_case("q"));
            quality.is_some_and(|(_, weight)| weight.bytes().all(|b| matches!(b, b'0' | b'.')))
        };
        parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case(PROBLEM)) && !parts.any(unwanted)
    })
}
