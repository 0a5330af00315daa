//! Cards after purchase: charges, pause, close and expiry, by any party.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::operator_client::OperatorClient;
use super::reloadable_cards::{event_types, loaded, opened, post_with_key};

pub(crate) const DAY_S: u64 = 86_400;

/// Waits until the owner sees the card in this state.
pub(crate) async fn wait_for_card(
    site: &ServiceClient<'_>,
    token: &str,
    card: &str,
    holds: impl Fn(&Value) -> bool,
) -> Value {
    let path = format!("/get-card-data?card_id={card}");
    until("the card", async || {
        let seen = site.get_as(token, &path).await.body;
        holds(&seen).then_some(seen)
    })
    .await
}

pub(crate) async fn wait_for_card_status(site: &ServiceClient<'_>, token: &str, card: &str, status: &str) -> Value {
    wait_for_card(site, token, card, |seen| seen["status"] == status).await
}

/// A USA card that is ready, with its owner's token.
pub(crate) async fn usa_card(site: &ServiceClient<'_>, network: Network, dollars: u32) -> (Agent, String, String) {
    let agent = Agent::new(network);
    let bought = agent.buy(site, &format!("/get-card?amount={dollars}")).await;
    let (token, card) = (agent.token(site).await, bought.card().to_owned());
    wait_for_card_status(site, &token, &card, "ready").await;
    (agent, token, card)
}

