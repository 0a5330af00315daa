//! What moves on a balance, as its holder sees it.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::ExactDecimal;

/// A withdrawal that was taken on.
#[derive(Deserialize, ToSchema)]
pub struct CreateWithdrawalResponse {
    /// True.
    pub success: bool,
    /// It.
    pub withdrawal: CreatedWithdrawal,
    /// Where to ask what became of it.
    pub status_url: String,
}

/// A withdrawal as it begins.
#[derive(Deserialize, ToSchema)]
pub struct CreatedWithdrawal {
    /// `wd_…`.
    pub id: String,
    /// Dollars.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// `pending`.
    pub state: String,
}

/// A withdrawal.
#[derive(Deserialize, ToSchema)]
pub struct Withdrawal {
    /// `wd_…`.
    pub id: String,
    /// `card_balance` for one from the balance at the card issuer.
    pub source: Option<String>,
    /// `pending`, `sent`, `complete` or `failed`.
    pub state: String,
    /// Of one from a card balance, more exactly: `pending`, `queued`, `claimed`, `complete`, `rejected` or `failed`.
    pub status: Option<String>,
    /// Dollars.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// `USDC`.
    pub asset: String,
    /// `base` or `solana`.
    pub network: String,
    /// Who receives it.
    pub address: String,
    /// The transaction, once the chain shows it; from a card balance as the operator entered it.
    pub tx_hash: Option<String>,
    /// Why it failed or was rejected; its amount is available again.
    pub failure_reason: Option<String>,
    /// Why it waits, if it does: `held_frozen`, `held_restored` or `held_unfinal`.
    pub held: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
}

/// One withdrawal.
#[derive(Deserialize, ToSchema)]
pub struct WithdrawalResponse {
    /// It.
    pub withdrawal: Withdrawal,
}

/// A page of withdrawals.
#[derive(Deserialize, ToSchema)]
pub struct WithdrawalList {
    /// Oldest first.
    pub withdrawals: Vec<Withdrawal>,
    /// Whether a page follows.
    pub has_more: bool,
}

/// One withdrawal, or a page of them.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum WithdrawalStatusResponse {
    /// With `withdrawal_id`.
    One(Box<WithdrawalResponse>),
    /// Without.
    All(WithdrawalList),
}

/// A page of a statement.
#[derive(Deserialize, ToSchema)]
pub struct StatementResponse {
    /// Oldest first.
    pub entries: Vec<StatementLine>,
    /// Whether a page follows.
    pub has_more: bool,
}

/// One change of the balance.
#[derive(Deserialize, ToSchema)]
pub struct StatementLine {
    /// `ent_…`.
    pub entry_id: String,
    /// `credited`, `held`, `withdrawn`, `released` or `debited`; `held_unfinal` for a credit that is held until the payment that it
    /// rests on is final, `reversed` for one that is gone with its payment.
    pub r#type: String,
    /// Dollars.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// The id of a payment, card, deposit or withdrawal.
    pub cause: String,
    /// Dollars after it.
    #[schema(value_type = ExactDecimal)]
    pub balance: Value,
    /// Of that, what can be used.
    #[schema(value_type = ExactDecimal)]
    pub available: Value,
    /// Of that, what is held.
    #[schema(value_type = ExactDecimal)]
    pub held: Value,
    /// RFC 3339.
    pub created_at: String,
}
