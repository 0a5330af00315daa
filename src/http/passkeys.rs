//! Passkeys of account owners: the list on the account page, additions and removals, sign-in, and confirmation of what
//! matters. Requests come from our own pages only.

pub mod confirmation;
pub(super) mod errors;
pub mod sign_in;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use purser_actors::answer::Time;
use purser_actors::credential::AnsweredChallenge;
use purser_actors::engine::NewPasskey;
use purser_actors::entity::passkey::{MAX_NAME_LEN, Passkey, PasskeyView};
use purser_actors::id::PasskeyId;
use purser_actors::kernel::Entity as _;
use serde::{Deserialize, Serialize};

use super::account::refuse_frozen;
use super::app::App;
use super::auth::AuthClaims;
use super::error::{ApiError, ErrorCode};
use super::json;
use super::owner::{confirmed_owner, owner};
use super::page_session::{PageSession, require_signed_in};
use super::readable::is_readable;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas::PasskeyResource;
use crate::identity::nonce::UsedNonceKey;
use crate::identity::passkey::challenge::Ceremony;
#[cfg(feature = "documents")]
use crate::identity::passkey::options::PasskeyCreationOptions;
use crate::identity::passkey::options::PasskeyUser;
use crate::identity::passkey::response::RegistrationResponse;
use crate::identity::passkey::site::Question;

pub use confirmation::require_confirmed;
pub(in crate::http) use errors::passkey_error;

type SharedState = State<Arc<App>>;

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/account/passkeys" => get_passkeys { Owner }
    POST "/account/passkeys/options" => post_options { Owner, unkeyed("every challenge is new"), confirmed() }
    POST "/account/passkeys" => post_passkey { Owner, unkeyed("a challenge adds one passkey"), confirmed() }
    POST "/account/passkeys/rename" => post_rename { Owner, unkeyed("sets the given name") }
    POST "/account/passkeys/remove" => post_remove { Owner, unkeyed("removing again changes nothing"), confirmed() }
}

/// A body without members.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct NoMembers {}

pub(in crate::http) fn answered(challenge: UsedNonceKey) -> AnsweredChallenge {
    AnsweredChallenge {
        nonce: challenge.bytes,
        expires_s: challenge.expires.seconds() + 1,
    }
}

/// Passkeys of the account.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct PasskeyList<'a> {
    /// Passkeys that were not removed, oldest first, at most 20.
    #[cfg_attr(feature = "documents", schema(value_type = Vec<PasskeyResource>))]
    passkeys: Vec<PasskeyView<'a>>,
    /// Whether browsers offer passkeys at this address: it needs a host name with TLS, or `localhost`.
    available: bool,
    /// Until when this session may do what needs a confirmation (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    confirmed_until: Option<Time>,
}

/// List the account's passkeys
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/account/passkeys", operation_id = "listPasskeys", tag = "Account pages",
    responses((status = 200, description = "Active passkeys, and until when the session is confirmed.", body = PasskeyList),
        (status = 401, description = "No session."), (status = 403, description = "Not the owner's session, or frozen."))))]
async fn get_passkeys(State(app): SharedState, PageSession(claims): PageSession) -> Result<Response, ApiError> {
    refuse_frozen(&app.engine, &claims).await?;
    require_signed_in(&claims)?;
    let passkeys = app.engine.passkeys_of(&claims.wallet).await;
    let passkeys = passkeys.map_err(|_| ApiError::internal())?;
    let mut shown = Vec::with_capacity(passkeys.len());
    for (id, passkey) in &passkeys {
        shown.push(view(&app, *id, passkey).await?);
    }
    Ok(json::private_ok(&PasskeyList {
        passkeys: shown,
        available: app.passkeys.is_available(),
        confirmed_until: confirmation::until(&app, &claims).await?,
    }))
}

fn registration(app: &App, claims: &AuthClaims) -> Question {
    Question {
        ceremony: Ceremony::Register,
        session: claims.session.0,
        now: app.clock.now(),
    }
}

