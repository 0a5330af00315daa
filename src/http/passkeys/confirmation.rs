//! Confirmation: a browser session proves with a passkey, now, that its owner is there. What reveals or moves something
//! of value requires it; the rows of those routes have `confirmed()`. Tokens are not affected: who holds the wallet's key
//! needs no page.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use purser_actors::answer::Time;
use purser_actors::engine::{Confirmation, PasskeyUse};
use serde::{Deserialize, Serialize};

use super::errors::{operation_error, passkey_error, unknown};
use super::{NoMembers, SharedState, answered};
use crate::http::app::App;
use crate::http::auth::AuthClaims;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::owner::owner;
use crate::http::route::routes;
use crate::identity::passkey::challenge::Ceremony;
#[cfg(feature = "documents")]
use crate::identity::passkey::options::PasskeyRequestOptions;
use crate::identity::passkey::response::AssertionResponse;
use crate::identity::passkey::site::Question;

/// How long a confirmation lasts, in milliseconds.
pub(in crate::http) const CONFIRMED_MS: u64 = 5 * 60 * 1000;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/account/confirm/options" => post_options { Owner, unkeyed("every challenge is new") }
    POST "/account/confirm" => post_confirm { Owner, unkeyed("a challenge confirms once") }
}

/// Whether this session of a page may do what needs a confirmation.
///
/// # Errors
/// 500 when storage fails.
async fn of_session(app: &App, claims: &AuthClaims) -> Result<Confirmation, ApiError> {
    let session = app.engine.session(&claims.session).await;
    let session = session.map_err(|_| ApiError::internal())?;
    let session = session.ok_or_else(ApiError::internal)?;
    let confirmation = app.engine.confirmation(&session).await;
    confirmation.map_err(|_| ApiError::internal())
}

/// Until when this session of a page may do what needs a confirmation, if it may.
///
/// # Errors
/// 500 when storage fails.
pub(in crate::http) async fn until(app: &App, claims: &AuthClaims) -> Result<Option<Time>, ApiError> {
    Ok(match of_session(app, claims).await? {
        Confirmation::Until(until) if claims.is_signed_in() => Some(until.into()),
        Confirmation::Until(_) | Confirmation::PasskeyNeeded | Confirmation::LinkNeeded => None,
    })
}

/// Requires that the owner has confirmed in this session of a page.
///
/// # Errors
/// 403 `confirmation_required`, with the way to confirm as its hint.
pub async fn require_confirmed(app: &App, claims: &AuthClaims) -> Result<(), ApiError> {
    let refused = |reason: &'static str, hint: &'static str| {
        let error = "This needs a confirmation by the account's owner.";
        Err(ApiError::new(ErrorCode::ConfirmationRequired, error)
            .reason(reason)
            .hint(hint))
    };
    match of_session(app, claims).await? {
        Confirmation::Until(_) => Ok(()),
        Confirmation::PasskeyNeeded => refused(
            "passkey",
            "Confirm with a passkey of the account, then send the request again.",
        ),
        Confirmation::LinkNeeded => refused(
            "login_link",
            "Open a new login link and add a passkey. While the account has none, this works for ten minutes after a link of the wallet is opened. After a recovery only its own link counts; POST /recover-account makes another.",
        ),
    }
}

fn question(app: &App, claims: &AuthClaims) -> Question {
    Question {
        ceremony: Ceremony::Confirm,
        session: claims.session.0,
        now: app.clock.now(),
    }
}

/// Start a confirmation
///
/// The options are for `PublicKeyCredential.parseRequestOptionsFromJSON()`. Their challenge serves once, for five minutes,
/// in this session.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/confirm/options", operation_id = "startConfirmation", tag = "Account pages",
    request_body = inline(NoMembers),
    responses((status = 200, description = "Options for the browser.", body = PasskeyRequestOptions), (status = 400, description = "The body does not fit."),
        (status = 401, description = "No session."), (status = 403, description = "Another page, or frozen."),
        (status = 404, description = "The account has no passkey."),
        (status = 409, description = "Browsers offer no passkeys at this address."), (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_options(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = owner(&app, &headers).await?;
    let NoMembers {} = app.body(body).await?;
    let passkeys = app.engine.passkeys_of(&claims.wallet).await;
    let passkeys = passkeys.map_err(|_| ApiError::internal())?;
    let known = passkeys.iter().map(|(_, passkey)| &*passkey.credential.id);
    let options = app
        .passkeys
        .request_options(question(&app, &claims), known, &*app.entropy);
    let options = options.map_err(passkey_error)?;
    if passkeys.is_empty() {
        let error = ApiError::new(ErrorCode::PasskeyNotFound, "The account has no passkey.");
        return Err(error.hint("Add one: it needs a login link of the wallet that was opened within ten minutes."));
    }
    Ok(json::private_ok(&options))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct ConfirmRequest {
    /// The browser's answer: `credential.toJSON()`.
    #[cfg_attr(feature = "documents", schema(value_type = Object))]
    credential: AssertionResponse,
}

/// A confirmed session.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ConfirmedSession {
    /// Until when the session may do what needs a confirmation (RFC 3339).
    confirmed_until: Time,
}

/// Confirm with a passkey
///
/// For five minutes the session may reveal card numbers and codes, raise limits, and move money. The confirmation is an
/// event of the session, `session.confirmed`.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/confirm", operation_id = "confirmSession", tag = "Account pages", request_body = inline(ConfirmRequest),
    responses((status = 200, description = "Confirmed.", body = ConfirmedSession),
        (status = 400, description = "The answer does not fit."), (status = 401, description = "No session."),
        (status = 403, description = "Another page, another account's or a removed passkey, an answer that does not verify, or frozen."),
        (status = 409, description = "Browsers offer no passkeys at this address."), (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_confirm(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = owner(&app, &headers).await?;
    let ConfirmRequest { credential } = app.body(body).await?;
    if !app.passkeys.is_available() {
        return Err(passkey_error(crate::identity::passkey::PasskeyError::Unavailable));
    }
    let known = app.engine.passkey_of_credential(&credential.raw_id).await;
    let known = known.map_err(|_| ApiError::internal())?;
    let known = known.filter(|(_, passkey)| passkey.owner == claims.wallet);
    let (id, passkey) = known.ok_or_else(unknown)?;
    let asked = question(&app, &claims);
    let verified = app.passkeys.verify(&credential, &passkey.credential, asked);
    let verified = verified.map_err(passkey_error)?;
    let used = PasskeyUse {
        id,
        counter: verified.of.counter,
        challenge: answered(verified.challenge),
    };
    let until = asked.now.plus_ms(CONFIRMED_MS);
    let confirmed = app.engine.confirm_session(used, claims.session, until).await;
    confirmed.map_err(operation_error)?;
    Ok(json::private_ok(&ConfirmedSession {
        confirmed_until: until.into(),
    }))
}
