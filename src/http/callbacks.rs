//! Callbacks of providers, each with its own signature: identity results (see [`super::kyc`]), and notifications of the
//! payout rails, the card issuer and the bank.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use purser_actors::port::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::app::App;
use super::error::{ApiError, ErrorCode};
use super::json;
use super::route::routes;
use crate::provider::callback::{CallbackKey, SignedCallback};

pub(super) const MAX_CALLBACK_BYTES: usize = 16 * 1024;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/payout-callback" => post_payout_callback {
        Callback, unkeyed("as `POST /identity-callback`"), refuses [
            BodyTooLarge, CallbackSignatureInvalid, BodyMalformed, ParameterInvalid,
        ]
    }
    POST "/card-callback" => post_card_callback {
        Callback, unkeyed("as `POST /identity-callback`"), refuses [
            BodyTooLarge, CallbackSignatureInvalid, BodyMalformed, ParameterInvalid,
        ]
    }
    POST "/bank-callback" => post_bank_callback {
        Callback, unkeyed("as `POST /identity-callback`"), refuses [
            BodyTooLarge, CallbackSignatureInvalid, BodyMalformed, ParameterInvalid,
        ]
    }
}

/// Response to an accepted callback.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct CallbackReceived {
    /// Always true on success.
    pub(super) received: bool,
}

/// Body of a callback, with one known value.
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

impl App {
    /// Verifies the signature and that the body has the expected value.
    async fn verified_callback<T: DeserializeOwned>(
        &self,
        key: Option<&CallbackKey>,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Response, ApiError> {
        let body = json::collect(body, MAX_CALLBACK_BYTES).await?;
        signed(key.ok_or_else(unsigned)?, headers, &body, self.clock.now())?;
        let _told: CallbackBody<T> = json::deserialize(&body)?;
        Ok(json::ok(&CallbackReceived { received: true }))
    }
}

/// Receive a callback of the payout rails
///
/// Signed as in Standard Webhooks, with the rails' key. It names no payout: the service queries the rails at once
/// instead of at the next poll, and uses their answer. A callback may be lost, duplicated or late without harm.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/payout-callback", operation_id = "receivePayoutCallback", tag = "Provider callbacks",
    request_body(content = serde_json::Value, description = "`type` is `payouts.updated`."),
    responses((status = 200, description = "They will be asked.", body = CallbackReceived),
        (status = 400, description = "Not a callback."), (status = 401, description = "Not the rails' signature."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_payout_callback(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let answer = app.verified_callback::<PayoutCallbackType>(app.callback_keys.payouts.as_ref(), &headers, body);
    let answer = answer.await?;
    app.engine.wake_payout_poller();
    Ok(answer)
}

/// Receive a callback of the card issuer
///
/// As `POST /payout-callback`, with the issuer's key: the service queries the issuer about its cards at once.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/card-callback", operation_id = "receiveCardCallback", tag = "Provider callbacks",
    request_body(content = serde_json::Value, description = "`type` is `cards.updated`."),
    responses((status = 200, description = "It will be asked.", body = CallbackReceived),
        (status = 400, description = "Not a callback."), (status = 401, description = "Not the issuer's signature."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_card_callback(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let answer = app.verified_callback::<CardCallbackType>(app.callback_keys.issuer.as_ref(), &headers, body);
    let answer = answer.await?;
    app.engine.wake_card_poller();
    Ok(answer)
}

/// Receive a callback of the bank
///
/// As `POST /payout-callback`, with the bank's key. It names no deposit and credits none: the service queries the bank
/// for deposits at once.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/bank-callback", operation_id = "receiveBankCallback", tag = "Provider callbacks",
    request_body(content = serde_json::Value, description = "`type` is `deposits.updated`."),
    responses((status = 200, description = "It will be asked.", body = CallbackReceived),
        (status = 400, description = "Not a callback."), (status = 401, description = "Not the bank's signature."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_bank_callback(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let answer = app.verified_callback::<BankCallbackType>(app.callback_keys.bank.as_ref(), &headers, body);
    let answer = answer.await?;
    app.engine.wake_bank_poller();
    Ok(answer)
}

/// Verifies that the provider signed exactly this body, recently.
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

pub(super) fn unsigned() -> ApiError {
    ApiError::unauthorized(
        ErrorCode::CallbackSignatureInvalid,
        "The callback is not signed with the provider's key, or not now.",
    )
}