/// Start adding a passkey
///
/// The options are for `PublicKeyCredential.parseCreationOptionsFromJSON()`. Their challenge serves once, for five
/// minutes, in this session.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/passkeys/options", operation_id = "startPasskeyRegistration", tag = "Account pages",
    request_body = inline(NoMembers),
    responses((status = 200, description = "Options for the browser.", body = PasskeyCreationOptions), (status = 400, description = "The body does not fit."),
        (status = 401, description = "No session."), (status = 403, description = "Another page, not confirmed, or frozen."),
        (status = 409, description = "Browsers offer no passkeys at this address."), (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_options(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = confirmed_owner(&app, &headers).await?;
    let NoMembers {} = app.body(body).await?;
    let passkeys = app.engine.passkeys_of(&claims.wallet).await;
    let passkeys = passkeys.map_err(|_| ApiError::internal())?;
    let address = claims.wallet.address();
    let user = PasskeyUser {
        handle: app.passkeys.user_handle(&claims.wallet.key()),
        name: &address,
        display_name: &address,
    };
    let known = passkeys.iter().map(|(_, passkey)| &*passkey.credential.id);
    let options = app
        .passkeys
        .creation_options(registration(&app, &claims), &user, known, &*app.entropy);
    Ok(json::private_ok(&options.map_err(passkey_error)?))
}

/// A new passkey.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct AddPasskeyRequest {
    /// Name of the passkey, 1 to 60 characters.
    name: String,
    /// The browser's answer: `credential.toJSON()`.
    #[cfg_attr(feature = "documents", schema(value_type = Object))]
    credential: RegistrationResponse,
}

/// Checks the name of a passkey.
///
/// # Errors
/// 400 `parameter_invalid`.
pub(super) fn check_name(name: &str) -> Result<(), ApiError> {
    if is_readable(name, MAX_NAME_LEN) {
        return Ok(());
    }
    let error = format!("`name` is a text of 1 to {MAX_NAME_LEN} characters.");
    Err(ApiError::parameter(ErrorCode::ParameterInvalid, "name", error))
}

/// Add a passkey
///
/// The first passkey needs a session of a login link that the wallet signed, at most ten minutes old; every further one
/// the confirmation by a passkey. From then on the owner signs in without the agent.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/passkeys", operation_id = "addPasskey", tag = "Account pages", request_body = inline(AddPasskeyRequest),
    responses((status = 200, description = "Added.", body = PasskeyResource),
        (status = 400, description = "The name or the answer does not fit."), (status = 401, description = "No session."),
        (status = 403, description = "Another page, not confirmed, frozen, or the answer does not verify."),
        (status = 409, description = "Added before, too many passkeys, or none at this address."), (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_passkey(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = confirmed_owner(&app, &headers).await?;
    let AddPasskeyRequest { name, credential } = app.body(body).await?;
    check_name(&name)?;
    let verified = app.passkeys.register(&credential, registration(&app, &claims));
    let verified = verified.map_err(passkey_error)?;
    let id = PasskeyId::mint(claims.wallet.shard(), app.entropy.random());
    let new = NewPasskey {
        id,
        owner: claims.wallet,
        name,
        credential: verified.of,
        challenge: answered(verified.challenge),
    };
    let added = app.engine.add_passkey(new).await;
    added.map_err(errors::operation_error)?;
    Ok(json::private_ok(&read(&app, id).await?.view(&id)))
}

async fn read(app: &App, id: PasskeyId) -> Result<Passkey, ApiError> {
    let passkey = app.engine.passkey(&id).await.map_err(|_| ApiError::internal())?;
    passkey.ok_or_else(errors::not_found)
}

/// The passkey as lists show it.
async fn view<'a>(app: &App, id: PasskeyId, passkey: &'a Passkey) -> Result<PasskeyView<'a>, ApiError> {
    let suspended = app.engine.is_passkey_suspended(id, passkey.created_at).await;
    let suspended = suspended.map_err(|_| ApiError::internal())?;
    let view = passkey.view(&id);
    Ok(if suspended && passkey.is_active() {
        view.suspended()
    } else {
        view
    })
}

/// The owner's passkey of this id. Another's is not found.
async fn own(app: &App, claims: &AuthClaims, id: &str) -> Result<PasskeyId, ApiError> {
    let id = id.parse().map_err(|_| errors::not_found())?;
    let passkey = read(app, id).await?;
    (passkey.owner == claims.wallet)
        .then_some(id)
        .ok_or_else(errors::not_found)
}

/// Another name for a passkey.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct RenamePasskeyRequest {
    /// From the list.
    passkey_id: String,
    /// Name of the passkey, 1 to 60 characters.
    name: String,
}

/// Rename a passkey
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/passkeys/rename", operation_id = "renamePasskey", tag = "Account pages",
    request_body = inline(RenamePasskeyRequest),
    responses((status = 200, description = "Renamed.", body = PasskeyResource),
        (status = 400, description = "The name does not fit."), (status = 401, description = "No session."),
        (status = 403, description = "Another page, or frozen."), (status = 404, description = "No such passkey."), (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_rename(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = owner(&app, &headers).await?;
    let RenamePasskeyRequest { passkey_id, name } = app.body(body).await?;
    check_name(&name)?;
    let id = own(&app, &claims, &passkey_id).await?;
    let renamed = app.engine.rename_passkey(id, name).await;
    renamed.map_err(errors::operation_error)?;
    let passkey = read(&app, id).await?;
    Ok(json::private_ok(&view(&app, id, &passkey).await?))
}

/// A passkey to remove.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct RemovePasskeyRequest {
    /// From the list.
    passkey_id: String,
}

/// Remove a passkey
///
/// Sessions that it opened end at once, as do the confirmations that it gave in others.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/passkeys/remove", operation_id = "removePasskey", tag = "Account pages",
    request_body = inline(RemovePasskeyRequest),
    responses((status = 200, description = "Removed.", body = PasskeyResource), (status = 400, description = "The body does not fit."), (status = 401, description = "No session."),
        (status = 403, description = "Another page, not confirmed, or frozen."), (status = 404, description = "No such passkey."), (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_remove(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = confirmed_owner(&app, &headers).await?;
    let RemovePasskeyRequest { passkey_id } = app.body(body).await?;
    let id = own(&app, &claims, &passkey_id).await?;
    let removed = app.engine.remove_passkey(id).await;
    removed.map_err(errors::operation_error)?;
    Ok(json::private_ok(&read(&app, id).await?.view(&id)))
}
