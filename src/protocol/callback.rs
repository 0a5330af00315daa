//! Signed provider callbacks, in the Standard Webhooks form: HMAC-SHA256 over `id.seconds.body`, base64, after `v1,`.
//! During a key rotation the header holds several signatures, separated by spaces.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser_actors::port::Timestamp;

use sha2::{Digest as _, Sha256};

use purser_host::secret::{Key32, MacKey, Secret};

/// Allowed difference between the sender's clock and ours, in seconds.
const TOLERANCE_S: u64 = 300;
/// Maximum length of the id, the signature header and the timestamp, in bytes.
const MAX_HEADER_LEN: usize = 512;

/// The three headers of a signed callback.
#[derive(Clone, Copy, Debug)]
pub struct SignedCallback<'a> {
    /// `webhook-id`: the same for every attempt of one callback.
    pub id: &'a str,
    /// `webhook-timestamp`: Unix seconds.
    pub at: &'a str,
    /// `webhook-signature`: one or more signatures.
    pub signature: &'a str,
}

/// A key for one provider's callbacks.
#[derive(Clone, Debug)]
pub struct CallbackKey(MacKey);

impl CallbackKey {
    /// Derives the key from the shared secret: the SHA-256 of its bytes.
    pub fn of_token(token: &Secret<String>) -> Self {
        Self::new(&Key32::new(Sha256::digest(token.expose_secret()).into()))
    }

    /// A key that only the provider and this service share.
    pub fn new(key: &Key32) -> Self {
        Self(MacKey::new(key))
    }

    /// The `webhook-signature` of a body.
    pub fn sign(&self, id: &str, at: &str, body: &[u8]) -> String {
        let tag = self.0.tag(&[id.as_bytes(), b".", at.as_bytes(), b".", body]);
        format!("v1,{}", STANDARD.encode(tag))
    }

    /// Whether the signature is valid and its timestamp is within the tolerance.
    pub fn verifies(&self, signed: SignedCallback<'_>, body: &[u8], now: Timestamp) -> bool {
        let SignedCallback { id, at, signature } = signed;
        let plain = |text: &str| !text.is_empty() && text.len() <= MAX_HEADER_LEN;
        // The parts are joined with dots, so the first two must not contain one.
        if ![id, at, signature].into_iter().all(plain) || id.contains('.') || !at.bytes().all(|b| b.is_ascii_digit()) {
            return false;
        }
        let recent = at
            .parse()
            .is_ok_and(|at: u64| at.abs_diff(now.seconds()) <= TOLERANCE_S);
        recent
            && signature
                .split(' ')
                .filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok())
                .any(|tag| {
                    let parts = [id.as_bytes(), b".", at.as_bytes(), b".", body];
                    tag.len() == 32 && self.0.verify(&parts, &tag)
                })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "1795176000";
    const NOW: Timestamp = Timestamp(1_795_176_000_000);

    fn signed<'a>(signature: &'a str, at: &'a str) -> SignedCallback<'a> {
        let id = "msg_1";
        SignedCallback { id, at, signature }
    }

    // Checks: the form is that of Standard Webhooks; the expected signature comes from Python's `hmac` and `base64`.
    #[test]
    fn a_signature_is_that_of_standard_webhooks() {
        let key = CallbackKey::new(&Key32::new([7; 32]));
        assert_eq!(
            key.sign("msg_1", AT, b"{\"a\":1}"),
            "v1,4qKGV6sbgKzU3vtJSwOZr4B+yQfs3hl8uTYI32UyHKo="
        );
    }

    // Checks: a signature is valid only for the exact body, id and timestamp, with our key and near its time. A second
    // signature beside a valid one changes nothing.
    #[test]
    fn only_what_the_provider_signed_lately_counts() {
        let key = CallbackKey::new(&Key32::new([7; 32]));
        let other = CallbackKey::new(&Key32::new([8; 32]));
        let good = key.sign("msg_1", AT, b"x");
        assert!(key.verifies(signed(&good, AT), b"x", NOW));
        assert!(key.verifies(signed(&format!("v1,AAAA {good}"), AT), b"x", NOW));
        assert!(key.verifies(signed(&good, AT), b"x", NOW.plus_ms(300_000)));
        assert!(!key.verifies(signed(&good, AT), b"x", NOW.plus_ms(301_000)));
        assert!(!key.verifies(signed(&good, AT), b"y", NOW));
        assert!(!other.verifies(signed(&good, AT), b"x", NOW));
        assert!(!key.verifies(signed(&good, "1795176001"), b"x", NOW));
        let id = "msg_2";
        let at = AT;
        let signature = good.as_str();
        assert!(!key.verifies(SignedCallback { id, at, signature }, b"x", NOW));
        for bad in ["", "v1,", "v1,AAAA", "v2,AAAA", &good[3..], &good[..good.len() - 4]] {
            assert!(!key.verifies(signed(bad, AT), b"x", NOW), "{bad}");
        }
    }

    // Checks: no other split of `id.seconds.body` has the same signature.
    #[test]
    fn signed_parts_cannot_be_split_differently() {
        let key = CallbackKey::new(&Key32::new([7; 32]));
        let signature = key.sign("a", AT, b"1795176000.x");
        let id = format!("a.{AT}");
        let shifted = SignedCallback {
            id: &id,
            at: AT,
            signature: &signature,
        };
        assert!(!key.verifies(shifted, b"x", NOW));
    }
}
