//! A scripted transport, and a clock that tests control.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{BoxFuture, Clock, EndpointUrl, Response, Transport, TransportError};

type Answer = Box<dyn Fn(&str, &Value) -> Result<Response, TransportError> + Send + Sync>;

/// Responds with a function of host and request, and records both.
pub(crate) struct ScriptTransport {
    answer: Answer,
    pub(crate) requests: Mutex<Vec<(String, Value)>>,
}

impl ScriptTransport {
    pub(crate) fn new(
        answer: impl Fn(&str, &Value) -> Result<Response, TransportError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            answer: Box::new(answer),
            requests: Mutex::default(),
        }
    }

    /// Responds with these answers in turn, for any request; unreachable after the last one.
    pub(crate) fn in_turn(answers: Vec<Result<Response, TransportError>>) -> Self {
        let answers = Mutex::new(VecDeque::from(answers));
        Self::new(move |_, request| {
            let next = answers.lock().pop_front();
            let mut response = next.unwrap_or_else(|| Err(TransportError::Unreachable("end of script".to_owned())))?;
            // A scripted document without an id matches any request.
            if let Ok(mut document) = serde_json::from_slice::<Value>(&response.body)
                && document.is_object()
                && document.get("id").is_none()
            {
                document["id"] = request["id"].clone();
                response.body = document.to_string().into_bytes();
            }
            Ok(response)
        })
    }

    pub(crate) fn hosts(&self) -> Vec<String> {
        self.requests.lock().iter().map(|(host, _)| host.clone()).collect()
    }
}

impl Transport for ScriptTransport {
    fn post<'a>(
        &'a self,
        url: &'a EndpointUrl,
        body: Vec<u8>,
        _timeout: Duration,
        max_response_bytes: usize,
    ) -> BoxFuture<'a, Result<Response, TransportError>> {
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        self.requests.lock().push((url.host(), request.clone()));
        let response = (self.answer)(&url.host(), &request);
        Box::pin(async move {
            match response {
                Ok(response) if response.body.len() > max_response_bytes => Err(TransportError::TooLarge),
                other => other,
            }
        })
    }
}

/// A response with status 200.
pub(crate) fn ok(document: &Value) -> Result<Response, TransportError> {
    status(200, document)
}

pub(crate) fn status(status: u16, document: &Value) -> Result<Response, TransportError> {
    Ok(Response {
        status,
        retry_after: None,
        body: document.to_string().into_bytes(),
    })
}

/// The result of a request, with its id.
pub(crate) fn result(request: &Value, result: Value) -> Result<Response, TransportError> {
    ok(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
}

/// The error of a request, with its id.
pub(crate) fn error(request: &Value, code: i64, message: &str) -> Result<Response, TransportError> {
    ok(&json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}}))
}

/// A clock that sleeping advances.
#[derive(Default)]
pub(crate) struct TestClock(Mutex<u64>);

impl TestClock {
    pub(crate) fn advance(&self, ms: u64) {
        *self.0.lock() += ms;
    }
}

impl Clock for TestClock {
    fn now_ms(&self) -> u64 {
        *self.0.lock()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()> {
        self.advance(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
        Box::pin(std::future::ready(()))
    }
}
