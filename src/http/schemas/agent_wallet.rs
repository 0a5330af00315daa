//! Schemas of the managed wallet: the contents of `result`.

use utoipa::ToSchema;

use super::{
    AgentPaymentStatus, AgentWalletStatus, ExactDecimal, HoldReason, NetworkName, WalletPaymentKind,
    WalletPaymentProgress, WalletPaymentStatus,
};

/// Result of `createAgentWallet`.
#[derive(ToSchema)]
pub struct CreateAgentWalletResult {
    /// The new or existing wallet.
    pub wallet: AgentWallet,
}

/// A managed wallet.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct AgentWallet {
    /// The owner's address in lower case.
    pub user_id: String,
    /// `active` in every case.
    pub status: AgentWalletStatus,
    /// Addresses that receive USDC.
    pub addresses: AgentWalletAddresses,
    /// Caps set by the owner.
    pub limits: AgentWalletCaps,
    /// Number of entries in the address book.
    pub saved_addresses: u64,
    /// Creation time (RFC 3339).
    pub created_at: String,
}

/// Addresses by chain.
#[derive(ToSchema)]
pub struct AgentWalletAddresses {
    /// Address on Base.
    pub base: String,
    /// Address on Solana.
    pub solana: String,
}

/// Caps in US dollars.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct AgentWalletCaps {
    /// Cap per payment or transfer.
    pub per_call_usd: ExactDecimal,
    /// Cap per day (UTC); null without a cap.
    pub per_day_usd: Option<ExactDecimal>,
}

/// A managed wallet with its current balances.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct GetAgentWalletResult {
    /// Addresses and limits of the wallet.
    pub wallet: AgentWallet,
    /// Balances in USDC.
    pub balances: AgentBalances,
    /// Pending wallet payments, oldest first.
    pub pending_payments: Vec<PendingWalletPayment>,
    /// `settled`, `pending`, `failed` or `unsettled`: status of the requested wallet payment.
    pub status: Option<WalletPaymentProgress>,
    /// Requested wallet payment.
    pub wallet_payment: Option<WalletPayment>,
    /// Response to the call of that payment.
    pub response: Option<PaidCallResponse>,
}

/// Balances by chain.
#[derive(ToSchema)]
pub struct AgentBalances {
    /// Balance on Base.
    pub base: AgentBalance,
    /// Balance on Solana.
    pub solana: AgentBalance,
}

/// USDC on one chain.
#[derive(ToSchema)]
pub struct AgentBalance {
    /// Balance on chain.
    pub balance: ExactDecimal,
    /// Part of the balance reserved for pending payments.
    pub held: ExactDecimal,
    /// Part of the balance that can be spent.
    pub available: ExactDecimal,
}

/// A pending wallet payment.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct PendingWalletPayment {
    /// Id of the wallet payment.
    pub wallet_payment_id: String,
    /// `base` or `solana`.
    pub network: NetworkName,
    /// Amount in USDC.
    pub amount: ExactDecimal,
}

/// Spend limit of the managed wallet.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct AgentSpendLimit {
    /// Cap per payment or transfer.
    pub per_call_usd: ExactDecimal,
    /// Cap per day (UTC); null without a cap.
    pub per_day_usd: Option<ExactDecimal>,
    /// Amount spent or reserved today.
    pub used_today_usd: ExactDecimal,
    /// Rest of the daily cap; null without a cap.
    pub left_today_usd: Option<ExactDecimal>,
}

/// Result of a payment or transfer.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct AgentPaymentResult {
    /// `settled`; `pending` while the chain takes its time; `free` if the server asked for no payment.
    pub status: AgentPaymentStatus,
    /// The wallet payment; null for a free call.
    pub wallet_payment: Option<WalletPayment>,
    /// The server's response; null for a transfer.
    pub response: Option<PaidCallResponse>,
}

/// A payment or transfer from the managed wallet.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct WalletPayment {
    /// Id of the wallet payment.
    pub wallet_payment_id: String,
    /// `pending`, `signed`, `sent`, `settled`, `failed` or `unsettled`.
    pub status: WalletPaymentStatus,
    /// `x402` or `transfer`.
    pub kind: WalletPaymentKind,
    /// Amount in USDC.
    pub amount: ExactDecimal,
    /// `USDC` is the token.
    pub asset: String,
    /// `base` or `solana`.
    pub network: NetworkName,
    /// Address of the managed wallet.
    pub from: String,
    /// Address of the payee.
    pub pay_to: String,
    /// `host:port`, or `route` for this service; null for a transfer.
    pub host: Option<String>,
    /// Note of the agent.
    pub note: Option<String>,
    /// HTTP status of the paid call.
    pub http_status: Option<u16>,
    /// Transaction id on chain.
    pub tx_hash: Option<String>,
    /// Reason of a failed payment.
    pub failure_reason: Option<String>,
    /// Reason of a hold: `held_frozen`, `held_restored` or `held_unfinal`.
    pub held: Option<HoldReason>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// Response of a server. In later reads, members of its body that are tokens or codes are null.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct PaidCallResponse {
    /// HTTP status of the response.
    pub http_status: u16,
    /// Content type of the response.
    pub content_type: Option<String>,
    /// JSON verbatim, anything else as text.
    #[schema(value_type = Value)]
    pub body: serde_json::Value,
}

/// The address book.
#[derive(ToSchema)]
pub struct AddressBookResult {
    /// Entries, oldest first.
    pub entries: Vec<AddressBookEntry>,
}

/// A saved entry of the address book.
#[derive(ToSchema)]
pub struct SaveAddressResult {
    /// The entry as saved.
    pub entry: AddressBookEntry,
}

/// A named address.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct AddressBookEntry {
    /// `adr_…` is the id of the entry.
    pub entry_id: String,
    /// Name given by the agent.
    pub name: String,
    /// Address of the entry.
    pub address: String,
    /// `base` or `solana`.
    pub network: NetworkName,
}

/// A deleted entry of the address book.
#[derive(ToSchema)]
pub struct DeleteAddressResult {
    /// Id of the deleted entry.
    pub deleted: String,
}
