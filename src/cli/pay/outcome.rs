//! Outcome of a purchase when `purser pay` ends.

use serde_json::Value;

/// Outcome of a purchase when the command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PurchaseOutcome {
    /// The card is ready.
    Ready,
    /// Paid, but not ready as far as the command has seen.
    Pending,
    /// Paid, and credited to the account's balance instead.
    Failed,
}

impl PurchaseOutcome {
    pub(super) fn of(body: &Value) -> Self {
        let status = |body: &Value| body.get("status").and_then(Value::as_str).map(str::to_owned);
        let card = body.get("card_data").and_then(status);
        match (status(body).as_deref(), card.as_deref()) {
            (Some("credited"), _) | (_, Some("failed")) => Self::Failed,
            (_, Some("ready" | "completed")) => Self::Ready,
            _ => Self::Pending,
        }
    }

    /// One sentence for the person who paid.
    pub(super) fn message(self, body: &Value) -> String {
        let id = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
        let order = body.get("intl_card_order").and_then(|order| id(order, "card_id"));
        if let (Some(order), Self::Pending) = (&order, self) {
            return format!("{order} is paid and queued: an operator makes the card, within 24 hours.");
        }
        let card = id(body, "card_id").or(order);
        let inside = |name: &str| body.get(name).and_then(|payout| id(payout, "payout_id"));
        let payout = id(body, "payout_id").or_else(|| inside("bank_payment"));
        let sent = payout.or_else(|| inside("payment")).or_else(|| id(body, "top_up_id"));
        if let (Some(sent), Some("awaiting-details")) = (&sent, body.get("status").and_then(Value::as_str)) {
            return format!("{sent} is paid; its recipient enters the card at redemption_url.");
        }
        match (self, card, sent) {
            (Self::Ready, Some(card), _) => format!("{card} is ready to use."),
            (Self::Failed, Some(card), _) => {
                format!("{card} could not be made; what it cost is on the account's balance")
            }
            (Self::Failed, None, _) => "nothing was bought; what was paid is on the account's balance".to_owned(),
            (_, Some(card), _) => format!("{card} is paid and being made."),
            (_, None, Some(sent)) => format!("{sent} is paid and on its way."),
            (_, None, None) => "It is bought.".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::CliError;

    #[test]
    fn last_line_reports_the_outcome() {
        // Checks: a failed card and a credited payment are failures of the command; a ready or pending card is none.
        let bought = |card: Value| json!({"status": "pending", "card_id": "card_1", "card_data": card});
        for (body, end, words) in [
            (
                bought(json!({"status": "ready"})),
                PurchaseOutcome::Ready,
                "card_1 is ready",
            ),
            (
                bought(json!({"status": "failed"})),
                PurchaseOutcome::Failed,
                "card_1 could not be made",
            ),
            (bought(Value::Null), PurchaseOutcome::Pending, "card_1 is paid"),
            (
                json!({"intl_card_order": {"card_id": "card_2", "status": "queued"}}),
                PurchaseOutcome::Pending,
                "card_2 is paid and queued",
            ),
            (
                json!({"status": "credited", "credited_amount": 5}),
                PurchaseOutcome::Failed,
                "nothing was bought",
            ),
        ] {
            assert_eq!(PurchaseOutcome::of(&body), end, "{body}");
            assert!(end.message(&body).starts_with(words), "{}", end.message(&body));
        }
        assert_eq!(CliError::NotDelivered(String::new()).exit_status(), 1);
    }
}
