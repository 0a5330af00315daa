//! `GET /healthz` (the process runs) and `GET /readyz` (it can serve). Never limited.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;

use super::error::{ApiError, ErrorCode};
use super::json;
use super::route::routes;

/// Reports whether the service can serve.
pub trait Readiness: Send + Sync {
    /// `Ok` if ready, or the reason as one word, for the log and the response.
    ///
    /// # Errors
    /// The reason: `starting`, `stopping`, `storage`, …
    fn ready(&self) -> Result<(), &'static str>;

    /// Products that are unavailable now, by the contract's identifiers. The service is still ready.
    fn not_sold(&self) -> Vec<&'static str>;

    /// Networks on which no new payment is accepted now, and why.
    fn networks_down(&self) -> Vec<(&'static str, Cow<'static, str>)>;
}

/// Liveness of the process.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct Status {
    /// `ok` in every case.
    #[cfg_attr(feature = "documents", schema(value_type = super::schemas::OkStatus))]
    status: &'static str,
}

/// Readiness, with products and networks that are unavailable.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct Ready {
    /// `ok` in every case.
    #[cfg_attr(feature = "documents", schema(value_type = super::schemas::OkStatus))]
    status: &'static str,
    /// Unavailable products: their provider is down, or an operator has closed them.
    not_sold: Vec<&'static str>,
    /// Networks on which no new payment is accepted now. Their nodes do not answer or disagree, or no key can pay
    /// transaction fees. Other networks are not affected.
    networks_down: Vec<&'static str>,
    /// Reason for each of these networks.
    networks_down_reasons: BTreeMap<&'static str, Cow<'static, str>>,
}

routes! { pub static ROUTES: Arc<dyn Readiness>, openapi;
    GET "/healthz" => get_healthz { Public }
    GET "/readyz" => get_readyz { Public }
}

pub fn router(readiness: Arc<dyn Readiness>) -> Router {
    ROUTES.router(readiness)
}

/// Check that the process runs
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/healthz", operation_id = "checkLiveness", tag = "Service",
    responses((status = 200, description = "The process lives.", body = inline(Status)))))]
async fn get_healthz() -> Response {
    json::ok(&Status { status: "ok" })
}

/// Check that the service can serve
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/readyz", operation_id = "checkReadiness", tag = "Service",
    responses((status = 200, description = "Requests are served.", body = inline(Ready)),
        (status = 503, description = "Not now; the code says why."))))]
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
        Err(missing) => Err(ApiError::unavailable(
            ErrorCode::NotReady,
            format!("Not ready: {missing}."),
            1,
        )),
    }
}
