//! `purser serve-providers`: the sandbox's providers as a separate process, called over HTTP with the protocol of
//! docs/providers.md as real ones would be.

use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use purser_actors::port::{Clock, Entropy as _};
use reqwest::Url;
use tokio::net::TcpListener;

use super::serve::{self, StopSignals};
use crate::cli::{CliError, terminal};
use crate::config::{Config, LogFormat};
use crate::http::route;
use crate::http::sandbox::{ProviderControls, bank, identity, reloadable_cards};
use crate::http::web_apps;
use crate::outbound;
use crate::page::PageFrame;
use crate::private_file;
use crate::provider::callback::CallbackKey;
use crate::provider::connect::read_token;
use crate::provider::payouts::PayoutApi as _;
use crate::provider::reloadable_cards::ReloadableCardApi as _;
use crate::provider::sandbox::all::SandboxProviders;
use crate::provider::sandbox::card_balances::deposit_watcher::{DepositSource, RemoteDepositSource};
use crate::provider::{self, server};
use crate::sandbox::chains::SandboxSettlement;
use crate::sandbox::chains::remote::{ChainRpc, RemoteChains};
use crate::sandbox::store::SandboxStore;
use crate::secret::Secret;
use crate::service::dependencies::store_limits;
use crate::system::{SystemClock, SystemEntropy};

/// Names of the settings of all ports that the sandbox's providers serve.
const PORTS: [&str; 9] = [
    "issuer",
    "gift_cards",
    "payouts",
    "identity",
    "issuer_accounts",
    "banking",
    "bridge",
    "rates",
    "merchants",
];
/// Maximum body size of the sandbox controls.
const MAX_BODY_BYTES: usize = 64 * 1024;
/// Events that are read at once.
const CALLBACKS: usize = 1_000;
/// Interval between queries for new events.
const EVENT_POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Timeout of a callback.
const CALLBACK_TIMEOUT: Duration = Duration::from_secs(10);

/// Serve the sandbox providers over HTTP
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Config file with the sandbox's settings (delays, rates); see config.toml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address and port to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8413")]
    pub listen: SocketAddr,
    /// Directory for the providers' files
    #[arg(long, value_name = "DIR", default_value = "provider-data")]
    pub data: PathBuf,
    /// File with the secret shared with the server, one line. Default: provider.token in the data directory, created
    /// on first use
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Server that receives callbacks; without it the server polls
    #[arg(long, value_name = "URL")]
    pub callback_url: Option<Url>,
    /// Server whose sandbox chains are used
    #[arg(long, value_name = "URL")]
    pub chain_url: Option<Url>,
    /// Print the protocol's OpenAPI document and exit
    #[arg(long)]
    pub openapi: bool,
}

/// Runs the command until a signal stops it.
///
/// # Errors
/// When a file cannot be created or read, or the address is in use.
pub async fn run(args: Args) -> Result<(), CliError> {
    if args.openapi {
        let document = provider::OPENAPI.parse();
        let document = document.map_err(|e: serde_json::Error| CliError::Usage(e.to_string()))?;
        return terminal::json(&document, true);
    }
    serve::log(LogFormat::Text);
    let settings = serve::Args {
        config: args.config.clone(),
        ..serve::Args::default()
    };
    let config = settings.settings()?;
    let stop = StopSignals::new()?;
    make_directory(&args.data)?;
    let token_file = args
        .token_file
        .clone()
        .unwrap_or_else(|| args.data.join("provider.token"));
    let token = shared_token(&token_file, args.token_file.is_none())?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = SandboxStore::open(&args.data, store_limits(&config))
        .map_err(|e| CliError::Connection(format!("the sandbox: {e}")))?;
    let (chains, watched) = chains(&args, &config, &store, &clock)?;
    let sandbox = SandboxProviders::open(&store, &config, (&chains, &watched), &clock)
        .map_err(|(what, why)| CliError::Connection(format!("{what}: {why}")))?;
    let io = |source| CliError::Io {
        what: format!("cannot listen on {}", args.listen),
        source,
    };
    let listener = TcpListener::bind(args.listen).await.map_err(io)?;
    let address = listener.local_addr().map_err(io)?;
    sandbox.identity_check.set_pages_origin(format!("http://{address}"));
    if let Some(service) = &args.callback_url {
        spawn_callbacks(&sandbox, service, &CallbackKey::of_token(&token))?;
    }
    let router = server::router(&sandbox.providers(), token).merge(control_routes(&sandbox, &address.to_string()));
    terminal::result(&format!("Sandbox providers are listening on http://{address}"))?;
    terminal::result("Settings of the server; leave out the ports that other providers serve:")?;
    let shown = std::path::absolute(&token_file).unwrap_or(token_file);
    for port in PORTS {
        terminal::result(&format!("[providers.{port}]"))?;
        terminal::result(&format!("url = \"http://{address}\""))?;
        terminal::result(&format!("token_file = \"{}\"", shown.display()))?;
    }
    axum::serve(listener, router)
        .with_graceful_shutdown(stop.wait())
        .await
        .map_err(io)
}

