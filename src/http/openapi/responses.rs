//! Completes the responses of every operation: errors common to all, the envelope of callable functions, and headers.

use serde_json::{Map, Value, json};

use super::super::route::Access;
use super::super::{callable, routes};

/// Errors of the front on any operation, before or around its handler.
const COMMON_ERRORS: [(&str, &str); 8] = [
    ("400", "The request is malformed."),
    ("408", "The body did not arrive in time."),
    ("413", "The body is too large."),
    ("414", "The URL is too long."),
    ("429", "Too many requests."),
    ("431", "The headers are too large."),
    ("500", "Something failed on our side."),
    (
        "503",
        "Temporarily unavailable. This call charged nothing unless the code is `processing_timeout`. The result of an earlier call with the same payment remains valid.",
    ),
];

/// Headers of every response: name, type, meaning.
const HEADERS: [(&str, &str, &str); 7] = [
    (
        "Request-Id",
        "string",
        "Of this request; quote it when you write to us.",
    ),
    ("X-Service-Api-Version", "string", "Version of the contract, a date."),
    (
        "X-Service-Docs-Version",
        "string",
        "First 12 hex digits of the documents' hash.",
    ),
    (
        "RateLimit-Limit",
        "integer",
        "Requests a window. X-RateLimit-Limit is the same.",
    ),
    (
        "RateLimit-Remaining",
        "integer",
        "What is left of them. X-RateLimit-Remaining is the same.",
    ),
    (
        "RateLimit-Reset",
        "integer",
        "Seconds until the window rolls over. X-RateLimit-Reset is the same.",
    ),
    (
        "RateLimit-Policy",
        "string",
        "`limit;w=seconds`. X-RateLimit-Policy is the same.",
    ),
];

/// Headers of some responses.
const SOME_HEADERS: [(&str, &str, &str); 7] = [
    ("Retry-After", "integer", "Seconds to wait before the next try."),
    (
        "Idempotency-Replayed",
        "string",
        "`true` when an earlier request with this key was answered so; nothing was done again.",
    ),
    ("Location", "string", "Where the browser goes on."),
    (
        "PAYMENT-REQUIRED",
        "string",
        "What is wanted, for x402, in base64. Not with `success: false`.",
    ),
    (
        "WWW-Authenticate",
        "string",
        "On a 402 what is wanted, for MPP, not with `success: false`; on a 401 `Bearer`, with why the token was refused (RFC 6750).",
    ),
    (
        "PAYMENT-RESPONSE",
        "string",
        "What became of the payment, for x402, in base64; X-PAYMENT-RESPONSE is the same. On a 402 with `success: false` only.",
    ),
    (
        "Payment-Receipt",
        "string",
        "What became of the payment, for MPP, if it was paid so.",
    ),
];

/// Paths that are never limited.
const UNLIMITED: [&str; 2] = ["/healthz", "/readyz"];

/// Pages with their own description for an invalid form.
const CUSTOM_DESCRIPTIONS: [&str; 2] = ["/login", "/redeem"];

/// Error format of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorStyle {
    Plain,
    /// Also as a page, for a form sent by a browser.
    Page,
    Callable,
}

impl ErrorStyle {
    const ALL: [Self; 3] = [Self::Plain, Self::Page, Self::Callable];

    pub(super) fn of(path: &str, operation: &Value) -> Self {
        if callable::FUNCTION_NAMES.contains(&path) {
            Self::Callable
        } else if operation["tags"][0] == "Account pages" {
            Self::Page
        } else {
            Self::Plain
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "refusal",
            Self::Page => "page",
            Self::Callable => "callable",
        }
    }

