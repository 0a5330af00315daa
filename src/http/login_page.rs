//! The page behind a login link.
//!
//! `GET` shows the page and changes nothing, and a link preview runs no script. The page's script posts the code at
//! once, and a button does it without scripts. Of the request, only a code in its own alphabet gets into the page.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};

use super::web_apps::{self, LINK_USED, LOGIN, SIGNED_IN};
use crate::identity::login::{LandingPage, login_code_hash};
use crate::page::contact_link;

/// Placeholder of the code in the form.
const NO_CODE: &str = "name=\"code\" id=\"code\" value=\"\"";

/// Placeholder of what an owner is shown without scripts.
const OWNER: &str = "<!--owner-->";

/// End of the header with the badge of a sandbox.
const SANDBOX_HEADER_END: &str = "<span class=\"chip dashed\">Sandbox</span></header>";

/// Placeholder of the operator's contact.
const CONTACT: &str = "<!--contact-->";

#[derive(Clone)]
pub struct LoginPage {
    /// Of a link that was used or has expired.
    link_used: String,
}

impl LoginPage {
    pub fn new(contact: Option<&str>, is_sandbox: bool) -> Self {
        let contact = match contact {
            Some(contact) => contact_link(contact, "Contact").into_text(),
            None => String::new(),
        };
        let link_used = LINK_USED.html().replace(CONTACT, &contact);
        let link_used = match is_sandbox {
            true => link_used.replace("</header>", SANDBOX_HEADER_END),
            false => link_used,
        };
        Self { link_used }
    }

    /// The page with its form filled with the code of the query. Without a code it says where links come from.
    pub fn sign_in(&self, query: Option<&str>) -> Response {
        let query = query.unwrap_or_default();
        let mut pairs = query.split('&');
        let code = pairs.find_map(|pair| pair.strip_prefix("code="));
        match code.filter(|code| login_code_hash(code).is_some()) {
            Some(code) => {
                let landing = match LandingPage::named_in(query) {
                    LandingPage::Home => "",
                    LandingPage::Identity => "><input type=\"hidden\" name=\"to\" value=\"identity\"",
                };
                let filled = format!("name=\"code\" id=\"code\" value=\"{code}\"{landing}");
                web_apps::filled_page(StatusCode::OK, LOGIN.html().replace(NO_CODE, &filled))
            }
            None => self.response(StatusCode::OK),
        }
    }

    /// The page of a signed-in owner with this section. The section is our own markup, with all external text
    /// escaped. The URL holds no code, so the forms may send their origin.
    pub fn account(&self, status: StatusCode, section: &str) -> Response {
        let mut response = web_apps::filled_page(status, SIGNED_IN.html().replace(OWNER, section));
        let referrer = HeaderValue::from_static("same-origin");
        response.headers_mut().insert(header::REFERRER_POLICY, referrer);
        response
    }

    /// The link was used or has expired, with any status. The bytes do not depend on the request.
    pub fn response(&self, status: StatusCode) -> Response {
        web_apps::filled_page(status, self.link_used.clone())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    async fn text(response: Response) -> String {
        use http_body_util::BodyExt as _;
        let body = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(body.to_vec()).unwrap()
    }

    // Checks: the form without a script carries the link's code, and nothing else of the query gets into the page.
    #[tokio::test]
    async fn case_72_form_contains_only_a_code() {
        let page = LoginPage::new(None, false);
        let filled = text(page.sign_in(Some("code=AAECAwQFBgcICQoLDA0ODw"))).await;
        assert!(filled.contains("id=\"code\" value=\"AAECAwQFBgcICQoLDA0ODw\""));
        assert!(filled.contains("<form method=\"post\" action=\"/login\"") && !filled.contains("name=\"to\""));
        let filled = text(page.sign_in(Some("to=identity&code=AAECAwQFBgcICQoLDA0ODw"))).await;
        assert!(filled.contains("ODw\"><input type=\"hidden\" name=\"to\" value=\"identity\">"));
        let filled = text(page.sign_in(Some("to=%22//evil.example&code=AAECAwQFBgcICQoLDA0ODw"))).await;
        assert!(!filled.contains("name=\"to\"") && !filled.contains("evil"));
        assert!(LOGIN.html().contains(NO_CODE) && SIGNED_IN.html().contains(OWNER));
        for other in [
            None,
            Some("code="),
            Some("code=\"><script>alert(1)</script>"),
            Some("code=AAECAwQFBgcICQoLDA0O\">"),
            Some("other=AAECAwQFBgcICQoLDA0ODw"),
        ] {
            let link_used = LINK_USED.html().replace(CONTACT, "");
            assert_eq!(text(page.sign_in(other)).await, link_used, "{other:?}");
        }
    }

    // Checks: a link that does not work says whom to contact, if the operator has set a contact, and that money here
    // is test money.
    #[tokio::test]
    async fn link_used_page_names_the_contact() {
        let page = LoginPage::new(Some("https://pay.example/help"), true);
        let link = "<a href=\"https://pay.example/help\">Contact</a>";
        let used = text(page.response(StatusCode::FORBIDDEN)).await;
        assert!(used.contains(link) && used.contains(">Sandbox</span></header>"));
        let production = text(LoginPage::new(None, false).response(StatusCode::FORBIDDEN)).await;
        assert!(!production.contains("Sandbox"));
    }

    // Checks: the page loads nothing from other addresses, and external text can't become markup in it (case 72).
    #[tokio::test]
    async fn case_72_page_loads_no_other_resources() {
        let response = LoginPage::new(None, false).sign_in(None);
        let policy = response.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"));
        assert!(policy.contains("require-trusted-types-for 'script'") && !policy.contains("unsafe"));
        for page in [LOGIN, LINK_USED, SIGNED_IN] {
            let html = page.html();
            assert!(!html.contains("http://") && !html.contains("https://"));
        }
    }
}
