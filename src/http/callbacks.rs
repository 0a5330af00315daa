//! What providers say of their own accord, each with its own signature: that a verdict was reached (see [`super::kyc`]), and
//! that the payout rails have something to tell.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use http::HeaderMap;
use purser_actors::engine::Engine;
use purser_actors::port::{Clock, Timestamp};
use serde::Deserialize;
use utoipa::OpenApi;

use super::error::ApiError;
use super::json;
use super::shapes;
use crate::provider::callback::{CallbackKey, Signed};

/// A callback of a provider, in bytes.
pub(super) const MAX_CALLBACK_BYTES: usize = 16 * 1024;

/// What these routes need.
pub struct Callbacks {
    /// To be told.
    pub engine: Engine,
    /// A signature is of its time.
    pub clock: Arc<dyn Clock>,
    /// The payout rails sign with it; those in this process call nobody.
    pub rails: Option<CallbackKey>,
    /// A body must arrive within this.
    pub body_timeout: Duration,
}

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(post_payout_callback))]
pub struct Api;

/// The routes.
pub fn router(callbacks: Arc<Callbacks>) -> Router {
    Router::new()
        .route("/payout-callback", post(post_payout_callback))
        .with_state(callbacks)
}

/// The one thing that rails say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    #[serde(rename = "type")]
    _said: ToldKind,
}

#[derive(Deserialize)]
enum ToldKind {
    #[serde(rename = "payouts.told")]
    Payouts,
}

/// The payout rails have something to tell
///
/// Signed as Standard Webhooks says, with the rails' key. It says nothing of any payout: the rails are asked at once instead of
/// when it is time, and their answer counts. So a callback may be lost, doubled or late without harm.
#[utoipa::path(post, path = "/payout-callback", tag = "Payouts",
    request_body(content = serde_json::Value, description = "`type` is `payouts.told`."),
    responses((status = 200, description = "They will be asked.", body = shapes::Received),
        (status = 400, description = "Not a callback."), (status = 401, description = "Not the rails' signature."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long.")))]
async fn post_payout_callback(
    State(callbacks): State<Arc<Callbacks>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let body = json::collect(body, MAX_CALLBACK_BYTES, callbacks.body_timeout).await?;
    let Some(key) = &callbacks.rails else {
        return Err(unsigned());
    };
    signed(key, &headers, &body, callbacks.clock.now())?;
    let _told: Told = json::typed(&body)?;
    callbacks.engine.rails_have_told();
    Ok(json::ok(&serde_json::json!({ "received": true })))
}

/// Whether a provider signed exactly this, just now.
///
/// # Errors
/// 401 `signature_invalid`.
pub(super) fn signed(key: &CallbackKey, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<(), ApiError> {
    let header = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    let signed = Signed {
        id: header("webhook-id"),
        at: header("webhook-timestamp"),
        signature: header("webhook-signature"),
    };
    if key.verifies(signed, body, now) {
        Ok(())
    } else {
        Err(unsigned())
    }
}

fn unsigned() -> ApiError {
    ApiError::unauthorized(
        "signature_invalid",
        "The callback is not signed with the provider's key, or not now.",
    )
}
