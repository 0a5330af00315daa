//! The session cookie as a credential: requests of our own pages, on the routes that take a bearer token.
//!
//! A browser attaches the cookie by itself, so a request with it counts only if the browser says that one of our pages
//! sent it, and only without an `Authorization` header. A session that a payment or an API key opened may only read. A
//! session makes no login links: each link would outlive the end of the session that made it.

use axum::extract::FromRequestParts;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, ORIGIN, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use std::sync::Arc;

use super::account::refuse_frozen;
use super::app::App;
use super::auth::{AuthClaims, Authenticator as _, BearerAuth, MaybeBearer, RequestExtensions};
use super::error::{ApiError, ErrorCode};
use super::passkeys::require_confirmed;
use super::query::Query;
use super::route::{Confirmed, Route};
use super::routes;

/// Browsers say here which site the page of a request is from.
const SEC_FETCH_SITE: &str = "sec-fetch-site";

/// Extractor: the claims of a bearer token or of a page's session, if the request has either.
pub(super) struct MaybeClaims(pub Option<AuthClaims>);

impl FromRequestParts<Arc<App>> for MaybeClaims {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        match MaybeBearer::from_request_parts(parts, app).await?.0 {
            BearerAuth::Absent => of_request(app, parts).await.map(Self),
            bearer => Ok(Self(Some(bearer.claims()?.clone()))),
        }
    }
}

/// Extractor: the claims of the session cookie, on a route that takes no token. Rejects what is not a request of one of
/// our own pages with 403, and a request without a valid session with 401.
pub(super) struct PageSession(pub AuthClaims);

impl FromRequestParts<Arc<App>> for PageSession {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        require_own_page(&parts.method, &parts.headers, &app.pages.origins())?;
        session(app, &parts.headers).await.map(Self)
    }
}

/// Claims of the session cookie of a request without `Authorization`. `None` if it has no such cookie. The extractors
/// that follow see the claims as those of a token.
///
/// # Errors
/// 403 `origin_not_allowed` for a page of another origin, 401 for a session that is not valid, 403 `sign_in_required` for
/// an act in a session that may only read, 403 `confirmation_required` for one that its owner has to confirm.
pub(super) async fn of_request(app: &App, parts: &mut Parts) -> Result<Option<AuthClaims>, ApiError> {
    let cookie = cookie_of(&parts.headers);
    if parts.headers.contains_key(AUTHORIZATION) || !app.cookies.is_in(cookie) {
        return Ok(None);
    }
    require_own_page(&parts.method, &parts.headers, &app.pages.origins())?;
    let claims = app.authenticator.authenticate_session(cookie).await?;
    let route = route_of(&parts.method, parts.uri.path());
    if !route.is_some_and(Route::only_reads) {
        require_signed_in(&claims)?;
    }
    let confirms = match route.map_or(Confirmed::Nothing, |route| route.confirmed) {
        Confirmed::Always => true,
        Confirmed::Secrets => asks_for_secrets(parts.uri.query()),
        Confirmed::Nothing | Confirmed::Raise => false,
    };
    if confirms {
        refuse_frozen(&app.engine, &claims).await?;
        require_confirmed(app, &claims).await?;
    }
    if let Some(asked) = parts.extensions.get_mut::<RequestExtensions>() {
        asked.bearer = BearerAuth::Valid(claims.clone());
    }
    Ok(Some(claims))
}

/// Claims of the session cookie of the request.
///
/// # Errors
/// 401 `token_missing` without the cookie. `token_invalid`, `token_expired` or `token_revoked` if the cookie is not
/// valid.
pub(super) async fn session(app: &App, headers: &HeaderMap) -> Result<AuthClaims, ApiError> {
    let cookie = cookie_of(headers);
    if !app.cookies.is_in(cookie) {
        let error = "This route needs the session cookie that a login link sets; it takes no token.";
        return Err(ApiError::unauthorized(ErrorCode::TokenMissing, error)
            .hint("GET /get-auth-link makes a login link for the account's owner."));
    }
    Ok(app.authenticator.authenticate_session(cookie).await?)
}

/// The `Cookie` header, empty if there is none.
pub(super) fn cookie_of(headers: &HeaderMap) -> &str {
    let cookie = headers.get(COOKIE).and_then(|value| value.to_str().ok());
    cookie.unwrap_or_default()
}

/// Rejects what a page of another origin could send with our cookie. A write must have one of our origins as `Origin`, which no page can
/// forge, and a body must be JSON, which no form can send.
///
/// # Errors
/// 403 `origin_not_allowed`.
pub(super) fn require_own_page(method: &Method, headers: &HeaderMap, origins: &[&str]) -> Result<(), ApiError> {
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let sent = headers.get_all(SEC_FETCH_SITE).iter().map(HeaderValue::as_bytes);
    let ours = sent.into_iter().all(|site| site == b"same-origin");
    if ours && (reads || (has_origin(headers, origins) && (*method != Method::POST || has_json_or_no_body(headers)))) {
        return Ok(());
    }
    let error = "The session cookie counts only in requests of our own pages.";
    Err(ApiError::new(ErrorCode::OriginNotAllowed, error)
        .hint("Programs use a token: Authorization: Bearer, without the cookie."))
}

/// Whether the request has one of these as `Origin`, once.
pub(super) fn has_origin(headers: &HeaderMap, origins: &[&str]) -> bool {
    let mut sent = headers.get_all(ORIGIN).iter();
    let is_one = |sent: &HeaderValue| origins.iter().any(|origin| sent.as_bytes() == origin.as_bytes());
    sent.next().is_some_and(is_one) && sent.next().is_none()
}

