//! Id tokens: JWTs (RFC 7519) signed with our own Ed25519 keys (EdDSA, RFC 8037), issued and accepted by this service
//! only.
//!
//! Verification negotiates nothing. A token's header must be, byte for byte, the one we write for a key of the ring. No
//! header can therefore choose an algorithm, a key by content, or an extension. Verified tokens are cached by hash,
//! because an agent sends the same one with every call.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, Signer, VerifyingKey};
use purser_actors::id::{ApiKeyId, PaymentId, SessionId, Wallet};
use purser_actors::kernel::to_json;
use purser_actors::port::{Entropy, Timestamp};
use quick_cache::sync::Cache;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::keys::{IdentityKeyRing, TokenKey};
use purser_host::secret::SecretText;

/// Lifetime of an id token, in seconds (contract, Limits).
pub const ID_TOKEN_LIFETIME_S: u64 = 3600;
/// Maximum token length, in bytes; ours have about 700.
const MAX_TOKEN_BYTES: usize = 4096;

/// How the session began (`amr`, RFC 8176).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenAuthMethod {
    /// The wallet signed a challenge.
    Wallet,
    /// The wallet paid; the claim `payment` names the payment. Another party may have relayed it, so such a token has
    /// fewer permissions.
    Payment(PaymentId),
    /// The same, and a token of an API key came with the payment; the claim `key` names it. The token ends with the key.
    PaymentWithKey(PaymentId, ApiKeyId),
    /// An API key was presented; the claim `key` names it.
    Key(ApiKeyId),
}

impl TokenAuthMethod {
    /// Value in `amr`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wallet => "wallet",
            Self::Payment(_) | Self::PaymentWithKey(..) => "payment",
            Self::Key(_) => "api_key",
        }
    }

    /// From `amr`, `key` and `payment`. Only the tokens of such sessions have the last two.
    fn read(word: &str, key: Option<&str>, payment: Option<&str>) -> Option<Self> {
        match (word, key, payment) {
            ("wallet", None, None) => Some(Self::Wallet),
            ("payment", None, Some(payment)) => payment.parse().ok().map(Self::Payment),
            ("payment", Some(key), Some(payment)) => {
                Some(Self::PaymentWithKey(payment.parse().ok()?, key.parse().ok()?))
            }
            ("api_key", Some(key), None) => key.parse().ok().map(Self::Key),
            _ => None,
        }
    }
}

/// Claims of a valid token. Whether its session is active and its account not frozen, only the engine knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenClaims {
    pub wallet: Wallet,
    /// `sub`: the wallet's address, lowercased.
    pub user_id: String,
    /// `sid`: the session it was issued in.
    pub session: SessionId,
    /// The claim `amr`.
    pub method: TokenAuthMethod,
    /// `iat`, in Unix seconds.
    pub issued_s: u64,
    /// `exp`, in Unix seconds: from this second on the token is void.
    pub expires_s: u64,
    /// `jti`, 32 hex digits.
    pub token_id: String,
}

/// Why a token is not valid. All are answered with 401; the text may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum IdTokenError {
    /// Over 4 KiB.
    #[error("the token is too long")]
    TooLong,
    /// Not three parts in strict base64url, or not our claims.
    #[error("the token is malformed")]
    Malformed,
    /// The header is not one we write, or names a key that no longer exists.
    #[error("the token was not signed by a current key of this service")]
    UnknownKey,
    #[error("the token's signature is wrong")]
    Signature,
    /// `iss` is not this service.
    #[error("the token was issued by another service")]
    Issuer,
    /// `aud` is not this service.
    #[error("the token is meant for another service")]
    Audience,
    /// `exp` has passed.
    #[error("the token has expired")]
    Expired,
}

/// Mints and verifies the tokens of one issuer and audience with one key ring. After a rotation create a new one.
pub struct IdTokens {
    newest: SigningKey,
    older: Vec<SigningKey>,
    issuer: String,
    audience: String,
    /// Fixed start: `{"iss":…,"aud":…,"sub":"`
    claims_head: String,
    jwks: String,
    verified: Cache<[u8; 32], Arc<TokenClaims>>,
}

struct SigningKey {
    /// The encoded header of this key's tokens.
    header: String,
    signing: ed25519_dalek::SigningKey,
    verifying: VerifyingKey,
}

impl SigningKey {
    fn new(key: &TokenKey) -> Self {
        let header = format!(r#"{{"alg":"EdDSA","kid":"{}","typ":"JWT"}}"#, key.kid());
        let signing = key.expose().clone();
        Self {
            header: URL_SAFE_NO_PAD.encode(header),
            verifying: signing.verifying_key(),
            signing,
        }
    }
}

impl std::fmt::Debug for IdTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens")
            .field("issuer", &self.issuer)
            .field("audience", &self.audience)
            .finish_non_exhaustive()
    }
}

