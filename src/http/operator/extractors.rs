//! Extractors shared by all operator routes: authentication, permission, then the request.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use http::request::Parts;
use purser_actors::kernel::event_actor::EventActor;
use purser_actors::kernel::request_context;
use purser_actors::operator::{OperatorAction, Permission, Role};
use serde::de::DeserializeOwned;

use super::AdminState;
use super::auth::AdmissionRequest;
use crate::http::auth::RequestId;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::readable::is_readable;

/// Limit in characters.
const MAX_NOTE_LEN: usize = 500;
/// Purpose of `evidence`, in error messages.
pub(super) const EVIDENCE: &str = "says how you know";

/// Body of a state-changing operator request.
pub(super) trait OperatorRequest: DeserializeOwned + Send {
    /// Permission that the request needs.
    const TASK: Permission = Permission::Operate;
}

/// Extractor: an authorized operator request. The body is read only after the role check.
pub(super) struct AuthorizedRequest<T> {
    pub(super) admin: Arc<AdminState>,
    pub(super) act: OperatorAction,
    pub(super) request: T,
}

impl<T: OperatorRequest> FromRequest<Arc<AdminState>> for AuthorizedRequest<T> {
    type Rejection = ApiError;

    /// # Errors
    /// Those of [`OperatorAuth::authenticate`](super::auth::OperatorAuth::authenticate), then those of [`json::read`].
    async fn from_request(request: Request, admin: &Arc<AdminState>) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let act = admitted(&mut parts, admin, T::TASK).await?;
        let request = json::read(body, admin.max_body_bytes).await?;
        let admin = admin.clone();
        Ok(Self { admin, act, request })
    }
}

/// Extractor: an authorized operator read.
pub(super) struct AuthorizedRead {
    pub(super) admin: Arc<AdminState>,
    pub(super) query: Option<String>,
}

impl FromRequestParts<Arc<AdminState>> for AuthorizedRead {
    type Rejection = ApiError;

    /// # Errors
    /// Those of [`OperatorAuth::authenticate`](super::auth::OperatorAuth::authenticate).
    async fn from_request_parts(parts: &mut Parts, admin: &Arc<AdminState>) -> Result<Self, ApiError> {
        admitted(parts, admin, Permission::Read).await?;
        let query = parts.uri.query().map(str::to_owned);
        let admin = admin.clone();
        Ok(Self { admin, query })
    }
}

/// Extractor: an authorized operator read that shows some roles less.
pub(super) struct ReadByRole {
    pub(super) admin: Arc<AdminState>,
    pub(super) role: Role,
    pub(super) query: Option<String>,
}

impl FromRequestParts<Arc<AdminState>> for ReadByRole {
    type Rejection = ApiError;

    /// # Errors
    /// Those of [`OperatorAuth::authenticate`](super::auth::OperatorAuth::authenticate).
    async fn from_request_parts(parts: &mut Parts, admin: &Arc<AdminState>) -> Result<Self, ApiError> {
        let act = admitted(parts, admin, Permission::Read).await?;
        let query = parts.uri.query().map(str::to_owned);
        let (admin, role) = (admin.clone(), act.role);
        Ok(Self { admin, role, query })
    }
}

/// Extractor: an administrator's read.
pub(super) struct AdministratorRead {
    pub(super) act: OperatorAction,
    pub(super) query: Option<String>,
}

impl FromRequestParts<Arc<AdminState>> for AdministratorRead {
    type Rejection = ApiError;

    /// # Errors
    /// Those of [`OperatorAuth::authenticate`](super::auth::OperatorAuth::authenticate).
    async fn from_request_parts(parts: &mut Parts, admin: &Arc<AdminState>) -> Result<Self, ApiError> {
        let act = admitted(parts, admin, Permission::ManageTokens).await?;
        let query = parts.uri.query().map(str::to_owned);
        Ok(Self { act, query })
    }
}

async fn admitted(parts: &mut Parts, admin: &AdminState, task: Permission) -> Result<OperatorAction, ApiError> {
    let request = RequestId::from_request_parts(parts, &()).await?;
    let asked = AdmissionRequest::from(&*parts);
    let act = admin.operator_auth.authenticate(asked, request, task).await?;
    request_context::sent_by(EventActor::operator());
    Ok(act)
}

/// Checks that an operator's note is neither empty nor too long. `about` is its purpose, for the error message.
///
/// # Errors
/// 400 `parameter_invalid`.
pub(super) fn check_note(name: &'static str, about: &str, text: &str) -> Result<(), ApiError> {
    check_text(name, about, text, MAX_NOTE_LEN)
}

/// As [`check_note`], with at most `most` characters.
///
/// # Errors
/// 400 `parameter_invalid`.
pub(super) fn check_text(name: &'static str, about: &str, text: &str, most: usize) -> Result<(), ApiError> {
    // Line breaks are permitted. Other control characters could affect a terminal or truncate the text.
    if text
        .lines()
        .all(|line| line.trim().is_empty() || is_readable(line, most))
        && !text.trim().is_empty()
        && text.chars().count() <= most
    {
        return Ok(());
    }
    let error = format!("`{name}` {about}: 1 to {most} characters.");
    Err(ApiError::parameter(ErrorCode::ParameterInvalid, name, error))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Checks: an empty note and a long one are rejected, and the error names the member and its purpose.
    #[test]
    fn operator_note_has_1_to_500_characters() {
        let (longest, longer) = ("é".repeat(MAX_NOTE_LEN), "é".repeat(MAX_NOTE_LEN + 1));
        for valid in ["x", &longest, " seen at the bank\n"] {
            assert!(check_note("evidence", EVIDENCE, valid).is_ok(), "{valid:?}");
        }
        for bad in ["", " ", "\n\t ", "a\0b", &longer] {
            let refused = check_note("evidence", EVIDENCE, bad).unwrap_err();
            let reported = (refused.code.as_str(), refused.param.as_deref(), &*refused.error);
            let error = "`evidence` says how you know: 1 to 500 characters.";
            assert_eq!(reported, ("parameter_invalid", Some("evidence"), error), "{bad:?}");
        }
    }
}
