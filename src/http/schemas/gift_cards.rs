//! Gift cards.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{Credentials, CreditedPurchase, ExactDecimal};

/// A paid call for a gift card that was settled.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum GiftCardPurchaseResponse {
    /// The gift card is on its way.
    Bought(Box<GiftCardPurchase>),
    /// It could not be delivered: the charge is on the balance.
    Credited(CreditedPurchase),
}

/// A gift card bought.
#[derive(Deserialize, ToSchema)]
pub struct GiftCardPurchase {
    /// For the call that paid first; a replay gets none.
    pub auth: Option<Credentials>,
    /// The payer's address in lower case.
    pub user_id: String,
    /// For `GET /get-card-data`.
    pub card_id: String,
    /// `processing`.
    pub status: String,
    /// The gift card as it was bought.
    pub gift_card: PurchasedGiftCard,
    /// For `GET /get-payment`.
    pub payment_id: String,
}

/// A gift card as it was bought.
#[derive(Deserialize, ToSchema)]
pub struct PurchasedGiftCard {
    /// Its id.
    pub card_id: String,
    /// As in `GET /search-gift-cards`.
    pub product_id: String,
    /// In its own currency.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// ISO 4217.
    pub currency: String,
    /// Where it will be redeemed, ISO 3166-1 alpha-2.
    pub country: String,
    /// `processing`.
    pub status: String,
    /// Null: not there yet.
    #[schema(required)]
    pub redemption_url: Option<String>,
    /// Null: not there yet.
    #[schema(required)]
    pub redemption_code: Option<String>,
    /// Null: not there yet.
    #[schema(required)]
    pub pin_code: Option<String>,
    /// RFC 3339.
    pub created_at: String,
}

/// A gift card without what redeems it.
#[derive(Deserialize, ToSchema)]
pub struct GiftCard {
    /// Its id.
    pub card_id: String,
    /// `processing`, `completed` or `failed`.
    pub status: String,
    /// As `status`.
    pub state: String,
    /// `Gift Card`.
    pub card_type: String,
    /// As in `GET /search-gift-cards`.
    pub product_id: String,
    /// In its own currency.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// ISO 4217.
    pub currency: String,
    /// Where it is redeemed, ISO 3166-1 alpha-2.
    pub country: String,
    /// Dollars paid, fees included.
    #[schema(value_type = ExactDecimal)]
    pub charged_usd_amount: Value,
    /// Of that, our fee.
    #[schema(value_type = ExactDecimal)]
    pub fees_paid: Value,
    /// Of a failed one.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// What paid for it.
    pub payment_id: String,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
}

/// One gift card, with what redeems it when it is completed.
#[derive(Deserialize, ToSchema)]
pub struct GiftCardWithDetails {
    /// Its id.
    pub card_id: String,
    /// `processing`, `completed` or `failed`.
    pub status: String,
    /// As `status`.
    pub state: String,
    /// `Gift Card`.
    pub card_type: String,
    /// As in `GET /search-gift-cards`.
    pub product_id: String,
    /// In its own currency.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// ISO 4217.
    pub currency: String,
    /// Where it is redeemed, ISO 3166-1 alpha-2.
    pub country: String,
    /// Dollars paid, fees included.
    #[schema(value_type = ExactDecimal)]
    pub charged_usd_amount: Value,
    /// Of that, our fee.
    #[schema(value_type = ExactDecimal)]
    pub fees_paid: Value,
    /// Of a failed one.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// What paid for it.
    pub payment_id: String,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
    /// A page to open. Whoever opens it may spend the card.
    pub redemption_url: Option<String>,
    /// To be typed at the brand's.
    pub redemption_code: Option<String>,
    /// Asked for with the code.
    pub pin_code: Option<String>,
    /// `held_unfinal` of a completed one whose payment is not final: link and code are shown once it is.
    pub held: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Also sent as `Retry-After`.
    pub retry_after_seconds: Option<u64>,
}
