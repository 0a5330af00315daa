//! `purser serve`: the service.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::util::SubscriberInitExt;

use super::request_spans::RequestSpans;
use crate::cli::{CliError, terminal};
use crate::config::{Config, ConfigSources, InvalidSetting, LogFormat, SettlementKind};
use crate::service::{Service, chains};
use crate::settlement::settings;
use crate::system::raise_open_file_limit;

/// Start the server (default command)
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Args {
    /// Config file with the settings that differ from the defaults; see config.toml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address and port to listen on. Default: 127.0.0.1:8402
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// Data directory for everything durable. Default: ./data
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

impl Args {
    /// The settings: defaults, file, environment, command line; later ones win.
    ///
    /// # Errors
    /// When a source cannot be read or has an unknown setting.
    pub fn settings(&self) -> Result<Config, CliError> {
        let file = match &self.config {
            None => None,
            Some(path) => {
                let what = path.display().to_string();
                let text = std::fs::read_to_string(path).map_err(|source| CliError::Io {
                    what: what.clone(),
                    source,
                })?;
                Some((what, text))
            }
        };
        let mut flags = Vec::new();
        if let Some(listen) = self.listen {
            flags.push(("server.listen".to_owned(), listen.to_string()));
        }
        if let Some(data) = &self.data {
            flags.push(("data_dir".to_owned(), data.display().to_string()));
        }
        let env = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        let sources = ConfigSources {
            file,
            env: env.collect(),
            flags,
        };
        let wrong = |e: InvalidSetting| CliError::Usage(e.to_string());
        let config = Config::load(&sources).map_err(wrong)?;
        if config.settlement.kind == SettlementKind::Chains {
            // Before any chain is queried.
            let in_effect = settings::names(&config).map_err(wrong)?.configure();
            in_effect.map_err(|[base, solana]| CliError::Usage(format!("this process is for {base} and {solana}")))?;
        }
        Ok(config)
    }
}

/// The settings of a command that only names the file and the data directory.
pub(super) fn settings_of(config: Option<PathBuf>, data: Option<PathBuf>) -> Result<Config, CliError> {
    let listen = None;
    Args { config, listen, data }.settings()
}

/// Runs the command until a signal stops it.
///
/// # Errors
/// When the service cannot start.
pub async fn run(args: Args) -> Result<(), CliError> {
    let config = args.settings()?;
    // Before any file is created in the data directory.
    chains::keys(&config).map_err(|wrong| CliError::Usage(wrong.to_string()))?;
    log(config.log.format);
    install_panic_hook();
    raise_file_limit(&config);
    // Registered before the service is reachable: a signal during the start is not lost and kills nothing.
    let stop = StopSignals::new()?;
    let sandbox = config.is_sandbox();
    let data = config.data_dir.display().to_string();
    let service = Service::start(config)
        .await
        .map_err(|e| CliError::Connection(e.to_string()))?;
    print_banner(&service, sandbox, &data)?;
    stop.wait().await;
    tracing::info!("stopping: nothing new is accepted, calls in flight finish");
    if service.stop().await {
        tracing::info!("stopped");
    } else {
        tracing::warn!("stopped with calls in flight; they are taken up at the next start");
    }
    Ok(())
}

/// Open files besides connections: the store, the sandbox, outgoing calls.
const OTHER_FILES: u64 = 512;

/// Raises the limit of open files, and logs if the settings allow more connections than it.
fn raise_file_limit(config: &Config) {
    let streams = u64::try_from(config.stream.max_connections).unwrap_or(u64::MAX);
    let wanted = streams.saturating_add(u64::from(config.server.max_connections) + OTHER_FILES);
    if let Some(open_files) = raise_open_file_limit().filter(|allowed| *allowed < wanted) {
        // Enough for most uses. At the limit a connection waits to be accepted, and the log has a warning.
        tracing::info!(
            "the open-file limit {open_files} is below the {wanted} that the settings need at most; raise it with `ulimit -Hn`"
        );
    }
}

/// Log lines go to standard error; `RUST_LOG` filters them.
pub(super) fn log(format: LogFormat) {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // In a file colours are noise.
        .with_ansi(format == LogFormat::Text && std::io::stderr().is_terminal())
        // A line that cannot be written, for example to a full disk, is dropped. The default would print the error,
        // which panics.
        .log_internal_errors(false)
        .with_writer(std::io::stderr);
    // A second call (tests) keeps the first subscriber.
    let _ = match format {
        LogFormat::Text => RequestSpans::new(lines.finish()).try_init(),
        // Spans name the request; fields of the line are at the top level.
        LogFormat::Json => RequestSpans::new(lines.json().flatten_event(true).finish()).try_init(),
    };
}

/// A panic is logged only with its location: the message may contain private data.
fn install_panic_hook() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "a panic");
    }));
}

fn print_banner(service: &Service, sandbox: bool, data: &str) -> Result<(), CliError> {
    let url = &service.public_url;
    terminal::result(&format!("Purser is listening on {url} (data directory: {data})"))?;
    let address = service.address;
    if !url.ends_with(&address.to_string()) {
        terminal::result(&format!("It listens at http://{address}"))?;
    }
    if let Some(operator) = service.operator {
        terminal::result(&format!("Metrics for the operator at http://{operator}/metrics"))?;
        terminal::result(&format!("Operator API: http://{operator} (use purser admin)"))?;
    }
    let dashboard = format!("Dashboard for account owners: {}/dashboard", service.pages_url);
    terminal::result(&dashboard)?;
    if let Some(desk) = &service.desk_url {
        terminal::result(&format!("Desk for operators: {desk}"))?;
    }
    if sandbox {
        terminal::result("This is the sandbox: test money, simulated chains, no key and no network needed.")?;
        terminal::result(
            "Signatures for the sandbox are worthless on Base. Still, don't use a wallet that holds real money (docs/sandbox.md).",
        )?;
        terminal::result("In another terminal:")?;
        let buy = format!("purser pay '{url}/get-card?amount=5' --wait");
        let watch = format!("purser listen {url} --after 0");
        for (command, what) in [
            ("purser wallet", "a test wallet on both chains"),
            (&buy, "buy a card, see it ready"),
            (&watch, "the account's events"),
        ] {
            terminal::result(&format!("  {command:<66}  # {what}"))?;
        }
        terminal::result("(from a checkout: target/release/purser …)")?;
    }
    Ok(())
}

/// SIGTERM and SIGINT.
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    pub(super) fn new() -> Result<Self, CliError> {
        let on = |kind| {
            signal(kind).map_err(|source| CliError::Io {
                what: "signals".into(),
                source,
            })
        };
        Ok(Self {
            terminate: on(SignalKind::terminate())?,
            interrupt: on(SignalKind::interrupt())?,
        })
    }

    pub(super) async fn wait(mut self) {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
