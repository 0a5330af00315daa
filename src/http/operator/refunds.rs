//! Refunds: requested by an operator, approved by a second one above a limit, or rejected.

use std::sync::Arc;

use purser_actors::answer::{Address, Time};
use purser_actors::engine::{RefundError, RefundParams};
use purser_actors::entity::refund::{Refund, RefundView};
use purser_actors::id::{PaymentId, RefundId};
use purser_actors::kernel::Entity as _;
use purser_actors::money::{Cents, Usdc};
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest, check_note};
use super::{AdminState, accounts, unavailable};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::Private;
use crate::http::query::Query;
use crate::http::route::routes;
#[cfg(feature = "documents")]
use crate::http::schemas::ExactDecimal;
use crate::http::withdrawals::in_range;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/refunds" => get_refunds {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listRefunds", tag: "Refunds" },
                Permission::Read,
                "List refunds that wait for a second operator, oldest first, or the refund of one payment",
                of::<RefundsResponse>,
            )
            .with("payment_id", "string", "Only the refund of this payment, in any status.")
            .with(
                "all",
                "boolean",
                "Every refund in any status, in order of id. By default only pending refunds.",
            )
            .paged()
            .error(404, "No such refund.")
        )
    }
    POST "/admin/refunds" => post_refund {
        Operator, unkeyed("a payment has one refund"), confirmed(), operation(||
            OperationDoc::post::<CreateRefundRequest>(
                Operation { id: "requestRefund", tag: "Refunds" },
                "Refund a payer up to the amount charged, once per payment. Above a limit, a second operator must approve",
                of::<OperatorRefund>,
            )
            .error(404, "No such payment.")
            .error(
                409,
                "The amount exceeds what can be refunded, the owner can still use the product and the request does not permit it, or \
                 the payment already has a refund.",
            )
        )
    }
    POST "/admin/refunds/approve" => post_approve {
        Operator, unkeyed("names the refund; it is decided once"), confirmed(), operation(||
            OperationDoc::post::<ApproveRefundRequest>(
                Operation { id: "approveRefund", tag: "Refunds" },
                "Approve a refund that another operator requested",
                of::<OperatorRefund>,
            )
            .error(404, "No such refund.")
            .error(
                409,
                "The amount differs, the refund is no longer pending, or the owner can use the product again.",
            )
        )
    }
    POST "/admin/refunds/reject" => post_reject {
        Operator, unkeyed("names the refund; it is decided once"), operation(||
            OperationDoc::post::<RejectRefundRequest>(
                Operation { id: "rejectRefund", tag: "Refunds" },
                "Reject a refund, or cancel your own",
                of::<OperatorRefund>,
            )
            .error(404, "No such refund.")
            .error(409, "The refund is no longer pending.")
        )
    }
}

/// A refund, with the fields that only operators see.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct OperatorRefund {
    #[serde(flatten)]
    refund: RefundView,
    /// Exact wallet address of the account that is credited.
    wallet: Address,
    /// Reason given by the operator.
    reason: String,
    /// Whether the owner may keep the product.
    holder_keeps_product: bool,
    /// Operator token that requested the refund.
    requested_by: String,
    /// Operator token that approved or rejected the refund. The same as `requested_by` if it needed no approval; null
    /// while it is pending.
    #[cfg_attr(feature = "documents", schema(required))]
    decided_by: Option<String>,
    /// End of the approval period (RFC 3339).
    expires_at: Time,
}

/// A page of refunds, or the requested one.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(untagged)]
enum RefundsResponse {
    /// Response without `payment_id`.
    Page(OperatorRefundList),
    /// Response with `payment_id`.
    One(Box<OperatorRefund>),
}

/// A page of refunds that wait for a second operator, or of all refunds.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct OperatorRefundList {
    /// Oldest first; with `all` in order of id.
    refunds: Vec<OperatorRefund>,
    /// Cursor of the next page; null on an empty page.
    #[cfg_attr(feature = "documents", schema(required))]
    next_after: Option<String>,
}

