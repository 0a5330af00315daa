//! An HTTP server with the real middleware and fakes behind it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::response::{self, IntoResponse};
use axum::routing::{get, post};
use http::StatusCode;
use purser::config::{Config, ConfigSources};
use purser::http::auth::{AccountStatus, AuthClaims, Authenticated, Authenticator, Refusal, TokenError};
use purser::http::error::{ApiError, ErrorCode, with_prebuilt_body};
use purser::http::events::{self, EventState};
use purser::http::front::{Front, FrontConfig, PathRules};
use purser::http::health::{self, Readiness};
use purser::http::page_address::PageAddress;
use purser::http::pricing::{self, PriceList};
use purser::http::rate_limit::RateLimiter;
use purser::http::request_metrics::RequestMetrics;
use purser::http::routes::PATHS;
use purser::http::server::{Server, StopHandle};
use purser::http::{json, openapi, version};
use purser::identity::origin::Origin;
use purser::stream::{Hub, StreamContext};
use purser_actors::entity::session::AuthMethod;
use purser_actors::id::{SessionId, Wallet};
use purser_actors::port::{BoxFuture, Clock, Entropy, Timestamp};
use purser_storage::Store;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::conformance::{CheckedResponse, Conformance};
use crate::memory_store::MemoryEventStore;

pub const ALICE: Wallet = Wallet::Evm([0xa1; 20]);
pub const BOB: Wallet = Wallet::Evm([0xb0; 20]);
pub const FROZEN: Wallet = Wallet::Evm([0xf0; 20]);

/// Routes of the test that are not in the OpenAPI document.
const TEST_ROUTES: [&str; 9] = [
    "/paid",
    "/panic",
    "/bare",
    "/challenge",
    "/whoami",
    "/hang",
    "/gate",
    "/echo",
    "/refresh",
];

pub struct FixedClock(pub AtomicU64);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

pub struct Counter(pub AtomicU64);

impl Entropy for Counter {
    fn random(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::SeqCst)) << 64
    }
}

/// Treats token names as identities. The real authenticator has its own tests.
pub struct NameAuthenticator(pub Arc<FixedClock>);

impl NameAuthenticator {
    fn claims(&self, wallet: Wallet, session: u128, ms: u64) -> AuthClaims {
        let expires_at = self.0.now().plus_ms(ms);
        AuthClaims {
            wallet,
            session: SessionId(session),
            created_by: None,
            key: None,
            amr: AuthMethod::Wallet,
            issued_at: self.0.now(),
            expires_at,
            of_page: false,
        }
    }
}

impl Authenticator for NameAuthenticator {
    fn authenticate(&self, token: &str) -> Result<AuthClaims, TokenError> {
        match token {
            "alice" => Ok(self.claims(ALICE, 1, 3_600_000)),
            "alice-for-a-moment" => Ok(self.claims(ALICE, 2, 30)),
            "bob" => Ok(self.claims(BOB, 3, 3_600_000)),
            "frozen" => Ok(self.claims(FROZEN, 4, 3_600_000)),
            "expired" => Err(TokenError::Expired),
            "revoked" => Err(TokenError::Revoked),
            _ => Err(TokenError::Invalid),
        }
    }

    fn authenticate_session<'a>(&'a self, header: &'a str) -> BoxFuture<'a, Result<AuthClaims, TokenError>> {
        let cookie = header.strip_prefix("purser_session=").ok_or(TokenError::Invalid);
        Box::pin(async move { self.authenticate(cookie?) })
    }
}

struct SingleFrozenGate;

impl AccountStatus for SingleFrozenGate {
    fn is_revoked(&self, _: &AuthClaims) -> bool {
        false
    }

    fn refusal<'a>(&'a self, claims: &'a AuthClaims) -> BoxFuture<'a, Option<Refusal>> {
        let frozen = || Refusal::Frozen("Please write to us.".to_owned());
        Box::pin(async move { (claims.wallet == FROZEN).then(frozen) })
    }
}

struct AlwaysReady;

impl Readiness for AlwaysReady {
    fn ready(&self) -> Result<(), &'static str> {
        Ok(())
    }

    fn not_sold(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn networks_down(&self) -> Vec<(&'static str, std::borrow::Cow<'static, str>)> {
        Vec::new()
    }
}

