//! International cards.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{BillingAddress, CardTransaction, Credentials, CreditedPurchase, ExactDecimal};

/// A paid order that was settled.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum IntlOrderPurchaseResponse {
    /// It is in the queue.
    Ordered(IntlOrderPurchase),
    /// It could not be taken: the charge is on the balance.
    Credited(CreditedPurchase),
}

/// An international card ordered.
#[derive(Deserialize, ToSchema)]
pub struct IntlOrderPurchase {
    /// For the call that paid first; a replay gets none.
    pub auth: Option<Credentials>,
    /// The payer's address in lower case.
    pub user_id: String,
    /// The order as it was made.
    pub intl_card_order: IntlCardOrder,
    /// For `GET /get-payment`.
    pub payment_id: String,
}

/// An order as it was made.
#[derive(Deserialize, ToSchema)]
pub struct IntlCardOrder {
    /// For `GET /get-card-data` and `POST /cancel-intl-order`.
    pub card_id: String,
    /// Dollars that the card will hold.
    #[schema(value_type = ExactDecimal)]
    pub on_card_usd_amount: Value,
    /// Dollars paid, fees included.
    #[schema(value_type = ExactDecimal)]
    pub charged_usd_amount: Value,
    /// The caller's own name for it.
    #[schema(required)]
    pub label: Option<String>,
    /// `queued`.
    pub status: String,
    /// RFC 3339.
    pub created_at: String,
}

/// An order that was cancelled.
#[derive(Deserialize, ToSchema)]
pub struct CancelOrderResponse {
    /// Its id.
    pub card_id: String,
    /// For people.
    pub message: String,
}

/// An international card without its number.
#[derive(Deserialize, ToSchema)]
pub struct IntlCard {
    /// Its id, from the order to the end.
    pub card_id: String,
    /// `queued`, `claimed`, `ready`, `paused`, `closed`, `cancelled`, `rejected` or `expired`.
    pub status: String,
    /// As `status`.
    pub state: String,
    /// `Non-Reloadable International`.
    pub card_type: String,
    /// Dollars loaded.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// The same.
    #[schema(value_type = ExactDecimal)]
    pub on_card_usd_amount: Value,
    /// Dollars paid, fees included.
    #[schema(value_type = ExactDecimal)]
    pub charged_usd_amount: Value,
    /// Dollars of it that were fees.
    #[schema(value_type = ExactDecimal)]
    pub fees_paid: Value,
    /// Dollars left on it, by the newest word of whoever made it.
    #[schema(value_type = ExactDecimal)]
    pub available_usd_amount: Value,
    /// Dollars credited to the account's balance: the whole charge of an order that came to nothing, else what was left at the
    /// card's end less what a refund had given.
    #[schema(value_type = ExactDecimal)]
    pub credited_usd_amount: Value,
    /// The caller's own name for it.
    #[schema(required)]
    pub label: Option<String>,
    /// Of the number, once there is one.
    #[schema(required)]
    pub last4: Option<String>,
    /// `pause`, `resume` or `close`, while operators are asked for it.
    #[schema(required)]
    pub pending_action: Option<String>,
    /// The operator's words, if it was rejected.
    #[schema(required)]
    pub rejection_reason: Option<String>,
    /// Whether it was still open after 24 hours.
    pub overdue: bool,
    /// What paid for it.
    pub payment_id: String,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
}

/// One international card, with its number while it is ready or paused.
#[derive(Deserialize, ToSchema)]
pub struct IntlCardWithDetails {
    /// Its id, from the order to the end.
    pub card_id: String,
    /// `queued`, `claimed`, `ready`, `paused`, `closed`, `cancelled`, `rejected` or `expired`.
    pub status: String,
    /// As `status`.
    pub state: String,
    /// `Non-Reloadable International`.
    pub card_type: String,
    /// Dollars loaded.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// The same.
    #[schema(value_type = ExactDecimal)]
    pub on_card_usd_amount: Value,
    /// Dollars paid, fees included.
    #[schema(value_type = ExactDecimal)]
    pub charged_usd_amount: Value,
    /// Dollars of it that were fees.
    #[schema(value_type = ExactDecimal)]
    pub fees_paid: Value,
    /// Dollars left on it, by the newest word of whoever made it.
    #[schema(value_type = ExactDecimal)]
    pub available_usd_amount: Value,
    /// Dollars credited to the account's balance: the whole charge of an order that came to nothing, else what was left at the
    /// card's end less what a refund had given.
    #[schema(value_type = ExactDecimal)]
    pub credited_usd_amount: Value,
    /// The caller's own name for it.
    #[schema(required)]
    pub label: Option<String>,
    /// Of the number, once there is one.
    #[schema(required)]
    pub last4: Option<String>,
    /// `pause`, `resume` or `close`, while operators are asked for it.
    #[schema(required)]
    pub pending_action: Option<String>,
    /// The operator's words, if it was rejected.
    #[schema(required)]
    pub rejection_reason: Option<String>,
    /// Whether it was still open after 24 hours.
    pub overdue: bool,
    /// What paid for it.
    pub payment_id: String,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
    /// What it was charged, newest first, as operators have reported it: at most 20.
    pub transactions: Vec<CardTransaction>,
    /// While it is ready or paused.
    pub card_details: Option<IntlCardDetails>,
}

/// What is needed to use an international card.
#[derive(Deserialize, ToSchema)]
pub struct IntlCardDetails {
    /// 12 to 19 digits.
    pub card_number: String,
    /// 1 to 12.
    pub exp_month: u8,
    /// Four digits.
    pub exp_year: u16,
    /// 3 or 4 digits.
    pub cvv: String,
    /// Dollars left on it, by the newest report of an operator.
    #[schema(value_type = ExactDecimal)]
    pub available_balance: Value,
    /// For shops that ask for it.
    pub billing_address: BillingAddress,
}
