//! API keys: `createAgentApiKey`, `listAgentApiKeys`, `revokeAgentApiKey`; `agentAuth`, which exchanges one for tokens; and
//! `announceAgentConnection`, by which whoever holds a token says who it is.
//!
//! What a key's tokens may do: read and buy as any token, and spend from the managed wallet, because that is what a person
//! makes a key for and the caps are the person's. Nothing else that takes the owner: no withdrawal to another wallet, no
//! bank transfer, no further key, no word about who the owner is. Those have no cap that a person set for an agent.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use http::{HeaderMap, StatusCode, header};
use purser_actors::api_key::{ApiKey, MAX_NAME_LEN, Rejection};
use purser_actors::engine::OperationError;
use purser_actors::id::ApiKeyId;
use purser_actors::kernel::{Entity as _, JsonObject};
use purser_actors::port::Entropy;
use purser_actors::session::{AgentInfo, AuthMethod};
use serde::Deserialize;
use utoipa::{OpenApi, ToSchema};

use super::account::BearerClaims;
use super::agent_wallet::text;
use super::auth::{AuthClaims, TokenError, bearer_token};
use super::callable::{CallableState, require_sign_in, result};
use super::error::ApiError;
use super::schemas;
use crate::identity::api_key::ApiKeyCodec;
use crate::identity::credentials::CredentialIssuer;

/// What these functions need.
pub struct ApiKeyState {
    /// Reads calls, and the engine.
    pub callables: CallableState,
    /// Writes and reads keys.
    pub api_keys: ApiKeyCodec,
    /// Makes tokens.
    pub credentials: Arc<CredentialIssuer>,
    /// Ids.
    pub entropy: Arc<dyn Entropy>,
    /// Keys that an account may have at a time.
    pub max_keys: u8,
}

type SharedState = State<Arc<ApiKeyState>>;

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(
    create_agent_api_key,
    list_agent_api_keys,
    revoke_agent_api_key,
    agent_auth,
    announce_agent_connection
))]
pub struct ApiDoc;

/// The routes.
pub fn router(room: Arc<ApiKeyState>) -> Router {
    Router::new()
        .route("/createAgentApiKey", post(create_agent_api_key))
        .route("/listAgentApiKeys", post(list_agent_api_keys))
        .route("/revokeAgentApiKey", post(revoke_agent_api_key))
        .route("/agentAuth", post(agent_auth))
        .route("/announceAgentConnection", post(announce_agent_connection))
        .with_state(room)
}

/// A refusal of the engine's.
pub(super) fn map_error(denied: &OperationError<Rejection>) -> ApiError {
    match denied {
        OperationError::Rejected(Rejection::NotFound) => unknown(),
        OperationError::Rejected(Rejection::Revoked) => revoked(),
        OperationError::Rejected(Rejection::Suspended) => {
            let error = "The service was restored from a backup, and it is not known whether this API key was revoked.";
            ApiError::new(StatusCode::UNAUTHORIZED, "api_key_suspended", error)
                .hint("Make another with POST /createAgentApiKey, or ask the operator to confirm this one.")
        }
        OperationError::Rejected(Rejection::LimitReached) => {
            let error = "The account has as many API keys as it can have.";
            ApiError::new(StatusCode::CONFLICT, "api_key_limit_reached", error).hint("Revoke one that nobody needs.")
        }
        OperationError::Specific(never) => match *never {},
        OperationError::Rejected(Rejection::AlreadyClaimed)
        | OperationError::AlreadyUsed
        | OperationError::Unavailable => {
            ApiError::unavailable("service_unavailable", "That could not be done now. Try again.", 1)
        }
    }
}

fn unknown() -> ApiError {
    ApiError::not_found("api_key_not_found", "There is no such API key.")
}

fn revoked() -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "api_key_revoked", "The API key was revoked.")
        .hint("Ask for a new one with POST /signup.")
}

/// A key as lists show it: what it is called and how it stands, and of its text the beginning and the end.
pub(super) fn render(api_keys: &ApiKeyCodec, id: ApiKeyId, key: &ApiKey) -> JsonObject {
    let (prefix, last4) = api_keys.hints(id);
    key.view(&id).text("prefix", prefix).text("last4", last4)
}

/// What `createAgentApiKey` takes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CreateApiKeyRequest {
    /// What the key is called: 1 to 80 readable characters.
    name: String,
}

