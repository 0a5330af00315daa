//! Routes of gift cards.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use utoipa::OpenApi;

use super::{IdempotencyKeyHeader, ProtocolBody, ProtocolQuery, ProtocolResult, ok};
use crate::provider::Providers;
use crate::provider::gift_cards::GiftCardApi;
use crate::provider::wire::gift_card_orders::{GiftCardOrderRequest, GiftCardOrderResponse};
use crate::provider::wire::gift_cards::{
    GiftCardProductList, GiftCardProductResponse, GiftCardQuery, GiftCardQuote, GiftCardQuoteQuery,
};

type ServerState = State<Arc<dyn GiftCardApi>>;

pub(super) fn router(providers: &Providers) -> Router {
    Router::new()
        .route("/gift-cards", get(search_gift_cards))
        .route("/gift-cards/{product_id}", get(gift_card_product))
        .route("/gift-cards/{product_id}/quote", get(gift_card_offer))
        .route("/gift-card-orders", post(order_gift_card))
        .with_state(providers.gift_cards.clone())
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(search_gift_cards, gift_card_product, gift_card_offer, order_gift_card))]
    struct ApiDoc;
    ApiDoc::openapi()
}

/// List the products that are offered now
#[utoipa::path(get, path = "/v1/gift-cards", operation_id = "searchGiftCards", tag = "Gift cards", params(GiftCardQuery),
    responses((status = 200, description = "One page of the list.", body = GiftCardProductList)))]
async fn search_gift_cards(
    State(catalog): ServerState,
    ProtocolQuery(query): ProtocolQuery<GiftCardQuery>,
) -> ProtocolResult<GiftCardProductList> {
    ok(GiftCardProductList::of(catalog.search(&query.into()).await?))
}

/// Return one product as it is offered now
#[utoipa::path(get, path = "/v1/gift-cards/{product_id}", operation_id = "getGiftCardProduct", tag = "Gift cards",
    params(("product_id" = String, Path, description = "The catalog's id of the product.")),
    responses((status = 200, description = "The product, or `null`.", body = GiftCardProductResponse)))]
async fn gift_card_product(
    State(catalog): ServerState,
    Path(product_id): Path<String>,
) -> ProtocolResult<GiftCardProductResponse> {
    let product = catalog.product(&product_id).await?.map(Into::into);
    ok(GiftCardProductResponse { product_id, product })
}

/// Quote a purchase: current stock and price; nothing is reserved
#[utoipa::path(get, path = "/v1/gift-cards/{product_id}/quote", operation_id = "quoteGiftCard", tag = "Gift cards",
    params(("product_id" = String, Path, description = "The catalog's id of the product."), GiftCardQuoteQuery),
    responses((status = 200, description = "Whether the purchase could be ordered.", body = GiftCardQuote)))]
async fn gift_card_offer(
    State(catalog): ServerState,
    Path(product_id): Path<String>,
    ProtocolQuery(query): ProtocolQuery<GiftCardQuoteQuery>,
) -> ProtocolResult<GiftCardQuote> {
    let said = catalog.offer(&product_id, &query.country, query.amount.0.0).await?;
    ok(said.into())
}

/// Order a gift card, or query an order
#[utoipa::path(post, path = "/v1/gift-card-orders", operation_id = "orderGiftCard", tag = "Gift cards", request_body = GiftCardOrderRequest,
    params(("Idempotency-Key" = String, Header, description = "The same key never creates a second gift card.")),
    responses((status = 200, description = "Result of the order.", body = GiftCardOrderResponse)))]
async fn order_gift_card(
    State(catalog): ServerState,
    IdempotencyKeyHeader(key): IdempotencyKeyHeader,
    ProtocolBody(order): ProtocolBody<GiftCardOrderRequest>,
) -> ProtocolResult<GiftCardOrderResponse> {
    let said = catalog.order(&order.clone().read(key)).await?;
    ok(GiftCardOrderResponse::of(order, said))
}
