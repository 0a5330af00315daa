//! Authentication at Coinbase's Developer Platform: a JWT for each call, bound to its method, host and path, valid for
//! 120 s.
//!
//! The key is Ed25519 (base64 of 64 bytes: seed and public key; the JWT's `alg` is `EdDSA`) or P-256 (PEM, `EC PRIVATE
//! KEY` of RFC 5915 or `PRIVATE KEY` of RFC 5208; `ES256`). An ES256 signature is r and s, 32 bytes each (RFC 7518,
//! section 3.4).

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ed25519_dalek::{Signer as _, SigningKey};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::json;
use zeroize::Zeroizing;

use purser_host::system::SystemRandom;

/// Validity of a token in seconds.
const TOKEN_TTL_S: u64 = 120;

/// DER tags (X.690).
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;
const PUBLIC_KEY: u8 = 0xa1;

/// A secret API key.
#[derive(Clone)]
pub struct CdpKey {
    id: String,
    secret: Algorithm,
}

#[derive(Clone)]
enum Algorithm {
    Ed25519(Arc<SigningKey>),
    P256(Arc<EcdsaKeyPair>),
}

impl fmt::Debug for CdpKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CdpKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Why a text is not a key. Does not quote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no API key of CDP: {0}")]
pub struct InvalidKey(&'static str);

impl CdpKey {
    /// Parses a key in the format of CDP's portal. Line breaks of a PEM may be written as `\n`.
    ///
    /// # Errors
    /// Why the text is not a key.
    pub fn parse(id: &str, secret: &str) -> Result<Self, InvalidKey> {
        let secret = match secret.contains("-----BEGIN") {
            true => p256(secret)?,
            false => ed25519(secret)?,
        };
        Ok(Self {
            id: id.to_owned(),
            secret,
        })
    }

    /// A token for one call. `nonce` must be new for each call.
    ///
    /// # Errors
    /// When the system provides no randomness.
    pub fn token(
        &self,
        (method, host, path): (&str, &str, &str),
        now_s: u64,
        nonce: u128,
    ) -> Result<String, InvalidKey> {
        let alg = match self.secret {
            Algorithm::Ed25519(_) => "EdDSA",
            Algorithm::P256(_) => "ES256",
        };
        let header = json!({"alg": alg, "typ": "JWT", "kid": self.id, "nonce": format!("{nonce:032x}")});
        let claims = json!({
            "iss": "cdp",
            "sub": self.id,
            "iat": now_s,
            "nbf": now_s,
            "exp": now_s.saturating_add(TOKEN_TTL_S),
            "uris": [format!("{method} {host}{path}")],
        });
        let encoded = |part: serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encoded(header), encoded(claims));
        let signature = match &self.secret {
            Algorithm::Ed25519(key) => key.sign(signed.as_bytes()).to_bytes().to_vec(),
            Algorithm::P256(key) => {
                let signature = key.sign(&SystemRandom::new(), signed.as_bytes());
                let signature = signature.map_err(|_| InvalidKey("it does not sign"))?;
                signature.as_ref().to_vec()
            }
        };
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

fn ed25519(secret: &str) -> Result<Algorithm, InvalidKey> {
    let bytes = STANDARD.decode(secret.trim()).map(Zeroizing::new);
    let bytes = bytes.map_err(|_| InvalidKey("neither PEM nor base64"))?;
    let whole: &[u8; 64] = bytes
        .as_slice()
        .try_into()
        .map_err(|_| InvalidKey("an Ed25519 key has 64 bytes"))?;
    let key = SigningKey::from_keypair_bytes(whole);
    key.map(|key| Algorithm::Ed25519(Arc::new(key)))
        .map_err(|_| InvalidKey("its two halves do not belong together"))
}

fn p256(secret: &str) -> Result<Algorithm, InvalidKey> {
    const ENDS: InvalidKey = InvalidKey("the PEM has no end");
    let text = Zeroizing::new(secret.replace("\\n", "\n"));
    let body = text
        .split_once("-----BEGIN ")
        .and_then(|(_, rest)| rest.split_once("-----"));
    let (label, rest) = body.ok_or(ENDS)?;
    let (body, _) = rest.split_once("-----END").ok_or(ENDS)?;
    let digits: Zeroizing<String> = Zeroizing::new(body.split_whitespace().collect());
    let der = STANDARD.decode(digits.as_bytes()).map(Zeroizing::new);
    let der = der.map_err(|_| InvalidKey("the PEM is no base64"))?;
    let inner = match label {
        "EC PRIVATE KEY" => Some(der.as_slice()),
        "PRIVATE KEY" => pkcs8(&der),
        _ => {
            return Err(InvalidKey(
                "the PEM is of another kind: EC PRIVATE KEY or PRIVATE KEY is needed",
            ));
        }
    };
    let halves = inner.and_then(ec_private_key);
    let (private, public) = halves.ok_or(InvalidKey("no P-256 key with its public half"))?;
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let key = EcdsaKeyPair::from_private_key_and_public_key(algorithm, private, public, &SystemRandom::new());
    key.map(|key| Algorithm::P256(Arc::new(key)))
        .map_err(|_| InvalidKey("no P-256 key, or its two halves do not belong together"))
}

/// Reads one DER element: its tag, its content, and the remaining bytes.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let [tag, first, rest @ ..] = der else { return None };
    let (length, rest) = match (*first, rest) {
        (short @ 0..=0x7f, rest) => (usize::from(short), rest),
        (0x81, [one, rest @ ..]) => (usize::from(*one), rest),
        (0x82, [high, low, rest @ ..]) => (usize::from(u16::from_be_bytes([*high, *low])), rest),
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

/// The content of an element with this tag, and the remaining bytes.
fn expect(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, content, rest) = element(der)?;
    (found == tag).then_some((content, rest))
}

/// The key inside a PKCS#8 structure: version, algorithm, key.
fn pkcs8(der: &[u8]) -> Option<&[u8]> {
    let (whole, _) = expect(der, SEQUENCE)?;
    let (_, rest) = expect(whole, INTEGER)?;
    let (_, rest) = expect(rest, SEQUENCE)?;
    expect(rest, OCTET_STRING).map(|(key, _)| key)
}

/// Private and public half of an `ECPrivateKey`: version, key, optional parameters, public key.
fn ec_private_key(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (whole, _) = expect(der, SEQUENCE)?;
    let (_, rest) = expect(whole, INTEGER)?;
    let (private, mut rest) = expect(rest, OCTET_STRING)?;
    loop {
        let (tag, content, after) = element(rest)?;
        if tag == PUBLIC_KEY {
            let (bits, _) = expect(content, BIT_STRING)?;
            // The first byte is the number of unused bits, which is 0.
            return bits.split_first().map(|(_, public)| (private, public));
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, KeyPair as _, UnparsedPublicKey, VerificationAlgorithm};
    use serde_json::Value;

    use super::*;

    /// A new P-256 key as PKCS#8.
    fn pkcs8_key() -> Vec<u8> {
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        made.unwrap().as_ref().to_vec()
    }

    fn pem(label: &str, der: &[u8], line: &str) -> String {
        let body = STANDARD.encode(der);
        format!("-----BEGIN {label}-----{line}{body}{line}-----END {label}-----{line}")
    }

    fn ed25519_key() -> (String, [u8; 32]) {
        let key = SigningKey::from_bytes(&[7; 32]);
        (STANDARD.encode(key.to_keypair_bytes()), key.verifying_key().to_bytes())
    }

    /// Header and claims of a token with a valid signature.
    fn verify_token(token: &str, algorithm: &'static dyn VerificationAlgorithm, public: &[u8]) -> (Value, Value) {
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let key = UnparsedPublicKey::new(algorithm, public);
        key.verify(signed.as_bytes(), &signature).unwrap();
        let (header, claims) = signed.split_once('.').unwrap();
        let part = |text: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
        (part(header), part(claims))
    }

    const CALL: (&str, &str, &str) = ("POST", "api.cdp.coinbase.com", "/platform/v2/x402/settle");

    // Checks: with both kinds of key, a token is bound to its call and valid for 120 s, and verifies with the public
    // half.
    #[test]
    fn a_token_is_for_one_call_and_two_minutes() {
        let (secret, public) = ed25519_key();
        let key = CdpKey::parse("key one", &secret).unwrap();
        let (header, claims) = verify_token(&key.token(CALL, 1_000, 5).unwrap(), &ED25519, &public);
        assert_eq!(
            header,
            json!({"alg": "EdDSA", "typ": "JWT", "kid": "key one", "nonce": format!("{:032x}", 5)})
        );
        let uris = json!(["POST api.cdp.coinbase.com/platform/v2/x402/settle"]);
        let expected = json!({"iss": "cdp", "sub": "key one", "iat": 1_000, "nbf": 1_000, "exp": 1_120, "uris": uris});
        assert_eq!(claims, expected);

        let der = pkcs8_key();
        let made = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &SystemRandom::new()).unwrap();
        let public = made.public_key().as_ref();
        let sec1 = pkcs8(&der).unwrap();
        let secrets = [
            pem("PRIVATE KEY", &der, "\n"),
            pem("EC PRIVATE KEY", sec1, "\n"),
            pem("EC PRIVATE KEY", sec1, "\\n"),
        ];
        for secret in secrets {
            let key = CdpKey::parse("key two", &secret).unwrap();
            let (header, claims) = verify_token(&key.token(CALL, 1_000, 6).unwrap(), &ECDSA_P256_SHA256_FIXED, public);
            assert_eq!((&header["alg"], &header["kid"]), (&json!("ES256"), &json!("key two")));
            assert_eq!(claims["uris"], uris);
            assert!(!format!("{key:?}").contains(&secret));
        }
    }

    // Checks: an invalid key is rejected when the settings are read, and the error quotes none of it.
    #[test]
    fn what_is_no_key_is_refused() {
        let der = pkcs8_key();
        let sec1 = pkcs8(&der).unwrap();
        let (mut private_of_other, other) = (sec1.to_vec(), pkcs8_key());
        // Version and tag precede the 32 bytes of the private half.
        private_of_other[7..39].copy_from_slice(&pkcs8(&other).unwrap()[7..39]);
        let mut halves = SigningKey::from_bytes(&[7; 32]).to_keypair_bytes();
        halves[40] ^= 1;
        let wrong = [
            String::new(),
            "no key".to_owned(),
            STANDARD.encode([1; 32]),
            STANDARD.encode(halves),
            "-----BEGIN PRIVATE KEY-----\nMC4C".to_owned(),
            pem("RSA PRIVATE KEY", &der, "\n"),
            pem("PRIVATE KEY", &der[..60], "\n"),
            pem("EC PRIVATE KEY", &private_of_other, "\n"),
            pem("EC PRIVATE KEY", &[0x30, 0x84, 1, 1, 1, 1], "\n"),
        ];
        for secret in wrong {
            let error = CdpKey::parse("id", &secret).unwrap_err().to_string();
            assert!(error.starts_with("is no API key of CDP"), "{error}");
        }
    }
}
