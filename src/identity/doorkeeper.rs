//! Judges tokens and cookies on the hot path: signature and time from the token, revocation from memory.
//!
//! The set of revoked sessions is read at the start and follows the journal: a revocation is in it before anybody is
//! told that it happened.

use std::sync::Arc;

use dashmap::DashMap;
use purser_actors::engine::Engine;
use purser_actors::id::{ApiKeyId, SessionId, Wallet};
use purser_actors::kernel::Kind;
use purser_actors::kernel::record::Record;
use purser_actors::port::{BoxFuture, Clock, Timestamp};
use purser_actors::session::{Amr, ID_TOKEN_MAX_S};
use purser_storage::{EventSink, StoreError, StoredEvent};

use super::arrivals::Arrivals;
use super::login::SessionCookies;
use super::token::{SignInMethod, TokenError as JwtError, Tokens};
use crate::http::caller::{Authenticator, Claims, Gate, TokenError};
use crate::revocations::{RevocationLog, entry_of};
use crate::stream::Hub;

/// See the module.
pub struct Doorkeeper {
    tokens: Arc<Tokens>,
    cookies: SessionCookies,
    clock: Arc<dyn Clock>,
    engine: Engine,
    hub: Arc<Hub>,
    /// Where agents wait for their keys.
    arrivals: Arc<Arrivals>,
    /// Where they are written down before anybody is told.
    log: Arc<RevocationLog>,
    /// Revoked sessions and API keys, each until no id_token of it can be alive.
    revoked: DashMap<SessionId, u64>,
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
        (hub, arrivals): (Arc<Hub>, Arc<Arrivals>),
        log: Arc<RevocationLog>,
    ) -> Result<Self, StoreError> {
        let until_s = clock.now().seconds() + ID_TOKEN_MAX_S;
        let revoked = engine
            .revoked_sessions()
            .await?
            .into_iter()
            .map(|id| (id, until_s))
            .collect();
        Ok(Self {
            tokens,
            cookies,
            clock,
            engine,
            hub,
            arrivals,
            log,
            revoked,
        })
    }

    fn alive(&self, claims: Claims) -> Result<Claims, TokenError> {
        if self.is_revoked(&claims) {
            Err(TokenError::Revoked)
        } else {
            Ok(claims)
        }
    }

    /// Drops revocations that no living token could meet, once in many.
    fn forget_old(&self) {
        if self.revoked.len() % 1_024 == 1_023 {
            let now_s = self.clock.now().seconds();
            self.revoked.retain(|_, until_s| *until_s >= now_s);
        }
    }

    async fn session_claims(&self, cookie_header: &str) -> Result<Claims, TokenError> {
        let now = self.clock.now();
        let id = self.cookies.read(cookie_header, now).ok_or(TokenError::Invalid)?;
        let session = self
            .engine
            .session(&id)
            .await
            .ok()
            .flatten()
            .ok_or(TokenError::Invalid)?;
        // Whoever cannot be checked is not let in.
        if self.engine.has_ended(&session).await.unwrap_or(true) {
            return Err(TokenError::Revoked);
        }
        // The cookie's own end was checked above; a stream opened by it is judged again within an hour.
        let expires_at = Timestamp(session.expires_at.0.min(now.plus_ms(3_600_000).0));
        self.alive(Claims {
            wallet: session.owner,
            session: id,
            amr: session.amr,
            expires_at,
        })
    }
}

impl Authenticator for Doorkeeper {
    fn authenticate(&self, token: &str) -> Result<Claims, TokenError> {
        let claims = self
            .tokens
            .verify(token, self.clock.now())
            .map_err(|error| match error {
                JwtError::Expired => TokenError::Expired,
                _ => TokenError::Invalid,
            })?;
        if self.engine.is_suspended(claims.issued_s) {
            return Err(TokenError::Revoked);
        }
        self.alive(Claims {
            wallet: claims.wallet,
            session: claims.session,
            amr: match claims.method {
                SignInMethod::Wallet => Amr::Wallet,
                SignInMethod::Payment(payment) => Amr::Payment(payment),
                SignInMethod::Key(key) => Amr::Key(key),
            },
            expires_at: Timestamp(claims.expires_s.saturating_mul(1000)),
        })
    }

    fn authenticate_session<'a>(&'a self, cookie_header: &'a str) -> BoxFuture<'a, Result<Claims, TokenError>> {
        Box::pin(self.session_claims(cookie_header))
    }
}

impl Gate for Doorkeeper {
    fn is_revoked(&self, claims: &Claims) -> bool {
        let mut families = claims.families().into_iter().flatten();
        families.any(|family| self.revoked.contains_key(&family))
    }

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
        let read = |event: &StoredEvent| Some((event.seq, Record::read(&event.payload).ok()?));
        let records: Vec<_> = events.iter().filter_map(read).collect();
        let ended: Vec<_> = records.iter().filter_map(|(_, record)| entry_of(record)).collect();
        self.log.note(&ended);
        for (seq, record) in records {
            let of_key = record.kind == Kind::ApiKey as u8;
            if of_key || record.kind == Kind::Session as u8 {
                let Ok(id) = <[u8; 16]>::try_from(record.id.as_slice()) else {
                    continue;
                };
                let id = u128::from_be_bytes(id);
                if record.status == "revoked" {
                    // A key's name as a family is its own.
                    let family = SessionId(id);
                    self.forget_old();
                    self.revoked.insert(family, record.at.seconds() + ID_TOKEN_MAX_S);
                    self.hub.revoke(&record.owner, family);
                }
                if of_key {
                    self.arrivals.tell(ApiKeyId(id));
                }
            } else if record.kind == Kind::Account as u8 && record.status == "frozen" {
                self.hub.freeze(&record.owner, seq);
            }
        }
    }
}
