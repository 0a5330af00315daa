//! Account reads: `GET /get-account-balance` and `GET /get-payment`; the callers of all routes with a token.

use std::sync::Arc;

use axum::extract::{FromRequestParts, RawQuery, State};
use axum::response::Response;
use http::request::Parts;
use purser_actors::engine::Engine;
use purser_actors::entity::account::Account;
use purser_actors::entity::payment::Payment;
use purser_actors::entity::session::AuthMethod;
use purser_actors::id::PaymentId;
use purser_actors::kernel::event_actor::{EventActor, EventActorType};
use purser_actors::kernel::registry::LoadError;
use purser_actors::kernel::{Entity, JsonObject, request_context};

use super::app::App;
use super::auth::{AuthClaims, BearerAuth, Refusal};
use super::error::{ApiError, ErrorCode};
use super::json;
use super::page_session::MaybeClaims;
use super::payments::{with_key, with_product, with_refund};
use super::query::Query;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/get-account-balance" => get_account_balance {
        Token, refuses [TokenMissing, ParameterUnrecognized, AccountFrozen]
    }
    GET "/get-payment" => get_payment {
        Token, refuses [
            ParameterUnrecognized, ParameterMissing, PaymentNotFound, TokenInvalid, PaymentAccessDenied, AccountFrozen,
        ]
    }
}

/// Extractor: the claims of a valid bearer token, or of the session of one of our pages. Rejects with 401, and with 403
/// for a session that does not permit the request.
pub struct BearerClaims(pub AuthClaims);

impl FromRequestParts<Arc<App>> for BearerClaims {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        match MaybeClaims::from_request_parts(parts, app).await?.0 {
            Some(claims) => Ok(Self(claims)),
            None => Err(BearerAuth::Absent.claims().err().unwrap_or_else(ApiError::internal)),
        }
    }
}

/// Rejects frozen accounts, which can't read anything, and agents that their owner has stopped. What an agent's request
/// commits after this needs that its owner has not stopped it meanwhile.
///
/// # Errors
/// 403 with the `frozen_message`, 403 `agents_stopped`, or 401 for a token from before a stop; 500 when storage fails.
pub async fn refuse_frozen(engine: &Engine, claims: &AuthClaims) -> Result<(), ApiError> {
    let account = engine.account(&claims.wallet).await.map_err(|_| ApiError::internal())?;
    if let Some(account) = account {
        refuse(engine, &account, claims).await?;
    }
    state_sender(engine, claims).await
}

async fn refuse(engine: &Engine, account: &Account, claims: &AuthClaims) -> Result<(), ApiError> {
    match refusal(engine, account, claims).await {
        Ok(None) => Ok(()),
        Ok(Some(refusal)) => Err(refusal.into()),
        Err(_) => Err(ApiError::internal()),
    }
}

/// Why the account accepts nothing from these claims, if so.
///
/// # Errors
/// When storage fails.
pub(super) async fn refusal(
    engine: &Engine,
    account: &Account,
    claims: &AuthClaims,
) -> Result<Option<Refusal>, LoadError> {
    if let Some(message) = &account.frozen {
        return Ok(Some(Refusal::Frozen(message.clone())));
    }
    if engine.has_recovery_ended(&claims.wallet, &claims.session).await? {
        return Ok(Some(Refusal::Ended));
    }
    if claims.is_owner_at_page() {
        return Ok(None);
    }
    if account.agents_stopped_at().is_some() {
        return Ok(Some(Refusal::AgentsStopped));
    }
    if !account.has_ended_agent_access(claims.issued_at) {
        return Ok(None);
    }
    // A token has only the second in which it was issued. Its session tells whether that was before the stop.
    let session = engine.session(&claims.session).await?;
    let is_new = session.is_some_and(|session| !account.has_ended_agent_access(session.created_at));
    Ok((!is_new).then_some(Refusal::Ended))
}

