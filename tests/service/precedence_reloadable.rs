//! `docs/precedence.md` where the balance at the card issuer is spent.

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
async fn an_order_of_a_reloadable_card_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: token, key, body, account, the key's past, the link, the balance; the last mended request makes a card.
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

    let mut ladder = PrecedenceTable::of("POST /create-reloadable-card", "create-reloadable-card");
    let mut ask = Request::new("POST", "/create-reloadable-card");
    ask.header("idempotency-key", &"x".repeat(256));
    ask.text("[");
    ladder.assert_next(&ask.send(&site).await);
    ask.bearer(born_of_payment);
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "used");
    ladder.assert_next(&ask.send(&site).await);
    for body in [
        json!({"usd_amount": "much", "reusable": "maybe"}),
        json!({"usd_amount": "much"}),
        json!({"usd_amount": 0.99}),
        json!({"usd_amount": 700}),
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
    link(&site, &agent, true).await;
    ask.bearer(born_of_top_up);
    ladder.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "newer");
    ask.body(&json!({"usd_amount": 2}));
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_complete();
    snapshot("create-reloadable-card.200-replayed", &ask.send(&site).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wish_for_a_card_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: as written for pausing; the others differ in nothing before the card's state.
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

    let mut ladder = PrecedenceTable::of("POST /pause-card", "pause-card");
    let mut ask = Request::new("POST", "/pause-card");
    ask.header("idempotency-key", &"x".repeat(256));
    ask.text("[");
    ladder.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "used");
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({}));
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": "none"}));
    ladder.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "new");
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": theirs}));
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": ended}));
    ask.bearer(bought.body["auth"]["id_token"].as_str().unwrap());
    ladder.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "newer");
    ask.body(&json!({"card_id": own}));
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_complete();
    wait_for_reloadable_card(&site, &token, &own, "paused").await;
    ask.header("idempotency-key", "newest");
    snapshot("pause-card.200-paused", &ask.send(&site).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawal_from_a_card_balance_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: token, key, body, account, the token's birth, the key's past, the link, the balance.
    let (_host, service) = start();
    let site = ServiceClient::of(&service);
    let (agent, token) = loaded(&site, Network::Base, 20).await;
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let relayed = bought.body["auth"]["id_token"].as_str().unwrap();
    let elsewhere = Agent::seeded(Network::Base, 1, 1).address();
    let mut first = Request::new("POST", "/withdraw-card-balance");
    first.bearer(&token);
    first.header("idempotency-key", "used");
    first.body(&json!({"amount": 2, "destination_address": elsewhere}));
    assert_eq!(first.send_and_check(&site).await.status, 202);
    link(&site, &agent, false).await;
    site.freeze(&agent.address(), Some(WHY)).await;

    let mut ladder = PrecedenceTable::of("POST /withdraw-card-balance", "withdraw-card-balance");
    let mut ask = Request::new("POST", "/withdraw-card-balance");
    ask.header("idempotency-key", &"x".repeat(256));
    ask.text("[");
    ladder.assert_next(&ask.send(&site).await);
    ask.bearer(relayed);
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "used");
    ladder.assert_next(&ask.send(&site).await);
    for body in [
        json!({"amount": "much"}),
        json!({"amount": "much", "destination_address": "me"}),
        json!({"amount": 10_000.01, "destination_address": "me"}),
        json!({"amount": 700, "destination_address": "me"}),
        json!({"amount": 700, "destination_address": elsewhere}),
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
    link(&site, &agent, true).await;
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "newer");
    ask.body(&json!({"amount": 2, "destination_address": elsewhere}));
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_complete();
}
