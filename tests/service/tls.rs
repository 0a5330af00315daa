//! TLS in front of a service, as a proxy adds it, with a localhost certificate of the test authority.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// The authority that clients must trust.
pub(crate) fn authority() -> PathBuf {
    folder().join("authority.pem")
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tls")
}

/// A TLS proxy on its own address.
pub(crate) struct Front {
    listener: TcpListener,
    /// The URL for clients.
    pub(crate) url: String,
}

impl Front {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        Self { listener, url }
    }

    /// Forwards to this host and port from now on.
    pub(crate) fn pass_on_to(self, authority: &str) {
        let authority = authority.to_owned();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chain = CertificateDer::from_pem_file(folder().join("server.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(folder().join("server.key")).unwrap();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![chain], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        tokio::spawn(async move {
            while let Ok((socket, _)) = self.listener.accept().await {
                let (acceptor, authority) = (acceptor.clone(), authority.clone());
                tokio::spawn(async move {
                    let Ok(mut outside) = acceptor.accept(socket).await else {
                        return;
                    };
                    let Ok(mut inside) = TcpStream::connect(authority).await else {
                        return;
                    };
                    let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
                });
            }
        });
    }
}
