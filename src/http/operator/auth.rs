//! Operator authentication: tokens of the settings and of the store, both stored as hashes only, and the sessions of the
//! desk. A session stands for the token that vouched for it: it has that token's name and role, and ends with it.

use http::header::{AUTHORIZATION, COOKIE, HOST};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use purser_actors::engine::Engine;
use purser_actors::id;
use purser_actors::kernel::request_context::{self, OperatorAccess};
use purser_actors::operator::{OperatorAction, OperatorSession, Permission, Role};
use purser_actors::port::{Clock, Timestamp};
use std::sync::Arc;

use crate::config::OperatorTokenConfig;
use crate::http::auth::RequestId;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::page_address::PageAddress;
use crate::http::page_session::require_own_page;
use crate::http::routes;
use crate::identity::IdentityKeys;
use crate::identity::operator_token::{hash_of, session_hash};
use crate::identity::origin::Origin;
use crate::identity::passkey::site::PasskeySite;

/// Name of the session cookie. The operator address is on this machine, so it has no TLS.
pub(super) const COOKIE_NAME: &str = "purser-desk";

/// Verifies operator tokens and sessions.
pub struct OperatorAuth {
    engine: Engine,
    configured: Vec<OperatorTokenConfig>,
    clock: Arc<dyn Clock>,
    keys: IdentityKeys,
    /// Older challenges are rejected.
    challenges_from: Timestamp,
    /// Whether the desk's port at `localhost` is the desk's.
    owns_localhost: bool,
}

/// Who asks.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) act: OperatorAction,
    /// Hash of the token that they have, or that vouched for their session.
    pub(super) token: [u8; 32],
    /// The session, with the hash of its cookie. `None` for a token.
    pub(super) session: Option<([u8; 32], OperatorSession)>,
}

/// What decides whether a request is admitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdmissionRequest<'a> {
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) headers: &'a HeaderMap,
}

impl<'a> From<&'a Parts> for AdmissionRequest<'a> {
    fn from(parts: &'a Parts) -> Self {
        Self {
            method: &parts.method,
            path: parts.uri.path(),
            headers: &parts.headers,
        }
    }
}

impl OperatorAuth {
    /// Accepts the settings' tokens and the store's.
    pub const fn new(
        engine: Engine,
        configured: Vec<OperatorTokenConfig>,
        clock: Arc<dyn Clock>,
        keys: IdentityKeys,
        challenges_from: Timestamp,
    ) -> Self {
        Self {
            engine,
            configured,
            clock,
            keys,
            challenges_from,
            owns_localhost: true,
        }
    }

    /// For a desk whose port at `localhost` another program may have.
    #[must_use]
    pub fn at_localhost(self, owns_localhost: bool) -> Self {
        Self { owns_localhost, ..self }
    }

    /// Whether a token of the settings has this name.
    pub fn is_configured(&self, name: &str) -> bool {
        self.configured.iter().any(|token| token.name == name)
    }

    /// The tokens of the settings.
    pub fn configured(&self) -> impl Iterator<Item = (&str, Role)> {
        self.configured.iter().map(|token| (token.name.as_str(), token.role))
    }

    /// Verifies the token or session of a request, that its role has the permission, and that a session has confirmed
    /// what its route requires.
    ///
    /// # Errors
    /// 401 `token_missing` or `token_invalid`, 403 `origin_not_allowed` for another page, 403 `passkey_required` for a
    /// session that must add one first, 403 `role_not_permitted`, 403 `confirmation_required`, 500 when storage fails.
    pub(super) async fn authenticate(
        &self,
        asked: AdmissionRequest<'_>,
        request: RequestId,
        task: Permission,
    ) -> Result<OperatorAction, ApiError> {
        let caller = self.caller(asked, request).await?;
        if let Some((_, session)) = &caller.session {
            self.require_passkey(&caller, session).await?;
        }
        let role = caller.act.role;
        if !role.allows(task) {
            let error = format!("The role {role} is not trusted with this.");
            return Err(ApiError::new(ErrorCode::RoleNotPermitted, error));
        }
        if let Some((_, session)) = &caller.session {
            let method = match *asked.method {
                Method::HEAD => "GET",
                ref method => method.as_str(),
            };
            let mut rows = routes::operator().filter(|route| route.method == method && route.path == asked.path);
            if rows.any(|route| route.confirmed != crate::http::route::Confirmed::Nothing) {
                self.require_confirmed(session)?;
            }
        }
        Ok(caller.act)
    }

    /// A session that a token opened may only add the operator's first passkey.
    async fn require_passkey(&self, caller: &Caller, session: &OperatorSession) -> Result<(), ApiError> {
        if session.passkey.is_some() || self.has_passkeys(&caller.token).await? {
            return Ok(());
        }
        let error = "This session was opened with a token: add a passkey first.";
        Err(ApiError::new(ErrorCode::PasskeyRequired, error)
            .hint("POST /desk/passkeys/options, then POST /desk/passkeys. Commands with the token need none."))
    }

    pub(super) async fn has_passkeys(&self, token: &[u8; 32]) -> Result<bool, ApiError> {
        let own = self.engine.operator_passkeys(token).await;
        Ok(!own.map_err(|_| ApiError::internal())?.is_empty())
    }

    /// Requires that a passkey has confirmed in this session within five minutes.
    ///
    /// # Errors
    /// 403 `confirmation_required`.
    pub(super) fn require_confirmed(&self, session: &OperatorSession) -> Result<(), ApiError> {
        if session.confirmed_until(self.clock.now()).is_some() {
            return Ok(());
        }
        let error = "This needs a confirmation by your passkey.";
        Err(ApiError::new(ErrorCode::ConfirmationRequired, error)
            .reason("passkey")
            .hint("POST /desk/confirm/options, then POST /desk/confirm, then send the request again."))
    }

