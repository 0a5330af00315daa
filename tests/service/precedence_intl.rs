//! `docs/precedence.md` from top to bottom: international cards.

use purser_actors::id::Network;
use serde_json::json;

use super::agent::Agent;
use super::host::Host;
use super::http::ServiceClient;
use super::operator_client::OperatorClient;
use super::precedence_table::PrecedenceTable;
use super::request::Request;

const WHY: &str = "Please write to us.";

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: parameters, then what only this account is refused for; the last mended request orders the card.
    let service = Host::new().with("PURSER_CAPS__CARD_USD_PER_DAY", "150").start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let other = Agent::new(Network::Solana).token(&site).await;
    agent.token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut ladder = PrecedenceTable::of("GET /order-intl-card", "order-intl-card");
    let mut ask = Request::new("GET", "/order-intl-card")
        .with("colour", "red")
        .with("amount", "five")
        .with("label", &"x".repeat(101));
    ask.bearer(&other);
    ladder.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    ladder.assert_next(&ask.send(&site).await);
    ask.set("amount", "1");
    ladder.assert_next(&ask.send(&site).await);
    ask.set("amount", "200.50");
    ladder.assert_next(&ask.send(&site).await);
    ask.set("amount", "200");
    ladder.assert_next(&ask.send(&site).await);
    ask.set("label", "trip");
    ladder.assert_next(&ask.send(&site).await);
    ask.header("payment-signature", &agent.payment(&site, &ask.target()).await);
    ladder.assert_next(&ask.send(&site).await);
    ask.header("authorization", "");
    ladder.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ladder.assert_next(&ask.send(&site).await);
    ask.set("amount", "100");
    ask.header("payment-signature", &agent.payment(&site, &ask.target()).await);
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: token, body, account, the key's past, order, owner, the token's payment, state.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let desk = OperatorClient::first(&host, &service);
    let (agent, stranger) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let mut orders = Vec::new();
    for buyer in [&agent, &stranger] {
        let bought = buyer.buy(&site, "/order-intl-card?amount=100").await;
        orders.push(bought.body["intl_card_order"]["card_id"].as_str().unwrap().to_owned());
    }
    let (own, others) = (&orders[0], &orders[1]);
    let token = agent.token(&site).await;
    let other = agent.buy(&site, "/order-intl-card?amount=100").await;
    let mut first = Request::new("POST", "/cancel-intl-order");
    first.bearer(&token);
    first.header("idempotency-key", "used");
    first.body(&json!({"card_id": other.body["intl_card_order"]["card_id"]}));
    assert_eq!(first.send_and_check(&site).await.status, 200);
    let lease = desk.claim(own).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut ladder = PrecedenceTable::of("POST /cancel-intl-order", "cancel-intl-order");
    let mut ask = Request::new("POST", "/cancel-intl-order");
    ask.text("[");
    ask.header("idempotency-key", &"x".repeat(256));
    ladder.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "used");
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({}));
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": "card_5"}));
    ladder.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "new");
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": others}));
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": own}));
    ask.bearer(other.body["auth"]["id_token"].as_str().unwrap());
    ladder.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "newer");
    desk.done("/admin/intl-orders/release", json!({"card_id": own, "lease": lease}))
        .await;
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_complete();
}
