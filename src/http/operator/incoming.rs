//! Transfers to our treasury that no payment claims: listed, and decided by an operator.

use axum::response::Response;
use http::StatusCode;
use purser_actors::engine::{IncomingDecision, IncomingDecisionError};
use purser_actors::id::{DepositId, Wallet};
use purser_actors::kernel::Entity as _;
use purser_actors::operator::OperatorAction;
use serde::Deserialize;
use utoipa::ToSchema;

use super::accounts::{page, paged_after};
use super::extractors::{AuthorizedRead, AuthorizedRequest, EVIDENCE, OperatorRequest, check_note};
use super::{AdminState, approvals, unavailable};
use crate::http::error::ApiError;
use crate::http::json;

/// Those that nobody has decided about, the oldest first.
pub(super) async fn get_incoming(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    let (after, limit) = page(query.as_deref())?;
    let found = admin.engine.incoming_transfers(after, limit).await;
    let found = found.map_err(|_| ApiError::internal())?;
    Ok(paged_after("", "incoming_transfers", &found, |id, incoming| {
        incoming.view(&DepositId(id))
    }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreditDepositRequest {
    deposit_id: String,
    account: Option<String>,
    evidence: String,
    /// The holder is to have both: the money and the payout that it had paid for.
    #[serde(default)]
    holder_keeps_product: bool,
}

impl OperatorRequest for CreditDepositRequest {}

pub(super) async fn post_credit(
    AuthorizedRequest {
        admin,
        act,
        request: wanted,
    }: AuthorizedRequest<CreditDepositRequest>,
) -> Result<Response, ApiError> {
    check_note("evidence", EVIDENCE, &wanted.evidence)?;
    let invalid = || ApiError::parameter("parameter_invalid", "account", "`account` is not an address.");
    let account = wanted.account.as_deref().map(str::parse::<Wallet>);
    let account = account.transpose().map_err(|_| invalid())?;
    let keeps = wanted.holder_keeps_product;
    let rule = IncomingDecision::Credit {
        account,
        keep_payout: keeps,
    };
    decide(&admin, &wanted.deposit_id, rule, (&act, wanted.evidence)).await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OperatorFundsRequest {
    deposit_id: String,
    evidence: String,
}

impl OperatorRequest for OperatorFundsRequest {}

pub(super) async fn post_operator_funds(
    AuthorizedRequest {
        admin,
        act,
        request: wanted,
    }: AuthorizedRequest<OperatorFundsRequest>,
) -> Result<Response, ApiError> {
    check_note("evidence", EVIDENCE, &wanted.evidence)?;
    decide(
        &admin,
        &wanted.deposit_id,
        IncomingDecision::OperatorFunds,
        (&act, wanted.evidence),
    )
    .await
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReturnDepositRequest {
    deposit_id: String,
    evidence: String,
    /// Its sender is to have both: the money and the payout that it had paid for.
    #[serde(default)]
    holder_keeps_product: bool,
}

impl OperatorRequest for ReturnDepositRequest {}

pub(super) async fn post_return(
    AuthorizedRequest {
        admin,
        act,
        request: wanted,
    }: AuthorizedRequest<ReturnDepositRequest>,
) -> Result<Response, ApiError> {
    check_note("evidence", EVIDENCE, &wanted.evidence)?;
    let keeps = wanted.holder_keeps_product;
    let rule = IncomingDecision::Return { keep_payout: keeps };
    decide(&admin, &wanted.deposit_id, rule, (&act, wanted.evidence)).await
}

async fn decide(
    admin: &AdminState,
    id: &str,
    rule: IncomingDecision,
    (act, evidence): (&OperatorAction, String),
) -> Result<Response, ApiError> {
    let id: DepositId = id.parse().map_err(|_| unknown())?;
    let incoming = match admin.engine.decide_incoming(id, rule, (act, evidence)).await {
        Err(IncomingDecisionError::ApprovalPending(id)) => return approvals::pending_response(admin, id).await,
        told => told.map_err(map_error)?,
    };
    Ok(json::private(json::bytes_as_json(incoming.view(&id).to_json())))
}

fn unknown() -> ApiError {
    ApiError::not_found("deposit_unknown", "There is no such transfer.")
}

pub(super) fn map_error(why: IncomingDecisionError) -> ApiError {
    match why {
        IncomingDecisionError::NotFound => unknown(),
        IncomingDecisionError::AccountNotFound => ApiError::not_found("account_not_found", "There is no such account."),
        IncomingDecisionError::InvalidState("found") => {
            let error = "The transfer is still being looked into.";
            let hint = "GET /admin/dead-letters says by `withdrawals_paused_until` from when on it can be decided.";
            ApiError::new(StatusCode::CONFLICT, "deposit_not_waiting", error).hint(hint)
        }
        IncomingDecisionError::InvalidState(state) => {
            let error = format!("The transfer is {state}: it waits for no decision.");
            ApiError::new(StatusCode::CONFLICT, "deposit_not_waiting", error)
        }
        IncomingDecisionError::AlreadyDelivered => {
            let error = "The rail has carried out the payout that this transfer had paid for, or may yet.";
            let hint = "Book both: POST /admin/untracked-transfers/attribute with `deposit_id` (`purser admin untracked-transfers attribute eff_… --deposit dep_…`). If its holder is to have both, say so with `holder_keeps_product`: true (`--holder-keeps-product`).";
            ApiError::new(StatusCode::CONFLICT, "product_delivered", error).hint(hint)
        }
        // Whoever asked for it was told that it waits.
        IncomingDecisionError::ApprovalPending(_) | IncomingDecisionError::Unavailable => unavailable(),
    }
}
