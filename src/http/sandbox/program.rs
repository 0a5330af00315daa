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
use crate::provider::sandbox::balances::SandboxBalances;
use crate::provider::sandbox::program::SandboxProgram;
use crate::provider::sandbox::program::fault::ProgramFault;
use crate::provider::sandbox::rules::Rule;

/// Longest delay that can be asked for, in milliseconds.
const LONGEST_MS: u64 = 600_000;
/// Most faults waiting at once.
const RULES_LIMIT: usize = 1_000;

/// What the route needs.
pub struct ProgramDesk {
    /// Keeps reloadable cards.
    pub program: Arc<SandboxProgram<SandboxBalances>>,
    /// Largest body.
    pub max_body_bytes: usize,
    /// A body must arrive within this.
    pub body_timeout: Duration,
}

/// The operation of this room.
#[derive(OpenApi)]
#[openapi(paths(post_card_program))]
pub struct Api;

/// The route.
pub fn router(desk: Arc<ProgramDesk>) -> Router {
    Router::new()
        .route("/sandbox/card-program", post(post_card_program))
        .with_state(desk)
}

/// What is to go wrong.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ProgramRequest {
    /// What goes wrong.
    #[schema(inline)]
    fault: FaultName,
    /// How often; 1 if absent, 0 until cleared.
    times: Option<u32>,
    /// For `slow`: milliseconds; 3,000 if absent.
    ms: Option<u64>,
}

/// What the program can be told.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum FaultName {
    /// Answer nothing.
    Unreachable,
    /// Be slow.
    Slow,
    /// Answer nonsense and do nothing.
    Garbage,
    /// Do it and lose the answer.
    Timeout,
    /// Refuse the next card or reservation.
    Decline,
    /// Forget every fault.
    Clear,
}

/// The program.
#[derive(Serialize, ToSchema)]
struct ProgramSeen {
    /// Cards opened.
    cards: u64,
    /// Faults waiting.
    #[schema(inline)]
    faults: Vec<ProgramFaultSeen>,
    /// Calls that met a fault since the start.
    faults_injected: u64,
}

/// A fault waiting for a call.
#[derive(Serialize, ToSchema)]
struct ProgramFaultSeen {
    /// Its name.
    fault: &'static str,
    /// How often it still happens; null until cleared.
    remaining: Option<u32>,
}

/// Make the card program misbehave
#[utoipa::path(post, path = "/sandbox/card-program", tag = "Sandbox", request_body = inline(ProgramRequest),
    responses((status = 200, description = "The program after it.", body = inline(ProgramSeen)),
        (status = 409, description = "Its provider is elsewhere.")))]
async fn post_card_program(State(desk): State<Arc<ProgramDesk>>, body: Body) -> Result<Response, ApiError> {
    let request: ProgramRequest = json::read(body, desk.max_body_bytes, desk.body_timeout).await?;
    let invalid = |param: &'static str, why: &str| {
        let error = format!("{param}: {why}");
        ApiError::parameter("parameter_invalid", param, error)
    };
    let ms = request.ms.unwrap_or(3_000);
    if ms > LONGEST_MS {
        return Err(invalid("ms", "at most 600000"));
    }
    if request.ms.is_some() && request.fault != FaultName::Slow {
        return Err(invalid("ms", "only for slow"));
    }
    let fault = match request.fault {
        FaultName::Unreachable => Some(ProgramFault::Unreachable),
        FaultName::Slow => Some(ProgramFault::Slow { ms }),
        FaultName::Garbage => Some(ProgramFault::Garbage),
        FaultName::Timeout => Some(ProgramFault::Timeout),
        FaultName::Decline => Some(ProgramFault::Decline),
        FaultName::Clear => None,
    };
    match fault {
        None => desk.program.clear_faults(),
        Some(_) if desk.program.state().rules.len() >= RULES_LIMIT => {
            return Err(invalid("fault", "too many faults are waiting; clear them first"));
        }
        Some(fault) => {
            let remaining = match request.times {
                None => Some(1),
                Some(0) => None,
                some => some,
            };
            desk.program.add_fault(Rule { fault, remaining });
        }
    }
    let state = desk.program.state();
    let faults = state.rules.iter().map(|rule| ProgramFaultSeen {
        fault: rule.fault.name(),
        remaining: rule.remaining,
    });
    Ok(json::ok(&ProgramSeen {
        cards: state.cards,
        faults: faults.collect(),
        faults_injected: state.faults_injected,
    }))
}
