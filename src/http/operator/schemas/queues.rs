//! Queues that operators claim from, webhooks, tokens, product lines and approvals.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    ApprovalAction, ApprovalStatus, FrozenHold, LineStatus, OpenStatus, OperatorRole, ReadyStatus, ReleasedOrderStatus,
    ReleasedWithdrawalStatus, ReportedCardStatus, TokenSource, UsableCardStatus,
};
use crate::http::schemas::{CardAction, ClaimedStatus, ExactDecimal, NetworkName, ProductName, Webhook};

/// Open international card orders.
#[derive(Deserialize, ToSchema)]
pub struct IntlOrderQueue {
    /// Overdue ones first, then oldest first.
    pub orders: Vec<OpenIntlOrder>,
    /// Whether more orders follow.
    pub has_more: bool,
}

/// An open order of an international card.
#[derive(Deserialize, ToSchema)]
pub struct OpenIntlOrder {
    /// Id of the card.
    pub card_id: String,
    /// `queued` or `claimed`.
    pub status: OpenStatus,
    /// Owner's wallet address in lower case.
    pub user_id: String,
    /// Amount to load on the card, in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub usd_amount: Value,
    /// Label given by the owner.
    #[schema(required)]
    pub label: Option<String>,
    /// Whether the order is older than 24 hours.
    pub overdue: bool,
    /// Whether the card may have been ordered in the time lost by a restore.
    pub in_doubt: bool,
    /// What to do in that case.
    #[schema(required)]
    pub hint: Option<String>,
    /// Age of the order, in seconds.
    pub age_seconds: u64,
    /// Number of the last lease; 0 before the first.
    pub lease: u64,
    /// Operator that holds the lease.
    #[schema(required)]
    pub leased_by: Option<String>,
    /// End of the lease (RFC 3339).
    #[schema(required)]
    pub leased_until: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
}

/// A claimed order.
#[derive(Deserialize, ToSchema)]
pub struct ClaimedIntlOrder {
    /// Id of the card.
    pub card_id: String,
    /// `claimed` in every case.
    pub status: ClaimedStatus,
    /// Whether the card may have been ordered in the time lost by a restore.
    pub in_doubt: bool,
    /// What to do in that case.
    #[schema(required)]
    pub hint: Option<String>,
    /// Lease number for release, fulfil and reject.
    pub lease: u64,
    /// End of the lease (RFC 3339).
    pub leased_until: String,
}

/// An order that was released or rejected.
#[derive(Deserialize, ToSchema)]
pub struct IntlOrderStatus {
    /// Id of the card.
    pub card_id: String,
    /// `queued` or `rejected`.
    pub status: ReleasedOrderStatus,
}

/// A fulfilled order.
#[derive(Deserialize, ToSchema)]
pub struct FulfilledIntlOrder {
    /// Id of the card.
    pub card_id: String,
    /// `ready` in every case.
    pub status: ReadyStatus,
    /// Last four digits of the card number.
    pub last4: String,
}

/// International cards with a requested action.
#[derive(Deserialize, ToSchema)]
pub struct CardActionQueue {
    /// Oldest request first.
    pub cards: Vec<QueuedCardAction>,
    /// Whether more cards follow.
    pub has_more: bool,
}

/// An international card with a requested action.
#[derive(Deserialize, ToSchema)]
pub struct QueuedCardAction {
    /// Id of the card.
    pub card_id: String,
    /// `ready` or `paused`.
    pub status: UsableCardStatus,
    /// `pause`, `resume` or `close`.
    #[schema(required)]
    pub requested: Option<CardAction>,
    /// Owner's wallet address in lower case.
    pub user_id: String,
    /// Last four digits of the card number.
    #[schema(required)]
    pub last4: Option<String>,
    /// Remaining US dollars, as last reported.
    #[schema(value_type = ExactDecimal)]
    pub available_usd_amount: Value,
    /// Age of the request, in seconds.
    pub age_seconds: u64,
    /// Time of the request (RFC 3339).
    pub requested_at: String,
}

/// A card after a report.
#[derive(Deserialize, ToSchema)]
pub struct CardReportResponse {
    /// Id of the card.
    pub card_id: String,
    /// `ready`, `paused`, `closed` or `expired`.
    pub status: ReportedCardStatus,
    /// Action that the owner still requests.
    #[schema(required)]
    pub requested: Option<CardAction>,
    /// Remaining US dollars.
    #[schema(value_type = ExactDecimal)]
    pub available_usd_amount: Value,
    /// US dollars of the remainder that were credited to the owner, or will be.
    #[schema(value_type = ExactDecimal)]
    pub credited_usd_amount: Value,
}

/// Open withdrawals from card balances.
#[derive(Deserialize, ToSchema)]
pub struct CardWithdrawalQueue {
    /// Withdrawals, oldest first.
    pub withdrawals: Vec<OpenCardWithdrawal>,
    /// Whether more withdrawals follow.
    pub has_more: bool,
}

/// An open withdrawal from a card balance.
#[derive(Deserialize, ToSchema)]
pub struct OpenCardWithdrawal {
    /// Id of the withdrawal.
    pub withdrawal_id: String,
    /// `queued` or `claimed`.
    pub status: OpenStatus,
    /// Owner's wallet address in lower case.
    pub user_id: String,
    /// Amount in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// `base` or `solana`.
    pub network: NetworkName,
    /// Address to pay to.
    pub address: String,
    /// Age of the withdrawal, in seconds.
    pub age_seconds: u64,
    /// Number of the last lease; 0 before the first.
    pub lease: u64,
    /// Operator that holds the lease.
    #[schema(required)]
    pub leased_by: Option<String>,
    /// End of the lease (RFC 3339).
    #[schema(required)]
    pub leased_until: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// `held_frozen` while its owner is frozen. Do not pay it then.
    pub held: Option<FrozenHold>,
}

