//! A webhook receiver on its own port. The path decides its response, and it records every request.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A request that the receiver recorded.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedMessage {
    pub(crate) path: String,
    pub(crate) id: String,
    pub(crate) timestamp: String,
    pub(crate) signature: String,
    pub(crate) text: String,
}

impl ReceivedMessage {
    /// Parses the event envelope.
    pub(crate) fn body(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    pub(crate) fn kind(&self) -> String {
        self.body()["type"].as_str().unwrap().to_owned()
    }
}

pub(crate) struct Receiver {
    authority: String,
    got: Arc<Mutex<Vec<ReceivedMessage>>>,
    is_healthy: Arc<AtomicBool>,
}

impl Receiver {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        let (got, well) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (messages, is_well): (Arc<Mutex<Vec<ReceivedMessage>>>, _) = (Arc::clone(&got), well.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, messages.clone(), is_well.clone()));
            }
        });
        Self {
            authority,
            got,
            is_healthy: well,
        }
    }

    /// Whether `/moody` responds with success; false at first. `/held-410` waits while it is true.
    pub(crate) fn set_healthy(&self, well: bool) {
        self.is_healthy.store(well, Ordering::Relaxed);
    }

    /// A URL of the receiver; the path is `/ok`, `/302`, `/410`, `/held-410`, `/429`, `/500`, `/stale`, `/hang`,
    /// `/drip`, `/reset`, `/flood`, `/drip-ok` or `/moody`. `/stale` responds with 500 and drops a second request on the
    /// same connection, as a server does that closes it at that moment.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.authority)
    }

    /// All requests to a path.
    pub(crate) fn at(&self, path: &str) -> Vec<ReceivedMessage> {
        let got = self.got.lock().unwrap();
        got.iter().filter(|got| got.path == path).cloned().collect()
    }
}

async fn read(stream: &mut TcpStream) -> Option<ReceivedMessage> {
    let mut bytes = Vec::new();
    loop {
        let mut some = [0; 8_192];
        let n = stream.read(&mut some).await.ok().filter(|n| *n > 0)?;
        bytes.extend_from_slice(&some[..n]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let header = |name: &str| {
            let named = |line: &str| line.to_ascii_lowercase().starts_with(&format!("{name}: "));
            let line = head.lines().find(|line| named(line));
            line.and_then(|line| line.split_once(": "))
                .map(|(_, value)| value.to_owned())
        };
        if body.len() < header("content-length")?.parse().ok()? {
            continue;
        }
        return Some(ReceivedMessage {
            path: head.split(' ').nth(1)?.to_owned(),
            id: header("webhook-id")?,
            timestamp: header("webhook-timestamp")?,
            signature: header("webhook-signature")?,
            text: body.to_owned(),
        });
    }
}

async fn serve(mut stream: TcpStream, messages: Arc<Mutex<Vec<ReceivedMessage>>>, well: Arc<AtomicBool>) {
    let Some(got) = read(&mut stream).await else { return };
    let path = got.path.clone();
    messages.lock().unwrap().push(got);
    let head = |status: &str, more: &str| format!("HTTP/1.1 {status} Status\r\n{more}content-length: 2\r\n\r\nno");
    let answer = match path.split('?').next().unwrap_or_default() {
        "/302" => head("302", "location: /inside\r\n"),
        "/410" => head("410", ""),
        "/held-410" => {
            while well.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            head("410", "")
        }
        "/moody" if !well.load(Ordering::Relaxed) => head("500", ""),
        "/429" => head("429", "retry-after: 3\r\n"),
        "/500" => head("500", "").replace("length: 2\r\n\r\nno", "length: 24\r\n\r\ncard 4000001234567899 no"),
        "/stale" => {
            drop(stream.write_all(head("500", "").as_bytes()).await);
            drop(stream.read(&mut [0]).await);
            return;
        }
        "/hang" => return std::future::pending().await,
        "/drip" => return drip(stream, "HTTP/1.1 200 OK\r\nx-slow: ").await,
        "/drip-ok" => return drip(stream, "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n").await,
        "/flood" => return flood(stream).await,
        "/reset" => {
            drop(stream.set_zero_linger());
            return;
        }
        _ => head("200", ""),
    };
    drop(stream.write_all(answer.as_bytes()).await);
    drop(stream.shutdown().await);
}

/// Sends a byte now and then, until the client stops reading.
async fn drip(mut stream: TcpStream, head: &str) {
    drop(stream.write_all(head.as_bytes()).await);
    while stream.write_all(b"x").await.is_ok() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Sends a gigabyte, until the client stops reading.
async fn flood(mut stream: TcpStream) {
    const CHUNK: usize = 64 * 1024;
    let all = 1_usize << 30;
    drop(
        stream
            .write_all(format!("HTTP/1.1 200 OK\r\ncontent-length: {all}\r\n\r\n").as_bytes())
            .await,
    );
    for _ in 0..all / CHUNK {
        if stream.write_all(&[b'x'; CHUNK]).await.is_err() {
            return;
        }
    }
}
