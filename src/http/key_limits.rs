//! Limits of API keys: `POST /account/api-keys/limits`, for the owner's page.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use purser_actors::engine::OperationError;
use purser_actors::entity::api_key::{KeyLimits, Rejection};
use purser_actors::id::ApiKeyId;
use purser_actors::money::Cents;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::api_keys;
use super::app::App;
use super::error::{ApiError, ErrorCode};
use super::json;
use super::owner::{ApiKeyAnswer, is_raised, owner};
use super::passkeys::require_confirmed;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;

type SharedState = State<Arc<App>>;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/account/api-keys/limits" => post_limits { Owner, unkeyed("sets the given values"), confirmed_raise() }
}

/// Limits of an API key.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct SetKeyLimitsRequest {
    /// Id of the API key.
    api_key_id: String,
    /// US dollars per payment, transfer or withdrawal; null or absent for no limit.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::ExactDecimal>))]
    per_call_usd: Option<Box<RawValue>>,
    /// US dollars per day (UTC); null or absent for no limit.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::ExactDecimal>))]
    per_day_usd: Option<Box<RawValue>>,
}

/// Set the limits of an API key
///
/// What the sessions of the key may spend from the managed wallet and withdraw from the balance, besides the limits of
/// the wallet. 0 forbids it. Amounts are numbers or text with at most 2 places. Needs a session of a wallet that signed
/// in, in a request of our own page.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/api-keys/limits", operation_id = "setApiKeyLimits", tag = "Account pages", request_body = inline(SetKeyLimitsRequest),
    responses((status = 200, description = "The key with its limits and what it spent today.", body = ApiKeyAnswer<'static>),
        (status = 400, description = "No `api_key_id`, or no such amount."), (status = 401, description = "No session, or the key was revoked."),
        (status = 403, description = "Another page's request, a session from a payment or an API key, another's key, or frozen."),
        (status = 404, description = "No such key."), (status = 503, description = "Not now."))))]
async fn post_limits(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = owner(&app, &headers).await?;
    let request: SetKeyLimitsRequest = app.body(body).await?;
    let limits = KeyLimits {
        per_call: amount("per_call_usd", request.per_call_usd.as_deref())?,
        per_day: amount("per_day_usd", request.per_day_usd.as_deref())?,
    };
    let unknown = || api_keys::map_error(&OperationError::Rejected(Rejection::NotFound));
    let id: ApiKeyId = request.api_key_id.parse().map_err(|_| unknown())?;
    let read = async || app.engine.api_key(&id).await.map_err(|_| ApiError::internal());
    let key = read().await?.ok_or_else(unknown)?;
    api_keys::authorize_owner(&claims, &key)?;
    if is_raised(key.limits.per_call, limits.per_call) || is_raised(key.limits.per_day, limits.per_day) {
        require_confirmed(&app, &claims).await?;
    }
    let done = app.engine.set_api_key_limits(id, limits).await;
    done.map_err(|denied| api_keys::map_error(&denied))?;
    let key = read().await?.ok_or_else(unknown)?;
    let api_key = app.key_overview(id, &key).await?;
    Ok(json::private_ok(&ApiKeyAnswer { api_key }))
}

/// An amount of US dollars: a JSON number by its digits, or the same text as a string.
pub(super) fn amount(name: &'static str, json: Option<&RawValue>) -> Result<Option<Cents>, ApiError> {
    let Some(json) = json.map(RawValue::get).filter(|json| *json != "null") else {
        return Ok(None);
    };
    let inside = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let read = Cents::parse(inside.unwrap_or(json));
    read.map(Some)
        .map_err(|_| ApiError::parameter(ErrorCode::ParameterInvalid, name, "Not an amount of US dollars."))
}
