//! Login links: `GET /get-auth-link` makes one, `GET /login` shows the page, `POST /login` uses it up and sets the
//! session cookie, `GET /account` tells the page what to show.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use axum::routing::get;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use purser_actors::account::LoginCode;
use purser_actors::engine::{Engine, OperationError};
use purser_actors::kernel::{Entity, JsonObject};
use purser_actors::port::{Clock, Entropy};
use purser_actors::product::DailyCaps;
use purser_storage::Store;
use utoipa::OpenApi;

use super::account::{BearerClaims, authenticated_account};
use super::auth::{AuthClaims, Authenticator};
use super::error::ApiError;
use super::json;
use super::login_page::LoginPage;
use super::query::Query;
use super::schemas;
use super::{owner, owner_page};
use crate::checkout::account_error;
use crate::identity::api_key::ApiKeyCodec;
use crate::identity::authenticator::TokenAuthenticator;
use crate::identity::credentials::CredentialIssuer;
use crate::identity::login::{LOGIN_CODE_LIFETIME_S, SessionCookies, login_code_hash, login_url, new_login_code};
use crate::identity::origin::Origin;
use crate::identity::secret::SecretText;
use crate::stream;

/// A form with one code.
const MAX_FORM_BYTES: usize = 1024;
/// Cards that the page shows at once; the stream brings what is new.
const MAX_CARDS_SHOWN: usize = 50;

/// What these routes need.
pub struct LoginState {
    /// Keeps codes and sessions.
    pub engine: Engine,
    /// For the account's newest event.
    pub store: Arc<dyn Store>,
    /// Opens sessions.
    pub credentials: Arc<CredentialIssuer>,
    /// Writes the cookie.
    pub cookies: SessionCookies,
    /// Reads it.
    pub authenticator: Arc<TokenAuthenticator>,
    /// Where the page is.
    pub origin: Origin,
    /// Now.
    pub clock: Arc<dyn Clock>,
    /// For codes.
    pub entropy: Arc<dyn Entropy>,
    /// Life of the browser's session, in seconds.
    pub session_seconds: u64,
    /// A form must arrive within this.
    pub body_timeout: Duration,
    /// The page.
    pub page: LoginPage,
    /// The service's daily caps, which an owner can tighten.
    pub caps: DailyCaps,
    /// For what the page shows of API keys.
    pub api_keys: ApiKeyCodec,
    /// API keys that an account may have at a time.
    pub keys_per_account: u8,
}

/// The operations of this room.
#[derive(OpenApi)]
#[openapi(paths(get_auth_link, get_login, post_login, get_account))]
pub struct ApiDoc;

/// The routes.
pub fn router(login: Arc<LoginState>) -> Router {
    Router::new()
        .route("/get-auth-link", get(get_auth_link))
        .route("/login", get(get_login).post(post_login))
        .route("/account", get(get_account))
        .with_state(login)
}

/// Make a login link for a person
///
/// Give `auth_url` to a person unchanged; opening it uses it up. While the account is frozen the page says why, and no more.
#[utoipa::path(get, path = "/get-auth-link", tag = "Identity", security(("bearer" = [])),
    responses((status = 200, description = "`auth_url`, `user_id`, `expires_in` (seconds).", body = schemas::AuthLinkResponse),
        (status = 401, description = "No good token.")))]
async fn get_auth_link(
    State(login): State<Arc<LoginState>>,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    // A frozen account's owner too: the page behind the link says why, and nothing else.
    let url = login_link(&login, &claims).await?;
    let body = JsonObject::new()
        .text("auth_url", url.expose())
        .text("user_id", claims.wallet.user_id())
        .integer("expires_in", LOGIN_CODE_LIFETIME_S);
    Ok(json::private(json::bytes_as_json(body.to_json())))
}

/// Makes a link that lets its holder do what this session may.
///
/// # Errors
/// 404 when the account is not there, 503 when the link could not be made.
pub(super) async fn login_link(login: &LoginState, claims: &AuthClaims) -> Result<SecretText, ApiError> {
    let (code, hash) = new_login_code(&*login.entropy);
    let expires_s = login.clock.now().seconds() + LOGIN_CODE_LIFETIME_S;
    let offered = login
        .engine
        .create_login_code(
            claims.wallet,
            LoginCode {
                hash: hash.0,
                expires_s,
            },
            claims.amr,
            claims.session,
        )
        .await;
    match offered {
        Ok(()) => Ok(login_url(&login.origin, &code)),
        Err(OperationError::Rejected(rejection)) => Err(account_error(rejection)),
        Err(_) => Err(ApiError::unavailable(
            "service_unavailable",
            "The link could not be made. Try again.",
            1,
        )),
    }
}

/// What only an owner does is not for whoever saw a payment pass by (a hostile seller may have relayed it), nor for an agent
/// with an API key.
///
/// # Errors
/// 403 `sign_in_required` for what was born of either.
pub(super) fn signed_in(claims: &AuthClaims) -> Result<(), ApiError> {
    if claims.is_signed_in() {
        return Ok(());
    }
    let error = match claims.is_payment_token() {
        true => "This needs a sign-in with the wallet; a payment alone is not enough.",
        false => "This needs a sign-in with the wallet; an API key is an agent's.",
    };
    Err(ApiError::forbidden("sign_in_required", error).hint("GET /auth signs in; a link made after that may do this."))
}

/// The page behind a login link
///
/// Changes nothing, so a link preview uses nothing up (case 47). With the session cookie it also has the forms for what
/// only the owner may do.
#[utoipa::path(get, path = "/login", tag = "Page",
    params(("code" = Option<String>, Query, description = "Of the link; the page posts it back.")),
    responses((status = 200, description = "The page.", body = String, content_type = "text/html")))]
