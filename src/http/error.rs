//! Every refusal of the service, in one type and mapped to HTTP in one place.
//!
//! A handler returns an [`ApiError`]; it travels inside an empty response to the front, which alone knows the
//! request id and what the client accepts, and writes the body there. So no refusal can miss a header or a field,
//! and internal text has no way out: only what is put into an `ApiError` is ever sent.

mod body;

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use purser_actors::kernel::request_context;
use serde::{Deserialize, Serialize};

use super::auth::RequestId;

pub(super) use body::ErrorFormat;

type Text = Cow<'static, str>;

pub(super) const JSON: &str = "application/json";
pub(super) const PROBLEM: &str = "application/problem+json";

/// Codes of client errors that are no fault of the request: the same one succeeds once its wallet has signed in, a day has
/// passed, stock or money has come, or what is missing has been handed in. Refusals that are remembered under an idempotency key stay
/// terminal, because the same request is answered with them again.
const RETRYABLE_CODES: [&str; 7] = [
    "sign_in_required",
    "cap_exceeded",
    "out_of_stock",
    "application_incomplete",
    "insufficient_balance",
    "insufficient_card_balance",
    "token_account_missing",
];

/// A refusal as the caller sees it. Boxed, so that every `Result` of the edge stays small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError(Box<ErrorFields>);

/// The fields of an [`ApiError`]; it derefs to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorFields {
    /// The HTTP status.
    pub status: StatusCode,
    /// For programs; stable.
    pub code: Text,
    /// For people, one sentence.
    pub error: Text,
    /// The parameter or header at fault.
    pub param: Option<Text>,
    /// What to do about it.
    pub hint: Option<Text>,
    /// Also sent as `Retry-After`.
    pub retry_after_seconds: Option<u64>,
    /// Contract: present when the account is frozen.
    pub frozen_message: Option<String>,
    /// What the request lacks, in itself or beyond it, by name.
    pub missing: Vec<Text>,
    /// Whether the same request can never succeed.
    pub terminal: bool,
    /// Of several reasons for one code: which.
    pub reason: Option<Text>,
    /// Of a call made for the caller: what the server said.
    pub seller: Option<Seller>,
    /// For 405.
    pub allow: Option<HeaderValue>,
}

/// What a server said that was called for somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seller {
    /// Its HTTP status.
    pub status: u16,
    /// The beginning of its body, readable text; `None` where the refusal says all of it otherwise.
    pub body: Option<String>,
}

impl Deref for ApiError {
    type Target = ErrorFields;

    fn deref(&self) -> &ErrorFields {
        &self.0
    }
}

impl ApiError {
    /// A refusal with nothing but the obligatory fields. Client errors are terminal, except those that time, a token, a
    /// payment or something that the account lacks mends.
    pub fn new(status: StatusCode, code: &'static str, error: impl Into<Text>) -> Self {
        let mends = matches!(status.as_u16(), 401 | 402 | 408 | 412 | 425 | 429)
            || status.is_server_error()
            || RETRYABLE_CODES.contains(&code);
        Self(Box::new(ErrorFields {
            status,
            code: code.into(),
            error: error.into(),
            param: None,
            hint: None,
            retry_after_seconds: None,
            frozen_message: None,
            missing: Vec::new(),
            terminal: !mends,
            reason: None,
            seller: None,
            allow: None,
        }))
    }

    /// 400 about one parameter.
    pub fn parameter(code: &'static str, param: impl Into<Text>, error: impl Into<Text>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, error).param(param)
    }

    /// Names what is at fault.
    #[must_use]
    pub fn param(mut self, param: impl Into<Text>) -> Self {
        self.0.param = Some(param.into());
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Text>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds a sentence to what is wrong.
    #[must_use]
    pub fn because(mut self, sentence: &str) -> Self {
        self.0.error = format!("{} {sentence}", self.0.error).into();
        self
    }

    /// Says which of several reasons it was.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<Text>) -> Self {
        self.0.reason = Some(reason.into());
        self
    }

    /// Adds what the server said that was called.
    #[must_use]
    pub fn seller(mut self, seller: Seller) -> Self {
        self.0.seller = Some(seller);
        self
    }

