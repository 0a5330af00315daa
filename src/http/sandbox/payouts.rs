//! The part of `/sandbox/*` for payouts: rails and bank destinations.

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
use crate::sandbox::control::payouts::{
    BankRecipientRequest, BankRecipientResponse, PayoutControl, PayoutControlRequest, SandboxPayoutView,
};

/// What these routes need.
pub struct PayoutControlState {
    /// Rails and destinations.
    pub control: PayoutControl,
    /// Largest body.
    pub max_body_bytes: usize,
    /// A body must arrive within this.
    pub body_timeout: Duration,
}

type SharedState = State<Arc<PayoutControlState>>;

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(get_payouts, post_payouts, post_bank_recipients))]
pub struct ApiDoc;

/// The routes.
pub fn router(state: Arc<PayoutControlState>) -> Router {
    Router::new()
        .route("/sandbox/payouts", get(get_payouts).post(post_payouts))
        .route("/sandbox/bank-recipients", post(post_bank_recipients))
        .with_state(state)
}

impl PayoutControlState {
    async fn body<T: serde::de::DeserializeOwned>(&self, body: Body) -> Result<T, ApiError> {
        json::read(body, self.max_body_bytes, self.body_timeout).await
    }
}

/// The payout rails at a glance
#[utoipa::path(get, path = "/sandbox/payouts", tag = "Sandbox",
    responses((status = 200, description = "The simulated rails.", body = SandboxPayoutView)))]
async fn get_payouts(State(sandbox): SharedState) -> Result<Response, ApiError> {
    Ok(json::ok(&sandbox.control.state().await?))
}

/// Make the payout rails misbehave, or say something of a payout
#[utoipa::path(post, path = "/sandbox/payouts", tag = "Sandbox", request_body = inline(PayoutControlRequest),
    responses((status = 200, description = "The rails after it.", body = SandboxPayoutView),
        (status = 409, description = "Its provider is elsewhere.")))]
async fn post_payouts(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: PayoutControlRequest = sandbox.body(body).await?;
    Ok(json::ok(&sandbox.control.apply(&request).await?))
}

/// Register a bank recipient with its destinations
#[utoipa::path(post, path = "/sandbox/bank-recipients", tag = "Sandbox", request_body = inline(BankRecipientRequest),
    responses((status = 200, description = "Its ids.", body = BankRecipientResponse)))]
async fn post_bank_recipients(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: BankRecipientRequest = sandbox.body(body).await?;
    Ok(json::ok(&sandbox.control.register(request).await?))
}
