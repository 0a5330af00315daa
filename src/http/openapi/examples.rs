//! Examples for every request and response of `/openapi.json`. Error examples come from two sources that tests compare
//! with the running service: the error codes, and the errors in each route's row. All other examples are generated from
//! schemas by [`SchemaExample`].

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};

use super::super::auth::RequestId;
use super::super::error::{ApiError, ErrorCode, ErrorFormat};
use super::super::routes;
use super::responses::{ErrorStyle, is_error, operations};
use super::schema_example::SchemaExample;

/// Errors of operations whose row names none of the status.
const COMMON_ERRORS: [ErrorCode; 17] = [
    ErrorCode::InvalidRequest,
    ErrorCode::TokenInvalid,
    ErrorCode::AccountFrozen,
    ErrorCode::RouteNotFound,
    ErrorCode::RequestTimeout,
    ErrorCode::IdempotencyKeyInProgress,
    ErrorCode::CursorExpired,
    ErrorCode::IssuerNotLinked,
    ErrorCode::BodyTooLarge,
    ErrorCode::UrlTooLong,
    ErrorCode::IdempotencyKeyReused,
    ErrorCode::RateLimited,
    ErrorCode::HeadersTooLarge,
    ErrorCode::InternalError,
    ErrorCode::FetchFailed,
    ErrorCode::ServiceUnavailable,
    ErrorCode::ProcessingTimeout,
];

/// Request id in every example.
const REQUEST: RequestId = RequestId(0x4b7f_0c1d_2e3a_4958_6776_8594_a3b2_c1d0);

/// Errors of each operation, by method and path, as in `GET /get-card`.
fn refusals() -> BTreeMap<String, &'static [ErrorCode]> {
    let routes = routes::public();
    routes
        .map(|route| (format!("{} {}", route.method, route.path), route.refuses))
        .collect()
}

/// Key under `components/examples`.
fn example_name(code: ErrorCode) -> String {
    format!("{}-{}", code.status().as_str(), code.as_str())
}

/// An error body as the service writes it.
fn error_example(code: ErrorCode, style: ErrorStyle) -> Value {
    let mut refusal = match code {
        ErrorCode::AccountFrozen => ApiError::frozen("Please write to support@example.com."),
        ErrorCode::InternalError => ApiError::internal(),
        _ if code.status() == StatusCode::TOO_MANY_REQUESTS => ApiError::rate_limited(2),
        _ if code.status() == StatusCode::SERVICE_UNAVAILABLE => ApiError::unavailable(code, code.meaning(), 2),
        _ => ApiError::new(code, code.meaning()),
    };
    if code == ErrorCode::ApplicationIncomplete {
        refusal = refusal.missing(["identity"]);
    }
    let form = match style {
        ErrorStyle::Callable => ErrorFormat::Callable,
        ErrorStyle::Plain | ErrorStyle::Page => ErrorFormat::Plain,
    };
    serde_json::from_slice(&refusal.body(REQUEST, form)).unwrap_or_default()
}

/// Adds all examples.
pub(super) fn add(document: &mut Value) {
    let mut examples = BTreeMap::new();
    for (style, prefix) in [(ErrorStyle::Plain, ""), (ErrorStyle::Callable, "callable-")] {
        for code in ErrorCode::ALL.iter().copied() {
            let example = json!({"summary": code.meaning(), "value": error_example(code, style)});
            examples.insert(format!("{prefix}{}", example_name(code)), example);
        }
    }
    let refusals = refusals();
    let schemas = document["components"]["schemas"].clone();
    for (path, method, operation) in operations(document) {
        let style = ErrorStyle::of(path, operation);
        let name = format!("{} {path}", method.to_uppercase());
        let given = refusals.get(&name).copied().unwrap_or_default();
        add_request_example(path, operation, &schemas);
        for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
            add_response_example(response, status, given, style, &schemas);
        }
    }
    for (name, response) in document["components"]["responses"]
        .as_object_mut()
        .into_iter()
        .flatten()
    {
        let (style, status) = name.rsplit_once('-').unwrap_or_default();
        let style = if style == "callable" {
            ErrorStyle::Callable
        } else {
            ErrorStyle::Plain
        };
        add_response_example(response, status, &[], style, &schemas);
    }
    document["components"]["examples"] = json!(examples);
}

