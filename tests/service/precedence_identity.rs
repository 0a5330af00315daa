//! Error precedence of sign-in, identity verification, callbacks and the sandbox routes.

use purser_actors::id::Network;
use purser_actors::port::Clock as _;
use serde_json::json;

use super::agent::Agent;
use super::host::Host;
use super::http::ServiceClient;
use super::owner::Owner;
use super::precedence_table::PrecedenceTable;
use super::remote_provider::Provider;
use super::request::Request;

#[tokio::test(flavor = "multi_thread")]
async fn sign_in_errors_follow_precedence() {
    // Checks: the parameters, then the proof.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    let mut precedence = PrecedenceTable::of("GET /auth", "auth");
    let mut ask = Request::new("GET", "/auth")
        .with("colour", "red")
        .with("network", "moon");
    ask.header("sign-in-with-x", "bm8=");
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("network", "solana");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("sign-in-with-x", &agent.proof(&site).await);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn token_refresh_errors_follow_precedence() {
    // Checks: the new route and the old one, which differs only by its deprecation header.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    for (path, name) in [("/auth", "post-auth"), ("/refresh", "post-refresh")] {
        let token = async || {
            let signed_in = Agent::new(Network::Base).sign_in(&site).await;
            signed_in.body["auth"]["refresh_token"].as_str().unwrap().to_owned()
        };
        let (stolen, good) = (token().await, token().await);
        let again = json!({"grant_type": "refresh_token", "refresh_token": stolen});
        let next = site.post("/auth", &again).await.body["refresh_token"].clone();
        let next = json!({"grant_type": "refresh_token", "refresh_token": next});
        assert_eq!(site.post("/auth", &next).await.status, 200);
        assert_eq!(site.post("/auth", &again).await.status, 401);

        let mut precedence = PrecedenceTable::of("POST /auth", name);
        let mut ask = Request::new("POST", path);
        ask.text("[");
        precedence.assert_next(&ask.send(&site).await);
        ask.body(&json!({}));
        precedence.assert_next(&ask.send(&site).await);
        ask.body(&json!({"grant_type": "password"}));
        precedence.assert_next(&ask.send(&site).await);
        ask.body(&json!({"grant_type": "refresh_token"}));
        precedence.assert_next(&ask.send(&site).await);
        ask.body(&json!({"grant_type": "refresh_token", "refresh_token": 5}));
        precedence.assert_next(&ask.send(&site).await);
        ask.body(&json!({"grant_type": "refresh_token", "refresh_token": "rt_5"}));
        precedence.assert_next(&ask.send(&site).await);
        ask.body(&again);
        precedence.assert_next(&ask.send(&site).await);
        ask.body(&json!({"grant_type": "refresh_token", "refresh_token": good}));
        precedence.assert_next(&ask.send(&site).await);
        precedence.assert_complete();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn account_page_errors_follow_precedence() {
    // Checks: the cookie, then whether the account is frozen.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let link = site.get_as(&token, "/get-auth-link").await;
    let (_, code) = link.str("auth_url").unwrap().split_once("code=").unwrap();
    let mut open = Request::new("POST", "/login");
    open.text(&format!("code={code}"));
    let opened = open.send_and_check(&site).await;
    let cookie = opened.header("set-cookie").unwrap().split(';').next().unwrap();
    super::precedence_table::snapshot("post-login.303", &super::request::recorded(&opened));
    site.freeze(&agent.address(), Some("Please write to us.")).await;

    let mut precedence = PrecedenceTable::of("GET /account", "account");
    let mut ask = Request::new("GET", "/account");
    ask.header("sec-fetch-site", "same-site");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("sec-fetch-site", "same-origin");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("cookie", cookie);
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_errors_follow_precedence() {
    // Checks: the format of the body, then its fields.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let mut precedence = PrecedenceTable::of("POST /sandbox/faucet", "sandbox-faucet");
    let mut ask = Request::new("POST", "/sandbox/faucet");
    ask.text("[");
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"colour": "red"}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"wallet": "me", "amount": "much"}));
    precedence.assert_next(&ask.send(&site).await);
    let wallet = Agent::seeded(Network::Base, 1, 1).address();
    ask.body(&json!({"wallet": wallet, "amount": "much"}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"wallet": wallet, "amount": "5"}));
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn identity_verification_errors_follow_precedence() {
    // Checks: status and link: the token, the parameters, whether the account is frozen, and whether the token was
    // issued for a payment.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let born_of_payment = bought.body["auth"]["id_token"].as_str().unwrap();
    let token = agent.token(&site).await;
    for (path, heading, name) in [
        ("/get-kyc-status", "GET /get-kyc-status", "get-kyc-status"),
        ("/get-kyc-link", "GET /get-kyc-link", "get-kyc-link"),
    ] {
        site.freeze(&agent.address(), Some("Please write to us.")).await;
        let mut precedence = PrecedenceTable::of(heading, name);
        let mut ask = Request::new("GET", path).with("colour", "red");
        precedence.assert_next(&ask.send(&site).await);
        ask.bearer(born_of_payment);
        precedence.assert_next(&ask.send(&site).await);
        ask.drop("colour");
        precedence.assert_next(&ask.send(&site).await);
        site.freeze(&agent.address(), None).await;
        if name == "get-kyc-link" {
            precedence.assert_next(&ask.send(&site).await);
            ask.bearer(&token);
        }
        precedence.assert_next(&ask.send(&site).await);
        precedence.assert_complete();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn identity_callback_errors_follow_precedence() {
    // Checks: the size, the signature, the body, the verification, and its earlier outcome.
    let service = Host::new()
        .with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10")
        .start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    Owner::by_token(&site, &token).await.verify(&site, &token).await;
    let operator = site.post("/sandbox/identity", &json!({"fault": "clear"})).await;
    let reference = operator.str("last_reference").unwrap();
    let mut precedence = PrecedenceTable::of("POST /identity-callback", "identity-callback");
    let mut ask = Request::new("POST", "/identity-callback");
    ask.text(&"x".repeat(16 * 1024 + 1));
    precedence.assert_next(&ask.send(&site).await);
    ask.text("[");
    precedence.assert_next(&ask.send(&site).await);
    let key = purser::sandbox::keys::identity_callback();
    for body in [
        "[".to_owned(),
        json!({"type": "identity_check.lost", "reference": reference, "wallet": agent.address()}).to_string(),
        json!({"type": "identity_check.passed", "reference": "no", "wallet": agent.address()}).to_string(),
        json!({"type": "identity_check.failed", "reference": reference, "wallet": agent.address()}).to_string(),
        json!({"type": "identity_check.passed", "reference": reference, "wallet": agent.address()}).to_string(),
    ] {
        let at = purser::system::SystemClock.now().seconds().to_string();
        ask.header("webhook-id", "msg_1");
        ask.header("webhook-timestamp", &at);
        ask.header("webhook-signature", &key.sign("msg_1", &at, body.as_bytes()));
        ask.text(&body);
        precedence.assert_next(&ask.send(&site).await);
    }
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_callback_errors_follow_precedence() {
    // Checks: callbacks of payout rails, card issuer and bank: the size, the signature, the body, its event type.
    let provider = Provider::start();
    let service = provider.host(&provider.url).start();
    let site = ServiceClient::of(&service);
    let key = provider.callback_key();
    for (heading, event) in [
        ("POST /payout-callback", "{\"type\":\"payouts.updated\"}"),
        ("POST /card-callback", "{\"type\":\"cards.updated\"}"),
        ("POST /bank-callback", "{\"type\":\"deposits.updated\"}"),
    ] {
        let route = &heading["POST ".len()..];
        let mut precedence = PrecedenceTable::of(heading, &route[1..]);
        let mut ask = Request::new("POST", route);
        ask.text(&"x".repeat(16 * 1024 + 1));
        precedence.assert_next(&ask.send(&site).await);
        ask.text(event);
        precedence.assert_next(&ask.send(&site).await);
        for body in ["[", "{\"type\":\"nothing.updated\"}", event] {
            let at = purser::system::SystemClock.now().seconds().to_string();
            ask.header("webhook-id", "msg_1");
            ask.header("webhook-timestamp", &at);
            ask.header("webhook-signature", &key.sign("msg_1", &at, body.as_bytes()));
            ask.text(body);
            precedence.assert_next(&ask.send(&site).await);
        }
        precedence.assert_complete();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn account_page_form_errors_follow_precedence() {
    // Checks: the origin, the cookie, the account, whether the session comes from a sign-in, the body and its fields.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let relayed = Owner::by_token(&site, bought.body["auth"]["id_token"].as_str().unwrap()).await;
    let owner = Owner::of(&site, &agent).await;
    site.freeze(&agent.address(), Some("Please write to us.")).await;
    let mut precedence = PrecedenceTable::of("POST /account/caps", "account-caps");
    let mut ask = Request::new("POST", "/account/caps");
    ask.text("gift_card_count=many");
    ask.header("content-type", "application/json");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("origin", &service.url);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("cookie", relayed.cookie());
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.header("cookie", owner.cookie());
    precedence.assert_next(&ask.send(&site).await);
    ask.text(r#"{"colour": "red", "gift_card_count": "many"}"#);
    precedence.assert_next(&ask.send(&site).await);
    ask.text(r#"{"gift_card_count": "many"}"#);
    precedence.assert_next(&ask.send(&site).await);
    ask.text(r#"{"gift_card_count": "1"}"#);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}
