//! Secrets derived from a key of the ring: HKDF with SHA-256 (RFC 5869). They are not stored, so they can be recomputed
//! from the ring alone, even if the store is lost.

use hkdf::Hkdf;
use purser_actors::id::CardId;
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{KeyId, ROOTED, Vault, VaultError, key_of};

/// Extraction salt: other uses of a key of the ring never derive an equal secret.
const SALT: &[u8] = b"purser vault derivation 1";

impl Vault {
    /// The key for a first derivation: the oldest. A newer one never replaces it, and it cannot be removed once a
    /// record of [`Vault::root`] names it. The same secrets are therefore derived before and after a restore.
    pub fn root_key(&self) -> KeyId {
        self.keyring.read().oldest_id()
    }

    /// 32 bytes for a purpose, from a key of the ring.
    ///
    /// # Errors
    /// [`VaultError::MissingKey`].
    pub fn derive(&self, id: KeyId, purpose: &[&[u8]]) -> Result<Zeroizing<[u8; 32]>, VaultError> {
        let keyring = self.keyring.read();
        let key = keyring.get(id).ok_or(VaultError::MissingKey(id))?;
        let mut derived = Zeroizing::new([0; 32]);
        Hkdf::<Sha256>::new(Some(SALT), key.expose_key())
            .expand_multi_info(purpose, &mut *derived)
            .map_err(|_| VaultError::Sealed("derivation"))?;
        Ok(derived)
    }

    /// Seals the source of a derivation permanently under [`Vault::root_key`]: such a record pins its key on the ring.
    ///
    /// # Errors
    /// As [`Vault::seal_bytes`].
    pub fn root(&self, id: CardId, plain: &[u8]) -> Result<Vec<u8>, VaultError> {
        let keyring = self.keyring.read();
        let key = keyring.oldest_id();
        let root = keyring.get(key).ok_or(VaultError::MissingKey(key))?;
        self.seal_under(ROOTED, (key, root), id, plain)
    }

    /// Opens such a record: the sealed bytes, and the key for derivation.
    ///
    /// # Errors
    /// As [`Vault::open_bytes`]; also for a record of another kind.
    pub fn open_root(&self, id: CardId, record: &[u8]) -> Result<(KeyId, Zeroizing<Vec<u8>>), VaultError> {
        if record.first() != Some(&ROOTED) {
            return Err(VaultError::Sealed("nothing is derived from it"));
        }
        Ok((key_of(record)?, self.open_bytes(id, record)?))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Checks: HKDF is that of RFC 5869 (appendix A, test case 1).
    #[test]
    fn derivation_is_hkdf_with_sha256() {
        let mut okm = [0; 42];
        let (ikm, salt) = ([0x0b; 22], hex::decode("000102030405060708090a0b0c").unwrap());
        let info = hex::decode("f0f1f2f3f4f5f6f7f8f9").unwrap();
        Hkdf::<Sha256>::new(Some(&salt), &ikm)
            .expand_multi_info(&[&info[..4], &info[4..]], &mut okm)
            .unwrap();
        let expected = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865";
        assert_eq!(hex::encode(okm), expected);
    }
}
