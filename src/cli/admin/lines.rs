//! Lines of products, on the command line.

use serde_json::json;

use super::super::CliError;
use super::super::http_client::HttpResponse;
use super::AdminClient;

/// What is done about lines of products.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum ProductLineCommand {
    /// How each stands: open, failing (its provider is down), or closed by an operator
    List,
    /// Sell nothing of a line until somebody opens it; what was sold is delivered
    Close {
        /// As `list` names it, for example usa_prepaid_card
        line: String,
        /// Why, for the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Sell a line again, whatever its provider does
    Open {
        /// As `list` names it
        line: String,
        /// Why, for the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

pub(super) async fn run(desk: &AdminClient, act: ProductLineCommand) -> Result<HttpResponse, CliError> {
    match act {
        ProductLineCommand::List => desk.get("/admin/lines").await,
        ProductLineCommand::Close { line, reason } => {
            let body = json!({"line": line, "reason": reason});
            desk.post("/admin/lines/close", body).await
        }
        ProductLineCommand::Open { line, reason } => {
            let body = json!({"line": line, "reason": reason});
            desk.post("/admin/lines/open", body).await
        }
    }
}
