//! Transfers to the treasury that no payment claims, on the command line.

use serde_json::json;

use super::super::CliError;
use super::super::http_client::HttpResponse;
use super::AdminClient;

/// What is done about transfers that no payment claims.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum IncomingTransferCommand {
    /// Those that wait for a decision or are being looked into, the oldest first
    List {
        /// `next_after` of the page before
        #[arg(long)]
        after: Option<String>,
    },
    /// Credit whoever sent it, or a named account
    Credit {
        /// As the list names it
        deposit_id: String,
        /// This account instead of the sender's
        #[arg(long, value_name = "ADDRESS")]
        account: Option<String>,
        /// Its holder is to have both: the money and the payout that it had paid for
        #[arg(long)]
        holder_keeps_product: bool,
        /// How you know, for the audit log
        #[arg(long, value_name = "TEXT")]
        evidence: String,
    },
    /// It is the treasury's own: whoever runs the service has put it there
    OperatorFunds {
        /// As the list names it
        deposit_id: String,
        /// How you know, for the audit log
        #[arg(long, value_name = "TEXT")]
        evidence: String,
    },
    /// Send it back to whoever sent it
    Return {
        /// As the list names it
        deposit_id: String,
        /// Its sender is to have both: the money and the payout that it had paid for
        #[arg(long)]
        holder_keeps_product: bool,
        /// Why, for the audit log
        #[arg(long, value_name = "TEXT")]
        evidence: String,
    },
}

pub(super) async fn run(desk: &AdminClient, act: IncomingTransferCommand) -> Result<HttpResponse, CliError> {
    let (path, body) = match act {
        IncomingTransferCommand::List { after } => return desk.page("/admin/incoming-transfers", after).await,
        IncomingTransferCommand::Credit {
            deposit_id,
            account,
            holder_keeps_product,
            evidence,
        } => {
            let body = json!({
                "deposit_id": deposit_id, "account": account, "evidence": evidence,
                "holder_keeps_product": holder_keeps_product,
            });
            ("/admin/incoming-transfers/credit", body)
        }
        IncomingTransferCommand::OperatorFunds { deposit_id, evidence } => {
            let body = json!({"deposit_id": deposit_id, "evidence": evidence});
            ("/admin/incoming-transfers/operator-funds", body)
        }
        IncomingTransferCommand::Return {
            deposit_id,
            holder_keeps_product,
            evidence,
        } => {
            let body = json!({
                "deposit_id": deposit_id, "evidence": evidence, "holder_keeps_product": holder_keeps_product,
            });
            ("/admin/incoming-transfers/return", body)
        }
    };
    desk.post(path, body).await
}
