//! Validates tokens and cookies on the hot path: signature and time from the token, revocation from memory.
//!
//! The set of revoked sessions is read at startup and follows the journal: it contains a revocation before any client
//! is notified of it.

use std::sync::Arc;

use dashmap::DashMap;
use purser_actors::engine::Engine;
use purser_actors::entity::session::{AuthMethod, ID_TOKEN_MAX_S};
use purser_actors::id::{ApiKeyId, SessionId};
use purser_actors::kernel::EntityKind;
use purser_actors::kernel::event_record::EventRecord;
use purser_actors::port::{BoxFuture, Clock, Timestamp};
use purser_storage::{EventSink, StoreError, StoredEvent};

use super::account::refusal;
use super::auth::{AccountStatus, AuthClaims, Authenticator, Refusal, TokenError};
use super::signup::waiters::SignupWaiters;
use crate::identity::login::SessionCookies;
use crate::identity::token::{IdTokenError as JwtError, IdTokens, TokenAuthMethod};
use crate::revocations::{RevocationLog, entry_of};
use crate::stream::Hub;

/// Type of the event with which an account owner stops all agents.
const AGENTS_STOPPED: &str = "account.agents_stopped";

pub struct TokenAuthenticator {
    tokens: Arc<IdTokens>,
    cookies: SessionCookies,
    clock: Arc<dyn Clock>,
    engine: Engine,
    hub: Arc<Hub>,
    /// Where agents wait for their keys.
    signup_waiters: Arc<SignupWaiters>,
    /// Revocations are persisted here before any client is notified.
    log: Arc<RevocationLog>,
    /// Revoked sessions and API keys, each until all their id_tokens have expired.
    revoked: DashMap<SessionId, u64>,
}

impl TokenAuthenticator {
    /// Loads all current revocations; subscribe it to the store to keep it up to date.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn new(
        tokens: Arc<IdTokens>,
        cookies: SessionCookies,
        clock: Arc<dyn Clock>,
        engine: Engine,
        (hub, arrivals): (Arc<Hub>, Arc<SignupWaiters>),
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
            signup_waiters: arrivals,
            log,
            revoked,
        })
    }

    fn check_session(&self, claims: AuthClaims) -> Result<AuthClaims, TokenError> {
        if self.is_revoked(&claims) {
            Err(TokenError::Revoked)
        } else {
            Ok(claims)
        }
    }

    /// Drops revocations that no unexpired token could match, once in many calls.
    fn purge_expired(&self) {
        if self.revoked.len() % 1_024 == 1_023 {
            let now_s = self.clock.now().seconds();
            self.revoked.retain(|_, until_s| *until_s >= now_s);
        }
    }

    async fn session_claims(&self, cookie_header: &str) -> Result<AuthClaims, TokenError> {
        let now = self.clock.now();
        let id = self.cookies.read(cookie_header, now).ok_or(TokenError::Invalid)?;
        let session = self
            .engine
            .session(&id)
            .await
            .ok()
            .flatten()
            .ok_or(TokenError::Invalid)?;
        // If that cannot be checked, deny access.
        if self.engine.has_session_ended(&id, &session).await.unwrap_or(true) {
            return Err(TokenError::Revoked);
        }
        let key = self
            .engine
            .key_behind(&session)
            .await
            .map_err(|_| TokenError::Revoked)?;
        // The cookie's own expiry was checked above; a stream opened by it is checked again within an hour.
        let expires_at = Timestamp(session.expires_at.0.min(now.plus_ms(3_600_000).0));
        self.check_session(AuthClaims {
            wallet: session.owner,
            session: id,
            created_by: session.created_by,
            amr: session.amr,
            key,
            expires_at,
            issued_at: session.created_at,
            of_page: true,
        })
    }
}

