//! Starts and stops the service: store → engine → HTTP. Requests are accepted only after everything behind is open,
//! verified and has resumed the last process's work.

pub mod chains;
mod checkout_setup;
pub mod copies;
pub mod dependencies;
mod health;
mod key_check;
pub mod restore;
mod routes;
mod store_chains;
pub mod store_version;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use purser_actors::engine::{Engine, StartError};
use purser_actors::kernel::answers;
use purser_actors::port::BoxFuture;
use purser_storage::{JournalStore, OpenError, Store, StoreError};
use tokio::net::TcpListener;

use self::store_version::StoreVersionError;
use crate::config::{Config, DataDir, DataDirError};
use crate::http::front::Front;
use crate::http::operator;
use crate::http::page_address::PageAddress;
use crate::http::server::{Server, StopHandle};
use crate::sandbox::keys::identity_callback;
use crate::settlement::real::RealPorts;
use crate::stream::Hub;

/// Why the service does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store failed after it was opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Engine(#[from] StartError),
    #[error("data_dir: {0}")]
    StoreVersion(#[from] StoreVersionError),
    /// A file that could not be created or read, or an address that could not be bound.
    #[error("{what}: {error}")]
    Io { what: String, error: std::io::Error },
    /// Another component, with its own message.
    #[error("{0}: {1}")]
    Component(&'static str, String),
}

impl From<DataDirError> for ServiceError {
    fn from(DataDirError { what, error }: DataDirError) -> Self {
        Self::Io { what, error }
    }
}

pub struct Service {
    /// Bound address of the public server.
    pub address: SocketAddr,
    /// Base URL for clients.
    pub public_url: String,
    /// Base URL of the pages for people: at `localhost` for a loopback address.
    pub pages_url: String,
    /// Bound address of the operator server, if enabled.
    pub operator: Option<SocketAddr>,
    /// URL of the operators' desk.
    pub desk_url: Option<String>,
    /// The engine, for tests and benchmarks.
    pub engine: Engine,
    store: Arc<JournalStore>,
    /// The ports of the real chains; none in the sandbox.
    chains: Option<Arc<RealPorts>>,
    hub: Arc<Hub>,
    serving: Arc<AtomicBool>,
    running: ServerTask,
    /// The operator server.
    operator_server: Option<ServerTask>,
}

/// A running server.
struct ServerTask {
    stop: StopHandle,
    task: tokio::task::JoinHandle<bool>,
}

impl ServerTask {
    fn start(config: &Config, listener: TcpListener, localhost: Localhost, front: Arc<Front>) -> Self {
        let (server, stop) = Server::new(config, listener, front);
        let task = tokio::spawn(server.also_at(localhost.also).run());
        Self { stop, task }
    }

    async fn shutdown(self) -> bool {
        self.stop.stop();
        self.task.await.unwrap_or(false)
    }
}

/// Ports to try after one that is taken.
const MAX_PORT_ATTEMPTS: u16 = 100;

/// Binds the address, or the next free port if it is taken and `moves_on`. The port was not configured then, so no
/// client relies on it.
async fn bind(
    listen: SocketAddr,
    moves_on: bool,
    setting: &'static str,
) -> Result<(TcpListener, SocketAddr), ServiceError> {
    let failed = |error| ServiceError::Io {
        what: format!("cannot listen on {listen} ({setting})"),
        error,
    };
    let mut wanted = listen;
    let listener = loop {
        match TcpListener::bind(wanted).await {
            Ok(listener) => break listener,
            Err(error) => {
                let is_taken = error.kind() == std::io::ErrorKind::AddrInUse;
                let next = wanted
                    .port()
                    .checked_add(1)
                    .filter(|next| next - listen.port() <= MAX_PORT_ATTEMPTS);
                match next.filter(|_| is_taken && moves_on) {
                    Some(next) => wanted.set_port(next),
                    None => return Err(failed(error)),
                }
            }
        }
    };
    let address = listener.local_addr().map_err(failed)?;
    if wanted != listen {
        tracing::warn!(setting, taken = %listen, %address, "the port is taken; the next free one serves");
    }
    Ok((listener, address))
}

/// What `localhost` leads to at the port of a loopback address.
struct Localhost {
    /// The other loopback address.
    also: Option<TcpListener>,
    /// Whether this program has the port at both, as far as this machine has both.
    is_ours: bool,
}

impl Localhost {
    const fn unused() -> Self {
        Self {
            also: None,
            is_ours: true,
        }
    }

    /// Binds the other loopback address too. Browsers try `[::1]` for `localhost`, and another program that listens there
    /// would get the session cookies of pages that are at `localhost`.
    async fn bind(address: SocketAddr, setting: &'static str) -> Self {
        let port = address.port();
        let other = match address.ip() {
            IpAddr::V4(Ipv4Addr::LOCALHOST) => SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
            IpAddr::V6(Ipv6Addr::LOCALHOST) => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            _ => return Self::unused(),
        };
        match TcpListener::bind(other).await {
            Ok(listener) => Self {
                also: Some(listener),
                is_ours: true,
            },
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                tracing::warn!(setting, %address, taken = %other, "another program has this port at localhost; pages stay at the address, where browsers offer no passkeys");
                Self {
                    also: None,
                    is_ours: false,
                }
            }
            // This machine does not have that address, so `localhost` does not lead there.
            Err(_) => Self::unused(),
        }
    }
}

async fn bind_operator(config: &Config) -> Result<Option<(TcpListener, SocketAddr)>, ServiceError> {
    match config.operator.listen {
        Some(listen) => bind(listen, config.operator.moves_on, "operator.listen")
            .await
            .map(Some),
        None => Ok(None),
    }
}

