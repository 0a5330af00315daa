//! `docs/precedence.md` from top to bottom: who is let in, and the sandbox's own routes.

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
async fn a_sign_in_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: the parameters, then the proof.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    let mut ladder = PrecedenceTable::of("GET /auth", "auth");
    let mut ask = Request::new("GET", "/auth")
        .with("colour", "red")
        .with("network", "moon");
    ask.header("sign-in-with-x", "bm8=");
    ladder.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    ladder.assert_next(&ask.send(&site).await);
    ask.set("network", "solana");
    ladder.assert_next(&ask.send(&site).await);
    ask.header("sign-in-with-x", &agent.proof(&site).await);
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: the new form and the old one, which only announces that it ends.
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

        let mut ladder = PrecedenceTable::of("POST /auth", name);
        let mut ask = Request::new("POST", path);
        ask.text("[");
        ladder.assert_next(&ask.send(&site).await);
        ask.body(&json!({}));
        ladder.assert_next(&ask.send(&site).await);
        ask.body(&json!({"grant_type": "password"}));
        ladder.assert_next(&ask.send(&site).await);
        ask.body(&json!({"grant_type": "refresh_token"}));
        ladder.assert_next(&ask.send(&site).await);
        ask.body(&json!({"grant_type": "refresh_token", "refresh_token": 5}));
        ladder.assert_next(&ask.send(&site).await);
        ask.body(&json!({"grant_type": "refresh_token", "refresh_token": "rt_5"}));
        ladder.assert_next(&ask.send(&site).await);
        ask.body(&again);
        ladder.assert_next(&ask.send(&site).await);
        ask.body(&json!({"grant_type": "refresh_token", "refresh_token": good}));
        ladder.assert_next(&ask.send(&site).await);
        ladder.assert_complete();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_account_page_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: the cookie, then whether the account is frozen.
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

    let mut ladder = PrecedenceTable::of("GET /account", "account");
    let mut ask = Request::new("GET", "/account");
    ladder.assert_next(&ask.send(&site).await);
    ask.header("cookie", cookie);
    ladder.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: the body's form, then its fields.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let mut ladder = PrecedenceTable::of("POST /sandbox/faucet", "sandbox-faucet");
    let mut ask = Request::new("POST", "/sandbox/faucet");
    ask.text("[");
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({"colour": "red"}));
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({}));
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({"wallet": "me", "amount": "much"}));
    ladder.assert_next(&ask.send(&site).await);
    let wallet = Agent::seeded(Network::Base, 1, 1).address();
    ask.body(&json!({"wallet": wallet, "amount": "much"}));
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({"wallet": wallet, "amount": "5"}));
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_identity_check_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: status and link: the token, the parameters, whether the account is frozen, and what the token was born of.
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
        let mut ladder = PrecedenceTable::of(heading, name);
        let mut ask = Request::new("GET", path).with("colour", "red");
        ladder.assert_next(&ask.send(&site).await);
        ask.bearer(born_of_payment);
        ladder.assert_next(&ask.send(&site).await);
        ask.drop("colour");
        ladder.assert_next(&ask.send(&site).await);
        site.freeze(&agent.address(), None).await;
        if name == "get-kyc-link" {
            ladder.assert_next(&ask.send(&site).await);
            ask.bearer(&token);
        }
        ladder.assert_next(&ask.send(&site).await);
        ladder.assert_complete();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: the size, the signature, the body, the check, and what it came to before.
    let service = Host::new()
        .with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10")
        .start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    Owner::by_token(&site, &token).await.verify(&site, &token).await;
    let desk = site.post("/sandbox/identity", &json!({"fault": "clear"})).await;
    let reference = desk.str("last_reference").unwrap();
    let mut ladder = PrecedenceTable::of("POST /identity-callback", "identity-callback");
    let mut ask = Request::new("POST", "/identity-callback");
    ask.text(&"x".repeat(16 * 1024 + 1));
    ladder.assert_next(&ask.send(&site).await);
    ask.text("[");
    ladder.assert_next(&ask.send(&site).await);
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
        ladder.assert_next(&ask.send(&site).await);
    }
    ladder.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_makers_callback_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: of the payout rails, the card issuer and the bank: the size, the signature, the body, what it says.
    let provider = Provider::start();
    let service = provider.host(&provider.url).start();
    let site = ServiceClient::of(&service);
    let key = provider.callback_key();
    for (heading, told) in [
        ("POST /payout-callback", "{\"type\":\"payouts.updated\"}"),
        ("POST /card-callback", "{\"type\":\"cards.updated\"}"),
        ("POST /bank-callback", "{\"type\":\"deposits.updated\"}"),
    ] {
        let route = &heading["POST ".len()..];
        let mut ladder = PrecedenceTable::of(heading, &route[1..]);
        let mut ask = Request::new("POST", route);
        ask.text(&"x".repeat(16 * 1024 + 1));
        ladder.assert_next(&ask.send(&site).await);
        ask.text(told);
        ladder.assert_next(&ask.send(&site).await);
        for body in ["[", "{\"type\":\"nothing.updated\"}", told] {
            let at = purser::system::SystemClock.now().seconds().to_string();
            ask.header("webhook-id", "msg_1");
            ask.header("webhook-timestamp", &at);
            ask.header("webhook-signature", &key.sign("msg_1", &at, body.as_bytes()));
            ask.text(body);
            ladder.assert_next(&ask.send(&site).await);
        }
        ladder.assert_complete();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owners_form_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: the page it comes from, the cookie, the account, what the session goes back to, the fields.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let relayed = Owner::by_token(&site, bought.body["auth"]["id_token"].as_str().unwrap()).await;
    let owner = Owner::of(&site, &agent).await;
    site.freeze(&agent.address(), Some("Please write to us.")).await;
    let mut ladder = PrecedenceTable::of("POST /account/caps", "account-caps");
    let mut ask = Request::new("POST", "/account/caps");
    ask.text("colour=red&gift_card_count=many");
    ladder.assert_next(&ask.send(&site).await);
    ask.header("origin", &service.url);
    ladder.assert_next(&ask.send(&site).await);
    ask.header("cookie", relayed.cookie());
    ladder.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ladder.assert_next(&ask.send(&site).await);
    ask.header("cookie", owner.cookie());
    ladder.assert_next(&ask.send(&site).await);
    ask.text("gift_card_count=many");
    ladder.assert_next(&ask.send(&site).await);
    ask.text("gift_card_count=1");
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_complete();
}
