//! The web apps: `/dashboard` for account owners at the public address, `/desk` for operators at theirs, and the built
//! files of both at `/assets`. Everything is embedded in the program.
//!
//! A page is the same for everybody: it has no data, no inline script and no inline style. Its script reads the data
//! from the API with the session cookie. The name of a built file has a hash of its content, so it never changes.

#[path = "../web/built/files.rs"]
mod files;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};

use super::app::App;
use super::error::{ApiError, ErrorCode};
use super::operator::AdminState;
use super::page_address::PageAddress;
use super::request_metrics::PathGroup;
use super::route::routes;

/// Scripts, styles and fonts come from our own address only, no text becomes markup (`trusted-types 'none'`), and no
/// other site can frame a page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";
const PERMISSIONS: &str = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";
const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// A page of the web apps, whole or with a mark where text goes in.
pub(super) struct Page {
    html: &'static str,
    digest: &'static str,
}

impl Page {
    pub(super) const fn html(&self) -> &'static str {
        self.html
    }
}

/// A built file. Its name has a hash of its content.
struct File {
    name: &'static str,
    content_type: &'static str,
    digest: &'static str,
    bytes: &'static [u8],
    gzip: Option<&'static [u8]>,
}

/// The page behind a login link.
pub(super) static LOGIN: &Page = &files::LOGIN;
/// A login link that was used or has expired.
pub(super) static LINK_USED: &Page = &files::LINK_USED;
/// A page without scripts for a signed-in owner.
pub(super) static SIGNED_IN: &Page = &files::SIGNED_IN;

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/dashboard" => get_dashboard { Public }
}

routes! { pub static OPERATOR_ROUTES: Arc<AdminState>, undocumented;
    GET "/desk" => get_desk { Operator }
}

/// Labels of the addresses that are in no table, for metrics.
pub static PATH_GROUPS: [PathGroup; 3] = [
    PathGroup {
        prefix: "/dashboard/",
        label: "/dashboard/{page}",
    },
    PathGroup {
        prefix: "/desk/",
        label: "/desk/{page}",
    },
    PathGroup {
        prefix: "/assets/",
        label: "/assets/{file}",
    },
];

/// The addresses within the dashboard, and the built files. They are no operations of the API: what they serve depends
/// on the version of the program only.
pub fn router(pages: PageAddress) -> Router {
    Router::new()
        .route("/dashboard/{page}", get(get_dashboard_page))
        .route("/dashboard/{page}/{id}", get(get_dashboard_page))
        .route("/dashboard/", get(without_slash))
        .route("/dashboard/{page}/", get(without_slash))
        .route("/dashboard/{page}/{id}/", get(without_slash))
        .with_state(pages)
        .merge(asset_router())
}

/// The built files alone.
pub fn asset_router() -> Router {
    Router::new().route("/assets/{file}", get(get_asset))
}

/// The same at the operator address.
pub fn operator_router(state: Arc<AdminState>) -> Router {
    Router::new()
        .route("/desk/{page}", get(get_desk))
        .route("/desk/{page}/{id}", get(get_desk))
        .route("/desk/", get(without_slash))
        .route("/desk/{page}/", get(without_slash))
        .route("/desk/{page}/{id}/", get(without_slash))
        .with_state(state)
        .merge(asset_router())
}

/// Show the dashboard
///
/// For the account's owner, as are all addresses below it. Without a session the page asks to sign in. Its scripts,
/// styles and fonts are at `/assets`.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/dashboard", operation_id = "showDashboard", tag = "Account pages",
    responses((status = 200, description = "The page. It has no data; its script reads the API.", body = String, content_type = "text/html"),
        (status = 304, description = "The page is the one that `If-None-Match` names."),
        (status = 307, description = "To the same page at `localhost`, for a browser at a loopback address."))))]
async fn get_dashboard(State(app): State<Arc<App>>, uri: Uri, headers: HeaderMap) -> Response {
    page_at(&app.pages, &files::HOLDER, &uri, &headers)
}

async fn get_dashboard_page(State(pages): State<PageAddress>, uri: Uri, headers: HeaderMap) -> Response {
    page_at(&pages, &files::HOLDER, &uri, &headers)
}

async fn get_desk(State(state): State<Arc<AdminState>>, uri: Uri, headers: HeaderMap) -> Response {
    // The desk is where its browser is: at this address, or at that of a tunnel to it.
    match state.operator_auth.pages(&headers) {
        Ok(pages) => page_at(&pages, &files::DESK, &uri, &headers),
        Err(_) => app_page(&files::DESK, &headers),
    }
}

