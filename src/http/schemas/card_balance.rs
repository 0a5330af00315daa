//! Schemas of the balance at the card issuer.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{DepositNetwork, ExactDecimal, HoldReason, NetworkName, TopUpLegKind, TopUpStatus};

/// A top-up of the balance at the card issuer.
#[derive(Serialize, ToSchema)]
pub struct TopUp {
    /// Id of the top-up.
    pub top_up_id: String,
    /// `paid`, `bridging`, `delivered`, `credited` or `failed`.
    pub status: TopUpStatus,
    /// US dollars that arrive on the balance.
    #[schema(value_type = ExactDecimal)]
    pub funded_usd: Value,
    /// The owner's deposit address at the card issuer.
    pub deposit_address: String,
    /// `base` is the network of the deposit address.
    pub network: DepositNetwork,
    /// `USDC` is the token.
    pub asset: String,
    /// `solana` or `base`.
    pub payment_network: NetworkName,
    /// Transfers on chain, oldest first.
    pub legs: Vec<TopUpLeg>,
    /// Reason of a failed top-up, whose charge was credited to the account balance: `issuer_not_linked`,
    /// `delivery_expired`, `delivery_unavailable`, `delivery_declined` or `mint_impossible`.
    #[schema(required)]
    pub failure_code: Option<String>,
    /// Payment that bought the top-up.
    pub payment_id: String,
    /// Reason of a hold: `held_frozen`, `held_restored` or `held_unfinal`.
    pub held: Option<HoldReason>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// One transfer of a top-up.
#[derive(Serialize, ToSchema)]
pub struct TopUpLeg {
    /// `burn` on Solana, then `mint` on Base; or `transfer` on Base.
    pub leg: TopUpLegKind,
    /// Transaction id of the transfer.
    pub tx_hash: String,
    /// Time of the transfer (RFC 3339).
    pub at: String,
}
