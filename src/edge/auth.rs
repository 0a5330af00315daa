//! Caller identity: the bearer token, verified once per request, and the client address (`forwarded.rs`).

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;
use purser_actors::entity::session::AuthMethod;
use purser_actors::id::{ApiKeyId, PasskeyId, PaymentId, SessionId, Wallet};
use purser_actors::port::{BoxFuture, Timestamp};

use super::error::{ApiError, ErrorCode};
pub use super::request_id::{RequestId, RequestIds};
use purser_protocol::payment::header::is_mpp;

/// Claims of a valid token or session cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthClaims {
    /// Account of the token, with the exact address.
    pub wallet: Wallet,
    /// Refresh-token family of the token.
    pub session: SessionId,
    /// For the session cookie: the session that created its login link.
    pub created_by: Option<SessionId>,
    /// How the session began. Tokens issued for a payment can read and write. They can't withdraw to another wallet,
    /// make keys or spend from the managed wallet. Tokens of an API key can also spend from the managed wallet.
    pub amr: AuthMethod,
    /// The API key that the session ends with: it opened the session, or its token came with the payment that did.
    pub key: Option<ApiKeyId>,
    /// When the token was issued; for the session cookie, when its session was opened.
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
    /// Whether they come from the session cookie, so a person at one of our pages sends the request.
    pub of_page: bool,
}

impl AuthClaims {
    /// Whether the account owner signed in: with the wallet, or with a passkey.
    pub fn is_signed_in(&self) -> bool {
        self.amr.is_owner()
    }

    /// Whether the owner sends the request at one of our pages. All other claims are an agent's, and end when the owner
    /// stops the agents.
    pub fn is_owner_at_page(&self) -> bool {
        self.of_page && self.is_signed_in()
    }

    /// Whether the token was issued for a payment. A hostile seller may have relayed that payment.
    pub fn is_payment_token(&self) -> bool {
        self.amr.payment().is_some()
    }

    /// Whether the token may read the secrets (number, code, PIN, link) of a product and change it. `bought_by` is the
    /// payment that bought it, or `None`. Every route that does either uses this rule. A token issued for a payment has
    /// access to the product of its own payment. With `earlier`, a setting, it has access to all products of the
    /// account.
    pub fn may_read_secrets(&self, bought_by: Option<PaymentId>, earlier: bool) -> bool {
        self.amr.payment().is_none_or(|own| earlier || bought_by == Some(own))
    }

    /// Ids under which the token or cookie may be revoked: its session, the one that created its login link, and the
    /// API key or passkey behind it.
    pub fn revocation_ids(&self) -> [Option<SessionId>; 3] {
        let key = self.key.map(ApiKeyId::session_id);
        let behind = key.or(self.amr.passkey().map(PasskeyId::session_id));
        [Some(self.session), self.created_by, behind]
    }
}

/// Why a token is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// Not issued by this service, altered, or not a token.
    Invalid,
    Expired,
    Revoked,
}

impl From<TokenError> for ApiError {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Invalid => Self::unauthorized(ErrorCode::TokenInvalid, "The token is not valid."),
            TokenError::Expired => Self::unauthorized(ErrorCode::TokenExpired, "The token has expired."),
            TokenError::Revoked => Self::unauthorized(ErrorCode::TokenRevoked, "The token was revoked."),
        }
    }
}

/// Verifies credentials. Called on every request that carries one, so implementations must be fast and never block.
pub trait Authenticator: Send + Sync {
    /// Verifies an `id_token`.
    ///
    /// # Errors
    /// [`TokenError`].
    fn authenticate(&self, token: &str) -> Result<AuthClaims, TokenError>;

    /// Verifies the session cookie in a `Cookie` header.
    ///
    /// # Errors
    /// [`TokenError`]; [`TokenError::Invalid`] also if the header has no session cookie.
    fn authenticate_session<'a>(&'a self, cookie_header: &'a str) -> BoxFuture<'a, Result<AuthClaims, TokenError>>;
}

/// Looks up frozen accounts, stopped agents and revoked sessions in the latest durable state.
pub trait AccountStatus: Send + Sync {
    /// Whether the session, or the API key behind it, was revoked.
    fn is_revoked(&self, claims: &AuthClaims) -> bool;

