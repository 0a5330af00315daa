//! Refreshing a card's data: rate limits and the issuer's reports.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::precedence_table::PrecedenceTable;
use super::request::Request;

async fn refresh(site: &ServiceClient<'_>, token: &str, key: Option<&str>, card: &str) -> Response {
    let request = site.request("POST", "/refresh-card-data").bearer_auth(token);
    let request = match key {
        Some(key) => request.header("idempotency-key", key),
        None => request,
    };
    send(request.body(json!({"card_id": card}).to_string())).await.unwrap()
}

async fn wait_for_card(site: &ServiceClient<'_>, token: &str, card: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let path = format!("/get-card-data?card_id={card}");
    until("the card", async || {
        let seen = site.get_as(token, &path).await.body;
        holds(&seen).then_some(seen)
    })
    .await
}

async fn charge(site: &ServiceClient<'_>, card: &str, amount: &str) -> String {
    let charge = json!({"card_id": card, "merchant": "<b>Fern & Hill</b>", "amount": amount});
    let answer = site.post("/sandbox/charge", &charge).await;
    answer.str("status").unwrap_or(answer.code()).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn refresh_shows_charges_and_its_rate_limit_survives_a_restart() {
    // Checks: Merchant charges appear automatically or by a refresh. A second refresh within five minutes is a 429 with
    // the wait, also after a restart. A key that was answered is replayed. No charge exceeds the available amount.
    let host = Host::new();
    let service = host.start();
    let (token, card) = {
        let site = ServiceClient::of(&service);
        let agent = Agent::new(Network::Base);
        let bought = agent.buy(&site, "/get-card?amount=20").await;
        let (token, card) = (agent.token(&site).await, bought.card().to_owned());
        let ready = wait_for_card(&site, &token, &card, |seen| seen["status"] == "ready").await;
        assert_eq!(
            (&ready["transactions"], &ready["refreshing"]),
            (&json!([]), &json!(false))
        );
        assert_eq!(charge(&site, &card, "20.01").await, "declined");
        assert_eq!(charge(&site, &card, "12.34").await, "settled");
        assert_eq!(charge(&site, &card, "7.67").await, "declined");

        let accepted = refresh(&site, &token, Some("news"), &card).await;
        assert_eq!(
            (accepted.status, &accepted.body["success"]),
            (200, &json!(true)),
            "{}",
            accepted.text
        );
        let three = |seen: &Value| seen["transactions"].as_array().unwrap().len() == 3 && seen["refreshing"] == false;
        let refreshed = wait_for_card(&site, &token, &card, three).await;
        let charge = &refreshed["transactions"][1];
        assert_eq!(
            (&charge["merchant"], &charge["usd_amount"]),
            (&json!("<b>Fern & Hill</b>"), &json!(12.34))
        );
        assert_eq!(refreshed["card_details"]["available_balance"], json!(7.66));
        site.wait_for_events(&token, &["card.refresh_requested", "card.refreshed"])
            .await;
        let again = refresh(&site, &token, Some("news"), &card).await;
        assert_eq!(
            (again.status, again.header("idempotency-replayed")),
            (200, Some("true"))
        );
        (token, card)
    };
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let soon = refresh(&site, &token, None, &card).await;
    assert_eq!((soon.status, soon.code()), (429, "rate_limited"), "{}", soon.text);
    let wait: u64 = soon.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=300).contains(&wait), "{wait}");
}

#[tokio::test(flavor = "multi_thread")]
async fn issuer_gets_one_refresh_per_card_at_a_time() {
    // Checks: While the issuer has not answered, a second refresh is rejected. The first is answered afterwards.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let card = agent.buy(&site, "/get-card?amount=5").await.card().to_owned();
    let token = agent.token(&site).await;
    wait_for_card(&site, &token, &card, |seen| seen["status"] == "ready").await;
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    assert_eq!(refresh(&site, &token, None, &card).await.status, 200);
    let again = refresh(&site, &token, None, &card).await;
    assert_eq!(
        (again.status, again.code()),
        (409, "refresh_in_progress"),
        "{}",
        again.text
    );
    site.issuer_fault(json!({"fault": "clear"})).await;
    site.wait_for_events(&token, &["card.refreshed"]).await;
    wait_for_card(&site, &token, &card, |seen| seen["refreshing"] == false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn card_that_is_not_ready_cannot_be_refreshed() {
    // Checks: A failed card and a gift card are rejected with a code, and the issuer is not called.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let refused = agent.buy(&site, "/get-card?amount=6.66").await.card().to_owned();
    let token = agent.token(&site).await;
    wait_for_card(&site, &token, &refused, |seen| seen["status"] == "failed").await;
    let answer = refresh(&site, &token, None, &refused).await;
    assert_eq!(
        (answer.status, answer.code()),
        (409, "card_not_ready"),
        "{}",
        answer.text
    );
    let gift = "/order-gift-card?product_id=gift_fernhill_grocers_gb&country=GB&amount=10";
    let gift = agent.buy(&site, gift).await.str("card_id").unwrap().to_owned();
    let answer = refresh(&site, &token, None, &gift).await;
    assert_eq!(
        (answer.status, answer.code()),
        (404, "card_not_found"),
        "{}",
        answer.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn refresh_errors_follow_precedence() {
    // Checks: One request, corrected step by step, gets the errors of the document in their order.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let failed = agent.buy(&site, "/get-card?amount=6.66").await.card().to_owned();
    let own = agent.buy(&site, "/get-card?amount=5").await.card().to_owned();
    wait_for_card(&site, &token, &failed, |seen| seen["status"] == "failed").await;
    wait_for_card(&site, &token, &own, |seen| seen["status"] == "ready").await;
    let stranger = Agent::new(Network::Base);
    let others = stranger.buy(&site, "/get-card?amount=5").await.card().to_owned();
    site.freeze(&agent.address(), Some("why")).await;
    let mut precedence = PrecedenceTable::of("POST /refresh-card-data", "refresh-card-data");
    let mut ask = Request::new("POST", "/refresh-card-data");
    ask.text("[");
    ask.header("idempotency-key", &"x".repeat(256));
    precedence.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "one");
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": "card_5"}));
    precedence.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": others}));
    precedence.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": failed}));
    precedence.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "two");
    ask.body(&json!({"card_id": own}));
    precedence.assert_next(&ask.send(&site).await);
    precedence.assert_complete();
}
