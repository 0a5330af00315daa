//! Sandbox controls of the merchant directory, the gift card catalog and the exchange rates.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;

use crate::http::error::ApiError;
use crate::http::json;
use crate::http::route::routes;
use crate::sandbox::control::catalogs::{
    CatalogControl, GiftCardControlRequest, MerchantFaultRequest, RateRequest, SandboxCatalogView,
};

pub struct CatalogControlState {
    /// Controls of the merchant directory, gift card catalog and rates.
    pub control: CatalogControl,
    pub max_body_bytes: usize,
    /// Timeout for receiving a body.
    pub body_timeout: Duration,
}

type SharedState = State<Arc<CatalogControlState>>;

routes! { pub static ROUTES: Arc<CatalogControlState>, openapi;
    GET "/sandbox/catalogs" => get_catalogs { Sandbox }
    POST "/sandbox/merchants" => post_merchants { Sandbox, control(), refuses [ProviderIsRemote] }
    POST "/sandbox/gift-cards" => post_gift_cards { Sandbox, control(), refuses [ProviderIsRemote] }
    POST "/sandbox/rates" => post_rates { Sandbox, control(), refuses [ProviderIsRemote] }
}

impl CatalogControlState {
    async fn body<T: serde::de::DeserializeOwned>(&self, body: Body) -> Result<T, ApiError> {
        json::read(body, self.max_body_bytes, self.body_timeout).await
    }
}

/// Read the state of merchants, gift cards and rates
#[utoipa::path(get, path = "/sandbox/catalogs", operation_id = "getSandboxCatalogs", tag = "Sandbox",
    responses((status = 200, description = "The simulated catalogs.", body = SandboxCatalogView)))]
async fn get_catalogs(State(sandbox): SharedState) -> Result<Response, ApiError> {
    Ok(json::ok(&sandbox.control.state().await?))
}

/// Inject a fault into the merchant directory
#[utoipa::path(post, path = "/sandbox/merchants", operation_id = "injectMerchantFault", tag = "Sandbox", request_body = inline(MerchantFaultRequest),
    responses((status = 200, description = "The catalogs after it.", body = SandboxCatalogView),
        (status = 409, description = "The provider is remote.")))]
async fn post_merchants(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: MerchantFaultRequest = sandbox.body(body).await?;
    Ok(json::ok(&sandbox.control.set_merchant_fault(&request).await?))
}

/// Inject a fault into the gift card catalog, or change stock or price
#[utoipa::path(post, path = "/sandbox/gift-cards", operation_id = "updateSandboxGiftCards", tag = "Sandbox", request_body = inline(GiftCardControlRequest),
    responses((status = 200, description = "The catalogs after it.", body = SandboxCatalogView),
        (status = 409, description = "The provider is remote.")))]
async fn post_gift_cards(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: GiftCardControlRequest = sandbox.body(body).await?;
    Ok(json::ok(&sandbox.control.update_gift_cards(&request).await?))
}

/// Change an exchange rate, or stop its source
#[utoipa::path(post, path = "/sandbox/rates", operation_id = "updateSandboxRates", tag = "Sandbox", request_body = inline(RateRequest),
    responses((status = 200, description = "The catalogs after it.", body = SandboxCatalogView),
        (status = 409, description = "The provider is remote.")))]
async fn post_rates(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: RateRequest = sandbox.body(body).await?;
    Ok(json::ok(&sandbox.control.update_rates(&request).await?))
}
