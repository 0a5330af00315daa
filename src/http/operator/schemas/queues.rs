//! What operators claim, endpoints, and operators' tokens.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::http::schemas::{ExactDecimal, Webhook};

/// Open orders.
#[derive(Deserialize, ToSchema)]
pub struct IntlOrderQueue {
    /// Overdue ones first, then the oldest.
    pub orders: Vec<OpenIntlOrder>,
    /// Whether there are more.
    pub has_more: bool,
}

/// An open order of an international card.
#[derive(Deserialize, ToSchema)]
pub struct OpenIntlOrder {
    /// Its id.
    pub card_id: String,
    /// `queued` or `claimed`.
    pub status: String,
    /// Whose.
    pub user_id: String,
    /// Dollars to be on the card.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// The holder's own name for it.
    #[schema(required)]
    pub label: Option<String>,
    /// Whether it is older than a day.
    pub overdue: bool,
    /// Whether the card may have been made in the time that a restore lost.
    pub in_doubt: bool,
    /// What to do then.
    #[schema(required)]
    pub hint: Option<String>,
    /// In seconds.
    pub age_seconds: u64,
    /// Number of the last lease; 0 before the first.
    pub lease: u64,
    /// Whose lease runs.
    #[schema(required)]
    pub leased_by: Option<String>,
    /// RFC 3339.
    #[schema(required)]
    pub leased_until: Option<String>,
    /// RFC 3339.
    pub created_at: String,
}

/// A claimed order.
#[derive(Deserialize, ToSchema)]
pub struct ClaimedIntlOrder {
    /// Which.
    pub card_id: String,
    /// `claimed`.
    pub status: String,
    /// Whether the card may have been made in the time that a restore lost.
    pub in_doubt: bool,
    /// What to do then.
    #[schema(required)]
    pub hint: Option<String>,
    /// For release, fulfil and reject.
    pub lease: u64,
    /// RFC 3339.
    pub leased_until: String,
}

/// An order that was released or rejected.
#[derive(Deserialize, ToSchema)]
pub struct IntlOrderStatus {
    /// Which.
    pub card_id: String,
    /// `queued` or `rejected`.
    pub status: String,
}

/// A fulfilled order.
#[derive(Deserialize, ToSchema)]
pub struct FulfilledIntlOrder {
    /// Which.
    pub card_id: String,
    /// `ready`.
    pub status: String,
    /// The last digits of its number.
    pub last4: String,
}

/// International cards whose holders want something of them.
#[derive(Deserialize, ToSchema)]
pub struct CardActionQueue {
    /// The oldest wish first.
    pub cards: Vec<QueuedCardAction>,
    /// Whether there are more.
    pub has_more: bool,
}

/// What a holder wants of an international card.
#[derive(Deserialize, ToSchema)]
pub struct QueuedCardAction {
    /// Which.
    pub card_id: String,
    /// `ready` or `paused`.
    pub status: String,
    /// `pause`, `resume` or `close`.
    #[schema(required)]
    pub requested: Option<String>,
    /// Whose.
    pub user_id: String,
    /// The last digits of its number.
    #[schema(required)]
    pub last4: Option<String>,
    /// Dollars left on it, as last reported.
    #[schema(value_type = ExactDecimal)]
    pub available_usd_amount: Value,
    /// Of the wish, in seconds.
    pub age_seconds: u64,
    /// RFC 3339.
    pub requested_at: String,
}

/// A card after a report.
#[derive(Deserialize, ToSchema)]
pub struct CardReportResponse {
    /// Which.
    pub card_id: String,
    /// `ready`, `paused`, `closed` or `expired`.
    pub status: String,
    /// What the holder still wants of it.
    #[schema(required)]
    pub requested: Option<String>,
    /// Dollars left on it.
    #[schema(value_type = ExactDecimal)]
    pub available_usd_amount: Value,
    /// Dollars of what was left at its end that were credited to the holder, or are on their way there.
    #[schema(value_type = ExactDecimal)]
    pub credited_usd_amount: Value,
}

/// Open withdrawals from card balances.
#[derive(Deserialize, ToSchema)]
pub struct CardWithdrawalQueue {
    /// The oldest first.
    pub withdrawals: Vec<OpenCardWithdrawal>,
    /// Whether there are more.
    pub has_more: bool,
}

/// An open withdrawal from a card balance.
#[derive(Deserialize, ToSchema)]
pub struct OpenCardWithdrawal {
    /// Its id.
    pub withdrawal_id: String,
    /// `queued` or `claimed`.
    pub status: String,
    /// Whose.
    pub user_id: String,
    /// Dollars.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// `base` or `solana`.
    pub network: String,
    /// Where it is to be paid.
    pub address: String,
    /// In seconds.
    pub age_seconds: u64,
    /// Number of the last lease; 0 before the first.
    pub lease: u64,
    /// Whose lease runs.
    #[schema(required)]
    pub leased_by: Option<String>,
    /// RFC 3339.
    #[schema(required)]
    pub leased_until: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// `held_frozen` while its owner is frozen: then it is not to be paid.
    pub held: Option<String>,
}

