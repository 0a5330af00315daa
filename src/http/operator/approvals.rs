//! Actions that exceed the limit of one operator. A second operator approves or rejects them.

use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use purser_actors::approval::PendingApproval;
use purser_actors::engine::ApprovalError;
use purser_actors::id::ApprovalId;
use purser_actors::kernel::JsonObject;
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use serde::Deserialize;
use serde_json::value::RawValue;

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest, check_note};
use super::refunds::dollars;
#[cfg(feature = "documents")]
use super::schemas;
use super::{AdminState, accounts, card_withdrawals, incoming, intl_orders, jobs, unavailable, untracked_transfers};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::query::Query;
use crate::http::route::routes;
#[cfg(feature = "documents")]
use crate::http::schemas::ExactDecimal;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/approvals" => get_approvals {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listApprovals", tag: "Approvals" },
                Permission::Read,
                "List actions that wait for a second operator, oldest first. Refunds are listed separately",
                of::<schemas::ApprovalList>,
            )
            .paged()
        )
    }
    POST "/admin/approvals/approve" => post_approve {
        Operator, unkeyed("names the action; it is decided once"), operation(||
            OperationDoc::post::<ApproveRequest>(
                Operation { id: "approveAction", tag: "Approvals" },
                "Approve and execute an action that another operator requested",
                of::<schemas::Approval>,
            )
            .error(404, "No such pending approval.")
            .error(409, "The amount differs, or the action is no longer possible.")
        )
    }
    POST "/admin/approvals/reject" => post_reject {
        Operator, unkeyed("names the action; it is decided once"), operation(||
            OperationDoc::post::<RejectRequest>(
                Operation { id: "rejectAction", tag: "Approvals" },
                "Reject an action, your own or another operator's",
                of::<schemas::Approval>,
            )
            .error(404, "No such pending approval.")
        )
    }
}

/// Pending approvals, oldest first.
pub(super) async fn get_approvals(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    let asked = Query::parse(query.as_deref(), &["after", "limit"])?;
    let (after, limit) = accounts::cursor_and_limit(&asked)?;
    let found = admin.engine.approvals(after, limit).await;
    let found = found.map_err(|_| ApiError::internal())?;
    Ok(accounts::paged_after("", "approvals", &found, |id, pending| {
        render(ApprovalId(id), pending).text("status", "waiting")
    }))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ApproveRequest {
    approval_id: String,
    #[cfg_attr(feature = "documents", schema(value_type = ExactDecimal))]
    amount: Box<RawValue>,
}

impl OperatorRequest for ApproveRequest {}

pub(super) async fn post_approve(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<ApproveRequest>,
) -> Result<Response, ApiError> {
    let amount = dollars(&request.amount)?;
    let id: ApprovalId = request.approval_id.parse().map_err(|_| unknown())?;
    let approved = admin.engine.approve(id, amount, &act).await;
    Ok(approval_response(id, &approved.map_err(map_error)?, "approved"))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RejectRequest {
    approval_id: String,
    reason: String,
}

impl OperatorRequest for RejectRequest {}

pub(super) async fn post_reject(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<RejectRequest>,
) -> Result<Response, ApiError> {
    check_note("reason", "is for the audit log", &request.reason)?;
    let id: ApprovalId = request.approval_id.parse().map_err(|_| unknown())?;
    let rejected = admin.engine.reject_approval(id, request.reason, &act).await;
    Ok(approval_response(id, &rejected.map_err(map_error)?, "rejected"))
}

/// 202: nothing was done, and the action waits for a second operator.
pub(super) async fn pending_response(admin: &AdminState, id: ApprovalId) -> Result<Response, ApiError> {
    let pending = admin.engine.approval(id).await.map_err(|_| ApiError::internal())?;
    // The action was approved or rejected in between. A retry gets its outcome.
    let pending = pending.ok_or_else(unavailable)?;
    Ok((StatusCode::ACCEPTED, approval_response(id, &pending, "waiting")).into_response())
}

fn approval_response(id: ApprovalId, pending: &PendingApproval, status: &str) -> Response {
    let view = render(id, pending).text("status", status);
    json::private(json::bytes_as_json(view.to_json()))
}

fn render(id: ApprovalId, pending: &PendingApproval) -> JsonObject {
    JsonObject::new()
        .text("approval_id", id)
        .text("act", pending.action.name())
        .text("subject", pending.action.subject())
        .number("amount", pending.amount.decimal())
        .text("words", pending.action.audit_note())
        .text("requested_by", &pending.requested_by.operator)
        .time("requested_at", pending.requested_at)
        .time("open_until", pending.expires_at)
}

fn unknown() -> ApiError {
    ApiError::new(
        ErrorCode::ApprovalUnknown,
        "No such act waits for approval, or its time is over.",
    )
}

fn map_error(why: ApprovalError) -> ApiError {
    match why {
        ApprovalError::NotFound => unknown(),
        ApprovalError::SelfApproval => {
            let error = "The operator who requested an action cannot approve it.";
            ApiError::new(ErrorCode::ApprovalOwn, error)
        }
        ApprovalError::AmountMismatch => {
            let error = "This act gives another amount.";
            ApiError::new(ErrorCode::ApprovalDiffers, error)
        }
        ApprovalError::Resolve(why) => jobs::map_error(why),
        ApprovalError::IntlOrder(why) => intl_orders::map_error(why),
        ApprovalError::CardWithdrawal(why) => card_withdrawals::map_error(why),
        ApprovalError::IncomingTransfer(why) => incoming::map_error(why),
        ApprovalError::Attribution(why) => untracked_transfers::map_error(why),
        ApprovalError::Unavailable => unavailable(),
    }
}
