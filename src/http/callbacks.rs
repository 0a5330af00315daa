//! What providers say of their own accord, each with its own signature: that a verdict was reached (see [`super::kyc`]), and
//! that the payout rails, the card issuer or the bank have something to tell.

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
use serde::de::DeserializeOwned;
use utoipa::OpenApi;

use super::error::ApiError;
use super::json;
use super::schemas;
use crate::provider::callback::{CallbackKey, SignedCallback};

/// A callback of a provider, in bytes.
pub(super) const MAX_CALLBACK_BYTES: usize = 16 * 1024;

/// What these routes need.
pub struct CallbackState {
    /// To be told.
    pub engine: Engine,
    /// A signature is of its time.
    pub clock: Arc<dyn Clock>,
    /// The payout rails sign with it; those in this process call nobody.
    pub payouts: Option<CallbackKey>,
    /// The same of the issuer of reloadable cards.
    pub issuer: Option<CallbackKey>,
    /// The same of the bank.
    pub bank: Option<CallbackKey>,
    /// A body must arrive within this.
    pub body_timeout: Duration,
}

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(post_payout_callback, post_card_callback, post_bank_callback))]
pub struct ApiDoc;

/// The routes.
pub fn router(callbacks: Arc<CallbackState>) -> Router {
    Router::new()
        .route("/payout-callback", post(post_payout_callback))
        .route("/card-callback", post(post_card_callback))
        .route("/bank-callback", post(post_bank_callback))
        .with_state(callbacks)
}

/// The one thing that somebody says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallbackBody<T> {
    #[serde(rename = "type")]
    _callback_type: T,
}

#[derive(Deserialize)]
enum PayoutCallbackType {
    #[serde(rename = "payouts.updated")]
    Updated,
}

#[derive(Deserialize)]
enum CardCallbackType {
    #[serde(rename = "cards.updated")]
    Updated,
}

#[derive(Deserialize)]
enum BankCallbackType {
    #[serde(rename = "deposits.updated")]
    Updated,
}

impl CallbackState {
    /// Whether the owner of the key says just this.
    async fn verified<T: DeserializeOwned>(
        &self,
        key: Option<&CallbackKey>,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Response, ApiError> {
        let body = json::collect(body, MAX_CALLBACK_BYTES, self.body_timeout).await?;
        signed(key.ok_or_else(unsigned)?, headers, &body, self.clock.now())?;
        let _told: CallbackBody<T> = json::deserialize(&body)?;
        Ok(json::ok(&serde_json::json!({ "received": true })))
    }
}

/// The payout rails have something to tell
///
/// Signed as Standard Webhooks says, with the rails' key. It says nothing of any payout: the rails are asked at once instead of
/// when it is time, and their answer counts. So a callback may be lost, doubled or late without harm.
#[utoipa::path(post, path = "/payout-callback", operation_id = "receivePayoutCallback", tag = "Provider callbacks",
    request_body(content = serde_json::Value, description = "`type` is `payouts.updated`."),
    responses((status = 200, description = "They will be asked.", body = schemas::CallbackReceived),
        (status = 400, description = "Not a callback."), (status = 401, description = "Not the rails' signature."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long.")))]
async fn post_payout_callback(
    State(callbacks): State<Arc<CallbackState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let answer = callbacks.verified::<PayoutCallbackType>(callbacks.payouts.as_ref(), &headers, body);
    let answer = answer.await?;
    callbacks.engine.wake_payout_poller();
    Ok(answer)
}

/// The issuer of reloadable cards has something to tell
///
/// As `POST /payout-callback`, with the issuer's key: it is asked at once what became of cards.
#[utoipa::path(post, path = "/card-callback", operation_id = "receiveCardCallback", tag = "Provider callbacks",
    request_body(content = serde_json::Value, description = "`type` is `cards.updated`."),
    responses((status = 200, description = "It will be asked.", body = schemas::CallbackReceived),
        (status = 400, description = "Not a callback."), (status = 401, description = "Not the issuer's signature."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long.")))]
async fn post_card_callback(
    State(callbacks): State<Arc<CallbackState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let answer = callbacks.verified::<CardCallbackType>(callbacks.issuer.as_ref(), &headers, body);
    let answer = answer.await?;
    callbacks.engine.wake_card_poller();
    Ok(answer)
}

/// Money came in at the bank
///
/// As `POST /payout-callback`, with the bank's key. It names no money and credits none: the bank is asked at once what came in.
#[utoipa::path(post, path = "/bank-callback", operation_id = "receiveBankCallback", tag = "Provider callbacks",
    request_body(content = serde_json::Value, description = "`type` is `deposits.updated`."),
    responses((status = 200, description = "It will be asked.", body = schemas::CallbackReceived),
        (status = 400, description = "Not a callback."), (status = 401, description = "Not the bank's signature."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long.")))]
async fn post_bank_callback(
    State(callbacks): State<Arc<CallbackState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let answer = callbacks.verified::<BankCallbackType>(callbacks.bank.as_ref(), &headers, body);
    let answer = answer.await?;
    callbacks.engine.wake_bank_poller();
    Ok(answer)
}

/// Whether a provider signed exactly this, just now.
///
/// # Errors
/// 401 `callback_signature_invalid`.
pub(super) fn signed(key: &CallbackKey, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<(), ApiError> {
    let header = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    let signed = SignedCallback {
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
        "callback_signature_invalid",
        "The callback is not signed with the provider's key, or not now.",
    )
}
