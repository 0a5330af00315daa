//! The session cookie on the routes that take a token: what a page of this service may do with it, and no other page.

use purser_actors::id::Network;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::agent::Agent;
use super::full_account::FullAccount;
use super::host::Host;
use super::http::{Response, ServiceClient, send};
use super::listener::Stream;
use super::owner::Owner;

/// A request as a page of this service sends it.
fn from_page(site: &ServiceClient<'_>, owner: &Owner, method: &str, path: &str) -> RequestBuilder {
    let request = site.request(method, path).header("cookie", owner.cookie());
    let request = request.header("sec-fetch-site", "same-origin");
    match method {
        "GET" => request,
        _ => request.header("origin", &site.service.url),
    }
}

async fn read(site: &ServiceClient<'_>, owner: &Owner, path: &str) -> Response {
    send(from_page(site, owner, "GET", path)).await.unwrap()
}

async fn write(site: &ServiceClient<'_>, owner: &Owner, path: &str, body: &Value) -> Response {
    send(from_page(site, owner, "POST", path).json(body)).await.unwrap()
}

fn assert_error(answer: &Response, status: u16, code: &str, what: &str) {
    assert_eq!(
        (answer.status, answer.code()),
        (status, code),
        "{what}: {}",
        answer.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_reads_and_acts_with_the_session_cookie() {
    // Checks: What the wallet's token reads, its owner reads at our page, byte for byte. The owner also writes there, and
    // a repeated Idempotency-Key returns the first response. The cookie pays for nothing and makes no login link.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let person = FullAccount::furnished(&site, Network::Base, 31).await;
    let owner = Owner::of(&site, &person.agent).await;
    for path in [
        "/get-account-balance",
        "/get-card-data",
        "/list-payments",
        "/get-account-statement",
        "/get-withdrawal-status",
        "/get-kyc-status",
        "/events?order=desc&limit=3&types=card.*",
        &format!("/get-payment?payment_id={}", person.id("payment")),
    ] {
        let (own, with_token) = (read(&site, &owner, path).await, site.get_as(&person.token, path).await);
        assert_eq!((own.status, with_token.status), (200, 200), "{path}: {}", own.text);
        assert_eq!(own.body, with_token.body, "{path}");
    }
    let keys = write(
        &site,
        &owner,
        "/createAgentApiKey",
        &json!({"data": {"name": "By hand"}}),
    )
    .await;
    assert_eq!(keys.status, 200, "{}", keys.text);
    let hook = json!({"url": "https://hooks.example/purser"});
    let register = || from_page(&site, &owner, "POST", "/register-webhook").header("idempotency-key", "once");
    let (made, again) = (
        send(register().json(&hook)).await.unwrap(),
        send(register().json(&hook)).await.unwrap(),
    );
    assert_eq!((made.status, made.text.clone()), (200, again.text), "{}", made.text);
    let foreign = from_page(&site, &owner, "POST", "/withdraw").header("idempotency-key", "once");
    let foreign = send(foreign.json(&json!({"amount": 1}))).await.unwrap();
    assert_error(&foreign, 422, "idempotency_key_reused", "/withdraw");
    let paid = read(&site, &owner, "/get-card?amount=5").await;
    assert_error(&paid, 402, "payment_required", "/get-card");
    for path in ["/get-auth-link", "/get-kyc-link"] {
        assert_error(&read(&site, &owner, path).await, 403, "sign_in_required", path);
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_other_pages_do_not_count() {
    // Checks: With the cookie but from another page (CSRF), as a form, without or with a wrong Origin, nothing is read and
    // nothing changes, whatever the route. A preflight permits no credentials. A header with a token wins over the cookie.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let owner = Owner::by_token(&site, &token).await;
    let (read, write) = ("/get-account-balance", "/createAgentApiKey");
    let body = json!({"data": {"name": "Thief"}}).to_string();
    let ours = service.url.as_str();
    for fetch_site in ["cross-site", "same-site", "none"] {
        for path in [read, "/events", "/get-auth-link"] {
            let headers = [("cookie", owner.cookie()), ("sec-fetch-site", fetch_site)];
            assert_error(&site.get(path, &headers).await, 403, "origin_not_allowed", path);
        }
    }
    let json = "application/json";
    for (origin, kind, fetch_site) in [
        (Some("https://evil.example"), json, None),
        (Some("null"), json, None),
        (Some("http://127.0.0.1"), json, None),
        (None, json, None),
        (None, json, Some("same-origin")),
        (Some(ours), json, Some("same-site")),
        (Some(ours), "text/plain", Some("same-origin")),
        (Some(ours), "application/x-www-form-urlencoded", None),
    ] {
        let mut request = site
            .request("POST", write)
            .header("cookie", owner.cookie())
            .header("content-type", kind);
        for (name, value) in [("origin", origin), ("sec-fetch-site", fetch_site)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let answer = send(request.body(body.clone())).await.unwrap();
        assert_error(
            &answer,
            403,
            "origin_not_allowed",
            &format!("{origin:?} {kind} {fetch_site:?}"),
        );
    }
    let preflight = site.request("OPTIONS", write).header("origin", "https://evil.example");
    let preflight = preflight.header("access-control-request-method", "POST");
    let answer = send(preflight.header("cookie", owner.cookie())).await.unwrap();
    assert_eq!(
        (answer.status, answer.header("access-control-allow-credentials")),
        (204, None)
    );
    let listed = self::write(&site, &owner, "/listAgentApiKeys", &json!({"data": {}})).await;
    assert_eq!(listed.body["result"]["keys"], json!([]), "{}", listed.text);

    let both = from_page(&site, &owner, "GET", read);
    let other = Agent::new(Network::Solana);
    let answer = send(both.bearer_auth(other.token(&site).await)).await.unwrap();
    assert_eq!(
        answer.str("user_id"),
        Some(other.address().to_lowercase().as_str()),
        "{}",
        answer.text
    );
    let bad = from_page(&site, &owner, "GET", read).header("authorization", "Bearer not-a-token");
    assert_error(&send(bad).await.unwrap(), 401, "token_invalid", read);
    let basic = from_page(&site, &owner, "GET", read).header("authorization", "Basic Zm9vOmJhcg==");
    assert_error(&send(basic).await.unwrap(), 401, "token_missing", read);
}

#[tokio::test(flavor = "multi_thread")]
async fn session_of_a_payment_or_a_key_only_reads() {
    // Checks: A page opened with a payment's token or an API key's reads and does nothing else, also what that token
    // itself could do. A session ends with what opened it. A frozen account is rejected as with a token.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let of_payment = bought.body["auth"]["id_token"].as_str().unwrap();
    let token = agent.token(&site).await;
    let made = site.request("POST", "/createAgentApiKey").bearer_auth(&token);
    let made = send(made.json(&json!({"data": {"name": "Ada"}}))).await.unwrap();
    let key = made.body["result"]["apiKey"].as_str().unwrap();
    let exchanged = site
        .request("POST", "/agentAuth")
        .bearer_auth(key)
        .json(&json!({"data": {}}));
    let exchanged = send(exchanged).await.unwrap();
    let of_key = exchanged.body["result"]["idToken"].as_str().unwrap();
    let key_session = Owner::by_token(&site, of_key).await;
    for visitor in [&Owner::by_token(&site, of_payment).await, &key_session] {
        for path in ["/get-account-balance", "/list-payments", "/events"] {
            assert_eq!(read(&site, visitor, path).await.status, 200, "{path}");
        }
        let listed = write(&site, visitor, "/listAgentApiKeys", &json!({"data": {}})).await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        for path in [
            "/withdraw",
            "/pause-card",
            "/register-webhook",
            "/createAgentApiKey",
            "/agentX402Pay",
        ] {
            let answer = write(&site, visitor, path, &json!({"data": {}})).await;
            assert_error(&answer, 403, "sign_in_required", path);
        }
        let forget = from_page(
            &site,
            visitor,
            "DELETE",
            "/payment-recipients?platform=venmo&recipient=a",
        );
        assert_error(&send(forget).await.unwrap(), 403, "sign_in_required", "DELETE");
    }
    let ours = [("cookie", key_session.cookie()), ("origin", service.url.as_str())];
    let mut stream = Stream::open_with_headers(&site, &ours).await.unwrap();
    let owner = Owner::by_token(&site, &token).await;
    let id = &made.body["result"]["key"]["apiKeyId"];
    let revoked = write(&site, &owner, "/revokeAgentApiKey", &json!({"data": {"apiKeyId": id}})).await;
    assert_eq!(revoked.status, 200, "{}", revoked.text);
    assert_eq!(stream.until_closed().await, 4001);
    let ended = read(&site, &key_session, "/get-account-balance").await;
    assert_error(&ended, 401, "token_revoked", "the key's session");
    site.freeze(&agent.address(), Some("Call us.")).await;
    for path in ["/get-account-balance", "/get-card-data"] {
        assert_error(&read(&site, &owner, path).await, 403, "account_frozen", path);
    }
    let act = write(&site, &owner, "/createAgentApiKey", &json!({"data": {"name": "B"}})).await;
    assert_error(&act, 403, "account_frozen", "/createAgentApiKey");
}
