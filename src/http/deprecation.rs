//! Routes being retired: they work, and say what replaces them and until when (RFC 9745, RFC 8594).

use axum::response::Response;
use axum::routing::MethodRouter;
use http::HeaderValue;
use http::header::{HeaderName, LINK};
use serde::Serialize;
use utoipa::ToSchema;

/// A route on its way out.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Retirement {
    /// The route.
    pub route: &'static str,
    /// What to call instead.
    pub successor: &'static str,
    /// The day it ends, as an HTTP date.
    pub sunset: &'static str,
}

/// `POST /refresh`, the old form of `POST /auth`.
pub const REFRESH: Retirement = Retirement {
    route: "/refresh",
    successor: "/auth",
    sunset: "Sat, 20 Nov 2027 00:00:00 GMT",
};

/// Wraps a route's handler: every answer of it, refusals included, announces the retirement.
pub fn retiring<S: Clone + Send + Sync + 'static>(
    retirement: Retirement,
    handler: MethodRouter<S>,
) -> MethodRouter<S> {
    handler.layer(axum::middleware::map_response(move |response: Response| async move {
        announce(retirement, response)
    }))
}

fn announce(retirement: Retirement, mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("deprecation"), HeaderValue::from_static("true"));
    headers.insert(
        HeaderName::from_static("sunset"),
        HeaderValue::from_static(retirement.sunset),
    );
    let link = format!("<{}>; rel=\"successor-version\"", retirement.successor);
    if let Ok(link) = HeaderValue::from_str(&link) {
        headers.insert(LINK, link);
    }
    response
}
