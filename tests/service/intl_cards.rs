//! International cards after they were made, as reported by operators.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::cards::{DAY_S, listed, request_card_action, usa_card, wait_for_card, wait_for_card_status};
use super::host::Host;
use super::http::{ServiceClient, until};
use super::operator_client::{CVV, OperatorClient, PAN, billing};

/// An international card that an operator has made.
async fn intl_card(site: &ServiceClient<'_>, operator: &OperatorClient<'_>) -> (String, String) {
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(site, "/order-intl-card?amount=100").await;
    let card = bought.body["intl_card_order"]["card_id"].as_str().unwrap().to_owned();
    let lease = operator.claim(&card).await;
    assert_eq!(operator.fulfil(&card, lease).await.status, 200);
    (agent.token(site).await, card)
}

async fn report(operator: &OperatorClient<'_>, body: Value) -> Value {
    operator.done("/admin/intl-cards/report", body).await
}

/// Requested card actions, as operators see them.
async fn queued_actions(operator: &OperatorClient<'_>) -> Vec<(String, String)> {
    let shown = operator.get("/admin/intl-cards").await.body;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let cards = shown["cards"].as_array().unwrap().iter();
    cards
        .map(|card| (text(&card["card_id"]), text(&card["requested"])))
        .collect()
}

/// Closes a card with 39.5 left. The remainder is credited once, however often it is reported. A larger remainder than
/// the card can have is rejected.
async fn ends(site: &ServiceClient<'_>, operator: &OperatorClient<'_>, token: &str, card: &str) {
    let most = json!({"card_id": card, "status": "closed", "released_usd_amount": "100.01"});
    let refused = operator.post("/admin/intl-cards/report", most).await;
    assert_eq!(
        (refused.status, refused.str("param")),
        (400, Some("released_usd_amount")),
        "{}",
        refused.text
    );
    let closed = json!({"card_id": card, "status": "closed", "released_usd_amount": "39.5"});
    for _ in 0..2 {
        report(operator, closed.clone()).await;
    }
    let ended = wait_for_card_status(site, token, card, "closed").await;
    assert_eq!(
        (&ended["credited_usd_amount"], &ended["card_details"]),
        (&json!(39.5), &Value::Null)
    );
    until("the rest is credited", async || {
        let balance = site.get_as(token, "/get-account-balance").await.body["balance"].to_string();
        (balance == "39.5").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_reports_pause_charge_and_close_an_international_card() {
    // Checks: A requested action is queued until an operator reports it done. Charges are those that operators report,
    // and the card has a billing address. On closing, the remainder is credited once and the CVV is gone. An amount
    // above one operator's limit is rejected.
    let host = Host::new();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (token, card) = intl_card(&site, &operator).await;
    let seen = wait_for_card_status(&site, &token, &card, "ready").await;
    assert_eq!(seen["card_details"]["billing_address"], billing());
    assert_eq!(
        (&seen["card_details"]["card_number"], &seen["card_details"]["cvv"]),
        (&json!(PAN), &json!(CVV))
    );
    let accepted = request_card_action(&site, &token, "pause", &card).await;
    assert_eq!(
        (accepted.status, accepted.str("requested_action")),
        (202, Some("pause")),
        "{}",
        accepted.text
    );
    let waits = wait_for_card(&site, &token, &card, |seen| seen["pending_action"] == "pause").await;
    assert_eq!(waits["status"], "ready", "no operator has paused it yet");
    assert_eq!(queued_actions(&operator).await, [(card.clone(), "pause".to_owned())]);
    let charge = |id: &str, amount: &str, status: &str| {
        json!({"transaction_id": id, "merchant": "Caf\u{e9} <b>Lisboa</b>", "usd_amount": amount, "status": status,
            "at_ms": 1_790_000_000_000_u64})
    };
    let charges = json!([charge("m-2", "300", "declined"), charge("m-1", "60.5", "settled")]);
    let answer = report(
        &operator,
        json!({"card_id": card, "status": "paused", "available_usd_amount": "39.5", "transactions": charges}),
    )
    .await;
    assert_eq!(
        (&answer["status"], &answer["requested"]),
        (&json!("paused"), &Value::Null)
    );
    assert!(queued_actions(&operator).await.is_empty());
    let paused = wait_for_card_status(&site, &token, &card, "paused").await;
    assert_eq!(paused["card_details"]["available_balance"], json!(39.5), "{paused}");
    let expected = [(json!(300), json!("declined")), (json!(60.5), json!("settled"))];
    assert_eq!(listed(&site, &token, &format!("?card_id={card}")).await, expected);
    assert_eq!(listed(&site, &token, "?status=settled").await, expected[1..]);
    assert_eq!(request_card_action(&site, &token, "close", &card).await.status, 202);
    ends(&site, &operator, &token, &card).await;
    let refused = request_card_action(&site, &token, "resume", &card).await;
    assert_eq!((refused.status, refused.code()), (409, "card_not_open"));
    site.wait_for_events(
        &token,
        &[
            "intl_order.pause_requested",
            "intl_order.paused ready",
            "intl_order.close_requested",
            "intl_order.closed paused",
        ],
    )
    .await;
    let done = operator
        .audit()
        .await
        .into_iter()
        .filter(|(_, what, _)| what == "intl_order.report");
    assert_eq!(done.count(), 3);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn card_action_is_rejectable_and_large_remainder_needs_a_refund() {
    // Checks: An owner cancels an action or gets its rejection. A charge reported twice has the later outcome. A
    // resumed card is ready again. Above one operator's limit, the remainder is credited by a refund.
    let host = Host::new().with("PURSER_OPERATOR__ALONE_MAX_USD", "50");
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (token, card) = intl_card(&site, &operator).await;
    assert_eq!(request_card_action(&site, &token, "pause", &card).await.status, 202);
    let back = request_card_action(&site, &token, "resume", &card).await;
    assert_eq!(
        (back.status, &back.body["requested_action"]),
        (200, &Value::Null),
        "{}",
        back.text
    );
    assert!(queued_actions(&operator).await.is_empty());
    assert_eq!(request_card_action(&site, &token, "pause", &card).await.status, 202);
    report(
        &operator,
        json!({"card_id": card, "status": "ready", "ends_request": true}),
    )
    .await;
    wait_for_card(&site, &token, &card, |seen| seen["pending_action"].is_null()).await;
    site.wait_for_events(&token, &["intl_order.request_ended"]).await;
    for (status, event) in [
        ("pending", "charged"),
        ("settled", "charge_settled"),
        ("refunded", "charge_refunded"),
        ("declined", "charge_declined"),
    ] {
        let charge =
            json!([{"transaction_id": "m", "merchant": "Caf\u{e9}", "usd_amount": "1", "status": status, "at_ms": 1}]);
        report(
            &operator,
            json!({"card_id": card, "status": "ready", "transactions": charge}),
        )
        .await;
        site.wait_for_events(&token, &[&format!("intl_order.{event}")]).await;
    }
    report(&operator, json!({"card_id": card, "status": "paused"})).await;
    assert_eq!(request_card_action(&site, &token, "resume", &card).await.status, 202);
    report(&operator, json!({"card_id": card, "status": "ready"})).await;
    site.wait_for_events(&token, &["intl_order.resume_requested", "intl_order.resumed paused"])
        .await;
    let all = json!({"card_id": card, "status": "closed", "released_usd_amount": "50.01"});
    let refused = operator.post("/admin/intl-cards/report", all).await;
    assert_eq!(
        (refused.status, refused.code()),
        (409, "second_operator_needed"),
        "{}",
        refused.text
    );
    wait_for_card_status(&site, &token, &card, "ready").await;
    report(&operator, json!({"card_id": card, "status": "closed"})).await;
    report(
        &operator,
        json!({"card_id": card, "status": "closed", "released_usd_amount": "50"}),
    )
    .await;
    site.wait_for_events(&token, &["intl_order.closed ready", "intl_order.remainder_released"])
        .await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_card_can_be_closed() {
    // Checks: A paused USA card can be closed, and its remainder is credited. A paused international card expires with
    // its printed month, and its requested action leaves the operators' queue.
    let host = Host::new();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (_, token, card) = usa_card(&site, Network::Base, 5).await;
    assert_eq!(request_card_action(&site, &token, "pause", &card).await.status, 202);
    wait_for_card_status(&site, &token, &card, "paused").await;
    assert_eq!(request_card_action(&site, &token, "close", &card).await.status, 202);
    site.wait_for_events(&token, &["card.closed paused"]).await;
    wait_for_card(&site, &token, &card, |seen| seen["credited_usd_amount"] == json!(5)).await;
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/order-intl-card?amount=100").await;
    let intl = bought.body["intl_card_order"]["card_id"].as_str().unwrap();
    let lease = operator.claim(intl).await;
    assert_eq!(operator.fulfil(intl, lease).await.status, 200);
    report(&operator, json!({"card_id": intl, "status": "paused"})).await;
    let token = agent.token(&site).await;
    assert_eq!(request_card_action(&site, &token, "resume", intl).await.status, 202);
    // The expiry that `OperatorClient::fulfil` enters is 12/2031.
    site.advance(6 * 366 * DAY_S).await;
    let token = agent.token(&site).await;
    wait_for_card_status(&site, &token, intl, "expired").await;
    site.wait_for_events(&token, &["intl_order.expired paused"]).await;
    assert!(queued_actions(&operator).await.is_empty());
    service.stop();
    host.assert_verified();
}