/// Make an API key for an agent
///
/// Only with the token of a wallet that signed in. `apiKey` is shown this once: if the answer is lost, revoke the key and
/// make another.
#[utoipa::path(post, path = "/createAgentApiKey", tag = "API keys", security(("bearer" = [])), request_body = inline(CreateApiKeyRequest),
    responses((status = 200, description = "`apiKey`, and `key` as lists show it.", body = schemas::CreateApiKeyResult),
        (status = 400, description = "No name, or one that it cannot have."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, frozen, or a token born of a payment or an API key."),
        (status = 409, description = "The account has as many keys as it can have."), (status = 503, description = "Not now.")))]
async fn create_agent_api_key(
    State(room): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = room.callables.read::<CreateApiKeyRequest>(body).await?;
    let name = text("name", &call.data.name, MAX_NAME_LEN)?;
    room.callables.admit(&claims, &call).await?;
    require_sign_in(&claims)?;
    let id = ApiKeyId(room.entropy.random());
    let made = room
        .callables
        .engine
        .issue_api_key(id, claims.wallet, &name, room.max_keys)
        .await;
    made.map_err(|denied| map_error(&denied))?;
    let key = room.read(id).await?.ok_or_else(ApiError::internal)?;
    let told = JsonObject::new()
        .text("api_key", room.api_keys.text(id).expose())
        .object("key", &render(&room.api_keys, id, &key));
    Ok(result(&told))
}

/// What functions take that take nothing.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EmptyRequest {}

