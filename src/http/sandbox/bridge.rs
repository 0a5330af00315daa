//! The desk that steers the sandbox's bridge and the balances at its card issuer.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::super::error::ApiError;
use super::super::json;
use crate::provider::sandbox::bridge::SandboxBridge;
use crate::provider::sandbox::bridge::faults::{BridgeFault, BridgeFaultRule, BridgeLeg};
use crate::provider::sandbox::card_balances::SandboxCardBalances;

/// Longest delay that can be asked for, in milliseconds.
const MAX_DELAY_MS: u64 = 600_000;
/// Most faults waiting at once.
const MAX_FAULT_RULES: usize = 1_000;

/// What these routes need.
pub struct BridgeControl {
    /// Carries USDC from Solana to Base.
    pub bridge: Arc<SandboxBridge>,
    /// Keeps balances.
    pub balances: Arc<SandboxCardBalances>,
    /// Largest body.
    pub max_body_bytes: usize,
    /// A body must arrive within this.
    pub body_timeout: Duration,
}

type SharedState = State<Arc<BridgeControl>>;

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(post_bridge, post_card_balances))]
pub struct ApiDoc;

/// The routes.
pub fn router(crossings: Arc<BridgeControl>) -> Router {
    Router::new()
        .route("/sandbox/bridge", post(post_bridge))
        .route("/sandbox/card-balances", post(post_card_balances))
        .with_state(crossings)
}

/// What is to go wrong.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BridgeFaultRequest {
    /// Where; with `clear` nowhere.
    #[schema(inline)]
    operation: Option<BridgeLegParam>,
    /// What goes wrong.
    #[schema(inline)]
    fault: BridgeFaultParam,
    /// How often; 1 if absent, 0 until cleared.
    times: Option<u32>,
    /// For `slow`: milliseconds; 3,000 if absent.
    delay_ms: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum BridgeLegParam {
    Burn,
    Attestation,
    Mint,
}

/// What the bridge can be told.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum BridgeFaultParam {
    /// Answer nothing.
    Unreachable,
    /// Be slow.
    Slow,
    /// Say that there were too many questions (429).
    RateLimited,
    /// Answer nonsense.
    MalformedResponse,
    /// Do it and lose the answer.
    LoseResponse,
    /// Do nothing and say nothing.
    Stall,
    /// Let what was signed lapse.
    Expire,
    /// Refuse for now.
    RetryableDecline,
    /// Refuse for good.
    Decline,
    /// Forget every fault.
    Clear,
}

/// The bridge.
#[derive(Serialize, ToSchema)]
struct SandboxBridgeView {
    /// Burns that the attesters have seen.
    burns: u64,
    /// Faults waiting.
    #[schema(inline)]
    faults: Vec<PendingBridgeFault>,
    /// Calls that met a fault since the start.
    faults_injected: u64,
}

/// A fault waiting for a call.
#[derive(Serialize, ToSchema)]
struct PendingBridgeFault {
    /// Where.
    leg: &'static str,
    /// Its name.
    fault: &'static str,
    /// How often it still happens; null until cleared.
    remaining: Option<u32>,
}

/// Make the bridge misbehave
#[utoipa::path(post, path = "/sandbox/bridge", tag = "Sandbox", request_body = inline(BridgeFaultRequest),
    responses((status = 200, description = "The bridge after it.", body = inline(SandboxBridgeView)),
        (status = 409, description = "Its provider is elsewhere.")))]
async fn post_bridge(State(crossings): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: BridgeFaultRequest = crossings.body(body).await?;
    match rule(&request)? {
        None => crossings.bridge.clear_faults(),
        Some(_) if crossings.bridge.state().rules.len() >= MAX_FAULT_RULES => {
            return Err(invalid("fault", "too many faults are waiting; clear them first"));
        }
        Some(rule) => crossings.bridge.add_fault(rule),
    }
    let state = crossings.bridge.state();
    let faults = state.rules.iter().map(|rule| PendingBridgeFault {
        leg: rule.leg.name(),
        fault: rule.fault.name(),
        remaining: rule.remaining,
    });
    Ok(json::ok(&SandboxBridgeView {
        burns: state.burns,
        faults: faults.collect(),
        faults_injected: state.faults_injected,
    }))
}

/// `None` clears.
fn rule(request: &BridgeFaultRequest) -> Result<Option<BridgeFaultRule>, ApiError> {
    let ms = request.delay_ms.unwrap_or(3_000);
    if ms > MAX_DELAY_MS {
        return Err(invalid("delay_ms", "at most 600000"));
    }
    if request.delay_ms.is_some() && request.fault != BridgeFaultParam::Slow {
        return Err(invalid("delay_ms", "only for slow"));
    }
    let fault = match request.fault {
        BridgeFaultParam::Unreachable => BridgeFault::Unreachable,
        BridgeFaultParam::Slow => BridgeFault::Slow { ms },
        BridgeFaultParam::RateLimited => BridgeFault::RateLimited,
        BridgeFaultParam::MalformedResponse => BridgeFault::MalformedResponse,
        BridgeFaultParam::LoseResponse => BridgeFault::LoseResponse,
        BridgeFaultParam::Stall => BridgeFault::Stall,
        BridgeFaultParam::Expire => BridgeFault::Expire,
        BridgeFaultParam::RetryableDecline => BridgeFault::RetryableDecline,
        BridgeFaultParam::Decline => BridgeFault::Decline,
        BridgeFaultParam::Clear => return Ok(None),
    };
    let leg = match request.operation {
        Some(BridgeLegParam::Burn) => BridgeLeg::Burn,
        Some(BridgeLegParam::Attestation) => BridgeLeg::Attestation,
        Some(BridgeLegParam::Mint) => BridgeLeg::Mint,
        None => return Err(invalid("operation", "one of: burn, attestation, mint")),
    };
    if !fault.fits(leg) {
        return Err(invalid("fault", "not for this operation"));
    }
    let remaining = match request.times {
        None => Some(1),
        Some(0) => None,
        some => some,
    };
    Ok(Some(BridgeFaultRule { leg, fault, remaining }))
}

fn invalid(param: &'static str, message: &str) -> ApiError {
    ApiError::parameter("parameter_invalid", param, format!("{param}: {message}"))
}

impl BridgeControl {
    async fn body<T: serde::de::DeserializeOwned>(&self, body: Body) -> Result<T, ApiError> {
        json::read(body, self.max_body_bytes, self.body_timeout).await
    }
}

/// How the keeper of balances is to behave.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CardBalanceFaultRequest {
    /// Whether deposits are held back from counting.
    hold_credits: Option<bool>,
    /// So many of its next calls find nobody.
    unreachable: Option<u32>,
}

/// What is true now.
#[derive(Serialize, ToSchema)]
struct ControlResponse {
    /// Always true.
    success: bool,
}

/// Make the card issuer's balances misbehave
#[utoipa::path(post, path = "/sandbox/card-balances", tag = "Sandbox", request_body = inline(CardBalanceFaultRequest),
    responses((status = 200, description = "Done.", body = inline(ControlResponse)),
        (status = 409, description = "Its provider is elsewhere.")))]
async fn post_card_balances(State(crossings): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: CardBalanceFaultRequest = crossings.body(body).await?;
    if let Some(held) = request.hold_credits {
        crossings.balances.hold_credits(held);
    }
    if let Some(times) = request.unreachable {
        crossings.balances.set_unreachable(times);
    }
    Ok(json::ok(&ControlResponse { success: true }))
}
