//! Controls of the sandbox bridge and of the balances at the sandbox card issuer.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::super::error::{ApiError, ErrorCode};
use super::super::json;
use super::ProviderControls;
use crate::http::route::routes;
use crate::provider::sandbox::bridge::faults::BridgeLeg;
use crate::sandbox::faults::Fault;

const MAX_DELAY_MS: u64 = 600_000;

type SharedState = State<Arc<ProviderControls>>;

routes! { pub static ROUTES: Arc<ProviderControls>, openapi;
    POST "/sandbox/bridge" => post_bridge { Sandbox, control(), refuses [ProviderIsRemote] }
    POST "/sandbox/card-balances" => post_card_balances { Sandbox, control(), refuses [ProviderIsRemote] }
}

/// Fault to inject into the bridge.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct BridgeFaultRequest {
    /// Leg that fails. Required except with `clear`.
    #[cfg_attr(feature = "documents", schema(inline))]
    operation: Option<BridgeLegParam>,
    /// Fault to inject.
    #[cfg_attr(feature = "documents", schema(inline))]
    fault: BridgeFaultParam,
    /// Number of occurrences; 1 if absent, 0 until cleared.
    times: Option<u32>,
    /// For `slow`: delay in milliseconds; 3,000 if absent.
    delay_ms: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum BridgeLegParam {
    Burn,
    Attestation,
    Mint,
}

purser_sandbox::fault_params! {
    /// Faults of the bridge.
    enum BridgeFaultParam { RateLimited, MalformedResponse, LoseResponse, Stall, Expire, RetryableDecline, Decline; }
}

/// Summary of the sandbox bridge.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SandboxBridgeView {
    /// Number of burns that the attesters know.
    burns: u64,
    /// Faults that wait for a call.
    #[cfg_attr(feature = "documents", schema(inline))]
    faults: Vec<PendingBridgeFault>,
    /// Faults injected since startup.
    faults_injected: u64,
}

/// A fault that waits for a call.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct PendingBridgeFault {
    /// Leg of the fault.
    leg: &'static str,
    /// Name of the fault.
    fault: &'static str,
    /// Remaining occurrences; null until cleared.
    remaining: Option<u32>,
}

/// Inject a fault into the bridge
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/bridge", operation_id = "injectBridgeFault", tag = "Sandbox", request_body = inline(BridgeFaultRequest),
    responses((status = 200, description = "The bridge after it.", body = inline(SandboxBridgeView)),
        (status = 409, description = "The provider is remote."))))]
async fn post_bridge(State(controls): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: BridgeFaultRequest = controls.body(body).await?;
    let faults = &controls.providers.bridge.faults;
    let requested = requested(&request)?;
    if !faults.set(
        requested.map(|(leg, _)| leg),
        requested.map(|(_, fault)| fault),
        request.times,
    ) {
        return Err(invalid("fault", "too many faults are waiting; clear them first"));
    }
    let (waiting, faults_injected) = (faults.waiting(), faults.injected());
    let faults = waiting.iter().map(|rule| PendingBridgeFault {
        leg: rule.scope.map_or("", BridgeLeg::name),
        fault: rule.fault.name(),
        remaining: rule.remaining,
    });
    Ok(json::ok(&SandboxBridgeView {
        burns: controls.providers.bridge.burns(),
        faults: faults.collect(),
        faults_injected,
    }))
}

/// Returns `None` for `clear`.
fn requested(request: &BridgeFaultRequest) -> Result<Option<(BridgeLeg, Fault)>, ApiError> {
    let ms = request.delay_ms.unwrap_or(3_000);
    if ms > MAX_DELAY_MS {
        return Err(invalid("delay_ms", "at most 600000"));
    }
    if request.delay_ms.is_some() && request.fault != BridgeFaultParam::Slow {
        return Err(invalid("delay_ms", "only for slow"));
    }
    let Some(fault) = request.fault.fault(ms) else {
        return Ok(None);
    };
    let leg = match request.operation {
        Some(BridgeLegParam::Burn) => BridgeLeg::Burn,
        Some(BridgeLegParam::Attestation) => BridgeLeg::Attestation,
        Some(BridgeLegParam::Mint) => BridgeLeg::Mint,
        None => return Err(invalid("operation", "one of: burn, attestation, mint")),
    };
    if !leg.meets(fault) {
        return Err(invalid("fault", "not for this operation"));
    }
    Ok(Some((leg, fault)))
}

fn invalid(param: &'static str, message: &str) -> ApiError {
    ApiError::parameter(ErrorCode::ParameterInvalid, param, format!("{param}: {message}"))
}

/// Faults of the balances at the card issuer.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct CardBalanceFaultRequest {
    /// Whether deposits are held back from the balances.
    hold_credits: Option<bool>,
    /// Number of next calls that get no answer.
    unreachable: Option<u32>,
}

/// Result of the request.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ControlResponse {
    /// Always true on success.
    success: bool,
}

/// Inject faults into the card issuer's balances
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/card-balances", operation_id = "injectCardBalanceFault", tag = "Sandbox", request_body = inline(CardBalanceFaultRequest),
    responses((status = 200, description = "Done.", body = inline(ControlResponse)),
        (status = 409, description = "The provider is remote."))))]
async fn post_card_balances(State(controls): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: CardBalanceFaultRequest = controls.body(body).await?;
    if let Some(held) = request.hold_credits {
        controls.providers.balances.hold_credits(held);
    }
    if let Some(times) = request.unreachable {
        controls.providers.balances.set_unreachable(times);
    }
    Ok(json::ok(&ControlResponse { success: true }))
}
