//! A payout as its owner sees it.

use serde::Serialize;

use super::{Payout, PayoutTarget, State, Status};
use crate::answer::{ExactDecimal, Time};
use crate::currency::Currency;
use crate::id::{BankDestinationId, PaymentId, PaymentRecipientId, PayoutId};
use crate::kernel::StateMachine as _;
use crate::money::Usdc;
use crate::port::payouts::Platform;

/// A payout to a card, bank account or payment app.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct PayoutView<'a> {
    /// Id of the payout.
    pub payout_id: PayoutId,
    /// `push_to_card`, `bank_payment` or `app_payment`.
    pub product: PayoutProduct,
    /// `awaiting-details`, `queued`, `in-process`, `complete`, `returned`, `failed`, `cancelled` or `expired`.
    pub status: State,
    /// Same as `status`.
    pub state: State,
    /// Amount that the recipient gets.
    pub amount: ExactDecimal,
    /// Currency of `amount` only (ISO 4217).
    pub currency: Currency,
    /// What the payer wrote to the recipient of a push to card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
    /// Fee in `fee_currency`.
    pub fee_amount: ExactDecimal,
    /// `USD` is the currency of the fee.
    pub fee_currency: Currency,
    /// US dollars paid.
    pub charged_amount: ExactDecimal,
    /// Same as `charged_amount`.
    pub charged_usd_amount: ExactDecimal,
    /// Last four digits of the recipient's card, once entered; null before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<String>))]
    pub card_last4: Option<Option<&'a str>>,
    /// Destination of a bank payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_id: Option<BankDestinationId>,
    /// Recipient of an app payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipient_id: Option<PaymentRecipientId>,
    /// Payment app of an app payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// Reason of a failed, cancelled or returned payout.
    #[cfg_attr(feature = "documents", schema(required))]
    pub failure_reason: Option<&'a str>,
    /// Amount credited to the account's balance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credited_amount: Option<ExactDecimal>,
    /// Payment that bought the payout; null if the balance paid it.
    #[cfg_attr(feature = "documents", schema(required))]
    pub payment_id: Option<PaymentId>,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

/// Product of a payout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub enum PayoutProduct {
    /// To a debit card.
    #[serde(rename = "push_to_card")]
    PushToCard,
    /// To a registered bank destination.
    #[serde(rename = "bank_payment")]
    BankPayment,
    /// To a payment app.
    #[serde(rename = "app_payment")]
    AppPayment,
}

impl Payout {
    /// Failure reason given by the rail.
    pub fn reason(&self) -> Option<&str> {
        match &self.status {
            Status::Failed { reason } | Status::Cancelled { reason } | Status::Returned { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Amount credited to the payer's balance.
    pub fn credited(&self) -> Option<Usdc> {
        match &self.status {
            Status::Returned { return_fee: kept, .. } => {
                Some(self.charge.provider_amount().checked_sub(*kept).unwrap_or(Usdc::ZERO))
            }
            _ if self.is_credited() => Some(self.charge.charged),
            _ => None,
        }
    }

    /// Without the card or account number, for any reader.
    pub(super) fn view(&self, id: PayoutId) -> PayoutView<'_> {
        let (product, destination, recipient) = match &self.plan.target {
            PayoutTarget::Card(_) => (PayoutProduct::PushToCard, None, None),
            PayoutTarget::Bank(destination, _) => (PayoutProduct::BankPayment, Some(*destination), None),
            PayoutTarget::App(recipient, platform, _) => {
                (PayoutProduct::AppPayment, None, Some((*recipient, *platform)))
            }
        };
        let card_last4 = match &self.plan.target {
            PayoutTarget::Card(last4) => Some(last4.as_deref()),
            _ => None,
        };
        PayoutView {
            payout_id: id,
            product,
            status: self.state(),
            state: self.state(),
            amount: self.amount.into(),
            currency: self.currency,
            message: self.message.as_deref(),
            fee_amount: self.charge.fee().into(),
            fee_currency: Currency::USD,
            charged_amount: self.charge.charged.into(),
            charged_usd_amount: self.charge.charged.into(),
            card_last4,
            destination_id: destination,
            recipient_id: recipient.map(|(id, _)| id),
            platform: recipient.map(|(_, platform)| platform),
            failure_reason: self.reason(),
            credited_amount: self.credited().map(ExactDecimal::from),
            payment_id: Some(self.charge.payment).filter(|payment| *payment != PaymentId::NONE),
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }
}