    /// Adds when to come back; makes it not terminal.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.0.retry_after_seconds = Some(seconds);
        self.0.terminal = false;
        self
    }

    /// Says that the same request can never succeed.
    #[must_use]
    pub fn terminal(mut self) -> Self {
        self.0.terminal = true;
        self
    }

    /// 401: no token, or none that is good any more.
    pub fn unauthorized(code: &'static str, error: impl Into<Text>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, code, error)
            .hint("Refresh with POST /auth; if that fails too, sign in with GET /auth.")
    }

    /// 403 with the contract's `frozen_message`.
    pub fn frozen(message: impl Into<String>) -> Self {
        let mut error = Self::new(StatusCode::FORBIDDEN, "account_frozen", "This account is frozen.");
        error.0.frozen_message = Some(message.into());
        error
    }

    /// 403: somebody else's.
    pub fn forbidden(code: &'static str, error: impl Into<Text>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, error)
    }

    /// 404.
    pub fn not_found(code: &'static str, error: impl Into<Text>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, error)
    }

    /// 405 with the methods that would work.
    pub fn method_not_allowed(allow: HeaderValue) -> Self {
        let text = "This route does not take that method.";
        let mut error = Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", text);
        error.0.allow = Some(allow);
        error
    }

    /// 429. The contract's hint: wait and retry once.
    pub fn rate_limited(seconds: u64) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", "Too many requests.")
            .hint("Wait that many seconds and retry once. Do not loop.")
            .retry_after(seconds)
    }

    /// 503: nothing was done, try again.
    pub fn unavailable(code: &'static str, error: impl Into<Text>, seconds: u64) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, error).retry_after(seconds)
    }

    /// 500. The cause goes to the log, where it is handled; the caller gets the request id.
    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal_error",
            "Something failed on our side.",
        )
        .hint("Retry after a few seconds; quote request_id if it stays.")
    }

    /// For a bare status that some layer below answered with.
    pub(super) fn of_status(status: StatusCode, headers: &HeaderMap) -> Self {
        let (code, error) = match status.as_u16() {
            404 => ("route_not_found", "There is no such route."),
            405 => {
                let allow = headers.get(header::ALLOW).cloned();
                return Self::method_not_allowed(allow.unwrap_or(HeaderValue::from_static("GET")));
            }
            408 => ("request_timeout", "The request did not arrive in time."),
            413 => ("body_too_large", "The request body is too large."),
            414 => ("url_too_long", "The URL is too long."),
            426 => ("upgrade_required", "This route only speaks WebSocket."),
            431 => ("headers_too_large", "The request headers are too large."),
            400..=499 => ("invalid_request", "The request is malformed."),
            _ => {
                let mut error = Self::internal();
                error.0.status = status;
                return error;
            }
        };
        Self::new(status, code, error)
    }

    /// Names what the request would be granted with.
    #[must_use]
    pub fn missing(mut self, names: impl IntoIterator<Item = impl Into<Text>>) -> Self {
        self.0.missing = names.into_iter().map(Into::into).collect();
        self
    }

    /// As it is said where it is remembered under an idempotency key: the same request is answered with it again, so that what would
    /// mend it helps under another key only.
    pub(super) fn with_key(self) -> Self {
        if RETRYABLE_CODES.contains(&&*self.code) {
            self.terminal()
        } else {
            self
        }
    }

    /// What is remembered of a refusal under an idempotency key.
    pub(super) fn to_record(&self) -> String {
        let fields = RecordedError {
            code: self.code.clone(),
            error: self.error.clone(),
            param: self.param.clone(),
            hint: self.hint.clone(),
            missing: self.missing.clone(),
            terminal: self.clone().with_key().terminal,
            retry_after_seconds: self.retry_after_seconds,
        };
        // Strings and numbers always serialise.
        serde_json::to_string(&fields).unwrap_or_default()
    }

    /// The refusal that was remembered.
    pub(super) fn of_record(status: StatusCode, record: &str) -> Self {
        let Ok(fields) = serde_json::from_str::<RecordedError>(record) else {
            return Self::internal();
        };
        Self(Box::new(ErrorFields {
            status,
            code: fields.code,
            error: fields.error,
            param: fields.param,
            hint: fields.hint,
            retry_after_seconds: fields.retry_after_seconds,
            frozen_message: None,
            missing: fields.missing,
            terminal: fields.terminal,
            reason: None,
            seller: None,
            allow: None,
        }))
    }

    /// How a 401 asks for a token (RFC 6750, section 3): without a word of an error where none was sent, or where it was no bearer
    /// token that was refused.
    fn www_authenticate(&self) -> HeaderValue {
        HeaderValue::from_static(match &*self.code {
            "token_invalid" => {
                r#"Bearer realm="purser", error="invalid_token", error_description="The token is not one of ours""#
            }
            "token_expired" => {
                r#"Bearer realm="purser", error="invalid_token", error_description="The token has expired""#
            }
            "token_revoked" => {
                r#"Bearer realm="purser", error="invalid_token", error_description="The token was revoked""#
            }
            _ => r#"Bearer realm="purser""#,
        })
    }

    /// The answer: body and headers of its own (`Retry-After`, `Allow`, `WWW-Authenticate`, no caching).
    pub(super) fn render(&self, request_id: RequestId, form: ErrorFormat) -> Response {
        let body = self.body(request_id, form);
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        let kind = match form {
            ErrorFormat::Problem => PROBLEM,
            ErrorFormat::Plain | ErrorFormat::Callable => JSON,
        };
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(allow) = &self.allow {
            headers.insert(header::ALLOW, allow.clone());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, self.www_authenticate());
        }
        response
    }
}

/// A refusal under an idempotency key. Stored: members are only added.
#[derive(Serialize, Deserialize)]
struct RecordedError {
    code: Text,
    error: Text,
    param: Option<Text>,
    hint: Option<Text>,
    #[serde(default)]
    missing: Vec<Text>,
    terminal: bool,
    retry_after_seconds: Option<u64>,
}

/// An error on its way to the front.
#[derive(Clone)]
pub(super) struct PendingError(pub(super) Arc<ApiError>);

/// Marks a refusal whose body its handler wrote (a 402 with its challenge), so that the front leaves it alone.
#[derive(Clone, Copy)]
pub(super) struct PrebuiltBody;

/// A 402 in members of its own gets those of every refusal: whether the same request can ever succeed, which is so once it is paid or
/// signed, and the id of the request. `body` is a JSON object with at least one member.
pub fn with_members(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "{{\"terminal\":false,\"request_id\":\"{}\",",
        RequestId(request_context::current_request().0)
    );
    let mut whole = Vec::with_capacity(head.len() + body.len());
    whole.extend_from_slice(head.as_bytes());
    whole.extend_from_slice(body.get(1..).unwrap_or_default());
    whole
}

/// Keeps the body of an answer with an error status as it is.
pub fn with_prebuilt_body(mut response: Response) -> Response {
    response.extensions_mut().insert(PrebuiltBody);
    response
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        response.extensions_mut().insert(PendingError(Arc::new(self)));
        response
    }
}
