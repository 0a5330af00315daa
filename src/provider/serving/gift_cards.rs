//! Gift cards.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use utoipa::OpenApi;

use super::{Answered, Body, Key, Query, answered};
use crate::provider::Providers;
use crate::provider::gift_cards::GiftCatalog;
use crate::provider::wire::gift_cards::{GiftQuery, MaybeProduct, OfferAnswer, OfferQuery, Products};
use crate::provider::wire::gift_orders::{GiftOrder, GiftOrderAnswer};

type Served = State<Arc<dyn GiftCatalog>>;

pub(super) fn router(providers: &Providers) -> Router {
    Router::new()
        .route("/gift-cards", get(search_gift_cards))
        .route("/gift-cards/{product_id}", get(gift_card_product))
        .route("/gift-cards/{product_id}/offer", get(gift_card_offer))
        .route("/gift-card-orders", post(order_gift_card))
        .with_state(providers.gift_cards.clone())
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(search_gift_cards, gift_card_product, gift_card_offer, order_gift_card))]
    struct GiftCards;
    GiftCards::openapi()
}

/// A page of what is offered now
#[utoipa::path(get, path = "/v1/gift-cards", tag = "gift cards", params(GiftQuery),
    responses((status = 200, description = "A page.", body = Products)))]
async fn search_gift_cards(State(catalog): Served, Query(query): Query<GiftQuery>) -> Answered<Products> {
    answered(Products::of(catalog.search(&query.into()).await?))
}

/// One product as it is offered now
#[utoipa::path(get, path = "/v1/gift-cards/{product_id}", tag = "gift cards",
    params(("product_id" = String, Path, description = "The catalog's name of it.")),
    responses((status = 200, description = "It, or none.", body = MaybeProduct)))]
async fn gift_card_product(State(catalog): Served, Path(product_id): Path<String>) -> Answered<MaybeProduct> {
    let product = catalog.product(&product_id).await?.map(Into::into);
    answered(MaybeProduct { product_id, product })
}

/// Stock and price of a purchase at this moment; nothing is reserved
#[utoipa::path(get, path = "/v1/gift-cards/{product_id}/offer", tag = "gift cards",
    params(("product_id" = String, Path, description = "The catalog's name of it."), OfferQuery),
    responses((status = 200, description = "Whether it could be ordered.", body = OfferAnswer)))]
async fn gift_card_offer(
    State(catalog): Served,
    Path(product_id): Path<String>,
    Query(query): Query<OfferQuery>,
) -> Answered<OfferAnswer> {
    let said = catalog.offer(&product_id, &query.country, query.amount.0.0).await?;
    answered(said.into())
}

/// Orders a gift card, or asks after an order
#[utoipa::path(post, path = "/v1/gift-card-orders", tag = "gift cards", request_body = GiftOrder,
    params(("Idempotency-Key" = String, Header, description = "The same key never makes a second gift card.")),
    responses((status = 200, description = "What became of the order.", body = GiftOrderAnswer)))]
async fn order_gift_card(
    State(catalog): Served,
    Key(key): Key,
    Body(order): Body<GiftOrder>,
) -> Answered<GiftOrderAnswer> {
    let said = catalog.order(&order.clone().read(key)).await?;
    answered(GiftOrderAnswer::of(order, said))
}
