//! `docs/precedence.md` from top to bottom: banking's callable functions.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::cases_banking::{approve, open_account, person, quick, result};
use super::cases_withdraw::credited;
use super::host::Host;
use super::ladder::{Ladder, snapshot};
use super::owner::Owner;
use super::request::Request;
use super::wire::Site;

const WHY: &str = "Please write to us.";

/// Profiles that break one rule less, each.
fn profiles(own: &str, other: &str) -> Vec<serde_json::Value> {
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
    named["userId"] = json!(other);
    let mut mine = named.clone();
    mine["userId"] = json!(own);
    vec![
        json!({}),
        json!({"data": {}, "dat": 1}),
        json!({"data": "x"}),
        json!({"data": {"fistName": "Ada"}}),
        json!({"data": {"firstName": "Ada"}}),
        json!({"data": business}),
        json!({"data": abroad}),
        json!({"data": elsewhere}),
        json!({"data": unnamed}),
        json!({"data": named}),
        json!({"data": mine}),
    ]
}

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
    for body in profiles(&agent.address(), &other.address()) {
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

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: token, members, whose it is, account, profile, and everything that is missing at once.
    let service = Host::new().start();
    let site = Site::of(&service);
    let (agent, other) = (Agent::new(Network::Solana), Agent::new(Network::Base));
    let token = agent.token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut ladder = Ladder::of("POST /submitBankingApplication", "submit-banking-application");
    let mut ask = Request::new("POST", "/submitBankingApplication");
    ask.body(&json!({"data": {"userId": other.address(), "x": 1}}));
    ladder.meets(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.meets(&ask.send(&site).await);
    ask.body(&json!({"data": {"userId": other.address()}}));
    ladder.meets(&ask.send(&site).await);
    ask.body(&json!({"data": {}}));
    ladder.meets(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ladder.meets(&ask.send(&site).await);
    result(&site, &token, "createBankingProfile", person()).await;
    ladder.meets(&ask.send(&site).await);
    ladder.ends();
}

#[tokio::test(flavor = "multi_thread")]
async fn money_to_a_bank_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: both ways out of the balance: members, account, token, target, key, balance; the last mended call moves it.
    let host = quick();
    let service = host.start();
    let site = Site::of(&service);
    let (agent, other) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let bought = agent.buy(&site, "/get-card?amount=6.66").await;
    let born = bought.body["auth"]["id_token"].as_str().unwrap().to_owned();
    let token = agent.token(&site).await;
    credited(&site, &token).await;
    Owner::of(&site, &agent).await.verify(&site, &token).await;
    approve(&site, &token, "Lovelace").await;
    let on = open_account(&site, &token, "onramp").await["accountId"].clone();
    let off = open_account(&site, &token, "offramp").await["accountId"].clone();
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut ladder = Ladder::of("POST /createBankingTransfer", "create-banking-transfer");
    let mut ask = Request::new("POST", "/createBankingTransfer");
    ask.header("idempotency-key", &"k".repeat(256));
    let mut data =
        json!({"userId": other.address(), "amount": "1e3", "acountId": "ba_1", "direction": "away", "note": ""});
    ask.body(&json!({"data": data}));
    ladder.meets(&ask.send(&site).await);
    ask.bearer(&born);
    ladder.meets(&ask.send(&site).await);
    ask.header("idempotency-key", "one");
    ladder.meets(&ask.send(&site).await);
    data.as_object_mut().unwrap().remove("acountId");
    for (name, value) in [
        ("", json!(null)),
        ("direction", json!("to_account")),
        ("accountId", json!("ba_1")),
        ("amount", json!(0)),
        ("amount", json!(9000)),
        ("note", json!("savings")),
        ("userId", json!(agent.address())),
    ] {
        if !name.is_empty() {
            data[name] = value;
        }
        ask.body(&json!({"data": data}));
        ladder.meets(&ask.send(&site).await);
    }
    site.freeze(&agent.address(), None).await;
    ladder.meets(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.meets(&ask.send(&site).await);
    data["accountId"] = on;
    ask.body(&json!({"data": data}));
    ladder.meets(&ask.send(&site).await);
    let mut taken = Request::new("POST", "/withdraw");
    taken.bearer(&token);
    taken.header("idempotency-key", "one");
    taken.body(&json!({"amount": 9000}));
    assert_eq!(taken.send(&site).await.status, 409);
    data["accountId"] = off;
    ask.body(&json!({"data": data}));
    ladder.meets(&ask.send(&site).await);
    ask.header("idempotency-key", "two");
    ladder.meets(&ask.send(&site).await);
    ask.header("idempotency-key", "three");
    data["amount"] = json!(6.66);
    ask.body(&json!({"data": data}));
    ladder.meets(&ask.send(&site).await);
    ladder.ends();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_from_the_balance_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: token, members, account, token's birth, destination, balance; the last mended call pays it.
    let host = quick();
    let service = host.start();
    let site = Site::of(&service);
    let agent = Agent::new(Network::Solana);
    let bought = agent.buy(&site, "/get-card?amount=6.66").await;
    let born = bought.body["auth"]["id_token"].as_str().unwrap().to_owned();
    let token = agent.token(&site).await;
    credited(&site, &token).await;
    let made = async |destination: serde_json::Value| {
        let data = json!({"name": "Ada Lovelace", "destination": destination});
        let made = result(&site, &token, "createBankingRecipient", data).await;
        made["destination"]["destinationId"].clone()
    };
    let iban = json!({"type": "fiat_iban", "bankName": "Bank", "iban": "DE89370400440532013000"});
    let iban = made(iban).await;
    let us = json!({"type": "fiat_us", "bankName": "Bank", "routingNumber": "021000021", "accountNumber": "123456789"});
    let us = made(us).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut ladder = Ladder::of("POST /sendBankingPayout", "send-banking-payout");
    let mut ask = Request::new("POST", "/sendBankingPayout");
    let mut data = json!({"amount": "1e3"});
    ask.body(&json!({"data": data}));
    ladder.meets(&ask.send(&site).await);
    ask.bearer(&born);
    ladder.meets(&ask.send(&site).await);
    for (name, value) in [
        ("destinationId", json!("rent")),
        ("amount", json!(9.99)),
        ("amount", json!(10)),
    ] {
        data[name] = value;
        ask.body(&json!({"data": data}));
        ladder.meets(&ask.send(&site).await);
    }
    site.freeze(&agent.address(), None).await;
    ladder.meets(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.meets(&ask.send(&site).await);
    for destination in [iban, us] {
        data["destinationId"] = destination;
        ask.body(&json!({"data": data}));
        ladder.meets(&ask.send(&site).await);
    }
    // Two refused cards more.
    for _ in 0..2 {
        assert_eq!(agent.buy(&site, "/get-card?amount=6.66").await.status, 200);
    }
    super::payee::balance_is(&site, &token, "19.98").await;
    ladder.meets(&ask.send(&site).await);
    ladder.ends();
}
