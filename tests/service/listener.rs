//! Clients that watch an account: a WebSocket, and `purser listen` in its own process.

use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::conformance::{self, record_response};
use super::http::ServiceClient;

/// An open stream.
pub(crate) struct Stream(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Stream {
    /// Opens a stream with a token. It has no subscription yet and counts as a stream of its account.
    pub(crate) async fn open(site: &ServiceClient<'_>, token: &str) -> Self {
        let bearer = format!("Bearer {token}");
        Self::open_with_headers(site, &[("authorization", &bearer)])
            .await
            .unwrap()
    }

    /// Opens a stream with these headers, or returns the status of the error.
    pub(crate) async fn open_with_headers(
        site: &ServiceClient<'_>,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, u16> {
        let url = format!("ws://{}/stream", site.service.authority());
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        match tokio_tungstenite::connect_async(request).await {
            Ok((socket, _)) => {
                record_response(&conformance::format_response("GET", "/stream", 101, ""));
                Ok(Self(socket))
            }
            Err(tungstenite::Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    /// Sends raw bytes, valid or not.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        let MaybeTlsStream::Plain(socket) = self.0.get_mut() else {
            panic!("the test speaks plainly");
        };
        socket.write_all(bytes).await.unwrap();
    }

    /// The next frame.
    pub(crate) async fn frame(&mut self) -> Value {
        let frame = self.0.next().await.unwrap().unwrap();
        serde_json::from_str(frame.to_text().unwrap()).unwrap()
    }

    /// Reads until the stream closes, and returns the close code.
    pub(crate) async fn until_closed(&mut self) -> u16 {
        while let Some(message) = self.0.next().await {
            if let Message::Close(Some(close)) = message.unwrap() {
                return close.code.into();
            }
        }
        panic!("closed without a reason")
    }
}

type Lines = Arc<Mutex<Vec<String>>>;

/// `purser listen --json`; killed when dropped.
pub(crate) struct Listener {
    child: Child,
    printed: Lines,
    stderr: Lines,
}

impl Listener {
    /// Starts with a wallet file, which is created if missing.
    pub(crate) fn start(url: &str, wallet: &Path, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_purser"));
        command
            .args(["listen", url, "--json", "--wallet"])
            .arg(wallet)
            .args(more);
        let mut child = command
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let printed = collected(child.stdout.take().unwrap());
        let stderr = collected(child.stderr.take().unwrap());
        Self { child, printed, stderr }
    }

    /// The events printed so far.
    pub(crate) fn events(&self) -> Vec<Value> {
        let printed = self.printed.lock().unwrap();
        printed.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The number of lines on standard error that contain this text.
    pub(crate) fn stderr_line_count(&self, text: &str) -> usize {
        self.stderr
            .lock()
            .unwrap()
            .iter()
            .filter(|line| line.contains(text))
            .count()
    }

    /// The exit status, once the process has ended.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.child.try_wait().unwrap().and_then(|status| status.code())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn collected(from: impl Read + Send + 'static) -> Lines {
    let lines = Lines::default();
    let filled = lines.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            filled.lock().unwrap().push(line);
        }
    });
    lines
}
