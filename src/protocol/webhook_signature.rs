//! The signature of a webhook in the format of [Standard Webhooks](https://www.standardwebhooks.com): three headers.
//! One of them holds a signature by each active secret over `id.seconds.body`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue};
use purser_actors::port::Entropy;
use purser_host::secret::{Key32, SecretText};

use crate::callback::CallbackKey;

/// `webhook-id`: id of the message, the same on every attempt.
pub const ID: HeaderName = HeaderName::from_static("webhook-id");
/// `webhook-timestamp`: Unix seconds of the attempt. It uses the wall clock because verifiers compare with
/// theirs.
pub const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
/// `webhook-signature`: `v1,` and base64, one per secret, separated by spaces.
pub const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

const PREFIX: &str = "whsec_";

/// The secret of one endpoint: 32 bytes that only its owner and this service know.
#[derive(Clone, Debug)]
pub struct SigningSecret(Key32);

impl SigningSecret {
    pub fn new(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&entropy.random().to_be_bytes());
        bytes[16..].copy_from_slice(&entropy.random().to_be_bytes());
        Self(Key32::new(bytes))
    }

    /// From the owner's form: `whsec_` and base64.
    ///
    /// # Errors
    /// For any other text, or another length than 32 bytes.
    pub fn of_text(text: &SecretText) -> Option<Self> {
        let bytes = STANDARD.decode(text.expose().strip_prefix(PREFIX)?).ok()?;
        Some(Self(Key32::new(bytes.try_into().ok()?)))
    }

    /// The owner's form, for the only response that contains it.
    pub fn to_text(&self) -> SecretText {
        SecretText::new(format!("{PREFIX}{}", STANDARD.encode(self.0.expose())))
    }

    /// From the bytes that [`SigningSecret::expose`] returned.
    pub fn of_bytes(bytes: [u8; 32]) -> Self {
        Self(Key32::new(bytes))
    }

    /// The bytes, to be sealed.
    pub fn expose(&self) -> &[u8; 32] {
        self.0.expose()
    }

    pub fn sign(&self, id: &str, seconds: u64, body: &[u8]) -> String {
        CallbackKey::new(&self.0).sign(id, &seconds.to_string(), body)
    }
}

/// The three headers of a message.
pub fn headers(secrets: &[SigningSecret], id: &str, seconds: u64, body: &[u8]) -> Vec<(HeaderName, HeaderValue)> {
    let signatures: Vec<String> = secrets.iter().map(|secret| secret.sign(id, seconds, body)).collect();
    let value = |text: &str| HeaderValue::from_str(text).ok();
    let written = [
        (ID, value(id)),
        (TIMESTAMP, Some(HeaderValue::from(seconds))),
        (SIGNATURE, value(&signatures.join(" "))),
    ];
    written
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Checks: the format is that of Standard Webhooks; the expected signature comes from Python's `hmac` and
    // `base64`. A secret's text parses to the same secret.
    #[test]
    fn a_signature_is_that_of_standard_webhooks() {
        let secret = SigningSecret(Key32::new([7; 32]));
        assert_eq!(
            secret.sign("msg_1", 1_795_176_000, b"{\"a\":1}"),
            "v1,4qKGV6sbgKzU3vtJSwOZr4B+yQfs3hl8uTYI32UyHKo="
        );
        let again = SigningSecret::of_text(&secret.to_text()).unwrap();
        assert_eq!(again.sign("a", 1, b"b"), secret.sign("a", 1, b"b"));
        assert!(SigningSecret::of_text(&SecretText::new("whsec_AAAA".into())).is_none());
    }

    // Checks: two secrets make one header with two signatures, each as it is alone.
    #[test]
    fn case_62_two_secrets_make_two_signatures() {
        let (new, old) = (SigningSecret(Key32::new([1; 32])), SigningSecret(Key32::new([2; 32])));
        let both = headers(&[new.clone(), old.clone()], "evt_1", 5, b"x");
        let expected = format!("{} {}", new.sign("evt_1", 5, b"x"), old.sign("evt_1", 5, b"x"));
        assert_eq!(both[2], (SIGNATURE, HeaderValue::from_str(&expected).unwrap()));
        assert_eq!(
            (both[0].1.to_str().unwrap(), both[1].1.to_str().unwrap()),
            ("evt_1", "5")
        );
    }
}
