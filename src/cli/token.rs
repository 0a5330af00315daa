//! `purser token`: signs the wallet in and prints a token for other programs.

use purser_actors::id::Network;
use zeroize::Zeroizing;

use super::http_client::{HttpClient, at};
use super::session::Session;
use super::{CliError, NetworkArg, Running, ServerArgs, TlsArgs, WalletArgs, terminal};
use purser_host::system::SystemEntropy;
use purser_protocol::wallet::TestWallet;

/// Sign in with the test wallet and print an id_token (valid for one hour)
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
    /// Wallet to sign in with
    #[command(flatten)]
    pub file: WalletArgs,
    /// Certificates to trust
    #[command(flatten)]
    pub tls: TlsArgs,
}

/// Runs the command.
///
/// # Errors
/// [`CliError`] when the wallet file cannot be used or the sign-in is rejected.
pub fn run(args: Args) -> Running {
    Box::pin(execute(args))
}

async fn execute(args: Args) -> Result<(), CliError> {
    let server = args.server.server(args.url.as_deref())?;
    let path = args.file.path()?;
    let (wallet, _) = TestWallet::load_or_create(&path, &SystemEntropy)?;
    let session = Session::new(&path, &wallet, Network::from(args.network));
    let remote = HttpClient::new(&args.tls, &server)?;
    let mut token = session.signed_in_token(&remote, &server).await?;
    let bearer = Zeroizing::new(format!("Bearer {}", *token));
    let read = remote
        .get(&at(&server, "/get-account-balance")?, &[("authorization", &bearer)])
        .await?;
    if read.status == 401 {
        // The token is revoked, or expired by the server's clock.
        session.expire(&server)?;
        token = session.signed_in_token(&remote, &server).await?;
    }
    terminal::result(&token)
}
