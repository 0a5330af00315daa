//! Schemas of payments, as their payers see them.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    Card, ExactDecimal, GiftCard, IntlCard, NetworkId, PaymentResolution, PaymentStatus, Payout, ProductName,
    ProductStatus, TopUp,
};
use crate::payment::receipt::PaymentReceipt;

/// A payment as its payer sees it.
#[derive(Serialize, ToSchema)]
pub struct Payment {
    /// Id of the payment.
    pub payment_id: String,
    /// Status of the payment, not of its product; `docs/states.md` has the state chart. `credited` only if the account
    /// was credited. `resolved` if an operator decided its transfer separately and the account was not credited: see
    /// `resolution`.
    pub status: PaymentStatus,
    /// Amount in USDC.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// `USDC` is the token.
    pub asset: String,
    /// Network as a CAIP-2 name.
    #[schema(value_type = NetworkId)]
    pub network: String,
    /// Exact wallet address of the payer.
    pub payer: String,
    /// Transaction id, once settled.
    #[schema(required)]
    pub transaction: Option<String>,
    /// Reason of a failed payment.
    #[schema(required)]
    pub error_reason: Option<String>,
    /// Product of the payment, as in `GET /get-pricing`.
    pub product: ProductName,
    /// `card_…`, `po_…` or `top_…`: id of the product.
    #[schema(required)]
    pub product_id: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
    /// Only for `resolved`: `returned` to its sender, `forwarded` for its payer before a restore, or `other`.
    pub resolution: Option<PaymentResolution>,
}

/// A payment with the current status of its product.
#[derive(Serialize, ToSchema)]
pub struct ListedPayment {
    /// Id of the payment.
    pub payment_id: String,
    /// Status of the payment, not of its product.
    pub status: PaymentStatus,
    /// Amount in USDC.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// `USDC` is the token.
    pub asset: String,
    /// Network as a CAIP-2 name.
    #[schema(value_type = NetworkId)]
    pub network: String,
    /// Exact wallet address of the payer.
    pub payer: String,
    /// Transaction id, once settled.
    #[schema(required)]
    pub transaction: Option<String>,
    /// Reason of a failed payment.
    #[schema(required)]
    pub error_reason: Option<String>,
    /// Product of the payment, as in `GET /get-pricing`.
    pub product: ProductName,
    /// `card_…`, `po_…` or `top_…`: id of the product.
    #[schema(required)]
    pub product_id: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
    /// Only for `resolved`: `returned` to its sender, `forwarded` for its payer before a restore, or `other`.
    pub resolution: Option<PaymentResolution>,
    /// Whether the status is final.
    pub terminal: bool,
    /// Status of the product, by that product's own states. A payment that is `fulfilled` may have bought a card that
    /// `failed` or an order that is `queued`. A top-up that is `credited` is on the card balance. Null while there is
    /// no product.
    #[schema(required)]
    pub product_status: Option<ProductStatus>,
    /// US dollars of the charge that were credited to the account's balance, if any.
    #[schema(value_type = Option<ExactDecimal>, required = false)]
    pub credited_usd_amount: Option<Value>,
    /// Contents of `PAYMENT-RESPONSE`, once settled.
    #[schema(required)]
    pub receipt: Option<PaymentReceipt>,
    /// Id of the purchased card of any kind.
    pub card_id: Option<String>,
    /// Id of the purchased payout.
    pub payout_id: Option<String>,
    /// Id of the purchased top-up.
    pub top_up_id: Option<String>,
    /// Purchased USA card.
    pub card: Option<Card>,
    /// Purchased gift card, without its code.
    pub gift_card: Option<GiftCard>,
    /// Purchased international card.
    pub intl_card_order: Option<IntlCard>,
    /// Purchased payout, without its link.
    pub payout: Option<Payout>,
    /// The purchased top-up.
    pub top_up: Option<TopUp>,
}

/// Status of a payment.
#[derive(Serialize, ToSchema)]
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
    #[schema(value_type = Option<ExactDecimal>, required = false)]
    pub credited_usd_amount: Option<Value>,
    /// Id of the purchased card, for the payer only.
    pub card_id: Option<String>,
    /// Id of the purchased payout, for the payer only.
    pub payout_id: Option<String>,
    /// Id of the purchased top-up, for the payer only.
    pub top_up_id: Option<String>,
}