/// A claimed withdrawal.
#[derive(Deserialize, ToSchema)]
pub struct ClaimedCardWithdrawal {
    /// Id of the withdrawal.
    pub withdrawal_id: String,
    /// `claimed` in every case.
    pub status: ClaimedStatus,
    /// Lease number for release, fulfil and reject.
    pub lease: u64,
    /// End of the lease (RFC 3339).
    pub leased_until: String,
}

/// A withdrawal that was released, fulfilled or rejected.
#[derive(Deserialize, ToSchema)]
pub struct CardWithdrawalStatus {
    /// Id of the withdrawal.
    pub withdrawal_id: String,
    /// `queued`, `complete` or `rejected`.
    pub status: ReleasedWithdrawalStatus,
}

/// Webhook endpoints of all accounts.
#[derive(Serialize, ToSchema)]
pub struct OperatorWebhookList {
    /// In order of their accounts.
    pub webhooks: Vec<OperatorWebhook>,
    /// Whether more endpoints follow.
    pub has_more: bool,
}

/// A webhook endpoint and its owner.
#[derive(Serialize, ToSchema)]
pub struct OperatorWebhook {
    /// Owner's wallet address in lower case.
    pub user_id: String,
    /// Webhook endpoint as its owner sees it.
    pub webhook: Webhook,
}

/// All operator tokens.
#[derive(Deserialize, ToSchema)]
pub struct OperatorTokenList {
    /// Tokens of the settings, then created ones.
    pub tokens: Vec<OperatorToken>,
}

/// An operator token without its text, which is not stored.
#[derive(Deserialize, ToSchema)]
pub struct OperatorToken {
    /// Name of the token.
    pub name: String,
    /// Role of the token.
    pub role: OperatorRole,
    /// Whether the token was revoked.
    pub revoked: bool,
    /// `settings` or `store`.
    pub from: TokenSource,
    /// Creation time (RFC 3339); null for tokens of the settings.
    pub created_at: Option<String>,
}

/// A new operator token.
#[derive(Deserialize, ToSchema)]
pub struct CreatedOperatorToken {
    /// Name of the token.
    pub name: String,
    /// Role of the token.
    pub role: OperatorRole,
    /// Text of the token, shown only in this response.
    pub token: String,
}

/// A revoked operator token.
#[derive(Deserialize, ToSchema)]
pub struct RevokedOperatorToken {
    /// Name of the token.
    pub name: String,
    /// Always true on success.
    pub revoked: bool,
}

/// All product lines.
#[derive(Deserialize, ToSchema)]
pub struct ProductLineList {
    /// In the contract's order.
    pub lines: Vec<OperatorProductLine>,
}

/// A product line.
#[derive(Deserialize, ToSchema)]
pub struct OperatorProductLine {
    /// Identifier of the product.
    pub line: ProductName,
    /// `open`, `failing` (its provider is down), or `closed` by an operator.
    pub status: LineStatus,
    /// Reason given by an operator, or the last error of the provider.
    #[schema(required)]
    pub reason: Option<String>,
    /// Operator that closed or opened it.
    #[schema(required)]
    pub by: Option<String>,
    /// Number of consecutive failed deliveries.
    pub failures: u64,
    /// Time of the last change (RFC 3339); null if it was never closed.
    #[schema(required)]
    pub since: Option<String>,
    /// Time of the next trial order to a failing provider (RFC 3339); null otherwise.
    #[schema(required)]
    pub next_try_at: Option<String>,
}

/// A product line that an operator closed or opened.
#[derive(Deserialize, ToSchema)]
pub struct ProductLineStatus {
    /// Identifier of the product.
    pub line: ProductName,
    /// `open` or `closed`; `failing` if its provider failed again in the meantime.
    pub status: LineStatus,
}

/// A chain that an operator accepted.
#[derive(Deserialize, ToSchema)]
pub struct AcceptChainResponse {
    /// `base` or `solana`.
    pub network: NetworkName,
    /// Lowest block that is read again.
    pub from: u64,
    /// Newest block that had been read.
    pub to: u64,
    /// Transfers and cancelled authorizations that were discarded and will be read again.
    pub movements: u64,
}

/// Actions that wait for a second operator.
#[derive(Deserialize, ToSchema)]
pub struct ApprovalList {
    /// Pending approvals, oldest first.
    pub approvals: Vec<Approval>,
    /// Cursor of the next page.
    #[schema(required)]
    pub next_after: Option<String>,
}

/// An action that needs a second operator.
#[derive(Deserialize, ToSchema)]
pub struct Approval {
    /// Id of the approval.
    pub approval_id: String,
    /// Action that waits.
    pub act: ApprovalAction,
    /// Id of the affected resource.
    pub subject: String,
    /// Amount in US dollars.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// Reason given by the requester.
    pub words: String,
    /// Operator that requested it.
    pub requested_by: String,
    /// Time of the request (RFC 3339).
    pub requested_at: String,
    /// End of the approval period (RFC 3339).
    pub open_until: String,
    /// `waiting`, `approved` (and executed) or `rejected`.
    pub status: ApprovalStatus,
}
