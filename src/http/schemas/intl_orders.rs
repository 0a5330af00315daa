//! Schemas of international cards.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{CardAction, ExactDecimal, IntlCardStatus, IntlCardType};

/// An international card without its number.
#[derive(Serialize, ToSchema)]
pub struct IntlCard {
    /// Id of the card, unchanged from the order on.
    pub card_id: String,
    /// `queued`, `claimed`, `ready`, `paused`, `closed`, `cancelled`, `rejected` or `expired`.
    pub status: IntlCardStatus,
    /// Same as `status`.
    pub state: IntlCardStatus,
    /// `Non-Reloadable International` is the card type.
    pub card_type: IntlCardType,
    /// US dollars loaded on the card.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// Same as `usd_amount`.
    #[schema(value_type = ExactDecimal)]
    pub on_card_usd_amount: Value,
    /// US dollars paid, fees included.
    #[schema(value_type = ExactDecimal)]
    pub charged_usd_amount: Value,
    /// Fees in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub fees_paid: Value,
    /// Remaining US dollars, as the issuer last reported.
    #[schema(value_type = ExactDecimal)]
    pub available_usd_amount: Value,
    /// US dollars credited to the account's balance: the full charge of an order that failed, otherwise the remainder
    /// at the card's end, less earlier refunds.
    #[schema(value_type = ExactDecimal)]
    pub credited_usd_amount: Value,
    /// Label given by the caller.
    #[schema(required)]
    pub label: Option<String>,
    /// Last four digits of the card number, once known.
    #[schema(required)]
    pub last4: Option<String>,
    /// `pause`, `resume` or `close` while operators have not completed that action.
    #[schema(required)]
    pub pending_action: Option<CardAction>,
    /// Reason given by the operator for a rejection.
    #[schema(required)]
    pub rejection_reason: Option<String>,
    /// Whether the order was still open after 24 hours.
    pub overdue: bool,
    /// Payment that bought the card.
    pub payment_id: String,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}
