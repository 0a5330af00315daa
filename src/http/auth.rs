//! Who is calling: the bearer token, judged once a request, and the address (`forwarded.rs`).

use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::FromRequestParts;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use purser_actors::id::{ApiKeyId, PaymentId, SessionId, Wallet};
use purser_actors::port::{BoxFuture, Entropy, Timestamp};
use purser_actors::session::AuthMethod;
use serde::{Serialize, Serializer};

use super::error::ApiError;
use crate::payment::header::is_mpp;

/// What a good token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthClaims {
    /// Whose: the exact address.
    pub wallet: Wallet,
    /// The refresh-token family it belongs to.
    pub session: SessionId,
    /// How the session began: what was born of a payment reads and writes, but does not withdraw elsewhere, make keys or
    /// spend; an API key's spends from the managed wallet besides.
    pub amr: AuthMethod,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl AuthClaims {
    /// The wallet itself signed in.
    pub fn is_signed_in(&self) -> bool {
        self.amr == AuthMethod::Wallet
    }

    /// It was born of a payment, which a hostile seller may have relayed.
    pub fn is_payment_token(&self) -> bool {
        self.amr.payment().is_some()
    }

    /// Whether it is shown the secrets (number, code, PIN, link) of what this payment bought, and may change it; `None` is what no
    /// payment did. The one rule of every route that does either: a token issued for a payment reads and steers what its own
    /// payment bought, and with `earlier`, which is a setting, all that its account has.
    pub fn may_read_secrets(&self, bought_by: Option<PaymentId>, earlier: bool) -> bool {
        self.amr.payment().is_none_or(|own| earlier || bought_by == Some(own))
    }

    /// Whether it may change what this session has registered: a token issued for a payment changes what its own has.
    pub fn may_change_of(&self, session: SessionId) -> bool {
        !self.is_payment_token() || session == self.session
    }

    /// The names under which it may be revoked: its session's, and that of the API key behind it.
    pub fn revocation_ids(&self) -> [Option<SessionId>; 2] {
        [Some(self.session), self.amr.key().map(ApiKeyId::session_id)]
    }
}

/// Why a token is not good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// Not ours, or altered, or not a token at all.
    Invalid,
    /// Its time is over.
    Expired,
    /// Its session was revoked.
    Revoked,
}

impl From<TokenError> for ApiError {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Invalid => Self::unauthorized("token_invalid", "The token is not one of ours."),
            TokenError::Expired => Self::unauthorized("token_expired", "The token has expired."),
            TokenError::Revoked => Self::unauthorized("token_revoked", "The token was revoked."),
        }
    }
}

/// Judges credentials. Called on every request that carries one, so it must be quick and must not block.
pub trait Authenticator: Send + Sync {
    /// An `id_token`.
    ///
    /// # Errors
    /// [`TokenError`].
    fn authenticate(&self, token: &str) -> Result<AuthClaims, TokenError>;

    /// A `Cookie` header that may hold our session cookie.
    ///
    /// # Errors
    /// [`TokenError`]; [`TokenError::Invalid`] also when our cookie is not in it.
    fn authenticate_session<'a>(&'a self, cookie_header: &'a str) -> BoxFuture<'a, Result<AuthClaims, TokenError>>;
}

/// Knows which accounts are frozen. Reads the latest durable state.
pub trait AccountStatus: Send + Sync {
    /// Whether its session was revoked, or the API key behind it.
    fn is_revoked(&self, claims: &AuthClaims) -> bool;

    /// The operator's message, if the account is frozen.
    fn frozen_message(&self, wallet: Wallet) -> BoxFuture<'_, Option<String>>;
}

/// 403 with `frozen_message` when the claims' account is frozen; every authenticated route asks this.
///
/// # Errors
/// 403 `account_frozen`.
pub async fn require_not_frozen(gate: &dyn AccountStatus, claims: &AuthClaims) -> Result<(), ApiError> {
    match gate.frozen_message(claims.wallet).await {
        Some(message) => Err(ApiError::frozen(message)),
        None => Ok(()),
    }
}

/// The front's verdict on the `Authorization: Bearer` header, kept with the request.
#[derive(Clone, Debug)]
pub enum BearerAuth {
    /// There is none.
    Absent,
    /// A good one.
    Valid(AuthClaims),
    /// A bad one.
    Invalid(TokenError),
}

