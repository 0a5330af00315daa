//! Calls that leave this process by HTTP. Those whose target somebody else names go through the address filter.

pub mod address_policy;
pub mod client;
pub mod resolver;

use std::sync::Once;

use reqwest::ClientBuilder;
use reqwest::redirect::Policy;

/// What every client of ours is built from: TLS by rustls over ring, and no redirect is followed, so that what was meant
/// for one host, a signed payment or a secret, is never sent to another.
pub fn client() -> ClientBuilder {
    static TLS: Once = Once::new();
    // Once for the process; whoever was first has chosen the same.
    TLS.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    reqwest::Client::builder().redirect(Policy::none())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Aim: a client speaks TLS, and to a server without a certificate it does not speak at all.
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