async fn get_login(State(login): State<Arc<LoginState>>, headers: HeaderMap, RawQuery(query): RawQuery) -> Response {
    let page = login.page.sign_in(query.as_deref());
    if query.is_some_and(|query| !query.is_empty()) {
        return page;
    }
    match owner_page::section(&login, cookie_of(&headers)).await {
        Some(section) => login.page.account(StatusCode::OK, &section),
        None => page,
    }
}

/// The `Cookie` header, or nothing.
/// Whose session the request's cookie is.
///
/// # Errors
/// 401 `token_missing` without the cookie, `token_invalid`, `token_expired` or `token_revoked` for one that is not good.
pub(super) async fn session(login: &LoginState, headers: &HeaderMap) -> Result<AuthClaims, ApiError> {
    let cookie = cookie_of(headers);
    if !login.cookies.is_in(cookie) {
        let error = "This route needs the session cookie that a login link sets; it takes no token.";
        return Err(ApiError::unauthorized("token_missing", error)
            .hint("GET /get-auth-link makes a login link for the account's owner."));
    }
    Ok(login.authenticator.authenticate_session(cookie).await?)
}

pub(super) fn cookie_of(headers: &HeaderMap) -> &str {
    let cookie = headers.get(header::COOKIE).and_then(|value| value.to_str().ok());
    cookie.unwrap_or_default()
}

/// Use a login link up
///
/// A form with `code`. Sets the session cookie.
#[utoipa::path(post, path = "/login", tag = "Page",
    request_body(content = String, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "Signed in: back to the page."),
        (status = 403, description = "The page, without a session: the link is used up or too old. Or another page's form.", body = String, content_type = "text/html")))]
async fn post_login(
    State(login): State<Arc<LoginState>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    if !is_same_origin_form(&login, &headers) {
        let refused = ApiError::forbidden("origin_not_allowed", "This form is sent by our own page only.");
        return owner::redirect_or_error(&login, &headers, Err(refused));
    }
    Ok(match open_session(&login, body).await {
        Some(cookie) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::SEE_OTHER;
            let headers = response.headers_mut();
            headers.insert(header::LOCATION, HeaderValue::from_static("/login"));
            headers.insert(header::SET_COOKIE, cookie);
            headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
            json::private(response)
        }
        None => super::error::with_prebuilt_body(login.page.response(StatusCode::FORBIDDEN)),
    })
}

/// Whether another page has not sent it: that would sign its visitor in to an account that it did not choose. Our own page sends
/// no referrer, so that a browser hides where its form comes from (`null`) and says only that it is the same site's; what is no browser
/// says neither.
fn is_same_origin_form(login: &LoginState, headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let (origin, another) = (origins.next(), origins.next());
    let fetched = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let same_site = fetched.is_none_or(|site| site == b"same-origin");
    match origin.map(HeaderValue::as_bytes) {
        _ if another.is_some() => false,
        None => same_site,
        Some(b"null") => fetched.is_some() && same_site,
        Some(origin) => origin == login.origin.as_str().as_bytes(),
    }
}

async fn open_session(login: &LoginState, body: Body) -> Option<HeaderValue> {
    let read = Limited::new(body, MAX_FORM_BYTES).collect();
    let form = tokio::time::timeout(login.body_timeout, read)
        .await
        .ok()?
        .ok()?
        .to_bytes();
    // The code's alphabet needs no percent-decoding.
    let code = std::str::from_utf8(&form)
        .ok()?
        .split('&')
        .find_map(|pair| pair.strip_prefix("code="))?;
    let hash = login_code_hash(code)?;
    let session = login.credentials.new_session();
    login.engine.redeem_login_code(hash.0, session).await.ok()?;
    let cookie = login.cookies.set(session.id, login.clock.now(), login.session_seconds);
    HeaderValue::from_str(cookie.expose()).ok()
}

/// What the page shows first
///
/// By the session cookie only.
#[utoipa::path(get, path = "/account", tag = "Page",
    responses((status = 200, description = "The balance, the newest cards of all kinds, and the cursor for `/stream`.", body = schemas::AccountOverview),
        (status = 401, description = "No session."), (status = 403, description = "Frozen.")))]
async fn get_account(State(login): State<Arc<LoginState>>, headers: HeaderMap) -> Result<Response, ApiError> {
    let claims = session(&login, &headers).await?;
    authenticated_account(&login.engine, &claims).await?;
    // Read before the state: what happens in between comes by the stream again rather than never.
    let seq = stream::newest(&*login.store, &claims.wallet.key()).await;
    let seq = seq.map_err(|_| ApiError::internal())?;
    let account = login
        .engine
        .account(&claims.wallet)
        .await
        .map_err(|_| ApiError::internal())?;
    // A session is opened by its account: there is none without.
    let account = account.ok_or_else(ApiError::internal)?;
    let cards = login.engine.newest_cards(&claims.wallet, MAX_CARDS_SHOWN).await;
    let cards = cards.map_err(|_| ApiError::internal())?;
    let cards: Vec<String> = cards.iter().map(JsonObject::to_json).collect();
    let mut body = account.view(&claims.wallet).integer("seq", seq).to_json();
    body.truncate(body.len() - 1);
    body.push_str(",\"cards\":[");
    body.push_str(&cards.join(","));
    body.push_str("]}");
    Ok(json::private(json::bytes_as_json(body)))
}
