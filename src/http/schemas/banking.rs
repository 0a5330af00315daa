//! Schemas of banking: the contents of `result`.

use serde::Serialize;

#[cfg(feature = "documents")]
use super::ExactDecimal;
use super::{
    ActiveStatus, BankAccountStatus, BankAccountType, BankDestinationStatus, BankDestinationType,
    BankTransactionDirection, BankTransactionStatus, BankTransactionType, BankingApplicationStatus,
    BankingDocumentType, BankingProfileState, CustomerType, HoldReason,
};

/// A customer's profile at the bank.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct BankingProfile {
    /// The wallet's address in lower case.
    pub user_id: String,
    /// `open` in every case.
    pub status: BankingProfileState,
    /// `individual` or `business`.
    pub r#type: CustomerType,
    /// First name of the person.
    pub first_name: String,
    /// Last name of the person.
    pub last_name: String,
    /// Name of the business; null for an individual.
    pub business_name: Option<String>,
    /// E-mail address for messages from the bank.
    pub email: String,
    /// Country (ISO 3166-1 alpha-2).
    pub country: String,
    /// Creation time (RFC 3339).
    pub created_at: String,
}

/// An application to open bank accounts.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct BankingApplication {
    /// Id of the application.
    pub application_id: String,
    /// `incomplete`, `submitted`, `approved` or `rejected`.
    pub status: BankingApplicationStatus,
    /// Reason of the bank for a rejection.
    pub rejection_reason: Option<String>,
    /// What the bank requested when it returned the application, as it wrote it.
    pub requested_items: Option<String>,
    /// Number of submissions.
    pub submissions: u32,
    /// Answers given so far.
    pub answers: BankingApplicationAnswers,
    /// Last four characters of the tax number.
    pub tax_id_last4: Option<String>,
    /// Documents of the application.
    pub documents: Vec<BankingDocument>,
    /// Items still needed: members of `updateBankingApplicationDetails`, types of documents, `identity`.
    pub missing: Vec<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// Answers of an application. Members without an answer are absent.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct BankingApplicationAnswers {
    /// Date of birth (YYYY-MM-DD).
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub date_of_birth: String,
    /// Telephone number in E.164.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub phone: String,
    /// Street and number.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub address_line1: String,
    /// Second address line.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub address_line2: String,
    /// City of the address.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub city: String,
    /// State or region.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub state: String,
    /// Postal code, in the format of its country.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub postal_code: String,
    /// Occupation of a person.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub occupation: String,
    /// Source of the funds.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub source_of_funds: String,
    /// Kind of business, for example its industry.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub business_type: String,
    /// `YYYY-MM-DD` of the formation of a business.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub formation_date: String,
}

/// An uploaded document.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct BankingDocument {
    /// Id of the document.
    pub document_id: String,
    /// Type of the document.
    pub r#type: BankingDocumentType,
    /// Media type, detected from its first bytes.
    pub media_type: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of the bytes, in hexadecimal.
    pub sha256: String,
    /// Upload time (RFC 3339).
    pub created_at: String,
}

/// A bank account of the customer.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct BankAccount {
    /// Id of the account.
    pub account_id: String,
    /// `onramp` or `offramp`.
    pub r#type: BankAccountType,
    /// `pending`, `open` or `rejected`.
    pub status: BankAccountStatus,
    /// Label given by the owner.
    pub label: Option<String>,
    /// `USD` is the currency.
    pub currency: String,
    /// Name of the bank, once the account is open.
    pub bank_name: Option<String>,
    /// Last four digits of the account number, once the account is open.
    pub account_number_last4: Option<String>,
    /// Reason of the bank for a rejection.
    pub failure_reason: Option<String>,
    /// ABA routing number, once the account is open.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub routing_number: String,
    /// Full account number, once the account is open.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub account_number: String,
    /// Payment reference that senders must include, if the bank needs one.
    pub memo: Option<String>,
    /// Balance of an open off-ramp in US dollars; null if the bank does not answer.
    #[cfg_attr(feature = "documents", schema(value_type = Option<ExactDecimal>, required = false))]
    pub balance: Option<serde_json::Value>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// A bank account of a recipient.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct BankDestination {
    /// Id of the destination.
    pub destination_id: String,
    /// `fiat_us` or `fiat_iban`.
    pub destination_type: BankDestinationType,
    /// `active`; `removed` if it was removed during the call.
    pub status: BankDestinationStatus,
    /// Label given by the caller.
    pub nickname: String,
    /// Name of the bank.
    pub bank_name: String,
    /// Name of the account holder.
    pub account_holder_name: String,
    /// Last four digits of the account number.
    pub account_number_last4: String,
    /// ABA routing number of a U.S. account.
    pub routing_number: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
}

/// A bank recipient with its destinations.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct BankingRecipient {
    /// `brc_…` is the id of the recipient.
    pub recipient_id: String,
    /// Name of the person or company.
    pub name: String,
    /// `active` in every case.
    pub status: ActiveStatus,
    /// Postal address as one line; empty if none was given.
    pub address: String,
    /// Bank accounts of the recipient.
    pub destinations: Vec<BankDestination>,
}

/// A transfer between balance and bank, or a payout to a bank.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct BankTransaction {
    /// Id of the transaction.
    pub transaction_id: String,
    /// `transfer` or `payout`.
    pub r#type: BankTransactionType,
    /// `incoming`, `to_account`, `to_balance` or `outgoing`.
    pub direction: BankTransactionDirection,
    /// `pending`, `complete`, `failed` or `returned`; of a payout also `queued`, `in-process`, `cancelled`.
    pub status: BankTransactionStatus,
    /// Amount in US dollars.
    #[cfg_attr(feature = "documents", schema(value_type = ExactDecimal))]
    pub amount: serde_json::Value,
    /// `USD` is the currency.
    pub currency: String,
    /// Bank account of a transfer.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub account_id: String,
    /// Sender of a transfer, or the note of the caller.
    pub note: Option<String>,
    /// Bank's reference of a transfer.
    pub reference: Option<String>,
    /// Destination of a payout.
    pub destination_id: Option<String>,
    /// Fee of a payout.
    #[cfg_attr(feature = "documents", schema(value_type = ExactDecimal, required = false))]
    pub fee_amount: serde_json::Value,
    /// Amount and fee of a payout.
    #[cfg_attr(feature = "documents", schema(value_type = ExactDecimal, required = false))]
    pub charged_amount: serde_json::Value,
    /// Reason of a failure.
    pub failure_reason: Option<String>,
    /// Reason of a hold: `held_frozen`, `held_restored` or `held_unfinal`.
    pub held: Option<HoldReason>,
    /// Returned part of a transfer.
    #[cfg_attr(feature = "documents", schema(value_type = ExactDecimal, required = false))]
    pub returned_amount: serde_json::Value,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}
