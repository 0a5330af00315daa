//! The way back into an account whose passkeys are lost: `POST /recover-account` for its wallet, and
//! `POST /account/recovery/cancel` for its owner.
//!
//! Only a signature that the wallet makes for this counts, no token: agents have tokens. An agent may have the wallet's key
//! too, so the owner has a day to cancel with any passkey.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use purser_actors::engine::OperationError;
use purser_actors::entity::recovery::{Recovery, RecoveryView, Rejection};
use purser_actors::entity::session::AuthMethod;
use purser_actors::id::{SessionId, Wallet};
use purser_actors::kernel::Entity as _;
use serde::Serialize;

use super::app::App;
use super::error::{ApiError, ErrorCode};
use super::json;
use super::login::link_of_session;
use super::owner::{confirmed_owner, unavailable};
use super::passkeys::{NoMembers, errors};
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;
use super::sign_in::{challenge, first_network, signer};
use crate::identity::login::{LOGIN_CODE_LIFETIME_S, LandingPage};
use crate::identity::sign_in_error::SignInError;

type SharedState = State<Arc<App>>;

routes! { pub(super) static ROUTES: Arc<App>, openapi;
    POST "/recover-account" => post_recover {
        Public, unkeyed("a signature counts once; while a recovery waits, asking again changes nothing")
    }
    POST "/account/recovery/cancel" => post_cancel {
        Owner, unkeyed("a cancelled recovery stays cancelled"), confirmed()
    }
}

/// A recovery, with the owner's link once the wallet has completed it.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct RecoveryAnswer {
    #[serde(flatten)]
    recovery: RecoveryView,
    /// URL to give to the owner unchanged, once it is completed. It can be opened once, and there the owner adds a passkey.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_url: Option<String>,
    /// Validity of the link in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in: Option<u64>,
}

/// Recover an account whose passkeys are lost
///
/// Free. Without a valid `SIGN-IN-WITH-X` header: 402 with a fresh challenge, whose message says that it is for this; no
/// signature for a sign-in counts, and no token. The first signed request begins a recovery that waits for 24 hours. It is
/// announced at once (`recovery.requested`), and the owner can cancel it with any passkey. A signed request after the wait
/// completes it within 7 days: it removes all passkeys and answers with a login link. Signed requests in between change
/// nothing. Works while all agents are stopped.
#[cfg_attr(feature = "documents", utoipa::path(post, path = "/recover-account", operation_id = "recoverAccount", tag = "Authentication",
    params(("network" = inline(Option<schemas::NetworkName>), Query, description = "`base` (default) or `solana`: which network the challenge names first."),
        ("SIGN-IN-WITH-X" = Option<String>, Header, description = "Base64 of the signed CAIP-122 message.")),
    responses((status = 200, description = "The recovery; with `auth_url` and `expires_in` (seconds) once it is completed.", body = RecoveryAnswer),
        (status = 402, description = "A challenge in `PAYMENT-REQUIRED`; sign it and try again.", body = schemas::PaymentChallenge),
        (status = 403, description = "Frozen."), (status = 404, description = "No such account."),
        (status = 409, description = "The account has no passkey, so a login link opens it."))))]
async fn post_recover(
    State(app): SharedState,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let first = first_network(query.as_deref())?;
    let again = |refusal| Ok(challenge(&app, &app.recovery_challenges, first, refusal));
    let now = app.clock.now();
    let signed = match signer(&headers, &app.recovery_verifier, now) {
        Ok(signed) => signed,
        Err(refusal) => return again(refusal),
    };
    let wallet = signed.wallet;
    // A nonce is valid through its last second.
    let nonce = (signed.nonce.bytes, signed.nonce.expires.seconds() + 1);
    let account = app.engine.account(&wallet).await.map_err(|_| ApiError::internal())?;
    let account = account.ok_or_else(|| ApiError::new(ErrorCode::AccountNotFound, "There is no such account."))?;
    if let Some(message) = account.frozen {
        return Err(ApiError::frozen(message));
    }
    if let Some(session) = open_recovery_session(&app, &wallet).await? {
        // The link was lost or is too old, and no passkey was added yet. The signature still counts once.
        match app
            .engine
            .sign_in(wallet, nonce, app.credentials.new_session(&wallet))
            .await
        {
            Ok(()) => {}
            Err(OperationError::AlreadyUsed) => return again(Some(SignInError::NonceUsed)),
            Err(_) => return Err(unavailable()),
        }
        return answer(&app, &wallet, Some(session)).await;
    }
    let is_recovered = app.engine.recovery_session(&wallet).await;
    let is_recovered = is_recovered.map_err(|_| ApiError::internal())?.is_some();
    let has_passkeys = app.engine.has_passkeys(&wallet).await;
    if !has_passkeys.map_err(|_| ApiError::internal())? && !is_recovered {
        let error = "The account has no passkey, so a login link opens it.";
        return Err(ApiError::new(ErrorCode::RecoveryNotNeeded, error)
            .hint("Sign in with GET /auth, then call GET /get-auth-link."));
    }
    // Its owner could not cancel it.
    let are_suspended = app.engine.are_passkeys_suspended(&wallet).await;
    if are_suspended.map_err(|_| ApiError::internal())? {
        return Err(errors::suspended());
    }
    let ready = app.recovery_of(&wallet).await?.is_some_and(|known| known.is_ready(now));
    let session = app.credentials.new_session(&wallet);
    let done = match ready {
        true => app.engine.complete_recovery(wallet, nonce, session).await,
        false => app.engine.request_recovery(wallet, nonce).await,
    };
    match done {
        Ok(()) => {}
        Err(OperationError::AlreadyUsed) => return again(Some(SignInError::NonceUsed)),
        Err(OperationError::Rejected(rejection)) => return Err(rejected(rejection)),
        Err(OperationError::Unavailable) => return Err(unavailable()),
    }
    answer(&app, &wallet, ready.then_some(session.id)).await
}

