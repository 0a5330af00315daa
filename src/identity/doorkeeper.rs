//! Judges tokens and cookies on the hot path: signature and time from the token, revocation from memory.
//!
//! The set of revoked sessions is read at the start and follows the journal: a revocation is in it before anybody is
//! told that it happened.

use std::sync::Arc;

use dashmap::DashSet;
use purser_actors::engine::Engine;
use purser_actors::id::{SessionId, Wallet};
use purser_actors::kernel::Kind;
use purser_actors::kernel::record::Record;
use purser_actors::port::{BoxFuture, Clock, Timestamp};
use purser_actors::session::Amr;
use purser_storage::{EventSink, StoreError, StoredEvent};

use super::login::SessionCookies;
use super::token::{SignInMethod, TokenError as JwtError, Tokens};
use crate::http::caller::{Authenticator, Claims, Gate, TokenError};
use crate::stream::Hub;

/// See the module.
pub struct Doorkeeper {
    tokens: Arc<Tokens>,
    cookies: SessionCookies,
    clock: Arc<dyn Clock>,
    engine: Engine,
    hub: Arc<Hub>,
    revoked: DashSet<SessionId>,
}

impl Doorkeeper {
    /// Knows every session that is revoked now; subscribe it to the store to keep it so.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn new(
        tokens: Arc<Tokens>,
        cookies: SessionCookies,
        clock: Arc<dyn Clock>,
        engine: Engine,
        hub: Arc<Hub>,
    ) -> Result<Self, StoreError> {
        let revoked = engine.revoked_sessions().await?.into_iter().collect();
        Ok(Self { tokens, cookies, clock, engine, hub, revoked })
    }

    fn alive(&self, claims: Claims) -> Result<Claims, TokenError> {
        if self.revoked.contains(&claims.session) { Err(TokenError::Revoked) } else { Ok(claims) }
    }

    async fn session_claims(&self, cookie_header: &str) -> Result<Claims, TokenError> {
        let now = self.clock.now();
        let id = self.cookies.read(cookie_header, now).ok_or(TokenError::Invalid)?;
        let session = self.engine.session(&id).await.ok().flatten().ok_or(TokenError::Invalid)?;
        if !session.is_active() {
            return Err(TokenError::Revoked);
        }
        // The cookie's own end was checked above; a stream opened by it is judged again within an hour.
        let expires_at = Timestamp(session.expires_at.0.min(now.plus_ms(3_600_000).0));
        let by_payment = session.amr == Amr::Payment;
        self.alive(Claims { wallet: session.owner, session: id, by_payment, expires_at })
    }
}

impl Authenticator for Doorkeeper {
    fn authenticate(&self, token: &str) -> Result<Claims, TokenError> {
        let claims = self.tokens.verify(token, self.clock.now()).map_err(|error| match error {
            JwtError::Expired => TokenError::Expired,
            _ => TokenError::Invalid,
        })?;
        self.alive(Claims {
            wallet: claims.wallet,
            session: claims.session,
            by_payment: claims.method == SignInMethod::Payment,
            expires_at: Timestamp(claims.expires_s.saturating_mul(1000)),
        })
    }

    fn authenticate_session<'a>(&'a self, cookie_header: &'a str) -> BoxFuture<'a, Result<Claims, TokenError>> {
        Box::pin(self.session_claims(cookie_header))
    }
}

impl Gate for Doorkeeper {
    fn frozen_message(&self, wallet: Wallet) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            match self.engine.account(&wallet).await {
                Ok(account) => account.and_then(|a| a.frozen),
                // Whoever cannot be checked is not let in.
                Err(_) => Some("The account cannot be read right now.".into()),
            }
        })
    }
}

impl EventSink for Doorkeeper {
    fn publish(&self, events: &[StoredEvent]) {
        for event in events {
            if let Ok(record) = Record::read(&event.payload)
                && record.kind == Kind::Session as u8
                && record.status == "revoked"
                && let Ok(id) = <[u8; 16]>::try_from(record.id.as_slice())
            {
                let session = SessionId(u128::from_be_bytes(id));
                self.revoked.insert(session);
                self.hub.revoke(session);
            }
        }
    }
}
