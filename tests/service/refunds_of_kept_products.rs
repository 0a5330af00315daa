//! A refund leaves its payer with money and product only if an operator consents.

use purser_actors::entity::refund::Refund;
use purser_actors::id::Network;
use purser_actors::kernel::{EntityKind, table};
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

/// A refund request that does not mention the product.
fn refund(payment: &Value, amount: &str) -> Value {
    json!({"payment_id": payment, "amount": amount, "reason": "The shop never sent it."})
}

/// A refund request that lets the account owner keep the product.
fn with_keeps_product(payment: &Value, amount: &str) -> Value {
    let mut requested = refund(payment, amount);
    requested["holder_keeps_product"] = json!(true);
    requested
}

/// Asserts that the refund was rejected with this refundable amount, because the product is usable. Returns the hint.
fn assert_product_not_returned(answer: &Response, refundable: &str) -> String {
    assert_eq!(
        (answer.status, answer.code()),
        (409, "product_not_returned"),
        "{}",
        answer.text
    );
    let error = answer.str("error").unwrap();
    assert!(
        error.contains(&format!("at most {refundable} can be refunded")),
        "{error}"
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

/// Asserts how many audit records mention the consent.
async fn audited(operator: &OperatorClient<'_>, words: usize) {
    let text = operator.get("/admin/audit").await.text;
    assert_eq!(text.matches(" holder_keeps_product").count(), words, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn card_refund_is_limited_to_what_was_spent() {
    // Checks: an unused card of 40 is not refundable, and neither is the amount of a pending charge. After 15 are
    // spent, exactly 15 are refundable. What the merchant refunds to the card afterwards stays with the service when
    // the card closes.
    let host = Host::new();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (_, token, card) = usa_card(&site, Network::Base, 40).await;
    let payment = payment_of(&site, &token, &card).await;
    for amount in ["40", "0.01"] {
        let response = operator.post("/admin/refunds", refund(&payment, amount)).await;
        let hint = assert_product_not_returned(&response, "0");
        assert!(hint.contains("/close-card") && hint.contains(&card), "{hint}");
        assert!(hint.contains("holder_keeps_product"), "{hint}");
    }
    let charge = charged(&site, &card, "15", true).await;
    wait_for_card(&site, &token, &card, |seen| seen["available_usd_amount"] == 25).await;
    assert_product_not_returned(&operator.post("/admin/refunds", refund(&payment, "15")).await, "0");
    assert_charge_status(&site, &card, &charge, "settled").await;
    until("it is settled", async || {
        (listed(&site, &token, "").await == [(json!(15), json!("settled"))]).then_some(())
    })
    .await;
    assert_product_not_returned(&operator.post("/admin/refunds", refund(&payment, "15.01")).await, "15");
    balance_is(&site, &token, "0").await;
    let made = operator.done("/admin/refunds", refund(&payment, "15")).await;
    assert_eq!(made["decided_by"], made["requested_by"], "{made}");
    assert_eq!(made["holder_keeps_product"], false, "{made}");
    balance_is(&site, &token, "15").await;
    assert_charge_status(&site, &card, &charge, "refunded").await;
    wait_for_card(&site, &token, &card, |seen| seen["available_usd_amount"] == 40).await;
    // A repeated request, after a lost response, gets the same response.
    let again = operator.done("/admin/refunds", refund(&payment, "15")).await;
    assert_eq!(again["refund_id"], made["refund_id"], "{again}");
    closes(&site, &token, &card).await;
    balance_is(&site, &token, "40").await;
    audited(&operator, 0).await;
    service.stop();
    let report = host.assert_verified();
    assert_eq!(
        report["balances"]["operating_costs"].as_i64().unwrap_or(0),
        0,
        "{report:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn product_that_cannot_be_returned_needs_explicit_refund() {
    // Checks: refunds of a gift card code, a top-up and a fulfilled card are rejected with a hint. With explicit
    // consent one operator refunds a small amount. The consent is in the record and in the audit log, and the refund is
    // our loss. Our fee needs no consent.
    let host = Host::new().with("PURSER_OPERATOR__ALONE_MAX_USD", "50");
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (agent, token, _) = linked(&site, Network::Base).await;
    let bought = agent.buy(&site, "/fund-card-balance?amount=30").await;
    topped_up(&site, &token, &id_of(&bought), "credited").await;
    let top_up = bought.body["payment_id"].clone();
    let hint = assert_product_not_returned(&operator.post("/admin/refunds", refund(&top_up, "30")).await, "0");
    assert!(hint.contains("cannot be returned"), "{hint}");
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
    let lease = operator.claim(card).await;
    assert_eq!(operator.fulfil(card, lease).await.status, 200);
    let payment = &ordered.body["payment_id"];
    let hint = assert_product_not_returned(&operator.post("/admin/refunds", refund(payment, "3.81")).await, "3.8");
    assert!(hint.contains("purser admin intl-orders report"), "{hint}");
    operator.done("/admin/refunds", refund(payment, "3.8")).await;
    balance_is(&site, &intl.token(&site).await, "3.8").await;
    audited(&operator, 1).await;
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
async fn product_kept_refund_needs_approval_and_rechecks_the_card() {
    // Checks: above the limit a refund with consent needs a second operator, who sees the consent. A refund without it,
    // requested while all is spent and approved after the merchant refunded the card, is rejected until the card is
    // closed.
    let host = Host::new().with("PURSER_OPERATOR__ALONE_MAX_USD", "50");
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let ana = operator.add_operator("ana", "operator").await;
    let (_, token, card) = usa_card(&site, Network::Base, 80).await;
    let payment = payment_of(&site, &token, &card).await;
    let charge = charged(&site, &card, "80", false).await;
    wait_for_card(&site, &token, &card, |seen| seen["available_usd_amount"] == 0).await;
    let requested = ana.done("/admin/refunds", refund(&payment, "80")).await;
    assert_eq!(
        (&requested["status"], &requested["decided_by"]),
        (&json!("requested"), &Value::Null)
    );
    assert_charge_status(&site, &card, &charge, "refunded").await;
    wait_for_card(&site, &token, &card, |seen| seen["available_usd_amount"] == 80).await;
    let approve = json!({"refund_id": requested["refund_id"], "amount": 80});
    assert_product_not_returned(&operator.post("/admin/refunds/approve", approve).await, "0");
    balance_is(&site, &token, "0").await;

    let (_, other, card) = usa_card(&site, Network::Base, 60).await;
    let payment = payment_of(&site, &other, &card).await;
    let requested = ana.done("/admin/refunds", with_keeps_product(&payment, "60")).await;
    assert_eq!(requested["status"], "requested", "{requested}");
    let waiting = operator.get("/admin/refunds").await.body;
    let waiting = waiting["refunds"].as_array().unwrap().iter();
    let consents: Vec<_> = waiting.map(|one| one["holder_keeps_product"].clone()).collect();
    assert_eq!(consents, [json!(false), json!(true)]);
    let approve = json!({"refund_id": requested["refund_id"], "amount": 60});
    let approved = operator.done("/admin/refunds/approve", approve).await;
    assert_eq!(approved["holder_keeps_product"], true, "{approved}");
    assert_ne!(approved["decided_by"], json!("ana"), "{approved}");
    balance_is(&site, &other, "60").await;
    audited(&operator, 2).await;
    service.stop();
    host.assert_verified();
}
