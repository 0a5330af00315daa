//! The data directory: where each durable file is.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use purser_host::private_file;

/// A file or directory that could not be created or written.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {error}")]
pub struct DataDirError {
    /// What failed.
    pub what: String,
    pub error: io::Error,
}

/// Paths of all durable data.
pub struct DataDir {
    root: PathBuf,
}

impl DataDir {
    /// Paths under this root; nothing is created.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Creates the directory, accessible by its owner only.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(root: &Path) -> Result<Self, DataDirError> {
        let data = Self::at(root);
        for dir in [data.root.clone(), data.sandbox()] {
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&dir)
                .map_err(|error| DataDirError {
                    what: format!("cannot create {}", dir.display()),
                    error,
                })?;
        }
        Ok(data)
    }

    pub fn store(&self) -> PathBuf {
        self.root.join("store")
    }

    /// Files of the simulated chains and providers.
    pub fn sandbox(&self) -> PathBuf {
        self.root.join("sandbox")
    }

    pub fn identity_keys(&self) -> PathBuf {
        self.root.join("identity.keys")
    }

    /// Files that customers uploaded for the bank, each sealed.
    pub fn documents(&self) -> PathBuf {
        self.root.join("documents")
    }

    /// Temporary copies for backups.
    pub fn copies(&self) -> PathBuf {
        self.root.join("copies")
    }

    /// Keys of CVVs, one file each.
    pub fn cvv_keys(&self) -> PathBuf {
        self.root.join("cvv.keys")
    }

    /// Token of the sandbox's first operator.
    pub fn operator_token(&self) -> PathBuf {
        self.root.join("operator.token")
    }

    /// The revocation log.
    pub fn revocations(&self) -> PathBuf {
        self.root.join("revocations.log")
    }

    /// Last address of the operator server, for `purser admin`: the configured port may have been taken or 0.
    /// `None` if none was recorded.
    pub fn operator_address(&self) -> Option<SocketAddr> {
        self.written_address("operator.address")
    }

    /// Last address of the public server, as for [`DataDir::operator_address`].
    pub fn server_address(&self) -> Option<SocketAddr> {
        self.written_address("server.address")
    }

    fn written_address(&self, name: &str) -> Option<SocketAddr> {
        std::fs::read_to_string(self.root.join(name)).ok()?.trim().parse().ok()
    }

    /// Writes the addresses for [`DataDir::server_address`] and [`DataDir::operator_address`].
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write_addresses(&self, server: SocketAddr, operator: Option<SocketAddr>) -> Result<(), DataDirError> {
        for (name, address) in [("server.address", Some(server)), ("operator.address", operator)] {
            let path = self.root.join(name);
            let text = address.map_or(String::new(), |address| format!("{address}\n"));
            private_file::replace(&path, text.as_bytes()).map_err(|error| DataDirError {
                what: format!("cannot write {}", path.display()),
                error,
            })?;
        }
        Ok(())
    }

    pub fn vault_keys(&self) -> PathBuf {
        self.root.join("vault.keys")
    }
}
