//! The managed wallet: the insides of `result`.

use utoipa::ToSchema;

use super::ExactDecimal;

/// A wallet that was made, or was there.
#[derive(ToSchema)]
pub struct CreateAgentWalletResult {
    /// As it is.
    pub wallet: AgentWallet,
}

/// A managed wallet.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct AgentWallet {
    /// The owner's address in lower case.
    pub user_id: String,
    /// `active`.
    pub status: String,
    /// Where it receives USDC.
    pub addresses: AgentWalletAddresses,
    /// What a person allows.
    pub limits: AgentWalletCaps,
    /// Entries of the address book.
    pub saved_addresses: u64,
    /// RFC 3339.
    pub created_at: String,
}

/// One address a chain.
#[derive(ToSchema)]
pub struct AgentWalletAddresses {
    /// On Base.
    pub base: String,
    /// On Solana.
    pub solana: String,
}

/// Caps in US dollars.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct AgentWalletCaps {
    /// By one payment or transfer.
    pub per_call_usd: ExactDecimal,
    /// By a day (UTC); null without a cap.
    pub per_day_usd: Option<ExactDecimal>,
}

/// A managed wallet as it stands now.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct GetAgentWalletResult {
    /// What it is.
    pub wallet: AgentWallet,
    /// What it holds, in USDC.
    pub balances: AgentBalances,
    /// Spends on their way, oldest first.
    pub pending_payments: Vec<PendingWalletPayment>,
    /// `settled`, `pending`, `failed` or `unsettled`: of the spend that was asked for.
    pub status: Option<String>,
    /// That spend.
    pub wallet_payment: Option<WalletPayment>,
    /// What was answered to its call.
    pub response: Option<PaidCallResponse>,
}

/// One balance a chain.
#[derive(ToSchema)]
pub struct AgentBalances {
    /// On Base.
    pub base: AgentBalance,
    /// On Solana.
    pub solana: AgentBalance,
}

/// USDC on one chain.
#[derive(ToSchema)]
pub struct AgentBalance {
    /// What the chain shows.
    pub balance: ExactDecimal,
    /// Of that, what may be on its way.
    pub held: ExactDecimal,
    /// The rest.
    pub available: ExactDecimal,
}

/// A spend on its way.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct PendingWalletPayment {
    /// Its id.
    pub wallet_payment_id: String,
    /// `base` or `solana`.
    pub network: String,
    /// USDC.
    pub amount: ExactDecimal,
}

/// What may be spent.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct AgentSpendLimit {
    /// By one payment or transfer.
    pub per_call_usd: ExactDecimal,
    /// By a day (UTC); null without a cap.
    pub per_day_usd: Option<ExactDecimal>,
    /// Spent or reserved today.
    pub used_today_usd: ExactDecimal,
    /// Left of the day's cap; null without one.
    pub left_today_usd: Option<ExactDecimal>,
}

/// What became of a payment or transfer.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct AgentPaymentResult {
    /// `settled`; `pending` where the chain takes its time; `free` where nothing was asked for.
    pub status: String,
    /// The spend; null for what was free.
    pub wallet_payment: Option<WalletPayment>,
    /// What the server answered; null for a transfer.
    pub response: Option<PaidCallResponse>,
}

/// A spend.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct WalletPayment {
    /// Its id.
    pub wallet_payment_id: String,
    /// `pending`, `signed`, `sent`, `settled`, `failed` or `unsettled`.
    pub status: String,
    /// `x402` or `transfer`.
    pub kind: String,
    /// USDC.
    pub amount: ExactDecimal,
    /// `USDC`.
    pub asset: String,
    /// `base` or `solana`.
    pub network: String,
    /// The wallet's own address.
    pub from: String,
    /// Who is paid.
    pub pay_to: String,
    /// `host:port`, or `route` for this service; null for a transfer.
    pub host: Option<String>,
    /// The agent's own words.
    pub note: Option<String>,
    /// Of the paid call.
    pub http_status: Option<u16>,
    /// On chain.
    pub tx_hash: Option<String>,
    /// Why it failed.
    pub failure_reason: Option<String>,
    /// Why it waits, if it does: `held_frozen`, `held_restored` or `held_unfinal`.
    pub held: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
}

/// What a server answered. Members of its body that are tokens or codes are null where it is read later.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct PaidCallResponse {
    /// Its status.
    pub http_status: u16,
    /// Its content type.
    pub content_type: Option<String>,
    /// JSON as it came, anything else as text.
    #[schema(value_type = Value)]
    pub body: serde_json::Value,
}

/// The address book.
#[derive(ToSchema)]
pub struct AddressBookResult {
    /// Oldest first.
    pub entries: Vec<AddressBookEntry>,
}

/// An entry that was saved.
#[derive(ToSchema)]
pub struct SaveAddressResult {
    /// As it is kept.
    pub entry: AddressBookEntry,
}

/// An address with its name.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct AddressBookEntry {
    /// `adr_…`.
    pub entry_id: String,
    /// What the agent calls it.
    pub name: String,
    /// The address.
    pub address: String,
    /// `base` or `solana`.
    pub network: String,
}

/// An entry that is gone.
#[derive(ToSchema)]
pub struct DeleteAddressResult {
    /// Its id.
    pub deleted: String,
}
