//! Actions that exceed the limit of one operator. A second operator approves or rejects them.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use purser_actors::answer::rfc3339;
use purser_actors::approval::{ActionKind, PendingApproval};
use purser_actors::engine::ApprovalError;
use purser_actors::id::ApprovalId;
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest, check_note};
use super::refunds::dollars;
use super::{AdminState, accounts, card_withdrawals, incoming, intl_orders, jobs, unavailable, untracked_transfers};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::Private;
use crate::http::query::Query;
use crate::http::route::routes;
use crate::http::schemas::ExactDecimal;
use crate::statuses::named_values;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/approvals" => get_approvals {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listApprovals", tag: "Approvals" },
                Permission::Read,
                "List actions that wait for a second operator, oldest first. Refunds are listed separately",
                of::<ApprovalList>,
            )
            .paged()
        )
    }
    POST "/admin/approvals/approve" => post_approve {
        Operator, unkeyed("names the action; it is decided once"), confirmed(), operation(||
            OperationDoc::post::<ApproveRequest>(
                Operation { id: "approveAction", tag: "Approvals" },
                "Approve and execute an action that another operator requested",
                of::<Approval>,
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
                of::<Approval>,
            )
            .error(404, "No such pending approval.")
        )
    }
}

/// Actions that wait for a second operator.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ApprovalList {
    /// Pending approvals, oldest first.
    approvals: Vec<Approval>,
    /// Cursor of the next page.
    #[cfg_attr(feature = "documents", schema(required))]
    next_after: Option<String>,
}

/// An action that needs a second operator.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct Approval {
    /// Id of the approval.
    approval_id: String,
    /// Action that waits.
    act: ApprovalAction,
    /// Id of the affected resource.
    subject: String,
    /// Amount in US dollars.
    amount: ExactDecimal,
    /// Reason given by the requester.
    words: String,
    /// Operator that requested it.
    requested_by: String,
    /// Time of the request (RFC 3339).
    requested_at: String,
    /// End of the approval period (RFC 3339).
    open_until: String,
    /// `waiting`, `approved` (and executed) or `rejected`.
    status: ApprovalStatus,
}

named_values! {
    "Action that needs a second operator." ApprovalAction: ActionKind = ActionKind::ALL, ActionKind::name;
}

/// Status of an approval.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum ApprovalStatus {
    Waiting,
    /// And executed.
    Approved,
    Rejected,
}

/// Pending approvals, oldest first.
async fn get_approvals(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Private<ApprovalList>, ApiError> {
    let asked = Query::parse(query.as_deref(), &["after", "limit"])?;
    let (after, limit) = accounts::cursor_and_limit(&asked)?;
    let found = admin.engine.approvals(after, limit).await;
    let found = found.map_err(|_| ApiError::internal())?;
    let next_after = accounts::next_after(&found);
    let approvals = found
        .into_iter()
        .map(|((_, id), pending)| render(ApprovalId(id), &pending, ApprovalStatus::Waiting));
    Ok(Private(ApprovalList {
        approvals: approvals.collect(),
        next_after,
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

async fn post_approve(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<ApproveRequest>,
) -> Result<Private<Approval>, ApiError> {
    let amount = dollars(&request.amount)?;
    let id: ApprovalId = request.approval_id.parse().map_err(|_| unknown())?;
    let approved = admin.engine.approve(id, amount, &act).await;
    let approved = approved.map_err(map_error)?;
    Ok(Private(render(id, &approved, ApprovalStatus::Approved)))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RejectRequest {
    approval_id: String,
    reason: String,
}

impl OperatorRequest for RejectRequest {}

async fn post_reject(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<RejectRequest>,
) -> Result<Private<Approval>, ApiError> {
    check_note("reason", "is for the audit log", &request.reason)?;
    let id: ApprovalId = request.approval_id.parse().map_err(|_| unknown())?;
    let rejected = admin.engine.reject_approval(id, request.reason, &act).await;
    let rejected = rejected.map_err(map_error)?;
    Ok(Private(render(id, &rejected, ApprovalStatus::Rejected)))
}

/// Answer of an operation that one operator may not be allowed to execute alone.
pub(super) enum Approvable<T> {
    Done(T),
    /// 202: nothing was done, and the action waits for a second operator.
    Waiting(Box<Approval>),
}

impl<T: Serialize> IntoResponse for Approvable<T> {
    fn into_response(self) -> Response {
        match self {
            Self::Done(answer) => Private(answer).into_response(),
            Self::Waiting(approval) => (StatusCode::ACCEPTED, Private(approval)).into_response(),
        }
    }
}

pub(super) async fn waiting<T>(admin: &AdminState, id: ApprovalId) -> Result<Approvable<T>, ApiError> {
    let pending = admin.engine.approval(id).await.map_err(|_| ApiError::internal())?;
    // The action was approved or rejected in between. A retry gets its outcome.
    let pending = pending.ok_or_else(unavailable)?;
    let approval = render(id, &pending, ApprovalStatus::Waiting);
    Ok(Approvable::Waiting(Box::new(approval)))
}

fn render(id: ApprovalId, pending: &PendingApproval, status: ApprovalStatus) -> Approval {
    Approval {
        approval_id: id.to_string(),
        act: pending.action.kind().into(),
        subject: pending.action.subject(),
        amount: pending.amount.into(),
        words: pending.action.audit_note(),
        requested_by: pending.requested_by.operator.clone(),
        requested_at: rfc3339(pending.requested_at),
        open_until: rfc3339(pending.expires_at),
        status,
    }
}

fn unknown() -> ApiError {
    ApiError::new(
        ErrorCode::ApprovalNotFound,
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
