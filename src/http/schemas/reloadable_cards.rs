//! Reloadable cards.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{CardDetails, CardTransaction, ExactDecimal};

/// A reloadable card that was ordered.
#[derive(Deserialize, ToSchema)]
pub struct CreateReloadableCardResponse {
    /// True.
    pub success: bool,
    /// It.
    pub card: CreatedReloadableCard,
    /// Where to read it.
    pub status_url: String,
}

/// A reloadable card as it was made.
#[derive(Deserialize, ToSchema)]
pub struct CreatedReloadableCard {
    /// For `GET /get-card-data`, `POST /pause-card`, `POST /resume-card` and `POST /close-card`.
    pub card_id: String,
    /// Dollars loaded.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// Whether it stays open after its first charge.
    pub reusable: bool,
    /// `US`.
    pub country: String,
    /// `open`, or `creating` as long as the issuer has not answered.
    pub status: String,
    /// RFC 3339.
    pub created_at: String,
}

/// What came of a wish for a card.
#[derive(Deserialize, ToSchema)]
pub struct CardActionResponse {
    /// True.
    pub success: bool,
    /// Which card.
    pub card_id: String,
    /// `pause`, `resume` or `close`: what whoever made the card is asked for. Null when it is so already.
    #[schema(required)]
    pub requested_action: Option<String>,
    /// Where to read it.
    pub status_url: String,
}

/// A reloadable card without its number.
#[derive(Deserialize, ToSchema)]
pub struct ReloadableCard {
    /// Its id.
    pub card_id: String,
    /// `creating`, `open`, `paused`, `closed` or `failed`.
    pub status: String,
    /// As `status`.
    pub state: String,
    /// `Reloadable`.
    pub card_type: String,
    /// Dollars loaded.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// Dollars left on it, by the issuer's newest word.
    #[schema(value_type = ExactDecimal)]
    pub available_usd_amount: Value,
    /// Whether it stays open after its first charge.
    pub reusable: bool,
    /// `US`.
    pub country: String,
    /// Of the number, once there is one.
    #[schema(required)]
    pub last4: Option<String>,
    /// `pause`, `resume` or `close`, while the issuer is asked for it.
    #[schema(required)]
    pub pending_action: Option<String>,
    /// Of a failed card: `insufficient_card_balance`, or the issuer's word.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
}

/// One reloadable card, with its number while it is open or paused.
#[derive(Deserialize, ToSchema)]
pub struct ReloadableCardWithDetails {
    /// Its id.
    pub card_id: String,
    /// `creating`, `open`, `paused`, `closed` or `failed`.
    pub status: String,
    /// As `status`.
    pub state: String,
    /// `Reloadable`.
    pub card_type: String,
    /// Dollars loaded.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// Dollars left on it, by the issuer's newest word.
    #[schema(value_type = ExactDecimal)]
    pub available_usd_amount: Value,
    /// Whether it stays open after its first charge.
    pub reusable: bool,
    /// `US`.
    pub country: String,
    /// Of the number, once there is one.
    #[schema(required)]
    pub last4: Option<String>,
    /// `pause`, `resume` or `close`, while the issuer is asked for it.
    #[schema(required)]
    pub pending_action: Option<String>,
    /// Of a failed card: `insufficient_card_balance`, or the issuer's word.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
    /// What it was charged, newest first, refused charges too: at most 20.
    pub transactions: Vec<CardTransaction>,
    /// While it is open or paused.
    pub card_details: Option<CardDetails>,
}

/// A charge of a card, taken or refused.
#[derive(Deserialize, ToSchema)]
pub struct CardCharge {
    /// With which.
    pub card_id: String,
    /// `txn_000001` for example: the issuer's name of it.
    pub transaction_id: String,
    /// In the merchant's own words.
    pub merchant: String,
    /// Dollars.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// `pending`, `settled`, `declined` or `refunded`.
    pub status: String,
    /// Of a declined one: why, in the words of whoever made the card.
    #[schema(required)]
    pub decline_reason: Option<String>,
    /// RFC 3339.
    pub at: String,
}

/// Something that happened to a card.
#[derive(Deserialize, ToSchema)]
pub struct CardHistoryEntry {
    /// To which.
    pub card_id: String,
    /// `ready` or `open`, `paused`, `resumed`, `closed`, `expired` or `failed`.
    pub event: String,
    /// RFC 3339.
    pub at: String,
}
