//! Sign-in nonces that need no table until they are used.
//!
//! A nonce is 64 random bits and a 64-bit MAC over origin, time of issue and those bits. The time travels beside it,
//! in the signed `issuedAt`; the MAC ties the two together to the millisecond.

use purser_actors::port::{Entropy, Timestamp};

use super::origin::Origin;
use super::secret::{Key32, MacKey};

/// How long a challenge can be answered, in milliseconds (contract, Authentication, rule 4).
pub const CHALLENGE_LIFETIME_MS: u64 = 5 * 60 * 1000;

/// A nonce just issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedNonce {
    /// 32 lowercase hex digits: sign-in libraries want letters and digits only.
    pub text: String,
    /// The instant that must stand in `issuedAt`.
    pub issued: Timestamp,
}

/// The name under which a used nonce is remembered. The same whatever chain signed it, so that it serves once in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NonceKey {
    /// The nonce.
    pub bytes: [u8; 16],
    /// The last millisecond at which it could be presented: remember it through this instant, then forget it.
    pub expires: Timestamp,
}

/// Makes and recognises nonces of one origin.
#[derive(Clone, Debug)]
pub struct Nonces {
    mac: MacKey,
    origin: String,
    not_before: Timestamp,
}

impl Nonces {
    /// With a key used for nothing else.
    pub fn new(key: &Key32, origin: &Origin) -> Self {
        Self {
            mac: MacKey::new(key),
            origin: origin.as_str().to_owned(),
            not_before: Timestamp(0),
        }
    }

    /// From now on a nonce that was issued before this is none of ours.
    #[must_use]
    pub fn not_before(self, not_before: Timestamp) -> Self {
        Self { not_before, ..self }
    }

    /// A new nonce, issued now.
    pub fn issue(&self, now: Timestamp, entropy: &dyn Entropy) -> IssuedNonce {
        let mut bytes = entropy.random().to_be_bytes();
        let (random, mac) = bytes.split_at_mut(8);
        let tag = self.mac.tag(&[&now.0.to_be_bytes(), random, self.origin.as_bytes()]);
        mac.copy_from_slice(&tag[..8]);
        IssuedNonce {
            text: hex::encode(bytes),
            issued: now,
        }
    }

    /// Recognises a nonce that we issued at `issued`. `None` for every other text. Says nothing about its age.
    pub fn recognise(&self, text: &str, issued: Timestamp) -> Option<NonceKey> {
        if issued < self.not_before || text.bytes().any(|b| b.is_ascii_uppercase()) {
            return None;
        }
        let mut bytes = [0; 16];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        let (random, mac) = bytes.split_at(8);
        self.mac
            .verify(&[&issued.0.to_be_bytes(), random, self.origin.as_bytes()], mac)
            .then_some(NonceKey {
                bytes,
                expires: issued.plus_ms(CHALLENGE_LIFETIME_MS),
            })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::identity::test_ports::Counting;

    fn nonces(key: u8, origin: &str) -> Nonces {
        Nonces::new(&Key32::new([key; 32]), &Origin::parse(origin).unwrap())
    }

    /// Aim: a nonce is ours with its own time of issue, and lives five minutes from then.
    #[test]
    fn our_nonce_is_recognised_with_its_time() {
        let nonces = nonces(1, "https://a.example");
        let issued = nonces.issue(Timestamp(1000), &Counting::new(9));
        assert_eq!(issued.text.len(), 32);
        let key = nonces.recognise(&issued.text, issued.issued).unwrap();
        assert_eq!(hex::encode(key.bytes), issued.text);
        assert_eq!(key.expires, Timestamp(301_000));
    }

    /// Aim (case 42): nothing but a nonce of this server, this origin and this instant is recognised.
    #[test]
    fn case_42_a_nonce_of_another_server_origin_or_time_is_not_ours() {
        let ours = nonces(1, "https://a.example");
        let text = ours.issue(Timestamp(1000), &Counting::new(9)).text;
        assert!(ours.recognise(&text, Timestamp(1001)).is_none());
        assert!(ours.recognise(&text, Timestamp(999)).is_none());
        assert!(
            nonces(2, "https://a.example")
                .recognise(&text, Timestamp(1000))
                .is_none()
        );
        assert!(
            nonces(1, "https://b.example")
                .recognise(&text, Timestamp(1000))
                .is_none()
        );
        assert!(ours.recognise(&text.to_uppercase(), Timestamp(1000)).is_none());
        assert!(ours.recognise(&text[..30], Timestamp(1000)).is_none());
        assert!(ours.recognise(&format!("{text}00"), Timestamp(1000)).is_none());
        assert!(ours.recognise("", Timestamp(1000)).is_none());
        assert!(
            ours.recognise("a1b2c3d4e5f67890a1b2c3d4e5f67890", Timestamp(1000))
                .is_none()
        );
    }

    /// Aim: two challenges of the same millisecond differ.
    #[test]
    fn nonces_of_one_instant_differ() {
        let (nonces, entropy) = (nonces(1, "https://a.example"), Counting::new(9));
        assert_ne!(
            nonces.issue(Timestamp(1), &entropy).text,
            nonces.issue(Timestamp(1), &entropy).text
        );
    }
}
