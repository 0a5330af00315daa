//! Sign-in with a passkey: `POST /login/passkey/options`, `POST /login/passkey`. The passkey names its account, so no one
//! types anything. The session is the owner's own: no agent's session created it, so it ends with none.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Method, header};
use purser_actors::answer::UserId;
use purser_actors::engine::OperationError;
use purser_actors::engine::PasskeyUse;
use purser_actors::entity::passkey::Rejection;
use serde::{Deserialize, Serialize};

use super::errors::{operation_error, passkey_error, unknown};
use super::{NoMembers, SharedState, answered};
use crate::http::app::App;
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::page_session::require_own_page;
use crate::http::route::routes;
use crate::identity::passkey::challenge::Ceremony;
#[cfg(feature = "documents")]
use crate::identity::passkey::options::PasskeyRequestOptions;
use crate::identity::passkey::response::AssertionResponse;
use crate::identity::passkey::site::Question;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/login/passkey/options" => post_options { Public, unkeyed("every challenge is new") }
    POST "/login/passkey" => post_sign_in { Public, unkeyed("a challenge opens one session") }
}

fn question(app: &App) -> Question {
    Question {
        ceremony: Ceremony::SignIn,
        session: 0,
        now: app.clock.now(),
    }
}

/// Start a sign-in with a passkey
///
/// The options are for `PublicKeyCredential.parseRequestOptionsFromJSON()`. Their challenge serves once, for five minutes.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/login/passkey/options", operation_id = "startPasskeySignIn", tag = "Account pages",
    request_body = inline(NoMembers),
    responses((status = 200, description = "Options for the browser.", body = PasskeyRequestOptions), (status = 400, description = "The body does not fit."),
        (status = 403, description = "Another page."), (status = 409, description = "Browsers offer no passkeys at this address."), (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_options(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    require_own_page(&Method::POST, &headers, &app.pages.origins())?;
    let NoMembers {} = app.body(body).await?;
    let options = app.passkeys.request_options(question(&app), [], &*app.entropy);
    Ok(json::private_ok(&options.map_err(passkey_error)?))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct PasskeySignInRequest {
    /// The browser's answer: `credential.toJSON()`.
    #[cfg_attr(feature = "documents", schema(value_type = Object))]
    credential: AssertionResponse,
}

/// A session of the owner.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct PasskeySession {
    /// The wallet's address in lower case.
    user_id: UserId,
    /// Validity of the session in seconds.
    expires_in: u64,
}

/// Sign in with a passkey
///
/// Sets the session cookie. The session has the rights of the owner, and ends when the owner signs out or removes the
/// passkey.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/login/passkey", operation_id = "signInWithPasskey", tag = "Account pages",
    request_body = inline(PasskeySignInRequest),
    responses((status = 200, description = "Signed in, with the session cookie.", body = PasskeySession),
        (status = 400, description = "The answer does not fit."),
        (status = 403, description = "Another page, an unknown or removed passkey, an answer that does not verify, or frozen."),
        (status = 409, description = "Browsers offer no passkeys at this address."), (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_sign_in(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    require_own_page(&Method::POST, &headers, &app.pages.origins())?;
    let PasskeySignInRequest { credential } = app.body(body).await?;
    if !app.passkeys.is_available() {
        return Err(passkey_error(crate::identity::passkey::PasskeyError::Unavailable));
    }
    let known = app.engine.passkey_of_credential(&credential.raw_id).await;
    let (id, passkey) = known.map_err(|_| ApiError::internal())?.ok_or_else(unknown)?;
    if !passkey.is_active() {
        return Err(operation_error(OperationError::Rejected(Rejection::Removed)));
    }
    // Only a passkey that was made for this account has its handle.
    let handle = app.passkeys.user_handle(&passkey.owner.key());
    if credential.user_handle.as_deref() != Some(&handle[..]) {
        return Err(unknown());
    }
    let verified = app.passkeys.verify(&credential, &passkey.credential, question(&app));
    let verified = verified.map_err(passkey_error)?;
    let account = app.engine.account(&passkey.owner).await;
    if let Some(message) = account
        .map_err(|_| ApiError::internal())?
        .and_then(|account| account.frozen)
    {
        return Err(ApiError::frozen(message));
    }
    let session = app.credentials.new_session(&passkey.owner);
    let used = PasskeyUse {
        id,
        counter: verified.of.counter,
        challenge: answered(verified.challenge),
    };
    let opened = app.engine.sign_in_with_passkey(used, session).await;
    opened.map_err(operation_error)?;
    let lifetime_s = app.config.identity.browser_session_seconds;
    let cookie = app.cookies.set(session.id, app.clock.now(), lifetime_s);
    let mut response = json::private_ok(&PasskeySession {
        user_id: passkey.owner.into(),
        expires_in: lifetime_s,
    });
    let cookie = HeaderValue::from_str(cookie.expose()).map_err(|_| ApiError::internal())?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}
