//! Plain HTTP requests and responses, without a client library's behavior.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::conformance::{self, CheckedResponse, Conformance, record_response};
use super::host::{Service, TIMEOUT};

/// A client with keep-alive connections that follows no redirects.
pub(crate) fn client() -> reqwest::Client {
    purser::outbound::client().timeout(TIMEOUT).no_proxy().build().unwrap()
}

/// A complete response.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) text: String,
    /// Null if the body is not JSON.
    pub(crate) body: Value,
}

impl Response {
    async fn of(response: reqwest::Response) -> reqwest::Result<Self> {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        let body = serde_json::from_str(&text).unwrap_or_default();
        Ok(Self {
            status,
            headers,
            text,
            body,
        })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn str(&self, field: &str) -> Option<&str> {
        self.body.get(field).and_then(Value::as_str)
    }

    pub(crate) fn code(&self) -> &str {
        let of_callable = || self.body["error"]["code"].as_str();
        self.str("code").or_else(of_callable).unwrap_or_default()
    }

    /// The decoded `PAYMENT-RESPONSE`.
    pub(crate) fn receipt(&self) -> Value {
        let header = self.header("payment-response").expect("no receipt");
        assert_eq!(self.header("x-payment-response"), Some(header));
        serde_json::from_slice(&STANDARD.decode(header).unwrap()).unwrap()
    }

    /// The card id of a 200.
    pub(crate) fn card(&self) -> &str {
        assert_eq!(self.status, 200, "{}", self.text);
        self.str("card_id")
            .unwrap_or_else(|| panic!("no card in {}", self.text))
    }
}

/// Sends a request and checks the response against the service's own document. An error is a broken connection.
pub(crate) async fn send(request: reqwest::RequestBuilder) -> reqwest::Result<Response> {
    let (client, request) = request.build_split();
    let request = request?;
    let (method, url) = (request.method().clone(), request.url().clone());
    let answer = Response::of(client.execute(request).await?).await?;
    assert_ne!(answer.status, 500, "an internal error: {}", answer.text);
    // A service that dies meanwhile can't serve its document. A later response loads the next service's.
    let contract = contract(&client, &url).await;
    if let Err(error) = &contract {
        assert!(error.status().is_none(), "no document: {error}");
    }
    if let Ok(contract) = contract {
        contract.check(&CheckedResponse {
            method: method.as_str(),
            path: url.path(),
            status: answer.status,
            content_type: answer.header("content-type"),
            body: &answer.text,
        });
    }
    for event in answer.body["events"].as_array().into_iter().flatten() {
        record_response(&format!("event {}", change(event)));
    }
    Ok(answer)
}

/// An event's type, and the previous state if it changed one.
fn change(event: &Value) -> String {
    let (of, before) = (&event["type"], &event["previous"]);
    let before = before["status"].as_str().or(before["state"].as_str()).unwrap_or("-");
    format!("{} {before}", of.as_str().unwrap_or_default())
}

/// As [`send`], to an address our document doesn't describe: the operator's or a provider's.
pub(crate) async fn send_to_operator(request: reqwest::RequestBuilder) -> reqwest::Result<Response> {
    let (client, request) = request.build_split();
    let request = request?;
    let (method, path) = (request.method().to_string(), request.url().path().to_owned());
    let answer = Response::of(client.execute(request).await?).await?;
    record_response(&conformance::format_response(
        &method,
        &path,
        answer.status,
        &answer.text,
    ));
    Ok(answer)
}

/// The document, which is the same for every service under test.
async fn contract(client: &reqwest::Client, url: &reqwest::Url) -> reqwest::Result<&'static Conformance> {
    static CONTRACT: OnceCell<Conformance> = OnceCell::const_new();
    let read = async || Ok(Conformance::new(both_documents(client, url).await?));
    CONTRACT.get_or_try_init(read).await
}

/// The operations of clients and those of the sandbox, the pages and the callbacks, in one document.
async fn both_documents(client: &reqwest::Client, url: &reqwest::Url) -> reqwest::Result<Value> {
    let read = async |path: &str| -> reqwest::Result<Value> {
        let document = client.get(url.join(path).unwrap()).send().await?;
        Ok(serde_json::from_str(&document.error_for_status()?.text().await?).unwrap())
    };
    let mut whole = read("/openapi.json").await?;
    let other = read("/sandbox/openapi.json").await?;
    let mut join = |part: &str| {
        let more = other.pointer(part).unwrap().as_object().unwrap().clone();
        whole.pointer_mut(part).unwrap().as_object_mut().unwrap().extend(more);
    };
    for part in [
        "/paths",
        "/components/schemas",
        "/components/responses",
        "/components/headers",
        "/components/examples",
    ] {
        join(part);
    }
    Ok(whole)
}

