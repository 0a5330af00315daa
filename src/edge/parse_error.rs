//! A socket that replaces hyper's bare error responses with our own.
//!
//! Input that can't be parsed as a request (headers beyond the buffer, a URL beyond its limit, bytes that are not HTTP)
//! never reaches a service. hyper answers it with an empty `HTTP/1.1 4xx` response and closes. Such a response is
//! recognized by its size: the front's headers alone are longer. After it, and after a 413, the socket is closed
//! gently. Otherwise unread bytes would make the kernel reset the connection, and the client might never see the error.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::StatusCode;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

use super::front::Front;

/// hyper's own responses have about 130 bytes; the front's at least four times that.
const MAX_BARE_RESPONSE_BYTES: usize = 256;

/// How much is read and discarded while closing, and for how long.
const LINGER_BYTES: usize = 4 << 20;
const LINGER: Duration = Duration::from_secs(2);

pub(super) struct RewritingSocket {
    /// `None` only while being dropped.
    stream: Option<TcpStream>,
    front: Arc<Front>,
    peer: SocketAddr,
    /// Our response, and how many of its bytes are written.
    replacing: Option<(Vec<u8>, usize)>,
    linger: bool,
}

impl RewritingSocket {
    pub(super) fn new(stream: TcpStream, front: Arc<Front>, peer: SocketAddr) -> Self {
        Self {
            stream: Some(stream),
            front,
            peer,
            replacing: None,
            linger: false,
        }
    }

    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        self.stream
            .as_mut()
            .map(Pin::new)
            .ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Status of a bare response of hyper.
    fn bare(bytes: &[u8]) -> Option<StatusCode> {
        let status = bytes.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
        (bytes.len() < MAX_BARE_RESPONSE_BYTES && status[0] == b'4')
            .then(|| StatusCode::from_bytes(status).ok())
            .flatten()
    }

    /// Writes the rest of our response in place of `len` bytes of hyper's.
    fn replace(&mut self, cx: &mut Context<'_>, len: usize) -> Poll<io::Result<usize>> {
        while let Some((bytes, done)) = self.replacing.take() {
            let Some(stream) = self.stream.as_mut() else {
                return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
            };
            let written = match Pin::new(stream).poll_write(cx, &bytes[done..]) {
                Poll::Ready(Ok(written)) => written,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.replacing = Some((bytes, done));
                    return Poll::Pending;
                }
            };
            if done + written < bytes.len() {
                self.replacing = Some((bytes, done + written));
            }
        }
        Poll::Ready(Ok(len))
    }

    /// Handles the first bytes of a response. `None` to pass them through.
    fn intercept(&mut self, cx: &mut Context<'_>, first: &[u8]) -> Option<Poll<io::Result<usize>>> {
        if self.replacing.is_none() {
            self.linger |= first.starts_with(b"HTTP/1.1 413");
            let status = Self::bare(first)?;
            self.linger = true;
            self.replacing = Some((self.front.respond_to_parse_error(status, self.peer.ip()), 0));
        }
        Some(self.replace(cx, first.len()))
    }
}

impl AsyncRead for RewritingSocket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_read(cx, buf)
    }
}

impl AsyncWrite for RewritingSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.intercept(cx, buf) {
            Some(answer) => answer,
            None => self.stream()?.poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // hyper writes a bare response in one piece. Several pieces are a response of the front.
        if let [only] = bufs
            && let Some(answer) = self.intercept(cx, only)
        {
            return answer;
        }
        self.stream()?.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.stream()?.poll_shutdown(cx))?;
        Poll::Ready(Ok(()))
    }
}

impl Drop for RewritingSocket {
    fn drop(&mut self) {
        let (true, Some(stream)) = (self.linger, self.stream.take()) else {
            return;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(tokio::time::timeout(LINGER, close_gently(stream)));
        }
    }
}

async fn close_gently(mut stream: TcpStream) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut sink = vec![0; 16 << 10];
    let mut read = 0;
    while read < LINGER_BYTES {
        match stream.read(&mut sink).await {
            Ok(0) | Err(_) => return,
            Ok(n) => read += n,
        }
    }
}
