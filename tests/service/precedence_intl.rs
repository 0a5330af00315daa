//! Error precedence of international cards.

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
async fn intl_order_errors_follow_precedence() {
    // Checks: parameters, then the errors of this account; the last, valid request orders the card.
    let service = Host::new().with("PURSER_CAPS__CARD_USD_PER_DAY", "150").start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let other = Agent::new(Network::Solana).token(&site).await;
    agent.token(&site).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("GET /order-intl-card", "order-intl-card");
    let mut ask = Request::new("GET", "/order-intl-card")
        .with("colour", "red")
        .with("amount", "five")
        .with("label", &"x".repeat(101));
    ask.bearer(&other);
    precedence.assert_next(&ask.send(&site).await);
    ask.drop("colour");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("amount", "1");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("amount", "200.50");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("amount", "200");
    precedence.assert_next(&ask.send(&site).await);
    ask.set("label", "trip");
    precedence.assert_next(&ask.send(&site).await);
    ask.header("payment-signature", &agent.payment(&site, &ask.target()).await);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("authorization", "");
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.set("amount", "100");
    ask.header("payment-signature", &agent.payment(&site, &ask.target()).await);
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}

#[tokio::test(flavor = "multi_thread")]
async fn intl_order_cancellation_errors_follow_precedence() {
    // Checks: token, body, account, key reuse, order, owner, payment of the token, state.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
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
    let lease = operator.claim(own).await;
    site.freeze(&agent.address(), Some(WHY)).await;
    let mut precedence = PrecedenceTable::of("POST /cancel-intl-order", "cancel-intl-order");
    let mut ask = Request::new("POST", "/cancel-intl-order");
    ask.text("[");
    ask.header("idempotency-key", &"x".repeat(256));
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "used");
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": "card_5"}));
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "new");
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": others}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": own}));
    ask.bearer(other.body["auth"]["id_token"].as_str().unwrap());
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "newer");
    operator
        .done("/admin/intl-orders/release", json!({"card_id": own, "lease": lease}))
        .await;
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}
