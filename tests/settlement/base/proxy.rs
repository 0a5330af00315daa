//! An endpoint in front of the node whose answers a test changes.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Changes the result of a call; `None`: the endpoint does not answer.
type Change = Box<dyn Fn(&Value, Value) -> Option<Value> + Send>;

#[derive(Clone)]
pub struct Proxy {
    pub url: String,
    state: Arc<ProxyState>,
}

struct ProxyState {
    node: String,
    http: reqwest::Client,
    change: Mutex<Option<Change>>,
    delay: Mutex<Option<Duration>>,
}

impl Proxy {
    /// Honest until a test sets a fault. Serves until the test ends.
    pub async fn start(node: &str) -> Self {
        let behind = Arc::new(ProxyState {
            node: node.to_owned(),
            http: crate::base::anvil::client(),
            change: Mutex::new(None),
            delay: Mutex::default(),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(serve).with_state(behind.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, state: behind }
    }

    /// From now on results are what this makes of the node's, given the request.
    pub fn falsify(&self, change: impl Fn(&Value, Value) -> Option<Value> + Send + 'static) {
        *self.state.change.lock() = Some(Box::new(change));
    }

    /// Delays each response by this duration from now on.
    pub fn slow(&self, delay: Duration) {
        *self.state.delay.lock() = Some(delay);
    }

    /// At once, and as the node does.
    pub fn restore(&self) {
        *self.state.delay.lock() = None;
        *self.state.change.lock() = None;
    }
}

async fn serve(State(behind): State<Arc<ProxyState>>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let delay = *behind.delay.lock();
    if let Some(delay) = delay {
        tokio::time::sleep(delay).await;
    }
    let sent = behind
        .http
        .post(&behind.node)
        .header("content-type", "application/json");
    let mut answer: Value = sent.body(body).send().await.unwrap().json().await.unwrap();
    let change = behind.change.lock();
    let Some(change) = &*change else {
        return answer.to_string().into_response();
    };
    let mut whole = true;
    let mut one = |request: &Value, answer: &mut Value| match change(request, answer["result"].take()) {
        // An error that nothing takes the place of stays one.
        Some(Value::Null) if answer.get("error").is_some() => {}
        Some(result) => *answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result}),
        None => whole = false,
    };
    match (request.as_array(), &mut answer) {
        (Some(requests), Value::Array(answers)) => {
            for answer in answers {
                let request = requests.iter().find(|request| request["id"] == answer["id"]);
                one(request.unwrap(), answer);
            }
        }
        _ => one(&request, &mut answer),
    }
    match whole {
        true => answer.to_string().into_response(),
        false => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}
