//! Dead letters, refunds and incoming transfers.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{IncomingTransferStatus, JobAction, JobOutcome, OrderDirection, ProviderStatus, UntrackedOrderList};
use crate::http::schemas::{ExactDecimal, HoldReason, JobTypeName, NetworkName, RefundStatus};

/// Dead letters and other items that wait for an operator.
#[derive(Deserialize, ToSchema)]
pub struct DeadLettersResponse {
    /// Dead-lettered jobs, oldest first, then late jobs, which are still retried automatically.
    pub jobs: Vec<DeadLetteredJob>,
    /// Payments with an unknown outcome.
    pub unknown_payments: Vec<UnknownPayment>,
    /// Jobs on hold before funds leave, oldest first. They continue automatically.
    pub held: Vec<HeldJob>,
    /// Outgoing transfers from before a restore that are missing from the ledger.
    pub untracked_transfers: Vec<UntrackedTransfer>,
    /// Orders at the payout rails and the bank from before a restore that are missing from the ledger.
    pub unexplained_orders: Vec<UntrackedOrder>,
    /// Whether withdrawals are paused until all of those are attributed.
    pub withdrawals_paused: bool,
    /// End of the pause (RFC 3339); null without a pause.
    #[schema(required)]
    pub withdrawals_paused_until: Option<String>,
}

/// An order from before a restore that is missing from the ledger.
#[derive(Deserialize, ToSchema)]
pub struct UntrackedOrder {
    /// Idempotency key of the order at its provider, for `POST /admin/untracked-transfers/attribute`.
    pub transaction: String,
    /// Source that lists the order: `payouts` or `bank_transfers`.
    pub list: UntrackedOrderList,
    /// Product, as the provider names it.
    pub product: String,
    /// Amount of the order.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// Currency (ISO 4217).
    pub currency: String,
    /// `pending`, `held` or `completed`. Another status only until the order leaves this list.
    pub status: ProviderStatus,
    /// `out`: we paid for it. `in`: it came from an owner's bank account and must be credited.
    pub direction: OrderDirection,
    /// Last change by the provider's clock (RFC 3339).
    pub at: String,
}

/// A dead-lettered or late job.
#[derive(Deserialize, ToSchema)]
pub struct DeadLetteredJob {
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
    /// Whether the job is only late: older than `engine.late_after_minutes` but still retried. Otherwise it is
    /// dead-lettered.
    pub late: bool,
    /// Time of the next attempt (RFC 3339); null for a dead letter.
    #[schema(required)]
    pub next_try_at: Option<String>,
    /// Exact wallet address of the owner.
    pub wallet: Option<String>,
    /// Status of the entity in our records.
    pub status: Option<String>,
    /// Amount of the job.
    #[schema(value_type = Option<ExactDecimal>)]
    pub amount: Option<Value>,
    /// Currency of the amount: `USDC` or an ISO 4217 code.
    pub currency: Option<String>,
    /// Status that the provider reports now, if it can be queried.
    pub provider_status: Option<ProviderStatus>,
    /// Error of the provider query.
    pub provider_error: Option<String>,
    /// Idempotency key of the job at its provider.
    pub idempotency_key: String,
    /// `retry`, `resolve_completed`, `resolve_not_completed`, `credit` and `keep` are the possible actions.
    pub actions: Vec<JobAction>,
}

/// A job on hold that would send funds.
#[derive(Deserialize, ToSchema)]
pub struct HeldJob {
    /// `held_frozen` until the account is unfrozen, `held_restored` until all payments from before a restore have
    /// settled or can't settle and are in the ledger, `held_unfinal` until the payment behind it is final.
    pub held: HoldReason,
    /// Id of the job.
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
    /// Exact wallet address of the owner.
    pub wallet: Option<String>,
    /// Status of the entity in our records.
    pub status: Option<String>,
    /// Amount of the job.
    #[schema(value_type = Option<ExactDecimal>)]
    pub amount: Option<Value>,
    /// Currency of the amount: `USDC` or an ISO 4217 code.
    pub currency: Option<String>,
    /// Idempotency key of the job at its provider.
    pub idempotency_key: String,
    /// Actions that are possible now.
    pub actions: Vec<JobAction>,
}

