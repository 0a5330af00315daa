//! Payments, as those who made them see them.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{Card, ExactDecimal, GiftCard, IntlCard, Payout, TopUp};

/// A payment as its payer sees it.
#[derive(Deserialize, ToSchema)]
pub struct Payment {
    /// Its id.
    pub payment_id: String,
    /// The payment's own state, not its product's; `ARCHITECTURE.md` has the chart. `credited` only if the account has the money;
    /// `resolved` if its transfer was decided about without it, and the account was not credited: `resolution` says where the money went.
    pub status: String,
    /// USDC.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// `USDC`.
    pub asset: String,
    /// CAIP-2.
    pub network: String,
    /// The exact address.
    pub payer: String,
    /// Once it settled.
    #[schema(required)]
    pub transaction: Option<String>,
    /// Once it was refused.
    #[schema(required)]
    pub error_reason: Option<String>,
    /// What it pays for, as in `GET /get-pricing`.
    pub product: String,
    /// `card_…`, `po_…` or `top_…`: what it bought.
    #[schema(required)]
    pub product_id: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
    /// Only of a `resolved` one: `returned` to its sender, `forwarded` for its payer before a restore, or `other`.
    pub resolution: Option<String>,
}

/// A page of payments.
#[derive(Deserialize, ToSchema)]
pub struct PaymentList {
    /// Newest first.
    pub payments: Vec<ListedPayment>,
    /// Whether more follow.
    pub has_more: bool,
}

/// A payment with what it bought, as that stands now.
#[derive(Deserialize, ToSchema)]
pub struct ListedPayment {
    /// Its id.
    pub payment_id: String,
    /// The payment's own state, not its product's.
    pub status: String,
    /// USDC.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// `USDC`.
    pub asset: String,
    /// CAIP-2.
    pub network: String,
    /// The exact address.
    pub payer: String,
    /// Once it settled.
    #[schema(required)]
    pub transaction: Option<String>,
    /// Once it was refused.
    #[schema(required)]
    pub error_reason: Option<String>,
    /// What it pays for, as in `GET /get-pricing`.
    pub product: String,
    /// `card_…`, `po_…` or `top_…`: what it bought.
    #[schema(required)]
    pub product_id: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
    /// Only of a `resolved` one: `returned` to its sender, `forwarded` for its payer before a restore, or `other`.
    pub resolution: Option<String>,
    /// Whether it will stay so.
    pub terminal: bool,
    /// How what it bought stands now, by that product's own states: a payment that is `fulfilled` may have bought a card that `failed`
    /// or an order that is `queued`; a top-up that is `credited` is on the card balance. Null while it has bought nothing.
    #[schema(required)]
    pub product_status: Option<String>,
    /// Dollars of the charge that are on the account's balance instead, if any are.
    #[schema(value_type = Option<ExactDecimal>, required = false)]
    pub credited_usd_amount: Option<Value>,
    /// Once it settled: what `PAYMENT-RESPONSE` said.
    #[schema(required)]
    pub receipt: Option<PaymentReceipt>,
    /// Of a card of any kind that it bought.
    pub card_id: Option<String>,
    /// Of a payout that it bought.
    pub payout_id: Option<String>,
    /// Of a top-up that it bought.
    pub top_up_id: Option<String>,
    /// The USA card that it bought.
    pub card: Option<Card>,
    /// The gift card that it bought, without its code.
    pub gift_card: Option<GiftCard>,
    /// The international card that it bought.
    pub intl_card_order: Option<IntlCard>,
    /// The payout that it bought, without its link.
    pub payout: Option<Payout>,
    /// The top-up that it bought.
    pub top_up: Option<TopUp>,
}

/// The receipt of a settled payment.
#[derive(Deserialize, ToSchema)]
pub struct PaymentReceipt {
    /// True.
    pub success: bool,
    /// The chain's name of the transfer.
    pub transaction: String,
    /// CAIP-2.
    pub network: String,
    /// Who paid.
    pub payer: String,
    /// In atomic USDC.
    pub amount: String,
}

/// What became of a payment.
#[derive(Deserialize, ToSchema)]
pub struct PaymentStatusResponse {
    /// As in `payment`.
    pub status: String,
    /// Whether it will stay so.
    pub terminal: bool,
    /// When to ask again.
    pub retry_after_seconds: Option<u64>,
    /// For the payer only.
    pub payment: Option<Payment>,
    /// As in `GET /list-payments`: how what it bought stands now; for the payer only.
    pub product_status: Option<String>,
    /// Dollars of the charge that are on the account's balance instead, if any are; for the payer only.
    #[schema(value_type = Option<ExactDecimal>, required = false)]
    pub credited_usd_amount: Option<Value>,
    /// The card that it bought; for the payer only.
    pub card_id: Option<String>,
    /// The payout that it bought; for the payer only.
    pub payout_id: Option<String>,
    /// The top-up that it bought; for the payer only.
    pub top_up_id: Option<String>,
}
