//! A refund does not leave its holder with the money and with what it bought, unless an operator says so.

use purser_actors::id::Network;
use purser_actors::kernel::{EntityKind, table};
use purser_actors::refund::Refund;
use purser_storage::codec;
use serde_json::{Value, json};

use super::admin::admin;
use super::agent::Agent;
use super::cards::{
    assert_charge_status, charged, listed, request_card_action, usa_card, wait_for_card, wait_for_card_status,
};
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::operator_client::OperatorClient;
use super::recipient::balance_is;
use super::top_up::{id_of, linked, wait_for_top_up as topped_up};
use super::verify::{assert_problem, tampered};

/// Without a word about what was bought.
fn refund(payment: &Value, amount: &str) -> Value {
    json!({"payment_id": payment, "amount": amount, "reason": "The shop never sent it."})
}

/// The holder keeps it.
fn with_keeps_product(payment: &Value, amount: &str) -> Value {
    let mut asked = refund(payment, amount);
    asked["holder_keeps_product"] = json!(true);
    asked
}

/// That it was refused for what the holder can still use: how much can be refunded as it is, and the hint.
fn assert_product_not_returned(answer: &Response, refundable: &str) -> String {
    assert_eq!(
        (answer.status, answer.code()),
        (409, "product_not_returned"),
        "{}",
        answer.text
    );
    let told = answer.str("error").unwrap();
    assert!(
        told.contains(&format!("at most {refundable} can be refunded")),
        "{told}"
    );
    answer.str("hint").unwrap().to_owned()
}

async fn payment_of(site: &ServiceClient<'_>, token: &str, card: &str) -> Value {
    let read = site.get_as(token, &format!("/get-card-data?card_id={card}")).await;
    read.body["payment_id"].clone()
}

async fn closes(site: &ServiceClient<'_>, token: &str, card: &str) {
    assert_eq!(request_card_action(site, token, "close", card).await.status, 202);
    wait_for_card_status(site, token, card, "closed").await;
}

