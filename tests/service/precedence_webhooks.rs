//! Error precedence of webhook routes.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::{ServiceClient, until};
use super::precedence_table::{PrecedenceTable, snapshot};
use super::request::Request;

const WHY: &str = "Please write to us.";
/// An unregistered host name.
const URL: &str = "https://hooks.unknown.example/a";

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

/// A request that is fixed body by body.
async fn check_bodies(site: &ServiceClient<'_>, precedence: &mut PrecedenceTable, ask: &mut Request, bodies: &[Value]) {
    for body in bodies {
        ask.body(body);
        precedence.assert_next(&ask.send(site).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_registration_errors_follow_precedence() {
    // Checks: token, key, body, URL, types, account, key reuse, owner of the URL, limit. The last, valid request
    // creates an endpoint, and its replay shows the same secret.
    let host = Host::new().with("PURSER_WEBHOOKS__MAX_PER_ACCOUNT", "1");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let other = "https://other.unknown.example/";
    let first = registered(&site, &token, other, Some("used")).await;
    let relayed = relayed(&site, &agent).await;
    site.freeze(&agent.address(), Some(WHY)).await;

    let mut precedence = PrecedenceTable::of("POST /register-webhook", "register-webhook");
    let mut ask = Request::new("POST", "/register-webhook");
    ask.header("idempotency-key", &"x".repeat(256));
    ask.text("[");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "used");
    precedence.assert_next(&ask.send(&site).await);
    let bodies = [
        json!({}),
        json!({"url": "http://127.0.0.1/", "types": ["card ready"]}),
        json!({"url": URL, "types": ["card.redy"]}),
        json!({"url": URL, "types": ["card.ready"]}),
    ];
    check_bodies(&site, &mut precedence, &mut ask, &bodies).await;
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "relayed");
    ask.body(&json!({"url": other}));
    ask.bearer(&relayed);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "new");
    ask.body(&json!({"url": URL, "types": ["card.ready"]}));
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    deleted(&site, &token, &first, None).await;
    let made = ask.send_and_check(&site).await;
    precedence.assert_next(&super::request::recorded(&made));
    precedence.assert_complete();
    let again = ask.send_and_check(&site).await;
    assert_eq!(again.text, made.text, "the secret too");
    snapshot("register-webhook.200-replayed", &super::request::recorded(&again));
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_read_errors_follow_precedence() {
    // Checks: one endpoint, and a page of deliveries with all its filters.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, other) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let (token, theirs) = (agent.token(&site).await, other.token(&site).await);
    let own = registered(&site, &token, URL, None).await;
    let not_own = registered(&site, &theirs, URL, None).await;
    let (sent, not_sent) = (delivery(&site, &token).await, delivery(&site, &theirs).await);
    site.freeze(&agent.address(), Some(WHY)).await;

    let mut precedence = PrecedenceTable::of("GET /get-webhook with `webhook_id`", "get-webhook-one");
    let mut ask = Request::new("GET", "/get-webhook")
        .with("colour", "red")
        .with("webhook_id", "none");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.set("webhook_id", &not_own);
    precedence.assert_next(&ask.send(&site).await);
    ask.set("webhook_id", &own);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();

    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("GET /webhook-deliveries", "webhook-deliveries");
    let mut ask = Request::new("GET", "/webhook-deliveries")
        .with("colour", "red")
        .with("limit", "0")
        .with("status", "lost")
        .with("delivery_id", "none")
        .with("webhook_id", "none")
        .with("starting_after", "none");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("limit", "5");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("status", "dropped");
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.set("delivery_id", &not_sent);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("delivery_id");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("webhook_id", &not_own);
    precedence.assert_next(&ask.send(&site).await);
    ask.set("webhook_id", &own);
    precedence.assert_next(&ask.send(&site).await);
    ask.set("starting_after", &sent);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_redelivery_and_deletion_errors_follow_precedence() {
    // Checks: token, key, body, account, key reuse, the id, its owner, its session, the endpoint state.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, other) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let (token, theirs) = (agent.token(&site).await, other.token(&site).await);
    let own = registered(&site, &token, URL, None).await;
    let gone = registered(&site, &token, "https://gone.unknown.example/", None).await;
    let not_own = registered(&site, &theirs, URL, None).await;
    deleted(&site, &token, &gone, Some("used")).await;
    let relayed = relayed(&site, &agent).await;
    let since = "2026-11-20T00:00:00Z";

    for (heading, with) in [("POST /redeliver-webhook", true), ("POST /delete-webhook", false)] {
        let path = &heading["POST ".len()..];
        site.freeze(&agent.address(), Some(WHY)).await;
        let mut precedence = PrecedenceTable::of(heading, path.trim_start_matches('/'));
        let mut ask = Request::new("POST", path);
        let named = |id: &str| match with {
            true => json!({"webhook_id": id, "since": since}),
            false => json!({"webhook_id": id}),
        };
        ask.header("idempotency-key", &"x".repeat(256));
        ask.text("[");
        precedence.assert_next(&ask.send(&site).await);
        ask.bearer(&token);
        precedence.assert_next(&ask.send(&site).await);
        ask.header("idempotency-key", "used");
        precedence.assert_next(&ask.send(&site).await);
        ask.body(&json!({}));
        precedence.assert_next(&ask.send(&site).await);
        if with {
            let bodies = [
                json!({"webhook_id": "none"}),
                json!({"webhook_id": "none", "since": "today"}),
            ];
            check_bodies(&site, &mut precedence, &mut ask, &bodies).await;
        }
        ask.body(&named("none"));
        precedence.assert_next(&ask.send(&site).await);
        site.freeze(&agent.address(), None).await;
        precedence.assert_next(&ask.send(&site).await);
        ask.header("idempotency-key", &format!("new {path}"));
        precedence.assert_next(&ask.send(&site).await);
        ask.body(&named(&not_own));
        precedence.assert_next(&ask.send(&site).await);
        ask.body(&named(&gone));
        ask.bearer(&relayed);
        precedence.assert_next(&ask.send(&site).await);
        ask.bearer(&token);
        precedence.assert_next(&ask.send(&site).await);
        ask.header("idempotency-key", &format!("newer {path}"));
        ask.body(&named(&own));
        precedence.assert_next(&ask.send(&site).await);
        precedence.assert_complete();
    }
}