    /// Why the account accepts nothing from these claims, if so.
    fn refusal<'a>(&'a self, claims: &'a AuthClaims) -> BoxFuture<'a, Option<Refusal>>;
}

/// Why an account accepts nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An operator froze it, with this message.
    Frozen(String),
    /// Its owner has stopped all agents.
    AgentsStopped,
    /// Its owner has stopped all agents, or recovered the account, since the token was issued. A new token is needed.
    Ended,
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Frozen(message) => Self::frozen(message),
            Refusal::AgentsStopped => Self::agents_stopped(),
            Refusal::Ended => TokenError::Revoked.into(),
        }
    }
}

/// Rejects a frozen account, and agents that their owner has stopped. Every authenticated route calls this.
///
/// # Errors
/// 403 `account_frozen` or `agents_stopped`, 401 `token_revoked`.
pub async fn require_not_frozen(gate: &dyn AccountStatus, claims: &AuthClaims) -> Result<(), ApiError> {
    match gate.refusal(claims).await {
        Some(refusal) => Err(refusal.into()),
        None => Ok(()),
    }
}

/// Result of verifying the `Authorization: Bearer` header, stored with the request.
#[derive(Clone, Debug)]
pub enum BearerAuth {
    Absent,
    Valid(AuthClaims),
    Invalid(TokenError),
}

impl BearerAuth {
    pub fn authenticate(headers: &HeaderMap, authenticator: &dyn Authenticator) -> Self {
        // A payment credential has a field of its own beside the token.
        let mut values = headers.get_all(AUTHORIZATION).iter().filter(|value| !is_mpp(value));
        let value = match (values.next(), values.next()) {
            (None, _) => return Self::Absent,
            (Some(value), None) => value,
            (Some(_), Some(_)) => return Self::Invalid(TokenError::Invalid),
        };
        // Other schemes are ignored.
        let Some(token) = value.to_str().ok().and_then(bearer_token) else {
            return Self::Absent;
        };
        match authenticator.authenticate(token) {
            Ok(claims) => Self::Valid(claims),
            Err(error) => Self::Invalid(error),
        }
    }

    /// Returns the claims.
    ///
    /// # Errors
    /// 401 with the reason as its code.
    pub fn claims(&self) -> Result<&AuthClaims, ApiError> {
        match self {
            Self::Valid(claims) => Ok(claims),
            Self::Invalid(error) => Err((*error).into()),
            Self::Absent => Err(ApiError::unauthorized(
                ErrorCode::TokenMissing,
                "This route needs an Authorization: Bearer header.",
            )),
        }
    }
}

pub fn bearer_token(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// What the front determined about a request, stored as one request extension.
#[derive(Clone)]
pub struct RequestExtensions {
    pub bearer: BearerAuth,
    pub id: RequestId,
    pub ip: IpAddr,
}

impl RequestExtensions {
    /// Always present behind the front. A router without it answers 500.
    fn of(parts: &Parts) -> Result<&Self, ApiError> {
        parts.extensions.get().ok_or_else(ApiError::internal)
    }
}

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        RequestExtensions::of(parts).map(|asked| asked.id)
    }
}

/// Extractor: the client's address behind trusted proxies, for routes with limits of their own.
#[derive(Clone, Copy, Debug)]
pub struct ClientIp(pub IpAddr);

impl<S: Sync> FromRequestParts<S> for ClientIp {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        RequestExtensions::of(parts).map(|asked| Self(asked.ip))
    }
}

/// Extractor for handlers that need a valid token. Rejects with 401.
#[derive(Clone, Debug)]
pub struct Authenticated(pub AuthClaims);

impl<S: Sync> FromRequestParts<S> for Authenticated {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        RequestExtensions::of(parts)?.bearer.claims().cloned().map(Self)
    }
}

/// Extractor for routes where a token is optional.
#[derive(Clone, Debug)]
pub struct MaybeBearer(pub BearerAuth);

impl<S: Sync> FromRequestParts<S> for MaybeBearer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        RequestExtensions::of(parts).map(|asked| Self(asked.bearer.clone()))
    }
}
