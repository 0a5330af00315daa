//! `docs/precedence.md` where events are posted to endpoints.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::{ServiceClient, until};
use super::precedence_table::{PrecedenceTable, snapshot};
use super::request::Request;

const WHY: &str = "Please write to us.";
/// Nobody has this name.
const URL: &str = "https://hooks.nobody.example/a";

async fn registered(site: &ServiceClient<'_>, token: &str, url: &str, key: Option<&str>) -> String {
    let mut ask = Request::new("POST", "/register-webhook");
    ask.bearer(token);
    ask.header("idempotency-key", key.unwrap_or_default());
    ask.body(&json!({"url": url, "types": ["webhook.*"]}));
    let made = ask.send_and_check(site).await;
    assert_eq!(made.status, 200, "{}", made.text);
    made.body["webhook_id"].as_str().unwrap().to_owned()
}

async fn deleted(site: &ServiceClient<'_>, token: &str, id: &str, key: Option<&str>) {
    let mut ask = Request::new("POST", "/delete-webhook");
    ask.bearer(token);
    ask.header("idempotency-key", key.unwrap_or_default());
    ask.body(&json!({"webhook_id": id}));
    assert_eq!(ask.send_and_check(site).await.status, 200);
}

async fn delivery(site: &ServiceClient<'_>, token: &str) -> String {
    until("a delivery that was tried", async || {
        let page = site.get_as(token, "/webhook-deliveries").await;
        let one = &page.body["deliveries"][0];
        let is_tried = one["attempt_count"].as_u64()? > 0;
        is_tried.then(|| one["delivery_id"].as_str().unwrap().to_owned())
    })
    .await
}

/// A token that was issued for a payment.
async fn relayed(site: &ServiceClient<'_>, agent: &Agent) -> String {
    let bought = agent.buy(site, "/get-card?amount=5").await;
    bought.body["auth"]["id_token"].as_str().unwrap().to_owned()
}

