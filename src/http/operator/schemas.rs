//! Response bodies with an entity's view, for the OpenAPI document.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::closed_sets::{DiscrepancyKindName, DiscrepancyStatus, IncomingTransferStatus, ReconciliationSourceName};
use crate::http::schemas::{Event, ExactDecimal, LateReturnStatus, NetworkName, RefundStatus, Webhook};

/// A page of late returns.
#[derive(Deserialize, ToSchema)]
pub struct LateReturnList {
    /// Late returns, oldest first.
    pub late_returns: Vec<OperatorLateReturn>,
    /// Cursor of the next page; null on an empty page.
    #[schema(required)]
    pub next_after: Option<String>,
}

/// A payout that was returned after it became final.
#[derive(Deserialize, ToSchema)]
pub struct OperatorLateReturn {
    /// Id of the late return.
    pub late_return_id: String,
    /// Payout that was returned.
    pub payout_id: String,
    /// Status of the late return.
    pub status: LateReturnStatus,
    /// Amount that was returned.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// Fee kept by the payout rail.
    #[schema(value_type = ExactDecimal)]
    pub return_fee: Value,
    /// Amount credited to the payer.
    #[schema(value_type = ExactDecimal)]
    pub credited_amount: Value,
    /// Reason reported by the payout rail.
    pub reason: String,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
    /// Exact wallet address of the payer.
    pub wallet: String,
}

/// Discrepancies between the ledger and external records.
#[derive(Deserialize, ToSchema)]
pub struct ReconciliationResponse {
    /// Last reconciliation run.
    pub run: ReconciliationRun,
    /// Number of open discrepancies by kind.
    #[schema(value_type = Object)]
    pub open: Value,
    /// Open discrepancies, oldest first.
    pub discrepancies: Vec<Discrepancy>,
    /// Cursor of the next page; null on an empty page.
    #[schema(required)]
    pub next_after: Option<String>,
}

/// A reconciliation run over all external records.
#[derive(Deserialize, ToSchema)]
pub struct ReconciliationRun {
    /// Number of entries compared so far.
    pub compared: u64,
    /// Whether the run has completed without skipping a source.
    pub completed: bool,
    /// Time of the last completed run (RFC 3339).
    #[schema(required)]
    pub last_completed_at: Option<String>,
    /// Last run that ended since the service started.
    #[schema(required)]
    pub ended: Option<CompletedRun>,
}

/// A reconciliation run that has ended.
#[derive(Deserialize, ToSchema)]
pub struct CompletedRun {
    /// Number of the run, counted from 1 since the service started; 0 if it began before.
    pub number: u64,
    /// Number of entries compared.
    pub compared: u64,
    /// Whether every source and every record was read.
    pub completed: bool,
}

/// A mismatch between the ledger and an external source.
#[derive(Deserialize, ToSchema)]
pub struct Discrepancy {
    /// Id of the discrepancy.
    pub discrepancy_id: String,
    /// Kind of the discrepancy.
    pub kind: DiscrepancyKindName,
    /// Source of the external record.
    pub source: ReconciliationSourceName,
    /// Id of the entry at the source.
    pub key: String,
    /// Id of our resource.
    #[schema(required)]
    pub subject: Option<String>,
    /// Value in the ledger.
    #[schema(required)]
    pub internal: Option<String>,
    /// Value at the source.
    #[schema(required)]
    pub external: Option<String>,
    /// `open`; `resolved` if that happened while the list was read.
    pub status: DiscrepancyStatus,
    /// Time of detection (RFC 3339).
    pub opened_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// A page of system events.
#[derive(Deserialize, ToSchema)]
pub struct SystemEventList {
    /// System events, oldest first.
    pub events: Vec<Event>,
    /// Cursor of the next page.
    pub next_after: u64,
}

/// A refund, with the fields that only operators see.
#[derive(Deserialize, ToSchema)]
pub struct OperatorRefund {
    /// Id of the refund. A payment has at most one.
    pub refund_id: String,
    /// Payment that is refunded.
    pub payment_id: String,
    /// `requested`, `approved`, `credited`, `rejected`, `expired`.
    pub status: RefundStatus,
    /// Amount in USDC.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
    /// Exact wallet address of the account that is credited.
    pub wallet: String,
    /// Reason given by the operator.
    pub reason: String,
    /// Whether the owner may keep the product.
    pub holder_keeps_product: bool,
    /// Operator token that requested the refund.
    pub requested_by: String,
    /// Operator token that approved or rejected the refund. The same as `requested_by` if it needed no approval; null
    /// while it is pending.
    #[schema(required)]
    pub decided_by: Option<String>,
    /// End of the approval period (RFC 3339).
    pub expires_at: String,
}

/// A page of refunds, or the requested one.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum RefundsResponse {
    /// Response without `payment_id`.
    Page(OperatorRefundList),
    /// Response with `payment_id`.
    One(Box<OperatorRefund>),
}

/// A page of refunds that wait for a second operator, or of all refunds.
#[derive(Deserialize, ToSchema)]
pub struct OperatorRefundList {
    /// Oldest first; with `all` in order of id.
    pub refunds: Vec<OperatorRefund>,
    /// Cursor of the next page; null on an empty page.
    #[schema(required)]
    pub next_after: Option<String>,
}

/// A page of undecided incoming transfers.
#[derive(Deserialize, ToSchema)]
pub struct IncomingTransfers {
    /// Incoming transfers, oldest first.
    pub incoming_transfers: Vec<IncomingTransfer>,
    /// Cursor of the next page; null on an empty page.
    #[schema(required)]
    pub next_after: Option<String>,
}

/// A transfer to the treasury that no payment claims.
#[derive(Deserialize, ToSchema)]
pub struct IncomingTransfer {
    /// Id of the incoming transfer.
    pub deposit_id: String,
    /// `base` or `solana`.
    pub network: NetworkName,
    /// Transaction id on the chain.
    pub transaction: String,
    /// Index of the transfer in the transaction, from 0.
    pub index: u64,
    /// Address of the sender.
    pub sender: String,
    /// Amount in USDC.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// Chain time of the transfer (RFC 3339).
    pub at: String,
    /// `found`, `waiting`, `crediting`, `credited`, `adopted`, `operator_funds`, `returning`, `returned`, `claimed` or
    /// `forwarded`.
    pub status: IncomingTransferStatus,
    /// What the provider reports about the product that the transfer would have bought.
    #[schema(required)]
    pub shows: Option<String>,
    /// Account that is or will be credited.
    #[schema(required)]
    pub account: Option<String>,
    /// Product that it bought in a history lost by a restore.
    #[schema(required)]
    pub product_id: Option<String>,
    /// Withdrawal that returns it to its sender.
    #[schema(required)]
    pub withdrawal_id: Option<String>,
    /// Time of detection (RFC 3339).
    pub found_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// Webhook endpoints of all accounts.
#[derive(Deserialize, ToSchema)]
pub struct OperatorWebhookList {
    /// In order of their accounts.
    pub webhooks: Vec<OperatorWebhook>,
    /// Whether more endpoints follow.
    pub has_more: bool,
}

/// A webhook endpoint and its owner.
#[derive(Deserialize, ToSchema)]
pub struct OperatorWebhook {
    /// Owner's wallet address in lower case.
    pub user_id: String,
    /// Webhook endpoint as its owner sees it.
    pub webhook: Webhook,
}
