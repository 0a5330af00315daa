//! The part of `/sandbox/*` for what is looked up: merchants, gift cards, exchange rates.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use utoipa::OpenApi;

use crate::http::error::ApiError;
use crate::http::json;
use crate::sandbox::control::catalogs::{
    CatalogControl, GiftCardControlRequest, MerchantFaultRequest, RateRequest, SandboxCatalogView,
};

/// What these routes need.
pub struct CatalogControlState {
    /// Merchants, gift cards, rates.
    pub control: CatalogControl,
    /// Largest body.
    pub max_body_bytes: usize,
    /// A body must arrive within this.
    pub body_timeout: Duration,
}

type SharedState = State<Arc<CatalogControlState>>;

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(get_catalogs, post_merchants, post_gift_cards, post_rates))]
pub struct ApiDoc;

/// The routes.
pub fn router(state: Arc<CatalogControlState>) -> Router {
    Router::new()
        .route("/sandbox/catalogs", get(get_catalogs))
        .route("/sandbox/merchants", post(post_merchants))
        .route("/sandbox/gift-cards", post(post_gift_cards))
        .route("/sandbox/rates", post(post_rates))
        .with_state(state)
}

impl CatalogControlState {
    async fn body<T: serde::de::DeserializeOwned>(&self, body: Body) -> Result<T, ApiError> {
        json::read(body, self.max_body_bytes, self.body_timeout).await
    }
}

/// Merchants, gift cards and rates at a glance
#[utoipa::path(get, path = "/sandbox/catalogs", tag = "Sandbox",
    responses((status = 200, description = "The simulated catalogs.", body = SandboxCatalogView)))]
async fn get_catalogs(State(sandbox): SharedState) -> Result<Response, ApiError> {
    Ok(json::ok(&sandbox.control.state().await?))
}

/// Make the directory of merchants misbehave
#[utoipa::path(post, path = "/sandbox/merchants", tag = "Sandbox", request_body = inline(MerchantFaultRequest),
    responses((status = 200, description = "The catalogs after it.", body = SandboxCatalogView),
        (status = 409, description = "Its provider is elsewhere.")))]
async fn post_merchants(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: MerchantFaultRequest = sandbox.body(body).await?;
    Ok(json::ok(&sandbox.control.set_merchant_fault(&request).await?))
}

/// Make the catalog of gift cards misbehave, sell out or change its price
#[utoipa::path(post, path = "/sandbox/gift-cards", tag = "Sandbox", request_body = inline(GiftCardControlRequest),
    responses((status = 200, description = "The catalogs after it.", body = SandboxCatalogView),
        (status = 409, description = "Its provider is elsewhere.")))]
async fn post_gift_cards(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: GiftCardControlRequest = sandbox.body(body).await?;
    Ok(json::ok(&sandbox.control.update_gift_cards(&request).await?))
}

/// Move an exchange rate, or let its source fall silent
#[utoipa::path(post, path = "/sandbox/rates", tag = "Sandbox", request_body = inline(RateRequest),
    responses((status = 200, description = "The catalogs after it.", body = SandboxCatalogView),
        (status = 409, description = "Its provider is elsewhere.")))]
async fn post_rates(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: RateRequest = sandbox.body(body).await?;
    Ok(json::ok(&sandbox.control.update_rates(&request).await?))
}
