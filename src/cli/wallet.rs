//! `purser wallet`: prints the test wallet's addresses, and creates the wallet if it does not exist.

use purser_actors::id::Network;
use serde_json::json;

use super::{CliError, Running, WalletArgs, terminal};
use purser_host::system::SystemEntropy;
use purser_protocol::wallet::TestWallet;

/// Show the test wallet's addresses; create it if it does not exist
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Location of the wallet
    #[command(flatten)]
    pub file: WalletArgs,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
/// [`CliError::Wallet`] when the file cannot be opened or created.
// Async like the other commands, so that all of them run the same way.
pub fn run(args: Args) -> Running {
    Box::pin(execute(args))
}

async fn execute(args: Args) -> Result<(), CliError> {
    let path = args.file.path()?;
    let (wallet, made) = TestWallet::load_or_create(&path, &SystemEntropy)?;
    if made {
        terminal::progress(&format!(
            "created a test wallet in {}; it is for test USDC only",
            path.display()
        ));
    }
    if args.json {
        let value = json!({
            "file": path.display().to_string(),
            "base": wallet.address(Network::Base),
            "solana": wallet.address(Network::Solana),
        });
        return terminal::json(&value, true);
    }
    terminal::result(&format!("base:   {}", wallet.address(Network::Base)))?;
    terminal::result(&format!("solana: {}", wallet.address(Network::Solana)))
}