/// A request that is mended body by body.
async fn check_bodies(site: &ServiceClient<'_>, ladder: &mut PrecedenceTable, ask: &mut Request, bodies: &[Value]) {
    for body in bodies {
        ask.body(body);
        ladder.assert_next(&ask.send(site).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: token, key, body, URL, types, account, the key's past, whose the URL is, room; the last mended request makes an endpoint, and sent
    // again shows the same secret.
    let host = Host::new().with("PURSER_WEBHOOKS__MAX_PER_ACCOUNT", "1");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let other = "https://other.nobody.example/";
    let first = registered(&site, &token, other, Some("used")).await;
    let relayed = relayed(&site, &agent).await;
    site.freeze(&agent.address(), Some(WHY)).await;

    let mut ladder = PrecedenceTable::of("POST /register-webhook", "register-webhook");
    let mut ask = Request::new("POST", "/register-webhook");
    ask.header("idempotency-key", &"x".repeat(256));
    ask.text("[");
    ladder.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "used");
    ladder.assert_next(&ask.send(&site).await);
    let bodies = [
        json!({}),
        json!({"url": "http://127.0.0.1/", "types": ["card ready"]}),
        json!({"url": URL, "types": ["card.redy"]}),
        json!({"url": URL, "types": ["card.ready"]}),
    ];
    check_bodies(&site, &mut ladder, &mut ask, &bodies).await;
    site.freeze(&agent.address(), None).await;
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "relayed");
    ask.body(&json!({"url": other}));
    ask.bearer(&relayed);
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "new");
    ask.body(&json!({"url": URL, "types": ["card.ready"]}));
    ask.bearer(&token);
    ladder.assert_next(&ask.send(&site).await);
    deleted(&site, &token, &first, None).await;
    let made = ask.send_and_check(&site).await;
    ladder.assert_next(&super::request::recorded(&made));
    ladder.assert_complete();
    let again = ask.send_and_check(&site).await;
    assert_eq!(again.text, made.text, "the secret too");
    snapshot("register-webhook.200-replayed", &super::request::recorded(&again));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_at_endpoints_and_deliveries_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: one endpoint, and a page of deliveries with everything that can be asked of it.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, other) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let (token, theirs) = (agent.token(&site).await, other.token(&site).await);
    let own = registered(&site, &token, URL, None).await;
    let not_own = registered(&site, &theirs, URL, None).await;
    let (sent, not_sent) = (delivery(&site, &token).await, delivery(&site, &theirs).await);
    site.freeze(&agent.address(), Some(WHY)).await;

    let mut ladder = PrecedenceTable::of("GET /get-webhook with `webhook_id`", "get-webhook-one");
    let mut ask = Request::new("GET", "/get-webhook")
        .with("colour", "red")
        .with("webhook_id", "none");
    ladder.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    ladder.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ladder.assert_next(&ask.send(&site).await);
    ask.set("webhook_id", &not_own);
    ladder.assert_next(&ask.send(&site).await);
    ask.set("webhook_id", &own);
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_complete();

    site.freeze(&agent.address(), Some(WHY)).await;
    let mut ladder = PrecedenceTable::of("GET /webhook-deliveries", "webhook-deliveries");
    let mut ask = Request::new("GET", "/webhook-deliveries")
        .with("colour", "red")
        .with("limit", "0")
        .with("status", "lost")
        .with("delivery_id", "none")
        .with("webhook_id", "none")
        .with("starting_after", "none");
    ladder.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    ladder.assert_next(&ask.send(&site).await);
    ask.set("limit", "5");
    ladder.assert_next(&ask.send(&site).await);
    ask.set("status", "dropped");
    ladder.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ladder.assert_next(&ask.send(&site).await);
    ask.set("delivery_id", &not_sent);
    ladder.assert_next(&ask.send(&site).await);
    ask.drop("delivery_id");
    ladder.assert_next(&ask.send(&site).await);
    ask.set("webhook_id", &not_own);
    ladder.assert_next(&ask.send(&site).await);
    ask.set("webhook_id", &own);
    ladder.assert_next(&ask.send(&site).await);
    ask.set("starting_after", &sent);
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn posting_again_and_deleting_are_refused_for_the_first_rule_that_they_break() {
    // Aim: token, key, body, account, the key's past, the id, whose it is, whose session's, the endpoint's state.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, other) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let (token, theirs) = (agent.token(&site).await, other.token(&site).await);
    let own = registered(&site, &token, URL, None).await;
    let gone = registered(&site, &token, "https://gone.nobody.example/", None).await;
    let not_own = registered(&site, &theirs, URL, None).await;
    deleted(&site, &token, &gone, Some("used")).await;
    let relayed = relayed(&site, &agent).await;
    let since = "2026-11-20T00:00:00Z";

    for (heading, with) in [("POST /redeliver-webhook", true), ("POST /delete-webhook", false)] {
        let path = &heading["POST ".len()..];
        site.freeze(&agent.address(), Some(WHY)).await;
        let mut ladder = PrecedenceTable::of(heading, path.trim_start_matches('/'));
        let mut ask = Request::new("POST", path);
        let named = |id: &str| match with {
            true => json!({"webhook_id": id, "since": since}),
            false => json!({"webhook_id": id}),
        };
        ask.header("idempotency-key", &"x".repeat(256));
        ask.text("[");
        ladder.assert_next(&ask.send(&site).await);
        ask.bearer(&token);
        ladder.assert_next(&ask.send(&site).await);
        ask.header("idempotency-key", "used");
        ladder.assert_next(&ask.send(&site).await);
        ask.body(&json!({}));
        ladder.assert_next(&ask.send(&site).await);
        if with {
            let bodies = [
                json!({"webhook_id": "none"}),
                json!({"webhook_id": "none", "since": "today"}),
            ];
            check_bodies(&site, &mut ladder, &mut ask, &bodies).await;
        }
        ask.body(&named("none"));
        ladder.assert_next(&ask.send(&site).await);
        site.freeze(&agent.address(), None).await;
        ladder.assert_next(&ask.send(&site).await);
        ask.header("idempotency-key", &format!("new {path}"));
        ladder.assert_next(&ask.send(&site).await);
        ask.body(&named(&not_own));
        ladder.assert_next(&ask.send(&site).await);
        ask.body(&named(&gone));
        ask.bearer(&relayed);
        ladder.assert_next(&ask.send(&site).await);
        ask.bearer(&token);
        ladder.assert_next(&ask.send(&site).await);
        ask.header("idempotency-key", &format!("newer {path}"));
        ask.body(&named(&own));
        ladder.assert_next(&ask.send(&site).await);
        ladder.assert_complete();
    }
}
