//! Reloadable cards, loaded from the balance at the card issuer.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::http::{Response, ServiceClient, send, until};
use super::top_up::{id_of, linked, start, wait_for_top_up};

/// A wallet with this many dollars at the card issuer.
pub(crate) async fn loaded(site: &ServiceClient<'_>, network: Network, dollars: u32) -> (Agent, String) {
    let (agent, token, _) = linked(site, network).await;
    let bought = agent.buy(site, &format!("/fund-card-balance?amount={dollars}")).await;
    wait_for_top_up(site, &token, &id_of(&bought), "credited").await;
    (agent, token)
}

/// A card request, under an idempotency key if there is one.
pub(crate) async fn post_with_key(
    site: &ServiceClient<'_>,
    token: &str,
    route: &str,
    key: Option<&str>,
    body: &Value,
) -> Response {
    let request = site.request("POST", route).bearer_auth(token).body(body.to_string());
    let request = match key {
        Some(key) => request.header("idempotency-key", key),
        None => request,
    };
    send(request).await.unwrap()
}

pub(crate) async fn opened(site: &ServiceClient<'_>, token: &str, body: Value) -> String {
    let answer = post_with_key(site, token, "/create-reloadable-card", None, &body).await;
    assert!(matches!(answer.status, 200 | 202), "{}", answer.text);
    let card = answer.body["card"]["card_id"].as_str().unwrap().to_owned();
    wait_for_reloadable_card(site, token, &card, "open").await;
    card
}

/// Waits until a card has this status. Returns it without its number.
pub(crate) async fn wait_for_reloadable_card(site: &ServiceClient<'_>, token: &str, card: &str, status: &str) -> Value {
    until(&format!("a card that is {status}"), async || {
        let list = site
            .get_as(token, "/get-card-data?card_type=Reloadable&limit=100")
            .await;
        let cards = list.body["cards"].as_array().unwrap();
        let found = cards.iter().find(|c| c["card_id"] == card && c["status"] == status);
        found.cloned()
    })
    .await
}

pub(crate) async fn balance(site: &ServiceClient<'_>, token: &str) -> Value {
    let answer = site.get_as(token, "/get-card-deposit-address").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body["balance"].clone()
}

pub(crate) async fn charge(site: &ServiceClient<'_>, card: &str, amount: &str) -> Response {
    let body = json!({"card_id": card, "merchant": "Corner <b>Books</b>", "amount": amount});
    site.post("/sandbox/charge", &body).await
}

async fn request_card_action(site: &ServiceClient<'_>, token: &str, verb: &str, card: &str) {
    let answer = post_with_key(site, token, &format!("/{verb}-card"), None, &json!({"card_id": card})).await;
    assert_eq!(
        (answer.status, answer.str("requested_action")),
        (202, Some(verb)),
        "{}",
        answer.text
    );
}

pub(crate) fn event_types(events: &[Value], resource: &str) -> Vec<String> {
    let types = events.iter().filter_map(|e| e["type"].as_str());
    let own = types.filter_map(|t| t.strip_prefix(resource)?.strip_prefix('.'));
    own.map(str::to_owned).collect()
}

