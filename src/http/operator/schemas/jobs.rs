//! What waits for a person, and what a person does about it.

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::http::schemas::ExactDecimal;

/// What waits for a person.
#[derive(Deserialize, ToSchema)]
pub struct DeadLettersResponse {
    /// Tried often enough, the oldest first; then those that are late, though they are tried again by themselves.
    pub jobs: Vec<DeadLetteredJob>,
    /// Payments whose outcome is not known.
    pub unknown_payments: Vec<UnknownPayment>,
    /// What waits at the gate before money leaves, the oldest first. It goes on by itself.
    pub held: Vec<HeldJob>,
    /// Transfers that left before a restore and are in no book.
    pub untracked_transfers: Vec<UntrackedTransfer>,
    /// Orders at the payout rails and the bank, of before a restore, that are in no book.
    pub unexplained_orders: Vec<UntrackedOrder>,
    /// Whether nothing leaves until all of those are explained.
    pub withdrawals_paused: bool,
    /// RFC 3339; null where nothing is held.
    #[schema(required)]
    pub withdrawals_paused_until: Option<String>,
}

/// An order of before a restore that is in no book.
#[derive(Deserialize, ToSchema)]
pub struct UntrackedOrder {
    /// Its idempotency key at the provider, for `POST /admin/untracked-transfers/attribute`.
    pub transaction: String,
    /// Whose list has it: `payouts` or `bank`.
    pub list: String,
    /// The provider's word for what it is.
    pub product: String,
    /// What was ordered.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// ISO 4217.
    pub currency: String,
    /// `pending`, `held` or `completed`.
    pub status: String,
    /// `out`: we paid for it. `in`: it was drawn from a holder's account at the bank and is to be credited.
    pub direction: String,
    /// RFC 3339: when it last changed, by the provider's clock.
    pub at: String,
}

/// Work that waits for a person.
#[derive(Deserialize, ToSchema)]
pub struct DeadLetteredJob {
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
    /// It fails and is older than `engine.late_after_minutes`, and is tried again by itself; else nobody tries it any more.
    pub late: bool,
    /// RFC 3339; null where nobody tries it any more.
    #[schema(required)]
    pub next_try_at: Option<String>,
    /// Whose it is: the exact address.
    pub wallet: Option<String>,
    /// Where that stands, by our books.
    pub status: Option<String>,
    /// What is at stake.
    #[schema(value_type = Option<ExactDecimal>)]
    pub amount: Option<Value>,
    /// `USDC`, or a currency of ISO 4217.
    pub currency: Option<String>,
    /// What whoever has to do it says now, if it can be asked.
    pub provider_status: Option<String>,
    /// Why it says nothing.
    pub provider_error: Option<String>,
    /// What the other side knows it by.
    pub idempotency_key: String,
    /// `retry`, `resolve_completed`, `resolve_not_completed`, `credit`, `keep`: what can be done about it.
    pub actions: Vec<String>,
}

/// Work by which money would leave, and that waits until it may.
#[derive(Deserialize, ToSchema)]
pub struct HeldJob {
    /// Why: `held_frozen` until its account is thawed, `held_restored` until what the lost history signed has landed or never
    /// can, and is in the books, `held_unfinal` until the payment that it rests on is final.
    pub held: String,
    /// The work.
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
    /// Whose it is: the exact address.
    pub wallet: Option<String>,
    /// Where that stands, by our books.
    pub status: Option<String>,
    /// What is at stake.
    #[schema(value_type = Option<ExactDecimal>)]
    pub amount: Option<Value>,
    /// `USDC`, or a currency of ISO 4217.
    pub currency: Option<String>,
    /// What the other side knows it by.
    pub idempotency_key: String,
    /// What can be done about it besides.
    pub actions: Vec<String>,
}

/// A payment in doubt.
#[derive(Deserialize, ToSchema)]
pub struct UnknownPayment {
    /// Which.
    pub payment_id: String,
    /// The effect that reads the chain for it.
    pub job_id: String,
    /// Its name.
    pub job_type: String,
    /// For how long it is not known, in seconds.
    pub age_seconds: u64,
    /// Failed tries.
    pub attempts: u64,
    /// What the last one said.
    #[schema(required)]
    pub last_error: Option<String>,
    /// RFC 3339.
    pub since: String,
    /// Whose it is: the exact address.
    pub wallet: Option<String>,
    /// Where that stands, by our books.
    pub status: Option<String>,
    /// What is at stake.
    #[schema(value_type = Option<ExactDecimal>)]
    pub amount: Option<Value>,
    /// `USDC`, or a currency of ISO 4217.
    pub currency: Option<String>,
    /// What whoever has to do it says now, if it can be asked.
    pub provider_status: Option<String>,
    /// Why it says nothing.
    pub provider_error: Option<String>,
    /// What the other side knows it by.
    pub idempotency_key: String,
    /// `retry`, `resolve_completed`, `resolve_not_completed`, `credit`, `keep`: what can be done about it.
    pub actions: Vec<String>,
}

