//! What the desk is asked and answers, as it goes over the wire.

use purser_actors::id::Network;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::settlement::sandbox::SandboxTransfer;

/// The two networks by their short names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkParam {
    /// Base.
    Base,
    /// Solana.
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

/// `GET` balances.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BalanceRequest {
    /// An address of either chain.
    pub wallet: String,
}

/// A wallet's balance on its chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct BalanceResponse {
    /// The exact address.
    pub wallet: String,
    /// `base` or `solana`.
    pub network: &'static str,
    /// USDC as decimal text.
    pub usdc: String,
    /// Atomic USDC.
    pub atomic: u64,
}

/// `GET` transfers, oldest first.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransfersRequest {
    /// Of which chain; Base if absent.
    pub network: Option<NetworkParam>,
    /// The position behind which the page begins; 0 if absent.
    pub after: Option<u64>,
    /// 1 to 1,000; 100 if absent.
    pub limit: Option<usize>,
}

/// A page of transfers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TransferList {
    /// Oldest first.
    pub transfers: Vec<SandboxTransfer>,
    /// Whether more follow.
    pub has_more: bool,
}

/// `POST` chain faults.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChainFaultRequest {
    /// Which chain; both if absent, or the wallet's.
    #[schema(inline)]
    pub network: Option<NetworkParam>,
    /// Only payments of this address.
    pub wallet: Option<String>,
    /// What goes wrong.
    #[schema(inline)]
    pub fault: ChainFaultParam,
    /// How often, counted by each chain for itself: without `network` and `wallet` once means once on both. 1 if absent, 0
    /// until cleared.
    pub times: Option<u32>,
    /// For `decline`: the `errorReason`; `invalid_transaction_state` if absent.
    pub reason: Option<String>,
    /// For `slow`, `fail_then_land`, `drop` and `drop_final`: milliseconds; 3,000 if absent.
    pub delay_ms: Option<u64>,
}

/// What a chain can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChainFaultParam {
    /// Refuse.
    Decline,
    /// Refuse for insufficient funds.
    Insufficient,
    /// Answer nothing.
    Unreachable,
    /// Be slow.
    Slow,
    /// Settle and lose the answer.
    LoseResponse,
    /// Refuse, and let it land later.
    FailThenLand,
    /// Settle, and drop it later.
    Reorg,
    /// Settle for good, and drop it later all the same.
    DropFinal,
    /// Let an observer submit first.
    FrontRun,
    /// Hold all executions back.
    Hold,
    /// Let them go on.
    Resume,
    /// Have whatever lands from now on share one transaction, until cleared. On Solana only transfers out of `POST /sandbox/faucet` do:
    /// a payment there is a transaction that its payer has signed.
    Together,
    /// Forget every fault and go on.
    Clear,
}

/// `POST` issuer faults.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct IssuerFaultRequest {
    /// What goes wrong.
    #[schema(inline)]
    pub fault: IssuerFaultParam,
    /// How often; 1 if absent, 0 until cleared.
    pub times: Option<u32>,
    /// For `slow`: milliseconds; 3,000 if absent.
    pub delay_ms: Option<u64>,
}

/// What the issuer can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IssuerFaultParam {
    /// Answer nothing.
    Unreachable,
    /// Be slow.
    Slow,
    /// Answer nonsense.
    MalformedResponse,
    /// Take the order and never answer.
    Timeout,
    /// Refuse the order for good.
    Decline,
    /// Forget every fault.
    Clear,
}

/// `POST` faucet.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FaucetRequest {
    /// An address of either chain.
    pub wallet: String,
    /// Decimal USDC with at most 2 places, at most a billion.
    pub amount: String,
    /// Out of this wallet of the same network, by a plain transfer that is no payment; new money if absent.
    pub from: Option<String>,
}

/// A fault waiting for a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PendingFault {
    /// Its name.
    pub fault: &'static str,
    /// Whose payments; null for everybody's.
    pub wallet: Option<String>,
    /// How often it still happens; null until cleared.
    pub remaining: Option<u32>,
}

/// One chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SandboxChainView {
    /// `base` or `solana`.
    pub network: &'static str,
    /// Where the service is paid.
    pub treasury: String,
    /// Atomic USDC that the treasury holds.
    pub treasury_atomic: u64,
    /// Atomic test USDC ever made.
    pub minted_atomic: u64,
    /// Wallets that ever held or moved something.
    pub wallets: usize,
    /// Transfers so far.
    pub transfers: usize,
    /// Whether executions are held back.
    pub held: bool,
    /// Faults waiting.
    pub faults: Vec<PendingFault>,
    /// Calls that met a fault since the start.
    pub faults_injected: u64,
}

/// The card issuer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SandboxIssuerView {
    /// Cards made or being made.
    pub cards: usize,
    /// Orders refused for good.
    pub declined: usize,
    /// Cents loaded on all cards.
    pub loaded_cents: u64,
    /// Faults waiting.
    pub faults: Vec<PendingFault>,
    /// Calls that met a fault since the start.
    pub faults_injected: u64,
}

/// `GET` state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SandboxView {
    /// Always true: this is not real money.
    pub sandbox: bool,
    /// Both chains.
    pub chains: Vec<SandboxChainView>,
    /// The card issuer.
    pub issuer: SandboxIssuerView,
    /// The address that pays Solana's fees.
    pub solana_fee_payer: String,
}

/// An amount that forces an outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct MagicValue {
    /// `card`: the card's amount in dollars. `payment`: the amount paid in USDC. `top_up`: the amount loaded.
    pub applies_to: &'static str,
    /// Decimal text.
    pub amount: String,
    /// What happens.
    pub effect: &'static str,
}