/// Refunds that wait for a second operator, oldest first. With `all` every refund, and with `payment_id` the refund of
/// that payment, in any status.
async fn get_refunds(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Private<RefundsResponse>, ApiError> {
    let query = Query::parse(query.as_deref(), &["after", "all", "limit", "payment_id"])?;
    if let Some(payment) = query.get("payment_id") {
        let payment: PaymentId = payment.parse().map_err(|_| unknown())?;
        let id = RefundId::for_payment(payment);
        let refund = admin.engine.refund(&id).await.map_err(|_| ApiError::internal())?;
        let refund = refund.ok_or_else(unknown)?;
        return Ok(Private(RefundsResponse::One(Box::new(render(id, &refund)))));
    }
    let (after, limit) = accounts::cursor_and_limit(&query)?;
    let found = match query.choice("all", &["false", "true"])? {
        "true" => admin.engine.all_refunds(after, limit).await,
        _ => admin.engine.pending_refunds(after, limit).await,
    };
    let found = found.map_err(|_| ApiError::internal())?;
    let refunds = found.iter().map(|((_, id), refund)| render(RefundId(*id), refund));
    Ok(Private(RefundsResponse::Page(OperatorRefundList {
        refunds: refunds.collect(),
        next_after: accounts::next_after(&found),
    })))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CreateRefundRequest {
    payment_id: String,
    #[cfg_attr(feature = "documents", schema(value_type = ExactDecimal))]
    amount: Box<RawValue>,
    reason: String,
    /// Refund although the owner keeps the product.
    #[serde(default)]
    holder_keeps_product: bool,
}

impl OperatorRequest for CreateRefundRequest {}

async fn post_refund(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<CreateRefundRequest>,
) -> Result<Private<OperatorRefund>, ApiError> {
    let amount = dollars(&request.amount)?;
    check_note("reason", "is for the audit log", &request.reason)?;
    let payment: PaymentId = request.payment_id.parse().map_err(|_| no_payment())?;
    let params = RefundParams {
        amount,
        reason: request.reason,
        holder_keeps_product: request.holder_keeps_product,
    };
    let refund = admin.engine.request_refund(payment, params, &act).await;
    let (id, refund) = refund.map_err(|why| match why {
        RefundError::NotFound => no_payment(),
        why => map_error(why),
    })?;
    Ok(Private(render(id, &refund)))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ApproveRefundRequest {
    refund_id: String,
    #[cfg_attr(feature = "documents", schema(value_type = ExactDecimal))]
    amount: Box<RawValue>,
}

impl OperatorRequest for ApproveRefundRequest {}

async fn post_approve(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<ApproveRefundRequest>,
) -> Result<Private<OperatorRefund>, ApiError> {
    let amount = dollars(&request.amount)?;
    let id: RefundId = request.refund_id.parse().map_err(|_| unknown())?;
    let (id, refund) = admin.engine.approve_refund(id, amount, &act).await.map_err(map_error)?;
    Ok(Private(render(id, &refund)))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RejectRefundRequest {
    refund_id: String,
    reason: String,
}

impl OperatorRequest for RejectRefundRequest {}

async fn post_reject(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<RejectRefundRequest>,
) -> Result<Private<OperatorRefund>, ApiError> {
    check_note("reason", "is for the audit log", &request.reason)?;
    let id: RefundId = request.refund_id.parse().map_err(|_| unknown())?;
    let rejected = admin.engine.reject_refund(id, request.reason, &act).await;
    let (id, refund) = rejected.map_err(map_error)?;
    Ok(Private(render(id, &refund)))
}

pub(super) fn dollars(amount: &RawValue) -> Result<Usdc, ApiError> {
    let cents = in_range(amount.get(), "amount", Cents::new(1), None)?;
    Usdc::from_cents(cents)
        .map_err(|_| ApiError::parameter(ErrorCode::AmountOutOfRange, "amount", "`amount` is more than there is."))
}

/// Adds the fields that only operators see.
fn render(id: RefundId, refund: &Refund) -> OperatorRefund {
    OperatorRefund {
        refund: refund.view(&id),
        wallet: refund.request.owner.into(),
        reason: refund.request.reason.clone(),
        holder_keeps_product: refund.request.holder_keeps_product,
        requested_by: refund.request.by.clone(),
        decided_by: refund.decider().map(str::to_owned),
        expires_at: refund.expires_at.into(),
    }
}

fn unknown() -> ApiError {
    ApiError::new(ErrorCode::RefundNotFound, "There is no such refund.")
}

fn no_payment() -> ApiError {
    ApiError::new(ErrorCode::PaymentNotFound, "There is no such payment.")
}

fn map_error(why: RefundError) -> ApiError {
    let conflict = |code, error: String| ApiError::new(code, error);
    match why {
        RefundError::NotFound => unknown(),
        RefundError::AmountTooLarge {
            refundable_amount: refundable,
        } => {
            let error = format!("At most {} of this payment can be refunded now.", refundable.decimal());
            let hint = "What fails or is returned later is credited automatically.";
            conflict(ErrorCode::RefundAmountTooLarge, error).hint(hint)
        }
        RefundError::ProductStillUsable {
            usable,
            refundable,
            product,
        } => {
            let error = format!(
                "The account owner can still use {} of what this payment bought. Until it is returned, at most {} can be refunded.",
                usable.decimal(),
                refundable.decimal()
            );
            let hint = format!(
                "{} To refund and let the account owner keep the product, send `holder_keeps_product`: true (`--holder-keeps-product`).",
                (product.product_type().return_instructions)(product.number())
            );
            conflict(ErrorCode::ProductNotReturned, error).hint(hint)
        }
        RefundError::InvalidState("requested") => conflict(
            ErrorCode::RefundNotPending,
            "Its time is over, or it waits already.".to_owned(),
        ),
        RefundError::InvalidState(state) => conflict(ErrorCode::RefundNotPending, format!("This refund is {state}.")),
        RefundError::SelfApproval => {
            let error = "The operator who requested a refund cannot approve it.";
            ApiError::new(ErrorCode::RefundSelfApproval, error)
        }
        RefundError::AmountMismatch => conflict(
            ErrorCode::RefundAmountMismatch,
            "This refund is about another amount.".to_owned(),
        ),
        RefundError::Unavailable => unavailable(),
    }
}
