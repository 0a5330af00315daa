//! Routes of rates and merchants.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use std::sync::Arc;
use utoipa::OpenApi;

use super::{ProtocolQuery, ProtocolResult, ok};
use crate::provider::Providers;
use crate::provider::merchants::MerchantDirectory;
use crate::provider::rates::RateSource;
use crate::provider::wire::reference_data;

pub(super) fn router(providers: &Providers) -> Router {
    let rates = Router::new()
        .route("/exchange-rates", get(exchange_rates))
        .with_state(providers.rates.clone());
    Router::new()
        .route("/merchants", get(search_merchants))
        .with_state(providers.merchants.clone())
        .merge(rates)
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(exchange_rates, search_merchants))]
    struct ApiDoc;
    ApiDoc::openapi()
}

/// Return the newest exchange rates
#[utoipa::path(get, path = "/v1/exchange-rates", operation_id = "getExchangeRates", tag = "Reference data",
    responses((status = 200, description = "Price of one unit of each currency in US dollars.", body = reference_data::ExchangeRates)))]
async fn exchange_rates(State(rates): State<Arc<dyn RateSource>>) -> ProtocolResult<reference_data::ExchangeRates> {
    let table = rates.current().await?;
    ok(reference_data::ExchangeRates::of(&table))
}

/// Search the merchant directory
#[utoipa::path(get, path = "/v1/merchants", operation_id = "searchMerchants", tag = "Reference data", params(reference_data::MerchantQuery),
    responses((status = 200, description = "One page of the list.", body = reference_data::MerchantList)))]
async fn search_merchants(
    State(merchants): State<Arc<dyn MerchantDirectory>>,
    ProtocolQuery(query): ProtocolQuery<reference_data::MerchantQuery>,
) -> ProtocolResult<reference_data::MerchantList> {
    let page = merchants.search(&query.read()?).await?;
    ok(reference_data::MerchantList::of(page))
}
