//! The signature of an EIP-3009 payment.

use bincode::de::read::Reader as _;
use bincode::de::{Decode, Decoder};
use bincode::enc::write::Writer as _;
use bincode::enc::{Encode, Encoder};
use bincode::error::{DecodeError, EncodeError};

/// Signature of a payer on Base: the 65 bytes r, s, v of a key, or a contract wallet's bytes (ERC-1271, ERC-6492) of
/// any length up to [`EvmSignature::MAX_BYTES`]. A contract wallet's signature may have 65 bytes too, so the length
/// does not tell which of both it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvmSignature(Bytes);

/// 65 bytes are always `Ecdsa`, so that equal bytes are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bytes {
    Ecdsa([u8; 65]),
    Other(Box<[u8]>),
}

/// Marks a longer signature, in the byte of v, where a key's signature has 0, 1, 27 or 28. Length and bytes follow.
/// A key's signature is stored as its 65 bytes, which never have this value there.
const LONG: u8 = 0xff;

impl EvmSignature {
    /// Largest length in bytes.
    pub const MAX_BYTES: usize = 4 * 1024;

    /// r, s and v.
    pub const fn ecdsa(bytes: [u8; 65]) -> Self {
        Self(Bytes::Ecdsa(bytes))
    }

    /// Of any length; `None` for more than [`Self::MAX_BYTES`] bytes.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        match <[u8; 65]>::try_from(bytes) {
            Ok(bytes) => Some(Self::ecdsa(bytes)),
            Err(_) => (bytes.len() <= Self::MAX_BYTES).then(|| Self(Bytes::Other(bytes.into()))),
        }
    }

    /// All bytes of the signature.
    pub const fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Ecdsa(bytes) => bytes,
            Bytes::Other(bytes) => bytes,
        }
    }

    /// The signature if it has 65 bytes. A key's signature always has.
    pub const fn as_ecdsa(&self) -> Option<&[u8; 65]> {
        match &self.0 {
            Bytes::Ecdsa(bytes) => Some(bytes),
            Bytes::Other(_) => None,
        }
    }
}

impl From<[u8; 65]> for EvmSignature {
    fn from(bytes: [u8; 65]) -> Self {
        Self::ecdsa(bytes)
    }
}

impl AsRef<[u8]> for EvmSignature {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Encode for EvmSignature {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        match &self.0 {
            Bytes::Ecdsa(bytes) if bytes[64] != LONG => bytes.encode(encoder),
            _ => {
                let mut head = [0; 65];
                head[64] = LONG;
                head.encode(encoder)?;
                let length = u16::try_from(self.as_bytes().len());
                length
                    .map_err(|_| EncodeError::Other("a signature of more than 4 KiB"))?
                    .encode(encoder)?;
                encoder.writer().write(self.as_bytes())
            }
        }
    }
}

impl<Context> Decode<Context> for EvmSignature {
    fn decode<D: Decoder<Context = Context>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let head = <[u8; 65]>::decode(decoder)?;
        if head[64] != LONG {
            return Ok(Self::ecdsa(head));
        }
        let length = usize::from(u16::decode(decoder)?);
        if length > Self::MAX_BYTES {
            return Err(DecodeError::Other("a signature of more than 4 KiB"));
        }
        decoder.claim_bytes_read(length)?;
        let mut bytes = vec![0; length];
        decoder.reader().read(&mut bytes)?;
        Self::new(&bytes).ok_or(DecodeError::Other("a signature of more than 4 KiB"))
    }
}

bincode::impl_borrow_decode!(EvmSignature);
