//! `purser admin card-withdrawals`: paying out what holders take from their balances at the card issuer.

use serde_json::json;

use super::AdminClient;
use crate::cli::CliError;
use crate::cli::http_client::HttpResponse;

/// What is done with withdrawals from card balances.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum CardWithdrawalCommand {
    /// Withdrawals that are still open, the oldest first
    List,
    /// Take a withdrawal
    Claim {
        /// The withdrawal
        withdrawal_id: String,
    },
    /// Put a withdrawal back: it is not paid
    Release {
        /// The withdrawal
        withdrawal_id: String,
        /// The number that `claim` gave
        #[arg(long)]
        lease: u64,
    },
    /// Say that it is paid
    Fulfil {
        /// The withdrawal
        withdrawal_id: String,
        /// The number that `claim` gave
        #[arg(long)]
        lease: u64,
        /// The transaction that paid it
        #[arg(long)]
        tx_hash: String,
    },
    /// Refuse a withdrawal; the issuer puts it back on the balance
    Reject {
        /// The withdrawal
        withdrawal_id: String,
        /// What its holder is told
        #[arg(long)]
        reason: String,
        /// The number that `claim` gave, if it is claimed
        #[arg(long)]
        lease: Option<u64>,
    },
}

/// Asks the service.
pub(super) async fn run(desk: &AdminClient, act: CardWithdrawalCommand) -> Result<HttpResponse, CliError> {
    let (path, body) = match act {
        CardWithdrawalCommand::List => return desk.get("/admin/card-withdrawals").await,
        CardWithdrawalCommand::Claim { withdrawal_id } => ("claim", json!({"withdrawal_id": withdrawal_id})),
        CardWithdrawalCommand::Release { withdrawal_id, lease } => {
            ("release", json!({"withdrawal_id": withdrawal_id, "lease": lease}))
        }
        CardWithdrawalCommand::Fulfil {
            withdrawal_id,
            lease,
            tx_hash,
        } => {
            let body = json!({"withdrawal_id": withdrawal_id, "lease": lease, "tx_hash": tx_hash});
            ("fulfil", body)
        }
        CardWithdrawalCommand::Reject {
            withdrawal_id,
            reason,
            lease,
        } => {
            let body = json!({"withdrawal_id": withdrawal_id, "reason": reason, "lease": lease});
            ("reject", body)
        }
    };
    desk.post(&format!("/admin/card-withdrawals/{path}"), body).await
}
