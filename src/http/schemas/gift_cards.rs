//! Schemas of gift cards.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{ExactDecimal, GiftCardStatus, GiftCardType};

/// A gift card without its code and link.
#[derive(Serialize, ToSchema)]
pub struct GiftCard {
    /// Id of the gift card.
    pub card_id: String,
    /// `processing`, `completed` or `failed`.
    pub status: GiftCardStatus,
    /// Same as `status`.
    pub state: GiftCardStatus,
    /// `Gift Card` is the card type.
    pub card_type: GiftCardType,
    /// Product id, as in `GET /search-gift-cards`.
    pub product_id: String,
    /// Amount in its own currency.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// Currency of the amount (ISO 4217).
    pub currency: String,
    /// Country of redemption (ISO 3166-1 alpha-2).
    pub country: String,
    /// US dollars paid, fees included.
    #[schema(value_type = ExactDecimal)]
    pub charged_usd_amount: Value,
    /// Fees in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub fees_paid: Value,
    /// Reason of a failed gift card.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// Payment that bought the gift card.
    pub payment_id: String,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}
