//! The desk's own routes: sign-in by token or passkey, passkeys, confirmation, sessions.
//!
//! A session is a random cookie whose hash is stored, for twelve hours. The first passkey needs a session that the
//! operator's token opened, every further one a confirmation. An operator with a session but no token can do nothing at the
//! API without our own page.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, State};
use axum::response::Response;
use http::header::SET_COOKIE;
use http::request::Parts;
use http::{HeaderMap, Method};
use purser_actors::answer::Time;
use purser_actors::credential::{AnsweredChallenge, Credential};
use purser_actors::engine::{OperationError, OperatorPasskeyUse};
use purser_actors::entity::passkey::Rejection;
use purser_actors::id::{OperatorPasskeyId, OperatorSessionId};
use purser_actors::money::Usdc;
use purser_actors::operator::{OperatorAction, OperatorConfirmation, OperatorPasskey, OperatorSession, Permission};
use purser_actors::{id, port::Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::auth::{AdmissionRequest, Caller, origin_of, set_cookie};
use super::closed_sets::OperatorRole;
use super::extractors::OperatorRequest;
use super::{AdminState, SharedState, unavailable};
use crate::http::auth::RequestId;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::page_session::require_own_page;
use crate::http::passkeys::{NoMembers, answered, check_name, errors, passkey_error};
use crate::http::route::routes;
use crate::http::schemas::ExactDecimal;
use crate::identity::operator_token::{hash_of, new_session};
use crate::identity::passkey::challenge::Ceremony;
use crate::identity::passkey::options::PasskeyUser;
#[cfg(feature = "documents")]
use crate::identity::passkey::options::{PasskeyCreationOptions, PasskeyRequestOptions};
use crate::identity::passkey::response::{AssertionResponse, RegistrationResponse};
use crate::identity::passkey::site::Question;
use crate::identity::passkey::{KnownPasskey, PasskeyError};
use crate::revocations::Entry;

/// Lifetime of a session.
const SESSION_S: u64 = 12 * 3_600;
/// How long a passkey's confirmation lasts, in milliseconds.
const CONFIRMED_MS: u64 = 5 * 60 * 1_000;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/session" => get_session {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "readSession", tag: "Desk" },
                Permission::Read,
                "Read who asks: name, role, and the session of the desk if there is one",
                of::<DeskSession>,
            )
        )
    }
    POST "/desk/login" => post_login {
        Operator, unkeyed("opens a session; the earlier one is left to end"), operation(||
            OperationDoc::post::<DeskLoginRequest>(
                Operation { id: "signInToDesk", tag: "Desk" },
                "Open a session of the desk with an operator token. Without a passkey of the operator, it may only add one",
                of::<DeskSession>,
            )
        )
    }
    POST "/desk/login/passkey/options" => post_login_options {
        Operator, unkeyed("every challenge is new"), operation(||
            OperationDoc::post::<NoMembers>(
                Operation { id: "startDeskPasskeySignIn", tag: "Desk" },
                "Options for `PublicKeyCredential.parseRequestOptionsFromJSON()`",
                of::<PasskeyRequestOptions>,
            )
            .error(409, "Browsers offer no passkeys at this address: open the desk as localhost.")
        )
    }
    POST "/desk/login/passkey" => post_login_passkey {
        Operator, unkeyed("a challenge opens one session"), operation(||
            OperationDoc::post::<DeskAnswer>(
                Operation { id: "signInToDeskWithPasskey", tag: "Desk" },
                "Open a session of the desk with a passkey",
                of::<DeskSession>,
            )
            .error(409, "Browsers offer no passkeys at this address: open the desk as localhost.")
        )
    }
    POST "/desk/sign-out" => post_sign_out {
        Operator, unkeyed("ends the session"), operation(||
            OperationDoc::post::<NoMembers>(
                Operation { id: "signOutOfDesk", tag: "Desk" },
                "End this session of the desk",
                of::<EndedSession>,
            )
        )
    }
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
    GET "/desk/passkeys" => get_passkeys {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listDeskPasskeys", tag: "Desk" },
                Permission::Read,
                "List your passkeys",
                of::<DeskPasskeyList>,
            )
        )
    }
    POST "/desk/passkeys/options" => post_passkey_options {
        Operator, unkeyed("every challenge is new"), operation(||
            OperationDoc::post::<NoMembers>(
                Operation { id: "startDeskPasskeyRegistration", tag: "Desk" },
                "Options for `PublicKeyCredential.parseCreationOptionsFromJSON()`. Every further passkey needs a confirmation",
                of::<PasskeyCreationOptions>,
            )
            .error(409, "Browsers offer no passkeys at this address: open the desk as localhost.")
        )
    }
    POST "/desk/passkeys" => post_passkey {
        Operator, unkeyed("a challenge adds one passkey"), operation(||
            OperationDoc::post::<AddDeskPasskeyRequest>(
                Operation { id: "addDeskPasskey", tag: "Desk" },
                "Add a passkey. Every further one needs a confirmation",
                of::<DeskPasskey>,
            )
            .error(409, "Added before, too many, or none at this address.")
        )
    }
    POST "/desk/passkeys/remove" => post_remove_passkey {
        Operator, unkeyed("removing again finds nothing"), operation(||
            OperationDoc::post::<RemoveDeskPasskeyRequest>(
                Operation { id: "removeDeskPasskey", tag: "Desk" },
                "Remove a passkey of yours, with the sessions that it opened and the confirmations that it gave. Needs a confirmation, or the token",
                of::<DeskPasskey>,
            )
            .error(404, "No such passkey.")
        )
    }
    POST "/desk/confirm/options" => post_confirm_options {
        Operator, unkeyed("every challenge is new"), operation(||
            OperationDoc::post::<NoMembers>(
                Operation { id: "startDeskConfirmation", tag: "Desk" },
                "Options for `PublicKeyCredential.parseRequestOptionsFromJSON()`",
                of::<PasskeyRequestOptions>,
            )
            .error(409, "Browsers offer no passkeys at this address: open the desk as localhost.")
        )
    }
    POST "/desk/confirm" => post_confirm {
        Operator, unkeyed("a challenge confirms once"), operation(||
            OperationDoc::post::<DeskAnswer>(
                Operation { id: "confirmDeskSession", tag: "Desk" },
                "Confirm with a passkey: for five minutes the session may move money",
                of::<DeskSession>,
            )
            .error(409, "Browsers offer no passkeys at this address: open the desk as localhost.")
        )
    }
}

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
    json::read(body, admin.max_body_bytes, admin.body_timeout).await
}

