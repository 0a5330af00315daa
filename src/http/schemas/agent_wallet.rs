//! Schemas of the managed wallet: the contents of `result`.

use super::{
    AgentWalletAddresses, AgentWalletStatus, ApprovalStatus, DeclineReason, ExactDecimal, HoldReason, NetworkName,
    SpendKind, SpendLimitName, WalletPaymentKind, WalletPaymentStatus,
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
    /// The latest spend that a limit refused.
    pub last_refused_spend: Option<RefusedSpend>,
}

/// A spend that a limit of the account owner refused.
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = RefusedWalletSpend, rename_all = "camelCase"))]
pub struct RefusedSpend {
    /// Amount in USDC.
    pub amount: ExactDecimal,
    /// `base` or `solana`.
    pub network: NetworkName,
    /// Address of the payee.
    pub pay_to: String,
    /// `host:port`, or `route` for this service; null for a transfer.
    pub host: Option<String>,
    /// Limits that it exceeded.
    pub limits: Vec<WalletExceededLimit>,
    /// API key of the agent; null if the wallet signed in.
    pub api_key_id: Option<String>,
    /// Session of the agent.
    pub session_id: Option<String>,
    /// Time of the refusal (RFC 3339).
    pub at: String,
}

/// A limit that a spend exceeds.
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(rename_all = "camelCase"))]
pub struct WalletExceededLimit {
    /// Which limit.
    pub limit: SpendLimitName,
    /// Value of the limit in US dollars.
    pub cap_usd: ExactDecimal,
    /// What was left of it.
    pub left_usd: ExactDecimal,
}

/// What a call buys at a route of this service.
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(rename_all = "camelCase"))]
pub struct WalletRoutePurchase {
    /// Path of the route, such as `/get-card`.
    pub route: String,
    /// Amount that it is for, as the agent wrote it.
    pub amount: Option<String>,
    /// Currency of the amount, if the agent named one.
    pub currency: Option<String>,
    /// Gift card that is bought. Absent for anything else.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub product_id: Option<String>,
    /// Country of the gift card. Absent for anything else.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub country: Option<String>,
    /// Saved bank account that is paid. Absent for anything else.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub destination_id: Option<String>,
    /// Saved recipient that is paid. Absent for anything else.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub recipient_id: Option<String>,
}

/// A spend over a limit, and the owner's decision.
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(rename_all = "camelCase"))]
pub struct Approval {
    /// Id of the approval.
    pub approval_id: String,
    /// `pending`, `approved`, `declined`, `expired` or `used`.
    pub status: ApprovalStatus,
    /// `x402` or `transfer` of the managed wallet; `withdrawal`, `card_balance_withdrawal`, `bank_transfer` or
    /// `bank_payout` from a balance of the account.
    pub kind: SpendKind,
    /// Amount in US dollars.
    pub amount: ExactDecimal,
    /// `USDC` is the token; `USD` for a payment to a bank account.
    pub asset: String,
    /// `base` or `solana`; null for a bank account.
    pub network: Option<NetworkName>,
    /// Address of the payee; null for a bank account.
    pub pay_to: Option<String>,
    /// Bank destination or bank account that receives it; null for an address.
    pub bank_payee_id: Option<String>,
    /// `host:port`, or `route` for this service; null for a transfer.
    pub host: Option<String>,
    /// What it buys at a route of this service; null for anything else.
    pub purchase: Option<WalletRoutePurchase>,
    /// Note of the agent.
    pub note: Option<String>,
    /// Limits that the spend exceeds.
    pub limits: Vec<WalletExceededLimit>,
    /// API key of the agent; null if the wallet signed in.
    pub api_key_id: Option<String>,
    /// Session of the agent.
    pub session_id: Option<String>,
    /// Time of the request (RFC 3339).
    pub created_at: String,
    /// End of the wait for the owner, or of the approval (RFC 3339).
    pub expires_at: String,
    /// Time of the owner's decision (RFC 3339).
    pub decided_at: Option<String>,
    /// `agent_ended`: the owner did not decline it, but its agent's API key was revoked, or all agents were stopped.
    #[cfg_attr(feature = "documents", schema(required = false))]
    pub decline_reason: Option<DeclineReason>,
    /// Id of what used the approval: a wallet payment, withdrawal, bank transfer or payout.
    pub used_by: Option<String>,
    /// Wallet payment that used the approval.
    pub wallet_payment_id: Option<String>,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// Caps in US dollars.
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(rename_all = "camelCase"))]
pub struct AgentWalletCaps {
    /// Cap per payment or transfer.
    pub per_call_usd: ExactDecimal,
    /// Cap per day (UTC); null without a cap.
    pub per_day_usd: Option<ExactDecimal>,
    /// Whether a spend over a limit waits for the owner's approval.
    pub approvals: bool,
    /// Caps per merchant and day (UTC), if the owner has set any.
    pub merchants: Option<AgentMerchantLimits>,
}

/// Caps per merchant and day (UTC) in US dollars.
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(rename_all = "camelCase"))]
pub struct AgentMerchantLimits {
    /// Merchants with a cap of their own.
    pub hosts: Vec<AgentMerchantLimit>,
    /// Cap of each other merchant; 0 allows no other, null is without a cap.
    pub others_per_day_usd: Option<ExactDecimal>,
}

/// Cap of one merchant.
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(rename_all = "camelCase"))]
pub struct AgentMerchantLimit {
    /// Host in lower case, without a port; `route` is this service.
    pub host: String,
    /// Cap per day in US dollars; 0 forbids it.
    pub per_day_usd: ExactDecimal,
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
