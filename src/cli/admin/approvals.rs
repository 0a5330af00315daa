//! `purser admin approvals`: actions that need a second operator.

use serde_json::json;

use super::super::CliError;
use super::super::http_client::HttpResponse;
use super::AdminClient;

/// Commands for approvals.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum ApprovalCommand {
    /// List pending approvals, oldest first; refunds have their own list
    List {
        /// `next_after` of the previous page
        #[arg(long)]
        after: Option<String>,
    },
    /// Approve another operator's request and execute it
    Approve {
        /// Approval id from `list`
        approval_id: String,
        /// Amount that you approve
        #[arg(long, value_name = "USD", allow_negative_numbers = true)]
        amount: String,
    },
    /// Reject another operator's request, or withdraw your own
    Reject {
        /// Approval id from `list`
        approval_id: String,
        /// Reason for the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

pub(super) async fn run(client: &AdminClient, act: ApprovalCommand) -> Result<HttpResponse, CliError> {
    match act {
        ApprovalCommand::List { after } => client.page("/admin/approvals", after).await,
        ApprovalCommand::Approve { approval_id, amount } => {
            let body = json!({"approval_id": approval_id, "amount": amount});
            client.post("/admin/approvals/approve", body).await
        }
        ApprovalCommand::Reject { approval_id, reason } => {
            let body = json!({"approval_id": approval_id, "reason": reason});
            client.post("/admin/approvals/reject", body).await
        }
    }
}
