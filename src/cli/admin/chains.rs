//! `purser admin chains`: decisions about chains.

use serde_json::json;

use super::super::CliError;
use super::super::http_client::HttpResponse;
use super::AdminClient;

/// Commands for chains.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum ChainCommand {
    /// Accept a chain whose final blocks were replaced, as two endpoints show it, and read those blocks again
    Accept {
        /// Network as /readyz names it: base
        network: String,
        /// Evidence for the audit log
        #[arg(long, value_name = "TEXT")]
        evidence: String,
    },
}

pub(super) async fn run(client: &AdminClient, act: ChainCommand) -> Result<HttpResponse, CliError> {
    let ChainCommand::Accept { network, evidence } = act;
    let body = json!({"network": network, "evidence": evidence});
    client.post("/admin/chains/accept", body).await
}
