//! Who did it, in every event.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::cards::{charged, request_card_action, usa_card, wait_for_card_status};
use super::host::Host;
use super::http::ServiceClient;
use super::operator_client::OperatorClient;

fn actor_of<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    let found = events.iter().rev().find(|event| event["type"] == kind);
    &found.unwrap_or_else(|| panic!("no {kind}"))["actor"]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_says_who_did_it() {
    // Checks: what a payment bought names the payment; the issuer, a shop, the owner's token and an
    // operator are distinguished; an operator is not named. Live and stored events say the same, also after a restart.
    let host = Host::new();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (agent, token, card) = usa_card(&site, Network::Base, 20).await;
    charged(&site, &card, "5", false).await;
    site.wait_for_events(&token, &["card.charged"]).await;
    let paused = request_card_action(&site, &token, "pause", &card).await;
    assert!((200..300).contains(&paused.status), "{}", paused.text);
    wait_for_card_status(&site, &token, &card, "paused").await;
    operator
        .done("/admin/freeze", json!({"wallet": agent.address(), "message": "Why?"}))
        .await;
    operator
        .done("/admin/unfreeze", json!({"wallet": agent.address()}))
        .await;

    let events = site.events(&token, 0).await;
    let bought = actor_of(&events, "card.pending");
    let payment = events.iter().find(|event| event["type"] == "payment.settled").unwrap();
    let id = &payment["data"]["object"]["payment_id"];
    assert_eq!(
        *bought,
        json!({"type": "payment", "in_browser": false, "payment_id": id})
    );
    assert_eq!(*actor_of(&events, "payment.settled"), *bought);
    for (kind, actor) in [
        ("account.created", "service"),
        ("payment.fulfilled", "service"),
        ("card.ready", "provider"),
        ("card.charged", "merchant"),
        ("card.paused", "provider"),
        ("account.frozen", "operator"),
        ("account.unfrozen", "operator"),
    ] {
        assert_eq!(
            *actor_of(&events, kind),
            json!({"type": actor, "in_browser": false}),
            "{kind}"
        );
    }
    let asked = actor_of(&events, "card.pause_requested");
    assert_eq!(
        (&asked["type"], &asked["in_browser"]),
        (&json!("wallet"), &json!(false))
    );
    assert!(asked["session_id"].is_string(), "{asked}");
    assert!(events.iter().all(|event| event["actor"]["type"].is_string()));

    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    assert_eq!(site.events(&token, 0).await[..events.len()], events);
    service.stop();
    host.assert_verified();
}
