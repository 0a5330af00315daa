//! CVVs that operators enter: sealed records, each under its own key, which is destroyed when the card ends.
//!
//! The records are in the store, and so in its journal and its backups. The keys are only in a directory beside it, one
//! file each (mode 0600). Once such a file is destroyed, no copy of the record can be opened. A record is `version (1)
//! | key id (16) | nonce (24) | ciphertext and tag`, XChaCha20-Poly1305, bound to its card.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use purser_actors::id::CardId;
use purser_actors::port::{BoxFuture, Entropy, KeyShredder, PortError};
use zeroize::{Zeroize as _, Zeroizing};

use super::{VaultError, VaultRng};
use purser_host::secret::Secret;

const VERSION: u8 = 1;
const KEY_ID: usize = 16;
const NONCE: usize = 24;
const KEY: usize = 32;

/// Seals and opens CVVs, and destroys their keys.
#[derive(Clone, Debug)]
pub struct CvvVault(Arc<CvvVaultInner>);

#[derive(Debug)]
struct CvvVaultInner {
    keys: PathBuf,
    entropy: VaultRng,
}

impl CvvVault {
    /// Opens the directory of keys, or creates it.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn open(keys: &Path, entropy: Arc<dyn Entropy>) -> Result<Self, VaultError> {
        DirBuilder::new().recursive(true).mode(0o700).create(keys)?;
        Ok(Self(Arc::new(CvvVaultInner {
            keys: keys.to_owned(),
            entropy: VaultRng(entropy),
        })))
    }

    /// Seals a CVV of 3 or 4 digits under a new key, which is on disk before this returns. Blocks.
    ///
    /// # Errors
    /// [`VaultError::InvalidCardNumber`] for other text; when the disk fails.
    pub fn seal(&self, card: CardId, cvv: &Secret<String>) -> Result<Vec<u8>, VaultError> {
        let digits = cvv.expose_secret().as_bytes();
        if !(3..=4).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
            return Err(VaultError::InvalidCardNumber("CVV"));
        }
        let (key, random) = (self.0.entropy.bytes(), self.0.entropy.bytes());
        let id = self.0.entropy.bytes();
        let mut record = vec![VERSION];
        record.extend_from_slice(&id[..KEY_ID]);
        let mut nonce = [0; NONCE];
        nonce.copy_from_slice(&random[..NONCE]);
        let aad = associated(&record, card);
        let payload = Payload { msg: digits, aad: &aad };
        let sealed = cipher(&key).encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| VaultError::Sealed("cipher"))?;
        self.persist(&self.file(&id[..KEY_ID]), &key)?;
        record.extend_from_slice(&nonce);
        record.extend_from_slice(&sealed);
        Ok(record)
    }

    /// Opens a card's record; `None` once its key is destroyed or is being destroyed. Blocks.
    ///
    /// # Errors
    /// [`VaultError::Sealed`] when it is corrupt or another card's; when the disk fails.
    pub fn open_cvv(&self, card: CardId, record: &[u8]) -> Result<Option<Secret<String>>, VaultError> {
        let id = key_id(record)?;
        let key = match std::fs::read(self.file(id)).map(Zeroizing::new) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        // It is being destroyed: overwritten and not unlinked yet.
        if *key == [0; KEY] {
            return Ok(None);
        }
        let key: &[u8; KEY] = key.as_slice().try_into().map_err(|_| VaultError::Sealed("its key"))?;
        let (header, rest) = record.split_at(1 + KEY_ID);
        let (nonce, sealed) = rest
            .split_first_chunk::<NONCE>()
            .ok_or(VaultError::Sealed("truncated"))?;
        let aad = associated(header, card);
        let payload = Payload { msg: sealed, aad: &aad };
        let mut plain = cipher(key)
            .decrypt(&XNonce::from(*nonce), payload)
            .map_err(|_| VaultError::Sealed("changed, or another card's"))?;
        let digits = std::str::from_utf8(&plain).map(|digits| Secret::new(digits.to_owned()));
        let digits = digits.map_err(|_| VaultError::Sealed("content"));
        plain.zeroize();
        digits.map(Some)
    }

    /// Whether a record's key exists. Blocks.
    ///
    /// # Errors
    /// [`VaultError::Sealed`] for a malformed record; when the disk fails.
    pub fn has_key(&self, record: &[u8]) -> Result<bool, VaultError> {
        Ok(self.file(key_id(record)?).try_exists()?)
    }

    /// Number of keys. Blocks.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn keys(&self) -> Result<usize, VaultError> {
        let mut keys = 0;
        for file in std::fs::read_dir(&self.0.keys)? {
            file?;
            keys += 1;
        }
        Ok(keys)
    }

    /// Destroys a record's key: overwritten, unlinked, and the directory synced. Repeating it is not an error. Blocks.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn destroy_key(&self, record: &[u8]) -> Result<(), VaultError> {
        let path = self.file(key_id(record)?);
        match OpenOptions::new().write(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.into()),
            Ok(mut file) => {
                file.write_all(&[0; KEY])?;
                file.sync_all()?;
            }
        }
        std::fs::remove_file(&path)?;
        Ok(File::open(&self.0.keys)?.sync_all()?)
    }

    fn file(&self, id: &[u8]) -> PathBuf {
        self.0.keys.join(hex::encode(id))
    }

    fn persist(&self, path: &Path, key: &[u8; KEY]) -> Result<(), VaultError> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(key)?;
        file.sync_all()?;
        Ok(File::open(&self.0.keys)?.sync_all()?)
    }
}

