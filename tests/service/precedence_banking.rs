//! `docs/precedence.md` from top to bottom: banking's callable functions.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::host::Host;
use super::ladder::{Ladder, snapshot};
use super::request::Request;
use super::wire::Site;

const WHY: &str = "Please write to us.";

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: token, key, envelope, members, whose it is, account, key; the last mended call makes the profile.
    let service = Host::new().start();
    let site = Site::of(&service);
    let (agent, other) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let token = agent.token(&site).await;
    let bad = "k".repeat(256);
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut ladder = Ladder::of("POST /createBankingProfile", "create-banking-profile");
    let mut ask = Request::new("POST", "/createBankingProfile");
    ask.header("idempotency-key", &bad);
    ask.text("[");
    ladder.meets(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.meets(&ask.send(&site).await);
    ask.header("idempotency-key", "one");
    ladder.meets(&ask.send(&site).await);
    let person = json!({"firstName": " Ada ", "lastName": "Lovelace", "email": "ada@example.com"});
    let with = |name: &str, value: serde_json::Value| {
        let mut data = person.clone();
        data[name] = value;
        data
    };
    let mut business = with("type", json!("business"));
    business["country"] = json!("us");
    let mut abroad = business.clone();
    abroad["businessName"] = json!("Engines");
    let mut elsewhere = abroad.clone();
    elsewhere["country"] = json!("KP");
    let mut unnamed = elsewhere.clone();
    unnamed["country"] = json!("GB");
    unnamed["email"] = json!("ada");
    let mut named = unnamed.clone();
    named["email"] = json!("ada@example.com");
    named["userId"] = json!(other.address());
    let mut own = named.clone();
    own["userId"] = json!(agent.address());
    for body in [
        json!({"Data": {}}),
        json!({"data": {}, "dat": 1}),
        json!({"data": "x"}),
        json!({"data": {"fistName": "Ada"}}),
        json!({"data": {"firstName": "Ada"}}),
        json!({"data": business}),
        json!({"data": abroad}),
        json!({"data": elsewhere}),
        json!({"data": unnamed}),
        json!({"data": named}),
        json!({"data": own}),
    ] {
        ask.body(&body);
        ladder.meets(&ask.send(&site).await);
    }
    site.freeze(&agent.address(), None).await;
    let amount = json!({"data": {"amount": 1}});
    let mut withdraw = Request::new("POST", "/withdraw");
    withdraw.bearer(&token);
    withdraw.header("idempotency-key", "one");
    withdraw.body(&amount["data"]);
    assert_eq!(withdraw.send(&site).await.status, 409);
    ladder.meets(&ask.send(&site).await);
    ask.header("idempotency-key", "two");
    ladder.meets(&ask.send(&site).await);
    snapshot("create-banking-profile.200-again", &ask.send(&site).await);
    ask.header("idempotency-key", "three");
    ladder.meets(&ask.send(&site).await);
    ladder.ends();
    ask.header("accept", "application/problem+json");
    ask.header("idempotency-key", "four");
    snapshot("create-banking-profile.409-problem", &ask.send(&site).await);
    snapshot(
        "create-banking-profile.405",
        &Request::new("GET", "/createBankingProfile").send(&site).await,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profiles_status_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: token, members, whose it is, account.
    let service = Host::new().start();
    let site = Site::of(&service);
    let (agent, other) = (Agent::new(Network::Solana), Agent::new(Network::Base));
    let token = agent.token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut ladder = Ladder::of("POST /getBankingProfileStatus", "get-banking-profile-status");
    let mut ask = Request::new("POST", "/getBankingProfileStatus");
    ask.body(&json!({"data": {"userid": other.address()}}));
    ladder.meets(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.meets(&ask.send(&site).await);
    ask.body(&json!({"data": {"userId": other.address()}}));
    ladder.meets(&ask.send(&site).await);
    ask.body(&json!({"data": {"userId": agent.address().to_lowercase()}}));
    ladder.meets(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ladder.meets(&ask.send(&site).await);
    ladder.ends();
}
