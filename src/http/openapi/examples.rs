//! Examples for every request and every answer of `/openapi.json`. Refusals come from two tables that tests hold against the
//! running service: `docs/errors.md` (each code with its status and meaning) and `docs/precedence.md` (which of them an
//! operation gives); all else is made up from its schema by [`sample`].

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};

use super::super::auth::RequestId;
use super::super::error::{ApiError, ErrorFormat};
use super::super::sandbox::remote_guard::CONTROLLED_PROVIDERS;
use super::responses::{ErrorStyle, is_error, operations};
use super::schema_example::SchemaExample;

const ERRORS: &str = include_str!("../../../docs/errors.md");
const PRECEDENCE: &str = include_str!("../../../docs/precedence.md");

/// What a refusal's code most likely is where no table says it.
const COMMON_PARAMETERS: [(&str, &str); 17] = [
    ("400", "invalid_request"),
    ("401", "token_invalid"),
    ("403", "account_frozen"),
    ("404", "route_not_found"),
    ("408", "request_timeout"),
    ("409", "idempotency_key_in_progress"),
    ("410", "cursor_expired"),
    ("412", "issuer_not_linked"),
    ("413", "body_too_large"),
    ("414", "url_too_long"),
    ("422", "idempotency_key_reused"),
    ("429", "rate_limited"),
    ("431", "headers_too_large"),
    ("500", "internal_error"),
    ("502", "fetch_failed"),
    ("503", "service_unavailable"),
    ("503", "processing_timeout"),
];

/// Id of the request in every example.
const REQUEST: RequestId = RequestId(0x4b7f_0c1d_2e3a_4958_6776_8594_a3b2_c1d0);

/// Status and code.
type ErrorCase<'a> = (&'a str, &'a str);

/// Every code of the table of errors: its status, itself, what it means.
fn errors() -> impl Iterator<Item = (ErrorCase<'static>, &'static str)> {
    ERRORS.lines().filter_map(|line| {
        let (code, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        let (status, meaning) = rest.split_once(" | ")?;
        Some(((status, code), meaning.trim_end_matches(" |")))
    })
}

/// The refusals of each operation that has a table of its own, in their order; by method and path, as in `GET /get-card`.
fn tables() -> BTreeMap<String, Vec<ErrorCase<'static>>> {
    let mut tables = BTreeMap::<_, Vec<_>>::new();
    for section in PRECEDENCE.split("\n## ").skip(1) {
        let mut heading = section.split_whitespace();
        let operation = [heading.next(), heading.next()]
            .map(Option::unwrap_or_default)
            .join(" ");
        let rows = section
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split_once(" `"));
        let rows = rows.filter_map(|(status, rest)| Some((status, rest.split_once("` |")?.0)));
        tables.entry(operation).or_default().extend(rows);
    }
    for (path, ..) in CONTROLLED_PROVIDERS {
        let given = tables.entry(format!("POST {path}")).or_default();
        given.push(("409", "provider_is_remote"));
    }
    tables
}

/// The body of a refusal, as the service writes it.
fn error_example((status, code): ErrorCase<'static>, meaning: &'static str, style: ErrorStyle) -> Value {
    let status = status.parse().unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut refusal = match (code, status.as_u16()) {
        ("account_frozen", _) => ApiError::frozen("Please write to support@example.com."),
        ("internal_error", _) => ApiError::internal(),
        (_, 429) => ApiError::rate_limited(2),
        (_, 503) => ApiError::unavailable(code, meaning, 2),
        (_, _) => ApiError::new(status, code, meaning),
    };
    if code == "application_incomplete" {
        refusal = refusal.missing(["identity"]);
    }
    let form = match style {
        ErrorStyle::Callable => ErrorFormat::Callable,
        ErrorStyle::Plain | ErrorStyle::Page => ErrorFormat::Plain,
    };
    serde_json::from_slice(&refusal.body(REQUEST, form)).unwrap_or_default()
}

/// Adds them all.
pub(super) fn add(document: &mut Value) {
    let mut examples = BTreeMap::new();
    for (style, prefix) in [(ErrorStyle::Plain, ""), (ErrorStyle::Callable, "callable-")] {
        for (of, meaning) in errors() {
            let name = format!("{prefix}{}-{}", of.0, of.1);
            examples.insert(
                name,
                json!({"summary": meaning, "value": error_example(of, meaning, style)}),
            );
        }
    }
    let tables = tables();
    let schemas = document["components"]["schemas"].clone();
    for (path, method, operation) in operations(document) {
        let style = ErrorStyle::of(path, operation);
        let name = format!("{} {path}", method.to_uppercase());
        let given = tables.get(&name).map(Vec::as_slice).unwrap_or_default();
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

/// Bodies, or the inside of `data`, whose members do not all go together and of which more than the required are needed.
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

/// Parameters and bodies that are taken.
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

fn add_response_example(
    response: &mut Value,
    status: &str,
    given: &[ErrorCase<'_>],
    style: ErrorStyle,
    schemas: &Value,
) {
    let content = response.get_mut("content").and_then(Value::as_object_mut);
    for (kind, body) in content.into_iter().flatten() {
        // The same, with the members of RFC 9457.
        if kind == "application/problem+json" {
            continue;
        }
        let schema = &body["schema"];
        let is_our_refusal = schema["$ref"]
            .as_str()
            .is_some_and(|name| name.ends_with("schemas/Error"));
        if is_error(status) && is_our_refusal {
            let known = given.iter().filter(|(of, _)| *of == status).map(|(_, code)| *code);
            let likely = || {
                COMMON_PARAMETERS
                    .iter()
                    .filter(|(of, _)| *of == status)
                    .map(|(_, code)| *code)
            };
            let mut codes: Vec<&str> = known.collect();
            if codes.is_empty() {
                codes.extend(likely());
            }
            let prefix = if style == ErrorStyle::Callable { "callable-" } else { "" };
            for code in codes {
                let reference = format!("#/components/examples/{prefix}{status}-{code}");
                body["examples"][code] = json!({ "$ref": reference });
            }
            continue;
        }
        body["example"] = match kind.as_str() {
            "text/html" => "<!doctype html>".into(),
            "text/plain" | "text/markdown" => "# Purser".into(),
            // What only some challenges have would not go together.
            _ if status == "402" => SchemaExample { schemas, bare: true }.of(schema, ""),
            _ => SchemaExample { schemas, bare: false }.of(schema, ""),
        };
    }
}
