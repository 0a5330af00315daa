//! Banking: the insides of `result`.

use serde::Deserialize;
use utoipa::ToSchema;

use super::ExactDecimal;

/// A profile that was made.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateBankingProfileResult {
    /// As it is kept.
    pub profile: BankingProfile,
}

/// Who somebody is to the bank.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankingProfile {
    /// The wallet's address in lower case.
    pub user_id: String,
    /// `open`.
    pub status: String,
    /// `individual` or `business`.
    pub r#type: String,
    /// The person's.
    pub first_name: String,
    /// The person's.
    pub last_name: String,
    /// Of a business.
    pub business_name: Option<String>,
    /// Where the bank writes to.
    pub email: String,
    /// ISO 3166-1 alpha-2.
    pub country: String,
    /// RFC 3339.
    pub created_at: String,
}

/// How far banking is.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankingProfileStatus {
    /// The wallet's address in lower case.
    pub user_id: String,
    /// `none` or `open`.
    pub status: String,
    /// Of the owner's identity: `none`, `in-review`, `verified` or `rejected`.
    pub identity: String,
    /// `none`, `incomplete`, `submitted`, `approved` or `rejected`.
    pub application: String,
    /// Whether accounts can be opened.
    pub can_open_accounts: bool,
    /// The profile, if there is one.
    pub profile: Option<BankingProfile>,
}

/// The application to bank.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankingApplicationResult {
    /// It.
    pub application: BankingApplication,
}

/// An application to bank.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankingApplication {
    /// Its name towards the bank.
    pub application_id: String,
    /// `incomplete`, `submitted`, `approved` or `rejected`.
    pub status: String,
    /// The bank's word, when it is rejected.
    pub rejection_reason: Option<String>,
    /// What the bank asked for when it gave the application back, in its own words.
    pub requested_items: Option<String>,
    /// Times submitted.
    pub submissions: u32,
    /// What was answered.
    pub answers: BankingApplicationAnswers,
    /// Of the tax number.
    pub tax_id_last4: Option<String>,
    /// What was uploaded.
    pub documents: Vec<BankingDocument>,
    /// What it lacks: members of `updateBankingApplicationDetails`, types of documents, `identity`.
    pub missing: Vec<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
}

/// What was answered; only what was.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankingApplicationAnswers {
    /// `YYYY-MM-DD`.
    #[schema(required = false)]
    pub date_of_birth: String,
    /// E.164.
    #[schema(required = false)]
    pub phone: String,
    /// Street and number.
    #[schema(required = false)]
    pub address_line1: String,
    /// What else the address needs.
    #[schema(required = false)]
    pub address_line2: String,
    /// Town.
    #[schema(required = false)]
    pub city: String,
    /// State or region.
    #[schema(required = false)]
    pub state: String,
    /// As its country writes it.
    #[schema(required = false)]
    pub postal_code: String,
    /// Of a person.
    #[schema(required = false)]
    pub occupation: String,
    /// Where the money will come from.
    #[schema(required = false)]
    pub source_of_funds: String,
    /// What a business does.
    #[schema(required = false)]
    pub business_type: String,
    /// `YYYY-MM-DD`.
    #[schema(required = false)]
    pub formation_date: String,
}

/// A document that was uploaded.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankingDocument {
    /// Its id.
    pub document_id: String,
    /// What it shows.
    pub r#type: String,
    /// By its first bytes.
    pub media_type: String,
    /// How long it is.
    pub bytes: u64,
    /// Of its bytes, hex.
    pub sha256: String,
    /// RFC 3339.
    pub created_at: String,
}

/// An account that was asked for.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateBankAccountResult {
    /// It.
    pub account: BankAccount,
}

/// Accounts at the bank.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListBankAccountsResult {
    /// Oldest first.
    pub accounts: Vec<BankAccount>,
    /// Whether more follow.
    pub has_more: bool,
}

/// An account at the bank.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankAccount {
    /// Its id.
    pub account_id: String,
    /// `onramp` or `offramp`.
    pub r#type: String,
    /// `pending`, `open` or `rejected`.
    pub status: String,
    /// What its holder calls it.
    pub label: Option<String>,
    /// `USD`.
    pub currency: String,
    /// The bank, once it is open.
    pub bank_name: Option<String>,
    /// Last four, once it is open.
    pub account_number_last4: Option<String>,
    /// The bank's word, if it refused.
    pub failure_reason: Option<String>,
    /// ABA, once it is open.
    #[schema(required = false)]
    pub routing_number: String,
    /// The whole number, once it is open.
    #[schema(required = false)]
    pub account_number: String,
    /// What whoever pays in writes with it, once it is open and where the bank needs that.
    pub memo: Option<String>,
    /// Of an off-ramp that is open, US dollars; null while the bank says nothing.
    #[schema(value_type = Option<ExactDecimal>, required = false)]
    pub balance: Option<serde_json::Value>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
}

