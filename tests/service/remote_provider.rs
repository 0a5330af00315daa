//! Remote providers: `purser serve-providers` as a process, and a proxy in front of it that loses, duplicates, delays
//! and mixes up messages, by seed.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use purser::provider::callback::CallbackKey;
use purser::provider::connect::read_token;
use serde_json::Value;

use super::host::Host;

/// Response timeout of the service; the delays of the proxy are longer.
pub(crate) const TIMEOUT_MS: u64 = 300;

/// Every port that can be remote.
const PORTS: [&str; 9] = [
    "ISSUER",
    "GIFT_CARDS",
    "PAYOUTS",
    "IDENTITY",
    "ISSUER_ACCOUNTS",
    "BANKING",
    "BRIDGE",
    "RATES",
    "MERCHANTS",
];

/// `purser serve-providers` on an address that stays the same across a restart. The process is killed on drop.
pub(crate) struct Provider {
    child: Child,
    pub(crate) url: String,
    folder: tempfile::TempDir,
    callback_to: Option<String>,
}

impl Provider {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (child, url) = Self::spawn("127.0.0.1:0", folder.path(), None);
        Self {
            child,
            url,
            folder,
            callback_to: None,
        }
    }

    fn spawn(listen: &str, folder: &std::path::Path, callback_to: Option<&str>) -> (Child, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_purser"));
        command
            .env_clear()
            .args(["serve-providers", "--listen", listen, "--data"])
            .arg(folder);
        for delay in [
            "CARD_ISSUE_DELAY",
            "GIFT_CARD_DELAY",
            "PAYOUT_DELAY",
            "IDENTITY_CHECK_DELAY",
            "BANK_DELAY",
            "ISSUER_CREDIT_DELAY",
            "ATTESTATION_DELAY",
        ] {
            command.env(format!("PURSER_SANDBOX__{delay}_MS"), "10");
        }
        if let Some(service) = callback_to {
            command.args(["--callback-url", service, "--chain-url", service]);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next().expect("purser serve-providers ended").unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        let url = line[line.find("http://").unwrap()..].to_owned();
        (child, url)
    }

    /// Kills the process and restarts it with its stored data. It then calls this service.
    pub(crate) fn restart(&mut self, callback_to: Option<&str>) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.callback_to = callback_to.map(str::to_owned);
        let listen = self.url.trim_start_matches("http://").to_owned();
        let (child, _) = Self::spawn(&listen, self.folder.path(), self.callback_to.as_deref());
        self.child = child;
    }

    /// The key that signs its callbacks.
    pub(crate) fn callback_key(&self) -> CallbackKey {
        CallbackKey::of_token(&read_token(&self.folder.path().join("provider.token")).unwrap())
    }

    /// Sends an authenticated order, which must be accepted.
    pub(crate) async fn order(&self, path: &str, key: &str, body: &Value) {
        let token = read_token(&self.folder.path().join("provider.token")).unwrap();
        let request = super::http::client().post(format!("{}{path}", self.url));
        let request = request
            .bearer_auth(token.expose_secret())
            .header("idempotency-key", key);
        let answer = super::http::send_to_operator(request.json(body)).await.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    /// A host whose service uses this URL for every port.
    pub(crate) fn host(&self, url: &str) -> Host {
        let mut host = Host::new()
            .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "1")
            .with("PURSER_ENGINE__MAX_BACKOFF_MS", "50")
            .with("PURSER_ENGINE__MAX_ATTEMPTS", "1000");
        let token = self.folder.path().join("provider.token");
        for port in PORTS {
            let mut set = |name: &str, value: &str| host.set(&format!("PURSER_PROVIDERS__{port}__{name}"), value);
            set("URL", url);
            set("TOKEN_FILE", token.to_str().unwrap());
            set("TIMEOUT_MS", &TIMEOUT_MS.to_string());
        }
        host
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Orders that reached the provider: by path, each key with its bodies.
type Ordered = BTreeMap<String, BTreeMap<String, Vec<Value>>>;

/// Changes a page of a list.
type Edit = Box<dyn Fn(&mut Value) + Send>;

/// A proxy to a provider that can inject faults.
#[derive(Clone)]
pub(crate) struct ProviderProxy(Arc<Inner>);

struct Inner {
    to: String,
    client: reqwest::Client,
    /// State of the random generator, while faults are on.
    chance: Mutex<Option<u64>>,
    /// The last response to an order, by path. It can be sent to another caller.
    last: Mutex<BTreeMap<String, Bytes>>,
    ordered: Mutex<Ordered>,
    /// Applied to each page of a list.
    edit: Mutex<Option<Edit>>,
    mishaps: Mutex<BTreeMap<&'static str, u32>>,
}

impl ProviderProxy {
    /// Starts a proxy to a provider, without faults. Returns its URL.
    pub(crate) async fn to(provider: &str) -> (Self, String) {
        let way = Self(Arc::new(Inner {
            to: provider.to_owned(),
            client: purser::outbound::client().no_proxy().build().unwrap(),
            chance: Mutex::default(),
            last: Mutex::default(),
            ordered: Mutex::default(),
            edit: Mutex::default(),
            mishaps: Mutex::default(),
        }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(pass).with_state(way.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (way, url)
    }

    /// Turns on faults with this seed, or turns them off.
    pub(crate) fn fail(&self, seed: Option<u64>) {
        *self.0.chance.lock().unwrap() = seed;
    }

    /// Changes every page of every list from now on, or none.
    pub(crate) fn edit(&self, edit: Option<Edit>) {
        *self.0.edit.lock().unwrap() = edit;
    }

    fn edited(&self, path: &str, body: Bytes) -> Bytes {
        let edit = self.0.edit.lock().unwrap();
        let Some(edit) = edit.as_ref().filter(|_| path.starts_with("/v1/reconciliation-entries")) else {
            return body;
        };
        let mut page = serde_json::from_slice(&body).unwrap();
        edit(&mut page);
        serde_json::to_vec(&page).unwrap().into()
    }

    pub(crate) fn ordered(&self) -> Ordered {
        self.0.ordered.lock().unwrap().clone()
    }

    /// Number of faults by kind.
    pub(crate) fn mishaps(&self) -> BTreeMap<&'static str, u32> {
        self.0.mishaps.lock().unwrap().clone()
    }

    /// A random number below 100, or `None` while faults are off.
    fn roll(&self) -> Option<u64> {
        let mut chance = self.0.chance.lock().unwrap();
        let state = chance.as_mut()?;
        // SplitMix64: a seed gives the same faults each time, as long as requests arrive in the same order.
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        Some((mixed ^ (mixed >> 27)) % 100)
    }

    fn count_mishap(&self, mishap: &'static str) {
        *self.0.mishaps.lock().unwrap().entry(mishap).or_default() += 1;
    }

    async fn forward(&self, parts: &axum::http::request::Parts, body: &Bytes) -> (u16, Bytes) {
        let path = parts.uri.path_and_query().unwrap().as_str();
        let mut request = self
            .0
            .client
            .request(parts.method.clone(), format!("{}{path}", self.0.to));
        for name in ["authorization", "content-type", "idempotency-key"] {
            if let Some(value) = parts.headers.get(name) {
                request = request.header(name, value);
            }
        }
        match request.body(body.clone()).send().await {
            Ok(answer) => {
                let status = answer.status().as_u16();
                let body = answer.bytes().await.unwrap_or_default();
                (status, self.edited(path, body))
            }
            // The response of a proxy when the server is down.
            Err(_) => (502, Bytes::from_static(b"<h1>Bad Gateway</h1>")),
        }
    }
}

async fn pass(State(way): State<ProviderProxy>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let path = parts.uri.path().to_owned();
    let is_order = parts.method == "POST";
    if let (true, Some(key)) = (is_order, parts.headers.get("idempotency-key")) {
        let key = key.to_str().unwrap().to_owned();
        let mut ordered = way.0.ordered.lock().unwrap();
        let bodies = ordered.entry(path.clone()).or_default().entry(key).or_default();
        bodies.push(serde_json::from_slice(&body).unwrap());
    }
    let answer = |(status, body): (u16, Bytes)| {
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        response
    };
    match way.roll() {
        Some(0..10) => {
            way.count_mishap("never arrives");
            answer((502, Bytes::from_static(b"<h1>Bad Gateway</h1>")))
        }
        Some(10..20) => {
            way.count_mishap("answer is lost");
            way.forward(&parts, &body).await;
            tokio::time::sleep(Duration::from_millis(2 * TIMEOUT_MS)).await;
            answer((504, Bytes::new()))
        }
        Some(20..28) => {
            way.count_mishap("nonsense");
            way.forward(&parts, &body).await;
            answer((
                200,
                Bytes::from_static(b"{\"status\":\"declined\",\"reason\":\"nonsense\"}"),
            ))
        }
        Some(28..38) => {
            way.count_mishap("another's answer");
            way.forward(&parts, &body).await;
            let last = way.0.last.lock().unwrap().get(&path).cloned();
            answer((200, last.unwrap_or_default()))
        }
        Some(38..48) => {
            way.count_mishap("twice");
            way.forward(&parts, &body).await;
            answer(way.forward(&parts, &body).await)
        }
        Some(48..53) => {
            way.count_mishap("arrives late");
            let late = way.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(3 * TIMEOUT_MS)).await;
                late.forward(&parts, &body).await;
            });
            answer((504, Bytes::new()))
        }
        _ => {
            let forwarded = way.forward(&parts, &body).await;
            if is_order && forwarded.0 == 200 {
                way.0.last.lock().unwrap().insert(path, forwarded.1.clone());
            }
            answer(forwarded)
        }
    }
}
