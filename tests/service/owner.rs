//! A person at the account page: a browser's cookie, actions and forms, without the browser.

use serde_json::{Value, json};

use super::agent::Agent;
use super::http::{Response, ServiceClient, send, until};

/// A person with a session cookie.
pub(crate) struct Owner {
    cookie: String,
}

impl Owner {
    /// Opens the login link of a token.
    pub(crate) async fn by_token(site: &ServiceClient<'_>, token: &str) -> Self {
        let link = site.get_as(token, "/get-auth-link").await;
        let url = link.str("auth_url").unwrap_or_else(|| panic!("no link: {}", link.text));
        Self::by_link(site, url).await
    }

    pub(crate) async fn by_link(site: &ServiceClient<'_>, url: &str) -> Self {
        // The page behind the link posts the same.
        let (_, form) = url.split_once("/login?").unwrap();
        let opened = send(site.request("POST", "/login").body(form.to_owned()))
            .await
            .unwrap();
        let page = match form.starts_with("to=identity&") {
            true => "/dashboard/settings#identity",
            false => "/dashboard",
        };
        assert_eq!(
            (opened.status, opened.header("location")),
            (303, Some(page)),
            "{}",
            opened.text
        );
        let cookie = opened.header("set-cookie").unwrap().split(';').next().unwrap();
        Self {
            cookie: cookie.to_owned(),
        }
    }

    /// A person with the cookie that a response has set.
    pub(crate) fn by_set_cookie(set: &str) -> Self {
        Self {
            cookie: set.split(';').next().unwrap().to_owned(),
        }
    }

    /// The owner of a wallet that signs in.
    pub(crate) async fn of(site: &ServiceClient<'_>, agent: &Agent) -> Self {
        Self::by_token(site, &agent.token(site).await).await
    }

    /// The page as the owner sees it.
    pub(crate) async fn page(&self, site: &ServiceClient<'_>) -> Response {
        site.get("/login", &[("cookie", &self.cookie)]).await
    }

    pub(crate) fn cookie(&self) -> &str {
        &self.cookie
    }

    /// A request for a form of a page.
    pub(crate) fn form(&self, site: &ServiceClient<'_>, path: &str) -> reqwest::RequestBuilder {
        let request = site.request("POST", path).header("cookie", &self.cookie);
        request.header("origin", &site.service.url)
    }

    /// Posts a form from a page of this origin.
    pub(crate) async fn send_from(&self, site: &ServiceClient<'_>, origin: &str, path: &str, form: &str) -> Response {
        let request = site.request("POST", path).header("cookie", &self.cookie);
        let request = request
            .header("origin", origin)
            .header("content-type", "application/x-www-form-urlencoded");
        send(request.body(form.to_owned())).await.unwrap()
    }

    /// Posts a form of our own page.
    pub(crate) async fn send(&self, site: &ServiceClient<'_>, path: &str, form: &str) -> Response {
        self.send_from(site, &site.service.url, path, form).await
    }

    /// The account as the page reads it.
    pub(crate) async fn account(&self, site: &ServiceClient<'_>) -> Response {
        site.get("/account", &[("cookie", &self.cookie)]).await
    }

    /// An action from a page of this origin.
    pub(crate) async fn act_from(&self, site: &ServiceClient<'_>, origin: &str, path: &str, body: &Value) -> Response {
        let request = site.request("POST", path).header("cookie", &self.cookie);
        send(request.header("origin", origin).json(body)).await.unwrap()
    }

    /// An action of the account page.
    pub(crate) async fn act(&self, site: &ServiceClient<'_>, path: &str, body: &Value) -> Response {
        self.act_from(site, &site.service.url, path, body).await
    }

    /// An action without fields, or a form without fields.
    pub(crate) async fn act_without_fields(&self, site: &ServiceClient<'_>, origin: &str, path: &str) -> Response {
        match path {
            "/claim" => self.send_from(site, origin, path, "").await,
            path => self.act_from(site, origin, path, &json!({})).await,
        }
    }

    /// Links the card issuer.
    pub(crate) async fn link(&self, site: &ServiceClient<'_>) {
        let answer = self.act(site, "/account/link", &json!({})).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        until("the account at the issuer", async || {
            let account = self.account(site).await.body;
            (account["issuer_link"]["status"] == "linked").then_some(())
        })
        .await;
    }

    /// Starts an identity check and returns its page.
    pub(crate) async fn check(&self, site: &ServiceClient<'_>) -> String {
        let answer = self.act(site, "/account/identity", &json!({})).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let link = until("the identity check's page", async || {
            let account = self.account(site).await.body;
            account["identity"]["check_url"].as_str().map(str::to_owned)
        })
        .await;
        // A remote provider's link is absolute.
        match link.starts_with("http") {
            true => link,
            false => format!("{}{link}", site.service.url),
        }
    }

    /// Starts a check and answers it with this family name.
    pub(crate) async fn complete_check_as(&self, site: &ServiceClient<'_>, family_name: &str) {
        let url = self.check(site).await;
        let page = send(site.client.get(&url)).await.unwrap();
        assert!(page.text.contains("name=\"date_of_birth\""), "{}", page.text);
        let form = format!("given_name=Ada&family_name={family_name}&date_of_birth=1990-12-10&country=GB");
        let taken = send(site.client.post(&url).body(form)).await.unwrap();
        assert_eq!(taken.status, 200, "{}", taken.text);
    }

    /// Completes the identity verification.
    pub(crate) async fn verify(&self, site: &ServiceClient<'_>, token: &str) {
        self.complete_check_as(site, "Lovelace").await;
        wait_for_kyc_status(site, token, "verified").await;
    }
}

/// Waits until the identity of a token's owner has this status.
pub(crate) async fn wait_for_kyc_status(site: &ServiceClient<'_>, token: &str, status: &str) -> Value {
    until(status, async || {
        let answer = site.get_as(token, "/get-kyc-status").await;
        (answer.str("status") == Some(status)).then_some(answer.body)
    })
    .await
}

/// Injects a fault into a sandbox provider.
pub(crate) async fn fault(site: &ServiceClient<'_>, path: &str, fault: &str, times: u32) {
    let answer = site.post(path, &json!({"fault": fault, "times": times})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
}
