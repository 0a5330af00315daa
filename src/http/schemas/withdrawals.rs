//! Schemas of withdrawals and account statements.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    CardBalanceWithdrawalStatus, ExactDecimal, HoldReason, NetworkName, PendingStatus, StatementLineType,
    WithdrawalSource, WithdrawalState,
};

/// Response to an accepted withdrawal.
#[derive(Deserialize, ToSchema)]
pub struct CreateWithdrawalResponse {
    /// Always true on success.
    pub success: bool,
    /// The withdrawal as accepted.
    pub withdrawal: CreatedWithdrawal,
    /// URL to poll for its status.
    pub status_url: String,
}

/// A withdrawal as accepted.
#[derive(Deserialize, ToSchema)]
pub struct CreatedWithdrawal {
    /// `wd_…` is the id of the withdrawal.
    pub id: String,
    /// Amount in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// `pending` in every case.
    pub state: PendingStatus,
}

/// A withdrawal from a balance.
#[derive(Deserialize, ToSchema)]
pub struct Withdrawal {
    /// `wd_…` is the id of the withdrawal.
    pub id: String,
    /// `card_balance` for a withdrawal from the balance at the card issuer.
    pub source: Option<WithdrawalSource>,
    /// `pending`, `sent`, `complete` or `failed`.
    pub state: WithdrawalState,
    /// Detailed status of a card balance withdrawal: `pending`, `queued`, `claimed`, `complete`, `rejected` or
    /// `failed`.
    pub status: Option<CardBalanceWithdrawalStatus>,
    /// Amount in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// `USDC` is the token.
    pub asset: String,
    /// `base` or `solana`.
    pub network: NetworkName,
    /// Address of the receiver.
    pub address: String,
    /// Transaction id, once on chain. From a card balance, as the operator entered it.
    pub tx_hash: Option<String>,
    /// Reason of a failed or rejected withdrawal. Its amount is available again.
    pub failure_reason: Option<String>,
    /// Reason of a hold: `held_frozen`, `held_restored` or `held_unfinal`.
    pub held: Option<HoldReason>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// Response with one withdrawal.
#[derive(Deserialize, ToSchema)]
pub struct WithdrawalResponse {
    /// Details of the withdrawal.
    pub withdrawal: Withdrawal,
}

/// A page of withdrawals.
#[derive(Deserialize, ToSchema)]
pub struct WithdrawalList {
    /// Withdrawals, oldest first.
    pub withdrawals: Vec<Withdrawal>,
    /// Whether more withdrawals follow.
    pub has_more: bool,
}

/// One withdrawal, or a page of them.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum WithdrawalStatusResponse {
    /// The withdrawal with `withdrawal_id`.
    One(Box<WithdrawalResponse>),
    /// A page of withdrawals, without `withdrawal_id`.
    All(WithdrawalList),
}

/// A page of the account statement.
#[derive(Deserialize, ToSchema)]
pub struct StatementResponse {
    /// Entries, oldest first.
    pub entries: Vec<StatementLine>,
    /// Whether more lines follow.
    pub has_more: bool,
}

/// One change of the balance.
#[derive(Deserialize, ToSchema)]
pub struct StatementLine {
    /// `ent_…` is the id of the line.
    pub entry_id: String,
    /// `credited`, `held`, `withdrawn`, `released` or `debited`; `held_unfinal` for a credit on hold until the payment
    /// behind it is final; `reversed` for a credit whose payment was reversed.
    pub r#type: StatementLineType,
    /// Amount in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// Id of the payment, card, deposit or withdrawal behind the change.
    pub cause: String,
    /// Balance after the change, in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub balance: Value,
    /// Part of the balance that can be spent.
    #[schema(value_type = ExactDecimal)]
    pub available: Value,
    /// Part of the balance that is on hold.
    #[schema(value_type = ExactDecimal)]
    pub held: Value,
    /// Time of the change (RFC 3339).
    pub created_at: String,
}
