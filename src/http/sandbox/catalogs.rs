//! Sandbox controls of the merchant directory, the gift card catalog and the exchange rates.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;

use super::{SandboxApp, answer};
use crate::http::error::ApiError;
use crate::http::route::routes;
#[cfg(feature = "documents")]
use crate::provider::sandbox::control::catalogs::SandboxCatalogView;
use crate::provider::sandbox::control::catalogs::{GiftCardControlRequest, MerchantFaultRequest, RateRequest};

type SharedState = State<Arc<SandboxApp>>;

routes! { pub static ROUTES: Arc<SandboxApp>, openapi;
    GET "/sandbox/catalogs" => get_catalogs { Sandbox }
    POST "/sandbox/merchants" => post_merchants { Sandbox, control(), refuses [ProviderIsRemote] }
    POST "/sandbox/gift-cards" => post_gift_cards { Sandbox, control(), refuses [ProviderIsRemote] }
    POST "/sandbox/rates" => post_rates { Sandbox, control(), refuses [ProviderIsRemote] }
}

/// Read the state of merchants, gift cards and rates
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/sandbox/catalogs", operation_id = "getSandboxCatalogs", tag = "Sandbox",
    responses((status = 200, description = "The simulated catalogs.", body = SandboxCatalogView))))]
async fn get_catalogs(State(sandbox): SharedState) -> Result<Response, ApiError> {
    answer(sandbox.catalogs.state().await)
}

/// Inject a fault into the merchant directory
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/merchants", operation_id = "injectMerchantFault", tag = "Sandbox", request_body = inline(MerchantFaultRequest),
    responses((status = 200, description = "The catalogs after it.", body = SandboxCatalogView),
        (status = 409, description = "The provider is remote."))))]
async fn post_merchants(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: MerchantFaultRequest = sandbox.shared.body(body).await?;
    answer(sandbox.catalogs.set_merchant_fault(&request).await)
}

/// Inject a fault into the gift card catalog, or change stock or price
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/gift-cards", operation_id = "updateSandboxGiftCards", tag = "Sandbox", request_body = inline(GiftCardControlRequest),
    responses((status = 200, description = "The catalogs after it.", body = SandboxCatalogView),
        (status = 409, description = "The provider is remote."))))]
async fn post_gift_cards(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: GiftCardControlRequest = sandbox.shared.body(body).await?;
    answer(sandbox.catalogs.update_gift_cards(&request).await)
}

/// Change an exchange rate, or stop its source
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/rates", operation_id = "updateSandboxRates", tag = "Sandbox", request_body = inline(RateRequest),
    responses((status = 200, description = "The catalogs after it.", body = SandboxCatalogView),
        (status = 409, description = "The provider is remote."))))]
async fn post_rates(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: RateRequest = sandbox.shared.body(body).await?;
    answer(sandbox.catalogs.update_rates(&request).await)
}
