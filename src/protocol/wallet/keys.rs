//! The two keys of a wallet, and its file.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use k256::ecdsa::SigningKey as EvmKey;
use purser_actors::id::{Network, Wallet};
use purser_actors::port::Entropy;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::WalletError;
use crate::payment::evm::{address_of_point, checksummed};
use crate::payment::solana::address::{Pubkey, base58};
use purser_host::private_file;

/// A wallet on both chains. Its `Debug` output never contains its keys.
pub struct TestWallet {
    pub(super) evm: EvmKey,
    pub(super) solana: ed25519_dalek::SigningKey,
    evm_address: [u8; 20],
}

impl fmt::Debug for TestWallet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestWallet")
            .field("base", &self.address(Network::Base))
            .finish_non_exhaustive()
    }
}

/// File format. Addresses are for the reader; the keys are authoritative.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct WalletFile {
    note: String,
    base: StoredKey,
    solana: StoredKey,
}

#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct StoredKey {
    address: String,
    private_key_hex: String,
}

/// A wallet file is a few hundred bytes.
const MAX_FILE_BYTES: u64 = 16 * 1024;

impl TestWallet {
    /// From a secp256k1 private key and an ed25519 seed.
    ///
    /// # Errors
    /// [`WalletError::BadKey`] when the first is zero or not below the group's order.
    pub fn from_bytes(evm: &[u8; 32], solana: &[u8; 32]) -> Result<Self, WalletError> {
        let evm = EvmKey::from_slice(evm).map_err(|_| WalletError::BadKey)?;
        let mut point = [0; 65];
        point.copy_from_slice(evm.verifying_key().to_sec1_point(false).as_bytes());
        let evm_address = address_of_point(&point);
        Ok(Self {
            evm,
            solana: ed25519_dalek::SigningKey::from_bytes(solana),
            evm_address,
        })
    }

    /// Creates a wallet with random keys.
    ///
    /// # Errors
    /// [`WalletError::BadKey`] with a chance of about 2^-128.
    pub fn create(entropy: &dyn Entropy) -> Result<Self, WalletError> {
        let (evm, solana) = (Zeroizing::new(random_32(entropy)), Zeroizing::new(random_32(entropy)));
        Self::from_bytes(&evm, &solana)
    }

    /// Opens a wallet file.
    ///
    /// # Errors
    /// [`WalletError::File`] when it cannot be read, [`WalletError::BadFile`] when it is not a wallet or other users
    /// may read it.
    pub fn load(path: &Path) -> Result<Self, WalletError> {
        let failed = |source| WalletError::File {
            path: path.to_owned(),
            source,
        };
        let bad = |what| WalletError::BadFile {
            path: path.to_owned(),
            what,
        };
        let file = File::open(path).map_err(failed)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            if file.metadata().map_err(failed)?.permissions().mode() & 0o077 != 0 {
                return Err(bad("can be read by others; make it private with chmod 600"));
            }
        }
        let mut text = Zeroizing::new(Vec::new());
        file.take(MAX_FILE_BYTES).read_to_end(&mut text).map_err(failed)?;
        let stored: WalletFile = serde_json::from_slice(&text).map_err(|_| bad("is not a wallet file"))?;
        let key = |key: &StoredKey| {
            let mut bytes = Zeroizing::new([0; 32]);
            hex::decode_to_slice(&key.private_key_hex, bytes.as_mut())
                .map_err(|_| bad("holds a key that is not 64 hex digits"))?;
            Ok::<_, WalletError>(bytes)
        };
        Self::from_bytes(&*key(&stored.base)?, &*key(&stored.solana)?)
    }

    /// Opens a wallet file, or creates a wallet with its file (and the folder) if there is none. The flag tells whether
    /// it was created. An existing file is never written to.
    ///
    /// # Errors
    /// As [`TestWallet::load`].
    pub fn load_or_create(path: &Path, entropy: &dyn Entropy) -> Result<(Self, bool), WalletError> {
        match Self::load(path) {
            Err(WalletError::File { source, .. }) if source.kind() == ErrorKind::NotFound => {}
            other => return other.map(|wallet| (wallet, false)),
        }
        let wallet = Self::create(entropy)?;
        match wallet.store(path) {
            Ok(true) => Ok((wallet, true)),
            // Another process was first: its wallet is used, and ours was never used.
            Ok(false) => Self::load(path).map(|wallet| (wallet, false)),
            Err(source) => Err(WalletError::File {
                path: path.to_owned(),
                source,
            }),
        }
    }

    /// Returns whether the file was created; an existing one is never replaced.
    fn store(&self, path: &Path) -> std::io::Result<bool> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)?;
        }
        let stored = WalletFile {
            note: "purser test wallet: private keys, for small amounts only".to_owned(),
            base: StoredKey {
                address: self.address(Network::Base),
                private_key_hex: hex::encode(self.evm.to_bytes()),
            },
            solana: StoredKey {
                address: self.address(Network::Solana),
                private_key_hex: hex::encode(self.solana.as_bytes()),
            },
        };
        let text = Zeroizing::new(serde_json::to_vec_pretty(&stored)?);
        private_file::create(path, &text)
    }

    pub const fn evm_address(&self) -> [u8; 20] {
        self.evm_address
    }

    pub fn solana_address(&self) -> Pubkey {
        self.solana.verifying_key().to_bytes()
    }

    pub fn account(&self, network: Network) -> Wallet {
        match network {
            Network::Base => Wallet::Evm(self.evm_address),
            Network::Solana => Wallet::Solana(self.solana_address()),
        }
    }

    /// The address as stock clients write it: EIP-55 on Base, base58 on Solana.
    pub fn address(&self, network: Network) -> String {
        match network {
            Network::Base => checksummed(&self.evm_address),
            Network::Solana => base58(&self.solana_address()),
        }
    }
}

pub(super) fn random_32(entropy: &dyn Entropy) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&entropy.random().to_be_bytes());
    bytes[16..].copy_from_slice(&entropy.random().to_be_bytes());
    bytes
}
