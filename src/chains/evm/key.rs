//! Private keys of Base.

use std::fmt;

use alloy_primitives::{Address, B256, keccak256};
use secp256k1::ecdsa::RecoverableSignature;
use secp256k1::{Message, PublicKey, SecretKey};
use zeroize::Zeroizing;

/// The bytes are not a secp256k1 private key: zero, or not below the group order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid secp256k1 private key")]
pub struct KeyError;

/// A signature with its recovery id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Component r, big-endian.
    pub r: B256,
    /// Component s, big-endian, in the lower half of the group order (EIP-2).
    pub s: B256,
    /// Whether y of the point R is odd.
    pub y_parity: bool,
}

impl Signature {
    /// r, s and v (27 or 28), in the format of USDC and `ecrecover`.
    pub fn to_bytes(self) -> [u8; 65] {
        let mut bytes = [0; 65];
        bytes[..32].copy_from_slice(self.r.as_slice());
        bytes[32..64].copy_from_slice(self.s.as_slice());
        bytes[64] = self.v();
        bytes
    }

    /// Recovery value: 27 or 28.
    pub const fn v(self) -> u8 {
        27 + self.y_parity as u8
    }

    /// The signer of this digest; `None` if no key can have made the signature.
    pub fn recover(self, digest: B256) -> Option<Address> {
        let bytes = self.to_bytes();
        let recovery = i32::from(self.y_parity).try_into().ok()?;
        let signature = RecoverableSignature::from_compact(&bytes[..64], recovery).ok()?;
        let key = signature.recover(Message::from_digest(digest.0)).ok()?;
        Some(address(&key))
    }
}

/// A private key of secp256k1. Zeroised when dropped; never printed.
pub struct EvmKey {
    secret: Zeroizing<[u8; 32]>,
    address: Address,
}

impl EvmKey {
    /// Creates a key from its 32 bytes, big-endian.
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn from_bytes(secret: Zeroizing<[u8; 32]>) -> Result<Self, KeyError> {
        let mut key = SecretKey::from_secret_bytes(*secret).map_err(|_| KeyError)?;
        let address = address(&PublicKey::from_secret_key(&key));
        key.non_secure_erase();
        Ok(Self { secret, address })
    }

    /// Address of the key.
    pub const fn address(&self) -> Address {
        self.address
    }

    /// Signs a digest, deterministically (RFC 6979) and with low s.
    ///
    /// # Errors
    /// None for a key that [`EvmKey::from_bytes`] has accepted.
    pub fn sign(&self, digest: B256) -> Result<Signature, KeyError> {
        let mut key = SecretKey::from_secret_bytes(*self.secret).map_err(|_| KeyError)?;
        let signature = RecoverableSignature::sign_ecdsa_recoverable(Message::from_digest(digest.0), &key);
        key.non_secure_erase();
        let (recovery, bytes) = signature.serialize_compact();
        Ok(Signature {
            r: B256::from_slice(&bytes[..32]),
            s: B256::from_slice(&bytes[32..]),
            y_parity: u8::from(recovery) & 1 == 1,
        })
    }
}

impl fmt::Debug for EvmKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EvmKey({})", self.address)
    }
}

fn address(key: &PublicKey) -> Address {
    Address::from_slice(&keccak256(&key.serialize_uncompressed()[1..])[12..])
}
