//! Certificate authorities that a client command trusts: the system's, and those of `--ca`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use super::CliError;

/// For https:// and wss:// addresses.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TlsArgs {
    /// Also trust the authorities in this PEM file, for https:// addresses
    #[arg(long, value_name = "FILE", env = "PURSER_CA", global = true)]
    pub ca: Option<PathBuf>,
}

impl TlsArgs {
    /// TLS settings: HTTP/1.1, over ring, with verified certificates.
    pub(super) fn config(&self) -> Result<ClientConfig, CliError> {
        let mut trusted = RootCertStore::empty();
        // A system without a store, or with a bad entry, is no reason to reject the authorities of `--ca`.
        trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(path) = &self.ca {
            for certificate in read(path)? {
                let added = trusted.add(certificate);
                added.map_err(|error| CliError::Usage(format!("--ca {}: {error}", path.display())))?;
            }
        }
        if trusted.is_empty() {
            let error = "this system trusts no certificate authority; name one with --ca FILE".to_owned();
            return Err(CliError::Usage(error));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let versions = versions.map_err(|error| CliError::Connection(format!("no TLS: {error}")))?;
        let mut config = versions.with_root_certificates(trusted).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// The certificates of a file, at least one.
fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, CliError> {
    let wrong = |why: String| CliError::Usage(format!("--ca {}: {why}", path.display()));
    let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let found = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    match found {
        Ok(found) if found.is_empty() => Err(wrong("there is no certificate in it".to_owned())),
        Ok(found) => Ok(found),
        Err(error) => Err(wrong(error.to_string())),
    }
}
