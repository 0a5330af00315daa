//! Who did it, in every event.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::agent_wallet_approvals::key_of;
use super::cards::{charged, request_card_action, usa_card, wait_for_card_status};
use super::host::Host;
use super::http::ServiceClient;
use super::listener::Stream;
use super::operator_client::OperatorClient;
use super::webhooks::register;

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

#[tokio::test(flavor = "multi_thread")]
async fn agents_do_not_see_which_other_agent_did_it() {
    // Checks: in pages and on the stream, the owner sees session, API key and its name of every request. An agent sees them
    // of its own requests; of another's, and of the owner's, only what kind of caller it was. A payment's token sees none
    // of them.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let own = agent.token(&site).await;
    let (courier_key, courier) = key_of(&site, &own, "Courier").await;
    let (_, buyer) = key_of(&site, &own, "Buyer").await;
    let payment = agent.buy(&site, "/get-card?amount=5").await;
    let payment = payment.body["auth"]["id_token"].as_str().unwrap().to_owned();
    register(&site, &courier, "https://hooks.unknown.example/courier", &[]).await;
    register(&site, &own, "https://hooks.unknown.example/own", &[]).await;
    let kind_only = |kind: &str| json!({"type": kind, "in_browser": false});
    for (reader, sees_courier, sees_own) in [
        (&own, true, true),
        (&courier, true, false),
        (&buyer, false, false),
        (&payment, false, false),
    ] {
        let page: Vec<Value> = site.events(reader, 0).await;
        let registered = page.iter().filter(|event| event["type"] == "webhook.registered");
        let actors: Vec<&Value> = registered.map(|event| &event["actor"]).collect();
        let [by_courier, by_owner] = actors[..] else {
            panic!("{actors:?}");
        };
        if sees_courier {
            assert_eq!(by_courier["api_key_id"], courier_key, "{by_courier}");
            assert_eq!(by_courier["api_key_name"], "Courier");
            assert!(by_courier["session_id"].is_string(), "{by_courier}");
        } else {
            assert_eq!(*by_courier, kind_only("api_key"));
        }
        match sees_own {
            true => assert!(by_owner["session_id"].is_string(), "{by_owner}"),
            false => assert_eq!(*by_owner, kind_only("wallet")),
        }
        // What a payment bought names it to all.
        assert!(actor_of(&page, "card.pending")["payment_id"].is_string());

        let mut stream = Stream::open(&site, reader).await;
        let subscribe = json!({"type": "subscribe", "after": 0, "types": ["webhook.registered"]});
        stream.send(&subscribe).await;
        let mut live = Vec::new();
        while live.len() < 2 {
            let frame = stream.frame().await;
            live.extend((frame["type"] == "event").then(|| frame["event"]["actor"].clone()));
        }
        assert_eq!(live.iter().collect::<Vec<_>>(), actors);
    }
    service.stop();
    host.assert_verified();
}
