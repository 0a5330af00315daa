//! Rates and merchants.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use std::sync::Arc;
use utoipa::OpenApi;

use super::{Answered, Query, answered};
use crate::provider::Providers;
use crate::provider::merchants::Merchants;
use crate::provider::rates::Rates;
use crate::provider::wire::tables;

pub(super) fn router(providers: &Providers) -> Router {
    let rates = Router::new()
        .route("/rates", get(exchange_rates))
        .with_state(providers.rates.clone());
    Router::new()
        .route("/merchants", get(search_merchants))
        .with_state(providers.merchants.clone())
        .merge(rates)
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(exchange_rates, search_merchants))]
    struct Tables;
    Tables::openapi()
}

/// The newest exchange rates
#[utoipa::path(get, path = "/v1/rates", tag = "tables",
    responses((status = 200, description = "What a unit of each currency costs.", body = tables::Rates)))]
async fn exchange_rates(State(rates): State<Arc<dyn Rates>>) -> Answered<tables::Rates> {
    let table = rates.current().await?;
    answered(tables::Rates::of(&table))
}

/// A page of merchants
#[utoipa::path(get, path = "/v1/merchants", tag = "tables", params(tables::MerchantQuery),
    responses((status = 200, description = "A page.", body = tables::Merchants)))]
async fn search_merchants(
    State(merchants): State<Arc<dyn Merchants>>,
    Query(query): Query<tables::MerchantQuery>,
) -> Answered<tables::Merchants> {
    let page = merchants.search(&query.read()?).await?;
    answered(tables::Merchants::of(page))
}