/// A destination after a change.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankDestinationResult {
    /// `brc_…`: whose account it is.
    pub recipient_id: String,
    /// It.
    pub destination: BankDestination,
}

/// A destination.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankDestination {
    /// Its id.
    pub destination_id: String,
    /// `fiat_us` or `fiat_iban`.
    pub destination_type: String,
    /// `active`.
    pub status: String,
    /// What the caller calls it.
    pub nickname: String,
    /// The bank.
    pub bank_name: String,
    /// Whose account.
    pub account_holder_name: String,
    /// Last four of its number.
    pub account_number_last4: String,
    /// ABA, in the U.S.
    pub routing_number: Option<String>,
    /// RFC 3339.
    pub created_at: String,
}

/// Who can be paid by bank.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListBankingRecipientsResult {
    /// In the order in which the first destination of each was registered.
    pub recipients: Vec<BankingRecipient>,
    /// Whether more destinations follow.
    pub has_more: bool,
}

/// A recipient with destinations.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankingRecipient {
    /// `brc_…`.
    pub recipient_id: String,
    /// A person or company.
    pub name: String,
    /// `active`.
    pub status: String,
    /// One line; empty where none was given.
    pub address: String,
    /// Its accounts.
    pub destinations: Vec<BankDestination>,
}

/// A recipient that is off the list.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteBankingRecipientResult {
    /// `brc_…`.
    pub recipient_id: String,
    /// Always true.
    pub deleted: bool,
}

/// A transfer that was begun.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateBankTransferResult {
    /// For `getBankingTransaction`.
    pub transaction_id: String,
    /// `pending`.
    pub status: String,
}

/// A payout that was begun.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateBankPayoutResult {
    /// `po_…`, for `getBankingTransaction` and `GET /get-payment-status`.
    pub transaction_id: String,
    /// `queued`.
    pub status: String,
    /// To whom.
    pub destination_id: String,
    /// What arrives, US dollars.
    #[schema(value_type = ExactDecimal)]
    pub amount: serde_json::Value,
    /// What it costs beyond that.
    #[schema(value_type = ExactDecimal)]
    pub fee_amount: serde_json::Value,
    /// Both.
    #[schema(value_type = ExactDecimal)]
    pub charged_amount: serde_json::Value,
}

/// A transfer or a payout.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankTransactionResult {
    /// It.
    pub transaction: BankTransaction,
}

/// Transfers and payouts.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListBankTransactionsResult {
    /// Oldest first.
    pub transactions: Vec<BankTransaction>,
    /// Whether more follow.
    pub has_more: bool,
}

/// A transfer between balance and bank, or a payout to a bank.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankTransaction {
    /// Its id.
    pub transaction_id: String,
    /// `transfer` or `payout`.
    pub r#type: String,
    /// `incoming`, `to_account`, `to_balance` or `outgoing`.
    pub direction: String,
    /// `pending`, `complete`, `failed` or `returned`; of a payout also `queued`, `in-process`, `cancelled`.
    pub status: String,
    /// US dollars.
    #[schema(value_type = ExactDecimal)]
    pub amount: serde_json::Value,
    /// `USD`.
    pub currency: String,
    /// Of a transfer: the account at the bank.
    #[schema(required = false)]
    pub account_id: String,
    /// Of a transfer: who sent it, or the holder's own words.
    pub note: Option<String>,
    /// Of a transfer: the bank's name of it.
    pub reference: Option<String>,
    /// Of a payout: to whom.
    pub destination_id: Option<String>,
    /// Of a payout.
    #[schema(value_type = ExactDecimal, required = false)]
    pub fee_amount: serde_json::Value,
    /// Of a payout.
    #[schema(value_type = ExactDecimal, required = false)]
    pub charged_amount: serde_json::Value,
    /// Why it came to nothing.
    pub failure_reason: Option<String>,
    /// Why it waits, if it does: `held_frozen`, `held_restored` or `held_unfinal`.
    pub held: Option<String>,
    /// Of a transfer that came back: how much of it.
    #[schema(value_type = ExactDecimal, required = false)]
    pub returned_amount: serde_json::Value,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
}
