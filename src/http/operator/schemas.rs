//! The bodies of answers at the operator's address, for its document alone.

mod jobs;
mod queues;

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

pub use self::jobs::*;
pub use self::queues::*;
pub use super::system::SystemStatus;
use crate::http::schemas::{Event, ExactDecimal};

/// What was found.
#[derive(Deserialize, ToSchema)]
pub struct CustomerSearchResponse {
    /// What has the id, was opened by the request, or is a card with these digits.
    pub found: Vec<CustomerResource>,
    /// If all of it is one customer's.
    #[schema(required)]
    pub customer: Option<Customer>,
    /// With four digits or a user_id: there is more to look at.
    #[schema(required)]
    pub next_after: Option<String>,
}

/// Something of a customer.
#[derive(Deserialize, ToSchema)]
pub struct CustomerResource {
    /// `account`, `card`, `payment`, ….
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub status: String,
    /// Whose: the exact address.
    pub wallet: String,
    /// As its owner sees it.
    #[schema(value_type = Object)]
    pub object: Value,
}

/// A customer.
#[derive(Deserialize, ToSchema)]
pub struct Customer {
    /// The exact address.
    pub wallet: String,
    /// The address, lowercased.
    pub user_id: String,
    /// `base` or `solana`.
    pub network: String,
    /// RFC 3339.
    pub created_at: String,
    /// USDC that we owe, held amounts included.
    #[schema(value_type = ExactDecimal)]
    pub balance: Value,
    /// Of that, what can be used.
    #[schema(value_type = ExactDecimal)]
    pub available: Value,
    /// Of that, what is reserved.
    #[schema(value_type = ExactDecimal)]
    pub held: Value,
    /// All that was ever credited.
    #[schema(value_type = ExactDecimal)]
    pub total_deposits: Value,
    /// Whether it is frozen.
    pub frozen: bool,
    /// What its holder is told then.
    #[schema(required)]
    pub frozen_message: Option<String>,
    /// By kind.
    pub resources: Vec<CustomerResourceGroup>,
    /// What is still to be done for it, the oldest first.
    pub open_jobs: Vec<OpenJob>,
}

/// What a customer has of one kind.
#[derive(Deserialize, ToSchema)]
pub struct CustomerResourceGroup {
    /// The kind.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// How many of them are older than those under `newest`.
    pub not_shown: u64,
    /// The newest first, at most `limit`.
    pub newest: Vec<CustomerResource>,
}

/// Work that is not done.
#[derive(Deserialize, ToSchema)]
pub struct OpenJob {
    /// For `POST /admin/jobs/retry`.
    pub job_id: String,
    /// What is to be done.
    pub job_type: String,
    /// To which.
    pub subject: String,
    /// The request that it goes back to.
    pub request_id: String,
    /// Since when, in seconds.
    pub age_seconds: u64,
    /// Failed tries.
    pub attempts: u64,
    /// What the last one said.
    #[schema(required)]
    pub last_error: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// Whether it waits for a person.
    pub dead_lettered: bool,
}

/// Whether an account is frozen.
#[derive(Deserialize, ToSchema)]
pub struct FreezeResponse {
    /// The exact address.
    pub wallet: String,
    /// Whether it is now.
    pub frozen: bool,
    /// What its holder is told.
    #[schema(required)]
    pub message: Option<String>,
}

/// A try begins.
#[derive(Deserialize, ToSchema)]
pub struct RetryResponse {
    /// Which.
    pub job_id: String,
    /// True.
    pub retrying: bool,
}

/// Late returns.
#[derive(Deserialize, ToSchema)]
pub struct LateReturnList {
    /// The oldest first.
    pub late_returns: Vec<OperatorLateReturn>,
    /// For the next page; null on an empty one.
    #[schema(required)]
    pub next_after: Option<String>,
}

