//! Schemas of payouts and recipients.

use serde::Serialize;
use serde_json::Value;

#[cfg(feature = "documents")]
use super::ExactDecimal;
use super::{ActiveStatus, BankDestinationType, PaymentApp, PaymentRecipientStatus};

/// A recipient of app payments.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
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
    #[cfg_attr(feature = "documents", schema(value_type = ExactDecimal))]
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
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
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
    #[cfg_attr(feature = "documents", schema(required))]
    pub routing_number: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
}
