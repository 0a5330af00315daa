//! Acts that give money and were too much for whoever asked for them: another operator approves or rejects them.

use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use purser_actors::approval::Pending;
use purser_actors::engine::NotApproved;
use purser_actors::id::ApprovalId;
use purser_actors::kernel::JsonObject;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest, check_note};
use super::refunds::dollars;
use super::{AdminState, accounts, card_withdrawals, incoming, intl_orders, jobs, unavailable, untracked_transfers};
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::query::Query;
use crate::http::schemas::ExactDecimal;

/// Those that wait, the oldest first.
pub(super) async fn get_approvals(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    let asked = Query::parse(query.as_deref(), &["after", "limit"])?;
    let (after, limit) = accounts::cursor_and_limit(&asked)?;
    let found = admin.engine.approvals(after, limit).await;
    let found = found.map_err(|_| ApiError::internal())?;
    Ok(accounts::paged_after("", "approvals", &found, |id, pending| {
        shown(ApprovalId(id), pending).text("status", "waiting")
    }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApproveAct {
    approval_id: String,
    #[schema(value_type = ExactDecimal)]
    amount: Box<RawValue>,
}

impl OperatorRequest for ApproveAct {}

pub(super) async fn post_approve(
    AuthorizedRequest { admin, act, wanted }: AuthorizedRequest<ApproveAct>,
) -> Result<Response, ApiError> {
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

impl OperatorRequest for RejectAct {}

pub(super) async fn post_reject(
    AuthorizedRequest { admin, act, wanted }: AuthorizedRequest<RejectAct>,
) -> Result<Response, ApiError> {
    check_note("reason", "is for the audit log", &wanted.reason)?;
    let id: ApprovalId = wanted.approval_id.parse().map_err(|_| unknown())?;
    let rejected = admin.engine.disapprove(id, wanted.reason, &act).await;
    Ok(answer(id, &rejected.map_err(refused)?, "rejected"))
}

/// 202: nothing was done, it waits for another operator.
pub(super) async fn waits(admin: &AdminState, id: ApprovalId) -> Result<Response, ApiError> {
    let pending = admin.engine.approval(id).await.map_err(|_| ApiError::internal())?;
    // Approved or taken back by now: whoever asks again is told what came of it.
    let pending = pending.ok_or_else(unavailable)?;
    Ok((StatusCode::ACCEPTED, answer(id, &pending, "waiting")).into_response())
}

fn answer(id: ApprovalId, pending: &Pending, status: &str) -> Response {
    let view = shown(id, pending).text("status", status);
    json::private(json::bytes_as_json(view.to_json()))
}

fn shown(id: ApprovalId, pending: &Pending) -> JsonObject {
    JsonObject::new()
        .text("approval_id", id)
        .text("act", pending.gift.name())
        .text("subject", pending.gift.subject())
        .number("amount", pending.amount.decimal())
        .text("words", pending.gift.words())
        .text("requested_by", &pending.asked.operator)
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
        NotApproved::Resolving(why) => jobs::refused(why),
        NotApproved::Intl(why) => intl_orders::refused(why),
        NotApproved::Card(why) => card_withdrawals::refused(why),
        NotApproved::Ruling(why) => incoming::refused(why),
        NotApproved::Booking(why) => untracked_transfers::refused(why),
        NotApproved::Unavailable => unavailable(),
    }
}
