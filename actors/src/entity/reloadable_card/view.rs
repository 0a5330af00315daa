//! A reloadable card as its owner sees it.

use serde::Serialize;

use super::State;
use crate::answer::{ExactDecimal, Time};
use crate::id::CardId;
use crate::port::CardAction;

/// A reloadable card without its number.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = ReloadableCard))]
pub struct ReloadableCardView<'a> {
    /// Id of the card.
    pub card_id: CardId,
    /// `creating`, `open`, `paused`, `closed` or `failed`.
    pub status: State,
    /// Same as `status`.
    pub state: State,
    /// `Reloadable` is the card type.
    pub card_type: ReloadableCardType,
    /// US dollars loaded on the card.
    pub usd_amount: ExactDecimal,
    /// Remaining US dollars, as the issuer last reported.
    pub available_usd_amount: ExactDecimal,
    /// Whether it stays open after its first charge.
    pub reusable: bool,
    /// `US` is the country of the card.
    pub country: &'static str,
    /// Last four digits of the card number, once known.
    #[cfg_attr(feature = "documents", schema(required))]
    pub last4: Option<&'a str>,
    /// `pause`, `resume` or `close` while the issuer has not answered that action.
    #[cfg_attr(feature = "documents", schema(required))]
    pub pending_action: Option<CardAction>,
    /// Reason of a failed card: `insufficient_card_balance`, or the issuer's reason.
    #[cfg_attr(feature = "documents", schema(required))]
    pub failure_reason: Option<&'a str>,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

/// Type of a reloadable card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub enum ReloadableCardType {
    /// Loaded from the card balance.
    #[serde(rename = "Reloadable")]
    Reloadable,
}
