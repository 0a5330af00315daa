//! Authentication: `GET /auth`, `POST /auth`, the deprecated `POST /refresh`, and the key set.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use purser_actors::answer::UserId;
use purser_actors::engine::{OperationError, UserIdCollision};
use purser_actors::entity::session::{AuthMethod, Command, Rejection, Reply, Session};
use purser_actors::id::Network;
use purser_actors::port::Timestamp;
use serde::{Deserialize, Serialize};

use super::app::App;
use super::error::{ApiError, ErrorCode, with_members, with_prebuilt_body};
use super::json;
use super::query::Query;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;
use crate::checkout::user_id_collision;
use crate::identity::challenge::SignInChallenges;
use crate::identity::credentials::Credentials;
use crate::identity::proof::{ProofVerifier, VerifiedWallet};
use crate::identity::refresh::{ParsedRefreshToken, RefreshTokenCodec};
use crate::identity::sign_in_error::SignInError;
#[cfg(feature = "documents")]
use crate::identity::token::JsonWebKeySet;
use crate::payment::header::PAYMENT_REQUIRED;

const SIGN_IN_WITH_X: &str = "sign-in-with-x";
/// A refresh that loses a race reads again. Two clients with one token family already mean a theft.
const RACES: usize = 4;

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/auth" => get_auth {
        Public, without_head(), refuses [ParameterUnrecognized, ParameterInvalid, SignInRequired]
    }
    POST "/auth" => post_auth {
        Public, unkeyed("a refresh token sent again within 30 s returns the same successor"), refuses [
            BodyMalformed, ParameterMissing, ParameterInvalid, RefreshTokenInvalid, RefreshTokenRevoked,
        ]
    }
    POST "/refresh" => post_refresh { Public, unkeyed("as `POST /auth`") }
    GET "/.well-known/jwks.json" => get_jwks { Public }
}

/// Session of a wallet that signed in.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SignInResponse {
    /// Tokens of the session.
    auth: Credentials,
    /// The wallet's address in lower case.
    user_id: UserId,
}

/// Sign in with a wallet
///
/// Free. Without a valid `SIGN-IN-WITH-X` header: 402 with a fresh challenge. Payment headers are ignored.
#[cfg_attr(feature = "documents", utoipa::path(get, path = "/auth", operation_id = "signIn", tag = "Authentication",
    params(("network" = inline(Option<schemas::NetworkName>), Query, description = "`base` (default) or `solana`: which network the challenge names first."),
        ("SIGN-IN-WITH-X" = Option<String>, Header, description = "Base64 of the signed CAIP-122 message.")),
    responses((status = 200, description = "`auth` {`id_token`, `refresh_token`, `expires_in`} and `user_id`.", body = SignInResponse),
        (status = 402, description = "A challenge in `PAYMENT-REQUIRED`; sign it and try again.", body = schemas::PaymentChallenge),
        (status = 409, description = "Another wallet has this address in lower case."))))]
async fn get_auth(
    State(state): State<Arc<App>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let first = first_network(query.as_deref())?;
    let challenge = |state: &App, first, refusal| challenge(state, &state.challenges, first, refusal);
    let signed = match signer(&headers, &state.verifier, state.clock.now()) {
        Ok(signed) => signed,
        Err(refusal) => return Ok(challenge(&state, first, refusal)),
    };
    let session = state.credentials.new_session(&signed.wallet);
    // A nonce is valid through its last second.
    let nonce = (signed.nonce.bytes, signed.nonce.expires.seconds() + 1);
    match state.engine.sign_in(signed.wallet, nonce, session).await {
        Ok(()) => {}
        Err(OperationError::AlreadyUsed) => return Ok(challenge(&state, first, Some(SignInError::NonceUsed))),
        Err(OperationError::Specific(UserIdCollision)) => return Err(user_id_collision()),
        Err(OperationError::Rejected(_) | OperationError::Unavailable) => return Err(unavailable()),
    }
    let auth = state
        .credentials
        .issue(&signed.wallet, session.id, AuthMethod::Wallet, 0);
    let user_id = signed.wallet.into();
    Ok(json::private_ok(&SignInResponse { auth, user_id }))
}

/// Which network a challenge names first.
///
/// # Errors
/// 400 for another parameter, or another network.
pub(super) fn first_network(query: Option<&str>) -> Result<Network, ApiError> {
    let query = Query::parse(query, &["network"])?;
    Ok(match query.choice("network", &["base", "solana"])? {
        "solana" => Network::Solana,
        _ => Network::Base,
    })
}

/// The wallet whose signature a request has.
///
/// # Errors
/// What the new challenge says of a signature that does not count; `None` if there is none.
pub(super) fn signer(
    headers: &HeaderMap,
    verifier: &ProofVerifier,
    now: Timestamp,
) -> Result<VerifiedWallet, Option<SignInError>> {
    let mut proofs = headers.get_all(SIGN_IN_WITH_X).iter();
    match (proofs.next(), proofs.next()) {
        (None, _) => Err(None),
        (Some(_), Some(_)) => Err(Some(SignInError::Header("sent more than once"))),
        (Some(proof), None) => verifier.check(proof.as_bytes(), now).map_err(Some),
    }
}

/// 402 with a new challenge.
pub(super) fn challenge(
    state: &App,
    challenges: &SignInChallenges,
    first: Network,
    refusal: Option<SignInError>,
) -> Response {
    let challenge = challenges.issue(first, refusal, state.clock.now(), &*state.entropy);
    let mut response = json::bytes_as_json(with_members(challenge.body.as_bytes()));
    *response.status_mut() = StatusCode::PAYMENT_REQUIRED;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(value) = HeaderValue::try_from(challenge.header) {
        headers.insert(HeaderName::from_static(PAYMENT_REQUIRED), value);
    }
    with_prebuilt_body(response)
}

