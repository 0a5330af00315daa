//! Error bodies: plain, with the members of RFC 9457, or of a callable function.

use purser_actors::kernel::sanitize_text;
use serde::Serialize;

use super::{ApiError, ErrorCode, Text};
use crate::request_id::RequestId;

/// Format of an error body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorFormat {
    Plain,
    /// `Plain` with the members of RFC 9457, for clients that accept it by name, on every route.
    Problem,
    Callable,
}

impl ApiError {
    pub fn body(&self, request_id: RequestId, form: ErrorFormat) -> Vec<u8> {
        if form == ErrorFormat::Callable {
            let failure = CallableErrorDetails {
                code: self.code,
                message: &self.error,
                status: self.status.as_u16(),
                param: self.param.as_deref(),
                hint: self.hint.as_deref(),
                reason: self.reason.as_deref(),
                seller_status: self.seller.as_ref().map(|seller| seller.status),
                seller_body: self.seller.as_ref().and_then(|seller| seller.body.as_deref()),
                missing: &self.missing,
                terminal: self.terminal,
                request_id,
                retry_after_seconds: self.retry_after_seconds,
            };
            let failed = CallableError {
                error: failure,
                frozen_message: self.frozen_message.as_deref(),
            };
            return sanitize_text(serde_json::to_string(&failed).unwrap_or_default()).into_bytes();
        }
        let as_problem = form == ErrorFormat::Problem;
        let fields = Error {
            r#type: as_problem.then_some("about:blank"),
            title: as_problem.then(|| self.status.canonical_reason()).flatten(),
            status: as_problem.then_some(self.status.as_u16()),
            detail: as_problem.then_some(&self.error),
            error: &self.error,
            code: self.code,
            param: self.param.as_deref(),
            hint: self.hint.as_deref(),
            reason: self.reason.as_deref(),
            seller_status: self.seller.as_ref().map(|seller| seller.status),
            seller_body: self.seller.as_ref().and_then(|seller| seller.body.as_deref()),
            missing: &self.missing,
            frozen_message: self.frozen_message.as_deref(),
            user_id: self.user_id.as_deref(),
            terminal: self.terminal,
            request_id,
            retry_after_seconds: self.retry_after_seconds,
        };
        // Strings and numbers always serialize. If that ever fails, the body is empty. It may quote text of the caller.
        sanitize_text(serde_json::to_string(&fields).unwrap_or_default()).into_bytes()
    }
}

/// Every error of a callable function.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct CallableError<'a> {
    /// Details of the error.
    #[cfg_attr(feature = "documents", schema(inline))]
    error: CallableErrorDetails<'a>,
    /// Message of the operator to a frozen account.
    #[serde(skip_serializing_if = "Option::is_none")]
    frozen_message: Option<&'a str>,
}

/// Error of a callable function, without its envelope.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct CallableErrorDetails<'a> {
    /// Stable code for programs.
    code: ErrorCode,
    /// Message for people, one sentence.
    message: &'a str,
    /// HTTP status of the error.
    status: u16,
    /// Member or header at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<&'a str>,
    /// What the caller can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    /// Distinguishes several reasons for one code. For a call to a route of this service: the code of its error.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// HTTP status of the called server.
    #[serde(skip_serializing_if = "Option::is_none")]
    seller_status: Option<u16>,
    /// Beginning of the server's body, at most 2,048 bytes of readable text. For a route of this service, its code,
    /// message and hint appear instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    seller_body: Option<&'a str>,
    /// Names of missing parameters or preconditions.
    #[serde(skip_serializing_if = "<[Text]>::is_empty")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<Vec<String>>))]
    missing: &'a [Text],
    /// Whether the same call can never succeed.
    terminal: bool,
    /// Id of the request, also in `Request-Id`.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    request_id: RequestId,
    /// Delay before a retry, also in `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u64>,
}

/// Every error except a 402. As `application/problem+json` with the members of RFC 9457.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct Error<'a> {
    /// `about:blank`, for RFC 9457 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'a str>,
    /// Name of the status, for RFC 9457 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    /// HTTP status, for RFC 9457 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// Same as `error`, for RFC 9457 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    /// Message for people, one sentence.
    error: &'a str,
    /// Stable code for programs.
    code: ErrorCode,
    /// Parameter or header at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<&'a str>,
    /// What the caller can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    /// Distinguishes several reasons for one code. For a call to a route of this service: the code of its error.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// HTTP status of the called server.
    #[serde(skip_serializing_if = "Option::is_none")]
    seller_status: Option<u16>,
    /// Beginning of the server's body, at most 2,048 bytes of readable text. For a route of this service, its code,
    /// message and hint appear instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    seller_body: Option<&'a str>,
    /// Names of missing parameters or preconditions.
    #[serde(skip_serializing_if = "<[Text]>::is_empty")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<Vec<String>>))]
    missing: &'a [Text],
    /// Message of the operator to a frozen account.
    #[serde(skip_serializing_if = "Option::is_none")]
    frozen_message: Option<&'a str>,
    /// The frozen account, which its owner quotes to the operator. Of `GET /account` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'a str>,
    /// Whether the same request can never succeed.
    terminal: bool,
    /// Id of the request, also in `Request-Id`.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    request_id: RequestId,
    /// Delay before a retry, also in `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u64>,
}
