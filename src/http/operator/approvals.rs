//! Acts that give money and were too much for whoever asked for them: another operator approves or rejects them.

use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use purser_actors::approval::Pending;
use purser_actors::engine::NotApproved;
use purser_actors::id::ApprovalId;
use purser_actors::kernel::View;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::asked::{Admitted, Asks, Looked, in_words};
use super::refunds::dollars;
use super::{Admin, card_withdrawals, departures, desk, incoming, intl, not_now, stuck};
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::query::Query;
use crate::http::shapes::Exact;

/// Those that wait, the oldest first.
pub(super) async fn get_approvals(Looked { admin, query }: Looked) -> Result<Response, ApiError> {
    let asked = Query::parse(query.as_deref(), &["after", "limit"])?;
    let (after, limit) = desk::place_and_limit(&asked)?;
    let found = admin.engine.approvals(after, limit).await;
    let found = found.map_err(|_| ApiError::internal())?;
    Ok(desk::paged_behind("", "approvals", &found, |id, pending| {
        shown(ApprovalId(id), pending).text("status", "waiting")
    }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApproveAct {
    approval_id: String,
    #[schema(value_type = Exact)]
    amount: Box<RawValue>,
}

impl Asks for ApproveAct {}

pub(super) async fn post_approve(Admitted { admin, act, wanted }: Admitted<ApproveAct>) -> Result<Response, ApiError> {
    let amount = dollars(&wanted.amount)?;
    let id: ApprovalId = wanted.approval_id.parse().map_err(|_| unknown())?;
    let approved = admin.engine.approve(id, amount, &act).await;
    Ok(answer(id, &approved.map_err(refused)?, "approved"))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RejectAct {
    approval_id: String,
    reason: String,
}

impl Asks for RejectAct {}

pub(super) async fn post_reject(Admitted { admin, act, wanted }: Admitted<RejectAct>) -> Result<Response, ApiError> {
    in_words("reason", "is for the audit log", &wanted.reason)?;
    let id: ApprovalId = wanted.approval_id.parse().map_err(|_| unknown())?;
    let rejected = admin.engine.disapprove(id, wanted.reason, &act).await;
    Ok(answer(id, &rejected.map_err(refused)?, "rejected"))
}

/// 202: nothing was done, it waits for another operator.
pub(super) async fn waits(admin: &Admin, id: ApprovalId) -> Result<Response, ApiError> {
    let pending = admin.engine.approval(id).await.map_err(|_| ApiError::internal())?;
    // Approved or taken back by now: whoever asks again is told what came of it.
    let pending = pending.ok_or_else(not_now)?;
    Ok((StatusCode::ACCEPTED, answer(id, &pending, "waiting")).into_response())
}

fn answer(id: ApprovalId, pending: &Pending, status: &str) -> Response {
    let view = shown(id, pending).text("status", status);
    json::private(json::bytes_as_json(view.to_json()))
}

fn shown(id: ApprovalId, pending: &Pending) -> View {
    View::new()
        .text("approval_id", id)
        .text("act", pending.gift.name())
        .text("subject", pending.gift.subject())
        .number("amount", pending.amount.decimal())
        .text("words", pending.gift.words())
        .text("requested_by", &pending.asked.by)
        .time("requested_at", pending.asked_at)
        .time("open_until", pending.open_until)
}

fn unknown() -> ApiError {
    ApiError::not_found(
        "approval_unknown",
        "No such act waits for approval, or its time is over.",
    )
}

fn refused(why: NotApproved) -> ApiError {
    match why {
        NotApproved::Unknown => unknown(),
        NotApproved::Own => {
            let error = "Whoever asked for an act does not approve it.";
            ApiError::forbidden("approval_own", error)
        }
        NotApproved::Differs => {
            let error = "This act gives another amount.";
            ApiError::new(StatusCode::CONFLICT, "approval_differs", error)
        }
        NotApproved::Resolving(why) => stuck::refused(why),
        NotApproved::Intl(why) => intl::refused(why),
        NotApproved::Card(why) => card_withdrawals::refused(why),
        NotApproved::Ruling(why) => incoming::refused(why),
        NotApproved::Booking(why) => departures::refused(why),
        NotApproved::Unavailable => not_now(),
    }
}
