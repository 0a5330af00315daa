//! Payouts and who they go to.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{Credentials, CreditedPurchase, ExactDecimal};

/// A paid call for a push to card that was settled.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum PushToCardPurchaseResponse {
    /// The recipient's card is awaited.
    Bought(Box<PushToCardPurchase>),
    /// It could not be sold: the charge is on the balance.
    Credited(CreditedPurchase),
}

/// A push to card bought.
#[derive(Deserialize, ToSchema)]
pub struct PushToCardPurchase {
    /// For the call that paid first; a replay gets none.
    pub auth: Option<Credentials>,
    /// The payer's address in lower case.
    pub user_id: String,
    /// For `GET /get-payment-status`.
    pub payout_id: String,
    /// `awaiting-details`.
    pub status: String,
    /// For the recipient; only in the answer to the call that paid first.
    pub redemption_url: Option<String>,
    /// What the recipient gets.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// ISO 4217, of `amount` alone.
    pub currency: String,
    /// Our fee, in `fee_currency`.
    #[schema(value_type = ExactDecimal)]
    pub fee_amount: Value,
    /// `USD`.
    pub fee_currency: String,
    /// Dollars paid, the fee included.
    #[schema(value_type = ExactDecimal)]
    pub charged_usd_amount: Value,
    /// What to do next.
    pub note: String,
    /// For `GET /get-payment`.
    pub payment_id: String,
}

/// A paid call for a bank payment that was settled.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum BankPaymentPurchaseResponse {
    /// It is on its way.
    Bought(Box<BankPaymentPurchase>),
    /// It could not be sold: the charge is on the balance.
    Credited(CreditedPurchase),
}

/// A bank payment bought.
#[derive(Deserialize, ToSchema)]
pub struct BankPaymentPurchase {
    /// For the call that paid first; a replay gets none.
    pub auth: Option<Credentials>,
    /// The payer's address in lower case.
    pub user_id: String,
    /// The payment as it was bought.
    pub bank_payment: PurchasedBankPayment,
    /// For `GET /get-payment`.
    pub payment_id: String,
}

/// A bank payment as it was bought.
#[derive(Deserialize, ToSchema)]
pub struct PurchasedBankPayment {
    /// For `GET /get-payment-status`.
    pub payout_id: String,
    /// Dollars that arrive.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// Our fee in dollars.
    #[schema(value_type = ExactDecimal)]
    pub fee_amount: Value,
    /// Dollars paid.
    #[schema(value_type = ExactDecimal)]
    pub charged_amount: Value,
    /// As in `GET /bank-recipients`.
    pub destination_id: String,
    /// `queued`.
    pub state: String,
    /// Where it goes.
    pub destination: PayoutDestination,
}

/// A bank destination with a payout.
#[derive(Deserialize, ToSchema)]
pub struct PayoutDestination {
    /// What its owner calls it.
    pub name: String,
    /// The bank.
    pub bank_name: String,
    /// Whose account.
    pub account_holder_name: String,
    /// Of the account number.
    pub account_number_last4: String,
}

/// A paid call for an app payment that was settled.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum AppPaymentPurchaseResponse {
    /// It is on its way.
    Bought(Box<AppPaymentPurchase>),
    /// It could not be sold: the charge is on the balance.
    Credited(CreditedPurchase),
}

/// An app payment bought.
#[derive(Deserialize, ToSchema)]
pub struct AppPaymentPurchase {
    /// For the call that paid first; a replay gets none.
    pub auth: Option<Credentials>,
    /// The payer's address in lower case.
    pub user_id: String,
    /// The payment as it was bought.
    pub payment: PurchasedAppPayment,
    /// Where to follow it.
    pub status_url: String,
    /// For `GET /get-payment`.
    pub payment_id: String,
}

/// An app payment as it was bought.
#[derive(Deserialize, ToSchema)]
pub struct PurchasedAppPayment {
    /// For `GET /get-payment-status`.
    pub payout_id: String,
    /// `queued`.
    pub state: String,
    /// `venmo` or `paypal`.
    pub platform: String,
    /// Dollars that arrive.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// Our fee in dollars.
    #[schema(value_type = ExactDecimal)]
    pub fee_amount: Value,
    /// Dollars paid.
    #[schema(value_type = ExactDecimal)]
    pub charged_amount: Value,
    /// For `/payment-recipients`.
    pub recipient_id: String,
}

/// One payout, or a page of them.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum PayoutStatusResponse {
    /// Of `payout_id`.
    One(Box<Payout>),
    /// All.
    Page(PayoutList),
}

/// A page of payouts, oldest first.
#[derive(Deserialize, ToSchema)]
pub struct PayoutList {
    /// The page.
    pub payouts: Vec<Payout>,
    /// Whether more follow.
    pub has_more: bool,
}

