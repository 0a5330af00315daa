//! An international card as its owner sees it.

use serde::Serialize;

use super::State;
use crate::answer::{ExactDecimal, Time};
use crate::id::{CardId, PaymentId};
use crate::port::CardAction;

/// An international card without its number.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = IntlCard))]
pub struct IntlCardView<'a> {
    /// Id of the card, unchanged from the order on.
    pub card_id: CardId,
    /// `queued`, `claimed`, `ready`, `paused`, `closed`, `cancelled`, `rejected` or `expired`.
    pub status: State,
    /// Same as `status`.
    pub state: State,
    /// `Non-Reloadable International` is the card type.
    pub card_type: IntlCardType,
    /// US dollars loaded on the card.
    pub usd_amount: ExactDecimal,
    /// Same as `usd_amount`.
    pub on_card_usd_amount: ExactDecimal,
    /// US dollars paid, fees included.
    pub charged_usd_amount: ExactDecimal,
    /// Fees in US dollars.
    pub fees_paid: ExactDecimal,
    /// Remaining US dollars, as the issuer last reported.
    pub available_usd_amount: ExactDecimal,
    /// US dollars credited to the account's balance: the full charge of an order that failed, otherwise the remainder
    /// at the card's end, less earlier refunds.
    pub credited_usd_amount: ExactDecimal,
    /// Label given by the caller.
    #[cfg_attr(feature = "documents", schema(required))]
    pub label: Option<&'a str>,
    /// Last four digits of the card number, once known.
    #[cfg_attr(feature = "documents", schema(required))]
    pub last4: Option<&'a str>,
    /// `pause`, `resume` or `close` while operators have not completed that action.
    #[cfg_attr(feature = "documents", schema(required))]
    pub pending_action: Option<CardAction>,
    /// Reason given by the operator for a rejection.
    #[cfg_attr(feature = "documents", schema(required))]
    pub rejection_reason: Option<&'a str>,
    /// Whether the order was still open after 24 hours.
    pub overdue: bool,
    /// Payment that bought the card.
    pub payment_id: PaymentId,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

/// Type of an international card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub enum IntlCardType {
    /// Bought with one payment, and never loaded again.
    #[serde(rename = "Non-Reloadable International")]
    NonReloadableInternational,
}
