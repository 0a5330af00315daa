//! `docs/precedence.md` from top to bottom: who is let in, and the sandbox's own routes.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::host::Host;
use super::ladder::Ladder;
use super::request::Request;
use super::wire::Site;

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: the parameters, then the proof.
    let service = Host::new().start();
    let site = Site::of(&service);
    let agent = Agent::new(Network::Solana);
    let mut ladder = Ladder::of("GET /auth", "auth");
    let mut ask = Request::new("GET", "/auth")
        .with("colour", "red")
        .with("network", "moon");
    ask.header("sign-in-with-x", "bm8=");
    ladder.meets(&ask.send(&site).await);
    ask.drop("colour");
    ladder.meets(&ask.send(&site).await);
    ask.set("network", "solana");
    ladder.meets(&ask.send(&site).await);
    ask.header("sign-in-with-x", &agent.proof(&site).await);
    ladder.meets(&ask.send(&site).await);
    ladder.ends();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: the new form and the old one, which only announces that it ends.
    let service = Host::new().start();
    let site = Site::of(&service);
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

        let mut ladder = Ladder::of("POST /auth", name);
        let mut ask = Request::new("POST", path);
        ask.text("[");
        ladder.meets(&ask.send(&site).await);
        ask.body(&json!({}));
        ladder.meets(&ask.send(&site).await);
        ask.body(&json!({"grant_type": "password"}));
        ladder.meets(&ask.send(&site).await);
        ask.body(&json!({"grant_type": "refresh_token"}));
        ladder.meets(&ask.send(&site).await);
        ask.body(&json!({"grant_type": "refresh_token", "refresh_token": 5}));
        ladder.meets(&ask.send(&site).await);
        ask.body(&json!({"grant_type": "refresh_token", "refresh_token": "rt_5"}));
        ladder.meets(&ask.send(&site).await);
        ask.body(&again);
        ladder.meets(&ask.send(&site).await);
        ask.body(&json!({"grant_type": "refresh_token", "refresh_token": good}));
        ladder.meets(&ask.send(&site).await);
        ladder.ends();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_account_page_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: the cookie, then whether the account is frozen.
    let service = Host::new().start();
    let site = Site::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let link = site.get_as(&token, "/get-auth-link").await;
    let (_, code) = link.str("auth_url").unwrap().split_once("code=").unwrap();
    let mut open = Request::new("POST", "/login");
    open.text(&format!("code={code}"));
    let opened = open.answer(&site).await;
    let cookie = opened.header("set-cookie").unwrap().split(';').next().unwrap();
    super::ladder::snapshot("post-login.303", &super::request::seen(&opened));
    site.freeze(&agent.address(), Some("Please write to us.")).await;

    let mut ladder = Ladder::of("GET /account", "account");
    let mut ask = Request::new("GET", "/account");
    ladder.meets(&ask.send(&site).await);
    ask.header("cookie", cookie);
    ladder.meets(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ladder.meets(&ask.send(&site).await);
    ladder.ends();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: the body's form, then its fields.
    let service = Host::new().start();
    let site = Site::of(&service);
    let mut ladder = Ladder::of("POST /sandbox/faucet", "sandbox-faucet");
    let mut ask = Request::new("POST", "/sandbox/faucet");
    ask.text("[");
    ladder.meets(&ask.send(&site).await);
    ask.body(&json!({"colour": "red"}));
    ladder.meets(&ask.send(&site).await);
    ask.body(&json!({}));
    ladder.meets(&ask.send(&site).await);
    ask.body(&json!({"wallet": "me", "amount": "much"}));
    ladder.meets(&ask.send(&site).await);
    let wallet = Agent::seeded(Network::Base, 1, 1).address();
    ask.body(&json!({"wallet": wallet, "amount": "much"}));
    ladder.meets(&ask.send(&site).await);
    ask.body(&json!({"wallet": wallet, "amount": "5"}));
    ladder.meets(&ask.send(&site).await);
    ladder.ends();
}
