//! `purser admin refunds`: requests and approvals of refunds.

use serde_json::{Value, json};

use super::super::http_client::HttpResponse;
use super::super::{CliError, terminal};
use super::AdminClient;

/// Commands for refunds.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum RefundCommand {
    /// List refunds that need a second operator, oldest first; with --all every refund, by id
    List {
        /// List refunds in every status
        #[arg(long)]
        all: bool,
        /// `next_after` of the previous page
        #[arg(long)]
        after: Option<String>,
    },
    /// Show the refund of a payment, in any status
    Show {
        /// Payment whose refund is shown
        payment_id: String,
    },
    /// Request a refund; up to the limit in the settings it takes effect at once
    Request {
        /// Payment to refund
        payment_id: String,
        /// US dollars, at most what was charged
        #[arg(long, value_name = "USD", allow_negative_numbers = true)]
        amount: String,
        /// Reason for the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Refund although the account owner keeps the product; otherwise the refund is limited to the unusable part
        #[arg(long)]
        holder_keeps_product: bool,
    },
    /// Approve another operator's request
    Approve {
        /// Refund to approve
        refund_id: String,
        /// Amount that you approve
        #[arg(long, value_name = "USD", allow_negative_numbers = true)]
        amount: String,
    },
    /// Reject a refund, or withdraw your own request
    Reject {
        /// Refund to reject
        refund_id: String,
        /// Reason for the audit log
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

/// Describes the result of a request.
fn outcome_message(refund: &Value) -> &'static str {
    match refund["status"].as_str() {
        Some("requested") => "nothing is given yet: another operator has to approve it (refunds approve)",
        _ if refund["decided_by"] == refund["requested_by"] => {
            "the money is credited at once: no second operator was needed"
        }
        _ => "the money is given: another operator has approved it",
    }
}

pub(super) async fn run(client: &AdminClient, act: RefundCommand) -> Result<HttpResponse, CliError> {
    let (path, body) = match act {
        RefundCommand::List { all: false, after } => return client.page("/admin/refunds", after).await,
        RefundCommand::List { all: true, after } => {
            let after = after.map_or_else(String::new, |after| format!("&after={after}"));
            return client.get(&format!("/admin/refunds?all=true{after}")).await;
        }
        RefundCommand::Show { payment_id } => {
            return client.get(&format!("/admin/refunds?payment_id={payment_id}")).await;
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
            let answer = client.post("/admin/refunds", body).await?;
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
    client.post(path, body).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refund_output_reports_whether_the_money_was_credited() {
        // Checks: the message tells a pending refund from one that was credited at once.
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
