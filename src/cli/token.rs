//! `purser token`: signs the wallet in and prints a token for other programs.

use zeroize::Zeroizing;

use super::http_client::at;
use super::session::SignInArgs;
use super::{CliError, Running, terminal};

/// Sign in with the test wallet and print an id_token (valid for one hour)
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Wallet and server
    #[command(flatten)]
    pub sign_in: SignInArgs,
}

/// Runs the command.
///
/// # Errors
/// [`CliError`] when the wallet file cannot be used or the sign-in is rejected.
pub fn run(args: Args) -> Running {
    Box::pin(execute(args))
}

async fn execute(args: Args) -> Result<(), CliError> {
    let signer = args.sign_in.signer()?;
    let (server, remote, session) = (&signer.server, &signer.remote, signer.session());
    let mut token = session.signed_in_token(remote, server).await?;
    let bearer = Zeroizing::new(format!("Bearer {}", *token));
    let read = remote
        .get(&at(server, "/get-account-balance")?, &[("authorization", &bearer)])
        .await?;
    if read.status == 401 {
        // The token is revoked, or expired by the server's clock.
        session.expire(server)?;
        token = session.signed_in_token(remote, server).await?;
    }
    terminal::result(&token)
}