/// Asserts the charges and changes of a card: each once, and never the number.
async fn assert_card_events(site: &ServiceClient<'_>, token: &str, card: &str, number: &str) {
    let settled = format!("/list-card-transactions?card_id={card}&status=settled");
    let list = site.get_as(token, &settled).await;
    let amounts: Vec<_> = list.body["transactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["usd_amount"].clone())
        .collect();
    assert_eq!(amounts, [json!(1.25), json!(5.25)], "{}", list.text);
    let happened: Vec<_> = list.body["card_events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["event"].clone())
        .collect();
    assert_eq!(happened, ["closed", "resumed", "paused", "open"].map(Value::from));
    site.wait_for_events(token, &["reloadable_card.details_viewed"]).await;
    let events = site.events(token, 0).await;
    let kinds = event_types(&events, "reloadable_card");
    for once in [
        "creating",
        "open",
        "pause_requested",
        "paused",
        "resume_requested",
        "resumed",
        "close_requested",
        "closed",
    ] {
        assert_eq!(kinds.iter().filter(|k| *k == once).count(), 1, "{once}: {kinds:?}");
    }
    assert!(!events.iter().any(|event| event.to_string().contains(number)));
}

#[tokio::test(flavor = "multi_thread")]
async fn reloadable_card_spends_its_load_and_returns_the_rest() {
    // Checks: opening is free and loads from the balance. The number is shown while the card is open or paused. Charges
    // need balance and an open card. Closing credits the rest, every change is one event, and no event has a secret.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let (_, token) = loaded(&site, Network::Base, 50).await;
    let transfers = site.transfers().await.len();
    let card = opened(&site, &token, json!({"usd_amount": 20.5})).await;
    assert_eq!(balance(&site, &token).await, json!(29.5));
    let read = format!("/get-card-data?card_id={card}");
    let shown = site.get_as(&token, &read).await;
    assert_eq!(
        shown.body["card_details"]["available_balance"],
        json!(20.5),
        "{}",
        shown.text
    );
    let number = shown.body["card_details"]["card_number"].as_str().unwrap().to_owned();
    assert_eq!(charge(&site, &card, "5.25").await.status, 200);
    let dear = charge(&site, &card, "15.26").await;
    assert_eq!(dear.str("decline_reason"), Some("insufficient_funds"), "{}", dear.text);
    request_card_action(&site, &token, "pause", &card).await;
    wait_for_reloadable_card(&site, &token, &card, "paused").await;
    let again = post_with_key(&site, &token, "/pause-card", None, &json!({"card_id": card})).await;
    assert_eq!(
        (again.status, &again.body["requested_action"]),
        (200, &Value::Null),
        "{}",
        again.text
    );
    assert_eq!(
        charge(&site, &card, "1").await.str("decline_reason"),
        Some("card_paused")
    );
    assert_eq!(
        site.get_as(&token, &read).await.body["card_details"]["card_number"],
        json!(number)
    );
    request_card_action(&site, &token, "resume", &card).await;
    wait_for_reloadable_card(&site, &token, &card, "open").await;
    assert_eq!(charge(&site, &card, "1.25").await.status, 200);
    request_card_action(&site, &token, "close", &card).await;
    wait_for_reloadable_card(&site, &token, &card, "closed").await;
    assert_eq!(
        charge(&site, &card, "1").await.str("decline_reason"),
        Some("card_closed")
    );
    for verb in ["pause", "resume", "close"] {
        let refused = post_with_key(&site, &token, &format!("/{verb}-card"), None, &json!({"card_id": card})).await;
        assert_eq!((refused.status, refused.code()), (409, "card_not_open"), "{verb}");
    }
    assert_eq!(balance(&site, &token).await, json!(43.5));
    let closed = site.get_as(&token, &read).await;
    assert_eq!(
        (&closed.body["card_details"], &closed.body["state"]),
        (&Value::Null, &json!("closed"))
    );
    assert_card_events(&site, &token, &card, &number).await;
    assert_eq!(site.transfers().await.len(), transfers, "nothing moved on a chain");
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn single_use_card_closes_after_its_first_charge() {
    // Checks: with `reusable: false` the first charge succeeds, the card closes and the rest is credited. The poller
    // finds the charge without a request, also across a restart.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let (_, token) = loaded(&site, Network::Base, 20).await;
    let card = opened(&site, &token, json!({"usd_amount": "8", "reusable": false})).await;
    assert_eq!(charge(&site, &card, "3").await.status, 200);
    wait_for_reloadable_card(&site, &token, &card, "closed").await;
    assert_eq!(charge(&site, &card, "1").await.str("status"), Some("declined"));
    let nothing = charge(&site, &card, "0").await;
    assert_eq!(
        (nothing.status, nothing.str("param")),
        (400, Some("amount")),
        "{}",
        nothing.text
    );
    assert_eq!(balance(&site, &token).await, json!(17));
    service.stop();
    host.assert_verified();
    let service = host.start();
    let site = ServiceClient::of(&service);
    assert_eq!(balance(&site, &token).await, json!(17));
    site.wait_for_events(
        &token,
        &["reloadable_card.closed open", "reloadable_card.charge_declined"],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_cards_open_only_within_the_balance() {
    // Checks: an insufficient balance is 409 and takes nothing. Of ten concurrent requests as many open a card as the
    // balance covers. A key opens one card and replays its response.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let stranger = Agent::new(Network::Base).token(&site).await;
    let body = json!({"usd_amount": 10});
    let refused = post_with_key(&site, &stranger, "/create-reloadable-card", None, &body).await;
    assert_eq!(
        (refused.status, refused.code()),
        (412, "issuer_not_linked"),
        "{}",
        refused.text
    );
    let (_, token) = loaded(&site, Network::Base, 35).await;
    let dear = post_with_key(
        &site,
        &token,
        "/create-reloadable-card",
        None,
        &json!({"usd_amount": 35.01}),
    )
    .await;
    assert_eq!(
        (dear.status, dear.code()),
        (409, "insufficient_card_balance"),
        "{}",
        dear.text
    );
    let calls = (0..10).map(|_| post_with_key(&site, &token, "/create-reloadable-card", None, &body));
    let answers = futures_util::future::join_all(calls).await;
    let of = |status| answers.iter().filter(|a| a.status == status).count();
    assert_eq!(
        (of(200), of(409)),
        (3, 7),
        "{:?}",
        answers.iter().map(|a| &a.text).collect::<Vec<_>>()
    );
    assert_eq!(balance(&site, &token).await, json!(5));
    let small = json!({"usd_amount": 2});
    let first = post_with_key(&site, &token, "/create-reloadable-card", Some("k"), &small).await;
    let again = post_with_key(&site, &token, "/create-reloadable-card", Some("k"), &small).await;
    assert_eq!((first.status, &first.text), (200, &again.text));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(balance(&site, &token).await, json!(3));
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn reloadable_card_reports_issuer_decline_and_delay() {
    // Checks: a decline is 409 under its key permanently and takes nothing. A slow issuer is 202, an event reports the
    // outcome, and a repeated request gets the first response.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let (_, token) = loaded(&site, Network::Base, 3 + 2).await;
    let small = json!({"usd_amount": 2});
    site.post("/sandbox/card-program", &json!({"fault": "decline"})).await;
    let declined = post_with_key(&site, &token, "/create-reloadable-card", Some("d"), &small).await;
    assert_eq!(
        (declined.status, declined.code()),
        (409, "card_creation_declined"),
        "{}",
        declined.text
    );
    let again = post_with_key(&site, &token, "/create-reloadable-card", Some("d"), &small).await;
    assert_eq!((again.status, again.code()), (409, "card_creation_declined"));
    site.post("/sandbox/card-program", &json!({"fault": "slow", "delay_ms": 5_000}))
        .await;
    let late = post_with_key(&site, &token, "/create-reloadable-card", Some("l"), &small).await;
    assert_eq!(
        (late.status, &late.body["card"]["status"]),
        (202, &json!("creating")),
        "{}",
        late.text
    );
    let card = late.body["card"]["card_id"].as_str().unwrap();
    wait_for_reloadable_card(&site, &token, card, "open").await;
    let later = post_with_key(&site, &token, "/create-reloadable-card", Some("l"), &small).await;
    assert_eq!((later.status, &later.text), (202, &late.text));
    assert_eq!(balance(&site, &token).await, json!(3));
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_top_up_is_hinted_instead_of_another_payment() {
    // Checks: an amount above the balance gets an error with the pending top-up and a retry time, and leaves no card
    // and no withdrawal. A covered amount opens a card. After the top-up arrives, the same request under the same key
    // succeeds. Without a pending top-up the hint is to load.
    let (host, service) = start();
    let site = ServiceClient::of(&service);
    let (agent, token) = loaded(&site, Network::Solana, 5).await;
    let stalled = json!({"operation": "attestation", "fault": "stall", "times": 0});
    assert_eq!(site.post("/sandbox/bridge", &stalled).await.status, 200);
    let top_up = id_of(&agent.buy(&site, "/fund-card-balance?amount=20").await);
    let card = json!({"usd_amount": 10});
    let withdrawal = json!({"amount": 10, "destination_address": agent.address()});
    for (route, body) in [
        ("/create-reloadable-card", &card),
        ("/withdraw-card-balance", &withdrawal),
    ] {
        let early = post_with_key(&site, &token, route, Some(route), body).await;
        assert_eq!(
            (early.status, early.code(), &early.body["terminal"]),
            (409, "insufficient_card_balance", &json!(false)),
            "{}",
            early.text
        );
        let hint = early.str("hint").unwrap();
        assert!(
            hint.contains("20 USD is on its way") && !hint.contains("fund-card-balance"),
            "{hint}"
        );
        let again = early.body["retry_after_seconds"].as_u64().unwrap();
        assert_eq!(early.header("retry-after"), Some(again.to_string().as_str()));
    }
    let cards = "/get-card-data?card_type=Reloadable";
    assert_eq!(site.get_as(&token, cards).await.body["cards"], json!([]));
    let withdrawals = site.get_as(&token, "/get-withdrawal-status").await;
    assert_eq!(withdrawals.body["withdrawals"], json!([]), "{}", withdrawals.text);
    let covered = post_with_key(
        &site,
        &token,
        "/create-reloadable-card",
        None,
        &json!({"usd_amount": 4}),
    )
    .await;
    assert_eq!(covered.status, 200, "{}", covered.text);
    assert_eq!(
        site.post("/sandbox/bridge", &json!({"fault": "clear"})).await.status,
        200
    );
    wait_for_top_up(&site, &token, &top_up, "credited").await;
    let route = "/create-reloadable-card";
    let made = post_with_key(&site, &token, route, Some(route), &card).await;
    assert_eq!(
        (made.status, made.header("idempotency-replayed")),
        (200, None),
        "{}",
        made.text
    );
    let short = post_with_key(&site, &token, route, None, &json!({"usd_amount": 500})).await;
    assert_eq!((short.status, short.code()), (409, "insufficient_card_balance"));
    assert!(
        short.str("hint").unwrap().contains("/fund-card-balance"),
        "{}",
        short.text
    );
    assert!(short.body.get("retry_after_seconds").is_none(), "{}", short.text);
    service.stop();
    host.assert_verified();
}
