//! The error type of the service, mapped to HTTP in one place.
//!
//! A handler returns an [`ApiError`]. It travels inside an empty response to the front, which knows the request id and
//! the accepted content types and writes the body. So every error has all headers and fields. Only the contents of an
//! `ApiError` are sent, so internal text can't leak.

mod body;
mod code;

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use purser_actors::kernel::request_context;
use serde::{Deserialize, Serialize};

use super::request_id::RequestId;

pub use body::{CallableError, Error, ErrorFormat};
pub use code::{ErrorCode, Retry};

type Text = Cow<'static, str>;

pub const JSON: &str = "application/json";
pub const PROBLEM: &str = "application/problem+json";

/// An error as the caller sees it. Boxed to keep every `Result` of the HTTP layer small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError(Box<ErrorFields>);

/// Fields of an [`ApiError`], which derefs to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorFields {
    pub status: StatusCode,
    pub code: ErrorCode,
    /// Message for people, one sentence.
    pub error: Text,
    /// Parameter or header at fault.
    pub param: Option<Text>,
    /// What the caller can do.
    pub hint: Option<Text>,
    /// Also sent as `Retry-After`.
    pub retry_after_seconds: Option<u64>,
    /// Contract: present when the account is frozen.
    pub frozen_message: Option<String>,
    /// The frozen account, for its owner.
    pub user_id: Option<String>,
    /// Names of what the request or the account lacks.
    pub missing: Vec<Text>,
    /// Whether the same request can never succeed.
    pub terminal: bool,
    /// Distinguishes several reasons for one code.
    pub reason: Option<Text>,
    /// Response of the server, for a call made on behalf of the caller.
    pub seller: Option<Seller>,
    /// `Allow` header of a 405.
    pub allow: Option<HeaderValue>,
}

/// Response of a server called on behalf of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seller {
    pub status: u16,
    /// The beginning of its body as readable text. `None` if the error has all of it in other fields.
    pub body: Option<String>,
}

impl Deref for ApiError {
    type Target = ErrorFields;

    fn deref(&self) -> &ErrorFields {
        &self.0
    }
}

impl ApiError {
    /// An error with only the required fields. Its code determines the status, and whether it is terminal.
    pub fn new(code: ErrorCode, error: impl Into<Text>) -> Self {
        Self(Box::new(ErrorFields {
            status: code.status(),
            code,
            error: error.into(),
            param: None,
            hint: None,
            retry_after_seconds: None,
            frozen_message: None,
            user_id: None,
            missing: Vec::new(),
            terminal: code.retry() == Retry::Never,
            reason: None,
            seller: None,
            allow: None,
        }))
    }

    /// 400 about one parameter.
    pub fn parameter(code: ErrorCode, param: impl Into<Text>, error: impl Into<Text>) -> Self {
        Self::new(code, error).param(param)
    }

    /// Names the parameter at fault.
    #[must_use]
    pub fn param(mut self, param: impl Into<Text>) -> Self {
        self.0.param = Some(param.into());
        self
    }

    /// Adds what the caller can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Text>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds a sentence to the message.
    #[must_use]
    pub fn because(mut self, sentence: &str) -> Self {
        self.0.error = format!("{} {sentence}", self.0.error).into();
        self
    }

