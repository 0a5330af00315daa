//! All key material of identity in one value and one text file.
//!
//! One master secret, from which the key of every keyed hash is derived by purpose, and a ring of Ed25519 keys that
//! sign id tokens. The newest signs; older ones verify until the tokens they signed have expired.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::SigningKey;
use purser_actors::port::{Entropy, Timestamp};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::token::ID_TOKEN_LIFETIME_S;
use purser_host::secret::{Key32, MacKey};

/// Most keys in a ring: a rotation per hour for a day would stay far below.
const MAX_TOKEN_KEYS: usize = 64;
/// First line of the text form; a reader of another version must not guess.
const HEADING: &str = "purser-keys 1";

/// One Ed25519 key (RFC 8032) that signs id tokens.
#[derive(Clone)]
pub struct TokenKey {
    kid: String,
    created: Timestamp,
    key: SigningKey,
}

impl TokenKey {
    fn new(seed: &Key32, created: Timestamp) -> Self {
        let key = SigningKey::from_bytes(seed.expose());
        Self {
            kid: thumbprint(&key),
            created,
            key,
        }
    }

    /// The key's id in token headers and in the JWKS: its RFC 7638 thumbprint.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Creation time, at which the previous key stopped signing.
    pub const fn created(&self) -> Timestamp {
        self.created
    }

    /// The key itself, for signing and for its public half.
    pub const fn expose(&self) -> &SigningKey {
        &self.key
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenKey({})", self.kid)
    }
}

/// RFC 7638 thumbprint of an OKP key: its required members in order, no spaces (RFC 8037, appendix A.3).
fn thumbprint(key: &SigningKey) -> String {
    let x = URL_SAFE_NO_PAD.encode(key.verifying_key().as_bytes());
    URL_SAFE_NO_PAD.encode(Sha256::digest(format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#)))
}

/// Why a text is not a key ring. Never quotes the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct KeyTextError {
    /// Counted from 1.
    pub line: usize,
    pub problem: &'static str,
}

/// Every key of identity. Debug shows the ids of token keys only.
#[derive(Clone)]
pub struct IdentityKeyRing {
    master: Key32,
    newest: TokenKey,
    /// Verify only; newest first.
    older: Vec<TokenKey>,
}

impl fmt::Debug for IdentityKeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("newest", &self.newest)
            .field("older", &self.older)
            .finish_non_exhaustive()
    }
}

impl IdentityKeyRing {
    /// New random keys.
    pub fn generate(now: Timestamp, entropy: &dyn Entropy) -> Self {
        Self {
            master: random_key(entropy),
            newest: TokenKey::new(&random_key(entropy), now),
            older: Vec::new(),
        }
    }

    /// The same keys with a new one added, and without those whose last token has expired. The master secret is
    /// unchanged, so refresh tokens, cookies and everything else derived from it remain valid.
    #[must_use]
    pub fn rotated(&self, now: Timestamp, entropy: &dyn Entropy) -> Self {
        let mut stopped = now;
        let mut older = Vec::new();
        for old in self.ring() {
            // A key signed until its successor was created; its last token is valid for one lifetime longer.
            if stopped.plus_ms(ID_TOKEN_LIFETIME_S * 1000) >= now && older.len() + 1 < MAX_TOKEN_KEYS {
                older.push(old.clone());
            }
            stopped = old.created;
        }
        let newest = TokenKey::new(&random_key(entropy), now);
        Self {
            master: self.master.clone(),
            newest,
            older,
        }
    }

    pub const fn newest(&self) -> &TokenKey {
        &self.newest
    }

    /// All token keys, newest first.
    pub fn ring(&self) -> impl Iterator<Item = &TokenKey> {
        std::iter::once(&self.newest).chain(&self.older)
    }

    /// A separate key for a purpose, such as `purser/payment-id`: HMAC-SHA256(master, purpose). The same purpose always
    /// gives the same key.
    pub fn derive(&self, purpose: &'static str) -> Key32 {
        Key32::new(MacKey::new(&self.master).tag(&[purpose.as_bytes()]))
    }

    /// Keys for a purpose that rotate with the ring: of the signing key and of the one before it. The master secret
    /// alone is not enough to compute them.
    pub fn rotating_macs(&self, purpose: &'static str) -> (MacKey, Option<MacKey>) {
        let mac = self.mac(purpose);
        let of = |key: &TokenKey| MacKey::new(&Key32::new(mac.tag(&[key.key.as_bytes()])));
        (of(&self.newest), self.older.first().map(of))
    }

