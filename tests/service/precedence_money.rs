//! Error precedence of withdrawals and the statement.

use purser_actors::id::Network;
use serde_json::json;

use super::access::field;
use super::agent::Agent;
use super::http::ServiceClient;
use super::precedence_table::{PrecedenceTable, snapshot};
use super::request::{Request, recorded};
use super::withdraw::{agent_with_balance, ended, id_of, start};

const WHY: &str = "Please write to us.";

#[tokio::test(flavor = "multi_thread")]
async fn withdrawal_errors_follow_precedence() {
    // Checks: token, key, body, account, kind of token, key reuse, balance; the last, valid request is accepted.
    let (_host, service) = start();
    let site = ServiceClient::of(&service);
    let (agent, token) = agent_with_balance(&site, Network::Base).await;
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let relayed = bought.body["auth"]["id_token"].as_str().unwrap();
    let destination = Agent::seeded(Network::Base, 1, 1).address();
    let mut first = Request::new("POST", "/withdraw");
    first.bearer(&token);
    first.header("idempotency-key", "used");
    first.body(&json!({"amount": 1}));
    assert_eq!(first.send_and_check(&site).await.status, 202);
    site.freeze(&agent.address(), Some(WHY)).await;

    let mut precedence = PrecedenceTable::of("POST /withdraw", "withdraw");
    let mut ask = Request::new("POST", "/withdraw");
    ask.header("idempotency-key", &"x".repeat(256));
    ask.text("[");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(relayed);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "used");
    precedence.assert_next(&ask.send(&site).await);
    for body in [
        json!({"amount": "much", "colour": "red"}),
        json!({"amount": "much", "address": "me", "network": "eth"}),
        json!({"amount": 0, "address": "me", "network": "eth"}),
        json!({"amount": 700, "address": "me", "network": "eth"}),
        json!({"amount": 700, "address": destination, "network": "eth"}),
        json!({"amount": 700, "address": destination, "network": "base"}),
    ] {
        ask.body(&body);
        precedence.assert_next(&ask.send(&site).await);
    }
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "new");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "newer");
    let stranger = Agent::new(Network::Solana).address();
    ask.body(&json!({"amount": 1, "address": stranger, "network": "solana"}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"amount": 1, "address": destination, "network": "base"}));
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
    snapshot("withdraw.202-replayed", &ask.send(&site).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn withdrawal_read_errors_follow_precedence() {
    // Checks: one withdrawal, all of them, and the statement.
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

    let mut precedence = PrecedenceTable::of(
        "GET /get-withdrawal-status with `withdrawal_id`",
        "get-withdrawal-status-one",
    );
    let mut ask = Request::new("GET", "/get-withdrawal-status")
        .with("colour", "red")
        .with("withdrawal_id", "none");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.set("withdrawal_id", &theirs);
    precedence.assert_next(&ask.send(&site).await);
    ask.set("withdrawal_id", &own);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
    ask.drop("withdrawal_id");
    snapshot("get-withdrawal-status.200", &ask.send(&site).await);

    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("GET /get-account-statement", "get-account-statement");
    let mut ask = Request::new("GET", "/get-account-statement")
        .with("colour", "red")
        .with("of", "everything")
        .with("order", "up")
        .with("until", "noon")
        .with("limit", "0")
        .with("starting_after", "none");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    ask.set("of", "agent_wallet");
    ask.bearer(&field(&bought, "/auth/id_token"));
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("of");
    ask.drop("order");
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("until");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("limit", "2");
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("starting_after");
    precedence.assert_next(&recorded(&ask.send_and_check(&site).await));
    precedence.assert_complete();
}
