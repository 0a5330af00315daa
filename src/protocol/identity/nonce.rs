//! Sign-in nonces that need no table until they are used.
//!
//! A nonce is its issue time, 64 random bits, and an 80-bit MAC over these and the origin. It contains its own age, so
//! the signed `issuedAt` may come from the client.

use purser_actors::port::{Entropy, Timestamp};

use super::origin::Origin;
use purser_host::secret::{Key32, MacKey};

/// Lifetime of a challenge, in milliseconds (contract, Authentication, rule 4).
pub const CHALLENGE_LIFETIME_MS: u64 = 5 * 60 * 1000;

/// Bytes of a nonce: the time in milliseconds, the random bits, the MAC.
const TIME: usize = 6;
const RANDOM: usize = 8;
const MAC: usize = 10;
const NONCE_BYTES: usize = TIME + RANDOM + MAC;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedNonce {
    /// 48 lowercase hex digits: sign-in libraries only accept letters and digits.
    pub text: String,
    /// The instant that is offered as `issuedAt`.
    pub issued: Timestamp,
}

/// The key under which a used nonce is stored. It is the same for both chains, so that a nonce works only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UsedNonceKey {
    /// The nonce's time, its random bits and the first bits of its MAC.
    pub bytes: [u8; 16],
    /// The last millisecond at which it could be presented: store it until then.
    pub expires: Timestamp,
}

/// Issues and verifies nonces of one origin, for one purpose.
#[derive(Clone, Debug)]
pub struct Nonces {
    mac: MacKey,
    /// The origin, with a path for another purpose than sign-in.
    origin: String,
    not_before: Timestamp,
}

impl Nonces {
    /// `key` must be used for nothing else.
    pub fn new(key: &Key32, origin: &Origin) -> Self {
        Self {
            mac: MacKey::new(key),
            origin: origin.as_str().to_owned(),
            not_before: Timestamp(0),
        }
    }

    /// Nonces of another purpose at this path. Neither verifier accepts the other's: an origin has no path.
    #[must_use]
    pub fn of_path(&self, path: &str) -> Self {
        Self {
            origin: format!("{}{path}", self.origin),
            ..self.clone()
        }
    }

    /// Rejects nonces that were issued before this time.
    #[must_use]
    pub fn not_before(self, not_before: Timestamp) -> Self {
        Self { not_before, ..self }
    }

    /// Issues a nonce at `now`.
    pub fn issue(&self, now: Timestamp, entropy: &dyn Entropy) -> IssuedNonce {
        let mut bytes = [0; NONCE_BYTES];
        // 48 bits of milliseconds last until the year 10889.
        bytes[..TIME].copy_from_slice(&now.0.to_be_bytes()[8 - TIME..]);
        bytes[TIME..TIME + RANDOM].copy_from_slice(&entropy.random().to_be_bytes()[..RANDOM]);
        let (said, mac) = bytes.split_at_mut(TIME + RANDOM);
        let tag = self.mac.tag(&[said, self.origin.as_bytes()]);
        mac.copy_from_slice(&tag[..MAC]);
        IssuedNonce {
            text: hex::encode(bytes),
            issued: now,
        }
    }

    /// Verifies that we issued a nonce, and returns its issue time. `None` for every other text. Does not check its
    /// age.
    pub fn verify(&self, text: &str) -> Option<(Timestamp, UsedNonceKey)> {
        if text.bytes().any(|b| b.is_ascii_uppercase()) {
            return None;
        }
        let mut bytes = [0; NONCE_BYTES];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        let (said, mac) = bytes.split_at(TIME + RANDOM);
        if !self.mac.verify(&[said, self.origin.as_bytes()], mac) {
            return None;
        }
        let mut time = [0; 8];
        time[8 - TIME..].copy_from_slice(&said[..TIME]);
        let issued = Timestamp(u64::from_be_bytes(time));
        if issued < self.not_before {
            return None;
        }
        let key = UsedNonceKey {
            bytes: *bytes.first_chunk()?,
            expires: issued.plus_ms(CHALLENGE_LIFETIME_MS),
        };
        Some((issued, key))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::identity::test_entropy::CountingEntropy;

    fn nonces(key: u8, origin: &str) -> Nonces {
        Nonces::new(&Key32::new([key; 32]), &Origin::parse(origin).unwrap())
    }

    /// Checks: our nonce is recognised with its issue time, and is valid for five minutes.
    #[test]
    fn our_nonce_is_recognised_with_its_time() {
        let nonces = nonces(1, "https://a.example");
        let issued = nonces.issue(Timestamp(1000), &CountingEntropy::new(9));
        assert_eq!(issued.text.len(), 48);
        let (at, key) = nonces.verify(&issued.text).unwrap();
        assert_eq!(at, Timestamp(1000));
        assert_eq!(hex::encode(key.bytes), issued.text[..32]);
        assert_eq!(key.expires, Timestamp(301_000));
    }

    /// Checks (case 42): only a nonce of this server and origin with its original time is recognised.
    #[test]
    fn case_42_nonce_of_another_server_origin_or_time_is_rejected() {
        let ours = nonces(1, "https://a.example");
        let text = ours.issue(Timestamp(1000), &CountingEntropy::new(9)).text;
        assert!(ours.verify(&text).is_some());
        let later = ours.issue(Timestamp(1001), &CountingEntropy::new(9)).text;
        assert!(ours.verify(&format!("{}{}", &later[..12], &text[12..])).is_none());
        assert!(nonces(2, "https://a.example").verify(&text).is_none());
        assert!(nonces(1, "https://b.example").verify(&text).is_none());
        assert!(ours.verify(&text.to_uppercase()).is_none());
        assert!(ours.verify(&text[..46]).is_none());
        assert!(ours.verify(&format!("{text}00")).is_none());
        assert!(ours.verify("").is_none());
        assert!(ours.verify(&"a1b2c3d4".repeat(6)).is_none());
    }

    /// Checks: two challenges of the same millisecond differ.
    #[test]
    fn nonces_of_one_instant_differ() {
        let (nonces, entropy) = (nonces(1, "https://a.example"), CountingEntropy::new(9));
        assert_ne!(
            nonces.issue(Timestamp(1), &entropy).text,
            nonces.issue(Timestamp(1), &entropy).text
        );
    }
}