/// Leads an address that ends with a slash to the page without it, so that each page has one address.
async fn without_slash(uri: Uri) -> Result<Response, ApiError> {
    let path = uri.path().trim_end_matches('/');
    let location = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let location = HeaderValue::from_str(&location).map_err(|_| ApiError::internal())?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    response.headers_mut().insert(header::LOCATION, location);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// The page of an app at its address.
fn page_at(pages: &PageAddress, page: &'static Page, uri: &Uri, headers: &HeaderMap) -> Response {
    pages.redirect(headers, uri).unwrap_or_else(|| app_page(page, headers))
}

/// A built file. Its name has a hash of its content, so it may be stored for a year.
async fn get_asset(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, ApiError> {
    let found = files::FILES.binary_search_by(|file| file.name.cmp(&name)).ok();
    let file = found
        .and_then(|at| files::FILES.get(at))
        .ok_or_else(|| ApiError::new(ErrorCode::RouteNotFound, "There is no such file."))?;
    let gzip = file.gzip.filter(|_| accepts_gzip(&headers));
    let etag = match gzip {
        Some(_) => format!("\"{}-gzip\"", file.digest),
        None => format!("\"{}\"", file.digest),
    };
    let mut response = unless_known(&headers, &etag, gzip.unwrap_or(file.bytes));
    let is_body = response.status() == StatusCode::OK;
    let sent = response.headers_mut();
    sent.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.content_type));
    sent.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=31536000, immutable"),
    );
    sent.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    sent.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    sent.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    if gzip.is_some() && is_body {
        sent.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

/// The page of an app. Browsers ask each time whether it is still the newest: a new version of the program has other
/// files.
fn app_page(page: &'static Page, headers: &HeaderMap) -> Response {
    let etag = format!("\"{}\"", page.digest);
    let mut response = unless_known(headers, &etag, page.html.as_bytes());
    write_page_headers(response.headers_mut());
    let cache = HeaderValue::from_static("private, no-cache");
    response.headers_mut().insert(header::CACHE_CONTROL, cache);
    response
}

/// A page with text of its own, which is not stored anywhere.
pub(super) fn filled_page(status: StatusCode, html: String) -> Response {
    let mut response = Response::new(Body::from(html));
    *response.status_mut() = status;
    write_page_headers(response.headers_mut());
    let cache = HeaderValue::from_static("private, no-store");
    response.headers_mut().insert(header::CACHE_CONTROL, cache);
    response
}

/// The headers of every page.
fn write_page_headers(headers: &mut HeaderMap) {
    let fixed = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (PERMISSIONS_POLICY, PERMISSIONS),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// 200 with these bytes, or 304 if the client has them.
fn unless_known(headers: &HeaderMap, etag: &str, bytes: &'static [u8]) -> Response {
    let known = headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|one| matches!(one.trim(), "*") || one.trim().trim_start_matches("W/") == etag);
    let mut response = match known {
        true => Response::new(Body::empty()),
        false => Response::new(Body::from(Bytes::from_static(bytes))),
    };
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    if let Ok(etag) = HeaderValue::from_str(etag) {
        response.headers_mut().insert(header::ETAG, etag);
    }
    response
}

/// Whether the client reads gzip: it is named, and not with a weight of zero.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let named = headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    named
        .filter_map(|one| {
            let (coding, weight) = one.split_once(';').unwrap_or((one, "q=1"));
            coding
                .trim()
                .eq_ignore_ascii_case("gzip")
                .then(|| weight.trim().to_owned())
        })
        .any(|weight| {
            let zero = weight.strip_prefix("q=").map(|q| q.trim_start_matches(['0', '.']));
            zero.is_none_or(|rest| !rest.is_empty())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: every file that a page names is built, the table is sorted, and no page has inline script or style.
    #[test]
    fn pages_name_built_files_and_have_nothing_inline() {
        assert!(files::FILES.is_sorted_by_key(|file| file.name));
        for page in [&files::HOLDER, &files::DESK, LOGIN, LINK_USED, SIGNED_IN] {
            let html = page.html();
            for part in html.split("/assets/").skip(1) {
                let name = part.split('"').next().unwrap_or_default();
                assert!(files::FILES.iter().any(|file| file.name == name), "{name}");
            }
            for inline in ["<style", "style=", " onclick", "javascript:", "http://", "https://"] {
                assert!(!html.contains(inline), "{inline}: {html}");
            }
            assert!(html.matches("<script").count() == html.matches("<script type=\"module\" src=\"/assets/").count());
        }
    }

    // Checks: gzip is sent to clients that name it, and not to those that refuse it.
    #[test]
    fn gzip_is_sent_to_those_that_name_it() {
        let accepts = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            accepts_gzip(&headers)
        };
        for yes in ["gzip", "br, gzip", "gzip;q=0.5", "deflate, GZIP ; q=1.0"] {
            assert!(accepts(yes), "{yes}");
        }
        for no in ["", "br", "gzip;q=0", "gzip;q=0.000, br", "identity"] {
            assert!(!accepts(no), "{no}");
        }
    }
}
