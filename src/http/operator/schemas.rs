//! Response bodies of the operator API, for its OpenAPI document only.

mod jobs;
mod queues;
mod statuses;

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

pub use self::jobs::*;
pub use self::queues::*;
pub use self::statuses::*;
pub use super::system::SystemStatus;
use crate::http::schemas::{Event, ExactDecimal, JobTypeName, LateReturnStatus, NetworkName};

/// Result of a customer search.
#[derive(Deserialize, ToSchema)]
pub struct CustomerSearchResponse {
    /// Resources with this id, created by this request, or with these card digits.
    pub found: Vec<CustomerResource>,
    /// The customer, if all resources belong to one.
    #[schema(required)]
    pub customer: Option<Customer>,
    /// Cursor of the next page, for searches by four digits or a user_id.
    #[schema(required)]
    pub next_after: Option<String>,
}

/// A resource of a customer.
#[derive(Deserialize, ToSchema)]
pub struct CustomerResource {
    /// `account`, `card`, `payment`, ….
    pub kind: String,
    /// Id of the resource.
    pub id: String,
    /// Status of the resource.
    pub status: String,
    /// Exact wallet address of the owner.
    pub wallet: String,
    /// The resource as its owner sees it.
    #[schema(value_type = Object)]
    pub object: Value,
}

/// A customer with its resources.
#[derive(Deserialize, ToSchema)]
pub struct Customer {
    /// Exact wallet address.
    pub wallet: String,
    /// Wallet address in lower case.
    pub user_id: String,
    /// `base` or `solana`.
    pub network: NetworkName,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Balance in USDC, including amounts on hold.
    #[schema(value_type = ExactDecimal)]
    pub balance: Value,
    /// Part of the balance that can be used.
    #[schema(value_type = ExactDecimal)]
    pub available: Value,
    /// Part of the balance that is on hold.
    #[schema(value_type = ExactDecimal)]
    pub held: Value,
    /// Total of all credits.
    #[schema(value_type = ExactDecimal)]
    pub total_deposits: Value,
    /// Whether the account is frozen.
    pub frozen: bool,
    /// Message shown to the owner while the account is frozen.
    #[schema(required)]
    pub frozen_message: Option<String>,
    /// Resources by kind.
    pub resources: Vec<CustomerResourceGroup>,
    /// Jobs that have not completed, oldest first.
    pub open_jobs: Vec<OpenJob>,
}

/// Resources of one kind.
#[derive(Deserialize, ToSchema)]
pub struct CustomerResourceGroup {
    /// Kind of the resources.
    pub kind: String,
    /// Total number of resources of this kind.
    pub count: u64,
    /// Number of resources older than those in `newest`.
    pub not_shown: u64,
    /// Newest first, at most `limit`.
    pub newest: Vec<CustomerResource>,
}

/// A job that has not completed.
#[derive(Deserialize, ToSchema)]
pub struct OpenJob {
    /// Id for `POST /admin/jobs/retry`.
    pub job_id: String,
    /// Type of the job.
    #[schema(value_type = JobTypeName)]
    pub job_type: String,
    /// Id of the entity the job works on.
    pub subject: String,
    /// Request that created the job.
    pub request_id: String,
    /// Age of the job, in seconds.
    pub age_seconds: u64,
    /// Number of failed attempts.
    pub attempts: u64,
    /// Error of the last attempt.
    #[schema(required)]
    pub last_error: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Whether the job is dead-lettered.
    pub dead_lettered: bool,
}

/// Result of freezing or unfreezing an account.
#[derive(Deserialize, ToSchema)]
pub struct FreezeResponse {
    /// Exact wallet address.
    pub wallet: String,
    /// Whether the account is frozen now.
    pub frozen: bool,
    /// Message shown to the owner while the account is frozen.
    #[schema(required)]
    pub message: Option<String>,
}

/// Result of a retry request.
#[derive(Deserialize, ToSchema)]
pub struct RetryResponse {
    /// Job that is retried.
    pub job_id: String,
    /// Always true on success.
    pub retrying: bool,
}

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

/// An outgoing transfer or order that was attributed.
#[derive(Deserialize, ToSchema)]
pub struct AttributionResponse {
    /// Transfer as it was named, or idempotency key of the order.
    pub transaction: String,
    /// Account, withdrawal, top-up or incoming transfer; or `provider` with its name, `operator_funds`, `network_fees`
    /// or `loss`.
    pub attributed_to: String,
    /// Whether further transfers or orders must be attributed first.
    pub withdrawals_paused: bool,
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

/// A requested reconciliation run.
#[derive(Deserialize, ToSchema)]
pub struct RunRequestedResponse {
    /// Number of the run.
    pub run: u64,
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

/// A page of the audit log.
#[derive(Deserialize, ToSchema)]
pub struct AuditLogResponse {
    /// Entries, oldest first.
    pub entries: Vec<AuditLogEntry>,
    /// Cursor of the next page; null on an empty page.
    #[schema(required)]
    pub next_after: Option<String>,
}

/// A record of an operator action.
#[derive(Deserialize, ToSchema)]
pub struct AuditLogEntry {
    /// Position in the log, from 1.
    pub sequence: u64,
    /// Time of the action (RFC 3339).
    pub at: String,
    /// Name of the operator token.
    pub operator: String,
    /// Role of the operator token.
    pub role: OperatorRole,
    /// Action, for example `intl_order.claim`.
    pub action: String,
    /// Id of the affected resource.
    pub subject: String,
    /// Note of the operator.
    #[schema(required)]
    pub note: Option<String>,
    /// Request that executed the action.
    pub request_id: String,
    /// Hash of the previous record, in hexadecimal.
    pub previous_hash: String,
    /// Hash of this record, which the next one includes.
    pub hash: String,
}
