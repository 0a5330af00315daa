//! Actions reserved to the account owner, as forms of the account page: `POST /account/identity`, `/account/link`,
//! `/account/unlink`, `/account/caps`, `/account/spending`, `/account/api-keys/revoke`. A form needs the session cookie
//! of a login link that a signed-in wallet created, and must come from our own page. Bearer tokens are ignored.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use purser_actors::engine::OperationError;
use purser_actors::entity::account::{OwnerCap, OwnerCaps};
use purser_actors::entity::agent_wallet::WalletCaps;
use purser_actors::entity::api_key::Rejection;
use purser_actors::money::Cents;
use purser_actors::product::ProductLine;

use super::account::refuse_frozen;
use super::agent_wallet;
use super::api_keys;
use super::app::App;
use super::auth::AuthClaims;
use super::error::{ApiError, ErrorCode, with_prebuilt_body};
use super::json;
use super::login::session;
use super::owner_page;
use super::page_session::{has_origin, require_signed_in};
use super::query::Query;
use super::route::routes;
use crate::checkout::account_error;

/// All caps with both numbers.
const MAX_FORM_BYTES: usize = 4 * 1024;
/// How long a form waits for the provider before the page reports that it is in progress.
const WAIT: Duration = Duration::from_secs(3);

/// The daily caps that an owner can tighten, with the names of their fields.
pub(super) const BUDGETS: [(ProductLine, &str, &str); 6] = [
    (ProductLine::UsaCard, "usa_prepaid_card_count", "usa_prepaid_card_usd"),
    (ProductLine::GiftCard, "gift_card_count", "gift_card_usd"),
    (ProductLine::PushToCard, "push_to_card_count", "push_to_card_usd"),
    (ProductLine::BankPayment, "bank_payment_count", "bank_payment_usd"),
    (ProductLine::AppPayment, "app_payment_count", "app_payment_usd"),
    (ProductLine::CardBalance, "card_balance_count", "card_balance_usd"),
];

type SharedState = State<Arc<App>>;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/account/identity" => post_identity { Owner, unkeyed("starts a check; there is only one at a time") }
    POST "/account/link" => post_link { Owner, unkeyed("starts a link; linking again changes nothing") }
    POST "/account/unlink" => post_unlink { Owner, unkeyed("unlinking again changes nothing") }
    POST "/account/caps" => post_caps {
        Owner, unkeyed("sets the given values"), refuses [
            OriginNotAllowed, TokenMissing, AccountFrozen, SignInRequired, ParameterUnrecognized, ParameterInvalid,
        ]
    }
    POST "/account/spending" => post_spending { Owner, unkeyed("sets the given values") }
    POST "/account/api-keys/revoke" => post_revoke { Owner, unkeyed("revoking again changes nothing") }
}

/// Start the identity check of the account owner
///
/// A form of the account page, without fields. The page then links to the provider.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/identity", operation_id = "startIdentityCheck", tag = "Account pages",
    responses((status = 303, description = "Started: back to the page."), (status = 401, description = "No session."),
        (status = 403, description = "Another page's form, a session from a payment, or frozen."),
        (status = 409, description = "Verified already."))))]
async fn post_identity(State(app): SharedState, headers: HeaderMap) -> Result<Response, ApiError> {
    let done = start_identity_check(&app, &headers).await;
    redirect_or_error(&app, &headers, done)
}

async fn start_identity_check(app: &App, headers: &HeaderMap) -> Result<Response, ApiError> {
    let claims = owner(app, headers).await?;
    match app.engine.request_identity_check(claims.wallet).await {
        Ok(()) => {
            drop(tokio::time::timeout(WAIT, app.engine.await_identity_started(claims.wallet)).await);
            Ok(redirect_to_login())
        }
        Err(OperationError::Rejected(_)) => Err(ApiError::new(
            ErrorCode::IdentityAlreadyVerified,
            "The identity is verified already.",
        )),
        Err(_) => Err(unavailable()),
    }
}

/// Link the owner's account at the card issuer
///
/// A form of the account page, without fields.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/link", operation_id = "linkIssuerAccount", tag = "Account pages",
    responses((status = 303, description = "Linked or in progress: back to the page."), (status = 401, description = "No session."),
        (status = 403, description = "Another page's form, a session from a payment, or frozen."))))]
async fn post_link(State(app): SharedState, headers: HeaderMap) -> Result<Response, ApiError> {
    let done = set_linked(&app, &headers, true).await;
    redirect_or_error(&app, &headers, done)
}