    fn content(self) -> Value {
        let of = |schema: &str| json!({"schema": {"$ref": format!("#/components/schemas/{schema}")}});
        match self {
            Self::Callable => {
                json!({"application/json": of("CallableError"), "application/problem+json": of("Error")})
            }
            Self::Plain => json!({"application/json": of("Error"), "application/problem+json": of("Error")}),
            Self::Page => {
                let page = json!({"schema": {"type": "string"}});
                json!({"application/json": of("Error"), "application/problem+json": of("Error"), "text/html": page})
            }
        }
    }
}

/// Every operation with its path.
pub(super) fn operations(document: &mut Value) -> impl Iterator<Item = (&str, &str, &mut Value)> {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    paths.flat_map(|(path, methods)| {
        let methods = methods.as_object_mut().into_iter().flatten();
        methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}

/// Whether a payment is what a route asks for.
pub(super) fn is_paid(path: &str) -> bool {
    routes::public().any(|route| route.path == path && route.access == Access::Paid)
}

/// Completes the responses of every operation.
pub(in crate::http) fn complete(document: &mut Value) {
    let mut styles = Vec::new();
    for (path, _, operation) in operations(document) {
        if callable::FUNCTION_NAMES.contains(&path) {
            wrap(operation);
        }
        let style = ErrorStyle::of(path, operation);
        styles.push(style);
        add_error_responses(path, style, operation);
        write_headers(is_paid(path), operation);
        if is_paid(path) {
            operation["responses"]["402"]["content"]["text/html"] = json!({"schema": {"type": "string"}});
        }
    }
    let components = &mut document["components"];
    for (name, kind, description) in HEADERS.iter().chain(&SOME_HEADERS) {
        let everywhere = HEADERS.iter().any(|(known, ..)| known == name);
        components["headers"][name] =
            json!({"description": description, "required": everywhere, "schema": {"type": kind}});
    }
    for style in ErrorStyle::ALL.into_iter().filter(|style| styles.contains(style)) {
        for (status, description) in COMMON_ERRORS {
            let headers = headers_of(status, &[]);
            components["responses"][format!("{}-{status}", style.name())] =
                json!({"description": description, "content": style.content(), "headers": headers});
        }
    }
}

/// Adds error bodies in the operation's format, and the errors common to all operations.
fn add_error_responses(path: &str, style: ErrorStyle, operation: &mut Value) {
    let takes_body = operation.get("requestBody").is_some();
    let Some(responses) = operation["responses"].as_object_mut() else {
        return;
    };
    for (status, response) in responses.iter_mut() {
        if !is_error(status) {
            continue;
        }
        let content = &mut response["content"];
        if status == "402" {
            // A challenge has its own members. It is a problem document if the client accepts that by name or sent an
            // MPP credential.
            content["application/problem+json"] = content["application/json"].clone();
        } else if content.is_null() || style == ErrorStyle::Callable {
            *content = style.content();
        } else {
            // A page for people. Errors that occur before the page is rendered are JSON, as on other routes.
            for (kind, body) in ErrorStyle::Plain.content().as_object().into_iter().flatten() {
                content[kind] = content.get(kind).unwrap_or(body).clone();
            }
        }
    }
    for (status, description) in COMMON_ERRORS {
        let possible = match status {
            "408" => takes_body && !CUSTOM_DESCRIPTIONS.contains(&path),
            "429" => !UNLIMITED.contains(&path),
            _ => true,
        };
        // A handler's description that says the same, or less, is replaced by the common one.
        let described = responses.get(status).map(|response| &response["description"]);
        if possible && described.is_none_or(|described| *described == description || *described == "Not now.") {
            let shared = format!("#/components/responses/{}-{status}", style.name());
            responses.insert(status.to_owned(), json!({ "$ref": shared }));
        }
    }
}

pub(super) fn is_error(status: &str) -> bool {
    status.starts_with(['4', '5'])
}

/// Wraps a callable function's schemas: the request in `data`, which may have `userId`, and the response in `result`.
fn wrap(operation: &mut Value) {
    let of = |name: &str, inside: &Value| {
        let properties: Value = [(name.to_owned(), inside.clone())].into_iter().collect();
        json!({"application/json": {"schema": {"type": "object", "required": [name], "properties": properties}}})
    };
    let asked = &mut operation["requestBody"];
    let mut data = asked["content"]["application/json"]["schema"].take();
    if data.is_null() {
        data = json!({"type": "object", "additionalProperties": false});
    }
    data["properties"]["userId"] = json!({"type": "string", "description": "The caller's own, if given."});
    if data.get("required").is_none() {
        // Clients of callable functions send null for no data.
        data["type"] = json!(["object", "null"]);
    }
    let mut content = of("data", &data);
    content["application/json"]["schema"]["additionalProperties"] = false.into();
    *asked = json!({"required": true, "content": content});
    for status in ["200", "202"] {
        if let Some(response) = operation["responses"].get_mut(status) {
            let schema = response["content"]["application/json"]["schema"].take();
            response["content"] = of("result", &schema);
        }
    }
}

fn write_headers(paid: bool, operation: &mut Value) {
    let mut parameters = operation["parameters"].as_array().into_iter().flatten();
    let keyed = parameters.any(|parameter| parameter["name"] == "Idempotency-Key");
    let Some(responses) = operation["responses"].as_object_mut() else {
        return;
    };
    for (status, response) in responses {
        let mut more = Vec::new();
        match status.as_str() {
            "200" if paid => more.extend(["PAYMENT-RESPONSE", "Payment-Receipt"]),
            "402" if paid => more.extend(["PAYMENT-REQUIRED", "WWW-Authenticate", "PAYMENT-RESPONSE"]),
            "402" => more.push("PAYMENT-REQUIRED"),
            "401" => more.push("WWW-Authenticate"),
            "303" => more.push("Location"),
            _ => {}
        }
        if keyed && !matches!(status.as_str(), "400" | "401" | "429" | "503") {
            more.push("Idempotency-Replayed");
        }
        if response.get("$ref").is_none() {
            response["headers"] = headers_of(status, &more);
        }
    }
}

fn headers_of(status: &str, more: &[&str]) -> Value {
    let waits = matches!(status, "202" | "204" | "429" | "503").then_some("Retry-After");
    let names = HEADERS
        .iter()
        .map(|(name, ..)| *name)
        .chain(waits)
        .chain(more.iter().copied());
    let reference = |name: &str| json!({"$ref": format!("#/components/headers/{name}")});
    names
        .map(|name| (name.to_owned(), reference(name)))
        .collect::<Map<_, _>>()
        .into()
}

/// Fixes what utoipa can't express. Unsigned integers get the right format, and a described reference to a string type
/// is not also an object.
pub(super) fn patch(value: &mut Value) {
    for (signed, unsigned) in [("int32", "uint32"), ("int64", "uint64")] {
        if value["format"] == signed && value["minimum"] == 0 {
            value["format"] = unsigned.into();
        }
    }
    if let Some([inside, described]) = value["allOf"].as_array().map(Vec::as_slice)
        && described["type"] == "object"
        && described.get("properties").is_none()
    {
        let mut folded = inside.clone();
        folded["description"] = described["description"].clone();
        *value = folded;
    }
    match value {
        Value::Object(members) => members.values_mut().for_each(patch),
        Value::Array(items) => items.iter_mut().for_each(patch),
        _ => {}
    }
}

/// An optional parameter can be absent, but it is never null.
pub(super) fn remove_null(schema: &mut Value) {
    if let Some(types) = schema.get_mut("type").and_then(Value::as_array_mut) {
        types.retain(|name| name != "null");
        if let [only] = types.as_mut_slice() {
            schema["type"] = only.take();
        }
    }
    if let Some(choices) = schema.get_mut("oneOf").and_then(Value::as_array_mut) {
        choices.retain(|choice| choice["type"] != "null");
        if let [only] = choices.as_mut_slice() {
            *schema = only.take();
        }
    }
}
