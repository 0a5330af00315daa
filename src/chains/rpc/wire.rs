//! Requests and responses of JSON-RPC 2.0.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Response, RpcError, TransportError, bounded};

/// Pause of a rate-limited endpoint without `Retry-After`.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);
/// Maximum `Retry-After`; longer values are reduced to this.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

pub(crate) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// The result of the call with this id.
pub(crate) fn single(response: Result<Response, TransportError>, id: u64) -> Result<Value, RpcError> {
    result(document(response)?, id)
}

/// The results of the calls with the ids `first`, `first + 1` and so on, in their order.
pub(crate) fn batch(
    response: Result<Response, TransportError>,
    first: u64,
    count: usize,
) -> Result<Vec<Result<Value, RpcError>>, RpcError> {
    let documents = match document(response)? {
        Value::Array(documents) => documents,
        // An endpoint that rejects a whole batch responds with one error object.
        other => {
            result(other, first)?;
            return Err(malformed_response("one response to a batch"));
        }
    };
    let mut results = vec![None; count];
    for document in documents {
        let index = document["id"].as_u64().and_then(|id| id.checked_sub(first));
        let slot = index
            .and_then(|index| usize::try_from(index).ok())
            .and_then(|index| results.get_mut(index))
            .ok_or_else(|| malformed_response("response to another call"))?;
        let id = document["id"].as_u64().unwrap_or_default();
        if slot.replace(result(document, id)).is_some() {
            return Err(malformed_response("two responses to one call"));
        }
    }
    Ok(results
        .into_iter()
        .map(|slot| slot.unwrap_or_else(|| Err(malformed_response("no response to a call of the batch"))))
        .collect())
}

fn document(response: Result<Response, TransportError>) -> Result<Value, RpcError> {
    let response = response.map_err(|error| match error {
        TransportError::Unreachable(text) => RpcError::Unreachable(bounded(&text)),
        TransportError::Timeout => RpcError::Timeout,
        TransportError::TooLarge => malformed_response("larger than the limit"),
    })?;
    if response.status == 429 {
        let retry_after = response.retry_after.unwrap_or(DEFAULT_RETRY_AFTER);
        return Err(RpcError::RateLimited {
            retry_after: retry_after.min(MAX_RETRY_AFTER),
        });
    }
    // Some nodes send the error object with an HTTP error status; the object has more detail.
    match serde_json::from_slice(&response.body) {
        Ok(document @ Value::Array(_)) if response.status < 300 => Ok(document),
        Ok(document @ Value::Object(_))
            if response.status < 300 || document.get("error").is_some_and(Value::is_object) =>
        {
            Ok(document)
        }
        _ if response.status >= 300 => Err(RpcError::Unreachable(format!("HTTP status {}", response.status))),
        _ => Err(malformed_response("not a JSON-RPC response")),
    }
}

fn result(mut document: Value, id: u64) -> Result<Value, RpcError> {
    if document.get("error").is_some_and(|error| !error.is_null()) {
        // An endpoint that could not parse the request cannot repeat its id.
        if !matches!(&document["id"], Value::Null) && document["id"].as_u64() != Some(id) {
            return Err(malformed_response("response to another call"));
        }
        let error = document["error"].take();
        let Some(code) = error["code"].as_i64() else {
            return Err(malformed_response("error without a code"));
        };
        return Err(RpcError::Rpc {
            code,
            message: bounded(error["message"].as_str().unwrap_or_default()),
            data: error.get("data").cloned().unwrap_or(Value::Null),
        });
    }
    if document["id"].as_u64() != Some(id) {
        return Err(malformed_response("response to another call"));
    }
    match document.get_mut("result") {
        Some(result) => Ok(result.take()),
        None => Err(malformed_response("neither result nor error")),
    }
}

fn malformed_response(text: &str) -> RpcError {
    RpcError::MalformedResponse(text.to_owned())
}
