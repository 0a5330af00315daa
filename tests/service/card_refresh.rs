//! News of a card: asked for within budgets, told by the issuer.

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
async fn a_refresh_tells_what_was_spent_and_its_budget_survives_a_restart() {
    // Aim: what a merchant charged is known, by itself or by the refresh; the next refresh within five minutes is 429 with
    // the wait, also after a restart; a key that was answered is answered again; no more can be spent than is left.
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

        let asked = refresh(&site, &token, Some("news"), &card).await;
        assert_eq!(
            (asked.status, &asked.body["success"]),
            (200, &json!(true)),
            "{}",
            asked.text
        );
        let three = |seen: &Value| seen["transactions"].as_array().unwrap().len() == 3 && seen["refreshing"] == false;
        let told = wait_for_card(&site, &token, &card, three).await;
        let spent = &told["transactions"][1];
        assert_eq!(
            (&spent["merchant"], &spent["usd_amount"]),
            (&json!("<b>Fern & Hill</b>"), &json!(12.34))
        );
        assert_eq!(told["card_details"]["available_balance"], json!(7.66));
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
async fn an_issuer_is_asked_for_a_cards_news_once_at_a_time() {
    // Aim: while the issuer has not answered, another question is refused; once it has, the first is answered.
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
async fn a_card_that_is_not_ready_has_no_news() {
    // Aim: a card that failed, and a gift card, are refused with a code, and nothing is asked.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let refused = agent.buy(&site, "/get-card?amount=6.66").await.card().to_owned();
    let token = agent.token(&site).await;
    wait_for_card(&site, &token, &refused, |seen| seen["status"] == "failed").await;
    let told = refresh(&site, &token, None, &refused).await;
    assert_eq!((told.status, told.code()), (409, "card_not_ready"), "{}", told.text);
    let gift = "/order-gift-card?product_id=gift_fernhill_grocers_gb&country=GB&amount=10";
    let gift = agent.buy(&site, gift).await.str("card_id").unwrap().to_owned();
    let told = refresh(&site, &token, None, &gift).await;
    assert_eq!((told.status, told.code()), (404, "card_not_found"), "{}", told.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_is_refused_for_the_first_rule_that_it_breaks() {
    // Aim: rows of the document in their order, by one request that is mended step by step.
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
    let mut ladder = PrecedenceTable::of("POST /refresh-card-data", "refresh-card-data");
    let mut ask = Request::new("POST", "/refresh-card-data");
    ask.text("[");
    ask.header("idempotency-key", &"x".repeat(256));
    ladder.assert_next(&ask.send(&site).await);
    ask.bearer(&token);
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "one");
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({}));
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": "card_5"}));
    ladder.assert_next(&ask.send(&site).await);
    site.freeze(&agent.address(), None).await;
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": others}));
    ladder.assert_next(&ask.send(&site).await);
    ask.body(&json!({"card_id": failed}));
    ladder.assert_next(&ask.send(&site).await);
    ask.header("idempotency-key", "two");
    ask.body(&json!({"card_id": own}));
    ladder.assert_next(&ask.send(&site).await);
    ladder.assert_complete();
}
