//! Credentials: an id_token and a refresh token for a session, created on request and never stored.

use std::sync::Arc;

use purser_actors::entity::payment::SessionSeed;
use purser_actors::entity::session::{AuthMethod, Session};
use purser_actors::id::{ApiKeyId, SessionId, Wallet};
use purser_actors::port::{Clock, Entropy};
use serde::Serialize;

use super::refresh::{ParsedRefreshToken, RefreshTokenCodec};
use super::token::{ID_TOKEN_LIFETIME_S, IdTokens, TokenAuthMethod};
use purser_host::secret::SecretText;

/// Tokens of a session.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct Credentials {
    /// Token for `Authorization: Bearer`.
    pub id_token: String,
    /// Token for `POST /auth`, valid once.
    pub refresh_token: String,
    /// Lifetime of `id_token` in seconds, as text.
    pub expires_in: String,
}

pub struct CredentialIssuer {
    /// Signs and verifies id_tokens.
    pub tokens: Arc<IdTokens>,
    pub refresh: RefreshTokenCodec,
    /// For `iat` and `exp`.
    pub clock: Arc<dyn Clock>,
    /// For session and token ids.
    pub entropy: Arc<dyn Entropy>,
    /// How long a session can be refreshed, in milliseconds.
    pub session_ttl_ms: u64,
}

impl CredentialIssuer {
    /// A session that does not exist yet: its id, and the hash of the first refresh token.
    pub fn new_session(&self, owner: &Wallet) -> SessionSeed {
        let id = SessionId::mint(owner.shard(), self.entropy.random());
        SessionSeed {
            id,
            first: self.refresh_hash(id, 0),
            life_ms: self.session_ttl_ms,
            presented_key: None,
        }
    }

    /// Hash of the refresh token of a generation.
    pub fn refresh_hash(&self, session: SessionId, generation: u32) -> [u8; 32] {
        self.refresh.issue(session, generation).1.0
    }

    /// Whether a presented token was issued for this session, now or before: only such a token may revoke anything. One
    /// computation, whatever the session's age.
    pub fn belongs_to(&self, presented: &ParsedRefreshToken, session: &Session) -> bool {
        presented.generation <= session.generation
            && self.refresh_hash(presented.session, presented.generation) == presented.hash.0
    }

    pub fn issue(&self, wallet: &Wallet, session: SessionId, amr: AuthMethod, generation: u32) -> Credentials {
        self.issue_with_key(wallet, session, amr, None, generation)
    }

    /// The same for a session that a payment opened, with which a token of this API key came.
    pub fn issue_with_key(
        &self,
        wallet: &Wallet,
        session: SessionId,
        amr: AuthMethod,
        presented_key: Option<ApiKeyId>,
        generation: u32,
    ) -> Credentials {
        let method = match (amr, presented_key) {
            // The refresh token of a browser session is given to no one.
            (AuthMethod::Wallet | AuthMethod::Passkey(_), _) => TokenAuthMethod::Wallet,
            (AuthMethod::Payment(payment), None) => TokenAuthMethod::Payment(payment),
            (AuthMethod::Payment(payment), Some(key)) => TokenAuthMethod::PaymentWithKey(payment, key),
            (AuthMethod::Key(key), _) => TokenAuthMethod::Key(key),
        };
        let id_token: SecretText = self
            .tokens
            .mint(wallet, session, method, self.clock.now(), &*self.entropy);
        let (refresh_token, _) = self.refresh.issue(session, generation);
        Credentials {
            id_token: id_token.expose().to_owned(),
            refresh_token: refresh_token.expose().to_owned(),
            expires_in: ID_TOKEN_LIFETIME_S.to_string(),
        }
    }
}
