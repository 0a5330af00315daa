//! Sockets: accepts up to a limit, times out slow headers, and stops without interrupting requests in progress.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::connection_timer::ConnectionTimer;
use super::front::Front;
use super::parse_error::RewritingSocket;
use purser_config::Config;

/// Maximum bytes of a request head for hyper. It exceeds the URL and header limits of the front, which answers requests
/// in between with its own errors.
fn parser_bytes(config: &Config) -> usize {
    (config.server.max_url_bytes + config.server.max_header_bytes) * 2 + (16 << 10)
}

/// Signals the server to stop. Dropping it stops the server too.
pub struct StopHandle(watch::Sender<bool>);

impl StopHandle {
    /// Stops accepting and finishes requests in progress.
    pub fn stop(&self) {
        let _ = self.0.send(true);
    }
}

/// A bound socket, ready to serve.
pub struct Server {
    listener: TcpListener,
    /// A second address of the same port, if there is one.
    also: Option<TcpListener>,
    front: Arc<Front>,
    max_connections: u32,
    header_timeout: Duration,
    graceful_stop: Duration,
    parser_bytes: usize,
    stop: watch::Receiver<bool>,
}

impl Server {
    /// Takes over a bound listener. It is bound first, because the public URL may depend on its port.
    pub fn new(config: &Config, listener: TcpListener, front: Arc<Front>) -> (Self, StopHandle) {
        let (sender, stop) = watch::channel(false);
        let server = Self {
            listener,
            also: None,
            front,
            max_connections: config.server.max_connections,
            header_timeout: config.server.header_timeout(),
            graceful_stop: config.server.graceful_stop(),
            parser_bytes: parser_bytes(config),
            stop,
        };
        (server, StopHandle(sender))
    }

    /// Serves another bound address too, within the same limits.
    #[must_use]
    pub fn also_at(self, also: Option<TcpListener>) -> Self {
        Self { also, ..self }
    }

    /// Serves until stopped. Returns whether every connection ended within the grace period.
    pub async fn run(self) -> bool {
        let slots = Arc::new(Semaphore::new(self.max_connections as usize));
        let mut stop = self.stop.clone();
        loop {
            // The permit comes before the accept: at the limit, clients wait in the kernel's backlog.
            let accepted = tokio::select! {
                biased;
                () = stopped(&mut stop) => break,
                accepted = accept(&self.listener, self.also.as_ref(), &slots) => accepted,
            };
            match accepted {
                Ok((stream, peer, permit)) => {
                    tokio::spawn(self.connection(stream, peer, permit));
                }
                Err(error) => {
                    // Out of file descriptors, or a client that left before it was accepted. Neither stops the service.
                    tracing::warn!(%error, "accept failed");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
        drop((self.listener, self.also));
        let all = slots.acquire_many(self.max_connections);
        tokio::time::timeout(self.graceful_stop, all).await.is_ok()
    }

    fn connection(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        permit: OwnedSemaphorePermit,
    ) -> impl Future<Output = ()> + Send + 'static {
        let _ = stream.set_nodelay(true);
        let front = self.front.clone();
        let socket = TokioIo::new(RewritingSocket::new(stream, front.clone(), peer));
        let service = service_fn(move |request: Request<Incoming>| {
            let front = front.clone();
            async move { Ok::<_, std::convert::Infallible>(front.respond(request.map(Body::new), peer).await) }
        });
        let connection = http1::Builder::new()
            .timer(ConnectionTimer::new(self.header_timeout))
            .header_read_timeout(self.header_timeout)
            .max_buf_size(self.parser_bytes)
            .serve_connection(socket, service)
            .with_upgrades();
        let mut stop = self.stop.clone();
        async move {
            let _permit = permit;
            let mut connection = std::pin::pin!(connection);
            let ended = tokio::select! {
                biased;
                ended = connection.as_mut() => ended,
                () = stopped(&mut stop) => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, %peer, "connection ended");
            }
        }
    }
}

async fn accept(
    listener: &TcpListener,
    also: Option<&TcpListener>,
    slots: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = slots.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = match also {
        None => listener.accept().await?,
        Some(also) => tokio::select! {
            accepted = listener.accept() => accepted?,
            accepted = also.accept() => accepted?,
        },
    };
    Ok((stream, peer, permit))
}

/// Waits for the signal, or until its sender is dropped.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stopped| *stopped).await;
}
