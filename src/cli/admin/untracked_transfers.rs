//! `purser admin untracked-transfers`: outgoing transfers that are missing from the ledger after a restore.

use serde_json::json;

use super::AdminClient;
use crate::CliError;
use crate::http_client::HttpResponse;

/// Commands for untracked transfers.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum UntrackedTransferCommand {
    /// Attribute an outgoing transfer that is missing from the ledger after a restore
    #[command(group = clap::ArgGroup::new("to").required(true))]
    Attribute {
        /// The transaction, or transaction#index as `purser admin dead-letters` names it
        transaction: String,
        /// Debit this account's balance
        #[arg(long, value_name = "ADDRESS", group = "to")]
        account: Option<String>,
        /// For a payout that this account paid for: what it was charged, in USDC, fee included
        #[arg(long, value_name = "USDC")]
        amount: Option<String>,
        /// It is the transfer of this withdrawal
        #[arg(long, value_name = "ID", group = "to")]
        withdrawal: Option<String>,
        /// It is the burn of this top-up
        #[arg(long, value_name = "ID", group = "to")]
        top_up: Option<String>,
        /// It was paid for by this incoming transfer, which awaits a decision: both are posted
        #[arg(long, value_name = "ID", group = "to")]
        deposit: Option<String>,
        /// It paid this provider what it is owed: card_issuer, gift_cards, push_to_card, bank, ...
        #[arg(long, value_name = "NAME", group = "to")]
        provider: Option<String>,
        /// You took it out of the treasury
        #[arg(long, group = "to")]
        operator_funds: bool,
        /// It paid for gas or rent on a chain
        #[arg(long, group = "to")]
        network_fees: bool,
        /// Post it as a loss
        #[arg(long, group = "to")]
        loss: bool,
        /// Evidence for the audit log
        #[arg(long, value_name = "TEXT")]
        evidence: String,
    },
}

pub(super) async fn run(client: &AdminClient, command: UntrackedTransferCommand) -> Result<HttpResponse, CliError> {
    let UntrackedTransferCommand::Attribute {
        transaction,
        account,
        amount,
        withdrawal,
        top_up,
        deposit,
        provider,
        operator_funds,
        network_fees,
        loss,
        evidence,
    } = command;
    let body = json!({
        "transaction": transaction, "account": account, "amount": amount, "withdrawal_id": withdrawal,
        "top_up_id": top_up, "deposit_id": deposit, "provider": provider, "operator_funds": operator_funds,
        "network_fees": network_fees, "loss": loss, "evidence": evidence,
    });
    client.post("/admin/untracked-transfers/attribute", body).await
}
