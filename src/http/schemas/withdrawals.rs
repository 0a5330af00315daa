//! Schemas of withdrawals and account statements.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    CardBalanceWithdrawalStatus, ExactDecimal, HoldReason, NetworkName, StatementLineType, WithdrawalSource,
    WithdrawalState,
};

/// A withdrawal from a balance.
#[derive(Serialize, ToSchema)]
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

/// One change of the balance.
#[derive(Serialize, ToSchema)]
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