/// A body without a content type is empty, unless a page hides the type.
fn has_json_or_no_body(headers: &HeaderMap) -> bool {
    if !headers.contains_key(CONTENT_TYPE) {
        let length = headers.get(CONTENT_LENGTH).map(HeaderValue::as_bytes);
        return !headers.contains_key(TRANSFER_ENCODING) && matches!(length, None | Some(b"0"));
    }
    let mut kinds = headers.get_all(CONTENT_TYPE).iter().map(HeaderValue::to_str);
    let (Some(Ok(kind)), None) = (kinds.next(), kinds.next()) else {
        return false;
    };
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

/// Whether a query asks for one card with its details. One that is not understood here does.
fn asks_for_secrets(query: Option<&str>) -> bool {
    let known = [
        "card_id",
        "details",
        "card_type",
        "include_failed",
        "limit",
        "order",
        "starting_after",
    ];
    Query::parse(query, &known).map_or(true, |query| {
        query.get("card_id").is_some() && query.get("details") != Some("false")
    })
}

/// The row of a route.
fn route_of(method: &Method, path: &str) -> Option<&'static Route> {
    let method = if *method == Method::HEAD { &Method::GET } else { method };
    let mut routes = routes::public();
    routes.find(|route| route.path == path && route.method == method.as_str())
}

/// Requires a wallet that signed in. A hostile seller may have relayed a payment and have its token, and an agent with
/// an API key is not the owner.
///
/// # Errors
/// 403 `sign_in_required` for tokens issued for a payment or an API key.
pub(super) fn require_signed_in(claims: &AuthClaims) -> Result<(), ApiError> {
    if claims.is_signed_in() {
        return Ok(());
    }
    let error = match claims.is_payment_token() {
        true => "This needs a sign-in with the wallet; a payment alone is not enough.",
        false => "This needs a sign-in with the wallet; an API key is an agent's.",
    };
    Err(ApiError::new(ErrorCode::SignInRequired, error).hint("GET /auth signs in; a link made after that may do this."))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    // Checks: only a request that a page of this origin can send counts. An old browser says less of a read.
    #[test]
    fn only_requests_of_our_own_pages_count() {
        const OURS: &str = "https://pay.example";
        const JSON: (&str, &str) = ("content-type", "application/json; charset=utf-8");
        let good = [("origin", OURS), JSON, ("sec-fetch-site", "same-origin")];
        let allowed =
            |method: &Method, sent: &[(&'static str, &str)]| require_own_page(method, &headers(sent), &[OURS]).is_ok();
        assert!(allowed(&Method::POST, &good) && allowed(&Method::POST, &good[..2]));
        assert!(allowed(&Method::GET, &[]) && allowed(&Method::GET, &[("sec-fetch-site", "same-origin")]));
        assert!(allowed(&Method::DELETE, &[("origin", OURS)]));
        for site in ["cross-site", "same-site", "none", "", "same-origin, cross-site"] {
            for method in [Method::GET, Method::HEAD, Method::POST, Method::DELETE] {
                let sent = [good[0], good[1], ("sec-fetch-site", site)];
                assert!(!allowed(&method, &sent), "{method} {site}");
            }
        }
        let twice = [good[2], ("sec-fetch-site", "cross-site")];
        assert!(!allowed(&Method::GET, &twice));
        for origin in [
            "https://evil.example",
            "null",
            "",
            "https://pay.example.evil.example",
            "http://pay.example",
        ] {
            assert!(!allowed(&Method::POST, &[("origin", origin), JSON]), "{origin}");
            assert!(!allowed(&Method::DELETE, &[("origin", origin)]), "{origin}");
        }
        assert!(!allowed(&Method::POST, &[JSON]) && !allowed(&Method::DELETE, &[]));
        assert!(!allowed(&Method::POST, &[("origin", OURS), ("origin", OURS), JSON]));
        for kind in [
            "application/x-www-form-urlencoded",
            "text/plain",
            "multipart/form-data",
            "",
            "text/json",
        ] {
            assert!(
                !allowed(&Method::POST, &[("origin", OURS), ("content-type", kind)]),
                "{kind}"
            );
        }
        assert!(!allowed(
            &Method::POST,
            &[("origin", OURS), JSON, ("content-type", "text/plain")]
        ));
        assert!(allowed(&Method::POST, &[("origin", OURS)]));
        assert!(!allowed(&Method::POST, &[("origin", OURS), ("content-length", "5")]));
        assert!(!allowed(
            &Method::POST,
            &[("origin", OURS), ("transfer-encoding", "chunked")]
        ));
    }

    // Checks: which routes change nothing is read from their rows.
    #[test]
    fn reads_are_known_by_their_rows() {
        for (method, path) in [
            (Method::GET, "/get-card-data"),
            (Method::HEAD, "/events"),
            (Method::POST, "/listBankingAccounts"),
        ] {
            assert!(
                route_of(&method, path).is_some_and(Route::only_reads),
                "{method} {path}"
            );
        }
        for (method, path) in [
            (Method::POST, "/withdraw"),
            (Method::DELETE, "/payment-recipients"),
            (Method::POST, "/createBankingProfile"),
            (Method::POST, "/revokeAgentApiKey"),
            (Method::GET, "/no-such-route"),
        ] {
            assert!(
                !route_of(&method, path).is_some_and(Route::only_reads),
                "{method} {path}"
            );
        }
    }
}