async fn set_linked(app: &App, headers: &HeaderMap, linked: bool) -> Result<Response, ApiError> {
    let claims = owner(app, headers).await?;
    let set = app.engine.request_issuer_link(claims.wallet, linked).await;
    set.map_err(|_| unavailable())?;
    if linked {
        drop(tokio::time::timeout(WAIT, app.engine.await_issuer_link(claims.wallet)).await);
    }
    Ok(redirect_to_login())
}

/// Unlink the owner's account at the card issuer
///
/// A form of the account page, without fields. The issuer keeps the account: linking again uses the same one.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/unlink", operation_id = "unlinkIssuerAccount", tag = "Account pages",
    responses((status = 303, description = "Unlinked: back to the page."), (status = 401, description = "No session."),
        (status = 403, description = "Another page's form, a session from a payment, or frozen."))))]
async fn post_unlink(State(app): SharedState, headers: HeaderMap) -> Result<Response, ApiError> {
    let done = set_linked(&app, &headers, false).await;
    redirect_or_error(&app, &headers, done)
}

/// Set the owner's daily caps
///
/// A form of the account page with two fields per cap, `_count` and `_usd`. An empty field removes the owner's cap, and
/// 0 forbids every purchase. The service's caps apply too.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/caps", operation_id = "setDailyCaps", tag = "Account pages",
    request_body(content = String, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "Set: back to the page."), (status = 400, description = "A field is no number."),
        (status = 401, description = "No session."),
        (status = 403, description = "Another page's form, a session from a payment, or frozen."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_caps(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let done = set_caps(&app, &headers, body).await;
    redirect_or_error(&app, &headers, done)
}

async fn set_caps(app: &App, headers: &HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = owner(app, headers).await?;
    let body = app.collect(body, MAX_FORM_BYTES).await?;
    let caps = parse_caps(&body)?;
    match app.engine.set_owner_caps(claims.wallet, caps).await {
        Ok(()) => Ok(redirect_to_login()),
        Err(OperationError::Rejected(rejection)) => Err(account_error(rejection)),
        Err(_) => Err(unavailable()),
    }
}

/// Set the spend limits of the managed wallet
///
/// A form of the account page: `per_call_usd` (1 to 50,000) and `per_day_usd` (US dollars; empty for no daily cap).
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/spending", operation_id = "setAgentWalletCaps", tag = "Account pages",
    request_body(content = String, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "Set: back to the page."), (status = 400, description = "A field is no such amount."),
        (status = 401, description = "No session."),
        (status = 403, description = "Another page's form, a session from a payment, or frozen."),
        (status = 404, description = "There is no managed wallet."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_spending(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let done = set_spending(&app, &headers, body).await;
    redirect_or_error(&app, &headers, done)
}

async fn set_spending(app: &App, headers: &HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = owner(app, headers).await?;
    let body = app.collect(body, MAX_FORM_BYTES).await?;
    let limits = parse_spending(&body)?;
    match app.engine.set_wallet_caps(claims.wallet, limits).await {
        Ok(()) => Ok(redirect_to_login()),
        Err(OperationError::Rejected(why)) => Err(agent_wallet::payment_error(&why)),
        Err(_) => Err(unavailable()),
    }
}

/// Revoke an API key from the account page
///
/// A form of the account page: `api_key_id`. Tokens of the key get 401 at once, and its streams are closed.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/api-keys/revoke", operation_id = "revokeApiKeyFromPage", tag = "Account pages",
    request_body(content = String, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "Revoked: back to the page."), (status = 400, description = "No `api_key_id`."),
        (status = 401, description = "No session."),
        (status = 403, description = "Another page's form, a session from a payment or an API key, another's key, or frozen."),
        (status = 404, description = "There is no such key."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long."))))]
async fn post_revoke(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let done = revoke(&app, &headers, body).await;
    redirect_or_error(&app, &headers, done)
}

async fn revoke(app: &App, headers: &HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = owner(app, headers).await?;
    let body = app.collect(body, MAX_FORM_BYTES).await?;
    let form = Query::parse(Some(parse_form(&body)?), &["api_key_id"])?;
    let unknown = || api_keys::map_error(&OperationError::Rejected(Rejection::NotFound));
    let id = form.required("api_key_id")?.parse().map_err(|_| unknown())?;
    let key = app.engine.api_key(&id).await.map_err(|_| ApiError::internal())?;
    api_keys::authorize_owner(&claims, &key.ok_or_else(unknown)?)?;
    let done = app.engine.revoke_api_key(id).await;
    done.map_err(|denied| api_keys::map_error(&denied))?;
    Ok(redirect_to_login())
}

/// Authenticates the owner.
///
/// # Errors
/// 403 for another page's form, 401 without a session, 403 for a session from a payment or of a frozen account.
pub(super) async fn owner(app: &App, headers: &HeaderMap) -> Result<AuthClaims, ApiError> {
    if !has_origin(headers, app.origin.as_str()) {
        return Err(ApiError::new(
            ErrorCode::OriginNotAllowed,
            "This form is sent by the account page only.",
        ));
    }
    let claims = session(app, headers).await?;
    refuse_frozen(&app.engine, &claims).await?;
    require_signed_in(&claims)?;
    Ok(claims)
}

/// Browsers get an error as a page, other clients as JSON.
pub(super) fn redirect_or_error(
    app: &App,
    headers: &HeaderMap,
    done: Result<Response, ApiError>,
) -> Result<Response, ApiError> {
    match done {
        Err(error) if accepts(headers, "text/html") => Ok(error_page(app, &error)),
        done => done,
    }
}

/// Whether the client accepts this content type by name.
pub(super) fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains(kind))
}

/// Renders an error as a page.
pub(super) fn error_page(app: &App, error: &ApiError) -> Response {
    let words = error.frozen_message.as_deref().unwrap_or(&error.error);
    let section = owner_page::render_error(words, error.code.as_str(), error.hint.as_deref());
    let mut page = app.login_page.account(error.status, &section);
    if let Some(seconds) = error.retry_after_seconds {
        page.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    with_prebuilt_body(page)
}

fn parse_spending(form: &[u8]) -> Result<WalletCaps, ApiError> {
    let form = Query::parse(Some(parse_form(form)?), &["per_call_usd", "per_day_usd"])?;
    let wrong = |name: &'static str, what: &'static str| ApiError::parameter(ErrorCode::ParameterInvalid, name, what);
    let amount = |name: &'static str| {
        let text = form.get(name).map(str::trim).filter(|value| !value.is_empty());
        let read = text.map(Cents::parse).transpose();
        read.map_err(|_| wrong(name, "Not an amount of US dollars."))
    };
    let allowed = WalletCaps::MIN_PER_CALL..=WalletCaps::MAX_PER_CALL;
    let per_call = amount("per_call_usd")?.filter(|cap| allowed.contains(cap));
    Ok(WalletCaps {
        per_call: per_call.ok_or_else(|| wrong("per_call_usd", "It must lie between 1 and 50000."))?,
        per_day: amount("per_day_usd")?,
    })
}

pub(super) fn parse_form(form: &[u8]) -> Result<&str, ApiError> {
    let malformed = |_| {
        ApiError::parameter(
            ErrorCode::QueryMalformed,
            "body",
            "The form is not percent-encoded UTF-8.",
        )
    };
    std::str::from_utf8(form).map_err(malformed)
}

fn parse_caps(form: &[u8]) -> Result<OwnerCaps, ApiError> {
    let text = parse_form(form)?;
    let names: Vec<&'static str> = BUDGETS.iter().flat_map(|(_, count, usd)| [*count, *usd]).collect();
    let form = Query::parse(Some(text), &names)?;
    let filled = |name: &str| form.get(name).map(str::trim).filter(|value| !value.is_empty());
    BUDGETS
        .iter()
        .try_fold(OwnerCaps::default(), |caps, (line, count, usd)| {
            let wrong =
                |name: &'static str, what: &'static str| ApiError::parameter(ErrorCode::ParameterInvalid, name, what);
            let whole = |text: &str| {
                text.bytes()
                    .all(|b| b.is_ascii_digit())
                    .then(|| text.parse().ok())
                    .flatten()
            };
            let count = match filled(count) {
                Some(text) => Some(whole(text).ok_or_else(|| wrong(count, "Not a whole number of purchases."))?),
                None => None,
            };
            let sum = match filled(usd) {
                Some(text) => Some(Cents::parse(text).map_err(|_| wrong(usd, "Not an amount of US dollars."))?),
                None => None,
            };
            Ok(caps.with(*line, OwnerCap { count, sum }))
        })
}

fn unavailable() -> ApiError {
    ApiError::unavailable(
        ErrorCode::ServiceUnavailable,
        "That could not be done now. Try again.",
        1,
    )
}

pub(super) fn redirect_to_login() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::from_static("/login"));
    json::private(response)
}
