//! `purser admin intl-orders`: the queue of international orders.

use serde_json::{Value, json};

use super::AdminClient;
use crate::cli::CliError;
use crate::cli::http_client::HttpResponse;
use crate::cli::terminal::HiddenInput;

/// What is done with international orders.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum IntlOrderCommand {
    /// Orders that are still open, overdue ones first, then the oldest
    List,
    /// Take an order
    Claim {
        /// The order
        card_id: String,
    },
    /// Release a claimed order
    Release {
        /// The order
        card_id: String,
        /// The number that `claim` gave
        #[arg(long)]
        lease: u64,
    },
    /// Enter the card: number, expiry (MM/YYYY) and CVV are read from standard input, a line each; at a terminal nothing that is
    /// typed shows
    Fulfil {
        /// The order
        card_id: String,
        /// The number that `claim` gave
        #[arg(long)]
        lease: u64,
        /// Where the card's bills go, as its maker says; the country as two letters
        #[arg(long, num_args = 5, required = true, value_names = ["LINE1", "CITY", "STATE", "POSTAL_CODE", "COUNTRY"])]
        billing_address: Vec<String>,
    },
    /// Refuse an order; the whole charge is credited
    Reject {
        /// The order
        card_id: String,
        /// What its holder is told
        #[arg(long)]
        reason: String,
        /// The number that `claim` gave, if the order is claimed
        #[arg(long)]
        lease: Option<u64>,
    },
    /// What holders want of cards that are made, the oldest wish first
    Wishes,
    /// Say what became of a card at whoever made it
    Report {
        /// The card
        card_id: String,
        /// Where it stands
        #[arg(value_parser = ["ready", "paused", "closed"])]
        status: String,
        /// Dollars left on it
        #[arg(long)]
        available: Option<String>,
        /// Dollars of what was left that its maker gave back, all so far: the rest of them is credited to the holder
        #[arg(long)]
        released: Option<String>,
        /// What it was charged, newest first, as JSON: a list of objects with `transaction_id`, `merchant`, `usd_amount`, `status`
        /// and `at_ms`
        #[arg(long)]
        transactions: Option<String>,
        /// Nothing more will come of what the holder asked for
        #[arg(long)]
        ends_request: bool,
    },
}

/// Asks the service.
pub(super) async fn run(desk: &AdminClient, act: IntlOrderCommand) -> Result<HttpResponse, CliError> {
    let (path, body) = match act {
        IntlOrderCommand::List => return desk.get("/admin/intl-orders").await,
        IntlOrderCommand::Claim { card_id } => ("claim", json!({"card_id": card_id})),
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
        IntlOrderCommand::Wishes => return desk.get("/admin/intl-cards").await,
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
            return desk.post("/admin/intl-cards/report", body).await;
        }
    };
    desk.post(&format!("/admin/intl-orders/{path}"), body).await
}

/// Never from the command line, which every process of the machine can read, nor shown as it is typed.
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
