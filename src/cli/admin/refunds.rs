//! Refunds, on the command line.

use serde_json::{Value, json};

use super::super::http_client::HttpResponse;
use super::super::{CliError, terminal};
use super::AdminClient;

/// What is done about refunds.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum RefundCommand {
    /// Those that wait for a second operator, the oldest first; with --all every one, in the order of their ids
    List {
        /// However they stand
        #[arg(long)]
        all: bool,
        /// `next_after` of the page before
        #[arg(long)]
        after: Option<String>,
    },
    /// The refund of a payment, however it stands
    Show {
        /// The payment
        payment_id: String,
    },
    /// Ask for one; up to the limit of the settings it takes effect at once
    Request {
        /// The payment
        payment_id: String,
        /// US dollars, at most what was charged
        #[arg(long, value_name = "USD", allow_negative_numbers = true)]
        amount: String,
        /// Why, for the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// The holder gets the money and may keep what it bought too. Without it no more is given than they can no longer use
        #[arg(long)]
        holder_keeps_product: bool,
    },
    /// Approve one that somebody else asked for
    Approve {
        /// The refund
        refund_id: String,
        /// The amount that you approve
        #[arg(long, value_name = "USD", allow_negative_numbers = true)]
        amount: String,
    },
    /// Reject one, or take your own back
    Reject {
        /// The refund
        refund_id: String,
        /// Why, for the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

/// What came of a request, in words.
fn outcome_message(refund: &Value) -> &'static str {
    match refund["status"].as_str() {
        Some("requested") => "nothing is given yet: another operator has to approve it (refunds approve)",
        _ if refund["decided_by"] == refund["requested_by"] => "the money is given, at once: it needed nobody else",
        _ => "the money is given: another operator has approved it",
    }
}

pub(super) async fn run(desk: &AdminClient, act: RefundCommand) -> Result<HttpResponse, CliError> {
    let (path, body) = match act {
        RefundCommand::List { all: false, after } => return desk.page("/admin/refunds", after).await,
        RefundCommand::List { all: true, after } => {
            let after = after.map_or_else(String::new, |after| format!("&after={after}"));
            return desk.get(&format!("/admin/refunds?all=true{after}")).await;
        }
        RefundCommand::Show { payment_id } => {
            return desk.get(&format!("/admin/refunds?payment_id={payment_id}")).await;
        }
        RefundCommand::Request {
            payment_id,
            amount,
            reason,
            holder_keeps_product,
        } => {
            let body = json!({
                "payment_id": payment_id, "amount": amount, "reason": reason, "holder_keeps_product": holder_keeps_product,
            });
            let answer = desk.post("/admin/refunds", body).await?;
            if answer.is_success() {
                terminal::progress(outcome_message(&answer.body));
            }
            return Ok(answer);
        }
        RefundCommand::Approve { refund_id, amount } => {
            let body = json!({"refund_id": refund_id, "amount": amount});
            ("/admin/refunds/approve", body)
        }
        RefundCommand::Reject { refund_id, reason } => {
            let body = json!({"refund_id": refund_id, "reason": reason});
            ("/admin/refunds/reject", body)
        }
    };
    desk.post(path, body).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_for_a_refund_is_told_whether_the_money_is_given() {
        // Aim: one that waits has given nothing; one that was small enough has given at once, and says so.
        for (status, decided_by, words) in [
            ("requested", Value::Null, "nothing is given yet"),
            ("approved", json!("ana"), "at once"),
            ("credited", json!("ana"), "at once"),
            ("credited", json!("ben"), "another operator has approved it"),
        ] {
            let refund = json!({"status": status, "requested_by": "ana", "decided_by": decided_by});
            assert!(outcome_message(&refund).contains(words), "{refund}");
        }
    }
}
