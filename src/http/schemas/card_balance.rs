//! Schemas of the balance at the card issuer.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    CardCharge, CardHistoryEntry, Credentials, CreditedPurchase, DepositNetwork, ExactDecimal, HoldReason, NetworkName,
    PaidStatus, TopUpLegKind, TopUpStatus,
};

/// Response of a paid top-up.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum TopUpPurchaseResponse {
    /// The top-up was bought.
    Bought(Box<TopUpPurchase>),
    /// The top-up was not possible, and the charge was credited to the account balance.
    Credited(CreditedPurchase),
}

/// A purchased top-up.
#[derive(Deserialize, ToSchema)]
pub struct TopUpPurchase {
    /// Tokens, only for the call that paid first.
    pub auth: Option<Credentials>,
    /// The wallet's address in lower case.
    pub user_id: String,
    /// `top_…` is the id, as in `top_ups` of `GET /list-card-transactions`.
    pub top_up_id: String,
    /// Status of the top-up at purchase.
    pub status: PaidStatus,
    /// US dollars that arrive on the balance.
    #[schema(value_type = ExactDecimal)]
    pub funded_usd: Value,
    /// The owner's deposit address at the card issuer.
    pub deposit_address: String,
    /// `base` is the network of the deposit address.
    pub network: DepositNetwork,
    /// `USDC` is the token.
    pub asset: String,
    /// `solana`: bridged by burn and mint; `base`: forwarded.
    pub payment_network: NetworkName,
    /// Explanation for people.
    pub note: String,
    /// Id for `GET /get-payment`.
    pub payment_id: String,
}

/// Transactions of cards and of the card balance.
#[derive(Deserialize, ToSchema)]
pub struct CardTransactionsResponse {
    /// Card transactions, newest first, including declined ones. Without `card_id`, those of the newest 100 cards of
    /// each kind.
    pub transactions: Vec<CardCharge>,
    /// Top-ups, newest first.
    pub top_ups: Vec<TopUp>,
    /// Status changes of the cards, newest first.
    pub card_events: Vec<CardHistoryEntry>,
    /// Whether more top-ups follow.
    pub has_more: bool,
    /// Explanation for people.
    pub note: String,
}

/// A top-up of the balance at the card issuer.
#[derive(Deserialize, ToSchema)]
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
#[derive(Deserialize, ToSchema)]
pub struct TopUpLeg {
    /// `burn` on Solana, then `mint` on Base; or `transfer` on Base.
    pub leg: TopUpLegKind,
    /// Transaction id of the transfer.
    pub tx_hash: String,
    /// Time of the transfer (RFC 3339).
    pub at: String,
}

/// Deposit address of a card balance.
#[derive(Deserialize, ToSchema)]
pub struct DepositAddress {
    /// The owner's deposit address.
    pub address: String,
    /// `base` is the network of the address.
    pub network: DepositNetwork,
    /// Balance in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub balance: Value,
}
