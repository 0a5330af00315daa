//! Approvals of spends over the account owner's limits: `GET /account/approvals`, `POST /account/approvals/approve` and
//! `POST /account/approvals/decline` for the owner's page, `GET /get-approval` for the agent that waits.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use purser_actors::answer::Time;
use purser_actors::engine::{OperationError, SpendNotApproved};
use purser_actors::entity::bank_destination::BankDestination;
use purser_actors::entity::session::AgentInfo;
use purser_actors::entity::spend_approval::{Rejection, SpendApproval, SpendApprovalView, SpendPayee, sees_request_of};
use purser_actors::id::{SpendApprovalId, Wallet};
use purser_actors::kernel::{Entity as _, JsonObject};
use serde::{Deserialize, Serialize};

use super::account::{BearerClaims, refuse_frozen};
use super::app::App;
use super::auth::AuthClaims;
use super::callable::require_spend_rights;
use super::error::{ApiError, ErrorCode};
use super::json;
use super::owner::{confirmed_owner, owner};
use super::page_session::PageSession;
use super::query::Query;
use super::route::routes;
use super::schemas;

type SharedState = State<Arc<App>>;

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/account/approvals" => list_approvals {
        Owner, refuses [
            OriginNotAllowed, TokenMissing, AccountFrozen, ParameterUnrecognized, ParameterInvalid, ApprovalNotFound,
            ApprovalAccessDenied,
        ]
    }
    POST "/account/approvals/approve" => post_approve {
        Owner, unkeyed("approving again changes nothing"), confirmed(), refuses [
            OriginNotAllowed, TokenMissing, AccountFrozen, SignInRequired, ParameterUnrecognized, ParameterMissing,
            ApprovalNotFound, ApprovalAccessDenied, ApprovalDeclined,
        ]
    }
    POST "/account/approvals/decline" => post_decline { Owner, unkeyed("declining again changes nothing") }
    GET "/get-approval" => get_approval {
        Token, refuses [
            TokenMissing, ParameterUnrecognized, AccountFrozen, SignInRequired, ParameterMissing, ApprovalNotFound,
            ApprovalAccessDenied,
        ]
    }
}

/// An approval with what the owner knows of the agent.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct OwnerApproval<'a> {
    #[serde(flatten)]
    approval: SpendApprovalView<'a>,
    /// Name of the API key; null if the wallet signed in.
    #[cfg_attr(feature = "documents", schema(required))]
    api_key_name: Option<String>,
    /// What the agent said about itself; null if nothing.
    #[cfg_attr(feature = "documents", schema(required, value_type = Option<schemas::AgentInfo>))]
    agent: Option<JsonObject>,
    /// Name of the bank account that receives it; null for an address.
    #[cfg_attr(feature = "documents", schema(required))]
    payee_name: Option<String>,
}

/// A spend over a limit of the account owner, which waits for the owner's approval. Nothing was signed, held or taken.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct ApprovalRequiredResponse<'a> {
    /// Always false: nothing was done yet.
    success: bool,
    /// `approval_required` in every case.
    status: schemas::ApprovalRequiredStatus,
    /// Id for `GET /get-approval`, and for the same call again.
    approval_id: SpendApprovalId,
    /// End of the wait (RFC 3339).
    expires_at: Time,
    /// URL to poll for the owner's decision.
    status_url: String,
    /// What to do next.
    next: &'static str,
    /// The approval, with the limits that the spend exceeds.
    approval: SpendApprovalView<'a>,
}

impl<'a> ApprovalRequiredResponse<'a> {
    pub(super) fn of(id: SpendApprovalId, approval: &'a SpendApproval, public_url: &str) -> Self {
        Self {
            success: false,
            status: schemas::ApprovalRequiredStatus::ApprovalRequired,
            approval_id: id,
            expires_at: approval.expires_at.into(),
            status_url: format!("{public_url}/get-approval?approval_id={id}"),
            next: NEXT,
            approval: approval.view(&id),
        }
    }
}