/// Money that came back too late.
#[derive(Deserialize, ToSchema)]
pub struct OperatorLateReturn {
    /// Its id.
    pub late_return_id: String,
    /// Of which payout.
    pub payout_id: String,
    /// Where it stands.
    pub status: String,
    /// What came back.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// What the rail kept.
    #[schema(value_type = ExactDecimal)]
    pub return_fee: Value,
    /// What the payer got.
    #[schema(value_type = ExactDecimal)]
    pub credited_amount: Value,
    /// The rail's.
    pub reason: String,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
    /// Whose.
    pub wallet: String,
}

/// A transfer or an order that was explained.
#[derive(Deserialize, ToSchema)]
pub struct AttributionResponse {
    /// As it was named: the transfer, or the order's idempotency key.
    pub transaction: String,
    /// An account, a withdrawal, a top-up, an incoming transfer, `provider` with its name, `operator_funds`, `network_fees` or `loss`.
    pub attributed_to: String,
    /// Whether others are still to be explained.
    pub withdrawals_paused: bool,
}

/// Our books against others' lists.
#[derive(Deserialize, ToSchema)]
pub struct ReconciliationResponse {
    /// How the last walk went.
    pub run: ReconciliationRun,
    /// How many are open, by kind.
    #[schema(value_type = Object)]
    pub open: Value,
    /// The oldest first.
    pub discrepancies: Vec<Discrepancy>,
    /// For the next page; null on an empty one.
    #[schema(required)]
    pub next_after: Option<String>,
}

/// A walk through everybody's lists.
#[derive(Deserialize, ToSchema)]
pub struct ReconciliationRun {
    /// Entries so far.
    pub compared: u64,
    /// Whether it is over, with no list left out.
    pub completed: bool,
    /// RFC 3339.
    #[schema(required)]
    pub last_completed_at: Option<String>,
    /// The last that has ended since the service started.
    #[schema(required)]
    pub ended: Option<CompletedRun>,
}

/// A walk that has ended.
#[derive(Deserialize, ToSchema)]
pub struct CompletedRun {
    /// Walks are numbered from 1 on since the service started; 0 began before.
    pub number: u64,
    /// Entries of lists and books.
    pub compared: u64,
    /// Whether every list and every row was read.
    pub completed: bool,
}

/// A walk that was asked for.
#[derive(Deserialize, ToSchema)]
pub struct RunRequestedResponse {
    /// Its number.
    pub run: u64,
}

/// What our books and a list do not agree about.
#[derive(Deserialize, ToSchema)]
pub struct Discrepancy {
    /// Its id.
    pub discrepancy_id: String,
    /// What kind it is.
    pub kind: String,
    /// Whose list.
    pub source: String,
    /// The list's name of it.
    pub key: String,
    /// Ours.
    #[schema(required)]
    pub subject: Option<String>,
    /// What our books say.
    #[schema(required)]
    pub internal: Option<String>,
    /// What the list says.
    #[schema(required)]
    pub external: Option<String>,
    /// `open`.
    pub status: String,
    /// RFC 3339.
    pub opened_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
}

/// Events of the house.
#[derive(Deserialize, ToSchema)]
pub struct SystemEventList {
    /// The oldest first.
    pub events: Vec<Event>,
    /// For the next page.
    pub next_after: u64,
}

/// The audit log.
#[derive(Deserialize, ToSchema)]
pub struct AuditLogResponse {
    /// The oldest first.
    pub entries: Vec<AuditLogEntry>,
    /// For the next page; null on an empty one.
    #[schema(required)]
    pub next_after: Option<String>,
}

/// What somebody did.
#[derive(Deserialize, ToSchema)]
pub struct AuditLogEntry {
    /// Its place, from 1.
    pub sequence: u64,
    /// RFC 3339.
    pub at: String,
    /// The token's name.
    pub operator: String,
    /// The token's role.
    pub role: String,
    /// For example `intl_order.claim`.
    pub action: String,
    /// To which.
    pub subject: String,
    /// In their own words.
    #[schema(required)]
    pub note: Option<String>,
    /// The request that did it.
    pub request_id: String,
    /// The hash of the act before, in hex.
    pub previous_hash: String,
    /// Its own, which the next one has.
    pub hash: String,
}
