//! `purser admin card-withdrawals`: payouts of withdrawals from card balances.

use serde_json::json;

use super::AdminClient;
use crate::CliError;
use crate::http_client::HttpResponse;

/// Commands for withdrawals from card balances.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum CardWithdrawalCommand {
    /// List open withdrawals, oldest first
    List,
    /// Claim a withdrawal
    Claim {
        /// Withdrawal to claim
        withdrawal_id: String,
    },
    /// Extend your lease, which gets a new number
    Renew {
        /// Withdrawal whose lease to extend
        withdrawal_id: String,
        /// Number of your lease
        #[arg(long)]
        lease: u64,
    },
    /// Release a claimed withdrawal without paying it
    Release {
        /// Withdrawal to release
        withdrawal_id: String,
        /// Lease number from `claim`
        #[arg(long)]
        lease: u64,
    },
    /// Record that a withdrawal was paid
    Fulfil {
        /// Withdrawal that was paid
        withdrawal_id: String,
        /// Lease number from `claim`
        #[arg(long)]
        lease: u64,
        /// Hash of the transaction that paid it
        #[arg(long)]
        tx_hash: String,
    },
    /// Reject a withdrawal; the issuer releases the hold on the balance
    Reject {
        /// Withdrawal to reject
        withdrawal_id: String,
        /// Message for the account owner
        #[arg(long)]
        reason: String,
        /// Lease number from `claim`, if the withdrawal is claimed
        #[arg(long)]
        lease: Option<u64>,
    },
}

/// Calls the service.
pub(super) async fn run(client: &AdminClient, act: CardWithdrawalCommand) -> Result<HttpResponse, CliError> {
    let (path, body) = match act {
        CardWithdrawalCommand::List => return client.get("/admin/card-withdrawals").await,
        CardWithdrawalCommand::Claim { withdrawal_id } => ("claim", json!({"withdrawal_id": withdrawal_id})),
        CardWithdrawalCommand::Renew { withdrawal_id, lease } => {
            ("renew", json!({"withdrawal_id": withdrawal_id, "lease": lease}))
        }
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
    client.post(&format!("/admin/card-withdrawals/{path}"), body).await
}
