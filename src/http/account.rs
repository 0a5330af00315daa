//! What an account may read of itself: `GET /get-account-balance`, `GET /get-payment`, and for the page behind a login
//! link `GET /account`.

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts, RawQuery, State};
use axum::response::Response;
use axum::routing::get;
use http::request::Parts;
use purser_actors::engine::Engine;
use purser_actors::id::PaymentId;
use purser_actors::kernel::{Entity, JsonObject};
use purser_actors::payment::Payment;
use utoipa::OpenApi;

use super::auth::{AuthClaims, BearerAuth, MaybeBearer};
use super::error::ApiError;
use super::json;
use super::payments::with_product;
use super::query::Query;
use super::schemas;

/// What these routes need.
pub struct AccountState {
    /// Reads.
    pub engine: Engine,
}

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(get_account_balance, get_payment))]
pub struct ApiDoc;

/// The routes.
pub fn router(accounts: Arc<AccountState>) -> Router {
    Router::new()
        .route("/get-account-balance", get(get_account_balance))
        .route("/get-payment", get(get_payment))
        .with_state(accounts)
}

/// The claims of a good bearer token; 401 without.
pub struct BearerClaims(pub AuthClaims);

impl<S: Sync> FromRequestParts<S> for BearerClaims {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match MaybeBearer::from_request_parts(parts, state).await {
            Ok(MaybeBearer(bearer)) => Ok(Self(bearer.claims()?.clone())),
            Err(_) => Err(ApiError::internal()),
        }
    }
}

/// A frozen account reads nothing.
///
/// # Errors
/// 403 with the `frozen_message`; 500 when storage fails.
pub async fn authenticated_account(engine: &Engine, claims: &AuthClaims) -> Result<(), ApiError> {
    let account = engine.account(&claims.wallet).await.map_err(|_| ApiError::internal())?;
    match account.and_then(|a| a.frozen) {
        Some(message) => Err(ApiError::frozen(message)),
        None => Ok(()),
    }
}

/// The account's balance
#[utoipa::path(get, path = "/get-account-balance", tag = "Account", security(("bearer" = [])),
    responses((status = 200, description = "`user_id`, `balance`, `available`, `held`, `total_deposits` in USD, `created_at`.", body = schemas::AccountBalance),
        (status = 401, description = "No good token."), (status = 403, description = "Frozen."),
        (status = 404, description = "No such account.")))]
async fn get_account_balance(
    State(accounts): State<Arc<AccountState>>,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    let read = accounts
        .engine
        .account(&claims.wallet)
        .await
        .map_err(|_| ApiError::internal())?;
    let account = read.ok_or_else(|| ApiError::not_found("account_not_found", "There is no such account."))?;
    if let Some(message) = account.frozen {
        return Err(ApiError::frozen(message));
    }
    Ok(json::private(json::bytes_as_json(
        account.view(&claims.wallet).to_json(),
    )))
}

/// What became of a payment
///
/// Anybody who knows the id learns whether it is over; the payer's token also learns the result. `status` is the payment's own: one that
/// is `fulfilled` has bought something, and `product_status` says what became of that.
#[utoipa::path(get, path = "/get-payment", tag = "Account", security((), ("bearer" = [])),
    params(("payment_id" = String, Query, description = "From a 202.")),
    responses((status = 200, description = "`status`, `terminal`, `retry_after_seconds`; for the payer also the result.", body = schemas::PaymentStatusResponse),
        (status = 400, description = "`payment_id` is missing."), (status = 401, description = "A bad token."),
        (status = 403, description = "Another wallet's payment, or a frozen account."),
        (status = 404, description = "No such payment.")))]
async fn get_payment(
    State(accounts): State<Arc<AccountState>>,
    MaybeBearer(bearer): MaybeBearer,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["payment_id"])?;
    let unknown = || ApiError::not_found("payment_not_found", "There is no such payment.");
    let id: PaymentId = query.required("payment_id")?.parse().map_err(|_| unknown())?;
    let claims = match &bearer {
        BearerAuth::Absent => None,
        bearer => Some(bearer.claims()?),
    };
    let payment = accounts
        .engine
        .payment(&id)
        .await
        .map_err(|_| ApiError::internal())?
        .ok_or_else(unknown)?;
    let mut view = progress(&payment);
    if let Some(claims) = claims {
        if claims.wallet != payment.account() {
            return Err(ApiError::forbidden(
                "payment_access_denied",
                "This payment belongs to another wallet.",
            ));
        }
        authenticated_account(&accounts.engine, claims).await?;
        view = view.object("payment", &payment.view(&id));
        view = with_product(&accounts.engine, view, &payment, false).await?;
    }
    Ok(json::private(json::bytes_as_json(view.to_json())))
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
