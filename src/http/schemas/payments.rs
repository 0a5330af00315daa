//! Schemas of payments, as their payers see them.

use serde::Serialize;
use serde_json::Value;

#[cfg(feature = "documents")]
use super::ExactDecimal;
use super::{Payment, PaymentStatus, ProductStatus};
use purser_actors::id::ApiKeyId;

/// API key of an agent that paid. Agents see their own only.
#[derive(Clone, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct PayingKey {
    /// Id of the key.
    pub api_key_id: ApiKeyId,
    /// Name of the key.
    pub name: String,
}

/// Status of a payment.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct PaymentStatusResponse {
    /// Same as in `payment`.
    pub status: PaymentStatus,
    /// Whether the status is final.
    pub terminal: bool,
    /// Delay before the next poll.
    pub retry_after_seconds: Option<u64>,
    /// The payment, for its payer only.
    pub payment: Option<Payment>,
    /// Status of the product as in `GET /list-payments`, for the payer only.
    pub product_status: Option<ProductStatus>,
    /// US dollars of the charge that were credited to the account's balance, for the payer only.
    #[cfg_attr(feature = "documents", schema(value_type = Option<ExactDecimal>, required = false))]
    pub credited_usd_amount: Option<Value>,
    /// US dollars that operators refunded to the account's balance, for the payer only.
    #[cfg_attr(feature = "documents", schema(value_type = Option<ExactDecimal>, required = false))]
    pub refunded_usd_amount: Option<Value>,
    /// API key whose token came with the payment, for the payer only.
    pub api_key: Option<PayingKey>,
    /// Id of the purchased card, for the payer only.
    pub card_id: Option<String>,
    /// Id of the purchased payout, for the payer only.
    pub payout_id: Option<String>,
    /// Id of the purchased top-up, for the payer only.
    pub top_up_id: Option<String>,
}
