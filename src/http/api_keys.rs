//! API keys: `createAgentApiKey`, `listAgentApiKeys`, `revokeAgentApiKey`. `agentAuth` exchanges a key for tokens, and
//! `announceAgentConnection` names the agent that uses a token.
//!
//! A key's tokens can read and buy like any token. They can also spend from the managed wallet, because that is what
//! keys are for and the owner sets its caps. Everything else that needs the owner is rejected: withdrawals to another
//! wallet, bank transfers, new keys and identity changes. The owner sets no agent caps for those.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, header};
use purser_actors::answer::UserId;
use purser_actors::engine::OperationError;
use purser_actors::entity::api_key::{ApiKey, MAX_NAME_LEN, Rejection};
use purser_actors::entity::session::{AgentInfo, AuthMethod};
use purser_actors::id::{ApiKeyId, SessionId};
use purser_actors::kernel::{Entity as _, JsonObject};
use serde::{Deserialize, Serialize};

use super::account::BearerClaims;
use super::agent_wallet::text;
use super::app::App;
use super::auth::{AuthClaims, TokenError, bearer_token};
use super::callable::{require_sign_in, result};
use super::error::{ApiError, ErrorCode};
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;
use crate::identity::api_key::ApiKeyCodec;

type SharedState = State<Arc<App>>;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/createAgentApiKey" => create_agent_api_key {
        Callable, unkeyed("a key is shown once and not stored, so no response could be replayed; revoke one whose response was lost"), confirmed(), refuses [
            TokenMissing, ParameterUnrecognized, ParameterInvalid, UserIdMismatch, AccountFrozen, SignInRequired,
            ApiKeyLimitReached,
        ]
    }
    POST "/listAgentApiKeys" => list_agent_api_keys {
        Callable, unkeyed("reads"), refuses [TokenMissing, ParameterUnrecognized, UserIdMismatch, AccountFrozen]
    }
    POST "/revokeAgentApiKey" => revoke_agent_api_key {
        Callable, unkeyed("revoking again changes nothing"), refuses [
            TokenMissing, ParameterMissing, UserIdMismatch, AccountFrozen, ApiKeyNotFound, ApiKeyAccessDenied,
            SignInRequired,
        ]
    }
    POST "/agentAuth" => agent_auth {
        Callable, unkeyed("returns new tokens; earlier ones stay valid"), refuses [
            ParameterUnrecognized, ApiKeyMissing, ParameterInvalid, ApiKeyInvalid, UserIdMismatch, ApiKeyRevoked,
        ]
    }
    POST "/announceAgentConnection" => announce_agent_connection {
        Callable, unkeyed("records that the agent is connected"), refuses [
            TokenMissing, ParameterUnrecognized, ParameterInvalid, UserIdMismatch, AccountFrozen,
        ]
    }
}

/// Maps a rejection of the engine to an error.
pub(super) fn map_error(denied: &OperationError<Rejection>) -> ApiError {
    match denied {
        OperationError::Rejected(Rejection::NotFound) => unknown(),
        OperationError::Rejected(Rejection::Revoked) => revoked(),
        OperationError::Rejected(Rejection::Suspended) => {
            let error = "The service was restored from a backup, and it is not known whether this API key was revoked.";
            ApiError::new(ErrorCode::ApiKeySuspended, error)
                .hint("Make another with POST /createAgentApiKey, or ask the operator to confirm this one.")
        }
        OperationError::Rejected(Rejection::AgentsStopped) => ApiError::agents_stopped(),
        OperationError::Rejected(Rejection::LimitReached) => {
            let error = "The account has as many API keys as it can have.";
            ApiError::new(ErrorCode::ApiKeyLimitReached, error).hint("Revoke an unused API key first.")
        }
        OperationError::Specific(never) => match *never {},
        OperationError::Rejected(Rejection::AlreadyClaimed)
        | OperationError::AlreadyUsed
        | OperationError::Unavailable => ApiError::unavailable(
            ErrorCode::ServiceUnavailable,
            "That could not be done now. Try again.",
            1,
        ),
    }
}

fn unknown() -> ApiError {
    ApiError::new(ErrorCode::ApiKeyNotFound, "There is no such API key.")
}

fn revoked() -> ApiError {
    ApiError::new(ErrorCode::ApiKeyRevoked, "The API key was revoked.").hint("Ask for a new one with POST /signup.")
}

/// Renders a key for lists: its name, its status, and the beginning and end of its text.
pub(super) fn render(api_keys: &ApiKeyCodec, id: ApiKeyId, key: &ApiKey) -> JsonObject {
    let (prefix, last4) = api_keys.hints(id);
    JsonObject::of(&key.view(&id))
        .text("prefix", prefix)
        .text("last4", last4)
}

/// Request of `createAgentApiKey`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct CreateApiKeyRequest {
    /// Name of the key: 1 to 80 readable characters.
    name: String,
}

