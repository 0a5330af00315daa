//! Resources in events that no response has in this form.

use serde_json::Value;
use utoipa::ToSchema;

use super::{
    AccountStatus, AgentInfo, AgentWalletAddresses, AgentWalletStatus, ApiKeyStatus, BankAccountStatus,
    BankAccountType, BankDestinationStatus, BankDestinationType, BankTransactionDirection, BankTransactionStatus,
    BankTransactionType, BankingApplicationStatus, BankingProfileState, CustomerType, ExactDecimal, IdentityStatus,
    IssuerLinkStatus, NetworkName, OwnerCaps, PaymentApp, RecipientStatus, RefundStatus, SessionEndReason,
    SessionStatus, WalletPaymentKind, WalletPaymentStatus,
};

/// An account, also in the events of its balance.
#[derive(ToSchema)]
pub struct AccountResource {
    /// Wallet address of the account in lower case.
    pub user_id: String,
    /// `active`, or `frozen` by an operator.
    pub status: AccountStatus,
    /// Balance in US dollars, with what is held.
    #[schema(value_type = ExactDecimal)]
    pub balance: Value,
    /// What can be spent or withdrawn now, in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub available: Value,
    /// What is held, in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub held: Value,
    /// Everything ever credited, in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub total_deposits: Value,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Daily caps that the owner has set.
    pub owner_caps: Option<OwnerCaps>,
}

/// A managed wallet.
#[derive(ToSchema)]
pub struct AgentWalletResource {
    /// Wallet address of the account in lower case.
    pub user_id: String,
    /// `active` in every case.
    pub status: AgentWalletStatus,
    /// Addresses of the wallet.
    pub addresses: AgentWalletAddresses,
    /// Caps of the wallet.
    pub limits: AgentWalletLimits,
    /// Number of entries in the address book.
    pub saved_addresses: u32,
    /// Creation time (RFC 3339).
    pub created_at: String,
}

/// Caps of a managed wallet.
#[derive(ToSchema)]
pub struct AgentWalletLimits {
    /// Cap per call in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub per_call_usd: Value,
    /// Cap per day (UTC) in US dollars.
    #[schema(required, value_type = Option<ExactDecimal>)]
    pub per_day_usd: Option<Value>,
}

/// An API key, without its text.
#[derive(ToSchema)]
pub struct ApiKeyResource {
    /// Id of the key.
    pub api_key_id: String,
    /// Name of the key.
    pub name: String,
    /// `issued`, `active` or `revoked`.
    pub status: ApiKeyStatus,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last exchange (RFC 3339).
    #[schema(required)]
    pub last_used_at: Option<String>,
}