    /// Verifies the token or session of a request. A header with a token wins over the cookie.
    ///
    /// # Errors
    /// 401 `token_missing` or `token_invalid`, 403 `origin_not_allowed`, 500 when storage fails.
    pub(super) async fn caller(&self, asked: AdmissionRequest<'_>, request: RequestId) -> Result<Caller, ApiError> {
        let mut sent = asked.headers.get_all(AUTHORIZATION).iter();
        let cookie = cookie_of(asked.headers);
        let (token, session) = match (sent.next(), sent.next(), cookie) {
            (Some(value), None, _) => {
                let token = value.to_str().ok().and_then(bearer);
                let token =
                    token.ok_or_else(|| unauthorized(ErrorCode::TokenInvalid, "This is no operator's token."))?;
                (hash_of(token), None)
            }
            (None, None, Some(cookie)) => {
                require_own_page(asked.method, asked.headers, &[&origin_of(asked.headers)?])?;
                let ended = || unauthorized(ErrorCode::TokenInvalid, "The session has ended.");
                let hash = session_hash(cookie).ok_or_else(ended)?;
                let session = self.engine.operator_session(&hash).await;
                let session = session.map_err(|_| ApiError::internal())?.ok_or_else(ended)?;
                (session.token, Some((hash, session)))
            }
            _ => {
                let text = "This route needs one Authorization: Bearer header with an operator's token, or the desk's session.";
                return Err(unauthorized(ErrorCode::TokenMissing, text));
            }
        };
        let Some((by, role)) = self.find(&token).await? else {
            return Err(unauthorized(ErrorCode::TokenInvalid, "This is no operator's token."));
        };
        let act = OperatorAction {
            operator: by,
            role,
            request_id: id::RequestId(request.0),
        };
        request_context::rely_on_operator(OperatorAccess {
            token,
            session: session.as_ref().map(|(cookie, _)| *cookie),
        });
        Ok(Caller { act, token, session })
    }

    /// Name and role of the valid token with this hash.
    ///
    /// # Errors
    /// 500 when storage fails.
    pub(super) async fn find(&self, hash: &[u8; 32]) -> Result<Option<(String, Role)>, ApiError> {
        let mut found = None;
        // Compares all tokens in constant time, so that the duration reveals nothing.
        for known in &self.configured {
            if constant_time_eq(&known.sha256, hash) {
                found = Some((known.name.clone(), known.role));
            }
        }
        // Found by its hash, which a caller can't choose, so the duration reveals nothing about a token.
        let stored = self
            .engine
            .operator_token(hash)
            .await
            .map_err(|_| ApiError::internal())?;
        let mut stored = stored.filter(|token| !token.revoked);
        if let Some(token) = &stored {
            let suspended = self.engine.is_token_suspended(hash, token.created_at).await;
            if suspended.map_err(|_| ApiError::internal())? {
                stored = None;
            }
        }
        Ok(found.or(stored.map(|token| (token.name, token.role))))
    }

    /// Passkeys at the address under which this request reached the desk.
    ///
    /// # Errors
    /// 403 `host_not_allowed` for a `Host` that is no address.
    pub(super) fn site(&self, headers: &HeaderMap) -> Result<PasskeySite, ApiError> {
        let origin = own_origin(headers)?;
        Ok(PasskeySite::new(&origin, &self.keys, self.challenges_from))
    }

    /// Where the desk's pages are for the browser that sent this request.
    ///
    /// # Errors
    /// 403 `host_not_allowed` for a `Host` that is no address.
    pub(in crate::http) fn pages(&self, headers: &HeaderMap) -> Result<PageAddress, ApiError> {
        Ok(PageAddress::new(own_origin(headers)?, self.owns_localhost))
    }
}

fn no_address() -> ApiError {
    ApiError::new(
        ErrorCode::HostNotAllowed,
        "This address is called by its number, or as localhost.",
    )
}

/// Origin of the desk's own pages. The front accepts no `Host` but an address or `localhost`, so no other site's name can
/// lead here, through whatever port a tunnel has.
pub(super) fn origin_of(headers: &HeaderMap) -> Result<String, ApiError> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    host.map(|host| format!("http://{}", host.to_ascii_lowercase()))
        .ok_or_else(no_address)
}

fn own_origin(headers: &HeaderMap) -> Result<Origin, ApiError> {
    Origin::parse(&origin_of(headers)?).map_err(|_| no_address())
}

/// Value of the session cookie, if it is there once: of two, one was planted.
fn cookie_of(headers: &HeaderMap) -> Option<&str> {
    let sent = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = sent.flat_map(|value| value.split(';'));
    let mut own = pairs
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(name, _)| *name == COOKIE_NAME);
    let first = own.next().map(|(_, value)| value)?;
    own.next().is_none().then_some(first)
}

/// `Set-Cookie` of a session, or of its end.
pub(super) fn set_cookie(value: &str, max_age_s: u64) -> Result<HeaderValue, ApiError> {
    let cookie = format!("{COOKIE_NAME}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={max_age_s}");
    HeaderValue::from_str(&cookie).map_err(|_| ApiError::internal())
}

fn constant_time_eq(one: &[u8; 32], other: &[u8; 32]) -> bool {
    let differs = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(differs) == 0
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn unauthorized(code: ErrorCode, error: &'static str) -> ApiError {
    ApiError::unauthorized(code, error)
        .hint("`purser admin tokens create` makes one; `[operator] tokens` lists others.")
}
