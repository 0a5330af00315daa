//! The session of an operator's browser: opened by a token or a passkey, confirmed, ended.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use http::header::SET_COOKIE;
use purser_actors::answer::Time;
use purser_actors::engine::OperatorPasskeyUse;
use purser_actors::id;
use purser_actors::id::{OperatorPasskeyId, OperatorSessionId};
use purser_actors::money::Usdc;
use purser_actors::operator::{
    OperatorAction, OperatorConfirmation, OperatorPasskey, OperatorSession, Permission, Role,
};
use serde::{Deserialize, Serialize};

use super::{AnyCaller, EndedSession, OwnPage, body, end, operation_error, own_passkeys, question, session_required};
use crate::http::auth::RequestId;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
#[cfg(feature = "documents")]
use crate::http::operator::api_doc::{Operation, OperationDoc, of};
use crate::http::operator::auth::set_cookie;
use crate::http::operator::closed_sets::OperatorRole;
use crate::http::operator::extractors::OperatorRequest;
use crate::http::operator::{AdminState, SharedState};
use crate::http::passkeys::{NoMembers, answered, errors, passkey_error};
use crate::http::route::routes;
use crate::http::schemas::ExactDecimal;
use crate::identity::operator_token::{hash_of, new_session};
use crate::identity::passkey::PasskeyError;
use crate::identity::passkey::challenge::Ceremony;
#[cfg(feature = "documents")]
use crate::identity::passkey::options::PasskeyRequestOptions;
use crate::identity::passkey::response::AssertionResponse;
use crate::identity::passkey::site::Question;

/// Lifetime of a session.
const SESSION_S: u64 = 12 * 3_600;
/// How long a passkey's confirmation lasts, in milliseconds.
const CONFIRMED_MS: u64 = 5 * 60 * 1_000;

routes! { pub(in crate::http::operator) static ROUTES: Arc<AdminState>, undocumented;
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

fn action(operator: String, role: Role, request: RequestId) -> OperatorAction {
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
    let verified = site.verify(answer, &passkey.credential, asked).map_err(passkey_error)?;
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
    let until = asked.now.plus_ms(CONFIRMED_MS);
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
