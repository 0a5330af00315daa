//! Login links: `GET /get-auth-link` creates one, `GET /login` shows the page, `POST /login` redeems it and sets the
//! session cookie.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use purser_actors::answer::UserId;
use purser_actors::engine::OperationError;
use purser_actors::entity::account::LoginCode;
use purser_actors::entity::session::AuthMethod;
use purser_actors::id::{SessionId, Wallet};
use serde::Serialize;

use super::account::BearerClaims;
use super::app::App;
use super::auth::{AuthClaims, Authenticator, TokenError};
use super::error::{ApiError, ErrorCode};
use super::form_pages::{frozen_section, redirect_or_error};
use super::json;
use super::page_session::cookie_of;
use super::query::Query;
use super::route::routes;
use crate::checkout::account_error;
use crate::identity::login::{LOGIN_CODE_LIFETIME_S, LandingPage, login_code_hash, login_url, new_login_code};
use crate::secret::SecretText;

/// A form with one code.
const MAX_FORM_BYTES: usize = 1024;

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/get-auth-link" => get_auth_link { Token, without_head(), refuses [TokenMissing, ParameterUnrecognized] }
    GET "/login" => get_login { Public }
    POST "/login" => post_login { Public, unkeyed("a code opens one session") }
}

/// A login link for a person.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AuthLinkResponse {
    /// URL to give to a person unchanged. It can be opened once.
    auth_url: String,
    /// The wallet's address in lower case.
    user_id: UserId,
    /// Validity of the link in seconds.
    expires_in: u64,
}

/// Create a login link for a person
///
/// Give `auth_url` to a person unchanged. It can be opened once. While the account is frozen, the page shows only the
/// reason.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/get-auth-link", operation_id = "createAuthLink", tag = "Authentication", security(("bearer" = [])),
    responses((status = 200, description = "`auth_url`, `user_id`, `expires_in` (seconds).", body = AuthLinkResponse),
        (status = 401, description = "No good token."), (status = 403, description = "The session of a page makes no links."))))]
async fn get_auth_link(
    State(app): State<Arc<App>>,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    // Frozen accounts get a link too: the page shows only the reason.
    let url = login_link(&app, &claims, LandingPage::Home).await?;
    Ok(json::private_ok(&AuthLinkResponse {
        auth_url: url.expose().to_owned(),
        user_id: claims.wallet.into(),
        expires_in: LOGIN_CODE_LIFETIME_S,
    }))
}

/// Creates a link that grants the rights of this session.
///
/// # Errors
/// 401 for a session that has ended, 403 for the session of a page and while the agents of an owner with a passkey are stopped, 404 if the account does not exist, 503 if the link could not be created.
pub(super) async fn login_link(app: &App, claims: &AuthClaims, landing: LandingPage) -> Result<SecretText, ApiError> {
    if claims.of_page {
        let error = "A login link is made with a token; the session of a page makes none.";
        return Err(ApiError::new(ErrorCode::SignInRequired, error).hint("GET /auth signs in."));
    }
    // An owner without a passkey needs the link to let the agents act again. With one, the link would only let an agent
    // that has the wallet's key onto the page.
    let unavailable = |_| ApiError::internal();
    let account = app.engine.account(&claims.wallet).await.map_err(unavailable)?;
    if account.is_some_and(|account| account.agents_stopped_at().is_some())
        && app.engine.has_passkeys(&claims.wallet).await.map_err(unavailable)?
    {
        return Err(ApiError::agents_stopped()
            .hint("The owner signs in with a passkey. If all are lost, POST /recover-account."));
    }
    // A link of a session that a stop or a recovery has ended would open nothing.
    let session = app.engine.session(&claims.session).await.map_err(unavailable)?;
    let has_ended = match session {
        Some(session) => app.engine.has_session_ended(&claims.session, &session).await,
        None => Ok(true),
    };
    if has_ended.map_err(unavailable)? {
        return Err(TokenError::Revoked.into());
    }
    link_of_session(app, (claims.wallet, claims.amr), claims.session, landing).await
}

/// Creates a link that grants the rights of a session. It ends with the session.
///
/// # Errors
/// 404 if the account does not exist, 503 if the link could not be created.
pub(super) async fn link_of_session(
    app: &App,
    (wallet, amr): (Wallet, AuthMethod),
    session: SessionId,
    landing: LandingPage,
) -> Result<SecretText, ApiError> {
    let (code, hash) = new_login_code(&*app.entropy);
    let expires_s = app.clock.now().seconds() + LOGIN_CODE_LIFETIME_S;
    let code_row = LoginCode {
        hash: hash.0,
        expires_s,
    };
    let offered = app.engine.create_login_code(wallet, code_row, amr, session).await;
    match offered {
        Ok(()) => Ok(login_url(app.pages.origin(), &code, landing)),
        Err(OperationError::Rejected(rejection)) => Err(account_error(rejection)),
        Err(_) => Err(ApiError::unavailable(
            ErrorCode::ServiceUnavailable,
            "The link could not be made. Try again.",
            1,
        )),
    }
}