    /// Distinguishes several reasons for the code.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<Text>) -> Self {
        self.0.reason = Some(reason.into());
        self
    }

    /// Adds the response of the called server.
    #[must_use]
    pub fn seller(mut self, seller: Seller) -> Self {
        self.0.seller = Some(seller);
        self
    }

    /// Sets when to retry, which makes the error not terminal.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.0.retry_after_seconds = Some(seconds);
        self.0.terminal = false;
        self
    }

    /// Marks that the same request can never succeed.
    #[must_use]
    pub fn terminal(mut self) -> Self {
        self.0.terminal = true;
        self
    }

    /// 401: no token, or no valid one.
    pub fn unauthorized(code: ErrorCode, error: impl Into<Text>) -> Self {
        Self::new(code, error).hint("Refresh with POST /auth; if that fails too, sign in with GET /auth.")
    }

    /// 403 for everything that an agent asks for while the account owner has stopped all agents.
    pub fn agents_stopped() -> Self {
        Self::new(ErrorCode::AgentsStopped, "The account's owner has stopped all agents.")
            .hint("Only the owner can let agents act again, on the account page.")
    }

    /// 403 with the contract's `frozen_message`.
    pub fn frozen(message: impl Into<String>) -> Self {
        let mut error = Self::new(ErrorCode::AccountFrozen, "This account is frozen.");
        error.0.frozen_message = Some(message.into());
        error
    }

    /// Names the frozen account, so that its owner can quote it.
    #[must_use]
    pub fn naming_frozen(mut self, user_id: impl FnOnce() -> String) -> Self {
        if self.frozen_message.is_some() {
            self.0.user_id = Some(user_id());
        }
        self
    }

    /// 405 with the permitted methods.
    pub fn method_not_allowed(allow: HeaderValue) -> Self {
        let text = "This route does not take that method.";
        let mut error = Self::new(ErrorCode::MethodNotAllowed, text);
        error.0.allow = Some(allow);
        error
    }

    /// 429. The contract's hint: wait and retry once.
    pub fn rate_limited(seconds: u64) -> Self {
        Self::new(ErrorCode::RateLimited, "Too many requests.")
            .hint("Wait that many seconds and retry once. Do not loop.")
            .retry_after(seconds)
    }

    /// 503: nothing was done, retry later.
    pub fn unavailable(code: ErrorCode, error: impl Into<Text>, seconds: u64) -> Self {
        Self::new(code, error).retry_after(seconds)
    }

    /// 500. The cause goes to the log where it occurs. The caller gets the request id.
    pub fn internal() -> Self {
        Self::new(ErrorCode::InternalError, "Something failed on our side.")
            .hint("Retry after a few seconds; quote request_id if it stays.")
    }

    /// For a bare status from a lower layer.
    pub fn of_status(status: StatusCode, headers: &HeaderMap) -> Self {
        let (code, error) = match status.as_u16() {
            404 => (ErrorCode::RouteNotFound, "There is no such route."),
            405 => {
                let allow = headers.get(header::ALLOW).cloned();
                return Self::method_not_allowed(allow.unwrap_or(HeaderValue::from_static("GET")));
            }
            408 => (ErrorCode::RequestTimeout, "The request did not arrive in time."),
            413 => (ErrorCode::BodyTooLarge, "The request body is too large."),
            414 => (ErrorCode::UrlTooLong, "The URL is too long."),
            426 => (ErrorCode::UpgradeRequired, "This route only speaks WebSocket."),
            431 => (ErrorCode::HeadersTooLarge, "The request headers are too large."),
            400..=499 => (ErrorCode::InvalidRequest, "The request is malformed."),
            _ => {
                let mut error = Self::internal();
                error.0.status = status;
                return error;
            }
        };
        let mut error = Self::new(code, error);
        error.0.status = status;
        error
    }

    /// Names what the request needs to succeed.
    #[must_use]
    pub fn missing(mut self, names: impl IntoIterator<Item = impl Into<Text>>) -> Self {
        self.0.missing = names.into_iter().map(Into::into).collect();
        self
    }

    /// The error as recorded under an idempotency key. A retry with the same key replays it, so it is terminal. After
    /// fixing the cause, the caller needs a new key.
    pub fn with_key(self) -> Self {
        if self.code.retry() == Retry::AfterChange {
            self.terminal()
        } else {
            self
        }
    }

    /// The error's fields to record under an idempotency key.
    pub fn to_record(&self) -> String {
        let fields = RecordedError {
            code: self.code.as_str().into(),
            error: self.error.clone(),
            param: self.param.clone(),
            hint: self.hint.clone(),
            missing: self.missing.clone(),
            terminal: self.clone().with_key().terminal,
            retry_after_seconds: self.retry_after_seconds,
        };
        // Strings and numbers always serialize.
        serde_json::to_string(&fields).unwrap_or_default()
    }

    /// Restores a recorded error.
    pub fn of_record(status: StatusCode, record: &str) -> Self {
        let Ok(fields) = serde_json::from_str::<RecordedError>(record) else {
            return Self::internal();
        };
        let Some(code) = ErrorCode::from_name(&fields.code) else {
            return Self::internal();
        };
        Self(Box::new(ErrorFields {
            status,
            code,
            error: fields.error,
            param: fields.param,
            hint: fields.hint,
            retry_after_seconds: fields.retry_after_seconds,
            frozen_message: None,
            user_id: None,
            missing: fields.missing,
            terminal: fields.terminal,
            reason: None,
            seller: None,
            allow: None,
        }))
    }

    /// `WWW-Authenticate` of a 401 (RFC 6750, section 3). It names no error if no bearer token was sent or rejected.
    fn www_authenticate(&self) -> HeaderValue {
        HeaderValue::from_static(match self.code {
            ErrorCode::TokenInvalid => {
                r#"Bearer realm="purser", error="invalid_token", error_description="The token is not valid""#
            }
            ErrorCode::TokenExpired => {
                r#"Bearer realm="purser", error="invalid_token", error_description="The token has expired""#
            }
            ErrorCode::TokenRevoked => {
                r#"Bearer realm="purser", error="invalid_token", error_description="The token was revoked""#
            }
            _ => r#"Bearer realm="purser""#,
        })
    }

    /// The response: the body and its headers (`Retry-After`, `Allow`, `WWW-Authenticate`, no caching).
    pub fn render(&self, request_id: RequestId, form: ErrorFormat) -> Response {
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

/// An error recorded under an idempotency key. Stored: fields are only ever added.
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
pub struct PendingError(pub Arc<ApiError>);

/// Marks an error whose body its handler wrote (a 402 with its challenge), so that the front does not replace it.
#[derive(Clone, Copy)]
pub struct PrebuiltBody;

/// Adds the members of every error to a 402 with its own members: `terminal` and `request_id`. `terminal` is false,
/// since the request can succeed once it is paid or signed. `body` is a JSON object with at least one member.
pub fn with_members(body: &[u8]) -> Vec<u8> {
    with_members_and(body, body.len(), &[])
}

/// The same with the text `more` inserted at `place`, which is behind a member of the body.
pub fn with_members_and(body: &[u8], place: usize, more: &[&str]) -> Vec<u8> {
    const HEAD: &[u8] = b"{\"terminal\":false,\"request_id\":\"";
    let id = RequestId(request_context::current_request().0).text();
    let (before, behind) = body.split_at(place.min(body.len()));
    let inserted: usize = more.iter().map(|text| text.len()).sum();
    let mut whole = Vec::with_capacity(HEAD.len() + id.len() + 2 + body.len() + inserted);
    for part in [HEAD, &id, b"\",", before.get(1..).unwrap_or_default()] {
        whole.extend_from_slice(part);
    }
    more.iter().for_each(|text| whole.extend_from_slice(text.as_bytes()));
    whole.extend_from_slice(behind);
    whole
}

/// Marks a response with an error status so that the front does not replace its body.
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