/// Where the sandbox's identity check calls back: this process, whatever its public URL.
fn callback_url(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() {
            Ipv4Addr::LOCALHOST.into()
        } else {
            Ipv6Addr::LOCALHOST.into()
        });
    }
    format!("http://{address}/identity-callback")
}

/// Where an operator's browser opens the desk.
fn desk_url(mut address: SocketAddr, owns_localhost: bool) -> Result<String, ServiceError> {
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    let pages = PageAddress::new(routes::origin_of(&format!("http://{address}"))?, owns_localhost);
    Ok(format!("{}/desk", pages.origin().as_str()))
}

impl Service {
    /// Opens everything and starts to accept requests.
    ///
    /// # Errors
    /// [`ServiceError`]: what is missing or wrong. No requests are accepted then.
    pub fn start(config: Config) -> BoxFuture<'static, Result<Self, ServiceError>> {
        // Boxed, so that it is compiled in this crate and not in every program that starts a service.
        Box::pin(Self::open(config))
    }

    async fn open(config: Config) -> Result<Self, ServiceError> {
        let config = Arc::new(config);
        let data = DataDir::create(&config.data_dir)?;
        // Before it listens: if another process has the store, that one serves the address.
        let store = dependencies::open_store_with_retry(&config, &data).await?;
        store_version::check_or_create(&*store).await?;
        let (listener, address) = bind(config.server.listen, config.server.moves_on, "server.listen").await?;
        let watched = bind_operator(&config).await?;
        let public_url = config.server.public_url(address);
        let called = routes::origin_of(&public_url)?;
        let localhost = match called.is_loopback() && !called.is_https() {
            true => Localhost::bind(address, "server.listen").await,
            false => Localhost::unused(),
        };
        let pages = PageAddress::new(called, localhost.is_ours);
        let desk_localhost = match &watched {
            Some((_, address)) => Localhost::bind(*address, "operator.listen").await,
            None => Localhost::unused(),
        };
        data.write_addresses(address, watched.as_ref().map(|(_, address)| *address))?;
        // An acknowledged response may rest on data that a failed disk lost: this process must send nothing more.
        store.on_fatal(Box::new(|what| {
            tracing::error!(what, "storage failed; the process ends");
            std::process::abort();
        }));
        answers::run_on(&tokio::runtime::Handle::current(), &store);
        let as_store: Arc<dyn Store> = store.clone();
        let world = dependencies::open_dependencies(&config, &data, &as_store).await?;
        if let Some(sandbox) = &world.sandbox {
            let checks = &sandbox.providers.identity_check;
            checks.set_callback(callback_url(address), identity_callback());
        }
        let mark = store.restore_marker();
        let ahead_ms = world.sandbox_clock.as_ref().map_or(0, |moved| moved.offset_ms());
        let forgotten = (
            restore::lost(&config, mark),
            restore::restore_window(&config, mark, ahead_ms),
        );
        let engine = Engine::start(dependencies::engine_deps(&config, as_store.clone(), &world, forgotten)).await?;
        let (revocations, begun) = restore::revocations(&engine, &*as_store, mark, &data, &*world.entropy).await?;
        if config.is_sandbox() && watched.is_some() {
            let file = data.operator_token();
            let first = operator::first_token(&engine, &file, &*world.clock, &*world.entropy).await;
            first.map_err(|e| ServiceError::Component("operator.token", e))?;
        }
        let configured: Vec<_> = config.operator.tokens.iter().map(|token| &*token.name).collect();
        engine.end_leases_of_former_operators(&configured).await?;
        let hub = Hub::new(&config.stream);
        let serving = Arc::new(AtomicBool::new(true));
        let (calling, chains) = (world.paid_http_client.clone(), world.real.clone());
        let health = health::HealthCheck::of(&engine, &serving, &store, chains.clone());
        let state = routes::AppState {
            config: config.clone(),
            data,
            store: as_store,
            journal: store.clone(),
            engine: engine.clone(),
            hub: hub.clone(),
            deps: world,
            public_url: public_url.clone(),
            pages: pages.clone(),
            desk_owns_localhost: desk_localhost.is_ours,
            revocations,
            nonces_valid_from: begun,
        };
        let routes::Fronts {
            public,
            operator: watch,
        } = routes::build(state, health).await?;
        let public = Arc::new(public);
        calling.set_local_service(&public);
        let operator = watched.as_ref().map(|(_, address)| *address);
        let desk_url = operator
            .map(|address| desk_url(address, desk_localhost.is_ours))
            .transpose()?;
        Ok(Self {
            address,
            public_url,
            pages_url: pages.origin().as_str().to_owned(),
            operator,
            desk_url,
            engine,
            store,
            chains,
            hub,
            serving,
            running: ServerTask::start(&config, listener, localhost, public),
            operator_server: watched
                .map(|(listener, _)| ServerTask::start(&config, listener, desk_localhost, Arc::new(watch))),
        })
    }

    /// Stops the service: accepts nothing new, lets paid calls in flight finish, closes streams, writes what is left.
    /// Returns whether everything in flight finished in time; the rest is resumed at the next start.
    pub async fn stop(self) -> bool {
        self.serving.store(false, Ordering::Release);
        self.hub.stop();
        let watching = async {
            if let Some(watching) = self.operator_server {
                watching.shutdown().await;
            }
        };
        let (drained, ()) = tokio::join!(self.running.shutdown(), watching);
        self.engine.stop();
        if let Some(chains) = self.chains {
            chains.close().await;
        }
        let store = self.store;
        // Applying the rest to the snapshots blocks.
        let closed = tokio::task::spawn_blocking(move || store.close()).await;
        drained && closed.is_ok()
    }
}
