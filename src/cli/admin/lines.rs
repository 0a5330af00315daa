//! `purser admin lines`: product lines.

use serde_json::json;

use super::super::CliError;
use super::super::http_client::HttpResponse;
use super::AdminClient;

/// Commands for product lines.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum ProductLineCommand {
    /// List product lines: open, failing (provider down) or closed by an operator
    List,
    /// Stop sales of a line until it is opened; sold products are still delivered
    Close {
        /// Line from `list`, for example usa_prepaid_card
        line: String,
        /// Reason for the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Resume sales of a line, whatever the state of its provider
    Open {
        /// Line from `list`
        line: String,
        /// Reason for the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

pub(super) async fn run(client: &AdminClient, act: ProductLineCommand) -> Result<HttpResponse, CliError> {
    match act {
        ProductLineCommand::List => client.get("/admin/lines").await,
        ProductLineCommand::Close { line, reason } => {
            let body = json!({"line": line, "reason": reason});
            client.post("/admin/lines/close", body).await
        }
        ProductLineCommand::Open { line, reason } => {
            let body = json!({"line": line, "reason": reason});
            client.post("/admin/lines/open", body).await
        }
    }
}
