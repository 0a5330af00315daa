//! `purser recover`: the wallet's side of the way back into an account. Prints the owner's login link, or until when to wait.

use zeroize::Zeroizing;

use super::http_client::{HttpResponse, at};
use super::session::SignInArgs;
use super::{CliError, Running, terminal};

/// Get back into the test wallet's account when its passkeys are lost
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Wallet and server
    #[command(flatten)]
    pub sign_in: SignInArgs,
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
    let signer = args.sign_in.signer()?;
    let (server, remote, session) = (&signer.server, &signer.remote, signer.session());
    let answer = session.signed_post(remote, server, "/recover-account").await?;
    if answer.is_success() {
        return print(&answer, args.json);
    }
    if answer.body["code"] != "recovery_not_needed" {
        return Err(answer.to_error());
    }
    // Without a passkey there is nothing to wait for: the wallet asks for a login link.
    let token = session.sign_in(remote, server).await?;
    let bearer = Zeroizing::new(format!("Bearer {}", *token));
    let link = remote
        .get(&at(server, "/get-auth-link")?, &[("authorization", &bearer)])
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
