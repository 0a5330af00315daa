//! Error precedence of signups and API keys.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::banking::result;
use super::callable_precedence::{AccessRule, Caller};
use super::host::Host;
use super::http::{Response, ServiceClient};
use super::owner::Owner;
use super::precedence_table::PrecedenceTable;
use super::request::Request;

const WHY: &str = "Please write to us.";

/// One key per account, and one signup per address.
fn tight() -> Host {
    Host::new()
        .with("PURSER_SERVER__TRUSTED_PROXIES", "[\"127.0.0.1\"]")
        .with("PURSER_SIGNUP__MAX_KEYS_PER_ACCOUNT", "1")
        .with("PURSER_SIGNUP__PER_HOUR", "1")
        .with("PURSER_SIGNUP__LONG_POLL_SECONDS", "1")
}

fn call(ask: &mut Request, data: Value) {
    ask.body(&json!({ "data": data }));
}

/// The form of the page: session, sender, signup, name and free capacity.
async fn confirm_signup(site: &ServiceClient<'_>, signup: &Response) {
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(site, "/get-card?amount=5").await;
    let relayed = Owner::by_token(site, bought.body["auth"]["id_token"].as_str().unwrap()).await;
    let token = agent.token(site).await;
    let owner = Owner::by_token(site, &token).await;
    let key = result(site, &token, "createAgentApiKey", json!({"name": "The first"})).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let (_, pass) = signup.str("claim_url").unwrap().split_once("signup=").unwrap();
    let mut precedence = PrecedenceTable::of("POST /claim", "claim");
    let mut ask = Request::new("POST", "/claim");
    ask.header("accept", "application/json");
    ask.text("nam=%00");
    precedence.assert_next(&ask.send(site).await);
    ask.header("origin", &site.service.url);
    precedence.assert_next(&ask.send(site).await);
    ask.header("cookie", relayed.cookie());
    precedence.assert_next(&ask.send(site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(site).await);
    ask.header("cookie", owner.cookie());
    for form in [
        "nam=%00",
        "name=%00",
        "name=%00&signup=x",
        &format!("name=%00&signup={pass}"),
    ] {
        ask.text(form);
        precedence.assert_next(&ask.send(site).await);
    }
    ask.text(&format!("name=Helper&signup={pass}"));
    precedence.assert_next(&ask.send(site).await);
    result(
        site,
        &token,
        "revokeAgentApiKey",
        json!({"apiKeyId": key["key"]["apiKeyId"]}),
    )
    .await;
    precedence.assert_next(&ask.send(site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn signup_errors_follow_precedence() {
    // Checks: signup: rate limit, body. Polling: token, state. The page: session, account, signup, name and key limit.
    let service = tight().start();
    let site = ServiceClient::of(&service);
    let mut precedence = PrecedenceTable::of("POST /signup", "signup");
    let mut ask = Request::new("POST", "/signup");
    ask.header("x-forwarded-for", "192.0.2.1");
    assert_eq!(ask.send(&site).await.status, 200);
    ask.text("[7");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("x-forwarded-for", "192.0.2.2");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("x-forwarded-for", "192.0.2.3");
    ask.body(&json!({"name": "Me"}));
    precedence.assert_next(&ask.send(&site).await);
    ask.header("x-forwarded-for", "192.0.2.4");
    ask.body(&json!({"agent_name": "\u{202e}"}));
    precedence.assert_next(&ask.send(&site).await);
    ask.header("x-forwarded-for", "192.0.2.5");
    ask.body(&json!({}));
    let signup = ask.send_and_check(&site).await;
    precedence.assert_next(&super::request::recorded(&signup));
    precedence.assert_complete();

    let mut status = PrecedenceTable::of("GET /signup-status", "signup-status");
    let mut poll = Request::new("GET", "/signup-status").with("token", "x");
    status.assert_next(&poll.send(&site).await);
    poll.drop("token");
    status.assert_next(&poll.send(&site).await);
    poll.set("claim_token", "st_unknown");
    status.assert_next(&poll.send(&site).await);
    poll.set("claim_token", signup.str("claim_token").unwrap());
    status.assert_next(&poll.send(&site).await);

    confirm_signup(&site, &signup).await;
    status.assert_next(&poll.send(&site).await);
    status.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn api_key_errors_follow_precedence() {
    // Checks: creation: token, fields, owner, account, kind of token, key limit. Revocation: key id and owner.
    let service = tight().start();
    let site = ServiceClient::of(&service);
    let (agent, other) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let payment_token = bought.body["auth"]["id_token"].as_str().unwrap().to_owned();
    let (token, foreign) = (agent.token(&site).await, other.token(&site).await);
    let named = json!({"name": "One"});
    let first = result(&site, &token, "createAgentApiKey", named.clone()).await["key"]["apiKeyId"].clone();
    let others = result(&site, &foreign, "createAgentApiKey", named.clone()).await["key"]["apiKeyId"].clone();
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("POST /createAgentApiKey", "create-agent-api-key");
    let mut ask = Request::new("POST", "/createAgentApiKey");
    call(&mut ask, json!({"nam": ""}));
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&payment_token);
    precedence.assert_next(&ask.send(&site).await);
    let unowned = json!({"name": "One", "userId": other.address()});
    for data in [json!({"name": "", "userId": other.address()}), unowned, named] {
        call(&mut ask, data);
        precedence.assert_next(&ask.send(&site).await);
    }
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);

    let mut revoking = PrecedenceTable::of("POST /revokeAgentApiKey", "revoke-agent-api-key");
    let mut revoke = Request::new("POST", "/revokeAgentApiKey");
    call(&mut revoke, json!({}));
    revoking.assert_next(&revoke.send(&site).await);
    revoke.bearer(&payment_token);
    revoking.assert_next(&revoke.send(&site).await);
    let unknown = format!("key_{:032x}", 1);
    call(&mut revoke, json!({"apiKeyId": unknown, "userId": other.address()}));
    revoking.assert_next(&revoke.send(&site).await);
    site.freeze(&agent.address(), Some(WHY)).await;
    call(&mut revoke, json!({"apiKeyId": unknown}));
    revoking.assert_next(&revoke.send(&site).await);
    site.freeze(&agent.address(), None).await;
    revoking.assert_next(&revoke.send(&site).await);
    for id in [others, first] {
        call(&mut revoke, json!({ "apiKeyId": id }));
        revoking.assert_next(&revoke.send(&site).await);
    }
    revoke.bearer(&token);
    revoking.assert_next(&revoke.send(&site).await);
    revoking.assert_complete();
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn key_exchange_errors_follow_precedence() {
    // Checks: fields, presence of a key, one key only, its format, owner and status; then the call issues tokens.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, other) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let token = agent.token(&site).await;
    let made = result(&site, &token, "createAgentApiKey", json!({"name": "Gone"})).await;
    let gone = made["apiKey"].as_str().unwrap();
    result(
        &site,
        &token,
        "revokeAgentApiKey",
        json!({"apiKeyId": made["key"]["apiKeyId"]}),
    )
    .await;
    let made = result(&site, &token, "createAgentApiKey", json!({"name": "Here"})).await;
    let here = made["apiKey"].as_str().unwrap();
    let mut precedence = PrecedenceTable::of("POST /agentAuth", "agent-auth");
    let mut ask = Request::new("POST", "/agentAuth");
    let user = other.address();
    for data in [json!({"apiKye": gone}), json!({"userId": user})] {
        call(&mut ask, data);
        precedence.assert_next(&ask.send(&site).await);
    }
    ask.bearer("ak_unknown");
    call(&mut ask, json!({"userId": user, "apiKey": gone}));
    precedence.assert_next(&ask.send(&site).await);
    call(&mut ask, json!({"userId": user}));
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(gone);
    precedence.assert_next(&ask.send(&site).await);
    call(&mut ask, json!({"userId": agent.address()}));
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(here);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn key_list_and_connection_errors_follow_precedence() {
    // Checks: token, fields, values, owner, account. A token issued for a payment is accepted.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let caller = Caller::new(&site).await;
    let unknown = [json!({"nam": "x"})];
    let mut list = caller
        .check_precedence("/listAgentApiKeys", AccessRule::Reads, &unknown, &json!({}))
        .await;
    list.assert_next().await;
    list.assert_complete();
    let wrong = [json!({"nam": "x"}), json!({"name": ""})];
    let mut announce = caller
        .check_precedence(
            "/announceAgentConnection",
            AccessRule::Reads,
            &wrong,
            &json!({"name": "Helper"}),
        )
        .await;
    announce.assert_next().await;
    announce.assert_complete();
}
