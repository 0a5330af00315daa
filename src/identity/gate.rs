//! Judges tokens and cookies on the hot path: signature and time from the token, revocation from memory.
//!
//! The set of revoked sessions is read at the start and follows the journal: a revocation is in it before anybody is
//! told that it happened.

use std::sync::Arc;

use dashmap::DashSet;
use purser_actors::id::SessionId;
use purser_actors::kernel::Kind;
use purser_actors::kernel::record::Record;
use purser_actors::port::Clock;
use purser_storage::{EventSink, StoredEvent};

use super::login::SessionCookies;
use super::token::{SignInMethod, TokenError as JwtError, Tokens};
use crate::http::caller::{Authenticator, Claims, TokenError};

/// See the module.
pub struct Gate {
    tokens: Arc<Tokens>,
    cookies: SessionCookies,
    clock: Arc<dyn Clock>,
    revoked: DashSet<SessionId>,
    sessions: Arc<dyn Sessions>,
}

/// Whose a session is: what a cookie does not say.
pub trait Sessions: Send + Sync {
    /// The claims of a live session.
    fn claims(&self, session: SessionId) -> Option<Claims>;
}

impl Gate {
    /// With the sessions that are revoked already.
    pub fn new(
        tokens: Arc<Tokens>,
        cookies: SessionCookies,
        clock: Arc<dyn Clock>,
        sessions: Arc<dyn Sessions>,
        revoked: impl IntoIterator<Item = SessionId>,
    ) -> Self {
        Self { tokens, cookies, clock, revoked: revoked.into_iter().collect(), sessions }
    }

    fn alive(&self, claims: Claims) -> Result<Claims, TokenError> {
        if self.revoked.contains(&claims.session) { Err(TokenError::Revoked) } else { Ok(claims) }
    }
}

impl Authenticator for Gate {
    fn authenticate(&self, token: &str) -> Result<Claims, TokenError> {
        let claims = self.tokens.verify(token, self.clock.now()).map_err(|error| match error {
            JwtError::Expired => TokenError::Expired,
            _ => TokenError::Invalid,
        })?;
        self.alive(Claims {
            wallet: claims.wallet,
            session: claims.session,
            by_payment: claims.method == SignInMethod::Payment,
            expires_at: claims.expires,
        })
    }

    fn authenticate_session(&self, cookie: &str) -> Result<Claims, TokenError> {
        let session = self.cookies.read(cookie, self.clock.now()).ok_or(TokenError::Invalid)?;
        self.alive(self.sessions.claims(session).ok_or(TokenError::Invalid)?)
    }
}

impl EventSink for Gate {
    fn publish(&self, events: &[StoredEvent]) {
        for event in events {
            if let Ok(record) = Record::read(&event.payload)
                && record.kind == Kind::Session as u8
                && record.status == "revoked"
                && let Ok(id) = <[u8; 16]>::try_from(record.id.as_slice())
            {
                self.revoked.insert(SessionId(u128::from_be_bytes(id)));
            }
        }
    }
}
