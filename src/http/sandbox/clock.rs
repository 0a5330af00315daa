//! `/sandbox/time`: the sandbox's time, which can be moved forward.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use purser_actors::kernel::event_record::rfc3339;
use purser_actors::port::Clock as _;
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use crate::http::error::ApiError;
use crate::http::json;
use crate::sandbox::clock::{AdvanceError, MAX_OFFSET_MS, SandboxClock};

/// What these routes need.
pub struct ClockControl {
    /// The time.
    pub clock: Arc<SandboxClock>,
    /// Whether somebody outside keeps a time of their own: then it is not moved.
    pub has_remote_providers: bool,
    /// Largest body.
    pub max_body_bytes: usize,
    /// A body must arrive within this.
    pub body_timeout: Duration,
}

type SharedState = State<Arc<ClockControl>>;

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(get_time, post_time))]
pub struct ApiDoc;

/// The routes.
pub fn router(state: Arc<ClockControl>) -> Router {
    Router::new()
        .route("/sandbox/time", get(get_time).post(post_time))
        .with_state(state)
}

/// The sandbox's time.
#[derive(Serialize, ToSchema)]
struct SandboxClockView {
    /// RFC 3339.
    now: String,
    /// How far ahead of the machine it is.
    offset_seconds: u64,
}

/// How far it is to go.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AdvanceClockRequest {
    /// 1 or more; twenty years in all.
    advance_seconds: u64,
}

fn render(clock: &SandboxClock) -> SandboxClockView {
    SandboxClockView {
        now: rfc3339(clock.now()),
        offset_seconds: clock.offset_ms() / 1_000,
    }
}

/// The sandbox's time
#[utoipa::path(get, path = "/sandbox/time", tag = "Sandbox",
    responses((status = 200, description = "The time by which the service and its providers go.", body = inline(SandboxClockView))))]
async fn get_time(State(desk): SharedState) -> Response {
    json::ok(&render(&desk.clock))
}

/// Move the sandbox's time forward
///
/// It never goes back, and a restart keeps it. What is due by then becomes due: ends of cards, return windows, leases, tokens.
/// Payments go on by the wallets' own clocks.
#[utoipa::path(post, path = "/sandbox/time", tag = "Sandbox", request_body = inline(AdvanceClockRequest),
    responses((status = 200, description = "The time after it.", body = inline(SandboxClockView)),
        (status = 409, description = "A provider elsewhere keeps a time of its own.")))]
async fn post_time(State(desk): SharedState, body: Body) -> Result<Response, ApiError> {
    let wanted: AdvanceClockRequest = json::read(body, desk.max_body_bytes, desk.body_timeout).await?;
    if desk.has_remote_providers {
        let error = "A provider is elsewhere and keeps a time of its own.";
        return Err(ApiError::new(StatusCode::CONFLICT, "clock_not_adjustable", error)
            .hint("Take the providers' addresses out of the settings."));
    }
    let farthest = MAX_OFFSET_MS / 1_000;
    let wrong = || {
        let error = format!("`advance_seconds` is 1 or more, and at most {farthest} in all.");
        ApiError::parameter("parameter_invalid", "advance_seconds", error)
    };
    if !(1..=farthest).contains(&wanted.advance_seconds) {
        return Err(wrong());
    }
    let clock = desk.clock.clone();
    let moved = tokio::task::spawn_blocking(move || clock.advance(wanted.advance_seconds * 1_000)).await;
    match moved.map_err(|_| ApiError::internal())? {
        Ok(()) => Ok(json::ok(&render(&desk.clock))),
        Err(AdvanceError::TooFar) => Err(wrong()),
        Err(AdvanceError::Io(error)) => {
            tracing::error!(%error, "the sandbox's time could not be moved");
            Err(ApiError::unavailable(
                "sandbox_unavailable",
                "The sandbox has stopped.",
                1,
            ))
        }
    }
}
