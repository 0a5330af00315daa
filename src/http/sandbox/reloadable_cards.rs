//! The desk that steers the sandbox's card program, which keeps reloadable cards.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use crate::http::error::ApiError;
use crate::http::json;
use crate::provider::sandbox::card_balances::SandboxCardBalances;
use crate::provider::sandbox::fault_rules::FaultRule;
use crate::provider::sandbox::reloadable_cards::SandboxReloadableCards;
use crate::provider::sandbox::reloadable_cards::faults::ReloadableCardFault;

/// Longest delay that can be asked for, in milliseconds.
const MAX_DELAY_MS: u64 = 600_000;
/// Most faults waiting at once.
const MAX_FAULT_RULES: usize = 1_000;

/// What the route needs.
pub struct ReloadableCardControl {
    /// Keeps reloadable cards.
    pub reloadable_cards: Arc<SandboxReloadableCards<SandboxCardBalances>>,
    /// Largest body.
    pub max_body_bytes: usize,
    /// A body must arrive within this.
    pub body_timeout: Duration,
}

/// The operation of this room.
#[derive(OpenApi)]
#[openapi(paths(post_card_program))]
pub struct ApiDoc;

/// The route.
pub fn router(desk: Arc<ReloadableCardControl>) -> Router {
    Router::new()
        .route("/sandbox/card-program", post(post_card_program))
        .with_state(desk)
}

/// What is to go wrong.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ReloadableCardFaultRequest {
    /// What goes wrong.
    #[schema(inline)]
    fault: ReloadableCardFaultParam,
    /// How often; 1 if absent, 0 until cleared.
    times: Option<u32>,
    /// For `slow`: milliseconds; 3,000 if absent.
    delay_ms: Option<u64>,
}

/// What the program can be told.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ReloadableCardFaultParam {
    /// Answer nothing.
    Unreachable,
    /// Be slow.
    Slow,
    /// Answer nonsense and do nothing.
    MalformedResponse,
    /// Do it and lose the answer.
    Timeout,
    /// Refuse the next card or reservation.
    Decline,
    /// Forget every fault.
    Clear,
}

/// The program.
#[derive(Serialize, ToSchema)]
struct SandboxReloadableCardView {
    /// Cards opened.
    cards: u64,
    /// Faults waiting.
    #[schema(inline)]
    faults: Vec<PendingReloadableCardFault>,
    /// Calls that met a fault since the start.
    faults_injected: u64,
}

/// A fault waiting for a call.
#[derive(Serialize, ToSchema)]
struct PendingReloadableCardFault {
    /// Its name.
    fault: &'static str,
    /// How often it still happens; null until cleared.
    remaining: Option<u32>,
}

/// Make the card program misbehave
#[utoipa::path(post, path = "/sandbox/card-program", tag = "Sandbox", request_body = inline(ReloadableCardFaultRequest),
    responses((status = 200, description = "The program after it.", body = inline(SandboxReloadableCardView)),
        (status = 409, description = "Its provider is elsewhere.")))]
async fn post_card_program(State(desk): State<Arc<ReloadableCardControl>>, body: Body) -> Result<Response, ApiError> {
    let request: ReloadableCardFaultRequest = json::read(body, desk.max_body_bytes, desk.body_timeout).await?;
    let invalid = |param: &'static str, why: &str| {
        let error = format!("{param}: {why}");
        ApiError::parameter("parameter_invalid", param, error)
    };
    let ms = request.delay_ms.unwrap_or(3_000);
    if ms > MAX_DELAY_MS {
        return Err(invalid("delay_ms", "at most 600000"));
    }
    if request.delay_ms.is_some() && request.fault != ReloadableCardFaultParam::Slow {
        return Err(invalid("delay_ms", "only for slow"));
    }
    let fault = match request.fault {
        ReloadableCardFaultParam::Unreachable => Some(ReloadableCardFault::Unreachable),
        ReloadableCardFaultParam::Slow => Some(ReloadableCardFault::Slow { ms }),
        ReloadableCardFaultParam::MalformedResponse => Some(ReloadableCardFault::MalformedResponse),
        ReloadableCardFaultParam::Timeout => Some(ReloadableCardFault::Timeout),
        ReloadableCardFaultParam::Decline => Some(ReloadableCardFault::Decline),
        ReloadableCardFaultParam::Clear => None,
    };
    match fault {
        None => desk.reloadable_cards.clear_faults(),
        Some(_) if desk.reloadable_cards.state().rules.len() >= MAX_FAULT_RULES => {
            return Err(invalid("fault", "too many faults are waiting; clear them first"));
        }
        Some(fault) => {
            let remaining = match request.times {
                None => Some(1),
                Some(0) => None,
                some => some,
            };
            desk.reloadable_cards.add_fault(FaultRule { fault, remaining });
        }
    }
    let state = desk.reloadable_cards.state();
    let faults = state.rules.iter().map(|rule| PendingReloadableCardFault {
        fault: rule.fault.name(),
        remaining: rule.remaining,
    });
    Ok(json::ok(&SandboxReloadableCardView {
        cards: state.cards,
        faults: faults.collect(),
        faults_injected: state.faults_injected,
    }))
}
