//! `purser admin tokens`: operator tokens.

use serde_json::json;

use super::super::http_client::HttpResponse;
use super::super::{CliError, terminal};
use super::AdminClient;
use purser_host::system::SystemEntropy;
use purser_protocol::identity::operator_token::{hash_of, new_token};

/// Commands for operator tokens.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum TokenCommand {
    /// Create a token and print it once
    Create {
        /// Name of the operator
        name: String,
        /// Role: administrator, operator, support or read-only
        #[arg(long)]
        role: String,
    },
    /// Revoke an operator's token
    Revoke {
        /// Name of the operator
        name: String,
    },
    /// List operator tokens
    List,
    /// Print a new token with its line for `[operator] tokens` in the settings, without calling a server
    Generate {
        /// Name of the operator
        name: String,
        /// Role: administrator, operator, support or read-only
        #[arg(long)]
        role: String,
    },
}

pub(super) fn generate_token(name: &str, role: &str) -> Result<(), CliError> {
    let role: purser_actors::operator::Role = role
        .parse()
        .map_err(|e: purser_actors::operator::ParseRoleError| CliError::Usage(e.to_string()))?;
    let token = new_token(&SystemEntropy);
    let hash = hex::encode(hash_of(token.expose_secret()));
    terminal::result(token.expose_secret())?;
    let line = toml::Table::from_iter([
        ("name".to_owned(), toml::Value::from(name)),
        ("role".to_owned(), toml::Value::from(role.name())),
        ("sha256".to_owned(), toml::Value::from(hash)),
    ]);
    terminal::progress(&format!("for [operator] tokens: {}", toml::Value::from(line)));
    Ok(())
}

/// Runs the commands that need the service; `generate` does not.
pub(super) async fn run(client: &AdminClient, act: TokenCommand) -> Result<HttpResponse, CliError> {
    match act {
        TokenCommand::Create { name, role } => client.post("/admin/tokens", json!({"name": name, "role": role})).await,
        TokenCommand::Revoke { name } => client.post("/admin/tokens/revoke", json!({"name": name})).await,
        TokenCommand::List | TokenCommand::Generate { .. } => client.get("/admin/tokens").await,
    }
}