/// Show the page behind a login link
///
/// Changes nothing, so a link preview does not redeem the link. With the session cookie the page shows the
/// account.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/login", operation_id = "showLoginPage", tag = "Account pages",
    params(("code" = Option<String>, Query, description = "Of the link; the page posts it back."),
        ("to" = Option<String>, Query, description = "`identity` opens the identity verification after the login.")),
    responses((status = 200, description = "The page.", body = String, content_type = "text/html"),
        (status = 307, description = "To the same page at `localhost`, for a browser at a loopback address."))))]
async fn get_login(State(app): State<Arc<App>>, uri: Uri, headers: HeaderMap, RawQuery(query): RawQuery) -> Response {
    if let Some(redirect) = app.pages.redirect(&headers, &uri) {
        return redirect;
    }
    let page = app.login_page.sign_in(query.as_deref());
    if query.is_some_and(|query| !query.is_empty()) {
        return page;
    }
    let Ok(claims) = app.authenticator.authenticate_session(cookie_of(&headers)).await else {
        return page;
    };
    let frozen = match app.engine.account(&claims.wallet).await {
        Ok(account) => account.and_then(|account| account.frozen),
        Err(_) => return page,
    };
    let section = frozen.map(|message| frozen_section(&message)).unwrap_or_default();
    app.login_page.account(StatusCode::OK, &section)
}

/// Redeem a login link
///
/// A form with `code`, and `to=identity` if the link opens the identity verification. Sets the session cookie.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/login", operation_id = "redeemLoginCode", tag = "Account pages",
    request_body(content = String, content_type = "application/x-www-form-urlencoded"),
    responses((status = 303, description = "Signed in: on to the dashboard."),
        (status = 403, description = "The page, without a session: the link is used up or too old. Or another page's form.", body = String, content_type = "text/html"))))]
async fn post_login(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    if !is_same_origin_form(&app, &headers) {
        let refused = ApiError::new(ErrorCode::OriginNotAllowed, "This form is sent by our own page only.");
        return redirect_or_error(&app, &headers, Err(refused));
    }
    Ok(match open_session(&app, body).await {
        Some((cookie, landing)) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::SEE_OTHER;
            let headers = response.headers_mut();
            headers.insert(header::LOCATION, HeaderValue::from_static(landing.path()));
            headers.insert(header::SET_COOKIE, cookie);
            headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
            json::private(response)
        }
        None => super::error::with_prebuilt_body(app.login_page.response(StatusCode::FORBIDDEN)),
    })
}

/// Rejects forms of other sites: they would sign a visitor in to an account that the visitor did not choose. Our own
/// page sends no referrer, so its `Origin` is `null` and the browser reports only same-site. Clients other than
/// browsers send neither header.
fn is_same_origin_form(app: &App, headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let (origin, another) = (origins.next(), origins.next());
    let fetched = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let same_site = fetched.is_none_or(|site| site == b"same-origin");
    match origin.map(HeaderValue::as_bytes) {
        _ if another.is_some() => false,
        None => same_site,
        Some(b"null") => fetched.is_some() && same_site,
        Some(origin) => app.pages.origins().iter().any(|own| own.as_bytes() == origin),
    }
}

/// The cookie of a new session, and the page that its link opens.
async fn open_session(app: &App, body: Body) -> Option<(HeaderValue, LandingPage)> {
    let form = json::collect(body, MAX_FORM_BYTES).await.ok()?;
    // The alphabet of codes needs no percent-decoding.
    let form = std::str::from_utf8(&form).ok()?;
    let code = form.split('&').find_map(|pair| pair.strip_prefix("code="))?;
    let hash = login_code_hash(code)?;
    let new_session = |owner: &Wallet| app.credentials.new_session(owner);
    let (_, session) = app.engine.redeem_login_code(hash.0, new_session).await.ok()?;
    let cookie = app
        .cookies
        .set(session, app.clock.now(), app.config.identity.browser_session_seconds);
    let cookie = HeaderValue::from_str(cookie.expose()).ok()?;
    Some((cookie, LandingPage::named_in(form)))
}