impl KeyShredder for CvvVault {
    fn shred<'a>(&'a self, record: &'a [u8]) -> BoxFuture<'a, Result<(), PortError>> {
        let (vault, record) = (self.clone(), record.to_vec());
        Box::pin(async move {
            let forgotten = tokio::task::spawn_blocking(move || vault.destroy_key(&record)).await;
            let failed = |message: String| PortError {
                // Repeating it is harmless.
                kind: purser_actors::port::ErrorKind::Temporary,
                operation: "shred",
                message,
            };
            match forgotten {
                Ok(done) => done.map_err(|e| failed(e.to_string())),
                Err(error) => Err(failed(error.to_string())),
            }
        })
    }
}

fn key_id(record: &[u8]) -> Result<&[u8], VaultError> {
    match record {
        [VERSION, rest @ ..] if rest.len() > KEY_ID + NONCE => Ok(&rest[..KEY_ID]),
        _ => Err(VaultError::Sealed("no CVV")),
    }
}

fn associated(header: &[u8], card: CardId) -> Vec<u8> {
    [b"purser cvv".as_slice(), header, &card.0.to_be_bytes()].concat()
}

fn cipher(key: &[u8; KEY]) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(key.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use purser_host::system::SystemEntropy;

    const CARD: CardId = CardId(7);

    fn cvv(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    fn vault(dir: &Path) -> CvvVault {
        CvvVault::open(&dir.join("cvv.keys"), Arc::new(SystemEntropy)).unwrap()
    }

    fn opened(vault: &CvvVault, card: CardId, record: &[u8]) -> Option<String> {
        let opened = vault.open_cvv(card, record).unwrap();
        opened.map(|cvv| cvv.expose_secret().clone())
    }

    // Checks: a record opens only unchanged, for its own card and with its key directory, which is private.
    #[test]
    fn case_70_cvv_opens_only_for_its_card_with_its_key() {
        let dir = tempfile::tempdir().unwrap();
        let vault = vault(dir.path());
        let record = vault.seal(CARD, &cvv("123")).unwrap();
        assert!(!record.windows(3).any(|w| w == b"123"));
        assert_eq!(opened(&vault, CARD, &record).as_deref(), Some("123"));
        assert!(vault.open_cvv(CardId(8), &record).is_err());
        for at in 0..record.len() {
            let mut changed = record.clone();
            changed[at] ^= 1;
            assert!(!matches!(vault.open_cvv(CARD, &changed), Ok(Some(_))), "byte {at}");
        }
        let keys: Vec<_> = std::fs::read_dir(dir.path().join("cvv.keys")).unwrap().collect();
        let mode = keys[0].as_ref().unwrap().metadata().unwrap().permissions().mode();
        assert_eq!((keys.len(), mode & 0o777), (1, 0o600));
        for wrong in ["12", "12345", "12a", "", "１２３"] {
            assert!(
                matches!(vault.seal(CARD, &cvv(wrong)), Err(VaultError::InvalidCardNumber(_))),
                "{wrong}"
            );
        }
    }

    // Checks: a destroyed key leaves no file and opens nothing, and other cards' keys stay. Destroying it again is not
    // an error.
    #[test]
    fn a_destroyed_key_leaves_nothing_of_its_cvv() {
        let dir = tempfile::tempdir().unwrap();
        let vault = vault(dir.path());
        let (one, two) = (
            vault.seal(CARD, &cvv("123")).unwrap(),
            vault.seal(CARD, &cvv("4567")).unwrap(),
        );
        // Overwritten, before it is unlinked: a reader of that moment finds no key, and no error.
        let file = vault.file(key_id(&one).unwrap());
        std::fs::write(&file, [0; KEY]).unwrap();
        assert_eq!(opened(&vault, CARD, &one), None);
        vault.destroy_key(&one).unwrap();
        vault.destroy_key(&one).unwrap();
        assert_eq!(opened(&vault, CARD, &one), None);
        assert_eq!(opened(&vault, CARD, &two).as_deref(), Some("4567"));
        assert_eq!(std::fs::read_dir(dir.path().join("cvv.keys")).unwrap().count(), 1);
        assert!(vault.destroy_key(&one[..20]).is_err());
    }
}
