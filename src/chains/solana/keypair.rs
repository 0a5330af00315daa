//! Ed25519 keys of fee payers, treasury and managed wallets.

use std::fmt;

use ed25519_dalek::{Signer as _, SigningKey};
use zeroize::Zeroizing;

use super::address::{Pubkey, base58, parse_base58};
use super::transaction::Signature;

/// An ed25519 key pair. The secret is zeroized on drop and never printed: `Debug` shows the address.
pub struct Keypair(SigningKey);

/// Why a text is not a secret key. No variant contains the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Neither of the two formats.
    #[error("a Solana key is a JSON array of 64 numbers (solana-keygen) or 64 bytes in base58")]
    Format,
    /// The last 32 bytes are not the public key of the first 32.
    #[error("the two halves of the Solana key do not belong together")]
    Mismatch,
}

impl Keypair {
    /// Derives the key pair from a 32-byte ed25519 seed.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// Parses a secret key: the JSON array of `solana-keygen`, or base58 of the same 64 bytes. Surrounding white space
    /// is ignored.
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        let secret: Zeroizing<[u8; 64]> = if text.starts_with('[') {
            let numbers: Zeroizing<Vec<u8>> = Zeroizing::new(serde_json::from_str(text).map_err(|_| KeyError::Format)?);
            Zeroizing::new(numbers.as_slice().try_into().map_err(|_| KeyError::Format)?)
        } else {
            Zeroizing::new(parse_base58(text).ok_or(KeyError::Format)?)
        };
        SigningKey::from_keypair_bytes(&secret)
            .map(Self)
            .map_err(|_| KeyError::Mismatch)
    }

    /// Address of the key pair.
    pub fn address(&self) -> Pubkey {
        self.0.verifying_key().to_bytes()
    }

    /// Signs message bytes.
    pub fn sign(&self, message: &[u8]) -> Signature {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for Keypair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keypair({})", base58(&self.address()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;

    #[test]
    fn both_formats_read_the_same_key() {
        let key = Keypair::from_seed(&[1; 32]);
        let mut secret = [1; 64];
        secret[32..].copy_from_slice(&key.address());
        let json = format!("{secret:?}\n");
        assert_eq!(Keypair::parse(&json).unwrap().address(), key.address());
        assert_eq!(Keypair::parse(&base58(&secret)).unwrap().address(), key.address());
        assert_eq!(base58(&key.address()), "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9");

        secret[40] ^= 1;
        assert_eq!(Keypair::parse(&base58(&secret)).unwrap_err(), KeyError::Mismatch);
        for text in ["", "[1,2]", "[256]", "{}", "not a key", &base58(&[1; 32])] {
            assert_eq!(Keypair::parse(text).unwrap_err(), KeyError::Format, "{text}");
        }
    }

    #[test]
    fn a_key_is_not_printed() {
        let shown = format!("{:?}", Keypair::from_seed(&[7; 32]));
        assert_eq!(
            shown,
            format!("Keypair({})", base58(&Keypair::from_seed(&[7; 32]).address()))
        );
        assert!(!shown.contains(&base58(&[7; 32])));
    }
}
