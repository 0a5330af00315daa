//! What goes on with international cards after they were made: by their operators' word.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::cards::{DAY_S, listed, request_card_action, usa_card, wait_for_card, wait_for_card_status};
use super::host::Host;
use super::http::{ServiceClient, until};
use super::operator_client::{CVV, OperatorClient, PAN, billing};

/// An international card that an operator has made.
async fn intl_card(site: &ServiceClient<'_>, desk: &OperatorClient<'_>) -> (String, String) {
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(site, "/order-intl-card?amount=100").await;
    let card = bought.body["intl_card_order"]["card_id"].as_str().unwrap().to_owned();
    let lease = desk.claim(&card).await;
    assert_eq!(desk.fulfil(&card, lease).await.status, 200);
    (agent.token(site).await, card)
}

async fn report(desk: &OperatorClient<'_>, body: Value) -> Value {
    desk.done("/admin/intl-cards/report", body).await
}

/// What holders want, as operators see it.
async fn queued_actions(desk: &OperatorClient<'_>) -> Vec<(String, String)> {
    let shown = desk.get("/admin/intl-cards").await.body;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let cards = shown["cards"].as_array().unwrap().iter();
    cards
        .map(|card| (text(&card["card_id"]), text(&card["requested"])))
        .collect()
}

/// Ends a card of which 39.5 is left: it is credited once, however often it is said, and never more than was on the card.
async fn ends(site: &ServiceClient<'_>, desk: &OperatorClient<'_>, token: &str, card: &str) {
    let most = json!({"card_id": card, "status": "closed", "released_usd_amount": "100.01"});
    let refused = desk.post("/admin/intl-cards/report", most).await;
    assert_eq!(
        (refused.status, refused.str("param")),
        (400, Some("released_usd_amount")),
        "{}",
        refused.text
    );
    let closed = json!({"card_id": card, "status": "closed", "released_usd_amount": "39.5"});
    for _ in 0..2 {
        report(desk, closed.clone()).await;
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
async fn an_international_card_is_paused_charged_and_closed_by_its_operators_word() {
    // Aim: what its holder wants waits in the operators' list and is not done before they say so; its charges are those that they
    // report; it has a billing address; closed, what its maker gave back is credited once, and what one operator may not give
    // alone is refused; its CVV is gone.
    let host = Host::new();
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (token, card) = intl_card(&site, &desk).await;
    let seen = wait_for_card_status(&site, &token, &card, "ready").await;
    assert_eq!(seen["card_details"]["billing_address"], billing());
    assert_eq!(
        (&seen["card_details"]["card_number"], &seen["card_details"]["cvv"]),
        (&json!(PAN), &json!(CVV))
    );
    let asked = request_card_action(&site, &token, "pause", &card).await;
    assert_eq!(
        (asked.status, asked.str("requested_action")),
        (202, Some("pause")),
        "{}",
        asked.text
    );
    let waits = wait_for_card(&site, &token, &card, |seen| seen["pending_action"] == "pause").await;
    assert_eq!(waits["status"], "ready", "nobody has done it yet");
    assert_eq!(queued_actions(&desk).await, [(card.clone(), "pause".to_owned())]);
    let charge = |id: &str, amount: &str, status: &str| {
        json!({"transaction_id": id, "merchant": "Caf\u{e9} <b>Lisboa</b>", "usd_amount": amount, "status": status,
            "at_ms": 1_790_000_000_000_u64})
    };
    let charges = json!([charge("m-2", "300", "declined"), charge("m-1", "60.5", "settled")]);
    let told = report(
        &desk,
        json!({"card_id": card, "status": "paused", "available_usd_amount": "39.5", "transactions": charges}),
    )
    .await;
    assert_eq!((&told["status"], &told["requested"]), (&json!("paused"), &Value::Null));
    assert!(queued_actions(&desk).await.is_empty());
    let paused = wait_for_card_status(&site, &token, &card, "paused").await;
    assert_eq!(paused["card_details"]["available_balance"], json!(39.5), "{paused}");
    let expected = [(json!(300), json!("declined")), (json!(60.5), json!("settled"))];
    assert_eq!(listed(&site, &token, &format!("?card_id={card}")).await, expected);
    assert_eq!(listed(&site, &token, "?status=settled").await, expected[1..]);
    assert_eq!(request_card_action(&site, &token, "close", &card).await.status, 202);
    ends(&site, &desk, &token, &card).await;
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
    let done = desk
        .audit()
        .await
        .into_iter()
        .filter(|(_, what, _)| what == "intl_order.report");
    assert_eq!(done.count(), 3);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wish_that_operators_cannot_fulfil_is_ended_and_a_large_remainder_takes_a_second_operator() {
    // Aim: a holder takes a wish back, or hears that nothing comes of it; charges that are reported one after the other are told
    // by what came of them; a card that is resumed is ready again; above the limit of one person the rest is given by a refund.
    let host = Host::new().with("PURSER_OPERATOR__ALONE_MAX_USD", "50");
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (token, card) = intl_card(&site, &desk).await;
    assert_eq!(request_card_action(&site, &token, "pause", &card).await.status, 202);
    let back = request_card_action(&site, &token, "resume", &card).await;
    assert_eq!(
        (back.status, &back.body["requested_action"]),
        (200, &Value::Null),
        "{}",
        back.text
    );
    assert!(queued_actions(&desk).await.is_empty());
    assert_eq!(request_card_action(&site, &token, "pause", &card).await.status, 202);
    report(&desk, json!({"card_id": card, "status": "ready", "ends_request": true})).await;
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
            &desk,
            json!({"card_id": card, "status": "ready", "transactions": charge}),
        )
        .await;
        site.wait_for_events(&token, &[&format!("intl_order.{event}")]).await;
    }
    report(&desk, json!({"card_id": card, "status": "paused"})).await;
    assert_eq!(request_card_action(&site, &token, "resume", &card).await.status, 202);
    report(&desk, json!({"card_id": card, "status": "ready"})).await;
    site.wait_for_events(&token, &["intl_order.resume_requested", "intl_order.resumed paused"])
        .await;
    let all = json!({"card_id": card, "status": "closed", "released_usd_amount": "50.01"});
    let refused = desk.post("/admin/intl-cards/report", all).await;
    assert_eq!(
        (refused.status, refused.code()),
        (409, "second_operator_needed"),
        "{}",
        refused.text
    );
    wait_for_card_status(&site, &token, &card, "ready").await;
    report(&desk, json!({"card_id": card, "status": "closed"})).await;
    report(
        &desk,
        json!({"card_id": card, "status": "closed", "released_usd_amount": "50"}),
    )
    .await;
    site.wait_for_events(&token, &["intl_order.closed ready", "intl_order.remainder_released"])
        .await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_is_paused_is_closed_and_told_so() {
    // Aim: a USA card that is paused is closed and gives back all that was on it; an international card that is paused ends with
    // the month printed on it, and what its holder wanted is no operator's any more.
    let host = Host::new();
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (_, token, card) = usa_card(&site, Network::Base, 5).await;
    assert_eq!(request_card_action(&site, &token, "pause", &card).await.status, 202);
    wait_for_card_status(&site, &token, &card, "paused").await;
    assert_eq!(request_card_action(&site, &token, "close", &card).await.status, 202);
    site.wait_for_events(&token, &["card.closed paused"]).await;
    wait_for_card(&site, &token, &card, |seen| seen["credited_usd_amount"] == json!(5)).await;
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/order-intl-card?amount=100").await;
    let intl = bought.body["intl_card_order"]["card_id"].as_str().unwrap();
    let lease = desk.claim(intl).await;
    assert_eq!(desk.fulfil(intl, lease).await.status, 200);
    report(&desk, json!({"card_id": intl, "status": "paused"})).await;
    let token = agent.token(&site).await;
    assert_eq!(request_card_action(&site, &token, "resume", intl).await.status, 202);
    // What the desk enters ends with 2031.
    site.advance(6 * 366 * DAY_S).await;
    let token = agent.token(&site).await;
    wait_for_card_status(&site, &token, intl, "expired").await;
    site.wait_for_events(&token, &["intl_order.expired paused"]).await;
    assert!(queued_actions(&desk).await.is_empty());
    service.stop();
    host.assert_verified();
}