/// What an agent does with a 202 that waits for the owner.
pub(super) const NEXT: &str = "The account's owner decides on the account page, signed in with the wallet or a passkey. Once \
    `status` of the approval is `approved`, make the same call again, with the same Idempotency-Key or the same arguments, \
    within 15 minutes. Nothing was signed or reserved.";

/// The approval that a spend waits for, if it waits.
pub(super) const fn pending(why: &SpendNotApproved) -> Option<SpendApprovalId> {
    match why {
        SpendNotApproved::Pending(id) => Some(*id),
        _ => None,
    }
}

/// A page of approvals.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ApprovalList<'a> {
    /// Approvals, newest first.
    approvals: Vec<OwnerApproval<'a>>,
    /// Whether more approvals follow.
    has_more: bool,
}

/// List the spends that asked for the owner's approval
///
/// Newest first, with the limits that each exceeds and the agent that asked. A page that an agent's link opened shows what
/// that agent asked for. Authenticated by the session cookie only.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/account/approvals", operation_id = "listApprovals", tag = "Account pages",
    params(("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "The last `approval_id` of the page before.")),
    responses((status = 200, description = "`approvals`, `has_more`.", body = ApprovalList<'static>),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, frozen, or `starting_after` is another wallet's or agent's."),
        (status = 404, description = "`starting_after` is no approval."))))]
async fn list_approvals(
    State(app): SharedState,
    PageSession(claims): PageSession,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    refuse_frozen(&app.engine, &claims).await?;
    let query = Query::parse(query.as_deref(), &["limit", "starting_after"])?;
    let limit = usize::try_from(query.number("limit", 20, 1, 100)?).unwrap_or(20);
    let after = match query.get("starting_after") {
        None => None,
        Some(text) => {
            let (id, approval) = app.load_owned_approval(&claims.wallet, text).await?;
            check_agent(&claims, &approval)?;
            Some(id)
        }
    };
    let found = app
        .engine
        .spend_approvals_of(&claims.wallet, claims.amr, after, limit)
        .await;
    let (found, has_more) = found.map_err(|_| ApiError::internal())?;
    let mut approvals = Vec::with_capacity(found.len());
    for (id, approval) in &found {
        approvals.push(app.owner_approval(*id, approval).await?);
    }
    Ok(json::private_ok(&ApprovalList { approvals, has_more }))
}

/// Request of the owner's decisions.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct DecideApprovalRequest {
    /// Id of the approval.
    approval_id: String,
}

/// Approve a spend over a limit
///
/// For this spend of this agent, once, within 15 minutes. The limit stays as it is. The agent repeats its call. Needs a
/// session of a wallet that signed in, in a request of our own page.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/approvals/approve", operation_id = "approveSpend", tag = "Account pages", request_body = inline(DecideApprovalRequest),
    responses((status = 200, description = "The approval as it is now.", body = OwnerApproval<'static>),
        (status = 400, description = "No `approval_id`."), (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, a session from a payment or an API key, another's approval, or frozen."),
        (status = 404, description = "No such approval."),
        (status = 409, description = "It was declined, expired or used, or the agent's API key was revoked."),
        (status = 503, description = "Not now."))))]
async fn post_approve(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    confirmed_owner(&app, &headers).await?;
    let (id, approval) = app.approval_to_decide(&headers, body).await?;
    if approval.end().is_none()
        && let Some(key) = approval.agent.key
    {
        let key = app.engine.api_key(&key).await.map_err(|_| ApiError::internal())?;
        if key.is_none_or(|key| !key.is_active()) {
            return Err(agent_ended());
        }
    }
    let done = app.engine.approve_spend(id).await;
    app.decided(id, done).await
}

/// Decline a spend over a limit
///
/// Also revokes an approval that was not used yet. Nothing was signed or reserved. The agent is notified, and cannot ask
/// for the same spend again within 24 hours of its request. Needs a session of a wallet that signed in, in a request of
/// our own page.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/approvals/decline", operation_id = "declineSpend", tag = "Account pages", request_body = inline(DecideApprovalRequest),
    responses((status = 200, description = "The approval as it is now.", body = OwnerApproval<'static>),
        (status = 400, description = "No `approval_id`."), (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, a session from a payment or an API key, another's approval, or frozen."),
        (status = 404, description = "No such approval."), (status = 409, description = "It expired or was used."),
        (status = 503, description = "Not now."))))]
