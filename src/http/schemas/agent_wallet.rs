//! Schemas of the managed wallet: the contents of `result`.

use super::{
    AgentWalletAddresses, AgentWalletStatus, ExactDecimal, HoldReason, NetworkName, WalletPaymentKind,
    WalletPaymentStatus,
};

/// A managed wallet.
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(rename_all = "camelCase"))]
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

/// Caps in US dollars.
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(rename_all = "camelCase"))]
pub struct AgentWalletCaps {
    /// Cap per payment or transfer.
    pub per_call_usd: ExactDecimal,
    /// Cap per day (UTC); null without a cap.
    pub per_day_usd: Option<ExactDecimal>,
}

/// A payment or transfer from the managed wallet.
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(rename_all = "camelCase"))]
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