pub struct Harness {
    pub addr: SocketAddr,
    pub clock: Arc<FixedClock>,
    pub store: Arc<MemoryEventStore>,
    pub hub: Arc<Hub>,
    pub config: Config,
    pub document: serde_json::Value,
    contract: Conformance,
    /// Number of calls of the fake paid handler.
    pub paid_calls: Arc<AtomicUsize>,
    /// `/gate` increments the first, then responds when the second has a permit.
    pub gate: (Arc<Semaphore>, Arc<Semaphore>),
    pub stop: Option<StopHandle>,
    pub running: tokio::task::JoinHandle<bool>,
}

impl Harness {
    pub async fn start() -> Self {
        Self::with(&[]).await
    }

    /// Starts with changed settings, as dotted name and value.
    pub async fn with(settings: &[(&str, &str)]) -> Self {
        let flags = settings
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        let config = Config::load(&ConfigSources {
            flags,
            ..ConfigSources::default()
        })
        .unwrap();
        let clock = Arc::new(FixedClock(AtomicU64::new(1_800_000_000_000)));
        let authenticator: Arc<dyn Authenticator> = Arc::new(NameAuthenticator(clock.clone()));
        let store = Arc::new(MemoryEventStore::default());
        let hub = Hub::new(&config.stream);
        store.subscribe(hub.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let stream = Arc::new(StreamContext {
            hub: hub.clone(),
            store: store.clone(),
            authenticator: authenticator.clone(),
            gate: Arc::new(SingleFrozenGate),
            clock: clock.clone(),
            config: config.stream.clone(),
        });
        let paid_calls = Arc::new(AtomicUsize::new(0));
        let gate = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let documents = openapi::ApiDocuments::new(&config, &format!("http://{addr}")).unwrap();
        let docs_version = documents.version(&[]);
        let document = documents.clients;
        let routes = pricing::router(PriceList::new(
            Arc::new(config.clone()),
            Arc::new(|_| None),
            Arc::new(|_| true),
        ))
        .unwrap()
        .merge(version::router(&docs_version, &config).unwrap())
        .merge(health::router(Arc::new(AlwaysReady)))
        .merge(openapi::router(&document))
        .merge(events::router(EventState {
            stream,
            pages: PageAddress::new(Origin::parse(&format!("http://{addr}")).unwrap(), true),
        }))
        .merge(test_routes(&config, paid_calls.clone(), gate.clone()));
        let inside = FrontConfig {
            routes,
            rules: PathRules {
                head_not_allowed: vec!["/paid"],
                ..PathRules::default()
            },
            authenticator,
            limiter: Arc::new(RateLimiter::new(&config.limits)),
            request_metrics: Arc::new(RequestMetrics::new(&PATHS, &[])),
            clock: clock.clone(),
            entropy: Arc::new(Counter(AtomicU64::new(7))),
            cors: true,
            docs_version,
        };
        let (server, stop) = Server::new(&config, listener, Arc::new(Front::new(&config, inside)));
        let running = tokio::spawn(server.run());
        Self {
            addr,
            clock,
            store,
            hub,
            config,
            contract: Conformance::new(document.clone()),
            document,
            paid_calls,
            gate,
            stop: Some(stop),
            running,
        }
    }

    /// Sends bytes and reads until the server closes the connection.
    pub async fn raw(&self, bytes: &[u8]) -> Response {
        let mut stream = TcpStream::connect(self.addr).await.unwrap();
        // The server may respond before it has read the whole request; that response still counts.
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        Response::parse(&answer)
    }

    /// Sends one request on its own connection. `headers` are whole lines.
    pub async fn request(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Response {
        let lines: String = headers.iter().map(|h| format!("{h}\r\n")).collect();
        let length = if body.is_empty() {
            String::new()
        } else {
            format!("content-length: {}\r\n", body.len())
        };
        let host = self.addr;
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{length}{lines}\r\n");
        let answer = self.raw(format!("{head}{body}").as_bytes()).await;
        let route = path.split('?').next().unwrap();
        // The store of this harness holds test envelopes.
        let made_up = route == "/events" && answer.status == 200;
        if !made_up && !TEST_ROUTES.contains(&route) {
            let of = |name: &str| answer.headers.get(name).map(|values| values[0].as_str());
            self.contract.check(&CheckedResponse {
                method,
                path,
                status: answer.status,
                content_type: of("content-type"),
                body: &answer.body,
            });
        }
        answer
    }

    pub async fn get(&self, path: &str) -> Response {
        self.request("GET", path, &[], "").await
    }
}

fn test_routes(config: &Config, paid: Arc<AtomicUsize>, (inside, gate): (Arc<Semaphore>, Arc<Semaphore>)) -> Router {
    let most = config.server.max_body_bytes;
    let echo = move |body: Body| async move {
        let value: serde_json::Value = json::read(body, most).await?;
        Ok::<response::Response, ApiError>(json::ok(&value))
    };
    let waits = move || async move {
        inside.add_permits(1);
        gate.acquire().await.map(drop).is_ok().to_string()
    };
    let old = || async {
        Err::<response::Response, _>(ApiError::parameter(
            ErrorCode::ParameterMissing,
            "grant_type",
            "Missing.",
        ))
    };
    Router::new()
        .route(
            "/paid",
            get(move || async move { paid.fetch_add(1, Ordering::SeqCst).to_string() }),
        )
        .route("/panic", get(|| async { panic!("secret-in-a-panic") as () }))
        .route(
            "/bare",
            get(|| async { (StatusCode::BAD_GATEWAY, "secret text of a layer below") }),
        )
        .route(
            "/challenge",
            get(|| async { with_prebuilt_body((StatusCode::PAYMENT_REQUIRED, "mine").into_response()) }),
        )
        .route(
            "/whoami",
            get(|Authenticated(claims): Authenticated| async move { claims.wallet.user_id() }),
        )
        .route("/hang", get(|| async { std::future::pending::<()>().await }))
        .route("/gate", get(waits))
        .route("/echo", post(echo))
        .route("/refresh", post(old))
}

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    headers: HashMap<String, Vec<String>>,
    pub body: String,
}

impl Response {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {text:?}"));
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers: HashMap<String, Vec<String>> = HashMap::new();
        for (name, value) in lines.filter_map(|l| l.split_once(": ")) {
            headers.entry(name.to_owned()).or_default().push(value.to_owned());
        }
        Self {
            status,
            headers,
            body: body.to_owned(),
        }
    }