impl OperatorRequest for NoMembers {
    const TASK: Permission = Permission::Read;
}

/// Who asks.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct DeskSession {
    /// Name of the operator token.
    operator: String,
    /// Role of the operator token.
    role: OperatorRole,
    /// Session of the desk; null for a token.
    #[cfg_attr(feature = "documents", schema(required))]
    session_id: Option<OperatorSessionId>,
    /// End of the session (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    expires_at: Option<Time>,
    /// Number of the operator's passkeys.
    passkeys: usize,
    /// Whether the session may do nothing but add a passkey.
    must_add_passkey: bool,
    /// Whether browsers offer passkeys at the address of this request.
    passkeys_available: bool,
    /// Until when the session may move money (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    confirmed_until: Option<Time>,
    /// What the operator may give alone in one action, in US dollars; null without a limit.
    #[cfg_attr(feature = "documents", schema(required))]
    alone_max_usd: Option<ExactDecimal>,
    /// What the operator may give alone on one day (UTC), in US dollars; null without a limit.
    #[cfg_attr(feature = "documents", schema(required))]
    alone_day_max_usd: Option<ExactDecimal>,
    /// What the operator gave alone today, in US dollars.
    given_alone_today_usd: ExactDecimal,
    /// The service's time (RFC 3339). In the sandbox it can be ahead of the machine's.
    now: Time,
}