impl BearerAuth {
    pub(super) fn authenticate(headers: &HeaderMap, authenticator: &dyn Authenticator) -> Self {
        // A payment credential stands in a field of its own beside the token.
        let mut values = headers.get_all(AUTHORIZATION).iter().filter(|value| !is_mpp(value));
        let value = match (values.next(), values.next()) {
            (None, _) => return Self::Absent,
            (Some(value), None) => value,
            (Some(_), Some(_)) => return Self::Invalid(TokenError::Invalid),
        };
        // Other schemes are not ours.
        let Some(token) = value.to_str().ok().and_then(bearer_token) else {
            return Self::Absent;
        };
        match authenticator.authenticate(token) {
            Ok(claims) => Self::Valid(claims),
            Err(error) => Self::Invalid(error),
        }
    }

    /// The claims, or the 401.
    ///
    /// # Errors
    /// 401 with the reason in its code.
    pub fn claims(&self) -> Result<&AuthClaims, ApiError> {
        match self {
            Self::Valid(claims) => Ok(claims),
            Self::Invalid(error) => Err((*error).into()),
            Self::Absent => Err(ApiError::unauthorized(
                "token_missing",
                "This route needs an Authorization: Bearer header.",
            )),
        }
    }
}

pub(super) fn bearer_token(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// What the front found out about a request: one entry among its extensions.
#[derive(Clone)]
pub(super) struct RequestExtensions {
    pub(super) bearer: BearerAuth,
    pub(super) id: RequestId,
    pub(super) ip: IpAddr,
}

impl RequestExtensions {
    /// Always there behind the front; a router without it answers 500.
    fn of(parts: &Parts) -> Result<&Self, ApiError> {
        parts.extensions.get().ok_or_else(ApiError::internal)
    }
}

/// Id of the request, for the engine and for log lines that outlive it. A number until somebody needs the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(pub u128);

impl RequestId {
    fn text(self) -> [u8; 36] {
        let mut text = *b"req_00000000000000000000000000000000";
        for (place, byte) in text[4..].chunks_exact_mut(2).zip(self.0.to_be_bytes()) {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            place[0] = DIGITS[usize::from(byte >> 4)];
            place[1] = DIGITS[usize::from(byte & 15)];
        }
        text
    }

    pub(super) fn header(self) -> HeaderValue {
        HeaderValue::from_bytes(&self.text()).unwrap_or(HeaderValue::from_static("req_unknown"))
    }
}

/// Request ids: unique in the process and across restarts, not secret, and no system call each.
pub(super) struct RequestIds {
    base: u128,
    next: AtomicU64,
}

impl RequestIds {
    pub(super) fn new(entropy: &dyn Entropy) -> Self {
        Self {
            base: entropy.random(),
            next: AtomicU64::new(0),
        }
    }

    pub(super) fn next(&self) -> RequestId {
        let n = u128::from(self.next.fetch_add(1, Ordering::Relaxed));
        // Multiplying by an odd number is a bijection: no two counters give the same id.
        RequestId(
            self.base
                .wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)),
        )
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.text()).unwrap_or("req_unknown"))
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        RequestExtensions::of(parts).map(|asked| asked.id)
    }
}

/// The client's address behind trusted proxies, for routes with limits of their own.
#[derive(Clone, Copy, Debug)]
pub struct ClientIp(pub IpAddr);

impl<S: Sync> FromRequestParts<S> for ClientIp {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        RequestExtensions::of(parts).map(|asked| Self(asked.ip))
    }
}

/// Handlers that need a good token take this; without one the answer is 401.
#[derive(Clone, Debug)]
pub struct Authenticated(pub AuthClaims);

impl<S: Sync> FromRequestParts<S> for Authenticated {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        RequestExtensions::of(parts)?.bearer.claims().cloned().map(Self)
    }
}

/// For routes where a token is welcome and not needed.
#[derive(Clone, Debug)]
pub struct MaybeBearer(pub BearerAuth);

impl<S: Sync> FromRequestParts<S> for MaybeBearer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        RequestExtensions::of(parts).map(|asked| Self(asked.bearer.clone()))
    }
}
