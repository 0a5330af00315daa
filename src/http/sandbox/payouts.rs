//! Sandbox controls of payouts: payout rails and bank destinations.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;

use super::{SandboxApp, answer};
use crate::http::error::ApiError;
use crate::http::route::routes;
use crate::provider::sandbox::control::payouts::{BankRecipientRequest, PayoutControlRequest};
#[cfg(feature = "documents")]
use crate::provider::sandbox::control::payouts::{BankRecipientResponse, SandboxPayoutView};

type SharedState = State<Arc<SandboxApp>>;

routes! { pub static ROUTES: Arc<SandboxApp>, openapi;
    GET "/sandbox/payouts" => get_payouts { Sandbox }
    POST "/sandbox/payouts" => post_payouts { Sandbox, control(), refuses [ProviderIsRemote] }
    POST "/sandbox/bank-recipients" => post_bank_recipients { Sandbox, control() }
}

/// Read the state of the payout rails
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/sandbox/payouts", operation_id = "getSandboxPayouts", tag = "Sandbox",
    responses((status = 200, description = "The simulated rails.", body = SandboxPayoutView))))]
async fn get_payouts(State(sandbox): SharedState) -> Result<Response, ApiError> {
    answer(sandbox.payouts.state().await)
}

/// Inject a fault into the payout rails, or emit a payout event
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/payouts", operation_id = "emitSandboxPayoutEvent", tag = "Sandbox", request_body = inline(PayoutControlRequest),
    responses((status = 200, description = "The rails after it.", body = SandboxPayoutView),
        (status = 409, description = "The provider is remote."))))]
async fn post_payouts(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: PayoutControlRequest = sandbox.shared.body(body).await?;
    answer(sandbox.payouts.apply(&request).await)
}

/// Register a bank recipient with its destinations
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/bank-recipients", operation_id = "createSandboxBankRecipient", tag = "Sandbox", request_body = inline(BankRecipientRequest),
    responses((status = 200, description = "Its ids.", body = BankRecipientResponse))))]
async fn post_bank_recipients(State(sandbox): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: BankRecipientRequest = sandbox.shared.body(body).await?;
    answer(sandbox.payouts.register(request).await)
}
