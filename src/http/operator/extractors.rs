//! What is the same of everything that operators ask: who asks, whether the token is trusted with it, and then what.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use http::request::Parts;
use purser_actors::operator::{OperatorAction, Permission};
use serde::de::DeserializeOwned;

use super::AdminState;
use crate::http::auth::RequestId;
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::readable::is_readable;

/// Characters of what an operator says in their own words, at most.
const MAX_NOTE_LEN: usize = 500;
/// What evidence is for.
pub(super) const EVIDENCE: &str = "says how you know";

/// What the body of a route says that is to be done.
pub(super) trait OperatorRequest: DeserializeOwned + Send {
    /// What a token must be trusted with to have it done.
    const TASK: Permission = Permission::Operate;
}

/// Something is to be done, by somebody who may have it done. A body is read of nobody else.
pub(super) struct AuthorizedRequest<T> {
    pub(super) admin: Arc<AdminState>,
    pub(super) act: OperatorAction,
    pub(super) request: T,
}

impl<T: OperatorRequest> FromRequest<Arc<AdminState>> for AuthorizedRequest<T> {
    type Rejection = ApiError;

    /// # Errors
    /// Those of [`Doors::admit`](super::Doors::admit), then those of [`json::read`].
    async fn from_request(request: Request, admin: &Arc<AdminState>) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let act = admitted(&mut parts, admin, T::TASK).await?;
        let wanted = json::read(body, admin.max_body_bytes, admin.body_timeout).await?;
        let admin = admin.clone();
        Ok(Self {
            admin,
            act,
            request: wanted,
        })
    }
}

/// Something is looked at, by somebody who may look.
pub(super) struct AuthorizedRead {
    pub(super) admin: Arc<AdminState>,
    pub(super) query: Option<String>,
}

impl FromRequestParts<Arc<AdminState>> for AuthorizedRead {
    type Rejection = ApiError;

    /// # Errors
    /// Those of [`Doors::admit`](super::Doors::admit).
    async fn from_request_parts(parts: &mut Parts, admin: &Arc<AdminState>) -> Result<Self, ApiError> {
        admitted(parts, admin, Permission::Read).await?;
        let query = parts.uri.query().map(str::to_owned);
        let admin = admin.clone();
        Ok(Self { admin, query })
    }
}

async fn admitted(parts: &mut Parts, admin: &AdminState, task: Permission) -> Result<OperatorAction, ApiError> {
    let request = RequestId::from_request_parts(parts, &()).await?;
    admin.operator_auth.authenticate(&parts.headers, request, task).await
}

/// Whether a member says something in the operator's own words, and not too much; `about` says what it is for.
///
/// # Errors
/// 400 `parameter_invalid`.
pub(super) fn check_note(name: &'static str, about: &str, text: &str) -> Result<(), ApiError> {
    // Lines may end; nothing else in it controls a terminal or cuts a text short.
    if text
        .lines()
        .all(|line| line.trim().is_empty() || is_readable(line, MAX_NOTE_LEN))
        && !text.trim().is_empty()
        && text.chars().count() <= MAX_NOTE_LEN
    {
        return Ok(());
    }
    let error = format!("`{name}` {about}: 1 to {MAX_NOTE_LEN} characters.");
    Err(ApiError::parameter("parameter_invalid", name, error))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Aim: what says nothing is refused as what says too much is, and the refusal names the member and its purpose.
    #[test]
    fn an_operators_words_say_something() {
        let (longest, longer) = ("é".repeat(MAX_NOTE_LEN), "é".repeat(MAX_NOTE_LEN + 1));
        for good in ["x", &longest, " seen at the bank\n"] {
            assert!(check_note("evidence", EVIDENCE, good).is_ok(), "{good:?}");
        }
        for bad in ["", " ", "\n\t ", "a\0b", &longer] {
            let refused = check_note("evidence", EVIDENCE, bad).unwrap_err();
            let told = (&*refused.code, refused.param.as_deref(), &*refused.error);
            let error = "`evidence` says how you know: 1 to 500 characters.";
            assert_eq!(told, ("parameter_invalid", Some("evidence"), error), "{bad:?}");
        }
    }
}
