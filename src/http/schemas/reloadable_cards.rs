//! Schemas of reloadable cards.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    CardAction, CardDetails, CardStatusChange, CardTransaction, CardTransactionStatus, CreatedCardStatus, ExactDecimal,
    ReloadableCardStatus, ReloadableCardType,
};

/// Response to a card creation.
#[derive(Deserialize, ToSchema)]
pub struct CreateReloadableCardResponse {
    /// Always true on success.
    pub success: bool,
    /// The card as created.
    pub card: CreatedReloadableCard,
    /// URL to poll for its status.
    pub status_url: String,
}

/// A reloadable card as created.
#[derive(Deserialize, ToSchema)]
pub struct CreatedReloadableCard {
    /// Id for `GET /get-card-data`, `POST /pause-card`, `POST /resume-card` and `POST /close-card`.
    pub card_id: String,
    /// US dollars loaded on the card.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// Whether it stays open after its first charge.
    pub reusable: bool,
    /// `US` is the country of the card.
    pub country: String,
    /// `open`, or `creating` until the issuer has answered.
    pub status: CreatedCardStatus,
    /// Creation time (RFC 3339).
    pub created_at: String,
}

/// Response to a card action.
#[derive(Deserialize, ToSchema)]
pub struct CardActionResponse {
    /// Always true on success.
    pub success: bool,
    /// Id of the card.
    pub card_id: String,
    /// `pause`, `resume` or `close` was sent to the issuer. Null if the card already has that status.
    #[schema(required)]
    pub requested_action: Option<CardAction>,
    /// URL to poll for its status.
    pub status_url: String,
}

/// A reloadable card without its number.
#[derive(Deserialize, ToSchema)]
pub struct ReloadableCard {
    /// Id of the card.
    pub card_id: String,
    /// `creating`, `open`, `paused`, `closed` or `failed`.
    pub status: ReloadableCardStatus,
    /// Same as `status`.
    pub state: ReloadableCardStatus,
    /// `Reloadable` is the card type.
    pub card_type: ReloadableCardType,
    /// US dollars loaded on the card.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// Remaining US dollars, as the issuer last reported.
    #[schema(value_type = ExactDecimal)]
    pub available_usd_amount: Value,
    /// Whether it stays open after its first charge.
    pub reusable: bool,
    /// `US` is the country of the card.
    pub country: String,
    /// Last four digits of the card number, once known.
    #[schema(required)]
    pub last4: Option<String>,
    /// `pause`, `resume` or `close` while the issuer has not answered that action.
    #[schema(required)]
    pub pending_action: Option<CardAction>,
    /// Reason of a failed card: `insufficient_card_balance`, or the issuer's reason.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// A reloadable card, with its number while it is open or paused.
#[derive(Deserialize, ToSchema)]
pub struct ReloadableCardWithDetails {
    /// Id of the card.
    pub card_id: String,
    /// `creating`, `open`, `paused`, `closed` or `failed`.
    pub status: ReloadableCardStatus,
    /// Same as `status`.
    pub state: ReloadableCardStatus,
    /// `Reloadable` is the card type.
    pub card_type: ReloadableCardType,
    /// US dollars loaded on the card.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// Remaining US dollars, as the issuer last reported.
    #[schema(value_type = ExactDecimal)]
    pub available_usd_amount: Value,
    /// Whether it stays open after its first charge.
    pub reusable: bool,
    /// `US` is the country of the card.
    pub country: String,
    /// Last four digits of the card number, once known.
    #[schema(required)]
    pub last4: Option<String>,
    /// `pause`, `resume` or `close` while the issuer has not answered that action.
    #[schema(required)]
    pub pending_action: Option<CardAction>,
    /// Reason of a failed card: `insufficient_card_balance`, or the issuer's reason.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
    /// Transactions of the card, newest first, including declined ones: at most 20.
    pub transactions: Vec<CardTransaction>,
    /// Card details while the card is open or paused.
    pub card_details: Option<CardDetails>,
}

/// A charge of a card, approved or declined.
#[derive(Deserialize, ToSchema)]
pub struct CardCharge {
    /// Card that was charged.
    pub card_id: String,
    /// `txn_000001` for example. The issuer's id of the transaction.
    pub transaction_id: String,
    /// Name of the merchant: external text.
    pub merchant: String,
    /// Amount in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// `pending`, `settled`, `declined` or `refunded`.
    pub status: CardTransactionStatus,
    /// Reason of a declined charge, as the issuer reports it.
    #[schema(required)]
    pub decline_reason: Option<String>,
    /// Time of the charge (RFC 3339).
    pub at: String,
}

/// A status change of a card.
#[derive(Deserialize, ToSchema)]
pub struct CardHistoryEntry {
    /// Id of the card.
    pub card_id: String,
    /// `ready` or `open`, `paused`, `resumed`, `closed`, `expired` or `failed`.
    pub event: CardStatusChange,
    /// Time of the change (RFC 3339).
    pub at: String,
}