/// Whoever reads the audit log finds the word, or its absence.
async fn audited(desk: &OperatorClient<'_>, words: usize) {
    let text = desk.get("/admin/audit").await.text;
    assert_eq!(text.matches(" holder_keeps_product").count(), words, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_gives_of_a_card_only_what_its_holder_can_no_longer_use() {
    // Aim: a card of 40 that nothing was bought with gives nothing back, nor does what a pending charge has set aside; 15 spent give
    // 15 back and no cent more. What the merchant gives back to the card afterwards goes to the house when the card ends.
    let host = Host::new();
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (_, token, card) = usa_card(&site, Network::Base, 40).await;
    let payment = payment_of(&site, &token, &card).await;
    for amount in ["40", "0.01"] {
        let told = desk.post("/admin/refunds", refund(&payment, amount)).await;
        let hint = assert_product_not_returned(&told, "0");
        assert!(hint.contains("/close-card") && hint.contains(&card), "{hint}");
        assert!(hint.contains("holder_keeps_product"), "{hint}");
    }
    let charge = charged(&site, &card, "15", true).await;
    wait_for_card(&site, &token, &card, |seen| seen["available_usd_amount"] == 25).await;
    assert_product_not_returned(&desk.post("/admin/refunds", refund(&payment, "15")).await, "0");
    assert_charge_status(&site, &card, &charge, "settled").await;
    until("it is settled", async || {
        (listed(&site, &token, "").await == [(json!(15), json!("settled"))]).then_some(())
    })
    .await;
    assert_product_not_returned(&desk.post("/admin/refunds", refund(&payment, "15.01")).await, "15");
    balance_is(&site, &token, "0").await;
    let made = desk.done("/admin/refunds", refund(&payment, "15")).await;
    assert_eq!(made["decided_by"], made["requested_by"], "{made}");
    assert_eq!(made["holder_keeps_product"], false, "{made}");
    balance_is(&site, &token, "15").await;
    assert_charge_status(&site, &card, &charge, "refunded").await;
    wait_for_card(&site, &token, &card, |seen| seen["available_usd_amount"] == 40).await;
    // Whoever asks again because the answer was lost is told the same.
    let again = desk.done("/admin/refunds", refund(&payment, "15")).await;
    assert_eq!(again["refund_id"], made["refund_id"], "{again}");
    closes(&site, &token, &card).await;
    balance_is(&site, &token, "40").await;
    audited(&desk, 0).await;
    service.stop();
    let report = host.assert_verified();
    assert_eq!(
        report["balances"]["operating_costs"].as_i64().unwrap_or(0),
        0,
        "{report:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_taken_back_is_refunded_only_with_the_word() {
    // Aim: a gift card's code, a top-up and a card that a person made: refused, with what can be done; with the word one operator
    // gives a small amount, the word is in the record and in the audit log, and it is the house's loss. Our fee needs no word.
    let host = Host::new().with("PURSER_OPERATOR__ALONE_MAX_USD", "50");
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (agent, token, _) = linked(&site, Network::Base).await;
    let bought = agent.buy(&site, "/fund-card-balance?amount=30").await;
    topped_up(&site, &token, &id_of(&bought), "credited").await;
    let top_up = bought.body["payment_id"].clone();
    let hint = assert_product_not_returned(&desk.post("/admin/refunds", refund(&top_up, "30")).await, "0");
    assert!(hint.contains("cannot be taken back"), "{hint}");
    let run = |arguments: &[&str]| admin(&host, &service, arguments, "");
    let line = [
        "refunds",
        "request",
        top_up.as_str().unwrap(),
        "--amount",
        "30",
        "--reason",
        "Kind",
    ];
    assert!(run(&line).unwrap_err().contains("product_not_returned"));
    let made = run(&[&line[..], &["--holder-keeps-product"]].concat()).unwrap();
    assert_eq!(made["holder_keeps_product"], true, "{made}");
    balance_is(&site, &token, "30").await;

    let intl = Agent::new(Network::Base);
    let ordered = intl.buy(&site, "/order-intl-card?amount=100").await;
    let card = ordered.body["intl_card_order"]["card_id"].as_str().unwrap();
    let lease = desk.claim(card).await;
    assert_eq!(desk.fulfil(card, lease).await.status, 200);
    let payment = &ordered.body["payment_id"];
    let hint = assert_product_not_returned(&desk.post("/admin/refunds", refund(payment, "3.81")).await, "3.8");
    assert!(hint.contains("purser admin intl-orders report"), "{hint}");
    desk.done("/admin/refunds", refund(payment, "3.8")).await;
    balance_is(&site, &intl.token(&site).await, "3.8").await;
    audited(&desk, 1).await;
    service.stop();
    let report = host.assert_verified();
    assert_eq!(report["balances"]["operating_costs"], 33_800_000, "{report:#}");
    let refunds = [table::ENTITY, EntityKind::Refund as u8];
    let (copy, changed) = tampered(&host, "unsaid", &refunds, |_, row| {
        let mut refund: Refund = codec::decode(&row.value).unwrap();
        refund.request.holder_keeps_product = false;
        Some(codec::encode(&refund))
    })
    .await;
    assert_eq!(changed, 2);
    assert_problem(&host, &copy, "refund.product", made["refund_id"].as_str().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_word_is_held_to_the_limits_and_what_a_card_has_is_looked_at_again_at_the_approval() {
    // Aim: above the limit the word needs a second operator like all else, who sees it. Asked for without it while all is spent, and
    // approved after the merchant has given it back to the card: refused, and nothing is given until the card is closed.
    let host = Host::new().with("PURSER_OPERATOR__ALONE_MAX_USD", "50");
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let ana = desk.add_operator("ana", "operator").await;
    let (_, token, card) = usa_card(&site, Network::Base, 80).await;
    let payment = payment_of(&site, &token, &card).await;
    let charge = charged(&site, &card, "80", false).await;
    wait_for_card(&site, &token, &card, |seen| seen["available_usd_amount"] == 0).await;
    let asked = ana.done("/admin/refunds", refund(&payment, "80")).await;
    assert_eq!(
        (&asked["status"], &asked["decided_by"]),
        (&json!("requested"), &Value::Null)
    );
    assert_charge_status(&site, &card, &charge, "refunded").await;
    wait_for_card(&site, &token, &card, |seen| seen["available_usd_amount"] == 80).await;
    let approve = json!({"refund_id": asked["refund_id"], "amount": 80});
    assert_product_not_returned(&desk.post("/admin/refunds/approve", approve).await, "0");
    balance_is(&site, &token, "0").await;

    let (_, other, card) = usa_card(&site, Network::Base, 60).await;
    let payment = payment_of(&site, &other, &card).await;
    let asked = ana.done("/admin/refunds", with_keeps_product(&payment, "60")).await;
    assert_eq!(asked["status"], "requested", "{asked}");
    let waiting = desk.get("/admin/refunds").await.body;
    let waiting = waiting["refunds"].as_array().unwrap().iter();
    let said: Vec<_> = waiting.map(|one| one["holder_keeps_product"].clone()).collect();
    assert_eq!(said, [json!(false), json!(true)]);
    let approve = json!({"refund_id": asked["refund_id"], "amount": 60});
    let approved = desk.done("/admin/refunds/approve", approve).await;
    assert_eq!(approved["holder_keeps_product"], true, "{approved}");
    assert_ne!(approved["decided_by"], json!("ana"), "{approved}");
    balance_is(&site, &other, "60").await;
    audited(&desk, 2).await;
    service.stop();
    host.assert_verified();
}
