//! `GET /list-payments`: the payments of an account, for a client that lost a response; and the rendering of a
//! payment's product.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use purser_actors::engine::Engine;
use purser_actors::entity::api_key::ApiKey;
use purser_actors::entity::payment::{Payment, Status};
use purser_actors::entity::refund;
use purser_actors::entity::session::AuthMethod;
use purser_actors::entity::spend_approval::sees_request_of;
use purser_actors::id::{PaymentId, RefundId, Wallet};
use purser_actors::kernel::{Entity as _, JsonObject};
use purser_actors::money::Usdc;

use serde::Serialize;

use super::account::{BearerClaims, refuse_frozen};
use super::app::App;
use super::error::{ApiError, ErrorCode};
use super::json;
use super::query::Query;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;
use super::schemas::PayingKey;
use crate::payment::receipt::{PaymentReceipt, SettledReceipt};

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/list-payments" => list_payments {
        Token, refuses [
            TokenMissing, ParameterUnrecognized, AccountFrozen, ParameterInvalid, PaymentNotFound, PaymentAccessDenied,
        ]
    }
}

/// A page of payments.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct PaymentList {
    /// Payments, newest first.
    #[cfg_attr(feature = "documents", schema(value_type = Vec<schemas::ListedPayment>))]
    payments: Vec<JsonObject>,
    /// Whether more payments follow.
    has_more: bool,
}

/// List the payments of the account
///
/// Every claimed payment, newest first, with its receipt and the current status of its product. A client that lost a
/// response finds here what it paid for. `status` is the status of the payment, `product_status` that of the product.
/// Codes, links, card numbers and tokens are left out.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/list-payments", operation_id = "listPayments", tag = "Account", security(("bearer" = [])),
    params(("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "The last `payment_id` of the page before.")),
    responses((status = 200, description = "`payments`, `has_more`.", body = PaymentList),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Frozen, or `starting_after` is another wallet's."),
        (status = 404, description = "`starting_after` is no payment."))))]
async fn list_payments(
    State(app): State<Arc<App>>,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["limit", "starting_after"])?;
    refuse_frozen(&app.engine, &claims).await?;
    let limit = usize::try_from(query.number("limit", 20, 1, 100)?).unwrap_or(20);
    let after = match query.get("starting_after") {
        None => None,
        Some(text) => Some(app.load_owned_payment(&claims.wallet, text).await?),
    };
    let found = app.engine.payments_of(&claims.wallet, after, limit).await;
    let (found, has_more) = found.map_err(|_| ApiError::internal())?;
    let mut payments = Vec::with_capacity(found.len());
    for (id, payment) in &found {
        payments.push(app.render_payment(*id, payment, claims.amr).await?);
    }
    Ok(json::private_ok(&PaymentList { payments, has_more }))
}

impl App {
    /// A cursor from another account would reveal when that account paid.
    async fn load_owned_payment(&self, wallet: &Wallet, text: &str) -> Result<PaymentId, ApiError> {
        let unknown = || ApiError::new(ErrorCode::PaymentNotFound, "There is no such payment.");
        let id: PaymentId = text.parse().map_err(|_| unknown())?;
        let payment = self.engine.payment(&id).await.map_err(|_| ApiError::internal())?;
        if payment.ok_or_else(unknown)?.account() == *wallet {
            return Ok(id);
        }
        let error = "This payment belongs to another wallet.";
        Err(ApiError::new(ErrorCode::PaymentAccessDenied, error))
    }

    async fn render_payment(
        &self,
        id: PaymentId,
        payment: &Payment,
        reader: AuthMethod,
    ) -> Result<JsonObject, ApiError> {
        let view = JsonObject::of(&payment.view(&id)).boolean("terminal", payment.is_final());
        let view = view.member("receipt", &receipt(payment));
        let view = with_product(&self.engine, view, payment, true).await?;
        let view = with_refund(&self.engine, view, id).await?;
        with_key(&self.engine, view, payment, reader).await
    }
}

/// Adds `refunded_usd_amount` if operators refunded the payment to the balance.
///
/// # Errors
/// 500 when storage fails.
pub(super) async fn with_refund(engine: &Engine, view: JsonObject, id: PaymentId) -> Result<JsonObject, ApiError> {
    let refund = engine.refund(&RefundId::for_payment(id)).await;
    Ok(match refund.map_err(|_| ApiError::internal())? {
        Some(refund) if refund.status == refund::Status::Credited => {
            view.number("refunded_usd_amount", refund.request.amount.decimal())
        }
        _ => view,
    })
}

/// Adds the API key whose token came with the payment, if one did. Agents see their own key only.
///
/// # Errors
/// 500 when storage fails.
pub(super) async fn with_key(
    engine: &Engine,
    view: JsonObject,
    payment: &Payment,
    reader: AuthMethod,
) -> Result<JsonObject, ApiError> {
    let presented = payment.claim.session.presented_key;
    let Some(api_key_id) = presented.filter(|key| sees_request_of(reader, Some(*key))) else {
        return Ok(view);
    };
    let key = engine.api_key(&api_key_id).await.map_err(|_| ApiError::internal())?;
    Ok(match key {
        Some(ApiKey { name, .. }) => view.member("api_key", &PayingKey { api_key_id, name }),
        None => view,
    })
}

/// Adds the product of a payment with its current status: its id under the contract's name, `product_status`, and
/// `credited_usd_amount` if part of the charge was credited to the balance. With `whole` also the product as its own
/// list shows it.
///
/// # Errors
/// 500 when storage fails.
pub(super) async fn with_product(
    engine: &Engine,
    view: JsonObject,
    payment: &Payment,
    whole: bool,
) -> Result<JsonObject, ApiError> {
    let product = match &payment.status {
        Status::Fulfilled { product, .. } => *product,
        // A settled payment without a product is credited in full.
        Status::Credited { .. } => return Ok(of_credit(view, None, payment.price())),
        _ => return Ok(view.optional_text("product_status", None::<&str>)),
    };
    let kind = product.product_type();
    let view = view.text(kind.id_field, product);
    let Some(bought) = engine.product(product).await.map_err(|_| ApiError::internal())? else {
        return Ok(view.optional_text("product_status", None::<&str>));
    };
    let view = of_credit(view, Some(bought.status), bought.credited());
    Ok(if whole {
        view.object(kind.field, &bought.view)
    } else {
        view
    })
}

fn of_credit(view: JsonObject, status: Option<&str>, credited: Usdc) -> JsonObject {
    let view = view.optional_text("product_status", status);
    if credited == Usdc::ZERO {
        return view;
    }
    view.number("credited_usd_amount", credited.decimal())
}

/// The contents of `PAYMENT-RESPONSE` when the payment settled.
fn receipt(payment: &Payment) -> Option<PaymentReceipt> {
    let landed = matches!(
        payment.status,
        Status::Settled { .. } | Status::Fulfilled { .. } | Status::Credited { .. } | Status::Resolved { .. }
    );
    let transaction = payment.transaction().filter(|_| landed)?;
    let settled = SettledReceipt {
        transaction,
        network: payment.claim.authorization.network(),
        payer: &payment.payer(),
        amount: payment.price(),
    };
    Some(settled.view())
}
