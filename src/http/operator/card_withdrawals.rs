//! The queue of withdrawals from card balances: look, claim, release, fulfil, reject.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use purser_actors::card_withdrawal::{CardWithdrawal, Rejection};
use purser_actors::engine::Denied;
use purser_actors::id::WithdrawalId;
use purser_actors::kernel::{Entity, View};
use purser_actors::operator::Task;
use purser_actors::port::Timestamp;
use serde::Deserialize;

use super::{Admin, Shared, not_now};
use crate::http::caller::RequestId;
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::query::Query;

/// Characters of a reason, at most.
const REASON_MAX: usize = 500;

pub(super) async fn get_queue(
    State(admin): Shared,
    request: RequestId,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    admin.doors.admit(&headers, request, Task::Look).await?;
    let query = Query::parse(query.as_deref(), &["limit", "starting_after"])?;
    let limit = usize::try_from(query.number("limit", 100, 1, 1_000)?).unwrap_or(100);
    let after = match query.get("starting_after") {
        None => None,
        Some(text) => Some(text.parse().map_err(|_| unknown())?),
    };
    let queue = admin.engine.card_withdrawal_queue(after, limit).await;
    let (open, more) = queue.map_err(|_| ApiError::internal())?;
    let now = admin.clock.now();
    let shown: Vec<String> = open.iter().map(|(id, one)| listed(id, one, now).to_json()).collect();
    let body = format!("{{\"withdrawals\":[{}],\"has_more\":{more}}}", shown.join(","));
    Ok(json::private(json::bytes_as_json(body)))
}

fn listed(id: &WithdrawalId, asked: &CardWithdrawal, now: Timestamp) -> View {
    let holder = asked.held(now);
    let view = View::new()
        .text("withdrawal_id", id)
        .text("state", asked.status())
        .text("user_id", asked.owner.user_id())
        .number("amount", asked.amount.decimal())
        .text("network", asked.to.network().name())
        .text("address", asked.to.address())
        .integer("age_seconds", now.0.saturating_sub(asked.created_at.0) / 1_000)
        .integer("lease", asked.lease)
        .maybe("held_by", holder.map(|holder| holder.by.as_str()));
    let view = match holder {
        Some(holder) => view.time("held_until", holder.until),
        None => view.maybe("held_until", None::<&str>),
    };
    view.time("created_at", asked.created_at)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    withdrawal_id: String,
}

pub(super) async fn post_claim(
    State(admin): Shared,
    request: RequestId,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let act = admin.doors.admit(&headers, request, Task::Operate).await?;
    let wanted: Claim = admin.body(body).await?;
    let id = known(&admin, &wanted.withdrawal_id).await?;
    let lease = admin.engine.claim_card_withdrawal(id, act, admin.lease_ms).await;
    let lease = lease.map_err(refused)?;
    Ok(answer(
        done(id, "claimed")
            .integer("lease", lease.number)
            .time("held_until", lease.until),
    ))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Release {
    withdrawal_id: String,
    lease: u64,
}

pub(super) async fn post_release(
    State(admin): Shared,
    request: RequestId,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let act = admin.doors.admit(&headers, request, Task::Operate).await?;
    let wanted: Release = admin.body(body).await?;
    let id = known(&admin, &wanted.withdrawal_id).await?;
    let released = admin.engine.release_card_withdrawal(id, act, wanted.lease).await;
    released.map_err(refused)?;
    Ok(answer(done(id, "queued")))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fulfil {
    withdrawal_id: String,
    lease: u64,
    tx_hash: String,
}

pub(super) async fn post_fulfil(
    State(admin): Shared,
    request: RequestId,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let act = admin.doors.admit(&headers, request, Task::Operate).await?;
    let wanted: Fulfil = admin.body(body).await?;
    let id = known(&admin, &wanted.withdrawal_id).await?;
    let tx_hash = transaction(&wanted.tx_hash).ok_or_else(|| {
        let error = "`tx_hash` is the transaction that paid it: 0x and 64 hex digits, or base58 of 64 bytes.";
        ApiError::parameter("parameter_invalid", "tx_hash", error)
    })?;
    let paid = admin.engine.fulfil_card_withdrawal(id, act, wanted.lease, tx_hash);
    paid.await.map_err(refused)?;
    Ok(answer(done(id, "complete")))
}

/// A transaction's id in its one form, so that one transaction pays one withdrawal however it is written.
fn transaction(text: &str) -> Option<String> {
    if let Some(digits) = text.strip_prefix("0x") {
        let hash = digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        return hash.then(|| text.to_ascii_lowercase());
    }
    let signature = bs58::decode(text).into_vec().ok()?;
    (signature.len() == 64).then(|| text.to_owned())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reject {
    withdrawal_id: String,
    lease: Option<u64>,
    reason: String,
}

pub(super) async fn post_reject(
    State(admin): Shared,
    request: RequestId,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let act = admin.doors.admit(&headers, request, Task::Operate).await?;
    let wanted: Reject = admin.body(body).await?;
    if !(1..=REASON_MAX).contains(&wanted.reason.chars().count()) {
        let error = format!("`reason` is for the holder: 1 to {REASON_MAX} characters.");
        return Err(ApiError::parameter("parameter_invalid", "reason", error));
    }
    let id = known(&admin, &wanted.withdrawal_id).await?;
    let rejected = admin
        .engine
        .reject_card_withdrawal(id, act, wanted.lease, wanted.reason);
    rejected.await.map_err(refused)?;
    Ok(answer(done(id, "rejected")))
}

async fn known(admin: &Admin, text: &str) -> Result<WithdrawalId, ApiError> {
    let id: WithdrawalId = text.parse().map_err(|_| unknown())?;
    let asked = admin.engine.card_withdrawal(&id).await;
    let asked = asked.map_err(|_| ApiError::internal())?;
    asked.map(|_| id).ok_or_else(unknown)
}

fn unknown() -> ApiError {
    ApiError::not_found("withdrawal_unknown", "There is no such withdrawal from a card balance.")
}

fn done(id: WithdrawalId, state: &'static str) -> View {
    View::new().text("withdrawal_id", id).text("state", state)
}

fn answer(view: View) -> Response {
    json::private(json::bytes_as_json(view.to_json()))
}

fn refused(denied: Denied<Rejection>) -> ApiError {
    let conflict = |code, error: String| ApiError::new(StatusCode::CONFLICT, code, error);
    match denied {
        Denied::Rejected(Rejection::State(status)) => conflict(
            "withdrawal_not_open",
            format!("The withdrawal is {status}, which does not take this."),
        ),
        Denied::Rejected(Rejection::Held(holder)) => {
            conflict("withdrawal_held", format!("{} holds the withdrawal.", holder.by))
                .hint("Wait until the lease ends.")
        }
        Denied::Rejected(Rejection::OldLease(last)) => conflict(
            "lease_old",
            format!("This lease does not run; the last one has number {last}."),
        )
        .hint("Claim the withdrawal, and use the number of that lease."),
        Denied::Rejected(Rejection::Over { paid }) => {
            let how = if paid { "paid it" } else { "put it back" };
            conflict(
                "withdrawal_over",
                format!("The card issuer had {how} in a history that a restore lost: nothing is to be paid."),
            )
        }
        Denied::Rejected(Rejection::Unreserved) => conflict(
            "withdrawal_unreserved",
            "The card issuer has set nothing aside for this withdrawal: do not pay it.".to_owned(),
        ),
        Denied::Used => conflict(
            "transaction_used",
            "This transaction paid another withdrawal.".to_owned(),
        ),
        _ => not_now(),
    }
}