async fn post_decline(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let (id, _) = app.approval_to_decide(&headers, body).await?;
    let done = app.engine.decline_spend(id).await;
    app.decided(id, done).await
}

/// Read an approval that a spend waits for
///
/// For the agent that asked, with a token of the same API key or of the wallet, or of the payment that asked. After `approved` the agent repeats its
/// call, with the same `Idempotency-Key` or the same arguments, until `expires_at`.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-approval", operation_id = "getApproval", tag = "Agent wallet", security(("bearer" = [])),
    params(("approval_id" = String, Query, description = "From a 202.")),
    responses((status = 200, description = "The approval.", body = schemas::ApprovalResource),
        (status = 400, description = "`approval_id` is missing."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's or another API key's approval, a token issued for a payment that did not ask for it, or frozen."),
        (status = 404, description = "No such approval."))))]
async fn get_approval(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["approval_id"])?;
    refuse_frozen(&app.engine, &claims).await?;
    if claims.is_payment_token() {
        // It withdraws to the wallet itself, and may have asked for that.
        let own = match query.get("approval_id").map(str::parse::<SpendApprovalId>) {
            Some(Ok(id)) => app.asked_for_by(&claims, &id).await?.map(|approval| (id, approval)),
            Some(Err(_)) | None => None,
        };
        if let Some((id, approval)) = &own {
            return Ok(json::private_ok(&approval.view(id)));
        }
        require_spend_rights(&claims)?;
    }
    let text = query.required("approval_id")?;
    let (id, approval) = app.load_owned_approval(&claims.wallet, text).await?;
    check_agent(&claims, &approval)?;
    Ok(json::private_ok(&approval.view(&id)))
}

/// What one agent asked for is not another agent's to see.
fn check_agent(claims: &AuthClaims, approval: &SpendApproval) -> Result<(), ApiError> {
    match sees_request_of(claims.amr, approval.agent.key) {
        true => Ok(()),
        false => Err(access_denied("This approval was asked for by another agent.")),
    }
}

fn access_denied(error: &'static str) -> ApiError {
    ApiError::new(ErrorCode::ApprovalAccessDenied, error)
}

fn unknown() -> ApiError {
    ApiError::new(ErrorCode::ApprovalNotFound, "There is no such approval.")
}

/// An id in a request.
///
/// # Errors
/// 404 `approval_not_found`.
pub(super) fn approval_id(text: &str) -> Result<SpendApprovalId, ApiError> {
    text.parse().map_err(|_| unknown())
}

fn rejected(why: Rejection) -> ApiError {
    match why {
        Rejection::NotFound | Rejection::NotApproved => unknown(),
        Rejection::Declined => declined(),
        Rejection::Expired => expired(),
        Rejection::Used => used(),
        Rejection::AgentEnded => agent_ended(),
    }
}

fn agent_ended() -> ApiError {
    ApiError::new(
        ErrorCode::ApprovalKeyRevoked,
        "The access of the agent that asked has ended.",
    )
}

fn declined() -> ApiError {
    ApiError::new(ErrorCode::ApprovalDeclined, "The account's owner declined this spend.")
        .hint("Nothing was signed. The same spend can be asked for again 24 hours after it was asked for first.")
}

fn expired() -> ApiError {
    ApiError::new(ErrorCode::ApprovalExpired, "The time of this approval is over.")
        .hint("Nothing was signed. The same call without this approval asks the owner again.")
}

fn used() -> ApiError {
    ApiError::new(ErrorCode::ApprovalUsed, "This approval was used: it is for one spend.")
        .hint("The same call without this approval asks the owner again.")
}