/// A new API key.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct CreateApiKeyResult {
    /// Text of the key, shown only in this response.
    api_key: String,
    /// The key as lists show it.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::ApiKey))]
    key: JsonObject,
}

/// Create an API key for an agent
///
/// Needs the token of a wallet that signed in. `apiKey` is shown only in this response. If the response is lost, revoke
/// the key and create another.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/createAgentApiKey", operation_id = "createAgentApiKey", tag = "API keys", security(("bearer" = [])), request_body = inline(CreateApiKeyRequest),
    responses((status = 200, description = "`apiKey`, and `key` as lists show it.", body = CreateApiKeyResult),
        (status = 400, description = "No name, or one that it cannot have."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, frozen, or a token issued for a payment or an API key."),
        (status = 409, description = "The account has as many keys as it can have."), (status = 503, description = "Not now."))))]
async fn create_agent_api_key(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = state.read_call::<CreateApiKeyRequest>(body).await?;
    let name = text("name", &call.data.name, MAX_NAME_LEN)?;
    state.admit(&claims, &call).await?;
    require_sign_in(&claims)?;
    let id = ApiKeyId::mint(claims.wallet.shard(), state.entropy.random());
    let made = state
        .engine
        .issue_api_key(id, claims.wallet, &name, state.config.signup.max_keys_per_account)
        .await;
    made.map_err(|denied| map_error(&denied))?;
    let key = state.read_api_key(id).await?.ok_or_else(ApiError::internal)?;
    Ok(result(&CreateApiKeyResult {
        api_key: state.api_keys.text(id).expose().to_owned(),
        key: render(&state.api_keys, id, &key),
    }))
}

/// Request without members.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct EmptyRequest {}

/// API keys of an account.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ListApiKeysResult {
    /// Active keys, oldest first.
    #[cfg_attr(feature = "documents", schema(value_type = Vec<schemas::ApiKey>))]
    keys: Vec<JsonObject>,
}

/// List the API keys of the account
///
/// Active keys, oldest first, each with the beginning and the last four characters of its text. A token of a key sees that
/// key, a token issued for a payment none.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/listAgentApiKeys", operation_id = "listAgentApiKeys", tag = "API keys", security(("bearer" = [])), request_body = inline(EmptyRequest),
    responses((status = 200, description = "`keys`.", body = ListApiKeysResult),
        (status = 400, description = "A member that it does not take."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."))))]
async fn list_agent_api_keys(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = state.read_call::<EmptyRequest>(body).await?;
    state.admit(&claims, &call).await?;
    let keys = state.engine.api_keys_of(&claims.wallet).await;
    let keys = keys.map_err(|_| ApiError::internal())?;
    let keys = keys
        .iter()
        .filter(|(id, _)| claims.amr.is_owner() || claims.amr.key() == Some(*id))
        .map(|(id, key)| render(&state.api_keys, *id, key));
    Ok(result(&ListApiKeysResult { keys: keys.collect() }))
}

/// Request of `revokeAgentApiKey`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RevokeApiKeyRequest {
    /// Id from `listAgentApiKeys`.
    api_key_id: String,
}

/// An API key.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ApiKeyResult {
    /// The key as lists show it.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::ApiKey))]
    key: JsonObject,
}