/// A transfer that no book has.
#[derive(Deserialize, ToSchema)]
pub struct UntrackedTransfer {
    /// The chain's id of its transaction.
    pub transaction: String,
    /// The transaction and the place of the transfer in it, as `transaction#index`: what `POST /admin/untracked-transfers/attribute` takes. The
    /// transaction alone is enough where it moved our money once.
    pub name: String,
    /// `base` or `solana`.
    pub network: String,
    /// Who received it.
    pub receiver: String,
    /// USDC.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// RFC 3339.
    pub at: String,
    /// The receiver, if it has an account here.
    #[schema(required)]
    pub account: Option<String>,
    /// Withdrawals and top-ups that wait for such a one, and incoming transfers that may have paid for it: a restore has lost what
    /// they bought. `POST /admin/untracked-transfers/attribute` takes each by its id.
    pub candidates: Vec<TransferCandidate>,
}

/// What a transfer may have been.
#[derive(Deserialize, ToSchema)]
pub struct TransferCandidate {
    /// A withdrawal's, a top-up's or an incoming transfer's.
    pub id: String,
}

/// An operator's word was taken.
#[derive(Deserialize, ToSchema)]
pub struct ResolveResponse {
    /// About this.
    pub job_id: String,
    /// `completed` or `not_completed`.
    pub outcome: String,
}

/// Stuck work was credited back.
#[derive(Deserialize, ToSchema)]
pub struct CreditResponse {
    /// Which.
    pub job_id: String,
    /// That it was.
    pub credited: bool,
}

/// A withheld credit ended without being given.
#[derive(Deserialize, ToSchema)]
pub struct WithholdCreditResponse {
    /// Which.
    pub job_id: String,
    /// That the house keeps it.
    pub kept: bool,
}

/// A refund, with what only operators read.
#[derive(Deserialize, ToSchema)]
pub struct OperatorRefund {
    /// Its id; a payment has one at most.
    pub refund_id: String,
    /// What it is about.
    pub payment_id: String,
    /// `requested`, `approved`, `credited`, `rejected`, `expired`.
    pub status: String,
    /// USDC.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
    /// Whose balance is credited: the exact address.
    pub wallet: String,
    /// Why, in the operator's words.
    pub reason: String,
    /// Whether the operator has said that the holder gets the money and may keep what was bought too.
    pub holder_keeps_product: bool,
    /// The name of the operator's token.
    pub requested_by: String,
    /// The name of the token of whoever approved or rejected it; `requested_by` again if it was small enough to need nobody else;
    /// null while it waits.
    #[schema(required)]
    pub decided_by: Option<String>,
    /// RFC 3339: until when it can be approved.
    pub expires_at: String,
}

/// A page of refunds that wait, or the one that was asked for.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum RefundsResponse {
    /// Without `payment_id`.
    Page(OperatorRefundList),
    /// With it.
    One(Box<OperatorRefund>),
}

/// Refunds that wait for a second operator, or with `all` every one.
#[derive(Deserialize, ToSchema)]
pub struct OperatorRefundList {
    /// The oldest first; with `all` in the order of their ids.
    pub refunds: Vec<OperatorRefund>,
    /// For the next page; null on an empty one.
    #[schema(required)]
    pub next_after: Option<String>,
}

/// Transfers that nobody has decided about.
#[derive(Deserialize, ToSchema)]
pub struct IncomingTransfers {
    /// The oldest first.
    pub incoming_transfers: Vec<IncomingTransfer>,
    /// For the next page; null on an empty one.
    #[schema(required)]
    pub next_after: Option<String>,
}

/// A transfer to the treasury that no payment claims.
#[derive(Deserialize, ToSchema)]
pub struct IncomingTransfer {
    /// Its id.
    pub deposit_id: String,
    /// `base` or `solana`.
    pub network: String,
    /// The chain's id of the transaction.
    pub transaction: String,
    /// Which transfer in it, from 0.
    pub index: u64,
    /// Who sent it.
    pub sender: String,
    /// USDC.
    #[schema(value_type = ExactDecimal)]
    pub amount: Value,
    /// When, by the chain's clock; RFC 3339.
    pub at: String,
    /// `found`, `waiting`, `crediting`, `credited`, `adopted`, `operator_funds`, `returning`, `returned`, `claimed` or
    /// `forwarded`.
    pub status: String,
    /// What a provider has under the name of what it would have bought.
    #[schema(required)]
    pub shows: Option<String>,
    /// Whose balance has it or gets it.
    #[schema(required)]
    pub account: Option<String>,
    /// What was bought with it in a history that a restore has lost.
    #[schema(required)]
    pub product_id: Option<String>,
    /// What brings it back to its sender.
    #[schema(required)]
    pub withdrawal_id: Option<String>,
    /// RFC 3339.
    pub found_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
}

/// Whether anything of before a restore is suspended.
#[derive(Deserialize, ToSchema)]
pub struct SuspendedResponse {
    /// It is: what was not confirmed opens nothing.
    pub suspended: bool,
}
