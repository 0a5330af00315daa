//! The list of the desk's sessions, and the end of one.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::answer::Time;
use purser_actors::id::{OperatorPasskeyId, OperatorSessionId};
use purser_actors::operator::{OperatorSession, Permission};
use serde::{Deserialize, Serialize};

use super::{AnyCaller, EndedSession, body, end};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
#[cfg(feature = "documents")]
use crate::http::operator::api_doc::{Operation, OperationDoc, of};
use crate::http::operator::auth::Caller;
use crate::http::operator::extractors::OperatorRequest;
use crate::http::operator::{AdminState, SharedState};
use crate::http::route::routes;

routes! { pub(in crate::http::operator) static ROUTES: Arc<AdminState>, undocumented;
    GET "/desk/sessions" => get_sessions {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listDeskSessions", tag: "Desk" },
                Permission::Read,
                "List your sessions of the desk; an administrator sees everyone's",
                of::<DeskSessionList>,
            )
        )
    }
    POST "/desk/sessions/end" => post_end_session {
        Operator, unkeyed("ending again changes nothing"), operation(||
            OperationDoc::post::<EndSessionRequest>(
                Operation { id: "endDeskSession", tag: "Desk" },
                "End a session of yours; an administrator ends anyone's",
                of::<EndedSession>,
            )
            .error(404, "No such session.")
        )
    }
}

/// A session of the desk in a list.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ListedSession {
    /// Id of the session.
    session_id: OperatorSessionId,
    /// Name of the operator token; null if it was revoked, which ends the session.
    #[cfg_attr(feature = "documents", schema(required))]
    operator: Option<String>,
    /// Whether this request comes from it.
    current: bool,
    /// Passkey that opened it; null for the token.
    #[cfg_attr(feature = "documents", schema(required))]
    passkey_id: Option<OperatorPasskeyId>,
    /// Time at which it was opened (RFC 3339).
    created_at: Time,
    /// Time at which it ends by itself (RFC 3339).
    expires_at: Time,
}

/// Sessions of the desk.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct DeskSessionList {
    /// Oldest first.
    sessions: Vec<ListedSession>,
}

/// Whether the caller sees and ends this session.
fn may_end(caller: &Caller, session: &OperatorSession) -> bool {
    session.token == caller.token || caller.act.role.allows(Permission::ManageTokens)
}

async fn get_sessions(State(admin): SharedState, AnyCaller(caller): AnyCaller) -> Result<Response, ApiError> {
    let open = admin.engine.operator_sessions().await;
    let mut sessions = Vec::new();
    for session in open.map_err(|_| ApiError::internal())? {
        if !may_end(&caller, &session) {
            continue;
        }
        let operator = admin.operator_auth.find(&session.token).await?;
        sessions.push(ListedSession {
            session_id: session.id,
            operator: operator.map(|(name, _)| name),
            current: caller.session.as_ref().is_some_and(|(_, own)| own.id == session.id),
            passkey_id: session.passkey,
            created_at: session.created_at.into(),
            expires_at: session.expires_at.into(),
        });
    }
    Ok(json::private_ok(&DeskSessionList { sessions }))
}

/// A session to end.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct EndSessionRequest {
    /// From the list.
    session_id: String,
}

impl OperatorRequest for EndSessionRequest {
    const TASK: Permission = Permission::Read;
}

async fn post_end_session(
    State(admin): SharedState,
    AnyCaller(caller): AnyCaller,
    sent: Body,
) -> Result<Response, ApiError> {
    let EndSessionRequest { session_id } = body(&admin, sent).await?;
    let unknown = || ApiError::new(ErrorCode::OperatorSessionNotFound, "There is no such session.");
    let id: OperatorSessionId = session_id.parse().map_err(|_| unknown())?;
    let open = admin.engine.operator_sessions().await;
    let open = open.map_err(|_| ApiError::internal())?;
    let session = open.into_iter().find(|session| session.id == id);
    session
        .filter(|session| may_end(&caller, session))
        .ok_or_else(unknown)?;
    end(&admin, id, &caller.act).await?;
    Ok(json::private_ok(&EndedSession {
        session_id: id,
        ended: true,
    }))
}
