//! `GET /healthz` (the process lives) and `GET /readyz` (it can serve). Never limited.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use serde::Serialize;
use utoipa::ToSchema;

use super::error::ApiError;
use super::json;

/// Knows whether the house can serve.
pub trait Readiness: Send + Sync {
    /// Ready, or what is missing, in a word for the log and the answer.
    ///
    /// # Errors
    /// What is missing: `starting`, `stopping`, `storage`, …
    fn ready(&self) -> Result<(), &'static str>;

    /// What is not sold now, by the contract's identifiers: no reason to send nobody here.
    fn not_sold(&self) -> Vec<&'static str>;

    /// Networks on which no new payment is taken now, and why.
    fn networks_down(&self) -> Vec<(&'static str, Cow<'static, str>)>;
}

/// `{"status":"ok"}`.
#[derive(Serialize, ToSchema)]
struct Status {
    /// Always `ok`.
    status: &'static str,
}

/// `{"status":"ok","not_sold":[],"networks_down":[],"networks_down_reasons":{}}`.
#[derive(Serialize, ToSchema)]
struct Ready {
    /// Always `ok`.
    status: &'static str,
    /// Products that are not sold now: their provider is down, or an operator has closed them.
    not_sold: Vec<&'static str>,
    /// Networks on which no new payment is taken now: their nodes do not answer, or do not agree, or nobody
    /// pays for transactions. Others are not concerned.
    networks_down: Vec<&'static str>,
    /// Why, for each of them.
    networks_down_reasons: BTreeMap<&'static str, Cow<'static, str>>,
}

/// The two routes.
pub fn router(readiness: Arc<dyn Readiness>) -> Router {
    Router::new()
        .route("/healthz", get(get_healthz))
        .route("/readyz", get(get_readyz))
        .with_state(readiness)
}

/// Liveness
#[utoipa::path(get, path = "/healthz", tag = "Free",
    responses((status = 200, description = "The process lives.", body = inline(Status))))]
async fn get_healthz() -> Response {
    json::ok(&Status { status: "ok" })
}

/// Readiness
#[utoipa::path(get, path = "/readyz", tag = "Free",
    responses((status = 200, description = "Requests are served.", body = inline(Ready)),
        (status = 503, description = "Not now; the code says why.")))]
async fn get_readyz(State(readiness): State<Arc<dyn Readiness>>) -> Result<Response, ApiError> {
    match readiness.ready() {
        Ok(()) => {
            let down = readiness.networks_down();
            Ok(json::ok(&Ready {
                status: "ok",
                not_sold: readiness.not_sold(),
                networks_down: down.iter().map(|(network, _)| *network).collect(),
                networks_down_reasons: down.into_iter().collect(),
            }))
        }
        Err(missing) => Err(ApiError::unavailable("not_ready", format!("Not ready: {missing}."), 1)),
    }
}