/// A bank account, without its number.
#[derive(ToSchema)]
pub struct BankAccountResource {
    /// `ba_…` is the id of the account.
    pub account_id: String,
    /// Type of the account.
    pub r#type: BankAccountType,
    /// `pending`, `open` or `rejected`.
    pub status: BankAccountStatus,
    /// The owner's own name for it.
    #[schema(required)]
    pub label: Option<String>,
    /// `USD` is the currency.
    pub currency: String,
    /// Name of the bank, once open.
    #[schema(required)]
    pub bank_name: Option<String>,
    /// Last four digits of the account number, once open.
    #[schema(required)]
    pub account_number_last4: Option<String>,
    /// Reason of the rejection.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// A recipient's bank account.
#[derive(ToSchema)]
pub struct BankDestinationResource {
    /// `dst_…` is the id of the destination.
    pub destination_id: String,
    /// Type of the account.
    pub destination_type: BankDestinationType,
    /// Status of the destination.
    pub status: BankDestinationStatus,
    /// The owner's own name for it.
    pub nickname: String,
    /// Name of the bank.
    pub bank_name: String,
    /// Name of the account's holder.
    pub account_holder_name: String,
    /// Last four digits of the account number.
    pub account_number_last4: String,
    /// Routing number, if the account has one.
    #[schema(required)]
    pub routing_number: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
}

/// A transfer between the owner's bank account and the balance.
#[derive(ToSchema)]
pub struct BankTransferResource {
    /// `btr_…` is the id of the transfer.
    pub transaction_id: String,
    /// `transfer` in every case.
    pub r#type: BankTransactionType,
    /// Direction of the transfer.
    pub direction: BankTransactionDirection,
    /// `pending`, `complete`, `failed` or `returned`.
    pub status: BankTransactionStatus,
    /// Amount in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// `USD` is the currency.
    pub currency: String,
    /// `ba_…` is the id of the bank account.
    pub account_id: String,
    /// The owner's note.
    #[schema(required)]
    pub note: Option<String>,
    /// The bank's reference, once complete.
    #[schema(required)]
    pub reference: Option<String>,
    /// Reason of the failure.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
    /// What the bank returned in US dollars. Only for `returned`.
    #[schema(value_type = Option<ExactDecimal>)]
    pub returned_amount: Option<Value>,
}

/// An application for bank accounts, without its answers.
#[derive(ToSchema)]
pub struct BankingApplicationResource {
    /// `bapp_…` is the id of the application.
    pub application_id: String,
    /// `incomplete`, `submitted`, `approved` or `rejected`.
    pub status: BankingApplicationStatus,
    /// Reason of the rejection.
    #[schema(required)]
    pub rejection_reason: Option<String>,
    /// What the bank asks for in addition.
    #[schema(required)]
    pub requested_items: Option<String>,
    /// Number of submissions.
    pub submissions: u32,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// A customer of the bank.
#[derive(ToSchema)]
pub struct BankingProfileResource {
    /// Wallet address of the account in lower case.
    pub user_id: String,
    /// Status of the profile.
    pub status: BankingProfileState,
    /// Type of the customer.
    pub r#type: CustomerType,
    /// First name of the customer, or of who acts for the business.
    pub first_name: String,
    /// Last name.
    pub last_name: String,
    /// Name of the business.
    #[schema(required)]
    pub business_name: Option<String>,
    /// Email address.
    pub email: String,
    /// Country (ISO 3166-1 alpha-2).
    pub country: String,
    /// Creation time (RFC 3339).
    pub created_at: String,
}

/// Identity verification of an account's owner.
#[derive(ToSchema)]
pub struct IdentityResource {
    /// Wallet address of the account in lower case.
    pub user_id: String,
    /// `in-review`, `verified` or `rejected`.
    pub status: IdentityStatus,
    /// Reason of the rejection.
    #[schema(required)]
    pub rejection_reason: Option<String>,
    /// Number of checks.
    pub checks: u32,
    /// Time of the first check (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// An account's link to the card issuer.
#[derive(ToSchema)]
pub struct IssuerLinkResource {
    /// Wallet address of the account in lower case.
    pub user_id: String,
    /// `unlinked` or `linked`.
    pub status: IssuerLinkStatus,
    /// Whether the issuer is being asked for a link.
    pub link_pending: bool,
    /// Address to which top-ups are sent, once linked.
    #[schema(required)]
    pub deposit_address: Option<String>,
    /// Reason for which the issuer declined the link.
    #[schema(required)]
    pub decline_reason: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// A recipient of app payments, without the person's name and address.
#[derive(ToSchema)]
pub struct PaymentRecipientResource {
    /// `rcp_…` is the id of the recipient.
    pub recipient_id: String,
    /// Payment app of the recipient.
    pub platform: PaymentApp,
    /// The name to show.
    pub display_name: String,
    /// Status of the recipient.
    pub status: RecipientStatus,
    /// Whether the recipient is archived.
    pub archived: bool,
    /// Number of payouts, less those returned.
    pub payments_count: u32,
    /// Sum of these payouts in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub total_amount: Value,
    /// `USD` is the currency.
    pub currency: String,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last payout (RFC 3339).
    pub last_paid_at: String,
}

/// A refund of a payment.
#[derive(ToSchema)]
pub struct RefundResource {
    /// `rf_…` is the id of the refund.
    pub refund_id: String,
    /// `pay_…` is the refunded payment.
    pub payment_id: String,
    /// Status of the refund.
    pub status: RefundStatus,
    /// Amount in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// A session of an account.
#[derive(ToSchema)]
pub struct SessionResource {
    /// `ses_…` is the id of the session.
    pub session_id: String,
    /// `active` or `revoked`.
    pub status: SessionStatus,
    /// Reason of the revocation, if it was not a new sign-in.
    #[schema(required)]
    pub reason: Option<SessionEndReason>,
    /// The API key that opened the session.
    #[schema(required)]
    pub api_key_id: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// What the agent announced about itself.
    pub agent: Option<AgentInfo>,
}

/// A payment from a managed wallet.
#[derive(ToSchema)]
pub struct WalletPaymentResource {
    /// `wpay_…` is the id of the wallet payment.
    pub wallet_payment_id: String,
    /// Status of the wallet payment.
    pub status: WalletPaymentStatus,
    /// `transfer` or `x402`.
    pub kind: WalletPaymentKind,
    /// Amount in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// `USDC` is the token.
    pub asset: String,
    /// Network of the transfer.
    pub network: NetworkName,
    /// Paying address.
    pub from: String,
    /// Paid address.
    pub pay_to: String,
    /// Host of the paid call.
    #[schema(required)]
    pub host: Option<String>,
    /// The owner's note.
    #[schema(required)]
    pub note: Option<String>,
    /// Status of the paid call's response.
    #[schema(required)]
    pub http_status: Option<u16>,
    /// Transaction id, once on chain.
    #[schema(required)]
    pub tx_hash: Option<String>,
    /// Reason of the failure.
    #[schema(required)]
    pub failure_reason: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}
