//! `purser config`: settings, without a service.

use super::{CliError, serve, terminal};
use crate::service::chains;

/// Look at settings without starting anything
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    pub act: Act,
}

/// What is done with settings.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Act {
    /// Load the settings as `purser serve` would, read the chains' keys, and list all that is missing or wrong, a line each, with its name; exit
    /// status 2 if anything is
    Check(serve::Args),
}

/// Runs the command.
///
/// # Errors
/// [`CliError::Usage`] with everything that is wrong.
pub fn run(args: &Args) -> Result<(), CliError> {
    let Act::Check(sources) = &args.act;
    let config = sources.settings()?;
    chains::keys(&config).map_err(|wrong| CliError::Usage(wrong.to_string()))?;
    let mode = if config.is_sandbox() { "sandbox" } else { "production" };
    terminal::result(&format!("ok: every setting fits ({mode})"))
}