impl Authenticator for TokenAuthenticator {
    fn authenticate(&self, token: &str) -> Result<AuthClaims, TokenError> {
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
        self.check_session(AuthClaims {
            wallet: claims.wallet,
            session: claims.session,
            created_by: None,
            amr: match claims.method {
                TokenAuthMethod::Wallet => AuthMethod::Wallet,
                TokenAuthMethod::Payment(payment) | TokenAuthMethod::PaymentWithKey(payment, _) => {
                    AuthMethod::Payment(payment)
                }
                TokenAuthMethod::Key(key) => AuthMethod::Key(key),
            },
            key: match claims.method {
                TokenAuthMethod::Wallet | TokenAuthMethod::Payment(_) => None,
                TokenAuthMethod::PaymentWithKey(_, key) | TokenAuthMethod::Key(key) => Some(key),
            },
            expires_at: Timestamp(claims.expires_s.saturating_mul(1000)),
            issued_at: Timestamp(claims.issued_s.saturating_mul(1000)),
            of_page: false,
        })
    }

    fn authenticate_session<'a>(&'a self, cookie_header: &'a str) -> BoxFuture<'a, Result<AuthClaims, TokenError>> {
        Box::pin(self.session_claims(cookie_header))
    }
}

impl AccountStatus for TokenAuthenticator {
    fn is_revoked(&self, claims: &AuthClaims) -> bool {
        let mut revocation_ids = claims.revocation_ids().into_iter().flatten();
        revocation_ids.any(|session| self.revoked.contains_key(&session))
    }

    fn refusal<'a>(&'a self, claims: &'a AuthClaims) -> BoxFuture<'a, Option<Refusal>> {
        Box::pin(async move {
            let read = match self.engine.account(&claims.wallet).await {
                Ok(Some(account)) => refusal(&self.engine, &account, claims).await,
                Ok(None) => Ok(None),
                Err(error) => Err(error),
            };
            // If the account cannot be checked, deny access.
            read.unwrap_or_else(|_| Some(Refusal::Frozen("The account cannot be read right now.".into())))
        })
    }
}

impl EventSink for TokenAuthenticator {
    fn publish(&self, events: &[StoredEvent]) {
        // This runs on the committing thread, and few events are of these kinds.
        let kinds = [
            EntityKind::Account,
            EntityKind::ApiKey,
            EntityKind::Passkey,
            EntityKind::Recovery,
            EntityKind::Session,
        ]
        .map(|kind| kind as u8);
        let read = |event: &StoredEvent| {
            let kind = EventRecord::kind_of(&event.payload)?;
            let record = kinds
                .contains(&kind)
                .then(|| EventRecord::read(&event.subject, &event.payload).ok())??;
            Some((event.seq, record))
        };
        let records: Vec<_> = events.iter().filter_map(read).collect();
        let ended: Vec<_> = records.iter().filter_map(|(_, record)| entry_of(record)).collect();
        self.log.record(&ended);
        for (seq, record) in records {
            let of_key = record.kind == EntityKind::ApiKey as u8;
            let of_passkey = record.kind == EntityKind::Passkey as u8;
            if of_key || of_passkey || record.kind == EntityKind::Session as u8 {
                let Ok(id) = <[u8; 16]>::try_from(record.id.as_slice()) else {
                    continue;
                };
                let id = u128::from_be_bytes(id);
                if record.status == "revoked" || record.status == "removed" {
                    // The id of a key or passkey is also that of its session family.
                    let session = SessionId(id);
                    self.purge_expired();
                    self.revoked.insert(session, record.at.seconds() + ID_TOKEN_MAX_S);
                    self.hub.revoke(&record.owner, session);
                }
                if of_key {
                    self.signup_waiters.notify(ApiKeyId(id));
                }
            } else if record.kind == EntityKind::Recovery as u8 {
                // All access from before has ended.
                if record.status == "completed" {
                    self.hub.end_access(&record.owner);
                }
            } else if record.kind == EntityKind::Account as u8 {
                let stops = record
                    .announcement
                    .as_ref()
                    .is_some_and(|event| event.kind == AGENTS_STOPPED);
                if stops {
                    self.hub.stop_agents(&record.owner);
                }
                if record.status == "frozen" {
                    self.hub.freeze(&record.owner, seq);
                }
            }
        }
    }
}
