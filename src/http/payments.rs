//! `GET /list-payments`: the payments of an account, for a client that lost a response; and the rendering of a
//! payment's product.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use purser_actors::engine::Engine;
use purser_actors::id::{PaymentId, Wallet};
use purser_actors::kernel::{Entity, JsonObject};
use purser_actors::money::Usdc;
use purser_actors::payment::{Payment, Status};
use purser_actors::product::PurchasedProduct;

use super::account::{BearerClaims, authenticated_account};
use super::app::App;
use super::error::{ApiError, ErrorCode};
use super::query::Query;
use super::route::routes;
use super::{json, schemas};
use crate::payment::receipt::SettledReceipt;

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/list-payments" => list_payments {
        Token, refuses [
            TokenMissing, ParameterUnrecognized, AccountFrozen, ParameterInvalid, PaymentNotFound, PaymentAccessDenied,
        ]
    }
}

/// List the payments of the account
///
/// Every claimed payment, newest first, with its receipt and the current status of its product. A client that lost a
/// response finds here what it paid for. `status` is the status of the payment, `product_status` that of the product.
/// Codes, links, card numbers and tokens are left out.
#[utoipa::path(get, path = "/list-payments", operation_id = "listPayments", tag = "Account", security(("bearer" = [])),
    params(("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "The last `payment_id` of the page before.")),
    responses((status = 200, description = "`payments`, `has_more`.", body = schemas::PaymentList),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Frozen, or `starting_after` is another wallet's."),
        (status = 404, description = "`starting_after` is no payment.")))]
async fn list_payments(
    State(payments): State<Arc<App>>,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["limit", "starting_after"])?;
    authenticated_account(&payments.engine, &claims).await?;
    let limit = usize::try_from(query.number("limit", 20, 1, 100)?).unwrap_or(20);
    let after = match query.get("starting_after") {
        None => None,
        Some(text) => Some(payments.load_owned_payment(&claims.wallet, text).await?),
    };
    let found = payments.engine.payments_of(&claims.wallet, after, limit).await;
    let (found, more) = found.map_err(|_| ApiError::internal())?;
    let mut shown = Vec::with_capacity(found.len());
    for (id, payment) in &found {
        shown.push(payments.render_payment(*id, payment).await?);
    }
    let body = JsonObject::new().list("payments", shown).boolean("has_more", more);
    Ok(json::private(json::bytes_as_json(body.to_json())))
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

    async fn render_payment(&self, id: PaymentId, payment: &Payment) -> Result<JsonObject, ApiError> {
        let view = payment.view(&id).boolean("terminal", payment.is_final());
        let view = match receipt(payment) {
            Some(receipt) => view.object("receipt", &receipt),
            None => view.optional_text("receipt", None::<&str>),
        };
        with_product(&self.engine, view, payment, true).await
    }
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
    let view = view.text(product.field(), product);
    let Some(bought) = PaymentProduct::read(engine, product).await? else {
        return Ok(view.optional_text("product_status", None::<&str>));
    };
    let view = of_credit(view, Some(bought.status), bought.credited);
    Ok(if whole {
        view.object(bought.name, &bought.view)
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

/// The product of a payment, with its current status.
struct PaymentProduct {
    /// Name of its member.
    name: &'static str,
    status: &'static str,
    /// Part of the charge that was credited to the balance.
    credited: Usdc,
    /// The product as its own list shows it.
    view: JsonObject,
}

impl PaymentProduct {
    fn of<E: Entity>(name: &'static str, id: &E::Id, product: &E, credited: Usdc) -> Self {
        Self {
            name,
            status: product.status(),
            credited,
            view: product.view(id),
        }
    }

    async fn read(engine: &Engine, product: PurchasedProduct) -> Result<Option<Self>, ApiError> {
        let failed = |_| ApiError::internal();
        let none = Usdc::ZERO;
        Ok(match product {
            PurchasedProduct::Card(id) => {
                let card = engine.card(&id).await.map_err(failed)?;
                card.map(|card| Self::of("card", &id, &card, card.credited()))
            }
            PurchasedProduct::GiftCard(id) => {
                let gift = engine.gift_card(&id).await.map_err(failed)?;
                gift.map(|gift| Self::of("gift_card", &id, &gift, gift.credited()))
            }
            PurchasedProduct::IntlOrder(id) => {
                let order = engine.intl_order(&id).await.map_err(failed)?;
                order.map(|order| Self::of("intl_card_order", &id, &order, order.credited()))
            }
            PurchasedProduct::Payout(id) => {
                let payout = engine.payout(&id).await.map_err(failed)?;
                payout.map(|payout| Self::of("payout", &id, &payout, payout.credited().unwrap_or(none)))
            }
            PurchasedProduct::TopUp(id) => {
                let top_up = engine.top_up(&id).await.map_err(failed)?;
                top_up.map(|top_up| Self::of("top_up", &id, &top_up, top_up.credited()))
            }
        })
    }
}

/// The contents of `PAYMENT-RESPONSE` when the payment settled.
fn receipt(payment: &Payment) -> Option<JsonObject> {
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
