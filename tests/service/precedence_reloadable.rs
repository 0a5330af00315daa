//! Error precedence of routes that spend the card balance.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::http::ServiceClient;
use super::precedence_table::{PrecedenceTable, snapshot};
use super::reloadable_cards::{loaded, opened, wait_for_reloadable_card};
use super::request::Request;
use super::top_up::{id_of, link, start, wait_for_top_up};

const WHY: &str = "Please write to us.";

#[tokio::test(flavor = "multi_thread")]
async fn reloadable_card_order_errors_follow_precedence() {
    // Checks: token, key, body, account, key reuse, linked account, balance; the last, valid request opens a card.
    let (_host, service) = start();
    let site = ServiceClient::of(&service);
    let (agent, token) = loaded(&site, Network::Base, 20).await;
    let mut first = Request::new("POST", "/create-reloadable-card");
    first.bearer(&token);
    first.header("idempotency-key", "used");
    first.body(&json!({"usd_amount": 1}));
    assert_eq!(first.send_and_check(&site).await.status, 200);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let born_of_payment = bought.body["auth"]["id_token"].as_str().unwrap();
    let brought = agent.buy(&site, "/fund-card-balance?amount=5").await;
    let born_of_top_up = brought.body["auth"]["id_token"].as_str().unwrap();
    wait_for_top_up(&site, &token, &id_of(&brought), "credited").await;
    link(&site, &agent, false).await;
    site.freeze(&agent.address(), Some(WHY)).await;

    let mut precedence = PrecedenceTable::of("POST /create-reloadable-card", "create-reloadable-card");
    let mut ask = Request::new("POST", "/create-reloadable-card");
    ask.header("idempotency-key", &"x".repeat(256));
    ask.text("[");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(born_of_payment);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "used");
    precedence.assert_next(&ask.send(&site).await);
    for body in [
        json!({"usd_amount": "much", "reusable": "maybe"}),
        json!({"usd_amount": "much"}),
        json!({"usd_amount": 0.99}),
        json!({"usd_amount": 700}),
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
    link(&site, &agent, true).await;
    ask.bearer(born_of_top_up);
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "newer");
    ask.body(&json!({"usd_amount": 2}));
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
    snapshot("create-reloadable-card.200-replayed", &ask.send(&site).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn card_action_errors_follow_precedence() {
    // Checks: the order documented for pausing. The other actions differ only in the card state.
    let (_host, service) = start();
    let site = ServiceClient::of(&service);
    let (agent, token) = loaded(&site, Network::Base, 20).await;
    let (_, other) = loaded(&site, Network::Base, 5).await;
    let theirs = opened(&site, &other, json!({"usd_amount": 1})).await;
    let own = opened(&site, &token, json!({"usd_amount": 1})).await;
    let ended = opened(&site, &token, json!({"usd_amount": 1})).await;
    let mut first = Request::new("POST", "/close-card");
    first.bearer(&token);
    first.body(&json!({"card_id": ended}));
    assert_eq!(first.send_and_check(&site).await.status, 202);
    wait_for_reloadable_card(&site, &token, &ended, "closed").await;
    let mut first = Request::new("POST", "/pause-card");
    first.bearer(&token);
    first.header("idempotency-key", "used");
    first.body(&json!({"card_id": ended}));
    assert_eq!(first.send_and_check(&site).await.status, 409);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    site.freeze(&agent.address(), Some(WHY)).await;

    let mut precedence = PrecedenceTable::of("POST /pause-card", "pause-card");
    let mut ask = Request::new("POST", "/pause-card");
    ask.header("idempotency-key", &"x".repeat(256));
    ask.text("[");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "used");
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": "none"}));
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "new");
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": theirs}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": ended}));
    ask.bearer(bought.body["auth"]["id_token"].as_str().unwrap());
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "newer");
    ask.body(&json!({"card_id": own}));
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
    wait_for_reloadable_card(&site, &token, &own, "paused").await;
    ask.header("idempotency-key", "newest");
    snapshot("pause-card.200-paused", &ask.send(&site).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn card_balance_withdrawal_errors_follow_precedence() {
    // Checks: token, key, body, account, kind of token, key reuse, linked account, balance.
    let (_host, service) = start();
    let site = ServiceClient::of(&service);
    let (agent, token) = loaded(&site, Network::Base, 20).await;
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let relayed = bought.body["auth"]["id_token"].as_str().unwrap();
    let destination = Agent::seeded(Network::Base, 1, 1).address();
    let mut first = Request::new("POST", "/withdraw-card-balance");
    first.bearer(&token);
    first.header("idempotency-key", "used");
    first.body(&json!({"amount": 2, "destination_address": destination}));
    assert_eq!(first.send_and_check(&site).await.status, 202);
    link(&site, &agent, false).await;
    site.freeze(&agent.address(), Some(WHY)).await;

    let mut precedence = PrecedenceTable::of("POST /withdraw-card-balance", "withdraw-card-balance");
    let mut ask = Request::new("POST", "/withdraw-card-balance");
    ask.header("idempotency-key", &"x".repeat(256));
    ask.text("[");
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(relayed);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "used");
    precedence.assert_next(&ask.send(&site).await);
    for body in [
        json!({"amount": "much"}),
        json!({"amount": "much", "destination_address": "me"}),
        json!({"amount": 10_000.01, "destination_address": "me"}),
        json!({"amount": 700, "destination_address": "me"}),
        json!({"amount": 700, "destination_address": destination}),
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
    link(&site, &agent, true).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "newer");
    ask.body(&json!({"amount": 2, "destination_address": destination}));
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}
