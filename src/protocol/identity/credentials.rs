//! Credentials: an id_token and a refresh token for a session, created on request and never stored.

use std::sync::Arc;

use purser_actors::id::{SessionId, Wallet};
use purser_actors::kernel::JsonObject;
use purser_actors::payment::SessionSeed;
use purser_actors::port::{Clock, Entropy};
use purser_actors::session::{AuthMethod, Session};

use super::refresh::{ParsedRefreshToken, RefreshTokenCodec};
use super::token::{ID_TOKEN_LIFETIME_S, IdTokens, TokenAuthMethod};
use purser_host::secret::SecretText;

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

    /// The three fields of the contract: `id_token`, `refresh_token`, `expires_in` (a string of seconds).
    pub fn issue(&self, wallet: &Wallet, session: SessionId, amr: AuthMethod, generation: u32) -> JsonObject {
        let method = match amr {
            AuthMethod::Wallet => TokenAuthMethod::Wallet,
            AuthMethod::Payment(payment) => TokenAuthMethod::Payment(payment),
            AuthMethod::Key(key) => TokenAuthMethod::Key(key),
        };
        let id_token: SecretText = self
            .tokens
            .mint(wallet, session, method, self.clock.now(), &*self.entropy);
        let (refresh_token, _) = self.refresh.issue(session, generation);
        JsonObject::new()
            .text("id_token", id_token.expose())
            .text("refresh_token", refresh_token.expose())
            .text("expires_in", ID_TOKEN_LIFETIME_S)
    }
}