/// Chain used by the bridge, and source of deposits.
type ChainHandles = (Arc<dyn ChainRpc>, Arc<dyn DepositSource>);

/// The chains of a service, or local ones.
fn chains(
    args: &Args,
    config: &Config,
    store: &SandboxStore,
    clock: &Arc<dyn Clock>,
) -> Result<ChainHandles, CliError> {
    if let Some(service) = &args.chain_url {
        let wrong = |e| CliError::Usage(format!("--chain-url: {e}"));
        let chains = RemoteChains::connect(service).map_err(wrong)?;
        let base = RemoteDepositSource::of(service).map_err(wrong)?;
        return Ok((Arc::new(chains), Arc::new(base)));
    }
    let chains = SandboxSettlement::open(
        store,
        config.sandbox.initial_balance_usdc,
        clock.clone(),
        &SystemEntropy,
    );
    let chains = Arc::new(chains.map_err(|e| CliError::Connection(format!("the sandbox's chains: {e}")))?);
    Ok((chains.clone(), chains))
}

/// Sandbox controls outside the protocol, without a secret: the page of an identity check, deposits into an on-ramp,
/// and faults.
fn control_routes(sandbox: &SandboxProviders, host: &str) -> Router {
    let controls = Arc::new(ProviderControls {
        providers: sandbox.clone(),
        frame: PageFrame::new(host, true, None),
        entropy: Arc::new(SystemEntropy),
        max_body_bytes: MAX_BODY_BYTES,
    });
    // The pages load their style from here.
    route::router(&[&identity::PAGES, &bank::ROUTES, &reloadable_cards::ROUTES], controls)
        .merge(web_apps::asset_router())
}

/// From now on, providers call the service when they have events.
fn spawn_callbacks(sandbox: &SandboxProviders, service: &Url, key: &CallbackKey) -> Result<(), CliError> {
    let wrong = |e| CliError::Usage(format!("--callback-url: {e}"));
    let at = |path: &str| service.join(path).map(String::from).map_err(wrong);
    sandbox
        .identity_check
        .set_callback(at("/identity-callback")?, key.clone());
    let rails = sandbox.payouts.clone();
    let payouts = async move |after| {
        let news = rails.events_after(after, CALLBACKS).await.unwrap_or_default();
        news.last().map(|word| word.position)
    };
    tokio::spawn(post_callback("payouts", payouts, at("/payout-callback")?, key.clone()));
    let program = sandbox.reloadable_cards.clone();
    let cards = async move |after| {
        let news = program.events_after(after, CALLBACKS).await.unwrap_or_default();
        news.last().map(|word| word.position)
    };
    tokio::spawn(post_callback("cards", cards, at("/card-callback")?, key.clone()));
    let bank = sandbox.bank.clone();
    let deposits = async move |after| {
        // Reads the events directly, because faults set by the sandbox controls apply to calls of the service.
        let came_in = bank.state().await.map_or(0, |state| state.deposits);
        (came_in > after).then_some(came_in)
    };
    tokio::spawn(post_callback("deposits", deposits, at("/bank-callback")?, key.clone()));
    Ok(())
}

fn make_directory(directory: &Path) -> Result<(), CliError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|source| CliError::Io {
        what: format!("cannot create {}", directory.display()),
        source,
    })
}

/// The secret in the file, or a new one if the file is missing and may be created.
fn shared_token(file: &Path, may_make: bool) -> Result<Secret<String>, CliError> {
    if may_make && !file.exists() {
        let text = zeroize::Zeroizing::new(format!("{:032x}\n", SystemEntropy.random()));
        private_file::create(file, text.as_bytes()).map_err(|source| CliError::Io {
            what: file.display().to_string(),
            source,
        })?;
    }
    read_token(file).map_err(CliError::Usage)
}

/// Calls the service when there are events after a position. A failed callback is not repeated: the service polls, and
/// the next event triggers another callback.
async fn post_callback(
    what: &'static str,
    mut news: impl AsyncFnMut(u64) -> Option<u64>,
    url: String,
    key: CallbackKey,
) {
    let body = format!("{{\"type\":\"{what}.updated\"}}");
    let Ok(client) = outbound::client().no_proxy().timeout(CALLBACK_TIMEOUT).build() else {
        return;
    };
    let mut last_sent = 0;
    loop {
        tokio::time::sleep(EVENT_POLL_INTERVAL).await;
        let Some(last) = news(last_sent).await else { continue };
        last_sent = last;
        let (id, at) = (
            format!("msg_{what}_{last_sent}"),
            SystemClock.now().seconds().to_string(),
        );
        let request = client
            .post(&url)
            .header("content-type", "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", &at)
            .header("webhook-signature", key.sign(&id, &at, body.as_bytes()))
            .body(body.clone());
        if let Err(error) = request.send().await {
            tracing::debug!(%error, what, "no callback could be made");
        }
    }
}
