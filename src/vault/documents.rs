//! Uploaded documents: files, each sealed under its own key. The keys are sealed in the vault like every secret. A
//! change of the vault's key therefore touches no file, and a document without its key is unreadable.
//!
//! A file is `nonce (24) | ciphertext and tag`, XChaCha20-Poly1305, with the document's id authenticated.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use purser_actors::id::{CardId, DocumentId};
use purser_actors::port::Entropy;
use zeroize::Zeroizing;

use super::{NONCE, Vault, VaultError, VaultRng};
use purser_host::private_file;

/// First byte of a document's key: not a valid month, so a card number is never mistaken for it.
const KEY_TAG: u8 = 0xF3;

#[derive(Clone)]
pub struct DocumentStore {
    directory: Arc<Path>,
    vault: Arc<Vault>,
    entropy: Arc<dyn Entropy>,
}

impl DocumentStore {
    /// Opens or creates the directory.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn open(directory: PathBuf, vault: Arc<Vault>, entropy: Arc<dyn Entropy>) -> Result<Self, VaultError> {
        DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let directory = directory.into();
        Ok(Self {
            directory,
            vault,
            entropy,
        })
    }

    /// Stores a document durably and returns its key, sealed under its id. The document is unreadable until that key is
    /// stored.
    ///
    /// # Errors
    /// When the disk fails.
    pub async fn persist(&self, id: DocumentId, plain: Vec<u8>) -> Result<Vec<u8>, VaultError> {
        let random = VaultRng(self.entropy.clone());
        let (key, nonce) = (random.bytes(), random.bytes());
        let (cipher, nonce) = (XChaCha20Poly1305::new((&*key).into()), &nonce[..NONCE]);
        let payload = Payload {
            msg: &Zeroizing::new(plain),
            aad: &id.0.to_be_bytes(),
        };
        let mut whole = [0; NONCE];
        whole.copy_from_slice(nonce);
        let sealed = cipher.encrypt(&XNonce::from(whole), payload);
        let sealed = sealed.map_err(|_| VaultError::Sealed("cipher"))?;
        let bytes = [&whole[..], &sealed].concat();
        let path = self.path(id);
        tokio::task::spawn_blocking(move || private_file::replace(&path, &bytes))
            .await
            .map_err(|_| VaultError::Sealed("interrupted"))??;
        let mut tagged = Zeroizing::new(vec![KEY_TAG]);
        tagged.extend_from_slice(&*key);
        self.vault.seal_bytes(CardId(id.0), &tagged)
    }

    /// Opens a document by its sealed key.
    ///
    /// # Errors
    /// When the file or the vault's key is missing, or either was changed.
    pub async fn read(&self, id: DocumentId, sealed_key: &[u8]) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        let tagged = self.vault.open_bytes(CardId(id.0), sealed_key)?;
        let key = match tagged.split_first() {
            Some((&KEY_TAG, key)) => <&[u8; 32]>::try_from(key).ok(),
            _ => None,
        };
        let key = key.ok_or(VaultError::Sealed("no document's key"))?;
        let cipher = XChaCha20Poly1305::new(key.into());
        let path = self.path(id);
        let bytes = tokio::task::spawn_blocking(move || std::fs::read(path))
            .await
            .map_err(|_| VaultError::Sealed("interrupted"))??;
        let (nonce, sealed) = bytes.split_first_chunk().ok_or(VaultError::Sealed("truncated"))?;
        let payload = Payload {
            msg: sealed,
            aad: &id.0.to_be_bytes(),
        };
        let plain = cipher.decrypt(&XNonce::from(*nonce), payload);
        plain
            .map(Zeroizing::new)
            .map_err(|_| VaultError::Sealed("changed, or another document's"))
    }

    /// Removes the file of a document whose key is no longer stored, as far as possible.
    pub async fn delete(&self, id: DocumentId) {
        let path = self.path(id);
        let removed = tokio::task::spawn_blocking(move || std::fs::remove_file(path)).await;
        if !matches!(removed, Ok(Ok(()))) {
            tracing::debug!(%id, "a document without a key could not be removed");
        }
    }

    fn path(&self, id: DocumentId) -> PathBuf {
        self.directory.join(id.to_string())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use purser_host::system::SystemEntropy;

    fn open(root: &Path) -> DocumentStore {
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
        let vault = Vault::from_file(&root.join("vault.keys"), true, entropy.clone()).unwrap();
        DocumentStore::open(root.join("documents"), Arc::new(vault), entropy).unwrap()
    }

    // Checks: a document is read back unchanged across a restart, and its file contains no plaintext. It opens for its
    // own id and key only. A changed file is rejected, and a deleted one is gone.
    #[tokio::test]
    async fn a_document_opens_by_its_own_key_alone() {
        let root = tempfile::tempdir().unwrap();
        let documents = open(root.path());
        let (id, other) = (DocumentId(1), DocumentId(2));
        let key = documents.persist(id, b"where I live".to_vec()).await.unwrap();
        let foreign = documents.persist(other, b"where you live".to_vec()).await.unwrap();
        let documents = open(root.path());
        assert_eq!(**documents.read(id, &key).await.unwrap(), *b"where I live");
        let path = documents.path(id);
        let mut bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(6).any(|part| part == b"I live"));
        assert!(documents.read(id, &foreign).await.is_err());
        assert!(documents.read(other, &key).await.is_err());
        std::fs::copy(documents.path(other), &path).unwrap();
        assert!(documents.read(id, &key).await.is_err());
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(documents.read(id, &key).await.is_err());
        bytes[last] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(documents.read(id, &key).await.is_ok());
        documents.delete(id).await;
        assert!(documents.read(id, &key).await.is_err() && !path.exists());
    }
}
