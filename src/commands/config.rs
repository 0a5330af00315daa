//! `purser config`: checks settings without a service.

use std::sync::Arc;

use super::serve;
use crate::cli::{CliError, terminal};
use crate::config::Config;
use crate::identity::key_file;
use crate::service::chains;
use crate::system::SystemEntropy;
use crate::vault::Vault;

/// Check settings without starting the server
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The config command
    #[command(subcommand)]
    pub act: ConfigCommand,
}

/// Commands for settings.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum ConfigCommand {
    /// Load the settings as `purser serve` would, read the chains' keys, and list every missing or invalid setting by
    /// name, one per line; exits 2 if there is any
    Check(serve::Args),
}

/// Checks that the key files of the settings exist and can be read.
fn key_files(config: &Config) -> Result<(), CliError> {
    let wrong = |key: &str, why: &dyn std::fmt::Display| CliError::Usage(format!("`{key}`: {why}"));
    let identity = &config.identity;
    if !identity.signing_key_file.as_os_str().is_empty() {
        let read = key_file::load(&identity.signing_key_file);
        read.map_err(|error| wrong("identity.signing_key_file", &error))?;
    }
    if !identity.vault_key_file.as_os_str().is_empty() {
        let read = Vault::from_file(&identity.vault_key_file, false, Arc::new(SystemEntropy));
        read.map_err(|error| wrong("identity.vault_key_file", &error))?;
    }
    Ok(())
}

/// Runs the command.
///
/// # Errors
/// [`CliError::Usage`] with all problems.
pub fn run(args: &Args) -> Result<(), CliError> {
    let ConfigCommand::Check(sources) = &args.act;
    let config = sources.settings()?;
    chains::keys(&config).map_err(|wrong| CliError::Usage(wrong.to_string()))?;
    key_files(&config)?;
    let mode = if config.is_sandbox() { "sandbox" } else { "production" };
    terminal::result(&format!("ok: all settings are valid ({mode})"))
}
