//! The page of the sandbox identity check: a form without a script, in the account page's style.

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};

use crate::provider::sandbox::identity_check::CheckPage;

const HTML: &str = include_str!("pages/identity.html");
const FORM: &str = include_str!("pages/identity_form.html");
const STYLE: &str = include_str!("pages/login.css");
const BACK: &str = "<p><a href=\"/login\">Back to your account</a></p>";

/// The page, with an error of the form if there is one. It contains no text of the caller.
pub fn page(shown: CheckPage, wrong: Option<&'static str>, status: StatusCode) -> Response {
    let content = match shown {
        CheckPage::Open => match wrong {
            Some(wrong) => format!("<p role=\"alert\" class=\"bad\">{wrong}</p>\n  {FORM}"),
            None => FORM.to_owned(),
        },
        CheckPage::Answered => format!("<p role=\"status\">Thank you. The check is in progress.</p>\n  {BACK}"),
        CheckPage::Expired => format!("<p role=\"status\">This check was given up. Begin another one.</p>\n  {BACK}"),
    };
    framed(HTML, &content, "no-referrer", status)
}

/// A page with a style and without scripts, which can't be framed or cached. `referrer` limits what a browser reveals
/// of its URL, which may hold a secret, when a form is sent.
pub(super) fn framed(html: &str, content: &str, referrer: &'static str, status: StatusCode) -> Response {
    let body = html.replace("/*style*/", STYLE).replace("<!--content-->", content);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        STANDARD.encode(Sha256::digest(STYLE))
    );
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "private, no-store"),
        (header::REFERRER_POLICY, referrer),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let policy = HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}
