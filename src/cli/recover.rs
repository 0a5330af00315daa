//! `purser recover`: the wallet's side of the way back into an account. Prints the owner's login link, or until when to wait.

use purser_actors::id::Network;
use zeroize::Zeroizing;

use super::http_client::{HttpClient, HttpResponse, at};
use super::session::Session;
use super::{CliError, NetworkArg, Running, ServerArgs, TlsArgs, WalletArgs, terminal};
use purser_host::system::SystemEntropy;
use purser_protocol::wallet::TestWallet;

/// Get back into the test wallet's account when its passkeys are lost
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Server address. Default: where the server of the data directory listened last, else http://127.0.0.1:8402
    pub url: Option<String>,
    /// Service to use without a URL
    #[command(flatten)]
    pub server: ServerArgs,
    /// Network of the wallet's account
    #[arg(long, value_enum, default_value = "base")]
    pub network: NetworkArg,
    /// Wallet that signs
    #[command(flatten)]
    pub file: WalletArgs,
    /// Certificates to trust
    #[command(flatten)]
    pub tls: TlsArgs,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// [`CliError`] when the wallet file cannot be used or the server rejects the request.
pub fn run(args: Args) -> Running {
    Box::pin(execute(args))
}

async fn execute(args: Args) -> Result<(), CliError> {
    let server = args.server.server(args.url.as_deref())?;
    let path = args.file.path()?;
    let (wallet, _) = TestWallet::load_or_create(&path, &SystemEntropy)?;
    let session = Session::new(&path, &wallet, Network::from(args.network));
    let remote = HttpClient::new(&args.tls, &server)?;
    let answer = session.signed_post(&remote, &server, "/recover-account").await?;
    if answer.is_success() {
        return print(&answer, args.json);
    }
    if answer.body["code"] != "recovery_not_needed" {
        return Err(answer.to_error());
    }
    // Without a passkey there is nothing to wait for: the wallet asks for a login link.
    let token = session.sign_in(&remote, &server).await?;
    let bearer = Zeroizing::new(format!("Bearer {}", *token));
    let link = remote
        .get(&at(&server, "/get-auth-link")?, &[("authorization", &bearer)])
        .await?;
    if !link.is_success() {
        return Err(link.to_error());
    }
    print(&link, args.json)
}

fn print(answer: &HttpResponse, as_json: bool) -> Result<(), CliError> {
    let body = &answer.body;
    if as_json {
        return terminal::json(body, true);
    }
    let text = |member: &str| body[member].as_str().unwrap_or_default().to_owned();
    if let Some(url) = body["auth_url"].as_str() {
        terminal::progress("open this link once, within 15 minutes, and add a passkey there:");
        return terminal::result(url);
    }
    terminal::result(&format!("status    {}", text("status")))?;
    terminal::result(&format!("ready     {}", text("ready_at")))?;
    terminal::result(&format!("expires   {}", text("expires_at")))?;
    terminal::progress("run the command again between these times; until then the owner can cancel it with a passkey");
    Ok(())
}
