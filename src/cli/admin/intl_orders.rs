//! `purser admin intl-orders`: the queue of international orders.

use serde_json::{Value, json};

use super::AdminClient;
use crate::CliError;
use crate::http_client::HttpResponse;
use crate::terminal::HiddenInput;

/// Commands for international orders.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum IntlOrderCommand {
    /// List open orders, overdue ones first, then oldest first
    List,
    /// Claim an order
    Claim {
        /// Order to claim
        card_id: String,
    },
    /// Extend your lease, which gets a new number
    Renew {
        /// Order whose lease to extend
        card_id: String,
        /// Number of your lease
        #[arg(long)]
        lease: u64,
    },
    /// Release a claimed order
    Release {
        /// Order to release
        card_id: String,
        /// Lease number from `claim`
        #[arg(long)]
        lease: u64,
    },
    /// Enter the card: number, expiry (MM/YYYY) and CVV are read from standard input, one per line; a terminal does not
    /// echo them
    Fulfil {
        /// Order to fulfil
        card_id: String,
        /// Lease number from `claim`
        #[arg(long)]
        lease: u64,
        /// Billing address from the card issuer; the country as two letters
        #[arg(long, num_args = 5, required = true, value_names = ["LINE1", "CITY", "STATE", "POSTAL_CODE", "COUNTRY"])]
        billing_address: Vec<String>,
    },
    /// Reject an order and credit the full charge
    Reject {
        /// Order to reject
        card_id: String,
        /// Message for the account owner
        #[arg(long)]
        reason: String,
        /// Lease number from `claim`, if the order is claimed
        #[arg(long)]
        lease: Option<u64>,
    },
    /// List card actions that account owners requested, oldest first
    Actions,
    /// Report the status of a card at its issuer
    Report {
        /// Card to report
        card_id: String,
        /// Status of the card
        #[arg(value_parser = ["ready", "paused", "closed"])]
        status: String,
        /// Remaining dollars on the card
        #[arg(long)]
        available: Option<String>,
        /// Total dollars that the issuer has returned from a closed card; the rest is credited to the account
        #[arg(long)]
        released: Option<String>,
        /// Transactions, newest first, as a JSON list of objects with `transaction_id`, `merchant`, `usd_amount`,
        /// `status` and `at_ms`
        #[arg(long)]
        transactions: Option<String>,
        /// Close the request: its action will not be carried out any further
        #[arg(long)]
        ends_request: bool,
    },
}

/// Calls the service.
pub(super) async fn run(client: &AdminClient, act: IntlOrderCommand) -> Result<HttpResponse, CliError> {
    let (path, body) = match act {
        IntlOrderCommand::List => return client.get("/admin/intl-orders").await,
        IntlOrderCommand::Claim { card_id } => ("claim", json!({"card_id": card_id})),
        IntlOrderCommand::Renew { card_id, lease } => ("renew", json!({"card_id": card_id, "lease": lease})),
        IntlOrderCommand::Release { card_id, lease } => ("release", json!({"card_id": card_id, "lease": lease})),
        IntlOrderCommand::Fulfil {
            card_id,
            lease,
            billing_address,
        } => {
            let mut body = card(&card_id, lease)?;
            if let [line1, city, state, postal_code, country] = billing_address.as_slice() {
                body["billing_address"] = json!({
                    "line1": line1, "city": city, "state": state, "postal_code": postal_code, "country": country,
                });
            }
            ("fulfil", body)
        }
        IntlOrderCommand::Reject { card_id, reason, lease } => {
            let body = json!({"card_id": card_id, "reason": reason, "lease": lease});
            ("reject", body)
        }
        IntlOrderCommand::Actions => return client.get("/admin/intl-cards").await,
        IntlOrderCommand::Report {
            card_id,
            status,
            available,
            released,
            transactions,
            ends_request,
        } => {
            let mut body = json!({"card_id": card_id, "status": status, "ends_request": ends_request});
            for (name, value) in [("available_usd_amount", available), ("released_usd_amount", released)] {
                if let Some(value) = value {
                    body[name] = value.into();
                }
            }
            if let Some(text) = transactions {
                let wrong = |_| CliError::Usage("the transactions are no JSON".to_owned());
                body["transactions"] = serde_json::from_str(&text).map_err(wrong)?;
            }
            return client.post("/admin/intl-cards/report", body).await;
        }
    };
    client.post(&format!("/admin/intl-orders/{path}"), body).await
}

/// Reads the card from standard input, not from arguments, which every process of the machine can read. A terminal does
/// not echo it.
fn card(card_id: &str, lease: u64) -> Result<Value, CliError> {
    let typing = HiddenInput::hidden()?;
    let number = typing.line("card number")?;
    let expiry = typing.line("expiry, MM/YYYY")?;
    let cvv = typing.line("CVV")?;
    drop(typing);
    let wrong = || CliError::Usage("the expiry is MM/YYYY".to_owned());
    let (month, year) = expiry.split_once('/').ok_or_else(wrong)?;
    let month: u8 = month.parse().map_err(|_| wrong())?;
    let year: u16 = year.parse().map_err(|_| wrong())?;
    Ok(json!({
        "card_id": card_id, "lease": lease, "card_number": *number, "exp_month": month, "exp_year": year, "cvv": *cvv,
    }))
}
