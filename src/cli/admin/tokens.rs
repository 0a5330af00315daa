//! Operators' tokens, on the command line.

use serde_json::json;

use super::super::http_client::HttpResponse;
use super::super::{CliError, terminal};
use super::AdminClient;
use crate::http::operator::{hash_of, new_token};
use crate::system::SystemEntropy;

/// What is done with tokens.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum TokenCommand {
    /// Make a token; it is shown once
    Create {
        /// Whose
        name: String,
        /// administrator, operator, support or read-only
        #[arg(long)]
        role: String,
    },
    /// End a token
    Revoke {
        /// Whose
        name: String,
    },
    /// Whose tokens there are
    List,
    /// Print a new token with its line for `[operator] tokens` of the settings; no service is asked
    Generate {
        /// Whose
        name: String,
        /// administrator, operator, support or read-only
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

/// What needs the service; a token is generated without it.
pub(super) async fn run(desk: &AdminClient, act: TokenCommand) -> Result<HttpResponse, CliError> {
    match act {
        TokenCommand::Create { name, role } => desk.post("/admin/tokens", json!({"name": name, "role": role})).await,
        TokenCommand::Revoke { name } => desk.post("/admin/tokens/revoke", json!({"name": name})).await,
        TokenCommand::List | TokenCommand::Generate { .. } => desk.get("/admin/tokens").await,
    }
}
