//! Wire types of the sandbox control API.

use purser_actors::id::Network;
use serde::{Deserialize, Serialize};

use purser_sandbox::chains::SandboxTransfer;

/// A network by its short name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum NetworkParam {
    /// The Base chain of the sandbox.
    Base,
    /// The Solana chain of the sandbox.
    Solana,
}

impl From<NetworkParam> for Network {
    fn from(name: NetworkParam) -> Self {
        match name {
            NetworkParam::Base => Self::Base,
            NetworkParam::Solana => Self::Solana,
        }
    }
}

/// `GET` a wallet's balance.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BalanceRequest {
    /// Address of the wallet, on either chain.
    pub wallet: String,
}

/// A wallet's balance on its chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct BalanceResponse {
    /// Exact address of the wallet.
    pub wallet: String,
    /// `base` or `solana`.
    #[cfg_attr(feature = "documents", schema(value_type = NetworkParam))]
    pub network: &'static str,
    /// Balance in USDC, as decimal text.
    pub usdc: String,
    /// Balance in atomic USDC (6 decimals).
    pub atomic: u64,
}

/// `GET` transfers, oldest first.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransfersRequest {
    /// Network of the transfers; Base if absent.
    pub network: Option<NetworkParam>,
    /// Return transfers after this position; 0 if absent.
    pub after: Option<u64>,
    /// Page size, 1 to 1,000; 100 if absent.
    pub limit: Option<usize>,
}

/// A page of transfers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct TransferList {
    /// Transfers of the page, oldest first.
    pub transfers: Vec<SandboxTransfer>,
    /// Whether more transfers follow.
    pub has_more: bool,
}

/// `POST` a chain fault.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChainFaultRequest {
    /// Affected network. If absent: the wallet's network, or both.
    #[cfg_attr(feature = "documents", schema(inline))]
    pub network: Option<NetworkParam>,
    /// Only affect payments of this address.
    pub wallet: Option<String>,
    /// Fault to inject.
    #[cfg_attr(feature = "documents", schema(inline))]
    pub fault: ChainFaultParam,
    /// Number of calls that fail, counted per chain: without `network` and `wallet`, 1 means once on each. 1 if absent.
    /// 0 lasts until `clear`.
    pub times: Option<u32>,
    /// For `decline`: the `errorReason`; `invalid_transaction_state` if absent.
    pub reason: Option<String>,
    /// For `slow`, `fail_then_land`, `reorg` and `drop_final`: milliseconds; 3,000 if absent.
    pub delay_ms: Option<u64>,
}

/// Faults and controls of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChainFaultParam {
    /// Decline the payment.
    Decline,
    /// Decline the payment for insufficient funds.
    Insufficient,
    /// Do not respond.
    Unreachable,
    /// Respond after a delay.
    Slow,
    /// Settle the payment and lose the response.
    LoseResponse,
    /// Decline the payment and execute it later.
    FailThenLand,
    /// Settle the payment and drop it later.
    Reorg,
    /// Settle and finalize the payment, and still drop it later.
    DropFinal,
    /// Let an observer submit the payment first.
    FrontRun,
    /// Pause all executions.
    Hold,
    /// Resume executions on the chain.
    Resume,
    /// Execute all transfers in one shared transaction, until cleared. On Solana this only affects transfers out of
    /// `POST /sandbox/faucet`: a payment there is a transaction that its payer has signed.
    Together,
    /// Remove all faults and resume executions.
    Clear,
}

/// `POST` a card issuer fault.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct IssuerFaultRequest {
    /// Fault to inject.
    #[cfg_attr(feature = "documents", schema(inline))]
    pub fault: ProviderFaultParam,
    /// Number of calls that fail; 1 if absent. 0 lasts until `clear`.
    pub times: Option<u32>,
    /// For `slow`: delay in milliseconds; 3,000 if absent.
    pub delay_ms: Option<u64>,
}

purser_sandbox::fault_params! {
    /// Faults of a card issuer, or of a provider of identity checks.
    pub enum ProviderFaultParam { MalformedResponse, Timeout, Decline; }
}

/// `POST` a faucet transfer.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FaucetRequest {
    /// Address that receives the USDC, on either chain.
    pub wallet: String,
    /// Amount in USDC as decimal text with at most 2 decimals, at most one billion.
    pub amount: String,
    /// Send from this wallet of the same network, by a plain transfer that is not a payment. New test money if absent.
    pub from: Option<String>,
}

/// A fault that is still to be injected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct PendingFault {
    /// Name of the fault.
    pub fault: &'static str,
    /// Address whose payments it affects; null for all.
    pub wallet: Option<String>,
    /// Number of calls that it still affects; null until cleared.
    pub remaining: Option<u32>,
}

/// State of one chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SandboxChainView {
    /// `base` or `solana`.
    #[cfg_attr(feature = "documents", schema(value_type = NetworkParam))]
    pub network: &'static str,
    /// Address that receives payments to the service.
    pub treasury: String,
    /// Treasury balance in atomic USDC.
    pub treasury_atomic: u64,
    /// Total test USDC minted, in atomic USDC.
    pub minted_atomic: u64,
    /// Number of wallets that ever held or moved USDC.
    pub wallets: usize,
    /// Number of transfers so far.
    pub transfers: usize,
    /// Whether executions are paused.
    pub held: bool,
    /// Faults still to be injected.
    pub faults: Vec<PendingFault>,
    /// Number of calls that met a fault since the start.
    pub faults_injected: u64,
}

/// State of the card issuer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SandboxIssuerView {
    /// Number of cards that are ready or being made.
    pub cards: usize,
    /// Number of orders declined permanently.
    pub declined: usize,
    /// Total of all cards in US cents.
    pub loaded_cents: u64,
    /// Faults still to be injected.
    pub faults: Vec<PendingFault>,
    /// Number of calls that met a fault since the start.
    pub faults_injected: u64,
}

/// `GET` the state of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SandboxView {
    /// Always true: no real money is involved.
    pub sandbox: bool,
    /// State of both chains.
    pub chains: Vec<SandboxChainView>,
    /// State of the card issuer.
    pub issuer: SandboxIssuerView,
    /// Address that pays Solana transaction fees.
    pub solana_fee_payer: String,
}

/// An amount that forces an outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct MagicValue {
    /// `card`: the card's amount in US dollars. `payment`: the amount paid in USDC. `top_up`: the amount
    /// loaded.
    pub applies_to: &'static str,
    /// Amount as decimal text.
    pub amount: String,
    /// Outcome that the amount forces.
    pub effect: &'static str,
}
