//! A prepaid card as its owner sees it.

use serde::Serialize;

use super::State;
use crate::answer::{ExactDecimal, Time};
use crate::id::{CardId, PaymentId};
use crate::port::CardAction;

/// A card without its number.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = Card))]
pub struct CardView<'a> {
    /// Id of the card.
    pub card_id: CardId,
    /// `pending`, `ready`, `paused`, `failed`, `closed` or `expired`.
    pub status: State,
    /// Same as `status`.
    pub state: State,
    /// `Non-Reloadable U.S.` is the card type.
    pub card_type: PrepaidCardType,
    /// US dollars loaded on the card.
    pub usd_amount: ExactDecimal,
    /// US dollars paid, fees included.
    pub charged_usd_amount: ExactDecimal,
    /// Fees in US dollars.
    pub fees_paid: ExactDecimal,
    /// Remaining US dollars, as the issuer last reported.
    pub available_usd_amount: ExactDecimal,
    /// US dollars credited to the account's balance: the full charge of a failed card, otherwise the remainder at its
    /// end, less earlier refunds.
    pub credited_usd_amount: ExactDecimal,
    /// `US` is the country of the card.
    pub country: &'static str,
    /// Last four digits of the card number, once known.
    #[cfg_attr(feature = "documents", schema(required))]
    pub last4: Option<&'a str>,
    /// `pause`, `resume` or `close` while the issuer has not answered that action.
    #[cfg_attr(feature = "documents", schema(required))]
    pub pending_action: Option<CardAction>,
    /// Reason of a failed card.
    #[cfg_attr(feature = "documents", schema(required))]
    pub failure_reason: Option<&'a str>,
    /// Payment that bought the card.
    pub payment_id: PaymentId,
    /// Whether a refresh is in progress.
    pub refreshing: bool,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

/// Type of a prepaid card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub enum PrepaidCardType {
    /// Bought with one payment, and never loaded again.
    #[serde(rename = "Non-Reloadable U.S.")]
    NonReloadableUs,
}
