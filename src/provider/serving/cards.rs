//! Cards.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use purser_actors::port::IssueCard;
use utoipa::OpenApi;

use super::{Answered, Body, Key, answered, not_found};
use crate::provider::wire::Hidden;
use crate::provider::wire::cards::{Activity, BillingAddress, CardAnswer, CardOrder, Cvv};
use crate::provider::{Issuer, Providers};

type Served = State<Arc<dyn Issuer>>;

pub(super) fn router(providers: &Providers) -> Router {
    Router::new()
        .route("/cards", post(order_card))
        .route("/cards/{reference}", get(card_activity))
        .route("/cards/{reference}/cvv", get(card_cvv))
        .route("/billing-address", get(billing_address))
        .with_state(providers.issuer.clone())
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(order_card, card_activity, card_cvv, billing_address))]
    struct Cards;
    Cards::openapi()
}

/// Orders a card, or asks after an order
#[utoipa::path(post, path = "/v1/cards", tag = "cards", request_body = CardOrder,
    params(("Idempotency-Key" = String, Header, description = "The same key never makes a second card.")),
    responses((status = 200, description = "What became of the order.", body = CardAnswer)))]
async fn order_card(State(issuer): Served, Key(key): Key, Body(order): Body<CardOrder>) -> Answered<CardAnswer> {
    let order = IssueCard {
        key,
        card: order.card_id.0,
        amount: order.amount.0.0,
    };
    let said = issuer.issue(&order).await?;
    answered(CardAnswer::of(&order, said))
}

/// What became of a card's money
#[utoipa::path(get, path = "/v1/cards/{reference}", tag = "cards",
    params(("reference" = String, Path, description = "The issuer's name of the card.")),
    responses((status = 200, description = "Balance and purchases.", body = Activity)))]
async fn card_activity(State(issuer): Served, Path(reference): Path<String>) -> Answered<Activity> {
    let said = issuer.activity(&reference).await.map_err(not_found)?;
    answered(Activity::of(&reference, said))
}

/// A card's security code
#[utoipa::path(get, path = "/v1/cards/{reference}/cvv", tag = "cards",
    params(("reference" = String, Path, description = "The issuer's name of the card.")),
    responses((status = 200, description = "The code.", body = Cvv)))]
async fn card_cvv(State(issuer): Served, Path(reference): Path<String>) -> Answered<Cvv> {
    let cvv = issuer.cvv(&reference).await.map_err(not_found)?;
    answered(Cvv { cvv: Hidden(cvv) })
}

/// The billing address of this issuer's cards
#[utoipa::path(get, path = "/v1/billing-address", tag = "cards",
    responses((status = 200, description = "The same for every card.", body = BillingAddress)))]
async fn billing_address(State(issuer): Served) -> Answered<BillingAddress> {
    answered(issuer.billing_address().into())
}
