//! Error bodies: plain, with the members of RFC 9457, or of a callable function.

use purser_actors::kernel::sanitize_text;
use serde::Serialize;

use super::{ApiError, Text};
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
            let failure = CallableErrorFields {
                code: self.code.as_str(),
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
            let failed = CallableErrorBody {
                error: failure,
                frozen_message: self.frozen_message.as_deref(),
            };
            return sanitize_text(serde_json::to_string(&failed).unwrap_or_default()).into_bytes();
        }
        let as_problem = form == ErrorFormat::Problem;
        let fields = ErrorBodyFields {
            r#type: as_problem.then_some("about:blank"),
            title: as_problem.then(|| self.status.canonical_reason()).flatten(),
            status: as_problem.then_some(self.status.as_u16()),
            detail: as_problem.then_some(&self.error),
            error: &self.error,
            code: self.code.as_str(),
            param: self.param.as_deref(),
            hint: self.hint.as_deref(),
            reason: self.reason.as_deref(),
            seller_status: self.seller.as_ref().map(|seller| seller.status),
            seller_body: self.seller.as_ref().and_then(|seller| seller.body.as_deref()),
            missing: &self.missing,
            frozen_message: self.frozen_message.as_deref(),
            terminal: self.terminal,
            request_id,
            retry_after_seconds: self.retry_after_seconds,
        };
        // Strings and numbers always serialize. If that ever fails, the body is empty. It may quote text of the caller.
        sanitize_text(serde_json::to_string(&fields).unwrap_or_default()).into_bytes()
    }
}

/// Error body of a callable function. The contract has `frozen_message` beside `error`.
#[derive(Serialize)]
struct CallableErrorBody<'a> {
    error: CallableErrorFields<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frozen_message: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallableErrorFields<'a> {
    code: &'a str,
    message: &'a str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seller_status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seller_body: Option<&'a str>,
    #[serde(skip_serializing_if = "<[Text]>::is_empty")]
    missing: &'a [Text],
    terminal: bool,
    request_id: RequestId,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u64>,
}

#[derive(Serialize)]
struct ErrorBodyFields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    error: &'a str,
    code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seller_status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seller_body: Option<&'a str>,
    #[serde(skip_serializing_if = "<[Text]>::is_empty")]
    missing: &'a [Text],
    #[serde(skip_serializing_if = "Option::is_none")]
    frozen_message: Option<&'a str>,
    terminal: bool,
    request_id: RequestId,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u64>,
}
