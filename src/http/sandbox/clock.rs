//! `/sandbox/time`: the test clock, which can be advanced.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::answer::rfc3339;
use purser_actors::port::Clock as _;
use serde::{Deserialize, Serialize};

use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::route::routes;
use crate::sandbox::clock::{AdvanceError, MAX_OFFSET_MS, SandboxClock};

pub struct ClockControl {
    pub clock: Arc<SandboxClock>,
    /// Whether a remote provider has its own clock. Then the test clock can't be advanced.
    pub has_remote_providers: bool,
    pub max_body_bytes: usize,
}

type SharedState = State<Arc<ClockControl>>;

routes! { pub static ROUTES: Arc<ClockControl>, openapi;
    GET "/sandbox/time" => get_time { Sandbox }
    POST "/sandbox/time" => post_time { Sandbox, control() }
}

/// Time of the test clock.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SandboxClockView {
    /// Current time of the sandbox (RFC 3339).
    now: String,
    /// Seconds that it is ahead of the machine's clock.
    offset_seconds: u64,
}

/// Advance of the test clock.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct AdvanceClockRequest {
    /// Seconds to advance, 1 or more; twenty years in total.
    advance_seconds: u64,
}

fn render(clock: &SandboxClock) -> SandboxClockView {
    SandboxClockView {
        now: rfc3339(clock.now()),
        offset_seconds: clock.offset_ms() / 1_000,
    }
}

/// Read the test clock
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/sandbox/time", operation_id = "getSandboxClock", tag = "Sandbox",
    responses((status = 200, description = "The time by which the service and its providers go.", body = inline(SandboxClockView)))))]
async fn get_time(State(controls): SharedState) -> Response {
    json::ok(&render(&controls.clock))
}

/// Advance the test clock
///
/// It never goes back, and a restart keeps it. Everything scheduled until then becomes due: card expiries, return
/// windows, leases, tokens. Payments still use the wallets' own clocks.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/time", operation_id = "advanceSandboxClock", tag = "Sandbox", request_body = inline(AdvanceClockRequest),
    responses((status = 200, description = "The time after it.", body = inline(SandboxClockView)),
        (status = 409, description = "A remote provider has its own clock."))))]
async fn post_time(State(controls): SharedState, body: Body) -> Result<Response, ApiError> {
    let request: AdvanceClockRequest = json::read(body, controls.max_body_bytes).await?;
    if controls.has_remote_providers {
        let error = "A remote provider has its own clock.";
        return Err(ApiError::new(ErrorCode::ClockNotAdjustable, error)
            .hint("Take the providers' addresses out of the settings."));
    }
    let farthest = MAX_OFFSET_MS / 1_000;
    let wrong = || {
        let error = format!("`advance_seconds` is 1 or more, and at most {farthest} in all.");
        ApiError::parameter(ErrorCode::ParameterInvalid, "advance_seconds", error)
    };
    if !(1..=farthest).contains(&request.advance_seconds) {
        return Err(wrong());
    }
    let clock = controls.clock.clone();
    let moved = tokio::task::spawn_blocking(move || clock.advance(request.advance_seconds * 1_000)).await;
    match moved.map_err(|_| ApiError::internal())? {
        Ok(()) => Ok(json::ok(&render(&controls.clock))),
        Err(AdvanceError::TooFar) => Err(wrong()),
        Err(AdvanceError::Io(error)) => {
            tracing::error!(%error, "the sandbox's time could not be moved");
            Err(ApiError::unavailable(
                ErrorCode::SandboxUnavailable,
                "The sandbox has stopped.",
                1,
            ))
        }
    }
}