/// A client of one service.
pub(crate) struct ServiceClient<'a> {
    pub(crate) service: &'a Service,
    pub(crate) client: reqwest::Client,
}

impl<'a> ServiceClient<'a> {
    pub(crate) fn of(service: &'a Service) -> Self {
        Self {
            service,
            client: client(),
        }
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        self.client.request(method, format!("{}{path}", self.service.url))
    }

    /// All operations of both OpenAPI documents.
    pub(crate) async fn document(&self) -> Value {
        both_documents(&self.client, &self.service.url.parse().unwrap())
            .await
            .unwrap()
    }

    /// GET with headers.
    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        let mut request = self.request("GET", path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        send(request).await.unwrap()
    }

    /// GET with a bearer token.
    pub(crate) async fn get_as(&self, token: &str, path: &str) -> Response {
        self.get(path, &[("authorization", &format!("Bearer {token}"))]).await
    }

    /// POST with a JSON body.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        let request = self.request("POST", path).header("content-type", "application/json");
        send(request.body(body.to_string())).await.unwrap()
    }

    /// Injects a fault into a sandbox chain.
    pub(crate) async fn chain_fault(&self, fault: Value) {
        let answer = self.post("/sandbox/chain", &fault).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    /// Injects a fault into the sandbox issuer.
    pub(crate) async fn issuer_fault(&self, fault: Value) {
        let answer = self.post("/sandbox/issuer", &fault).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    /// All transfers to the treasury that stayed on a sandbox chain, on both networks.
    pub(crate) async fn transfers(&self) -> Vec<Value> {
        let state = self.get("/sandbox", &[]).await.body;
        let mut all = Vec::new();
        for chain in state["chains"].as_array().unwrap() {
            let network = chain["network"].as_str().unwrap();
            let mut after = 0;
            loop {
                let path = format!("/sandbox/transfers?network={network}&after={after}&limit=1000");
                let page = self.get(&path, &[]).await.body;
                for transfer in page["transfers"].as_array().unwrap() {
                    after = transfer["position"].as_u64().unwrap();
                    if transfer["to"] == chain["treasury"] && transfer["reorged"] == false {
                        all.push(transfer.clone());
                    }
                }
                if page["has_more"] == false {
                    break;
                }
            }
        }
        all
    }

    /// Freezes an account, or unfreezes it without a message.
    pub(crate) async fn freeze(&self, wallet: &str, message: Option<&str>) {
        let answer = self
            .post("/sandbox/freeze", &json!({"wallet": wallet, "message": message}))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    /// The account's events after a sequence number.
    pub(crate) async fn events(&self, token: &str, mut after: u64) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            let page = self.get_as(token, &format!("/events?after={after}&limit=100")).await;
            assert_eq!(page.status, 200, "{}", page.text);
            all.extend(page.body["events"].as_array().unwrap().iter().cloned());
            after = page.body["next_after"].as_u64().unwrap();
            if page.body["has_more"] == false {
                return all;
            }
        }
    }
}

impl ServiceClient<'_> {
    /// Waits until the account has each of these events: a type, optionally followed by a space and the previous state.
    pub(crate) async fn wait_for_events(&self, token: &str, expected: &[&str]) {
        let started = Instant::now();
        loop {
            let seen: Vec<String> = self.events(token, 0).await.iter().map(change).collect();
            let is_seen = |one: &&&str| {
                let mut seen = seen.iter();
                seen.any(|change| change == *one || change.split(' ').next() == Some(**one))
            };
            let missing: Vec<_> = expected.iter().filter(|one| !is_seen(one)).collect();
            if missing.is_empty() {
                return;
            }
            assert!(started.elapsed() < TIMEOUT, "never seen {missing:?}, only {seen:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Advances the sandbox clock. Earlier tokens may have expired then.
    pub(crate) async fn advance(&self, seconds: u64) {
        let answer = self.post("/sandbox/time", &json!({"advance_seconds": seconds})).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
}

/// Polls until there is an answer.
pub(crate) async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        assert!(started.elapsed() < TIMEOUT, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
