//! The desk's own routes: sign-in by token or passkey, confirmation, sessions, passkeys.
//!
//! A session is a random cookie whose hash is stored, for twelve hours. The first passkey needs a session that the
//! operator's token opened, every further one a confirmation. An operator with a session but no token can do nothing at the
//! API without our own page.

pub(super) mod passkeys;
pub(super) mod sessions;
pub(super) mod sign_in;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::FromRequestParts;
use http::Method;
use http::request::Parts;
use purser_actors::engine::OperationError;
use purser_actors::entity::passkey::Rejection;
use purser_actors::id::OperatorSessionId;
use purser_actors::operator::{OperatorAction, OperatorPasskey, OperatorSession, Permission};
use serde::Serialize;

use super::auth::{AdmissionRequest, Caller, origin_of};
use super::extractors::OperatorRequest;
use super::{AdminState, unavailable};
use crate::http::auth::RequestId;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::page_session::require_own_page;
use crate::http::passkeys::{NoMembers, errors};
use crate::identity::passkey::challenge::Ceremony;
use crate::identity::passkey::site::Question;

/// Extractor: the operator of the request, by a token or a session, whatever the session may do.
struct AnyCaller(Caller);

impl FromRequestParts<Arc<AdminState>> for AnyCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, admin: &Arc<AdminState>) -> Result<Self, ApiError> {
        let request = RequestId::from_request_parts(parts, &()).await?;
        let asked = AdmissionRequest::from(&*parts);
        admin.operator_auth.caller(asked, request).await.map(Self)
    }
}

/// Extractor: a request of one of the desk's own pages.
struct OwnPage;

impl FromRequestParts<Arc<AdminState>> for OwnPage {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<AdminState>) -> Result<Self, ApiError> {
        require_own_page(&Method::POST, &parts.headers, &[&origin_of(&parts.headers)?]).map(|()| Self)
    }
}

async fn body<T: OperatorRequest>(admin: &AdminState, body: Body) -> Result<T, ApiError> {
    json::read(body, admin.max_body_bytes).await
}

impl OperatorRequest for NoMembers {
    const TASK: Permission = Permission::Read;
}

fn session_required() -> ApiError {
    ApiError::unauthorized(ErrorCode::TokenMissing, "This route needs a session of the desk.")
        .hint("POST /desk/login opens one.")
}

fn question(admin: &AdminState, ceremony: Ceremony, session: Option<&OperatorSession>) -> Question {
    Question {
        ceremony,
        session: session.map_or(0, |session| session.id.0),
        now: admin.clock.now(),
    }
}

async fn own_passkeys(admin: &AdminState, token: &[u8; 32]) -> Result<Vec<OperatorPasskey>, ApiError> {
    let own = admin.engine.operator_passkeys(token).await;
    own.map_err(|_| ApiError::internal())
}

fn operation_error(error: OperationError<Rejection>) -> ApiError {
    errors::operation_error(error)
}

/// A session that has ended.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct EndedSession {
    /// Id of the session.
    session_id: OperatorSessionId,
    /// Always true.
    ended: bool,
}

async fn end(admin: &AdminState, id: OperatorSessionId, act: &OperatorAction) -> Result<(), ApiError> {
    let ended = admin.engine.end_operator_session(id, act).await;
    match ended.map_err(|_| unavailable())? {
        true => Ok(()),
        false => Err(ApiError::new(
            ErrorCode::OperatorSessionNotFound,
            "There is no such session.",
        )),
    }
}
