//! The page behind a login link, and the live view of the account.
//!
//! `GET` shows the page and changes nothing, and a link preview runs no script. The page's script posts the code at
//! once, and a button does it without scripts. Everything is embedded, and the page loads no other resource. External
//! text reaches the page only as text. Of the request, only a code in its own alphabet gets into the page.

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
/// Placeholder of the code in the form.
const NO_CODE: &str = "name=\"code\" id=\"code\" value=\"\"";
/// Placeholder of the owner's forms.
const OWNER: &str = "<!--owner-->";
/// Section that is removed for a signed-in owner.
const SIGN_IN: &str = "<section id=\"sign-in\">";
const NO_SIGN_IN: &str = "<section id=\"sign-in\" hidden>";

#[derive(Clone)]
pub struct LoginPage {
    body: String,
    policy: HeaderValue,
}

impl LoginPage {
    /// Embeds script and style in the page, and permits exactly those two by their hashes.
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

    /// The page with its form filled with the code of the query. Values that are not a code are ignored.
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

    /// The page of a signed-in owner with this section of forms. The section is our own markup, with all external text
    /// escaped. The URL holds no code, so the forms may send their origin.
    pub fn account(&self, status: StatusCode, section: &str) -> Response {
        let body = self.body.replace(OWNER, section).replace(SIGN_IN, NO_SIGN_IN);
        let mut response = self.with(status, body);
        let referrer = HeaderValue::from_static("same-origin");
        response.headers_mut().insert(header::REFERRER_POLICY, referrer);
        response
    }

    /// The page with any status. Its bytes do not depend on the request.
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

    // Checks: the page loads no other resource, and external text can't become markup in it (case 72).
    #[test]
    fn case_72_page_loads_no_other_resources() {
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

    // Checks: the form without a script carries the link's code, and nothing else of the query gets into the page.
    #[tokio::test]
    async fn case_72_form_contains_only_a_code() {
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