pub(crate) async fn charged(site: &ServiceClient<'_>, card: &str, amount: &str, pending: bool) -> Response {
    let body = json!({"card_id": card, "merchant": "Fern & Hill", "amount": amount, "pending": pending});
    let answer = site.post("/sandbox/charge", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer
}

pub(crate) async fn assert_charge_status(site: &ServiceClient<'_>, card: &str, charge: &Response, status: &str) {
    let transaction = charge.str("transaction_id");
    let body = json!({"card_id": card, "transaction_id": transaction, "status": status});
    let answer = site.post("/sandbox/charge-outcome", &body).await;
    assert_eq!(
        (answer.status, answer.str("status")),
        (200, Some(status)),
        "{}",
        answer.text
    );
}

/// Amount and status of each charge in a list, newest first.
pub(crate) async fn listed(site: &ServiceClient<'_>, token: &str, query: &str) -> Vec<(Value, Value)> {
    let answer = site.get_as(token, &format!("/list-card-transactions{query}")).await;
    let charges = answer.body["transactions"].as_array().unwrap().iter();
    charges
        .map(|one| (one["usd_amount"].clone(), one["status"].clone()))
        .collect()
}

/// Requests a card action.
pub(crate) async fn request_card_action(site: &ServiceClient<'_>, token: &str, verb: &str, card: &str) -> Response {
    post_with_key(site, token, &format!("/{verb}-card"), None, &json!({"card_id": card})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn usa_card_charges_appear_automatically_with_every_outcome() {
    // Checks: Without a refresh: a settled charge, a declined one, and a pending one that is reversed. Each has its
    // status in the card, in both filtered lists and in an event, and the available amount follows. An impossible
    // outcome is rejected.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (_, token, card) = usa_card(&site, Network::Base, 20).await;
    charged(&site, &card, "12.34", false).await;
    let refused = charged(&site, &card, "7.67", false).await;
    assert_eq!(
        (refused.str("status"), refused.str("decline_reason")),
        (Some("declined"), Some("insufficient_funds"))
    );
    let pending = charged(&site, &card, "5", true).await;
    assert_eq!(pending.str("status"), Some("pending"));
    let three = |seen: &Value| seen["transactions"].as_array().unwrap().len() == 3;
    let seen = wait_for_card(&site, &token, &card, three).await;
    assert_eq!(seen["available_usd_amount"], json!(2.66), "{seen}");
    assert_eq!(seen["transactions"][1]["decline_reason"], "insufficient_funds");
    assert_eq!(
        listed(&site, &token, "?status=pending").await,
        [(json!(5), json!("pending"))]
    );
    assert_charge_status(&site, &card, &pending, "refunded").await;
    let back = |seen: &Value| seen["available_usd_amount"] == json!(7.66);
    wait_for_card(&site, &token, &card, back).await;
    let all = [("5", "refunded"), ("7.67", "declined"), ("12.34", "settled")];
    let seen = listed(&site, &token, &format!("?card_id={card}")).await;
    let seen: Vec<_> = seen
        .iter()
        .map(|(amount, status)| (amount.to_string(), status))
        .collect();
    assert_eq!(seen.len(), all.len());
    for ((amount, status), (expected_amount, expected)) in seen.iter().zip(all) {
        assert_eq!((amount.as_str(), status.as_str()), (expected_amount, Some(expected)));
    }
    for (status, count) in [
        ("settled", 1),
        ("declined", 1),
        ("refunded", 1),
        ("pending", 0),
        ("credited", 0),
    ] {
        let found = listed(&site, &token, &format!("?status={status}")).await;
        assert_eq!(found.len(), count, "{status}");
    }
    site.wait_for_events(
        &token,
        &["card.charged", "card.charge_declined", "card.charge_refunded"],
    )
    .await;
    let again = json!({"card_id": card, "transaction_id": pending.str("transaction_id"), "status": "settled"});
    let refused = site.post("/sandbox/charge-outcome", &again).await;
    assert_eq!((refused.status, refused.str("param")), (400, Some("transaction_id")));
    let settles = charged(&site, &card, "1", true).await;
    wait_for_card(&site, &token, &card, |seen| {
        seen["transactions"][0]["status"] == "pending"
    })
    .await;
    assert_charge_status(&site, &card, &settles, "settled").await;
    site.wait_for_events(&token, &["card.charge_settled"]).await;
    service.stop();
    host.assert_verified();
}

/// Pauses, resumes and closes a card, with an approved charge in between.
async fn pause_resume_close(site: &ServiceClient<'_>, token: &str, card: &str) -> Response {
    let accepted = request_card_action(site, token, "pause", card).await;
    assert_eq!(
        (accepted.status, accepted.str("requested_action")),
        (202, Some("pause")),
        "{}",
        accepted.text
    );
    let paused = wait_for_card_status(site, token, card, "paused").await;
    assert!(paused["card_details"]["card_number"].is_string(), "{paused}");
    assert_eq!(
        (&paused["pending_action"], &paused["state"]),
        (&Value::Null, &json!("paused"))
    );
    let so = request_card_action(site, token, "pause", card).await;
    assert_eq!(
        (so.status, &so.body["requested_action"]),
        (200, &Value::Null),
        "{}",
        so.text
    );
    let refused = charged(site, card, "1", false).await;
    assert_eq!(refused.str("decline_reason"), Some("card_paused"));
    assert_eq!(request_card_action(site, token, "resume", card).await.status, 202);
    wait_for_card_status(site, token, card, "ready").await;
    let taken = charged(site, card, "7.5", false).await;
    assert_eq!(taken.str("status"), Some("settled"));
    assert_eq!(request_card_action(site, token, "close", card).await.status, 202);
    wait_for_card_status(site, token, card, "closed").await;
    let refused = request_card_action(site, token, "resume", card).await;
    assert_eq!(
        (refused.status, refused.code()),
        (409, "card_not_open"),
        "{}",
        refused.text
    );
    taken
}

#[tokio::test(flavor = "multi_thread")]
async fn usa_card_pauses_resumes_and_closes_with_remainder_credited() {
    // Checks: On both chains, a paused card keeps its number and declines charges; a resumed one approves them. Closing
    // credits the remainder once, also over a kill, and ends all card actions. A later merchant refund is credited too.
    let host = Host::new();
    let service = host.start();
    let mut holders = Vec::new();
    {
        let site = ServiceClient::of(&service);
        for network in Network::ALL {
            let (agent, token, card) = usa_card(&site, network, 20).await;
            let taken = pause_resume_close(&site, &token, &card).await;
            assert_charge_status(&site, &card, &taken, "refunded").await;
            holders.push((agent, card));
        }
    }
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (agent, card) in &holders {
        let token = agent.token(&site).await;
        until("the rest is credited", async || {
            let balance = site.get_as(&token, "/get-account-balance").await.body["balance"].to_string();
            (balance == "20").then_some(())
        })
        .await;
        let closed = wait_for_card(&site, &token, card, |seen| seen["credited_usd_amount"] == json!(20)).await;
        assert_eq!(closed["card_details"], Value::Null, "{closed}");
        site.wait_for_events(
            &token,
            &["card.paused ready", "card.resumed paused", "card.closed ready"],
        )
        .await;
        let kinds = event_types(&site.events(&token, 0).await, "card");
        for once in [
            "pause_requested",
            "resume_requested",
            "close_requested",
            "closed",
            "remainder_released",
        ] {
            assert_eq!(
                kinds.iter().filter(|kind| *kind == once).count(),
                1,
                "{once}: {kinds:?}"
            );
        }
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn card_expires_after_its_printed_month() {
    // Checks: The sandbox prints the sixth month after issue. The card is ready on that month's last day and expired
    // afterwards, also if paused. Months have 28 to 31 days, so the expiry is at least 6 months after issue.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token, card) = usa_card(&site, Network::Base, 5).await;
    let other = agent.buy(&site, "/get-card?amount=5").await.card().to_owned();
    let seen = wait_for_card_status(&site, &token, &other, "ready").await;
    assert_eq!(request_card_action(&site, &token, "pause", &other).await.status, 202);
    wait_for_card_status(&site, &token, &other, "paused").await;
    let issued = seen["created_at"].as_str().unwrap();
    let number = |text: &str| text.parse::<u64>().unwrap();
    let (year, month, day) = (number(&issued[..4]), number(&issued[5..7]), number(&issued[8..10]));
    let details = &seen["card_details"];
    let printed = (
        details["exp_year"].as_u64().unwrap(),
        details["exp_month"].as_u64().unwrap(),
    );
    let months = printed.0 * 12 + printed.1 - (year * 12 + month);
    assert_eq!(months, 6, "{issued}, printed {printed:?}");
    // The sixth month has started for certain and cannot be over.
    site.advance((181 + 3 - day.min(3)) * DAY_S).await;
    let token = agent.token(&site).await;
    wait_for_card_status(&site, &token, &card, "ready").await;
    wait_for_card_status(&site, &token, &other, "paused").await;
    site.advance(35 * DAY_S).await;
    let token = agent.token(&site).await;
    let ended = wait_for_card_status(&site, &token, &card, "expired").await;
    assert_eq!(ended["card_details"], Value::Null, "{ended}");
    wait_for_card_status(&site, &token, &other, "expired").await;
    site.wait_for_events(&token, &["card.expired ready", "card.expired paused"])
        .await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn declined_cards_are_unlisted_and_gift_cards_take_no_actions() {
    // Checks: A card that the issuer declined and an order that an operator rejected are only in card lists that ask for
    // failed ones, and pages stay full. Each can be read by id. A gift card can be neither paused nor closed.
    let host = Host::new();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (agent, token, first) = usa_card(&site, Network::Base, 5).await;
    let refused = agent.buy(&site, "/get-card?amount=6.66").await.card().to_owned();
    wait_for_card_status(&site, &token, &refused, "failed").await;
    let last = agent.buy(&site, "/get-card?amount=5").await.card().to_owned();
    wait_for_card_status(&site, &token, &last, "ready").await;
    let page = site.get_as(&token, "/get-card-data?limit=2").await;
    let ids: Vec<_> = page.body["cards"]
        .as_array()
        .unwrap()
        .iter()
        .map(|card| card["card_id"].clone())
        .collect();
    assert_eq!(
        (ids, &page.body["has_more"]),
        (vec![json!(first), json!(last)], &json!(false)),
        "{}",
        page.text
    );
    let mut whole = Vec::new();
    for place in [String::new(), format!("&starting_after={first}")] {
        let path = format!("/get-card-data?include_failed=true&limit=1{place}");
        whole.extend(
            site.get_as(&token, &path).await.body["cards"]
                .as_array()
                .unwrap()
                .clone(),
        );
    }
    let failed = &whole[1];
    assert_eq!(
        (&whole[0]["card_id"], &failed["card_id"]),
        (&json!(first), &json!(refused))
    );
    assert_eq!(
        (&failed["status"], &failed["credited_usd_amount"]),
        (&json!("failed"), &json!(6.66)),
        "{failed}"
    );
    let order = agent.buy(&site, "/order-intl-card?amount=100").await;
    let order = order.body["intl_card_order"]["card_id"].as_str().unwrap();
    operator
        .done(
            "/admin/intl-orders/reject",
            json!({"card_id": order, "reason": "no issuer"}),
        )
        .await;
    wait_for_card_status(&site, &token, order, "rejected").await;
    let list = site
        .get_as(&token, "/get-card-data?card_type=Non-Reloadable%20International")
        .await;
    assert_eq!(list.body["cards"], json!([]), "{}", list.text);
    let all = "/get-card-data?card_type=Non-Reloadable%20International&include_failed=true";
    let all = site.get_as(&token, all).await;
    assert_eq!(all.body["cards"][0]["card_id"], json!(order), "{}", all.text);
    let gift = "/order-gift-card?product_id=gift_fernhill_grocers_gb&country=GB&amount=10";
    let gift = agent.buy(&site, gift).await.str("card_id").unwrap().to_owned();
    let answer = request_card_action(&site, &token, "pause", &gift).await;
    assert_eq!(
        (answer.status, answer.code()),
        (404, "card_not_found"),
        "{}",
        answer.text
    );
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn declined_charges_of_a_reloadable_card_are_listed() {
    // Checks: Charges declined while the card is open and after closing, and a refund after closing, are each in the
    // list and an event.
    let host = Host::new().with("PURSER_SANDBOX__ISSUER_CREDIT_DELAY_MS", "20");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (_, token) = loaded(&site, Network::Base, 20).await;
    let card = opened(&site, &token, json!({"usd_amount": 10})).await;
    let taken = charged(&site, &card, "4", false).await;
    charged(&site, &card, "7", false).await;
    assert_eq!(request_card_action(&site, &token, "close", &card).await.status, 202);
    wait_for_card_status(&site, &token, &card, "closed").await;
    charged(&site, &card, "1", false).await;
    assert_charge_status(&site, &card, &taken, "refunded").await;
    let statuses = ["declined", "declined", "refunded"].map(Value::from);
    until("all of it is known", async || {
        let seen = listed(&site, &token, &format!("?card_id={card}")).await;
        let seen: Vec<_> = seen.into_iter().map(|(_, status)| status).collect();
        (seen == statuses).then_some(())
    })
    .await;
    site.wait_for_events(
        &token,
        &["reloadable_card.charge_declined", "reloadable_card.charge_refunded"],
    )
    .await;
    let pending = opened(&site, &token, json!({"usd_amount": 5})).await;
    let charge = charged(&site, &pending, "2", true).await;
    wait_for_card(&site, &token, &pending, |seen| {
        seen["transactions"][0]["status"] == "pending"
    })
    .await;
    assert_charge_status(&site, &pending, &charge, "settled").await;
    site.wait_for_events(&token, &["reloadable_card.charge_settled"]).await;
    service.stop();
    host.assert_verified();
}