/// The account's API keys
///
/// Those that are not revoked, the oldest first; of their texts the beginning and the last four characters.
#[utoipa::path(post, path = "/listAgentApiKeys", tag = "API keys", security(("bearer" = [])), request_body = inline(EmptyRequest),
    responses((status = 200, description = "`keys`.", body = schemas::ListApiKeysResult),
        (status = 400, description = "A member that it does not take."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen.")))]
async fn list_agent_api_keys(
    State(room): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = room.callables.read::<EmptyRequest>(body).await?;
    room.callables.admit(&claims, &call).await?;
    let keys = room.callables.engine.api_keys_of(&claims.wallet).await;
    let keys = keys.map_err(|_| ApiError::internal())?;
    let keys = keys.iter().map(|(id, key)| render(&room.api_keys, *id, key));
    Ok(result(&JsonObject::new().list("keys", keys)))
}

/// What `revokeAgentApiKey` takes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RevokeApiKeyRequest {
    /// As lists name it.
    api_key_id: String,
}

/// Revoke an API key
///
/// Its tokens are 401 at once and its streams are closed. With the token of a wallet that signed in, or with one of the
/// key's own. A second time changes nothing.
#[utoipa::path(post, path = "/revokeAgentApiKey", tag = "API keys", security(("bearer" = [])), request_body = inline(RevokeApiKeyRequest),
    responses((status = 200, description = "`key`, whose `status` is `revoked`.", body = schemas::ApiKeyResult),
        (status = 400, description = "A member that it does not take."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId` or key, frozen, or a token that may not."),
        (status = 404, description = "No such key."), (status = 503, description = "Not now.")))]
async fn revoke_agent_api_key(
    State(room): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = room.callables.read::<RevokeApiKeyRequest>(body).await?;
    room.callables.admit(&claims, &call).await?;
    let id: ApiKeyId = call.data.api_key_id.parse().map_err(|_| unknown())?;
    let key = room.read(id).await?.ok_or_else(unknown)?;
    authorize_owner(&claims, &key)?;
    if claims.amr != AuthMethod::Key(id) {
        require_sign_in(&claims)?;
    }
    let done = room.callables.engine.revoke_api_key(id).await;
    done.map_err(|denied| map_error(&denied))?;
    let key = room.read(id).await?.ok_or_else(ApiError::internal)?;
    Ok(result(
        &JsonObject::new().object("key", &render(&room.api_keys, id, &key)),
    ))
}

/// The key is the caller's.
///
/// # Errors
/// 403 `api_key_access_denied`.
pub(super) fn authorize_owner(claims: &AuthClaims, key: &ApiKey) -> Result<(), ApiError> {
    if key.owner == claims.wallet {
        return Ok(());
    }
    let error = "This API key belongs to another wallet.";
    Err(ApiError::forbidden("api_key_access_denied", error))
}

/// What `agentAuth` takes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ExchangeApiKeyRequest {
    /// The API key, if it is not in the `Authorization` header.
    api_key: Option<String>,
}

/// Exchange an API key for tokens
///
/// The key is in `Authorization: Bearer`, or in `data.apiKey`. The tokens are as `POST /auth` gives them; the refresh token
/// is exchanged there. Works while the account is frozen, as any sign-in does.
#[utoipa::path(post, path = "/agentAuth", tag = "API keys", security(("api_key" = []), ()), request_body = inline(ExchangeApiKeyRequest),
    responses((status = 200, description = "`idToken`, `refreshToken`, `expiresIn`, `userId`, `apiKeyId`.", body = schemas::AgentAuthResult),
        (status = 400, description = "A member that it does not take, or two keys that differ."),
        (status = 401, description = "No key, none of ours, or one that was revoked."),
        (status = 403, description = "Another account's `userId`."), (status = 503, description = "Not now.")))]
async fn agent_auth(State(room): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let call = room.callables.read::<ExchangeApiKeyRequest>(body).await?;
    let id = room.parse_presented_key(&headers, call.data.api_key.as_deref())?;
    // A key that its owner never said yes to is like one that was made up.
    let key = room.read(id).await?.ok_or_else(api_key_invalid)?;
    call.of(&key.owner)?;
    let session = room.credentials.new_session();
    let done = room.callables.engine.exchange_api_key(id, session).await;
    done.map_err(|denied| map_error(&denied))?;
    let told = room.credentials.issue(&key.owner, session.id, AuthMethod::Key(id), 0);
    Ok(result(
        &told.text("user_id", key.owner.user_id()).text("api_key_id", id),
    ))
}

fn api_key_invalid() -> ApiError {
    ApiError::new(
        StatusCode::UNAUTHORIZED,
        "api_key_invalid",
        "The API key is not one of ours.",
    )
    .hint("Ask for one with POST /signup.")
}

/// What `announceAgentConnection` takes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AnnounceAgentRequest {
    /// What the agent is called: 1 to 80 readable characters.
    name: String,
    /// The program that runs it, likewise.
    client: Option<String>,
    /// Which version of that: 1 to 40 readable characters.
    version: Option<String>,
}

/// Name the agent that uses this token
///
/// An agent's own words, which nobody checks. The account page and the stream show them with the session (`session.agent_announced`).
#[utoipa::path(post, path = "/announceAgentConnection", tag = "API keys", security(("bearer" = [])), request_body = inline(AnnounceAgentRequest),
    responses((status = 200, description = "`sessionId`, and `agent` as it was understood.", body = schemas::AnnounceAgentResult),
        (status = 400, description = "A text that it cannot have."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."), (status = 503, description = "Not now.")))]
async fn announce_agent_connection(
    State(room): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = room.callables.read::<AnnounceAgentRequest>(body).await?;
    let AnnounceAgentRequest { name, client, version } = &call.data;
    let agent = AgentInfo {
        name: text("name", name, MAX_NAME_LEN)?,
        client: client
            .as_ref()
            .map(|client| text("client", client, MAX_NAME_LEN))
            .transpose()?,
        version: version
            .as_ref()
            .map(|version| text("version", version, 40))
            .transpose()?,
    };
    room.callables.admit(&claims, &call).await?;
    let view = agent.view();
    match room.callables.engine.announce_agent(claims.session, agent).await {
        Ok(_) => {}
        Err(OperationError::Rejected(_)) => return Err(TokenError::Revoked.into()),
        Err(_) => {
            return Err(ApiError::unavailable(
                "service_unavailable",
                "That could not be done now. Try again.",
                1,
            ));
        }
    }
    let told = JsonObject::new()
        .text("session_id", claims.session)
        .object("agent", &view);
    Ok(result(&told))
}

impl ApiKeyState {
    async fn read(&self, id: ApiKeyId) -> Result<Option<ApiKey>, ApiError> {
        let read = self.callables.engine.api_key(&id).await;
        read.map_err(|_| ApiError::internal())
    }

    /// The key that a call presents, in the header or among its members.
    fn parse_presented_key(&self, headers: &HeaderMap, member: Option<&str>) -> Result<ApiKeyId, ApiError> {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let bearer = match (values.next(), values.next()) {
            (None, _) => None,
            (Some(value), None) => Some(value.to_str().ok().and_then(bearer_token).ok_or_else(api_key_invalid)?),
            (Some(_), Some(_)) => return Err(api_key_invalid()),
        };
        let text = match (bearer, member) {
            (Some(bearer), Some(member)) if bearer != member => {
                let error = "The API key in `Authorization` is another one.";
                return Err(ApiError::parameter("parameter_invalid", "apiKey", error));
            }
            (Some(text), _) | (None, Some(text)) => text,
            (None, None) => {
                let error = "This function needs an API key, in Authorization: Bearer or in `apiKey`.";
                let error = ApiError::new(StatusCode::UNAUTHORIZED, "api_key_missing", error);
                return Err(error.hint("Ask for one with POST /signup."));
            }
        };
        self.api_keys.read(text).ok_or_else(api_key_invalid)
    }
}