/// Request of `POST /auth`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct TokenRequest {
    /// `refresh_token` is the only grant type.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::GrantType))]
    grant_type: Option<serde_json::Value>,
    /// Newest refresh token of the session.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    refresh_token: Option<serde_json::Value>,
}

/// New tokens for a refresh token.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct TokenResponse {
    #[serde(flatten)]
    auth: Credentials,
    /// The wallet's address in lower case.
    user_id: UserId,
}

/// Exchange a refresh token
///
/// Each token is valid once; store the new one. After a lost response, the request can be repeated within 30 seconds.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/auth", operation_id = "refreshTokens", tag = "Authentication", request_body = inline(TokenRequest),
    responses((status = 200, description = "`id_token`, `refresh_token`, `expires_in`, `user_id`.", body = TokenResponse),
        (status = 400, description = "`grant_type` or `refresh_token` is missing or malformed."),
        (status = 401, description = "The token is invalid, expired or revoked: sign in with `GET /auth`."))))]
async fn post_auth(State(state): State<Arc<App>>, body: Body) -> Result<Response, ApiError> {
    refresh_session(&state, body).await
}

/// Exchange a refresh token (deprecated form of `POST /auth`)
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/refresh", operation_id = "refreshTokensDeprecated", tag = "Authentication", request_body = inline(TokenRequest),
    responses((status = 200, description = "As `POST /auth`. Deprecated.", body = TokenResponse), (status = 400, description = "As `POST /auth`."),
        (status = 401, description = "As `POST /auth`."))))]
async fn post_refresh(State(state): State<Arc<App>>, body: Body) -> Result<Response, ApiError> {
    refresh_session(&state, body).await
}

/// Read the keys that verify id_tokens
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/.well-known/jwks.json", operation_id = "getJwks", tag = "Authentication",
    responses((status = 200, description = "A JWK Set (RFC 7517).", body = JsonWebKeySet))))]
async fn get_jwks(State(state): State<Arc<App>>) -> Response {
    json::bytes_as_json(state.credentials.tokens.jwks().to_owned())
}

async fn refresh_session(state: &App, body: Body) -> Result<Response, ApiError> {
    let sent: TokenRequest = state.body(body).await?;
    let text = |name: &'static str, value: Option<serde_json::Value>| match value {
        Some(serde_json::Value::String(text)) => Ok(text),
        None => Err(ApiError::parameter(
            ErrorCode::ParameterMissing,
            name,
            format!("`{name}` is missing."),
        )),
        Some(_) => Err(ApiError::parameter(
            ErrorCode::ParameterInvalid,
            name,
            format!("`{name}` must be a string."),
        )),
    };
    if text("grant_type", sent.grant_type)? != "refresh_token" {
        let error = "`grant_type` must be `refresh_token`.";
        return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "grant_type", error));
    }
    let token = text("refresh_token", sent.refresh_token)?;
    let presented = RefreshTokenCodec::parse(&token).map_err(|_| invalid())?;
    for _ in 0..RACES {
        if let Some(response) = attempt(state, &presented).await? {
            return Ok(response);
        }
    }
    Err(unavailable())
}

/// One attempt. `None` if the session changed in between.
async fn attempt(state: &App, presented: &ParsedRefreshToken) -> Result<Option<Response>, ApiError> {
    let read = state
        .engine
        .session(&presented.session)
        .await
        .map_err(|_| ApiError::internal())?;
    let session: Session = read.ok_or_else(invalid)?;
    // A forged token must not be able to revoke another account's token family.
    if !state.credentials.belongs_to(presented, &session) {
        return Err(invalid());
    }
    // Sessions of a revoked API key end here, even if their token families were not revoked yet.
    if state
        .engine
        .has_session_ended(&presented.session, &session)
        .await
        .map_err(|_| ApiError::internal())?
    {
        return Err(revoked());
    }
    let generation = session.generation.saturating_add(1);
    let next = state.credentials.refresh_hash(presented.session, generation);
    let command = Command::Refresh {
        presented: presented.hash.0,
        generation,
        next,
    };
    let generation = match state.engine.refresh(presented.session, command).await {
        Ok(Reply::Generation(generation)) => generation,
        Ok(Reply::ReuseDetected) => return Err(revoked()),
        Ok(Reply::Done) | Err(OperationError::Unavailable) => return Err(unavailable()),
        Err(OperationError::Rejected(Rejection::Stale) | OperationError::AlreadyUsed) => return Ok(None),
        Err(OperationError::Rejected(Rejection::Revoked)) => return Err(revoked()),
        Err(OperationError::Rejected(Rejection::Expired)) => return Err(invalid()),
    };
    let owner = session.owner;
    let (amr, key) = (session.amr, session.presented_key);
    let auth = state
        .credentials
        .issue_with_key(&owner, presented.session, amr, key, generation);
    let user_id = owner.into();
    Ok(Some(json::private_ok(&TokenResponse { auth, user_id })))
}

fn invalid() -> ApiError {
    ApiError::new(
        ErrorCode::RefreshTokenInvalid,
        "The refresh token is invalid or expired.",
    )
    .hint("Sign in with GET /auth.")
}

fn revoked() -> ApiError {
    ApiError::new(
        ErrorCode::RefreshTokenRevoked,
        "The refresh token's session was revoked.",
    )
    .hint("Sign in with GET /auth.")
}

fn unavailable() -> ApiError {
    ApiError::unavailable(
        ErrorCode::ServiceUnavailable,
        "The service could not answer. Try again.",
        1,
    )
}
