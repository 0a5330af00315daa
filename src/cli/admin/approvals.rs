//! Acts that wait for a second operator, on the command line.

use serde_json::json;

use super::super::CliError;
use super::super::http_client::HttpResponse;
use super::AdminClient;

/// What is done about them.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum ApprovalCommand {
    /// Those that wait, the oldest first; refunds have a list of their own
    List {
        /// `next_after` of the page before
        #[arg(long)]
        after: Option<String>,
    },
    /// Approve one that somebody else asked for: it is done as it was asked for
    Approve {
        /// As `list` names it
        approval_id: String,
        /// The amount that you approve
        #[arg(long, value_name = "USD", allow_negative_numbers = true)]
        amount: String,
    },
    /// Take one off the list, another's or your own
    Reject {
        /// As `list` names it
        approval_id: String,
        /// Why, for the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

pub(super) async fn run(desk: &AdminClient, act: ApprovalCommand) -> Result<HttpResponse, CliError> {
    match act {
        ApprovalCommand::List { after } => desk.page("/admin/approvals", after).await,
        ApprovalCommand::Approve { approval_id, amount } => {
            let body = json!({"approval_id": approval_id, "amount": amount});
            desk.post("/admin/approvals/approve", body).await
        }
        ApprovalCommand::Reject { approval_id, reason } => {
            let body = json!({"approval_id": approval_id, "reason": reason});
            desk.post("/admin/approvals/reject", body).await
        }
    }
}
