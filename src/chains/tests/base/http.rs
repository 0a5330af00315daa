//! The transport over real sockets.

use std::sync::Arc;
use std::time::Duration;

use purser_chains::rpc::{EndpointSettings, EndpointUrl, HttpTransport, RpcError, RpcPool, SystemClock};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::base::anvil::client;

// Answers each connection with these bytes; returns the request.
async fn server(response: Vec<u8>) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let mut read = 0;
        while !request[..read].ends_with(b"}") {
            read += socket.read(&mut request[read..]).await.unwrap();
        }
        socket.write_all(&response).await.unwrap();
        if response.is_empty() {
            // Hangs until the client gives up.
            let _ = socket.read(&mut [0; 1]).await;
        }
        String::from_utf8(request[..read].to_vec()).unwrap()
    });
    (address.to_string(), served)
}

fn pool(address: &str) -> RpcPool {
    let url = EndpointUrl::parse(&format!("http://user:hunter2@{address}/v1/secretkey")).unwrap();
    let settings = EndpointSettings {
        timeout: Duration::from_millis(500),
        max_response_bytes: 1_000,
        ..EndpointSettings::new(url)
    };
    let transport = Arc::new(HttpTransport::new(client()));
    RpcPool::new(vec![settings], transport, Arc::new(SystemClock::default())).unwrap()
}

fn response(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}connection: close\r\n\r\n{body}").into_bytes()
}

#[tokio::test]
async fn exchange_over_http_becomes_typed_and_hides_the_url() {
    let body = r#"{"jsonrpc":"2.0","id":1,"result":"0x2105"}"#;
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{}"}}"#, "x".repeat(1_000));
    let chunk = format!("{:x}\r\n{long}\r\n0\r\n\r\n", long.len());
    let chunked = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunk}").into_bytes();
    let garbage = |text: &str| Err(RpcError::MalformedResponse(text.to_owned()));
    let retry_after = Duration::from_secs(9);
    let truncated = b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{".to_vec();
    let broken = Err(RpcError::Unreachable("connection broke within the response".to_owned()));
    let redirect = response("307 Moved", "location: http://127.0.0.1:1/\r\n", "");
    let table = [
        (response("200 OK", "", body), Ok(json!("0x2105"))),
        (response("200 OK", "", &long), garbage("larger than the limit")),
        (chunked, garbage("larger than the limit")),
        (
            response("429 Slow", "retry-after: 9\r\n", "{}"),
            Err(RpcError::RateLimited { retry_after }),
        ),
        (redirect, Err(RpcError::Unreachable("HTTP status 307".to_owned()))),
        (truncated, broken),
        (vec![], Err(RpcError::Timeout)),
    ];
    for (response, expected) in table {
        let (address, served) = server(response).await;
        let result = pool(&address).call("eth_chainId", json!([])).await;
        assert_eq!(result, expected);
        let request = served.await.unwrap();
        assert!(request.starts_with("POST /v1/secretkey HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("content-type: application/json"), "{request}");
        assert!(!format!("{result:?}").contains("secret"));
    }
}

#[tokio::test]
async fn closed_port_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let result = pool(&address).call("eth_chainId", json!([])).await;
    assert_eq!(result, Err(RpcError::Unreachable("no connection".to_owned())));
}
