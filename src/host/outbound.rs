//! Outgoing HTTP calls. Calls whose target a user names go through the address filter.

pub mod address_policy;
pub mod client;
pub mod resolver;

use std::sync::Once;

use reqwest::ClientBuilder;
use reqwest::redirect::Policy;

/// Base of all our HTTP clients: TLS by rustls over ring, and redirects are not followed. A signed payment or secret
/// for one host is therefore never sent to another.
pub fn client() -> ClientBuilder {
    static TLS: Once = Once::new();
    // Once per process; an earlier caller has installed the same provider.
    TLS.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    reqwest::Client::builder().redirect(Policy::none())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Checks: a client uses TLS, and sends nothing to a server without a certificate.
    #[tokio::test]
    async fn a_server_without_a_certificate_is_no_server() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let plain = tokio::spawn(async move {
            use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut first = [0; 1];
            socket.read_exact(&mut first).await.unwrap();
            socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            first[0]
        });
        let client = client().no_proxy().build().unwrap();
        let error = client.get(format!("https://{address}/")).send().await.unwrap_err();
        assert!(error.is_connect(), "{error:?}");
        const HANDSHAKE: u8 = 22;
        assert_eq!(plain.await.unwrap(), HANDSHAKE, "a record of TLS");
    }
}