/// Bodies, or contents of `data`, whose members exclude each other and that need more than the required ones.
const REQUEST_EXAMPLES: [(&str, &str); 8] = [
    (
        "/addBankingDestination",
        r#"{"recipientId": "rcp_4b7f0c1d2e3a495867768594a3b2c1d0", "destination":
        {"type": "fiat_us", "bankName": "First Bank", "routingNumber": "021000021", "accountNumber": "000123456789"}}"#,
    ),
    (
        "/agentWalletTransfer",
        r#"{"amountUsdc": 5, "toAddress": "0x1F98431c8aD98523631AE4a59f267346ea31F984"}"#,
    ),
    (
        "/agentX402Pay",
        r#"{"route": "/get-card", "params": {"amount": 5}, "maxAmountUsdc": 5}"#,
    ),
    (
        "/createBankingRecipient",
        r#"{"name": "Ada Lovelace", "destination":
        {"type": "fiat_us", "bankName": "First Bank", "routingNumber": "021000021", "accountNumber": "000123456789"}}"#,
    ),
    (
        "/payment-recipients",
        r#"{"platform": "paypal", "recipient_id": "rcp_4b7f0c1d2e3a495867768594a3b2c1d0", "display_name": "Ada"}"#,
    ),
    (
        "/redeliver-webhook",
        r#"{"delivery_id": "whd_4b7f0c1d2e3a495867768594a3b2c1d0"}"#,
    ),
    (
        "/sandbox/payouts",
        r#"{"payout_id": "po_4b7f0c1d2e3a495867768594a3b2c1d0", "event": "complete"}"#,
    ),
    (
        "/updateBankingApplicationDetails",
        r#"{"dateOfBirth": "1990-01-31", "city": "Springfield"}"#,
    ),
];

/// Adds an example of the parameters and the body.
fn add_request_example(path: &str, operation: &mut Value, schemas: &Value) {
    let sample = SchemaExample { schemas, bare: true };
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        if parameter.get("example").is_none() && parameter["required"] == true {
            let name = parameter["name"].as_str().unwrap_or_default();
            parameter["example"] = sample.of(&parameter["schema"], name);
        }
    }
    let Some(json) = operation.pointer_mut("/requestBody/content/application~1json") else {
        return;
    };
    let mut example = sample.of(&json["schema"], "");
    if let Some((_, own)) = REQUEST_EXAMPLES.iter().find(|(of, _)| *of == path) {
        let own = serde_json::from_str(own).unwrap_or_default();
        match example.get_mut("data") {
            Some(data) => *data = own,
            None => example = own,
        }
    }
    json["example"] = example;
}

fn add_response_example(response: &mut Value, status: &str, given: &[ErrorCode], style: ErrorStyle, schemas: &Value) {
    let content = response.get_mut("content").and_then(Value::as_object_mut);
    for (kind, body) in content.into_iter().flatten() {
        // The same error with the members of RFC 9457.
        if kind == "application/problem+json" {
            continue;
        }
        let schema = &body["schema"];
        let is_our_refusal = schema["$ref"]
            .as_str()
            .is_some_and(|name| name.ends_with("schemas/Error"));
        if is_error(status) && is_our_refusal {
            let of_status = |codes: &[ErrorCode]| -> Vec<ErrorCode> {
                let codes = codes.iter().copied();
                codes.filter(|code| code.status().as_str() == status).collect()
            };
            let mut codes = of_status(given);
            if codes.is_empty() {
                codes = of_status(&COMMON_ERRORS);
            }
            let prefix = if style == ErrorStyle::Callable { "callable-" } else { "" };
            for code in codes {
                let reference = format!("#/components/examples/{prefix}{}", example_name(code));
                body["examples"][code.as_str()] = json!({ "$ref": reference });
            }
            continue;
        }
        body["example"] = match kind.as_str() {
            "text/html" => "<!doctype html>".into(),
            "text/plain" | "text/markdown" => "# Purser".into(),
            // Members that only some challenges have exclude each other.
            _ if status == "402" => SchemaExample { schemas, bare: true }.of(schema, ""),
            _ => SchemaExample { schemas, bare: false }.of(schema, ""),
        };
    }
}
