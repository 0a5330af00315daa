//! Schemas of gift cards.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{Credentials, CreditedPurchase, ExactDecimal, GiftCardStatus, GiftCardType, ProcessingStatus, UnfinalHold};

/// Response of a paid gift card call that was settled.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum GiftCardPurchaseResponse {
    /// The gift card was bought.
    Bought(Box<GiftCardPurchase>),
    /// The gift card could not be delivered, and the charge was credited to the balance.
    Credited(CreditedPurchase),
}

/// A purchased gift card with the payment.
#[derive(Deserialize, ToSchema)]
pub struct GiftCardPurchase {
    /// Tokens, only for the call that paid first. Replays have none.
    pub auth: Option<Credentials>,
    /// The payer's address in lower case.
    pub user_id: String,
    /// Id for `GET /get-card-data`.
    pub card_id: String,
    /// Status of the gift card at purchase.
    pub status: ProcessingStatus,
    /// The gift card as purchased.
    pub gift_card: PurchasedGiftCard,
    /// Id for `GET /get-payment`.
    pub payment_id: String,
}

/// A gift card as purchased.
#[derive(Deserialize, ToSchema)]
pub struct PurchasedGiftCard {
    /// Id of the gift card.
    pub card_id: String,
    /// Product id, as in `GET /search-gift-cards`.
    pub product_id: String,
    /// Amount in its own currency.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// Currency of the amount (ISO 4217).
    pub currency: String,
    /// Country of redemption (ISO 3166-1 alpha-2).
    pub country: String,
    /// Status of the gift card at purchase.
    pub status: ProcessingStatus,
    /// Always null at purchase.
    #[schema(required)]
    pub redemption_url: Option<String>,
    /// Always null at purchase.
    #[schema(required)]
    pub redemption_code: Option<String>,
    /// Always null at purchase.
    #[schema(required)]
    pub pin_code: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
}

/// A gift card without its code and link.
#[derive(Deserialize, ToSchema)]
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

/// A gift card, with its code and link once it is completed.
#[derive(Deserialize, ToSchema)]
pub struct GiftCardWithDetails {
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
    /// Redemption page. Anyone who opens it can spend the gift card.
    pub redemption_url: Option<String>,
    /// Code to enter at the brand.
    pub redemption_code: Option<String>,
    /// PIN that the brand requests with the code.
    pub pin_code: Option<String>,
    /// `held_unfinal` for a completed gift card whose payment is not final yet. Link and code are shown once it is.
    pub held: Option<UnfinalHold>,
    /// What to do during the hold.
    pub hint: Option<String>,
    /// Delay before a retry, also in `Retry-After`.
    pub retry_after_seconds: Option<u64>,
}