async fn session_of(
    admin: &AdminState,
    act: &OperatorAction,
    token: &[u8; 32],
    session: Option<&OperatorSession>,
    headers: &HeaderMap,
) -> Result<DeskSession, ApiError> {
    let passkeys = admin.engine.operator_passkeys(token).await;
    let passkeys = passkeys.map_err(|_| ApiError::internal())?.len();
    let now = admin.clock.now();
    let confirmed = session.and_then(|session| session.confirmed_until(now));
    let limits = admin.engine.approval_limits();
    let given = admin.engine.given_alone_today(&act.operator).await;
    let limit = |most: Usdc| (most != Usdc::ZERO).then(|| most.into());
    Ok(DeskSession {
        operator: act.operator.clone(),
        role: act.role.into(),
        session_id: session.map(|session| session.id),
        expires_at: session.map(|session| session.expires_at.into()),
        passkeys,
        must_add_passkey: passkeys == 0 && session.is_some_and(|session| session.passkey.is_none()),
        passkeys_available: admin.operator_auth.site(headers)?.is_available(),
        confirmed_until: confirmed.map(Time::from),
        alone_max_usd: limit(limits.max_per_action),
        alone_day_max_usd: limit(limits.max_per_day),
        given_alone_today_usd: given.map_err(|_| ApiError::internal())?.into(),
        now: now.into(),
    })
}

async fn get_session(
    State(admin): SharedState,
    AnyCaller(caller): AnyCaller,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let session = caller.session.as_ref().map(|(_, session)| session);
    let shown = session_of(&admin, &caller.act, &caller.token, session, &headers).await?;
    Ok(json::private_ok(&shown))
}

/// An operator token.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct DeskLoginRequest {
    /// Text of the token.
    token: String,
}

impl OperatorRequest for DeskLoginRequest {
    const TASK: Permission = Permission::Read;
}

/// A session that is about to be opened.
struct Opening {
    act: OperatorAction,
    token: [u8; 32],
    /// The passkey, with its use; `None` for a sign-in with the token.
    used: Option<(OperatorPasskeyId, OperatorPasskeyUse)>,
}

