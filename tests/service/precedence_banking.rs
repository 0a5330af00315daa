//! Error precedence of the banking functions.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::banking::{DOCUMENT_BASE64, application_answers, approve_existing, profile, quick, result};
use super::callable_precedence::{AccessRule, Caller, with};
use super::host::Host;
use super::http::ServiceClient;
use super::owner::Owner;
use super::precedence_table::{PrecedenceTable, snapshot};
use super::request::Request;

const WHY: &str = "Please write to us.";

/// Profiles that each break one rule less.
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
    let mut unsupported = abroad.clone();
    unsupported["country"] = json!("KP");
    let mut unnamed = unsupported.clone();
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
        json!({"data": unsupported}),
        json!({"data": unnamed}),
        json!({"data": named}),
        json!({"data": mine}),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn banking_profile_errors_follow_precedence() {
    // Checks: token, key, envelope, fields, owner, account, key reuse; the last, valid call creates the profile.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (agent, other) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let token = agent.token(&site).await;
    let bad = "k".repeat(256);
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("POST /createBankingProfile", "create-banking-profile");
    let mut ask = Request::new("POST", "/createBankingProfile");
    ask.header("idempotency-key", &bad);
    ask.text("[");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "one");
    precedence.assert_next(&ask.send(&site).await);
    for body in profiles(&agent.address(), &other.address()) {
        ask.body(&body);
        precedence.assert_next(&ask.send(&site).await);
    }
    site.freeze(&agent.address(), None).await;
    let amount = json!({"data": {"amount": 1}});
    let mut withdraw = Request::new("POST", "/withdraw");
    withdraw.bearer(&token);
    withdraw.header("idempotency-key", "one");
    withdraw.body(&amount["data"]);
    assert_eq!(withdraw.send(&site).await.status, 409);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "two");
    precedence.assert_next(&ask.send(&site).await);
    snapshot("create-banking-profile.200-again", &ask.send(&site).await);
    ask.header("idempotency-key", "three");
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
    ask.header("accept", "application/problem+json");
    ask.header("idempotency-key", "four");
    snapshot("create-banking-profile.409-problem", &ask.send(&site).await);
    snapshot(
        "create-banking-profile.405",
        &Request::new("GET", "/createBankingProfile").send(&site).await,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn banking_profile_status_errors_follow_precedence() {
    // Checks: token, fields, owner, account.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (agent, other) = (Agent::new(Network::Solana), Agent::new(Network::Base));
    let token = agent.token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("POST /getBankingProfileStatus", "get-banking-profile-status");
    let mut ask = Request::new("POST", "/getBankingProfileStatus");
    ask.body(&json!({"data": {"userid": other.address()}}));
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"data": {"userId": other.address()}}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"data": {"userId": agent.address().to_lowercase()}}));
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn banking_application_errors_follow_precedence() {
    // Checks: the four functions of an application from token to state, until the bank has it. A used key replays its
    // response in every state of the application.
    let host = quick().with("PURSER_SANDBOX__BANK_DELAY_MS", "60000");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let caller = Caller::new(&site).await;
    Owner::of(&site, &caller.agent).await.verify(&site, &caller.token).await;
    let unknown = [json!({"town": "Springfield"})];
    let mut read = caller
        .check_precedence("/getBankingApplication", AccessRule::Reads, &unknown, &json!({}))
        .await;
    read.assert_next().await;
    let wrong = [
        unknown[0].clone(),
        json!({"dateOfBirth": "1990-02-30", "taxId": "1"}),
        json!({}),
    ];
    let path = "/updateBankingApplicationDetails";
    let mut answer = caller
        .check_precedence(path, AccessRule::Keyed, &wrong, &json!({"city": "Springfield"}))
        .await;
    answer.assert_next().await;
    // One byte more than 10 MB, and no more than the body limit.
    let mut large = String::from("JVBERi0x");
    large.extend(std::iter::repeat_n('A', 13_981_012));
    let paper = json!({"type": "proof_of_address", "content": DOCUMENT_BASE64});
    let wrong = [
        unknown[0].clone(),
        json!({"type": "proof_of_address"}),
        with(&paper, "type", json!("selfie")),
        with(&paper, "content", json!("%%%")),
        with(&paper, "content", json!(large)),
        with(&paper, "content", json!("bm8gcGRm")),
    ];
    let mut upload = caller
        .check_precedence("/uploadBankingDocument", AccessRule::Keyed, &wrong, &paper)
        .await;
    upload.data(&paper).await;
    let mut submit = caller
        .check_precedence("/submitBankingApplication", AccessRule::Keyed, &unknown, &json!({}))
        .await;
    submit.data(&json!({})).await;

    result(&site, &caller.token, "createBankingProfile", profile()).await;
    read.data(&json!({})).await;
    answer.data(&json!({"taxId": "12345678"})).await;
    answer.data(&application_answers()).await;
    upload.key("2");
    submit.assert_next().await;
    upload.data(&paper).await;
    submit.key("2");
    submit.assert_next().await;
    answer.assert_replayed().await;
    upload.assert_replayed().await;
    submit.assert_replayed().await;
    for precedence in [&mut answer, &mut upload, &mut submit] {
        precedence.key("3");
        precedence.assert_next().await;
    }
    for precedence in [read, answer, upload, submit] {
        precedence.assert_complete();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bank_account_errors_follow_precedence() {
    // Checks: opening an account, from the token to the number of accounts, and the list.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let caller = Caller::new(&site).await;
    Owner::of(&site, &caller.agent).await.verify(&site, &caller.token).await;
    let wrong = [
        json!({"typ": "onramp"}),
        json!({"label": ""}),
        json!({"type": "ramp", "label": ""}),
        json!({"type": "onramp", "label": ""}),
    ];
    let good = json!({"type": "onramp", "label": "salary"});
    let mut open = caller
        .check_precedence("/createBankingAccount", AccessRule::Keyed, &wrong, &good)
        .await;
    open.data(&good).await;
    result(&site, &caller.token, "createBankingProfile", profile()).await;
    open.assert_next().await;
    approve_existing(&site, &caller.token).await;
    open.assert_next().await;
    open.assert_replayed().await;
    for _ in 1..10 {
        result(&site, &caller.token, "createBankingAccount", good.clone()).await;
    }
    open.assert_replayed().await;
    open.key("2");
    open.assert_next().await;
    open.assert_complete();

    let fresh = Caller::new(&site).await;
    let wrong = [json!({"most": 1}), json!({"limit": 0})];
    let mut list = fresh
        .check_precedence("/listBankingAccounts", AccessRule::Reads, &wrong, &json!({"limit": 1}))
        .await;
    list.data(&json!({"startingAfter": "ba_1"})).await;
    list.data(&json!({})).await;
    list.assert_complete();
}