/// A payout.
#[derive(Deserialize, ToSchema)]
pub struct Payout {
    /// Its id.
    pub payout_id: String,
    /// `push_to_card`, `bank_payment` or `app_payment`.
    pub product: String,
    /// `awaiting-details`, `queued`, `in-process`, `complete`, `returned`, `failed`, `cancelled` or `expired`.
    pub status: String,
    /// As `status`.
    pub state: String,
    /// What the recipient gets.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// ISO 4217, of `amount` alone.
    pub currency: String,
    /// Our fee, in `fee_currency`.
    #[schema(value_type = ExactDecimal)]
    pub fee_amount: Value,
    /// `USD`.
    pub fee_currency: String,
    /// Dollars paid.
    #[schema(value_type = ExactDecimal)]
    pub charged_amount: Value,
    /// The same.
    #[schema(value_type = ExactDecimal)]
    pub charged_usd_amount: Value,
    /// Of a push to card, once the recipient has given it; null before.
    pub card_last4: Option<String>,
    /// Of a bank payment.
    pub destination_id: Option<String>,
    /// Of an app payment.
    pub recipient_id: Option<String>,
    /// Of an app payment.
    pub platform: Option<String>,
    /// Why it failed, was stopped or came back.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// Why it waits, if it does: `held_frozen`, `held_restored` or `held_unfinal`.
    pub held: Option<String>,
    /// What went back to the account's balance.
    #[schema(value_type = Option<ExactDecimal>)]
    pub credited_amount: Option<Value>,
    /// What paid for it.
    pub payment_id: String,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
    /// Of one payout: its money, if it came back after its return window.
    pub late_return: Option<LateReturn>,
    /// For the recipient, while a card is awaited.
    pub redemption_url: Option<String>,
    /// Of a bank payment.
    pub destination: Option<PayoutDestination>,
}

/// Money of a payout that came back after its return window.
#[derive(Deserialize, ToSchema)]
pub struct LateReturn {
    /// Its id: the `cause` of the credit in the account's statement.
    pub late_return_id: String,
    /// Of which payout.
    pub payout_id: String,
    /// `received`, then `credited`.
    pub status: String,
    /// Dollars that came back.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// Dollars of it that the rail kept.
    #[schema(value_type = ExactDecimal)]
    pub return_fee: Value,
    /// Dollars that go to the account's balance.
    #[schema(value_type = ExactDecimal)]
    pub credited_amount: Value,
    /// The rail's word.
    pub reason: String,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
}

/// Recipients of app payments.
#[derive(Deserialize, ToSchema)]
pub struct PaymentRecipientList {
    /// The page, oldest first.
    pub recipients: Vec<PaymentRecipient>,
    /// Whether more follow.
    pub has_more: bool,
}

/// A recipient of app payments.
#[derive(Deserialize, ToSchema)]
pub struct PaymentRecipient {
    /// Its id.
    pub recipient_id: String,
    /// `venmo` or `paypal`.
    pub platform: String,
    /// What its owner calls it.
    pub display_name: String,
    /// `active` or `archived`.
    pub status: String,
    /// Whether it is hidden by default.
    pub archived: bool,
    /// Payments to it, those on their way included, those whose money came back not.
    pub payments_count: u64,
    /// Their sum in dollars, fees apart.
    #[schema(value_type = ExactDecimal)]
    pub total_amount: Value,
    /// `USD`.
    pub currency: String,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_paid_at: String,
    /// What is paid: the phone number, e-mail address or user name that the app knows the recipient by.
    pub recipient: String,
    /// As last paid.
    pub first_name: String,
    /// As last paid.
    pub last_name: String,
    /// As last paid.
    pub email: String,
}

/// A recipient after a change.
#[derive(Deserialize, ToSchema)]
pub struct UpdatedPaymentRecipient {
    /// The owner's address in lower case.
    pub user_id: String,
    /// `venmo` or `paypal`.
    pub platform: String,
    /// Its id.
    pub recipient_id: String,
    /// What its owner calls it.
    pub display_name: String,
    /// Whether it is hidden by default.
    pub archived: bool,
}

/// A recipient that is off the list.
#[derive(Deserialize, ToSchema)]
pub struct DeletedPaymentRecipient {
    /// Its id.
    pub recipient_id: String,
    /// Always true.
    pub deleted: bool,
}

/// Bank recipients with their destinations.
#[derive(Deserialize, ToSchema)]
pub struct BankRecipientList {
    /// In the order in which they were registered.
    pub recipients: Vec<BankRecipient>,
    /// Whether more destinations follow.
    pub has_more: bool,
}

/// A person or company with accounts.
#[derive(Deserialize, ToSchema)]
pub struct BankRecipient {
    /// `brc_…`.
    pub recipient_id: String,
    /// Who.
    pub name: String,
    /// `active`.
    pub status: String,
    /// One line; empty where none was given.
    pub address: String,
    /// Where they can be paid.
    pub destinations: Vec<BankRecipientDestination>,
}

/// A bank destination.
#[derive(Deserialize, ToSchema)]
pub struct BankRecipientDestination {
    /// For `GET /send-bank-payment`.
    pub destination_id: String,
    /// `fiat_us` or `fiat_iban`.
    pub destination_type: String,
    /// `active`.
    pub status: String,
    /// What its owner calls it.
    pub nickname: String,
    /// The bank.
    pub bank_name: String,
    /// Whose account.
    pub account_holder_name: String,
    /// Of the account number.
    pub account_number_last4: String,
    /// Of a U.S. account.
    #[schema(required)]
    pub routing_number: Option<String>,
    /// RFC 3339.
    pub created_at: String,
}
