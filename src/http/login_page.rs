//! The page a person lands on by a login link, and the live view of the account behind it.
//!
//! `GET` shows the page and changes nothing (a link preview runs no script); the page's script posts the code at
//! once, and a button does it where scripts are off. Everything is embedded, nothing is fetched from elsewhere, and
//! names of others reach the page only as text.

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

const HTML: &str = include_str!("pages/login.html");
const SCRIPT: &str = include_str!("pages/login.js");
const STYLE: &str = include_str!("pages/login.css");

/// The page, ready to send.
#[derive(Clone)]
pub struct LoginPage {
    body: bytes::Bytes,
    policy: HeaderValue,
}

impl LoginPage {
    /// Puts script and style into the page and allows exactly those two by their hashes.
    pub fn new() -> Self {
        let body = HTML.replace("/*style*/", STYLE).replace("/*script*/", SCRIPT);
        let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            hash(SCRIPT),
            hash(STYLE)
        );
        let policy = HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
        Self {
            body: body.into(),
            policy,
        }
    }

    /// The page with any status; the same bytes whatever was asked for, so nothing can be injected into it.
    pub fn response(&self, status: StatusCode) -> Response {
        let mut response = Response::new(Body::from(self.body.clone()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/html; charset=utf-8"),
        );
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
        headers.insert(header::CONTENT_SECURITY_POLICY, self.policy.clone());
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        response
    }
}

/// `GET /login`, which consumes nothing. `POST /login` belongs to whoever redeems codes.
pub fn router(page: LoginPage) -> Router {
    Router::new().route("/login", get(move || async move { page.response(StatusCode::OK) }))
}

impl Default for LoginPage {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Aim: the page loads nothing from elsewhere, and nothing of others' can become markup in it (case 72).
    #[test]
    fn case_72_the_page_is_closed_and_inert() {
        let page = LoginPage::new();
        let text = std::str::from_utf8(&page.body).unwrap();
        assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("src="));
        for dangerous in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ] {
            assert!(!text.contains(dangerous), "{dangerous}");
        }
        assert!(
            text.contains(&format!("<script>{SCRIPT}</script>")) && text.contains(&format!("<style>{STYLE}</style>"))
        );
        assert!(text.contains("<form method=\"post\""));
        assert!(
            page.policy
                .to_str()
                .unwrap()
                .starts_with("default-src 'none'; script-src 'sha256-")
        );
    }
}
