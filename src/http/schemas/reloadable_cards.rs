//! Schemas of reloadable cards.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{CardAction, ExactDecimal, ReloadableCardStatus, ReloadableCardType};

/// A reloadable card without its number.
#[derive(Serialize, ToSchema)]
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
