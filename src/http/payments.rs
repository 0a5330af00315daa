//! `GET /list-payments`: what an account has paid, for whoever lost an answer.

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use axum::routing::get;
use purser_actors::engine::Engine;
use purser_actors::id::{PaymentId, Wallet};
use purser_actors::kernel::{Entity as _, View};
use purser_actors::payment::{Payment, Status};
use purser_actors::product::Product;
use utoipa::OpenApi;

use super::account::{Holder, active};
use super::error::ApiError;
use super::query::Query;
use super::{json, shapes};
use crate::payment::receipt::Settled;

/// What the route needs.
pub struct Payments {
    /// Reads them.
    pub engine: Engine,
}

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(list_payments))]
pub struct Api;

/// The route.
pub fn router(payments: Arc<Payments>) -> Router {
    Router::new()
        .route("/list-payments", get(list_payments))
        .with_state(payments)
}

/// What the account has paid
///
/// Every payment that was claimed, newest first, with what it bought as that stands now, and its receipt: a client that lost an
/// answer finds here what it paid for. No codes, links, card numbers or tokens.
#[utoipa::path(get, path = "/list-payments", tag = "Account", security(("bearer" = [])),
    params(("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "The last `payment_id` of the page before.")),
    responses((status = 200, description = "`payments`, `has_more`.", body = shapes::PaymentList),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Frozen, or `starting_after` is another wallet's."),
        (status = 404, description = "`starting_after` is no payment.")))]
async fn list_payments(
    State(payments): State<Arc<Payments>>,
    Holder(claims): Holder,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["limit", "starting_after"])?;
    active(&payments.engine, &claims).await?;
    let limit = usize::try_from(query.number("limit", 20, 1, 100)?).unwrap_or(20);
    let after = match query.get("starting_after") {
        None => None,
        Some(text) => Some(payments.own(&claims.wallet, text).await?),
    };
    let found = payments.engine.payments_of(&claims.wallet, after, limit).await;
    let (found, more) = found.map_err(|_| ApiError::internal())?;
    let mut shown = Vec::with_capacity(found.len());
    for (id, payment) in &found {
        shown.push(payments.shown(*id, payment).await?);
    }
    let body = View::new().list("payments", shown).flag("has_more", more);
    Ok(json::private(json::bytes_as_json(body.to_json())))
}

impl Payments {
    /// Another's place in time would tell when it paid.
    async fn own(&self, wallet: &Wallet, text: &str) -> Result<PaymentId, ApiError> {
        let unknown = || ApiError::not_found("payment_unknown", "There is no such payment.");
        let id: PaymentId = text.parse().map_err(|_| unknown())?;
        let payment = self.engine.payment(&id).await.map_err(|_| ApiError::internal())?;
        if payment.ok_or_else(unknown)?.account() == *wallet {
            return Ok(id);
        }
        let error = "This payment belongs to another wallet.";
        Err(ApiError::forbidden("payment_of_another", error))
    }

    async fn shown(&self, id: PaymentId, payment: &Payment) -> Result<View, ApiError> {
        let view = payment.view(&id).flag("terminal", payment.is_final());
        let view = match receipt(payment) {
            Some(receipt) => view.object("receipt", &receipt),
            None => view.maybe("receipt", None::<&str>),
        };
        match &payment.status {
            Status::Fulfilled { product, .. } => self.with_bought(view, *product).await,
            _ => Ok(view),
        }
    }

    /// As it stands now, as its own list shows it.
    async fn with_bought(&self, view: View, product: Product) -> Result<View, ApiError> {
        let failed = |_| ApiError::internal();
        let (name, bought) = match product {
            Product::Card(id) => {
                let card = self.engine.card(&id).await.map_err(failed)?;
                ("card", card.map(|card| card.view(&id)))
            }
            Product::GiftCard(id) => {
                let gift = self.engine.gift_card(&id).await.map_err(failed)?;
                ("gift_card", gift.map(|gift| gift.view(&id)))
            }
            Product::IntlOrder(id) => {
                let order = self.engine.intl_order(&id).await.map_err(failed)?;
                ("intl_card_order", order.map(|order| order.view(&id)))
            }
            Product::Payout(id) => {
                let payout = self.engine.payout(&id).await.map_err(failed)?;
                ("payout", payout.map(|payout| payout.view(&id)))
            }
            Product::TopUp(id) => {
                let top_up = self.engine.top_up(&id).await.map_err(failed)?;
                ("top_up", top_up.map(|top_up| top_up.view(&id)))
            }
        };
        let view = view.text(product.field(), product);
        Ok(match bought {
            Some(bought) => view.object(name, &bought),
            None => view,
        })
    }
}

/// What `PAYMENT-RESPONSE` said when the payment settled.
fn receipt(payment: &Payment) -> Option<View> {
    let landed = matches!(
        payment.status,
        Status::Settled { .. } | Status::Fulfilled { .. } | Status::Credited { .. } | Status::Resolved { .. }
    );
    let transaction = payment.transaction().filter(|_| landed)?;
    let settled = Settled {
        transaction,
        network: payment.claim.authorization.network(),
        payer: &payment.payer(),
        amount: payment.price(),
    };
    Some(settled.view())
}