/// States who sends the request: its events name the sender, and what an agent's request commits needs that the agents
/// are not stopped.
async fn state_sender(engine: &Engine, claims: &AuthClaims) -> Result<(), ApiError> {
    if !claims.is_owner_at_page() {
        request_context::act_as_agent_of(claims.wallet);
    }
    let key = match claims.amr.key() {
        Some(id) => engine.api_key(&id).await.map_err(|_| ApiError::internal())?,
        None => None,
    };
    request_context::sent_by(EventActor {
        r#type: match claims.amr {
            AuthMethod::Wallet => EventActorType::Wallet,
            AuthMethod::Payment(_) => EventActorType::Payment,
            AuthMethod::Key(_) => EventActorType::ApiKey,
            AuthMethod::Passkey(_) => EventActorType::Passkey,
        },
        session_id: Some(claims.session),
        in_browser: claims.of_page,
        payment_id: claims.amr.payment(),
        api_key_id: claims.amr.key(),
        api_key_name: key.map(|key| key.name),
    });
    Ok(())
}

/// Read the account balance
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-account-balance", operation_id = "getAccountBalance", tag = "Account", security(("bearer" = [])),
    responses((status = 200, description = "`user_id`, `balance`, `available`, `held`, `total_deposits` in USD, `created_at`.", body = schemas::AccountBalance),
        (status = 401, description = "No good token."), (status = 403, description = "Frozen."),
        (status = 404, description = "No such account."))))]
async fn get_account_balance(
    State(app): State<Arc<App>>,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    let read = app
        .engine
        .account(&claims.wallet)
        .await
        .map_err(|_| ApiError::internal())?;
    let account = read.ok_or_else(|| ApiError::new(ErrorCode::AccountNotFound, "There is no such account."))?;
    refuse(&app.engine, &account, &claims).await?;
    Ok(json::private_ok(&account.view(&claims.wallet)))
}

/// Read the status of a payment
///
/// Anyone who knows the id can see whether the payment is over. The payer's token also reads the result. `status` is
/// the status of the payment: a `fulfilled` payment bought something. `product_status` is the status of that product.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-payment", operation_id = "getPayment", tag = "Account", security((), ("bearer" = [])),
    params(("payment_id" = String, Query, description = "From a 202.")),
    responses((status = 200, description = "`status`, `terminal`, `retry_after_seconds`; for the payer also the result.", body = schemas::PaymentStatusResponse),
        (status = 400, description = "`payment_id` is missing."), (status = 401, description = "A bad token."),
        (status = 403, description = "Another wallet's payment, or a frozen account."),
        (status = 404, description = "No such payment."))))]
async fn get_payment(
    State(app): State<Arc<App>>,
    claims: Result<MaybeClaims, ApiError>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["payment_id"])?;
    let unknown = || ApiError::new(ErrorCode::PaymentNotFound, "There is no such payment.");
    let id: PaymentId = query.required("payment_id")?.parse().map_err(|_| unknown())?;
    // No token is needed, so a bad one counts only for a request that is right otherwise.
    let MaybeClaims(claims) = claims?;
    let payment = app
        .engine
        .payment(&id)
        .await
        .map_err(|_| ApiError::internal())?
        .ok_or_else(unknown)?;
    let mut view = progress(&payment);
    if let Some(claims) = claims {
        if claims.wallet != payment.account() {
            return Err(ApiError::new(
                ErrorCode::PaymentAccessDenied,
                "This payment belongs to another wallet.",
            ));
        }
        refuse_frozen(&app.engine, &claims).await?;
        view = view.object("payment", &payment.view(&id));
        view = with_product(&app.engine, view, &payment, false).await?;
        view = with_refund(&app.engine, view, id).await?;
        view = with_key(&app.engine, view, &payment, claims.amr).await?;
    }
    Ok(json::private_ok(&view))
}

fn progress(payment: &Payment) -> JsonObject {
    let view = JsonObject::new()
        .text("status", payment.status())
        .boolean("terminal", payment.is_final());
    if payment.is_final() {
        view
    } else {
        view.integer("retry_after_seconds", 2)
    }
}
