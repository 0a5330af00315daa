//! Public keys of passkeys in their COSE form (RFC 9052, WebAuthn 6.5.1.1), and their signatures.

use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};

use super::PasskeyError;
use super::cbor::Reader;

/// COSE numbers of the algorithms, in our order of preference: ECDSA with P-256, Ed25519, and RSA for the TPMs behind
/// Windows Hello.
pub(super) const ALGORITHMS: [i32; 3] = [ES256, EDDSA, RS256];
const ES256: i32 = -7;
const EDDSA: i32 = -8;
const RS256: i32 = -257;

/// Labels of a key's members.
const KEY_TYPE: i32 = 1;
const ALGORITHM: i32 = 3;
const CURVE_OR_MODULUS: i32 = -1;
const X_OR_EXPONENT: i32 = -2;
const Y: i32 = -3;

const OKP: i32 = 1;
const EC2: i32 = 2;
const RSA: i32 = 3;
const P256: i32 = 1;
const ED25519: i32 = 6;
/// 65537, the only exponent in use.
const EXPONENT: [u8; 3] = [1, 0, 1];

/// A public key whose signatures can be verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// A point of P-256, uncompressed.
    Es256([u8; 65]),
    Ed25519([u8; 32]),
    /// Modulus of 2048 to 4096 bits.
    Rs256(Vec<u8>),
}

/// The value of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value<'a> {
    Number(i32),
    Bytes(&'a [u8]),
}

impl PublicKey {
    /// Reads a COSE key. Members that WebAuthn does not permit are rejected.
    ///
    /// # Errors
    /// [`PasskeyError::AlgorithmNotSupported`], or [`PasskeyError::Malformed`].
    pub fn parse(cose: &[u8]) -> Result<Self, PasskeyError> {
        const MALFORMED: PasskeyError = PasskeyError::Malformed("its public key is not a COSE key");
        let mut reader = Reader::new(cose);
        let mut members: Vec<(i32, Value<'_>)> = Vec::new();
        for _ in 0..reader.map()? {
            let label = reader.integer()?;
            let value = match reader.clone().bytes() {
                Ok(_) => Value::Bytes(reader.bytes()?),
                Err(_) => Value::Number(reader.integer()?),
            };
            if members.iter().any(|(other, _)| *other == label) {
                return Err(MALFORMED);
            }
            members.push((label, value));
        }
        reader.end()?;
        let find = |label| {
            members
                .iter()
                .find(|(other, _)| *other == label)
                .map(|(_, value)| *value)
        };
        let number = |label| match find(label) {
            Some(Value::Number(number)) => Ok(number),
            _ => Err(MALFORMED),
        };
        let bytes = |label| match find(label) {
            Some(Value::Bytes(bytes)) => Ok(bytes),
            _ => Err(MALFORMED),
        };
        let (key, count) = match (number(ALGORITHM)?, number(KEY_TYPE)?) {
            (ES256, EC2) if number(CURVE_OR_MODULUS)? == P256 => {
                let (x, y) = (bytes(X_OR_EXPONENT)?, bytes(Y)?);
                let point = [&[4], x, y].concat();
                let halves = x.len() == 32 && y.len() == 32;
                let point = point.try_into().ok().filter(|_| halves);
                (Self::Es256(point.ok_or(MALFORMED)?), 5)
            }
            (EDDSA, OKP) if number(CURVE_OR_MODULUS)? == ED25519 => {
                let point = bytes(X_OR_EXPONENT)?.try_into().map_err(|_| MALFORMED)?;
                (Self::Ed25519(point), 4)
            }
            (RS256, RSA) => {
                let modulus = bytes(CURVE_OR_MODULUS)?;
                let fits = (256..=512).contains(&modulus.len()) && modulus.first().is_some_and(|first| *first != 0);
                if !fits || bytes(X_OR_EXPONENT)? != EXPONENT {
                    return Err(PasskeyError::AlgorithmNotSupported);
                }
                (Self::Rs256(modulus.to_vec()), 4)
            }
            (ES256 | EDDSA | RS256, _) => return Err(MALFORMED),
            _ => return Err(PasskeyError::AlgorithmNotSupported),
        };
        (members.len() == count).then_some(key).ok_or(MALFORMED)
    }

    /// Whether the key has signed the message.
    pub fn verifies(&self, message: &[u8], signed: &[u8]) -> bool {
        let verified = match self {
            Self::Es256(point) => {
                UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_ASN1, point).verify(message, signed)
            }
            Self::Ed25519(point) => UnparsedPublicKey::new(&signature::ED25519, point).verify(message, signed),
            Self::Rs256(modulus) => {
                let key = RsaPublicKeyComponents {
                    n: &modulus[..],
                    e: &EXPONENT[..],
                };
                key.verify(&signature::RSA_PKCS1_2048_8192_SHA256, message, signed)
            }
        };
        verified.is_ok()
    }
}