/// A payment with an unknown outcome.
#[derive(Deserialize, ToSchema)]
pub struct UnknownPayment {
    /// Id of the payment.
    pub payment_id: String,
    /// Job that queries the chain for it.
    pub job_id: String,
    /// Type of that job.
    #[schema(value_type = JobTypeName)]
    pub job_type: String,
    /// Seconds since the outcome became unknown.
    pub age_seconds: u64,
    /// Number of failed attempts.
    pub attempts: u64,
    /// Error of the last attempt.
    #[schema(required)]
    pub last_error: Option<String>,
    /// Time since the outcome is unknown (RFC 3339).
    pub since: String,
    /// Exact wallet address of the payer.
    pub wallet: Option<String>,
    /// Status of the payment in our records.
    pub status: Option<String>,
    /// Amount of the payment.
    #[schema(value_type = Option<ExactDecimal>)]
    pub amount: Option<Value>,
    /// Currency of the amount: `USDC` or an ISO 4217 code.
    pub currency: Option<String>,
    /// Status that the chain reports now, if it can be queried.
    pub provider_status: Option<ProviderStatus>,
    /// Error of the chain query.
    pub provider_error: Option<String>,
    /// Identifier of the payment on the chain.
    pub idempotency_key: String,
    /// `retry`, `resolve_completed`, `resolve_not_completed`, `credit` and `keep` are the possible actions.
    pub actions: Vec<JobAction>,
}

/// An outgoing transfer that is missing from the ledger.
#[derive(Deserialize, ToSchema)]
pub struct UntrackedTransfer {
    /// Transaction id on the chain.
    pub transaction: String,
    /// Transaction and index of the transfer, as `transaction#index`, for `POST /admin/untracked-transfers/attribute`.
    /// The transaction alone is enough if it has only one transfer from the treasury.
    pub name: String,
    /// `base` or `solana`.
    pub network: NetworkName,
    /// Address that received the transfer.
    pub receiver: String,
    /// Amount in USDC.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// Chain time of the transfer (RFC 3339).
    pub at: String,
    /// Account of the receiver, if it has one.
    #[schema(required)]
    pub account: Option<String>,
    /// Withdrawals and top-ups that wait for such a transfer, and incoming transfers that may have paid for it, because
    /// a restore lost what they bought. `POST /admin/untracked-transfers/attribute` takes each by its id.
    pub candidates: Vec<TransferCandidate>,
}

/// A resource that may explain the transfer.
#[derive(Deserialize, ToSchema)]
pub struct TransferCandidate {
    /// Id of a withdrawal, a top-up or an incoming transfer.
    pub id: String,
}

/// An outcome recorded by an operator.
#[derive(Deserialize, ToSchema)]
pub struct ResolveResponse {
    /// Id of the job.
    pub job_id: String,
    /// `completed` or `not_completed`.
    pub outcome: JobOutcome,
}

/// A dead-lettered job whose payment was credited.
#[derive(Deserialize, ToSchema)]
pub struct CreditResponse {
    /// Id of the job.
    pub job_id: String,
    /// Always true on success.
    pub credited: bool,
}

/// A withheld credit that was closed without crediting it.
#[derive(Deserialize, ToSchema)]
pub struct WithholdCreditResponse {
    /// Id of the job.
    pub job_id: String,
    /// Always true: the service retains the amount.
    pub kept: bool,
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

/// Whether credentials from before a restore are suspended.
#[derive(Deserialize, ToSchema)]
pub struct SuspendedResponse {
    /// Whether unconfirmed credentials are rejected.
    pub suspended: bool,
}
