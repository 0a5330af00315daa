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
use crate::provider::sandbox::balances::SandboxBalances;
use crate::provider::sandbox::bridge::SandboxBridge;
use crate::provider::sandbox::bridge::fault::{BridgeFault, BridgeLeg, BridgeRule};

/// Longest delay that can be asked for, in milliseconds.
const LONGEST_MS: u64 = 600_000;
/// Most faults waiting at once.
const RULES_LIMIT: usize = 1_000;

/// What these routes need.
pub struct Crossings {
    /// Carries USDC from Solana to Base.
    pub bridge: Arc<SandboxBridge>,
    /// Keeps balances.
    pub balances: Arc<SandboxBalances>,
    /// Largest body.
    pub max_body_bytes: usize,
    /// A body must arrive within this.
    pub body_timeout: Duration,
}

type Shared = State<Arc<Crossings>>;

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(post_bridge, post_card_balances))]
pub struct Api;

/// The routes.
pub fn router(crossings: Arc<Crossings>) -> Router {
    Router::new()
        .route("/sandbox/bridge", post(post_bridge))
        .route("/sandbox/card-balances", post(post_card_balances))
        .with_state(crossings)
}

/// What is to go wrong.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BridgeRequest {
    /// Where; with `clear` nowhere.
    #[schema(inline)]
    leg: Option<LegName>,
    /// What goes wrong.
    #[schema(inline)]
    fault: FaultName,
    /// How often; 1 if absent, 0 until cleared.
    times: Option<u32>,
    /// For `slow`: milliseconds; 3,000 if absent.
    ms: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum LegName {
    Burn,
    Attestation,
    Mint,
}

/// What the bridge can be told.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum FaultName {
    /// Answer nothing.
    Unreachable,
    /// Be slow.
    Slow,
    /// Say that there were too many questions (429).
    RateLimited,
    /// Answer nonsense.
    Garbage,
    /// Do it and lose the answer.
    LoseAnswer,
    /// Do nothing and say nothing.
    Stall,
    /// Let what was signed lapse.
    Expire,
    /// Refuse for now.
    Refuse,
    /// Refuse for good.
    Fail,
    /// Forget every fault.
    Clear,
}

/// The bridge.
#[derive(Serialize, ToSchema)]
struct BridgeSeen {
    /// Burns that the attesters have seen.
    seen: u64,
    /// Faults waiting.
    #[schema(inline)]
    faults: Vec<BridgeFaultSeen>,
    /// Calls that met a fault since the start.
    faults_injected: u64,
}

/// A fault waiting for a call.
#[derive(Serialize, ToSchema)]
struct BridgeFaultSeen {
    /// Where.
    leg: &'static str,
    /// Its name.
    fault: &'static str,
    /// How often it still happens; null until cleared.
    remaining: Option<u32>,
}

/// Make the bridge misbehave
#[utoipa::path(post, path = "/sandbox/bridge", tag = "Sandbox", request_body = inline(BridgeRequest),
    responses((status = 200, description = "The bridge after it.", body = inline(BridgeSeen)),
        (status = 409, description = "Its provider is elsewhere.")))]
async fn post_bridge(State(crossings): Shared, body: Body) -> Result<Response, ApiError> {
    let request: BridgeRequest = crossings.body(body).await?;
    match rule(&request)? {
        None => crossings.bridge.clear_faults(),
        Some(_) if crossings.bridge.state().rules.len() >= RULES_LIMIT => {
            return Err(invalid("fault", "too many faults are waiting; clear them first"));
        }
        Some(rule) => crossings.bridge.add_fault(rule),
    }
    let state = crossings.bridge.state();
    let faults = state.rules.iter().map(|rule| BridgeFaultSeen {
        leg: rule.leg.name(),
        fault: rule.fault.name(),
        remaining: rule.remaining,
    });
    Ok(json::ok(&BridgeSeen {
        seen: state.seen,
        faults: faults.collect(),
        faults_injected: state.faults_injected,
    }))
}

/// `None` clears.
fn rule(request: &BridgeRequest) -> Result<Option<BridgeRule>, ApiError> {
    let ms = request.ms.unwrap_or(3_000);
    if ms > LONGEST_MS {
        return Err(invalid("ms", "at most 600000"));
    }
    if request.ms.is_some() && request.fault != FaultName::Slow {
        return Err(invalid("ms", "only for slow"));
    }
    let fault = match request.fault {
        FaultName::Unreachable => BridgeFault::Unreachable,
        FaultName::Slow => BridgeFault::Slow { ms },
        FaultName::RateLimited => BridgeFault::RateLimited,
        FaultName::Garbage => BridgeFault::Garbage,
        FaultName::LoseAnswer => BridgeFault::LoseAnswer,
        FaultName::Stall => BridgeFault::Stall,
        FaultName::Expire => BridgeFault::Expire,
        FaultName::Refuse => BridgeFault::Refuse,
        FaultName::Fail => BridgeFault::Fail,
        FaultName::Clear => return Ok(None),
    };
    let leg = match request.leg {
        Some(LegName::Burn) => BridgeLeg::Burn,
        Some(LegName::Attestation) => BridgeLeg::Attestation,
        Some(LegName::Mint) => BridgeLeg::Mint,
        None => return Err(invalid("leg", "one of: burn, attestation, mint")),
    };
    if !fault.fits(leg) {
        return Err(invalid("fault", "not on this leg"));
    }
    let remaining = match request.times {
        None => Some(1),
        Some(0) => None,
        some => some,
    };
    Ok(Some(BridgeRule { leg, fault, remaining }))
}

fn invalid(param: &'static str, message: &str) -> ApiError {
    ApiError::parameter("parameter_invalid", param, format!("{param}: {message}"))
}

impl Crossings {
    async fn body<T: serde::de::DeserializeOwned>(&self, body: Body) -> Result<T, ApiError> {
        json::read(body, self.max_body_bytes, self.body_timeout).await
    }
}

/// How the keeper of balances is to behave.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BalancesRequest {
    /// Whether deposits are held back from counting.
    hold_credits: Option<bool>,
    /// So many of its next calls find nobody.
    unreachable: Option<u32>,
}

/// What is true now.
#[derive(Serialize, ToSchema)]
struct Steered {
    /// Always true.
    success: bool,
}

/// Make the card issuer's balances misbehave
#[utoipa::path(post, path = "/sandbox/card-balances", tag = "Sandbox", request_body = inline(BalancesRequest),
    responses((status = 200, description = "Done.", body = inline(Steered)),
        (status = 409, description = "Its provider is elsewhere.")))]
async fn post_card_balances(State(crossings): Shared, body: Body) -> Result<Response, ApiError> {
    let request: BalancesRequest = crossings.body(body).await?;
    if let Some(held) = request.hold_credits {
        crossings.balances.hold_credits(held);
    }
    if let Some(times) = request.unreachable {
        crossings.balances.be_unreachable(times);
    }
    Ok(json::ok(&Steered { success: true }))
}