    /// A header that is present exactly once.
    pub fn header(&self, name: &str) -> &str {
        match self.headers.get(name).map(Vec::as_slice) {
            Some([one]) => one,
            other => panic!("header {name}: {other:?} in {self:?}"),
        }
    }

    pub fn headers(&self) -> Vec<(String, String)> {
        let all = self.headers.iter();
        all.flat_map(|(name, values)| values.iter().map(|value| (name.clone(), value.clone())))
            .collect()
    }

    pub fn has(&self, name: &str) -> bool {
        self.headers.contains_key(name)
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap().to_owned()
    }

    /// The headers that every response carries.
    pub fn assert_standard_headers(&self) {
        assert_eq!(self.header("x-service-api-version"), "2026-11-20");
        assert_eq!(self.header("x-service-docs-version").len(), 12);
        assert_eq!(self.header("x-service-mode"), "sandbox");
        assert!(self.header("request-id").starts_with("req_"));
        assert_eq!(self.header("access-control-allow-origin"), "*");
        let exposed = self.header("access-control-expose-headers");
        for name in [
            "PAYMENT-REQUIRED",
            "WWW-Authenticate",
            "Retry-After",
            "RateLimit-Reset",
            "Request-Id",
        ] {
            assert!(exposed.contains(name), "{name}");
        }
        for name in ["limit", "remaining", "reset", "policy"] {
            let (plain, prefixed) = (format!("ratelimit-{name}"), format!("x-ratelimit-{name}"));
            assert_eq!(self.header(&plain), self.header(&prefixed));
        }
        if self.status >= 400 && self.body != "mine" {
            let body = self.json();
            assert!(body["error"].is_string() && body["code"].is_string() && body["terminal"].is_boolean());
            assert_eq!(body["request_id"], self.header("request-id"));
        }
    }
}
