//! The balance at the card issuer, as its holder sees it.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{CardCharge, CardHistoryEntry, Credentials, CreditedPurchase, ExactDecimal};

/// What a paid top-up answers.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum TopUpPurchaseResponse {
    /// Bought.
    Bought(Box<TopUpPurchase>),
    /// Paid and not possible: on the account balance.
    Credited(CreditedPurchase),
}

/// A top-up as it was bought.
#[derive(Deserialize, ToSchema)]
pub struct TopUpPurchase {
    /// For the call that paid first.
    pub auth: Option<Credentials>,
    /// The wallet's address in lower case.
    pub user_id: String,
    /// `top_…`, as under `top_ups` in `GET /list-card-transactions`.
    pub top_up_id: String,
    /// `paid`.
    pub status: String,
    /// Dollars that arrive on the balance.
    #[schema(value_type = ExactDecimal)]
    pub funded_usd: Value,
    /// The holder's own address at the card issuer.
    pub deposit_address: String,
    /// `base`.
    pub network: String,
    /// `USDC`.
    pub asset: String,
    /// `solana`: bridged by burn and mint; `base`: forwarded.
    pub payment_network: String,
    /// For people.
    pub note: String,
    /// For `GET /get-payment`.
    pub payment_id: String,
}

/// What moved on a card balance.
#[derive(Deserialize, ToSchema)]
pub struct CardTransactionsResponse {
    /// What cards were charged, newest first, refused charges too; of all cards, those of the newest 100 of each kind.
    pub transactions: Vec<CardCharge>,
    /// Newest first.
    pub top_ups: Vec<TopUp>,
    /// What happened to them, newest first.
    pub card_events: Vec<CardHistoryEntry>,
    /// Whether more top-ups follow.
    pub has_more: bool,
    /// For people.
    pub note: String,
}

/// A top-up.
#[derive(Deserialize, ToSchema)]
pub struct TopUp {
    /// Its id.
    pub top_up_id: String,
    /// `paid`, `bridging`, `delivered`, `credited` or `failed`.
    pub status: String,
    /// Dollars that arrive on the balance.
    #[schema(value_type = ExactDecimal)]
    pub funded_usd: Value,
    /// The holder's own address at the card issuer.
    pub deposit_address: String,
    /// `base`.
    pub network: String,
    /// `USDC`.
    pub asset: String,
    /// `solana` or `base`.
    pub payment_network: String,
    /// What is on a chain, oldest first.
    pub legs: Vec<TopUpLeg>,
    /// Of a failed one, whose charge is on the account balance: `issuer_not_linked`, `delivery_expired`,
    /// `delivery_unavailable`, `delivery_declined` or `mint_impossible`.
    #[schema(required)]
    pub failure_code: Option<String>,
    /// What paid for it.
    pub payment_id: String,
    /// Why it waits, if it does: `held_frozen`, `held_restored` or `held_unfinal`.
    pub held: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
}

/// One transfer of a top-up.
#[derive(Deserialize, ToSchema)]
pub struct TopUpLeg {
    /// `burn` on Solana, then `mint` on Base; or `transfer` on Base.
    pub leg: String,
    /// Its transaction.
    pub tx_hash: String,
    /// RFC 3339.
    pub at: String,
}

/// Where a card balance is loaded.
#[derive(Deserialize, ToSchema)]
pub struct DepositAddress {
    /// The holder's own.
    pub address: String,
    /// `base`.
    pub network: String,
    /// Dollars on the balance.
    #[schema(value_type = ExactDecimal)]
    pub balance: Value,
}
