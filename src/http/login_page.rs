//! The page a person lands on by a login link, and the live view of the account behind it.
//!
//! `GET` shows the page and changes nothing (a link preview runs no script); the page's script posts the code at
//! once, and a button does it where scripts are off. Everything is embedded, nothing is fetched from elsewhere, and
//! names of others reach the page only as text: of what a request says, only a code in its own alphabet gets into it.

use axum::body::Body;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

use crate::identity::login::login_code_hash;

const HTML: &str = include_str!("pages/login.html");
const SCRIPT: &str = include_str!("pages/login.js");
const STYLE: &str = include_str!("pages/login.css");
/// Where the form keeps the code.
const NO_CODE: &str = "name=\"code\" id=\"code\" value=\"\"";
/// Where the owner's forms go.
const OWNER: &str = "<!--owner-->";
/// What somebody who is signed in does not need.
const SIGN_IN: &str = "<section id=\"sign-in\">";
const NO_SIGN_IN: &str = "<section id=\"sign-in\" hidden>";

/// The page, ready to send.
#[derive(Clone)]
pub struct LoginPage {
    body: String,
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
        Self { body, policy }
    }

    /// The page with its form filled for the code in this query. Whatever has not a code's form is left out.
    pub fn sign_in(&self, query: Option<&str>) -> Response {
        let mut pairs = query.unwrap_or_default().split('&');
        let code = pairs.find_map(|pair| pair.strip_prefix("code="));
        match code.filter(|code| login_code_hash(code).is_some()) {
            Some(code) => {
                let filled = format!("name=\"code\" id=\"code\" value=\"{code}\"");
                self.with(StatusCode::OK, self.body.replace(NO_CODE, &filled))
            }
            None => self.response(StatusCode::OK),
        }
    }

    /// The page of somebody who is signed in, with this section of forms. Its markup is ours, with every text of others'
    /// escaped. The address holds no code, so the forms may say where they come from.
    pub fn account(&self, status: StatusCode, section: &str) -> Response {
        let body = self.body.replace(OWNER, section).replace(SIGN_IN, NO_SIGN_IN);
        let mut response = self.with(status, body);
        let referrer = HeaderValue::from_static("same-origin");
        response.headers_mut().insert(header::REFERRER_POLICY, referrer);
        response
    }

    /// The page with any status; the same bytes whatever was asked for.
    pub fn response(&self, status: StatusCode) -> Response {
        self.with(status, self.body.clone())
    }

    fn with(&self, status: StatusCode, body: String) -> Response {
        let mut response = Response::new(Body::from(body));
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
        let text = &page.body;
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
        assert!(text.contains(OWNER) && text.contains(SIGN_IN));
        assert!(
            page.policy
                .to_str()
                .unwrap()
                .starts_with("default-src 'none'; script-src 'sha256-")
        );
    }

    // Aim: the form without a script carries the link's code; anything else in the query never gets into the page.
    #[tokio::test]
    async fn case_72_only_a_code_gets_into_the_form() {
        use http_body_util::BodyExt as _;
        let page = LoginPage::new();
        let text = async |query: Option<&str>| {
            let body = page.sign_in(query).into_body().collect().await.unwrap().to_bytes();
            String::from_utf8(body.to_vec()).unwrap()
        };
        let filled = text(Some("code=AAECAwQFBgcICQoLDA0ODw")).await;
        assert!(filled.contains("id=\"code\" value=\"AAECAwQFBgcICQoLDA0ODw\""));
        assert!(page.body.contains(NO_CODE));
        for other in [
            None,
            Some("code="),
            Some("code=\"><script>alert(1)</script>"),
            Some("code=AAECAwQFBgcICQoLDA0O\">"),
            Some("other=AAECAwQFBgcICQoLDA0ODw"),
        ] {
            assert_eq!(text(other).await, page.body, "{other:?}");
        }
    }
}