async fn open(admin: &AdminState, headers: &HeaderMap, opening: Opening) -> Result<Response, ApiError> {
    let Opening { act, token, used } = opening;
    let now = admin.clock.now();
    let session = OperatorSession {
        id: OperatorSessionId(admin.entropy.random()),
        token,
        passkey: used.as_ref().map(|(id, _)| *id),
        created_at: now,
        expires_at: now.plus_ms(SESSION_S * 1_000),
        // A sign-in with a passkey is a fresh use of it.
        confirmation: used.as_ref().map(|(passkey, _)| OperatorConfirmation {
            passkey: *passkey,
            until: now.plus_ms(CONFIRMED_MS),
        }),
    };
    let (cookie, hash) = new_session(&*admin.entropy);
    let used = used.map(|(_, used)| used);
    let opened = admin
        .engine
        .open_operator_session(&hash, session.clone(), used, &act)
        .await;
    opened.map_err(operation_error)?;
    let shown = session_of(admin, &act, &token, Some(&session), headers).await?;
    let mut response = json::private_ok(&shown);
    let cookie = set_cookie(cookie.expose(), SESSION_S)?;
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

fn operation_error(error: OperationError<Rejection>) -> ApiError {
    errors::operation_error(error)
}

fn action(operator: String, role: purser_actors::operator::Role, request: RequestId) -> OperatorAction {
    OperatorAction {
        operator,
        role,
        request_id: id::RequestId(request.0),
    }
}

async fn post_login(
    State(admin): SharedState,
    _: OwnPage,
    request: RequestId,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, ApiError> {
    let DeskLoginRequest { token } = body(&admin, sent).await?;
    let token = hash_of(token.trim());
    let Some((operator, role)) = admin.operator_auth.find(&token).await? else {
        let error = ApiError::unauthorized(ErrorCode::TokenInvalid, "This is no operator's token.");
        return Err(error.hint("`purser admin tokens create` makes one; `[operator] tokens` lists others."));
    };
    let act = action(operator, role, request);
    let opening = Opening { act, token, used: None };
    open(&admin, &headers, opening).await
}

fn question(admin: &AdminState, ceremony: Ceremony, session: Option<&OperatorSession>) -> Question {
    Question {
        ceremony,
        session: session.map_or(0, |session| session.id.0),
        now: admin.clock.now(),
    }
}

async fn post_login_options(
    State(admin): SharedState,
    _: OwnPage,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, ApiError> {
    let NoMembers {} = body(&admin, sent).await?;
    let site = admin.operator_auth.site(&headers)?;
    let asked = question(&admin, Ceremony::OperatorSignIn, None);
    let options = site.request_options(asked, [], &*admin.entropy);
    Ok(json::private_ok(&options.map_err(passkey_error)?))
}

/// The browser's answer.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct DeskAnswer {
    /// `credential.toJSON()`.
    #[cfg_attr(feature = "documents", schema(value_type = Object))]
    credential: AssertionResponse,
}

impl OperatorRequest for DeskAnswer {
    const TASK: Permission = Permission::Read;
}

/// Verifies an answer of an operator's passkey.
async fn verified(
    admin: &AdminState,
    headers: &HeaderMap,
    answer: &AssertionResponse,
    asked: Question,
) -> Result<(OperatorPasskey, OperatorPasskeyUse), ApiError> {
    let site = admin.operator_auth.site(headers)?;
    if !site.is_available() {
        return Err(passkey_error(PasskeyError::Unavailable));
    }
    let known = admin.engine.operator_passkey(&answer.raw_id).await;
    let passkey = known.map_err(|_| ApiError::internal())?.ok_or_else(errors::unknown)?;
    let stored = KnownPasskey {
        public_key: &passkey.credential.public_key,
        backup_eligible: passkey.credential.backup_eligible,
    };
    let verified = site.verify(answer, stored, asked).map_err(passkey_error)?;
    let used = OperatorPasskeyUse {
        credential: passkey.credential.id.clone(),
        counter: verified.of.counter,
        challenge: answered(verified.challenge),
    };
    Ok((passkey, used))
}

async fn post_login_passkey(
    State(admin): SharedState,
    _: OwnPage,
    request: RequestId,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, ApiError> {
    let DeskAnswer { credential } = body(&admin, sent).await?;
    let asked = question(&admin, Ceremony::OperatorSignIn, None);
    let (passkey, used) = verified(&admin, &headers, &credential, asked).await?;
    let handle = admin.operator_auth.site(&headers)?.user_handle(&passkey.token);
    if credential.user_handle.as_deref() != Some(&handle[..]) {
        return Err(errors::unknown());
    }
    // A passkey is worth nothing once the token that vouched for it is revoked.
    let found = admin.operator_auth.find(&passkey.token).await?;
    let (operator, role) = found.ok_or_else(errors::unknown)?;
    let opening = Opening {
        act: action(operator, role, request),
        token: passkey.token,
        used: Some((passkey.id, used)),
    };
    open(&admin, &headers, opening).await
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

fn session_required() -> ApiError {
    ApiError::unauthorized(ErrorCode::TokenMissing, "This route needs a session of the desk.")
        .hint("POST /desk/login opens one.")
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

async fn post_sign_out(
    State(admin): SharedState,
    AnyCaller(caller): AnyCaller,
    sent: Body,
) -> Result<Response, ApiError> {
    let NoMembers {} = body(&admin, sent).await?;
    let (_, session) = caller.session.ok_or_else(session_required)?;
    end(&admin, session.id, &caller.act).await?;
    let mut response = json::private_ok(&EndedSession {
        session_id: session.id,
        ended: true,
    });
    response.headers_mut().insert(SET_COOKIE, set_cookie("", 0)?);
    Ok(response)
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

/// A passkey of an operator.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct DeskPasskey {
    /// Id of the passkey.
    passkey_id: OperatorPasskeyId,
    /// Name of the passkey.
    name: String,
    /// Whether it can be copied to other devices of its owner.
    synced: bool,
    /// Time at which it was added (RFC 3339).
    created_at: Time,
    /// Time of the last sign-in or confirmation (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    last_used_at: Option<Time>,
}

impl From<OperatorPasskey> for DeskPasskey {
    fn from(passkey: OperatorPasskey) -> Self {
        Self {
            passkey_id: passkey.id,
            name: passkey.name,
            synced: passkey.credential.backup_eligible,
            created_at: passkey.created_at.into(),
            last_used_at: passkey.used_at.map(Time::from),
        }
    }
}

/// Passkeys of the operator.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct DeskPasskeyList {
    /// Oldest first, at most 20.
    passkeys: Vec<DeskPasskey>,
}

async fn own_passkeys(admin: &AdminState, token: &[u8; 32]) -> Result<Vec<OperatorPasskey>, ApiError> {
    let own = admin.engine.operator_passkeys(token).await;
    own.map_err(|_| ApiError::internal())
}

async fn get_passkeys(State(admin): SharedState, AnyCaller(caller): AnyCaller) -> Result<Response, ApiError> {
    let own = own_passkeys(&admin, &caller.token).await?;
    Ok(json::private_ok(&DeskPasskeyList {
        passkeys: own.into_iter().map(DeskPasskey::from).collect(),
    }))
}

/// The session, which may add a passkey: the operator's first, or one after a confirmation.
async fn adding<'a>(admin: &AdminState, caller: &'a Caller) -> Result<&'a OperatorSession, ApiError> {
    let (_, session) = caller.session.as_ref().ok_or_else(session_required)?;
    if admin.operator_auth.has_passkeys(&caller.token).await? {
        admin.operator_auth.require_confirmed(session)?;
    }
    Ok(session)
}

async fn post_passkey_options(
    State(admin): SharedState,
    AnyCaller(caller): AnyCaller,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, ApiError> {
    let NoMembers {} = body(&admin, sent).await?;
    let session = adding(&admin, &caller).await?;
    let own = own_passkeys(&admin, &caller.token).await?;
    let site = admin.operator_auth.site(&headers)?;
    let display_name = format!("{} (operator)", caller.act.operator);
    let user = PasskeyUser {
        handle: site.user_handle(&caller.token),
        name: &caller.act.operator,
        display_name: &display_name,
    };
    let asked = question(&admin, Ceremony::OperatorRegister, Some(session));
    let known = own.iter().map(|passkey| &*passkey.credential.id);
    let options = site.creation_options(asked, &user, known, &*admin.entropy);
    Ok(json::private_ok(&options.map_err(passkey_error)?))
}

/// A new passkey.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct AddDeskPasskeyRequest {
    /// Name of the passkey, 1 to 60 characters.
    name: String,
    /// The browser's answer: `credential.toJSON()`.
    #[cfg_attr(feature = "documents", schema(value_type = Object))]
    credential: RegistrationResponse,
}

impl OperatorRequest for AddDeskPasskeyRequest {
    const TASK: Permission = Permission::Read;
}

async fn post_passkey(
    State(admin): SharedState,
    AnyCaller(caller): AnyCaller,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, ApiError> {
    let AddDeskPasskeyRequest { name, credential } = body(&admin, sent).await?;
    let session = adding(&admin, &caller).await?;
    check_name(&name)?;
    let asked = question(&admin, Ceremony::OperatorRegister, Some(session));
    let verified = admin.operator_auth.site(&headers)?.register(&credential, asked);
    let verified = verified.map_err(passkey_error)?;
    let passkey = OperatorPasskey {
        id: OperatorPasskeyId(admin.entropy.random()),
        token: caller.token,
        name,
        credential: Credential {
            id: verified.of.credential_id,
            public_key: verified.of.public_key,
            counter: verified.of.counter,
            backup_eligible: verified.of.backup_eligible,
        },
        created_at: asked.now,
        used_at: None,
    };
    let challenge: AnsweredChallenge = answered(verified.challenge);
    let added = admin
        .engine
        .add_operator_passkey(passkey.clone(), challenge, &caller.act)
        .await;
    added.map_err(operation_error)?;
    Ok(json::private_ok(&DeskPasskey::from(passkey)))
}

/// A passkey to remove.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct RemoveDeskPasskeyRequest {
    /// From the list.
    passkey_id: String,
}

impl OperatorRequest for RemoveDeskPasskeyRequest {
    const TASK: Permission = Permission::Read;
}

async fn post_remove_passkey(
    State(admin): SharedState,
    AnyCaller(caller): AnyCaller,
    sent: Body,
) -> Result<Response, ApiError> {
    let RemoveDeskPasskeyRequest { passkey_id } = body(&admin, sent).await?;
    // Without its passkey an operator still has the token, which vouches for all of them.
    if let Some((_, session)) = &caller.session {
        admin.operator_auth.require_confirmed(session)?;
    }
    let id: OperatorPasskeyId = passkey_id.parse().map_err(|_| errors::not_found())?;
    let removed = admin
        .engine
        .remove_operator_passkey(&caller.token, id, &caller.act)
        .await;
    let removed = removed.map_err(operation_error)?;
    let log = admin.revocations.clone();
    let ended = Entry::OperatorPasskey(hex::encode(Sha256::digest(&removed.credential.id)));
    let noted = tokio::task::spawn_blocking(move || log.record(&[ended])).await;
    noted.map_err(|_| ApiError::internal())?;
    Ok(json::private_ok(&DeskPasskey::from(removed)))
}

async fn post_confirm_options(
    State(admin): SharedState,
    AnyCaller(caller): AnyCaller,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, ApiError> {
    let NoMembers {} = body(&admin, sent).await?;
    let (_, session) = caller.session.as_ref().ok_or_else(session_required)?;
    let own = own_passkeys(&admin, &caller.token).await?;
    let site = admin.operator_auth.site(&headers)?;
    let asked = question(&admin, Ceremony::OperatorConfirm, Some(session));
    let known = own.iter().map(|passkey| &*passkey.credential.id);
    let options = site.request_options(asked, known, &*admin.entropy);
    Ok(json::private_ok(&options.map_err(passkey_error)?))
}

async fn post_confirm(
    State(admin): SharedState,
    AnyCaller(caller): AnyCaller,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, ApiError> {
    let DeskAnswer { credential } = body(&admin, sent).await?;
    let (hash, session) = caller.session.as_ref().ok_or_else(session_required)?;
    let asked = question(&admin, Ceremony::OperatorConfirm, Some(session));
    let (passkey, used) = verified(&admin, &headers, &credential, asked).await?;
    if passkey.token != caller.token {
        return Err(errors::unknown());
    }
    let until: Timestamp = asked.now.plus_ms(CONFIRMED_MS);
    let confirmed = admin
        .engine
        .confirm_operator_session(hash, used, until, &caller.act)
        .await;
    confirmed.map_err(operation_error)?;
    let confirmation = Some(OperatorConfirmation {
        passkey: passkey.id,
        until,
    });
    let session = OperatorSession {
        confirmation,
        ..session.clone()
    };
    let shown = session_of(&admin, &caller.act, &caller.token, Some(&session), &headers).await?;
    Ok(json::private_ok(&shown))
}