    /// [`IdentityKeyRing::derive`] as a MAC.
    pub fn mac(&self, purpose: &'static str) -> MacKey {
        MacKey::new(&self.derive(purpose))
    }

    /// The text form: a heading, `master <hex>`, one `token <created ms> <kid> <seed hex>` per key with the newest
    /// first, and `sum <hex>` over all lines before it.
    pub fn to_text(&self) -> Zeroizing<String> {
        // Capacity for the whole text: a growing string would leave copies in memory.
        let mut text = Zeroizing::new(String::with_capacity(256 + 192 * (1 + self.older.len())));
        text.push_str(HEADING);
        text.push_str("\nmaster ");
        push_hex(&mut text, self.master.expose());
        for key in self.ring() {
            text.push_str("\ntoken ");
            text.push_str(&key.created.0.to_string());
            text.push(' ');
            text.push_str(&key.kid);
            text.push(' ');
            push_hex(&mut text, key.key.as_bytes());
        }
        text.push('\n');
        let sum = Sha256::digest(text.as_bytes());
        text.push_str("sum ");
        push_hex(&mut text, &sum);
        text.push('\n');
        text
    }

    /// Parses the text form. Anything unexpected is an error: a key that is silently dropped or changed would sign
    /// everyone out.
    pub fn from_text(text: &str) -> Result<Self, KeyTextError> {
        let fail = |line, problem| Err(KeyTextError { line, problem });
        let lines: Vec<&str> = text.lines().collect();
        let count = lines.len();
        if lines.first() != Some(&HEADING) {
            return fail(1, "not a key file of a version this program reads");
        }
        let Some((body, sum)) = text.strip_suffix('\n').and_then(|all| all.rsplit_once('\n')) else {
            return fail(count, "the file is cut off");
        };
        let mut digest = Sha256::new();
        digest.update(body);
        digest.update(b"\n");
        if sum.strip_prefix("sum ") != Some(hex::encode(digest.finalize()).as_str()) {
            return fail(count, "the sum does not match: the file is cut off or was changed");
        }
        let Some(master) = lines
            .get(1)
            .and_then(|line| line.strip_prefix("master "))
            .and_then(read_key)
        else {
            return fail(2, "expected `master` and 64 hex digits");
        };
        let ring = read_ring(&lines[2..count - 1])?;
        let Some((newest, older)) = ring.split_first() else {
            return fail(count, "there is no token key");
        };
        Ok(Self {
            master,
            newest: newest.clone(),
            older: older.to_vec(),
        })
    }
}

/// Parses the token keys, which start on the file's third line.
fn read_ring(lines: &[&str]) -> Result<Vec<TokenKey>, KeyTextError> {
    let mut ring: Vec<TokenKey> = Vec::new();
    for (line, text) in (3..).zip(lines) {
        let Some(key) = read_token_key(text) else {
            let problem = "expected `token`, a time, a key id and 64 hex digits that belong together";
            return Err(KeyTextError { line, problem });
        };
        if ring.last().is_some_and(|newer| newer.created < key.created) {
            return Err(KeyTextError {
                line,
                problem: "token keys must be in order, newest first",
            });
        }
        if ring.len() == MAX_TOKEN_KEYS {
            return Err(KeyTextError {
                line,
                problem: "there are more token keys than 64",
            });
        }
        ring.push(key);
    }
    Ok(ring)
}

fn random_key(entropy: &dyn Entropy) -> Key32 {
    let mut bytes = Zeroizing::new([0; 32]);
    bytes[..16].copy_from_slice(&entropy.random().to_be_bytes());
    bytes[16..].copy_from_slice(&entropy.random().to_be_bytes());
    Key32::new(*bytes)
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        for nibble in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
        }
    }
}

fn read_key(hex_digits: &str) -> Option<Key32> {
    let mut bytes = Zeroizing::new([0; 32]);
    hex::decode_to_slice(hex_digits, &mut *bytes).ok()?;
    Some(Key32::new(*bytes))
}

fn read_token_key(line: &str) -> Option<TokenKey> {
    let mut words = line.strip_prefix("token ")?.split(' ');
    let (created, kid, seed) = (words.next()?, words.next()?, words.next()?);
    let key = TokenKey::new(&read_key(seed)?, Timestamp(created.parse().ok()?));
    (key.kid == kid && words.next().is_none()).then_some(key)
}

#[cfg(test)]
mod tests;
