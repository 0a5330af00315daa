//! Refresh tokens: opaque texts whose secret can be recomputed.
//!
//! The secret of generation n is a MAC over session and n. The session stores only its hash, but the same successor can
//! be issued a second time to a client that lost the response.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser_actors::id::SessionId;
use sha2::{Digest, Sha256};

use purser_host::secret::{Key32, MacKey, SecretText};

const PREFIX: &str = "rt_";
/// `rt_`, 32 hex digits of the session, 8 of the generation, a dot, 43 characters of base64url.
const LENGTH: usize = 3 + 32 + 8 + 1 + 43;

/// SHA-256 of a refresh token's secret: what the session stores and compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RefreshHash(pub [u8; 32]);

/// A presented token: the session it claims, and the hash to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedRefreshToken {
    pub session: SessionId,
    /// The generation it names; unproven until the secret has been recomputed for it.
    pub generation: u32,
    /// The hash of its secret.
    pub hash: RefreshHash,
}

/// The text is not one of our refresh tokens. `POST /auth` answers 401.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the refresh token is malformed")]
pub struct MalformedRefreshToken;

#[derive(Clone, Debug)]
pub struct RefreshTokenCodec {
    mac: MacKey,
}

impl RefreshTokenCodec {
    /// `key` must be used for nothing else.
    pub fn new(key: &Key32) -> Self {
        Self { mac: MacKey::new(key) }
    }

    /// The token of a session's generation and the hash to store. The same arguments give the same token.
    pub fn issue(&self, session: SessionId, generation: u32) -> (SecretText, RefreshHash) {
        let secret = Key32::new(self.mac.tag(&[&session.0.to_be_bytes(), &generation.to_be_bytes()]));
        let mut text = String::with_capacity(LENGTH);
        text.push_str(PREFIX);
        text.push_str(&hex::encode(session.0.to_be_bytes()));
        text.push_str(&hex::encode(generation.to_be_bytes()));
        text.push('.');
        URL_SAFE_NO_PAD.encode_string(secret.expose(), &mut text);
        (SecretText::new(text), hash(secret.expose()))
    }

    /// Parses a token strictly: one text for one token. The session's hashes decide whether the secret is right.
    pub fn parse(text: &str) -> Result<ParsedRefreshToken, MalformedRefreshToken> {
        let (names, secret) = text
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split_once('.'))
            .ok_or(MalformedRefreshToken)?;
        if text.len() != LENGTH {
            return Err(MalformedRefreshToken);
        }
        let (session, generation) = names.split_at_checked(32).ok_or(MalformedRefreshToken)?;
        let session = format!("{}{session}", SessionId::PREFIX)
            .parse()
            .map_err(|_| MalformedRefreshToken)?;
        let lower = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if generation.len() != 8 || !generation.bytes().all(lower) {
            return Err(MalformedRefreshToken);
        }
        let generation = u32::from_str_radix(generation, 16).map_err(|_| MalformedRefreshToken)?;
        let mut bytes = [0; 32];
        match URL_SAFE_NO_PAD.decode_slice(secret, &mut bytes) {
            Ok(32) => Ok(ParsedRefreshToken {
                session,
                generation,
                hash: hash(&bytes),
            }),
            _ => Err(MalformedRefreshToken),
        }
    }
}

fn hash(secret: &[u8; 32]) -> RefreshHash {
    RefreshHash(Sha256::digest(secret).into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn tokens(key: u8) -> RefreshTokenCodec {
        RefreshTokenCodec::new(&Key32::new([key; 32]))
    }

    /// Checks (case 45): a lost response can be sent again, and only the hash of the token is stored.
    #[test]
    fn case_45_the_same_successor_can_be_given_again() {
        let (first, stored) = tokens(1).issue(SessionId(7), 3);
        let (again, same) = tokens(1).issue(SessionId(7), 3);
        assert_eq!((first.expose(), stored), (again.expose(), same));
        let presented = RefreshTokenCodec::parse(first.expose()).unwrap();
        assert_eq!(
            presented,
            ParsedRefreshToken {
                session: SessionId(7),
                generation: 3,
                hash: stored
            }
        );
        assert_eq!(first.expose().len(), LENGTH);
    }

    /// Checks (case 45): no two sessions, generations or servers share a token, so an old one is never a new one.
    #[test]
    fn case_45_every_generation_session_and_key_has_its_own_secret() {
        let all = [(1, 7, 3), (1, 7, 4), (1, 8, 3), (2, 7, 3), (1, 7, u32::MAX)];
        let hashes: std::collections::HashSet<_> = all
            .iter()
            .map(|&(key, session, n)| tokens(key).issue(SessionId(session), n).1)
            .collect();
        assert_eq!(hashes.len(), all.len());
    }

    /// Checks: a token that names another session with a foreign secret parses, and its hash does not match.
    #[test]
    fn a_secret_moved_to_another_session_does_not_fit() {
        let (token, _) = tokens(1).issue(SessionId(7), 3);
        let moved = token.expose().replace(&format!("{:032x}", 7), &format!("{:032x}", 8));
        let presented = RefreshTokenCodec::parse(&moved).unwrap();
        assert_eq!(presented.session, SessionId(8));
        assert_ne!(presented.hash, tokens(1).issue(SessionId(8), 3).1);
    }

    /// Checks: only the exact form is accepted; no second text names the same token.
    #[test]
    fn other_forms_are_refused() {
        let (token, _) = tokens(1).issue(SessionId(0xabc), 3);
        let good = token.expose();
        let unused_bits = format!("{}B", &good[..good.len() - 1]);
        for text in [
            String::new(),
            "rt_".to_owned(),
            good.replace("rt_", "at_"),
            good.to_uppercase(),
            good.replace("abc", "ABC"),
            format!("{good}="),
            format!(" {good}"),
            good.replace('.', ""),
            good.replace('.', ".."),
            format!("rt_{}", "é".repeat(38)),
            unused_bits,
        ] {
            assert_eq!(RefreshTokenCodec::parse(&text), Err(MalformedRefreshToken), "{text}");
        }
    }
}
