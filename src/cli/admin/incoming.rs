//! `purser admin incoming`: transfers to the treasury that no payment claims.

use serde_json::json;

use super::super::CliError;
use super::super::http_client::HttpResponse;
use super::AdminClient;

/// Commands for transfers that no payment claims.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum IncomingTransferCommand {
    /// List transfers that need a decision or are being processed, oldest first
    List {
        /// `next_after` of the previous page
        #[arg(long)]
        after: Option<String>,
    },
    /// Credit the sender of a transfer, or a named account
    Credit {
        /// Deposit id from `list`
        deposit_id: String,
        /// Account to credit instead of the sender's
        #[arg(long, value_name = "ADDRESS")]
        account: Option<String>,
        /// Credit the account although it keeps the payout that the transfer paid for
        #[arg(long)]
        holder_keeps_product: bool,
        /// Evidence for the audit log
        #[arg(long, value_name = "TEXT")]
        evidence: String,
    },
    /// Record a transfer as operator funds that you sent to the treasury
    OperatorFunds {
        /// Deposit id from `list`
        deposit_id: String,
        /// Evidence for the audit log
        #[arg(long, value_name = "TEXT")]
        evidence: String,
    },
    /// Return a transfer to its sender
    Return {
        /// Deposit id from `list`
        deposit_id: String,
        /// Return the transfer although its sender keeps the payout that it paid for
        #[arg(long)]
        holder_keeps_product: bool,
        /// Evidence for the audit log
        #[arg(long, value_name = "TEXT")]
        evidence: String,
    },
}

pub(super) async fn run(client: &AdminClient, act: IncomingTransferCommand) -> Result<HttpResponse, CliError> {
    let (path, body) = match act {
        IncomingTransferCommand::List { after } => return client.page("/admin/incoming-transfers", after).await,
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
    client.post(path, body).await
}
