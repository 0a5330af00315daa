//! Tokens of operators, of which only the hash is stored.

use purser_actors::port::Entropy;
use purser_host::secret::Secret;
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

/// The stored hash of a token. A token has 256 random bits, so one plain hash is enough.
pub fn hash_of(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}