/// A spend that was not made for want of an approval. The 202 of a pending one is not an error: see
/// [`super::agent_wallet`].
pub(super) fn not_approved(why: &SpendNotApproved) -> ApiError {
    match why {
        SpendNotApproved::Pending(_) => ApiError::internal(),
        SpendNotApproved::NotFound => unknown(),
        SpendNotApproved::Mismatch(_) => {
            let error = "This approval is for another spend.";
            ApiError::new(ErrorCode::ApprovalMismatch, error)
                .hint("Payee, amount, network, URL, method, body and agent must be those that the owner approved.")
        }
        SpendNotApproved::Declined(_) => declined(),
        SpendNotApproved::Expired(_) => expired(),
        SpendNotApproved::Used(_) => used(),
    }
}

impl App {
    /// The approval of this id, if the caller's own session asked for it.
    async fn asked_for_by(&self, claims: &AuthClaims, id: &SpendApprovalId) -> Result<Option<SpendApproval>, ApiError> {
        let found = self.engine.spend_approval(id).await.map_err(|_| ApiError::internal())?;
        let is_own =
            |found: &SpendApproval| found.owner == claims.wallet && found.agent.session == Some(claims.session);
        Ok(found.filter(is_own))
    }

    async fn load_owned_approval(
        &self,
        wallet: &Wallet,
        text: &str,
    ) -> Result<(SpendApprovalId, SpendApproval), ApiError> {
        let id = approval_id(text)?;
        let found = self.engine.spend_approval(&id).await;
        let approval = found.map_err(|_| ApiError::internal())?.ok_or_else(unknown)?;
        if approval.owner != *wallet {
            return Err(access_denied("This approval belongs to another wallet."));
        }
        Ok((id, approval))
    }

    /// The approval of a request of the owner's page.
    async fn approval_to_decide(
        &self,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<(SpendApprovalId, SpendApproval), ApiError> {
        let claims = owner(self, headers).await?;
        let request: DecideApprovalRequest = self.body(body).await?;
        self.load_owned_approval(&claims.wallet, &request.approval_id).await
    }

    async fn decided(
        &self,
        id: SpendApprovalId,
        done: Result<(), OperationError<Rejection>>,
    ) -> Result<Response, ApiError> {
        match done {
            Ok(()) => {}
            Err(OperationError::Rejected(why)) => return Err(rejected(why)),
            Err(_) => {
                let error = "That could not be decided now. Try again.";
                return Err(ApiError::unavailable(ErrorCode::ServiceUnavailable, error, 1));
            }
        }
        let approval = self.engine.spend_approval(&id).await;
        let approval = approval.map_err(|_| ApiError::internal())?.ok_or_else(unknown)?;
        Ok(json::private_ok(&self.owner_approval(id, &approval).await?))
    }

    async fn owner_approval<'a>(
        &self,
        id: SpendApprovalId,
        approval: &'a SpendApproval,
    ) -> Result<OwnerApproval<'a>, ApiError> {
        let api_key_name = match approval.agent.key {
            None => None,
            Some(key) => {
                let key = self.engine.api_key(&key).await.map_err(|_| ApiError::internal())?;
                key.map(|key| key.name)
            }
        };
        let agent = match approval.agent.session {
            None => None,
            Some(session) => {
                let session = self.engine.session(&session).await.map_err(|_| ApiError::internal())?;
                session.and_then(|session| session.agent)
            }
        };
        Ok(OwnerApproval {
            approval: approval.view(&id),
            api_key_name,
            agent: agent.as_ref().map(AgentInfo::view).map(|agent| JsonObject::of(&agent)),
            payee_name: self.bank_payee_name(&approval.terms.payee).await?,
        })
    }

    /// The name under which the owner knows a bank account.
    async fn bank_payee_name(&self, payee: &SpendPayee) -> Result<Option<String>, ApiError> {
        Ok(match payee {
            SpendPayee::Wallet(_) => None,
            SpendPayee::BankDestination(id) => {
                let destination = self.engine.destination(id).await.map_err(|_| ApiError::internal())?;
                destination.map(|BankDestination { details, .. }| {
                    format!(
                        "{}, {} •••• {}",
                        details.account_holder_name, details.bank_name, details.last4
                    )
                })
            }
            SpendPayee::BankAccount(id) => {
                let account = self.engine.bank_account(id).await.map_err(|_| ApiError::internal())?;
                account.and_then(|account| account.label)
            }
        })
    }
}
