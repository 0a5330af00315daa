//! Incoming transfers that no payment claims: listed, and decided by an operator.

use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};
use purser_actors::engine::{IncomingDecision, IncomingDecisionError};
use purser_actors::entity::incoming::IncomingView;
use purser_actors::id::{DepositId, Wallet};
use purser_actors::kernel::Entity as _;
use purser_actors::operator::OperatorAction;
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use serde::{Deserialize, Serialize};

use super::accounts::{next_after, page};
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRead, AuthorizedRequest, EVIDENCE, OperatorRequest, check_note};
use super::{AdminState, approvals, unavailable};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::route::routes;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/incoming-transfers" => get_incoming {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listIncomingTransfers", tag: "Incoming transfers" },
                Permission::Read,
                "List undecided transfers to the treasury that match no payment, oldest first",
                of::<IncomingTransfers<'_>>,
            )
            .paged()
        )
    }
    POST "/admin/incoming-transfers/credit" => post_credit {
        Operator, unkeyed("names the transfer, which is decided once"), confirmed(), operation(||
            OperationDoc::post::<CreditDepositRequest>(
                Operation { id: "creditIncomingTransfer", tag: "Incoming transfers" },
                "Credit a transfer to its sender or to another account, once",
                of::<IncomingView<'_>>,
            )
            .may_wait()
            .error(404, "No such transfer.")
            .error(409, "The transfer is already decided.")
        )
    }
    POST "/admin/incoming-transfers/operator-funds" => post_operator_funds {
        Operator, unkeyed("names the transfer, which is decided once"), confirmed(), operation(||
            OperationDoc::post::<OperatorFundsRequest>(
                Operation { id: "recordOperatorFunds", tag: "Incoming transfers" },
                "Record a transfer as funds that the operator added to the treasury",
                of::<IncomingView<'_>>,
            )
            .error(404, "No such transfer.")
            .error(409, "The transfer is already decided.")
        )
    }
    POST "/admin/incoming-transfers/return" => post_return {
        Operator, unkeyed("names the transfer, which is decided once"), confirmed(), operation(||
            OperationDoc::post::<ReturnDepositRequest>(
                Operation { id: "returnIncomingTransfer", tag: "Incoming transfers" },
                "Return a transfer to its sender as a withdrawal from their account",
                of::<IncomingView<'_>>,
            )
            .may_wait()
            .error(404, "No such transfer.")
            .error(409, "The transfer is already decided.")
        )
    }
}

/// A page of undecided incoming transfers.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct IncomingTransfers<'a> {
    /// Incoming transfers, oldest first.
    incoming_transfers: Vec<IncomingView<'a>>,
    /// Cursor of the next page; null on an empty page.
    #[cfg_attr(feature = "documents", schema(required))]
    next_after: Option<String>,
}

/// Undecided transfers, oldest first.
async fn get_incoming(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    let (after, limit) = page(query.as_deref())?;
    let found = admin.engine.incoming_transfers(after, limit).await;
    let found = found.map_err(|_| ApiError::internal())?;
    let transfers = found.iter().map(|((_, id), incoming)| incoming.view(&DepositId(*id)));
    Ok(json::private_ok(&IncomingTransfers {
        incoming_transfers: transfers.collect(),
        next_after: next_after(&found),
    }))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CreditDepositRequest {
    deposit_id: String,
    account: Option<String>,
    evidence: String,
    /// Credit the owner although the payout that the transfer paid for was completed.
    #[serde(default)]
    holder_keeps_product: bool,
}

impl OperatorRequest for CreditDepositRequest {}

async fn post_credit(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<CreditDepositRequest>,
) -> Result<Response, ApiError> {
    check_note("evidence", EVIDENCE, &request.evidence)?;
    let invalid = || ApiError::parameter(ErrorCode::ParameterInvalid, "account", "`account` is not an address.");
    let account = request.account.as_deref().map(str::parse::<Wallet>);
    let account = account.transpose().map_err(|_| invalid())?;
    let keeps = request.holder_keeps_product;
    let rule = IncomingDecision::Credit {
        account,
        keep_payout: keeps,
    };
    decide(&admin, &request.deposit_id, rule, (&act, request.evidence)).await
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct OperatorFundsRequest {
    deposit_id: String,
    evidence: String,
}

impl OperatorRequest for OperatorFundsRequest {}

async fn post_operator_funds(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<OperatorFundsRequest>,
) -> Result<Response, ApiError> {
    check_note("evidence", EVIDENCE, &request.evidence)?;
    decide(
        &admin,
        &request.deposit_id,
        IncomingDecision::OperatorFunds,
        (&act, request.evidence),
    )
    .await
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ReturnDepositRequest {
    deposit_id: String,
    evidence: String,
    /// Return the transfer although the payout that it paid for was completed.
    #[serde(default)]
    holder_keeps_product: bool,
}

impl OperatorRequest for ReturnDepositRequest {}

async fn post_return(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<ReturnDepositRequest>,
) -> Result<Response, ApiError> {
    check_note("evidence", EVIDENCE, &request.evidence)?;
    let keeps = request.holder_keeps_product;
    let rule = IncomingDecision::Return { keep_payout: keeps };
    decide(&admin, &request.deposit_id, rule, (&act, request.evidence)).await
}

async fn decide(
    admin: &AdminState,
    id: &str,
    rule: IncomingDecision,
    (act, evidence): (&OperatorAction, String),
) -> Result<Response, ApiError> {
    let id: DepositId = id.parse().map_err(|_| unknown())?;
    let incoming = match admin.engine.decide_incoming(id, rule, (act, evidence)).await {
        Err(IncomingDecisionError::ApprovalPending(id)) => {
            return Ok(approvals::waiting::<()>(admin, id).await?.into_response());
        }
        result => result.map_err(map_error)?,
    };
    Ok(json::private_ok(&incoming.view(&id)))
}

fn unknown() -> ApiError {
    ApiError::new(ErrorCode::IncomingTransferNotFound, "There is no such transfer.")
}

pub(super) fn map_error(why: IncomingDecisionError) -> ApiError {
    match why {
        IncomingDecisionError::NotFound => unknown(),
        IncomingDecisionError::AccountNotFound => {
            ApiError::new(ErrorCode::AccountNotFound, "There is no such account.")
        }
        IncomingDecisionError::InvalidState("found") => {
            let error = "The transfer is still being looked into.";
            let hint = "GET /admin/dead-letters says by `withdrawals_paused_until` from when on it can be decided.";
            ApiError::new(ErrorCode::DepositNotWaiting, error).hint(hint)
        }
        IncomingDecisionError::InvalidState(state) => {
            let error = format!("The transfer is {state}: it waits for no decision.");
            ApiError::new(ErrorCode::DepositNotWaiting, error)
        }
        IncomingDecisionError::AlreadyDelivered => {
            let error = "The rail has carried out the payout that this transfer had paid for, or may yet.";
            let hint = "Post both: POST /admin/untracked-transfers/attribute with `deposit_id` (`purser admin untracked-transfers attribute job_… --deposit dep_…`). To let the account owner keep both, send `holder_keeps_product`: true (`--holder-keeps-product`).";
            ApiError::new(ErrorCode::ProductDelivered, error).hint(hint)
        }
        // The caller has answered an approval that is pending already.
        IncomingDecisionError::ApprovalPending(_) | IncomingDecisionError::Unavailable => unavailable(),
    }
}
