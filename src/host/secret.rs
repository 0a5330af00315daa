//! Values that must never be printed, logged or serialised by accident: secrets, credentials in text form, and MAC keys.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::{Zeroize, Zeroizing};

/// A secret: a card number, a CVV, a key. It has no `Display` and no `Serialize`, its `Debug` prints
/// `[secret]`, and its memory is overwritten on drop. The only access is [`Secret::expose_secret`], whose calls
/// can be counted in the source.
#[derive(Clone)]
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Exposes the value. Every caller is responsible for where it goes next.
    pub const fn expose_secret(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// A text that is itself a credential: a token, a code, a cookie value. Wiped when dropped, never printed.
#[derive(Clone)]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The text, for the only response that contains it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(..)")
    }
}

/// 32 secret bytes. Wiped when dropped, never printed.
#[derive(Clone)]
pub struct Key32(Zeroizing<[u8; 32]>);

impl Key32 {
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes, for the primitive that needs them.
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Key32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key32(..)")
    }
}

/// HMAC-SHA256 (RFC 2104) with its key schedule computed once.
///
/// A key serves one purpose. The parts of a message are joined without separators, so every caller passes parts of
/// fixed length; only the last one may vary.
#[derive(Clone)]
pub struct MacKey(Hmac<Sha256>);

impl MacKey {
    pub fn new(key: &Key32) -> Self {
        Self::filled(key.expose())
    }

    /// The MAC under a secret text, in the form of other servers of the same protocol. `None` unless it has 32 to 64
    /// bytes.
    pub fn of_text(secret: &SecretText) -> Option<Self> {
        let bytes = secret.expose().as_bytes();
        (32..=64).contains(&bytes.len()).then(|| Self::filled(bytes))
    }

    /// HMAC pads a short key with zeros to the block size, so this is the key itself; it has at most 64 bytes.
    fn filled(key: &[u8]) -> Self {
        let mut block = Zeroizing::new([0; 64]);
        block[..key.len()].copy_from_slice(key);
        Self(Hmac::new((&*block).into()))
    }

    /// The tag of the joined parts.
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; 32] {
        self.over(parts).finalize().into_bytes().into()
    }

    /// The key for tags of joined parts that begin with these.
    #[must_use]
    pub fn after(&self, parts: &[&[u8]]) -> Self {
        Self(self.over(parts))
    }

    /// Whether `tag` is a prefix of the tag of the joined parts, in constant time. An empty tag never is.
    pub fn verify(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        self.over(parts).verify_truncated_left(tag).is_ok()
    }

    fn over(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        mac
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // case_70: Debug output of any structure with a secret does not reveal it.
    #[test]
    fn case_70_debug_shows_nothing() {
        #[derive(Debug)]
        struct Card {
            number: Secret<String>,
        }
        let card = Card {
            number: Secret::new("4000001234567899".into()),
        };
        assert_eq!(format!("{card:?}"), "Card { number: [secret] }");
        assert_eq!(format!("{:#?}", card.number.clone()), "[secret]");
        assert_eq!(card.number.expose_secret(), "4000001234567899");
    }

    /// Checks: our key setup is the standard HMAC-SHA256 (the expected tag comes from Python's `hmac`).
    #[test]
    fn a_tag_is_hmac_sha256() {
        let key = MacKey::new(&Key32::new([0x0b; 32]));
        assert_eq!(
            hex::encode(key.tag(&[b"Hi ", b"There"])),
            "198a607eb44bfbc69903a0f1cf2bbdc5ba0aa3f3d9ae3c1c7a3b1696a0b68cf7"
        );
    }

    /// Checks: a truncated tag is accepted; an empty or wrong one is not.
    #[test]
    fn a_tag_verifies_whole_or_truncated_but_never_empty() {
        let key = MacKey::new(&Key32::new([7; 32]));
        let tag = key.tag(&[b"x"]);
        assert!(key.verify(&[b"x"], &tag));
        assert!(key.verify(&[b"x"], &tag[..8]));
        assert!(!key.verify(&[b"x"], &[]));
        assert!(!key.verify(&[b"y"], &tag[..8]));
    }

    /// Checks: Debug output contains no secret.
    #[test]
    fn secrets_print_nothing() {
        let text = SecretText::new("rt_hunter2".to_owned());
        let key = Key32::new([0xaa; 32]);
        assert_eq!(
            format!("{text:?} {key:?} {:?}", MacKey::new(&key)),
            "SecretText(..) Key32(..) MacKey(..)"
        );
    }
}
