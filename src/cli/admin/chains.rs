//! The chains, on the command line.

use serde_json::json;

use super::super::CliError;
use super::super::http_client::HttpResponse;
use super::AdminClient;

/// What is done about chains.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum ChainCommand {
    /// Take the chain that two endpoints show where it has replaced blocks that were final: those are read again
    Accept {
        /// As /readyz names it: base
        network: String,
        /// How you know that it is the chain, for the audit log
        #[arg(long, value_name = "TEXT")]
        evidence: String,
    },
}

pub(super) async fn run(desk: &AdminClient, act: ChainCommand) -> Result<HttpResponse, CliError> {
    let ChainCommand::Accept { network, evidence } = act;
    let body = json!({"network": network, "evidence": evidence});
    desk.post("/admin/chains/accept", body).await
}
