//! `purser provider`: the sandbox's providers as a process of their own, asked over HTTP by the protocol of
//! docs/providers.md as real ones would be.

use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use purser_actors::port::{Clock, Entropy as _};
use reqwest::Url;
use tokio::net::TcpListener;

use super::serve::{self, StopSignals};
use super::{CliError, terminal};
use crate::http::sandbox::people;
use crate::outbound;
use crate::provider::callback::CallbackKey;
use crate::provider::elsewhere::read_token;
use crate::provider::payouts::Rails as _;
use crate::provider::sandbox::everybody::SandboxProviders;
use crate::provider::sandbox::payouts::SandboxRails;
use crate::provider::serving;
use crate::secret::Secret;
use crate::settlement::sandbox::SandboxSettlement;
use crate::system::{SystemClock, SystemEntropy};

/// A form must arrive within this.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// How often the rails' words are looked for.
const TELL_EVERY: Duration = Duration::from_millis(200);
/// How long a callback may take.
const CALLBACK_TIMEOUT: Duration = Duration::from_secs(10);

/// Serve the sandbox's providers over HTTP, for a service that is configured to ask them there
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Settings of the sandbox (its delays, the rates); see config.toml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address and port to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8413")]
    pub listen: SocketAddr,
    /// Where the providers keep their files
    #[arg(long, value_name = "DIR", default_value = "provider-data")]
    pub data: PathBuf,
    /// The secret shared with the service: one line. Default: provider.token in the data directory, made on first use
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The service that callbacks go to, for example http://127.0.0.1:8402. Without it nobody is called and the service asks
    #[arg(long, value_name = "URL")]
    pub callback_to: Option<Url>,
    /// Print the protocol's OpenAPI document and exit
    #[arg(long)]
    pub openapi: bool,
}

/// Runs the command until a signal stops it.
///
/// # Errors
/// When a file cannot be made or read, or the address is taken.
pub async fn run(args: Args) -> Result<(), CliError> {
    if args.openapi {
        let document = serving::document().map_err(|e| CliError::Usage(e.to_string()))?;
        return terminal::json(&document, true);
    }
    serve::log();
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
    let chains = SandboxSettlement::open(&args.data, config.sandbox.faucet_usdc, clock.clone(), &SystemEntropy);
    let chains = Arc::new(chains.map_err(|e| CliError::Connection(format!("the sandbox's chains: {e}")))?);
    let sandbox = SandboxProviders::open(&args.data, &config, &chains, &clock)
        .map_err(|(what, why)| CliError::Connection(format!("{what}: {why}")))?;
    let io = |source| CliError::Io {
        what: format!("cannot listen on {}", args.listen),
        source,
    };
    let listener = TcpListener::bind(args.listen).await.map_err(io)?;
    let address = listener.local_addr().map_err(io)?;
    sandbox.identity_check.show_pages_at(format!("http://{address}"));
    let key = CallbackKey::of_token(&token);
    if let Some(service) = &args.callback_to {
        let at = |path: &str| service.join(path).map(String::from);
        let wrong = |e| CliError::Usage(format!("--callback-to: {e}"));
        let identity = at("/identity-callback").map_err(wrong)?;
        sandbox.identity_check.call_back_to(identity, key.clone());
        let payouts = at("/payout-callback").map_err(wrong)?;
        tokio::spawn(tell(sandbox.rails.clone(), payouts, key));
    }
    let pages = people::pages(people::Pages {
        identity: sandbox.identity_check.clone(),
        body_timeout: BODY_TIMEOUT,
    });
    let router = serving::router(&sandbox.providers(), token).merge(pages);
    terminal::result(&format!("The sandbox's providers serve at http://{address}"))?;
    terminal::result("In the service's settings, for each port that is to be asked here:")?;
    terminal::result("  [providers.issuer]")?;
    terminal::result(&format!("  url = \"http://{address}\""))?;
    let shown = std::path::absolute(&token_file).unwrap_or(token_file);
    terminal::result(&format!("  token_file = \"{}\"", shown.display()))?;
    axum::serve(listener, router)
        .with_graceful_shutdown(stop.wait())
        .await
        .map_err(io)
}

fn make_directory(directory: &Path) -> Result<(), CliError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|source| CliError::Io {
        what: format!("cannot create {}", directory.display()),
        source,
    })
}

/// The secret in the file; a new one where there is none and one may be made.
fn shared_token(file: &Path, may_make: bool) -> Result<Secret<String>, CliError> {
    if may_make && !file.exists() {
        use std::io::Write as _;
        let text = zeroize::Zeroizing::new(format!("{:032x}\n", SystemEntropy.random()));
        let made = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(file);
        made.and_then(|mut made| made.write_all(text.as_bytes()).and_then(|()| made.sync_all()))
            .map_err(|source| CliError::Io {
                what: file.display().to_string(),
                source,
            })?;
    }
    read_token(file).map_err(CliError::Usage)
}

/// Calls the service whenever the rails have told something new. A call that is not taken is not made again: the
/// service asks by itself, and the next word calls again.
async fn tell(rails: Arc<SandboxRails>, url: String, key: CallbackKey) {
    const BODY: &[u8] = b"{\"type\":\"payouts.told\"}";
    let Ok(client) = outbound::client().no_proxy().timeout(CALLBACK_TIMEOUT).build() else {
        return;
    };
    let mut told = 0;
    loop {
        tokio::time::sleep(TELL_EVERY).await;
        let news = rails.told(told, 1_000).await.unwrap_or_default();
        let Some(last) = news.last() else { continue };
        told = last.number;
        let (id, at) = (format!("msg_payouts_{told}"), SystemClock.now().seconds().to_string());
        let request = client
            .post(&url)
            .header("content-type", "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", &at)
            .header("webhook-signature", key.sign(&id, &at, BODY))
            .body(BODY);
        if let Err(error) = request.send().await {
            tracing::debug!(%error, "the rails could not call back");
        }
    }
}
