//! Identity verification for clients: `GET /get-kyc-status` reads its status, `GET /get-kyc-link` returns a link for
//! the account owner, and the provider's signed callback reports the result. A token alone can't start or pass a check.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use purser_actors::answer::UserId;
use purser_actors::engine::OperationError;
use purser_actors::entity::identity_verification::Rejection;
use purser_actors::id::Wallet;
use purser_actors::kernel::{Entity, JsonObject};
use purser_actors::port::{ExternalText, Verdict};
use serde::{Deserialize, Serialize};

use super::account::{BearerClaims, refuse_frozen};
use super::app::App;
use super::callbacks::{CallbackReceived, MAX_CALLBACK_BYTES, signed, unsigned};
use super::error::{ApiError, ErrorCode};
use super::json;
use super::login::login_link;
use super::page_session::require_signed_in;
use super::query::Query;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;
use crate::identity::login::{LOGIN_CODE_LIFETIME_S, LandingPage};

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/get-kyc-status" => get_kyc_status { Token, refuses [TokenMissing, ParameterUnrecognized, AccountFrozen] }
    GET "/get-kyc-link" => get_kyc_link {
        Token, without_head(), refuses [TokenMissing, ParameterUnrecognized, AccountFrozen, SignInRequired]
    }
    POST "/identity-callback" => post_callback {
        Callback, unkeyed("a provider's event: signed, numbered, processed once"), refuses [
            BodyTooLarge, CallbackSignatureInvalid, BodyMalformed, ParameterInvalid, IdentityCheckNotFound,
            IdentityCheckAlreadyDecided,
        ]
    }
}

type SharedState = State<Arc<App>>;

/// Read the status of the identity check
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-kyc-status", operation_id = "getKycStatus", tag = "Identity verification", security(("bearer" = [])),
    responses((status = 200, description = "`status` is `none`, `in-review`, `verified` or `rejected`; a rejected owner may try again.", body = schemas::KycStatusResponse),
        (status = 401, description = "No good token."), (status = 403, description = "Frozen."))))]
async fn get_kyc_status(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    let engine = &app.engine;
    refuse_frozen(engine, &claims).await?;
    let identity = engine
        .identity(&claims.wallet)
        .await
        .map_err(|_| ApiError::internal())?;
    let view = match identity {
        Some(identity) => JsonObject::of(&identity.view(&claims.wallet)),
        None => JsonObject::new()
            .text("user_id", claims.wallet.user_id())
            .text("status", "none")
            .optional_text("rejection_reason", None::<&str>)
            .integer("checks", 0),
    };
    Ok(json::private_ok(&view))
}

/// A link for the owner to verify their identity.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct KycLinkResponse {
    /// URL to give to the owner unchanged. It can be opened once.
    kyc_url: String,
    /// The wallet's address in lower case.
    user_id: UserId,
    /// Status of the identity check.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::IdentityStatus))]
    status: &'static str,
    /// Validity of the link in seconds.
    expires_in: u64,
}

/// Create a link for identity verification
///
/// Give `kyc_url` to the account owner unchanged. It can be opened once, and leads to the identity verification. Only a person can continue from there.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-kyc-link", operation_id = "createKycLink", tag = "Identity verification", security(("bearer" = [])),
    responses((status = 200, description = "`kyc_url`, `user_id`, `status` of the check, `expires_in` (seconds).", body = KycLinkResponse),
        (status = 401, description = "No good token."),
        (status = 403, description = "Frozen, or a token issued for a payment. `GET /auth` issues one with this permission."))))]
async fn get_kyc_link(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    let engine = &app.engine;
    refuse_frozen(engine, &claims).await?;
    require_signed_in(&claims)?;
    let identity = engine
        .identity(&claims.wallet)
        .await
        .map_err(|_| ApiError::internal())?;
    let url = login_link(&app, &claims, LandingPage::Identity).await?;
    Ok(json::private_ok(&KycLinkResponse {
        kyc_url: url.expose().to_owned(),
        user_id: claims.wallet.into(),
        status: identity.as_ref().map_or("none", Entity::status),
        expires_in: LOGIN_CODE_LIFETIME_S,
    }))
}

/// Body of the provider's callback.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IdentityCallback {
    r#type: IdentityCallbackType,
    reference: String,
    wallet: String,
    reason: Option<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
enum IdentityCallbackType {
    #[serde(rename = "identity_check.passed")]
    Passed,
    #[serde(rename = "identity_check.failed")]
    Failed,
}

/// Receive the result of an identity check
///
/// Signed as in Standard Webhooks, with the provider's key. A repeated callback changes nothing.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/identity-callback", operation_id = "receiveIdentityCallback", tag = "Provider callbacks",
    request_body(content = serde_json::Value, description = "`type` (`identity_check.passed` or `identity_check.failed`), `reference`, `wallet`, `reason`."),
    responses((status = 200, description = "Taken, now or before.", body = CallbackReceived),
        (status = 400, description = "Not a callback."), (status = 401, description = "Not the provider's signature."),
        (status = 404, description = "No such check."), (status = 408, description = "The body did not come."),
        (status = 409, description = "It was decided otherwise."), (status = 413, description = "Too long."))))]
async fn post_callback(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let body = json::collect(body, MAX_CALLBACK_BYTES).await?;
    let key = app.callback_keys.identity.as_ref().ok_or_else(unsigned)?;
    signed(key, &headers, &body, app.clock.now())?;
    let IdentityCallback {
        r#type,
        reference,
        wallet,
        reason,
    } = json::deserialize(&body)?;
    let unknown = || ApiError::new(ErrorCode::IdentityCheckNotFound, "There is no such identity check.");
    let wallet: Wallet = wallet.parse().map_err(|_| unknown())?;
    let verdict = match r#type {
        IdentityCallbackType::Passed => Verdict::Passed,
        IdentityCallbackType::Failed => Verdict::Failed {
            reason: reason.map_or_else(|| "not_given".into(), ExternalText::from),
        },
    };
    match app.engine.record_identity_verdict(wallet, reference, verdict).await {
        Ok(()) => Ok(json::ok(&CallbackReceived { received: true })),
        Err(OperationError::Rejected(Rejection::AlreadyDecided(status))) => {
            tracing::warn!(%wallet, status, "a callback contradicts what the identity check came to");
            let error = "The identity check already has a different result.";
            Err(ApiError::new(ErrorCode::IdentityCheckAlreadyDecided, error))
        }
        Err(OperationError::Rejected(_) | OperationError::AlreadyUsed) => Err(unknown()),
        Err(OperationError::Unavailable) => Err(ApiError::unavailable(ErrorCode::ServiceUnavailable, "Try again.", 1)),
    }
}