/// A claimed withdrawal.
#[derive(Deserialize, ToSchema)]
pub struct ClaimedCardWithdrawal {
    /// Which.
    pub withdrawal_id: String,
    /// `claimed`.
    pub status: String,
    /// For release, fulfil and reject.
    pub lease: u64,
    /// RFC 3339.
    pub leased_until: String,
}

/// A withdrawal that was released, fulfilled or rejected.
#[derive(Deserialize, ToSchema)]
pub struct CardWithdrawalStatus {
    /// Which.
    pub withdrawal_id: String,
    /// `queued`, `complete` or `rejected`.
    pub status: String,
}

/// Endpoints of every account.
#[derive(Deserialize, ToSchema)]
pub struct OperatorWebhookList {
    /// In the order of their accounts.
    pub webhooks: Vec<OperatorWebhook>,
    /// Whether there are more.
    pub has_more: bool,
}

/// An endpoint, and whose.
#[derive(Deserialize, ToSchema)]
pub struct OperatorWebhook {
    /// Whose.
    pub user_id: String,
    /// The endpoint.
    pub webhook: Webhook,
}

/// Operators' tokens.
#[derive(Deserialize, ToSchema)]
pub struct OperatorTokenList {
    /// Those of the settings, then those that were made.
    pub tokens: Vec<OperatorToken>,
}

/// A token, without its text, which nobody keeps.
#[derive(Deserialize, ToSchema)]
pub struct OperatorToken {
    /// Whose.
    pub name: String,
    /// What it is trusted with.
    pub role: String,
    /// Whether it opens nothing any more.
    pub revoked: bool,
    /// `settings` or `store`.
    pub from: String,
    /// RFC 3339; of those that were made.
    pub created_at: Option<String>,
}

/// A new token.
#[derive(Deserialize, ToSchema)]
pub struct CreatedOperatorToken {
    /// Whose.
    pub name: String,
    /// What it is trusted with.
    pub role: String,
    /// Its text, shown once.
    pub token: String,
}

/// A token that was ended.
#[derive(Deserialize, ToSchema)]
pub struct RevokedOperatorToken {
    /// Whose.
    pub name: String,
    /// True.
    pub revoked: bool,
}

/// Lines of products.
#[derive(Deserialize, ToSchema)]
pub struct ProductLineList {
    /// In the contract's order.
    pub lines: Vec<OperatorProductLine>,
}

/// A line of products.
#[derive(Deserialize, ToSchema)]
pub struct OperatorProductLine {
    /// The product's identifier.
    pub line: String,
    /// `open`, `failing` (its provider is down), or `closed` by an operator.
    pub status: String,
    /// Why: an operator's words, or what its provider said last.
    #[schema(required)]
    pub reason: Option<String>,
    /// Which operator closed or opened it.
    #[schema(required)]
    pub by: Option<String>,
    /// Deliveries that failed in a row.
    pub failures: u64,
    /// RFC 3339; null where it was never closed.
    #[schema(required)]
    pub since: Option<String>,
    /// When its provider is tried with one order next, RFC 3339; null unless it is failing.
    #[schema(required)]
    pub next_try_at: Option<String>,
}

/// A line that an operator has closed or opened.
#[derive(Deserialize, ToSchema)]
pub struct ProductLineStatus {
    /// The product's identifier.
    pub line: String,
    /// `open` or `closed`.
    pub status: String,
}

/// A chain that an operator has accepted.
#[derive(Deserialize, ToSchema)]
pub struct AcceptChainResponse {
    /// `base` or `solana`.
    pub network: String,
    /// The lowest block that is read again.
    pub from: u64,
    /// The newest block that had been read.
    pub to: u64,
    /// Transfers and cancelled authorizations that were dropped until they are read again.
    pub movements: u64,
}

/// Acts that wait for a second operator.
#[derive(Deserialize, ToSchema)]
pub struct ApprovalList {
    /// The oldest first.
    pub approvals: Vec<Approval>,
    /// For the next page.
    #[schema(required)]
    pub next_after: Option<String>,
}

/// An act that gives money.
#[derive(Deserialize, ToSchema)]
pub struct Approval {
    /// Which.
    pub approval_id: String,
    /// `credit_back`, `resolve`, `reject_intl`, `pay_card_withdrawal`, `credit_transfer`, `return_transfer`, `book_loss` or
    /// `book_order`.
    pub act: String,
    /// What it is about.
    pub subject: String,
    /// Dollars that it gives.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// In the words of whoever asked for it.
    pub words: String,
    /// Who asked for it.
    pub requested_by: String,
    /// RFC 3339.
    pub requested_at: String,
    /// Until when it can be approved, RFC 3339.
    pub open_until: String,
    /// `waiting`, `approved` (and done) or `rejected`.
    pub status: String,
}
