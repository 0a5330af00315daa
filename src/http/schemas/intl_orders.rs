//! Schemas of international cards.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    BillingAddress, CardAction, CardTransaction, Credentials, CreditedPurchase, ExactDecimal, IntlCardStatus,
    IntlCardType, QueuedStatus,
};

/// Response of a paid order that was settled.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum IntlOrderPurchaseResponse {
    /// The order was placed.
    Ordered(IntlOrderPurchase),
    /// The order could not be placed, and the charge was credited to the balance.
    Credited(CreditedPurchase),
}

/// A placed order of an international card with the payment.
#[derive(Deserialize, ToSchema)]
pub struct IntlOrderPurchase {
    /// Tokens, only for the call that paid first. Replays have none.
    pub auth: Option<Credentials>,
    /// The payer's address in lower case.
    pub user_id: String,
    /// The order as placed.
    pub intl_card_order: IntlCardOrder,
    /// Id for `GET /get-payment`.
    pub payment_id: String,
}

/// An order as placed.
#[derive(Deserialize, ToSchema)]
pub struct IntlCardOrder {
    /// Id for `GET /get-card-data` and `POST /cancel-intl-order`.
    pub card_id: String,
    /// US dollars to load on the card.
    #[schema(value_type = ExactDecimal)]
    pub on_card_usd_amount: Value,
    /// US dollars paid, fees included.
    #[schema(value_type = ExactDecimal)]
    pub charged_usd_amount: Value,
    /// Label given by the caller.
    #[schema(required)]
    pub label: Option<String>,
    /// Status of the order when it was placed.
    pub status: QueuedStatus,
    /// Creation time (RFC 3339).
    pub created_at: String,
}

/// A cancelled order.
#[derive(Deserialize, ToSchema)]
pub struct CancelOrderResponse {
    /// Id of the card.
    pub card_id: String,
    /// Message for people.
    pub message: String,
}

/// An international card without its number.
#[derive(Deserialize, ToSchema)]
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

/// An international card, with its number while it is ready or paused.
#[derive(Deserialize, ToSchema)]
pub struct IntlCardWithDetails {
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
    /// Transactions of the card, newest first, as operators have reported them: at most 20.
    pub transactions: Vec<CardTransaction>,
    /// Card details while the card is ready or paused.
    pub card_details: Option<IntlCardDetails>,
}

/// Details to pay with an international card.
#[derive(Deserialize, ToSchema)]
pub struct IntlCardDetails {
    /// Card number, 12 to 19 digits.
    pub card_number: String,
    /// Expiry month, 1 to 12.
    pub exp_month: u8,
    /// Expiry year, four digits.
    pub exp_year: u16,
    /// Card verification value, 3 or 4 digits.
    pub cvv: String,
    /// Remaining US dollars, as an operator last reported.
    #[schema(value_type = ExactDecimal)]
    pub available_balance: Value,
    /// Billing address for merchants.
    pub billing_address: BillingAddress,
}