impl IdTokens {
    /// `issuer` is the public origin. `remembered` is the most verified tokens cached in memory.
    pub fn new(keys: &IdentityKeyRing, issuer: &str, audience: &str, remembered: usize) -> Self {
        Self {
            newest: SigningKey::new(keys.newest()),
            older: keys.ring().skip(1).map(SigningKey::new).collect(),
            claims_head: format!(r#"{{"iss":{},"aud":{},"sub":""#, json!(issuer), json!(audience)),
            issuer: issuer.to_owned(),
            audience: audience.to_owned(),
            jwks: jwks(keys),
            verified: Cache::new(remembered),
        }
    }

    /// A token for a session, valid for [`ID_TOKEN_LIFETIME_S`] from now.
    pub fn mint(
        &self,
        wallet: &Wallet,
        session: SessionId,
        method: TokenAuthMethod,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> SecretText {
        let key = &self.newest;
        // Addresses and ids are alphanumeric, so nothing here needs escaping.
        let named = match method {
            TokenAuthMethod::Key(key) => format!(r#""key":"{key}","#),
            TokenAuthMethod::Payment(payment) => format!(r#""payment":"{payment}","#),
            TokenAuthMethod::PaymentWithKey(payment, key) => format!(r#""key":"{key}","payment":"{payment}","#),
            TokenAuthMethod::Wallet => String::new(),
        };
        let claims = format!(
            r#"{}{}","wallet":"{}","sid":"{session}","amr":["{}"],{named}"iat":{},"exp":{},"jti":"{:032x}"}}"#,
            self.claims_head,
            wallet.user_id(),
            wallet.address(),
            method.as_str(),
            now.seconds(),
            now.seconds().saturating_add(ID_TOKEN_LIFETIME_S),
            entropy.random(),
        );
        let mut token = String::with_capacity(key.header.len() + claims.len() * 4 / 3 + 96);
        token.push_str(&key.header);
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(&claims, &mut token);
        let signature = key.signing.sign(token.as_bytes());
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature.to_bytes(), &mut token);
        SecretText::new(token)
    }

    /// The token's claims, if we signed it for ourselves and it has not expired.
    pub fn verify(&self, token: &str, now: Timestamp) -> Result<Arc<TokenClaims>, IdTokenError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(IdTokenError::TooLong);
        }
        let name: [u8; 32] = Sha256::digest(token).into();
        if let Some(claims) = self.verified.get(&name) {
            if now.seconds() < claims.expires_s {
                return Ok(claims);
            }
            self.verified.remove(&name);
            return Err(IdTokenError::Expired);
        }
        let claims = Arc::new(self.verify_uncached(token)?);
        if now.seconds() >= claims.expires_s {
            return Err(IdTokenError::Expired);
        }
        self.verified.insert(name, Arc::clone(&claims));
        Ok(claims)
    }

    /// Checks everything but the time.
    fn verify_uncached(&self, token: &str) -> Result<TokenClaims, IdTokenError> {
        let (signed, signature) = token.rsplit_once('.').ok_or(IdTokenError::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(IdTokenError::Malformed)?;
        if claims.contains('.') {
            return Err(IdTokenError::Malformed);
        }
        let key = self.key_of(header).ok_or(IdTokenError::UnknownKey)?;
        let signature: [u8; 64] = URL_SAFE_NO_PAD
            .decode(signature)
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or(IdTokenError::Malformed)?;
        key.verifying
            .verify_strict(signed.as_bytes(), &Signature::from_bytes(&signature))
            .map_err(|_| IdTokenError::Signature)?;
        let json = URL_SAFE_NO_PAD.decode(claims).map_err(|_| IdTokenError::Malformed)?;
        let wire: WireClaims = serde_json::from_slice(&json).map_err(|_| IdTokenError::Malformed)?;
        if wire.iss != self.issuer {
            return Err(IdTokenError::Issuer);
        }
        if wire.aud != self.audience {
            return Err(IdTokenError::Audience);
        }
        wire.into_claims().ok_or(IdTokenError::Malformed)
    }

    fn key_of(&self, header: &str) -> Option<&SigningKey> {
        std::iter::once(&self.newest)
            .chain(&self.older)
            .find(|key| key.header == header)
    }

    /// The public keys as a JWK Set (RFC 7517), for `/.well-known/jwks.json`.
    pub fn jwks(&self) -> &str {
        &self.jwks
    }
}

#[derive(Deserialize)]
struct WireClaims {
    iss: String,
    aud: String,
    sub: String,
    wallet: String,
    sid: String,
    amr: [String; 1],
    key: Option<String>,
    payment: Option<String>,
    iat: u64,
    exp: u64,
    jti: String,
}

impl WireClaims {
    fn into_claims(self) -> Option<TokenClaims> {
        let wallet: Wallet = self.wallet.parse().ok()?;
        (wallet.user_id() == self.sub).then_some(())?;
        Some(TokenClaims {
            wallet,
            user_id: self.sub,
            session: self.sid.parse().ok()?,
            method: TokenAuthMethod::read(&self.amr[0], self.key.as_deref(), self.payment.as_deref())?,
            issued_s: self.iat,
            expires_s: self.exp,
            token_id: self.jti,
        })
    }
}

fn jwks(keys: &IdentityKeyRing) -> String {
    let keys = keys.ring().map(|key| JsonWebKey {
        alg: "EdDSA",
        crv: "Ed25519",
        kid: key.kid().to_string(),
        kty: "OKP",
        r#use: "sig",
        x: URL_SAFE_NO_PAD.encode(key.expose().verifying_key().as_bytes()),
    });
    to_json(&JsonWebKeySet { keys: keys.collect() })
}

/// Public keys (RFC 7517).
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct JsonWebKeySet {
    /// Newest key first.
    keys: Vec<JsonWebKey>,
}

/// An Ed25519 key (RFC 8037).
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct JsonWebKey {
    /// `EdDSA` is the signature algorithm.
    alg: &'static str,
    /// `Ed25519` is the curve.
    crv: &'static str,
    /// Id of the key in token headers.
    kid: String,
    /// `OKP` is the key type.
    kty: &'static str,
    /// `sig` is the key's use.
    r#use: &'static str,
    /// Public key in base64url.
    x: String,
}

#[cfg(test)]
mod tests;
