//! Schemas of payouts and recipients.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    ActiveStatus, BankDestinationType, ExactDecimal, HoldReason, LateReturnStatus, PaymentApp, PaymentRecipientStatus,
    PayoutProduct, PayoutStatus,
};
use crate::checkout::PayoutDestination;

/// A payout to a card, bank account or payment app.
#[derive(Serialize, ToSchema)]
pub struct Payout {
    /// Id of the payout.
    pub payout_id: String,
    /// `push_to_card`, `bank_payment` or `app_payment`.
    pub product: PayoutProduct,
    /// `awaiting-details`, `queued`, `in-process`, `complete`, `returned`, `failed`, `cancelled` or `expired`.
    pub status: PayoutStatus,
    /// Same as `status`.
    pub state: PayoutStatus,
    /// Amount that the recipient gets.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// Currency of `amount` only (ISO 4217).
    pub currency: String,
    /// Fee in `fee_currency`.
    #[schema(value_type = ExactDecimal)]
    pub fee_amount: Value,
    /// `USD` is the currency of the fee.
    pub fee_currency: String,
    /// US dollars paid.
    #[schema(value_type = ExactDecimal)]
    pub charged_amount: Value,
    /// Same as `charged_amount`.
    #[schema(value_type = ExactDecimal)]
    pub charged_usd_amount: Value,
    /// Last four digits of the recipient's card, once entered; null before.
    pub card_last4: Option<String>,
    /// Destination of a bank payment.
    pub destination_id: Option<String>,
    /// Recipient of an app payment.
    pub recipient_id: Option<String>,
    /// Payment app of an app payment.
    pub platform: Option<PaymentApp>,
    /// Reason of a failed, cancelled or returned payout.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// Reason of a hold: `held_frozen`, `held_restored` or `held_unfinal`.
    pub held: Option<HoldReason>,
    /// Amount credited to the account's balance.
    #[schema(value_type = Option<ExactDecimal>)]
    pub credited_amount: Option<Value>,
    /// Payment that bought the payout; null if the balance paid it.
    #[schema(required)]
    pub payment_id: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
    /// Late return of the payout. Only when one payout is read.
    pub late_return: Option<LateReturn>,
    /// Link for the recipient, until a card is entered.
    pub redemption_url: Option<String>,
    /// Destination of a bank payment.
    pub destination: Option<PayoutDestination>,
}

/// A payout that was returned after its return window.
#[derive(Serialize, ToSchema)]
pub struct LateReturn {
    /// Id of the late return: the `cause` of the credit in the account's statement.
    pub late_return_id: String,
    /// Payout that was returned.
    pub payout_id: String,
    /// `received`, then `credited`, or `kept` if an operator decided not to credit it.
    pub status: LateReturnStatus,
    /// US dollars that were returned.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// US dollars kept by the payout rail.
    #[schema(value_type = ExactDecimal)]
    pub return_fee: Value,
    /// US dollars credited to the account's balance.
    #[schema(value_type = ExactDecimal)]
    pub credited_amount: Value,
    /// Reason reported by the payout rail.
    pub reason: String,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// A recipient of app payments.
#[derive(Serialize, ToSchema)]
pub struct PaymentRecipient {
    /// Id of the recipient.
    pub recipient_id: String,
    /// `venmo` or `paypal`.
    pub platform: PaymentApp,
    /// Name given by the owner.
    pub display_name: String,
    /// `active` or `archived`.
    pub status: PaymentRecipientStatus,
    /// Whether it is hidden from the list by default.
    pub archived: bool,
    /// Number of payments, including pending ones, without those whose funds returned.
    pub payments_count: u64,
    /// Total of these payments in US dollars, without fees.
    #[schema(value_type = ExactDecimal)]
    pub total_amount: Value,
    /// `USD` is the currency of the total.
    pub currency: String,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last payment (RFC 3339).
    pub last_paid_at: String,
    /// Handle at the app: telephone number, e-mail address or user name.
    pub recipient: String,
    /// First name in the last payment.
    pub first_name: String,
    /// Last name in the last payment.
    pub last_name: String,
    /// E-mail address in the last payment.
    pub email: String,
}

/// A bank account of a recipient.
#[derive(Serialize, ToSchema)]
pub struct BankRecipientDestination {
    /// Id for `GET /send-bank-payment`.
    pub destination_id: String,
    /// `fiat_us` or `fiat_iban`.
    pub destination_type: BankDestinationType,
    /// `active` in every case.
    pub status: ActiveStatus,
    /// Label given by the owner.
    pub nickname: String,
    /// Name of the bank.
    pub bank_name: String,
    /// Name of the account holder.
    pub account_holder_name: String,
    /// Last four digits of the account number.
    pub account_number_last4: String,
    /// Routing number of a U.S. account.
    #[schema(required)]
    pub routing_number: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
}
