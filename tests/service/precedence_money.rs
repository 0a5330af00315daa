//! `docs/precedence.md` where money leaves a balance.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::http::ServiceClient;
use super::precedence_table::{PrecedenceTable, snapshot};
use super::request::{Request, recorded};
use super::withdraw::{agent_with_balance, ended, id_of, start};

const WHY: &str = "Please write to us.";

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawal_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: token, key, body, account, token's birth, the key's past, the balance; the last mended request is taken on.
    let (_host, service) = start();
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Base).await;
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let relayed = bought.body["auth"]["id_token"].as_str().unwrap();
    let elsewhere = Agent::seeded(Network::Base, 1, 1).address();
    let mut first = Request::new("POST", "/withdraw");
    first.bearer(&token);
    first.header("idempotency-key", "used");
    first.body(&json!({"amount": 1}));
    assert_eq!(first.send_and_check(&site).await.status, 202);
    site.freeze(&agent.address(), Some(WHY)).await;

    let mut ladder = PrecedenceTable::of("POST /withdraw", "withdraw");
    let mut ask = Request::new("POST", "/withdraw");
    ask.header("idempotency-key", &"x".repeat(256));
    ask.text("[");
    ladder.assert_next(&ask.send(&site).await);
    ask.bearer(relayed);
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "used");
    ladder.assert_next(&ask.send(&site).await);
    for body in [
        json!({"amount": "much", "colour": "red"}),
        json!({"amount": "much", "address": "me", "network": "eth"}),
        json!({"amount": 0, "address": "me", "network": "eth"}),
        json!({"amount": 700, "address": "me", "network": "eth"}),
        json!({"amount": 700, "address": elsewhere, "network": "eth"}),
        json!({"amount": 700, "address": elsewhere, "network": "base"}),
    ] {
        ask.body(&body);
        ladder.assert_next(&ask.send(&site).await);
    }
    site.freeze(&agent.address(), None).await;
    ladder.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "new");
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "newer");
    let stranger = Agent::new(Network::Solana).address();
    ask.body(&json!({"amount": 1, "address": stranger, "network": "solana"}));
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({"amount": 1, "address": elsewhere, "network": "base"}));
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_complete();
    snapshot("withdraw.202-replayed", &ask.send(&site).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawals_reader_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: one withdrawal, all of them, and the statement.
    let (_host, service) = start();
    let site = ServiceClient::of(&service);
    let ((agent, token), (_, other)) = (
        agent_with_balance(&site, Network::Base).await,
        agent_with_balance(&site, Network::Solana).await,
    );
    let mut first = Request::new("POST", "/withdraw");
    first.body(&json!({"amount": 1}));
    first.bearer(&other);
    let theirs = id_of(&first.send_and_check(&site).await);
    first.bearer(&token);
    let own = id_of(&first.send_and_check(&site).await);
    ended(&site, &token, &own).await;
    site.freeze(&agent.address(), Some(WHY)).await;

    let mut ladder = PrecedenceTable::of(
        "GET /get-withdrawal-status with `withdrawal_id`",
        "get-withdrawal-status-one",
    );
    let mut ask = Request::new("GET", "/get-withdrawal-status")
        .with("colour", "red")
        .with("withdrawal_id", "none");
    ladder.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    ladder.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ladder.assert_next(&ask.send(&site).await);
    ask.set("withdrawal_id", &theirs);
    ladder.assert_next(&ask.send(&site).await);
    ask.set("withdrawal_id", &own);
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_complete();
    ask.drop("withdrawal_id");
    snapshot("get-withdrawal-status.200", &ask.send(&site).await);

    site.freeze(&agent.address(), Some(WHY)).await;
    let mut ladder = PrecedenceTable::of("GET /get-account-statement", "get-account-statement");
    let mut ask = Request::new("GET", "/get-account-statement")
        .with("colour", "red")
        .with("limit", "0")
        .with("starting_after", "none");
    ladder.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    ladder.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ladder.assert_next(&ask.send(&site).await);
    ask.set("limit", "2");
    ladder.assert_next(&ask.send(&site).await);
    ask.drop("starting_after");
    ladder.assert_next(&recorded(&ask.send_and_check(&site).await));
    ladder.assert_complete();
}
