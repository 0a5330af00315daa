//! Tokens of operators, of which only the hash is stored.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser_actors::port::Entropy;
use purser_host::secret::{Secret, SecretText};
use sha2::{Digest as _, Sha256};

/// Prefix of a token, which makes leaked tokens recognizable.
const PREFIX: &str = "pop_";

/// A new token with 256 random bits.
pub fn new_token(entropy: &dyn Entropy) -> Secret<String> {
    Secret::new(format!("{PREFIX}{:032x}{:032x}", entropy.random(), entropy.random()))
}

/// Whether the text has the form of a token.
pub fn is_token(text: &str) -> bool {
    let digits = text.strip_prefix(PREFIX);
    digits.is_some_and(|digits| digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// A new session of the desk: the value of its cookie with 256 random bits, and the hash that is stored.
pub fn new_session(entropy: &dyn Entropy) -> (SecretText, [u8; 32]) {
    let bytes = [entropy.random().to_be_bytes(), entropy.random().to_be_bytes()].concat();
    let hash = Sha256::digest(&bytes).into();
    (SecretText::new(URL_SAFE_NO_PAD.encode(bytes)), hash)
}

/// The hash of a presented cookie value, or `None` if the text does not have the form of one.
pub fn session_hash(cookie: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    match URL_SAFE_NO_PAD.decode_slice(cookie, &mut bytes) {
        Ok(32) => Some(Sha256::digest(bytes).into()),
        _ => None,
    }
}

/// The stored hash of a token. A token has 256 random bits, so one plain hash is enough.
pub fn hash_of(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}