/// Revoke an API key
///
/// Its tokens get 401 at once, and its streams are closed. Needs the token of a wallet that signed in, or a token of
/// the key itself. Revoking again changes nothing.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/revokeAgentApiKey", operation_id = "revokeAgentApiKey", tag = "API keys", security(("bearer" = [])), request_body = inline(RevokeApiKeyRequest),
    responses((status = 200, description = "`key`, whose `status` is `revoked`.", body = ApiKeyResult),
        (status = 400, description = "A member that it does not take."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId` or key, frozen, or a token that may not."),
        (status = 404, description = "No such key."), (status = 503, description = "Not now."))))]
async fn revoke_agent_api_key(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = state.read_call::<RevokeApiKeyRequest>(body).await?;
    state.admit(&claims, &call).await?;
    let id: ApiKeyId = call.data.api_key_id.parse().map_err(|_| unknown())?;
    let key = state.read_api_key(id).await?.ok_or_else(unknown)?;
    authorize_owner(&claims, &key)?;
    if claims.amr != AuthMethod::Key(id) {
        require_sign_in(&claims)?;
    }
    let done = state.engine.revoke_api_key(id).await;
    done.map_err(|denied| map_error(&denied))?;
    let key = state.read_api_key(id).await?.ok_or_else(ApiError::internal)?;
    let key = render(&state.api_keys, id, &key);
    Ok(result(&ApiKeyResult { key }))
}

/// Checks that the key belongs to the caller.
///
/// # Errors
/// 403 `api_key_access_denied`.
pub(super) fn authorize_owner(claims: &AuthClaims, key: &ApiKey) -> Result<(), ApiError> {
    if key.owner == claims.wallet {
        return Ok(());
    }
    let error = "This API key belongs to another wallet.";
    Err(ApiError::new(ErrorCode::ApiKeyAccessDenied, error))
}

/// Request of `agentAuth`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ExchangeApiKeyRequest {
    /// API key, if it is not in the `Authorization` header.
    api_key: Option<String>,
}

/// Tokens for an API key.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct AgentAuthResult {
    /// Token for `Authorization: Bearer`.
    id_token: String,
    /// Token for `POST /auth`.
    refresh_token: String,
    /// Lifetime of `idToken` in seconds, as text.
    expires_in: String,
    /// Account that the tokens belong to.
    user_id: UserId,
    /// API key that was exchanged.
    api_key_id: ApiKeyId,
}

/// Exchange an API key for tokens
///
/// Send the key in `Authorization: Bearer` or in `data.apiKey`. The tokens are those of `POST /auth`, and the refresh
/// token is exchanged there. Works while the account is frozen, like any sign-in.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/agentAuth", operation_id = "agentAuth", tag = "API keys", security(("api_key" = []), ()), request_body = inline(ExchangeApiKeyRequest),
    responses((status = 200, description = "`idToken`, `refreshToken`, `expiresIn`, `userId`, `apiKeyId`.", body = AgentAuthResult),
        (status = 400, description = "A member that it does not take, or two keys that differ."),
        (status = 401, description = "The key is missing, invalid or revoked."),
        (status = 403, description = "Another account's `userId`."), (status = 503, description = "Not now."))))]
async fn agent_auth(State(state): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let call = state.read_call::<ExchangeApiKeyRequest>(body).await?;
    let id = state.parse_presented_key(&headers, call.data.api_key.as_deref())?;
    // A key that its owner never approved is invalid, like an invented one.
    let key = state.read_api_key(id).await?.ok_or_else(api_key_invalid)?;
    call.of(&key.owner)?;
    let session = state.credentials.new_session(&key.owner);
    let done = state.engine.exchange_api_key(id, session).await;
    done.map_err(|denied| map_error(&denied))?;
    let tokens = state.credentials.issue(&key.owner, session.id, AuthMethod::Key(id), 0);
    Ok(result(&AgentAuthResult {
        id_token: tokens.id_token,
        refresh_token: tokens.refresh_token,
        expires_in: tokens.expires_in,
        user_id: key.owner.into(),
        api_key_id: id,
    }))
}

fn api_key_invalid() -> ApiError {
    ApiError::new(ErrorCode::ApiKeyInvalid, "The API key is not valid.").hint("Ask for one with POST /signup.")
}

/// Request of `announceAgentConnection`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct AnnounceAgentRequest {
    /// Name of the agent: 1 to 80 readable characters.
    name: String,
    /// Program that runs the agent: 1 to 80 readable characters.
    client: Option<String>,
    /// Version of that program: 1 to 40 readable characters.
    version: Option<String>,
}

/// An announced agent.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct AnnounceAgentResult {
    /// Session of the token.
    session_id: SessionId,
    /// Details of the agent.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::AgentInfo))]
    agent: JsonObject,
}

/// Name the agent that uses this token
///
/// The agent's own claim, which the service does not verify. The account page and the stream show it with the session
/// (`session.agent_announced`).
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/announceAgentConnection", operation_id = "announceAgentConnection", tag = "API keys", security(("bearer" = [])), request_body = inline(AnnounceAgentRequest),
    responses((status = 200, description = "`sessionId`, and `agent` as it was understood.", body = AnnounceAgentResult),
        (status = 400, description = "A text that it cannot have."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."), (status = 503, description = "Not now."))))]
async fn announce_agent_connection(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = state.read_call::<AnnounceAgentRequest>(body).await?;
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
    state.admit(&claims, &call).await?;
    let response = AnnounceAgentResult {
        session_id: claims.session,
        agent: JsonObject::of(&agent.view()),
    };
    match state.engine.announce_agent(claims.session, agent).await {
        Ok(_) => {}
        Err(OperationError::Rejected(_)) => return Err(TokenError::Revoked.into()),
        Err(_) => {
            return Err(ApiError::unavailable(
                ErrorCode::ServiceUnavailable,
                "That could not be done now. Try again.",
                1,
            ));
        }
    }
    Ok(result(&response))
}

impl App {
    async fn read_api_key(&self, id: ApiKeyId) -> Result<Option<ApiKey>, ApiError> {
        let read = self.engine.api_key(&id).await;
        read.map_err(|_| ApiError::internal())
    }

    /// The key from the header or from the member.
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
                return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "apiKey", error));
            }
            (Some(text), _) | (None, Some(text)) => text,
            (None, None) => {
                let error = "This function needs an API key, in Authorization: Bearer or in `apiKey`.";
                let error = ApiError::new(ErrorCode::ApiKeyMissing, error);
                return Err(error.hint("Ask for one with POST /signup."));
            }
        };
        self.api_keys.read(text).ok_or_else(api_key_invalid)
    }
}
