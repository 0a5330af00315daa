//! A top-up as its owner sees it.

use serde::Serialize;

use super::{LegKind, State};
use crate::answer::{Address, ExactDecimal, Time};
use crate::id::{Network, PaymentId, TopUpId};

/// A top-up of the balance at the card issuer.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct TopUpView<'a> {
    /// Id of the top-up.
    pub top_up_id: TopUpId,
    /// `paid`, `bridging`, `delivered`, `credited` or `failed`.
    pub status: State,
    /// US dollars that arrive on the balance.
    pub funded_usd: ExactDecimal,
    /// The owner's deposit address at the card issuer.
    pub deposit_address: Address,
    /// `base` is the network of the deposit address.
    pub network: DepositNetwork,
    /// `USDC` is the token.
    pub asset: &'static str,
    /// `solana` or `base`.
    pub payment_network: Network,
    /// Transfers on chain, oldest first.
    pub legs: Vec<TopUpLegView<'a>>,
    /// Reason of a failed top-up, whose charge was credited to the account balance: `issuer_not_linked`,
    /// `delivery_expired`, `delivery_unavailable`, `delivery_declined` or `mint_impossible`.
    #[cfg_attr(feature = "documents", schema(required))]
    pub failure_code: Option<&'a str>,
    /// Payment that bought the top-up.
    pub payment_id: PaymentId,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

/// One transfer of a top-up.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = TopUpLeg))]
pub struct TopUpLegView<'a> {
    /// `burn` on Solana, then `mint` on Base; or `transfer` on Base.
    pub leg: LegKind,
    /// Transaction id of the transfer.
    pub tx_hash: &'a str,
    /// Time of the transfer (RFC 3339).
    pub at: Time,
}

/// Network of deposit addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub enum DepositNetwork {
    /// The only one.
    #[serde(rename = "base")]
    Base,
}