/// Session of the completed recovery while no passkey was added since and the session goes on. Then another link of it
/// brings the owner back; a recovery in progress goes first.
async fn open_recovery_session(app: &App, wallet: &Wallet) -> Result<Option<SessionId>, ApiError> {
    let failed = |_| ApiError::internal();
    let id = app.engine.recovery_session(wallet).await;
    let Some(id) = id.map_err(|_| ApiError::internal())? else {
        return Ok(None);
    };
    if app.recovery_of(wallet).await?.is_some_and(|known| known.is_open()) {
        return Ok(None);
    }
    let Some(session) = app.engine.session(&id).await.map_err(failed)? else {
        return Ok(None);
    };
    let has_ended = app.engine.has_session_ended(&id, &session).await.map_err(failed)?;
    Ok((!has_ended).then_some(id))
}

/// The recovery, with a link of the session that completed it.
async fn answer(app: &App, wallet: &Wallet, session: Option<SessionId>) -> Result<Response, ApiError> {
    let link = match session {
        Some(session) => Some(link_of_session(app, (*wallet, AuthMethod::Wallet), session, LandingPage::Home).await?),
        None => None,
    };
    let recovery = app.recovery_of(wallet).await?.ok_or_else(ApiError::internal)?;
    Ok(json::private_ok(&RecoveryAnswer {
        recovery: recovery.view(wallet),
        expires_in: link.as_ref().map(|_| LOGIN_CODE_LIFETIME_S),
        auth_url: link.map(|url| url.expose().to_owned()),
    }))
}

/// Cancel the recovery of the account
///
/// Nothing changes. Only a session that a passkey has confirmed may do this: a wallet that asks for a recovery cannot end one
/// of the owner's.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/recovery/cancel", operation_id = "cancelRecovery", tag = "Account pages",
    request_body = inline(NoMembers),
    responses((status = 200, description = "Cancelled.", body = schemas::RecoveryResource), (status = 400, description = "The body does not fit."),
        (status = 401, description = "No session."), (status = 403, description = "Another page, not confirmed, or frozen."),
        (status = 404, description = "None is in progress."), (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_cancel(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = confirmed_owner(&app, &headers).await?;
    let NoMembers {} = app.body(body).await?;
    match app.engine.cancel_recovery(claims.wallet).await {
        Ok(()) => {}
        Err(OperationError::Rejected(rejection)) => return Err(rejected(rejection)),
        Err(_) => return Err(unavailable()),
    }
    let recovery = app.recovery_of(&claims.wallet).await?.ok_or_else(ApiError::internal)?;
    Ok(json::private_ok(&recovery.view(&claims.wallet)))
}

fn rejected(rejection: Rejection) -> ApiError {
    match rejection {
        Rejection::NotFound => ApiError::new(
            ErrorCode::RecoveryNotFound,
            "No recovery of the account is in progress.",
        ),
        // Between the read and the command it was cancelled, or completed by another request.
        Rejection::NotReady => unavailable(),
    }
}

impl App {
    /// The last recovery of an account.
    ///
    /// # Errors
    /// 500 when storage fails.
    pub(super) async fn recovery_of(&self, wallet: &Wallet) -> Result<Option<Recovery>, ApiError> {
        let recovery = self.engine.recovery(wallet).await;
        recovery.map_err(|_| ApiError::internal())
    }
}
