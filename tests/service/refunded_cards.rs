//! Refunds of cards and the balance left on them: together never more than was charged.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::cards::{request_card_action, usa_card, wait_for_card, wait_for_card_status};
use super::dead_letters::wait_for_dead_letter;
use super::host::Host;
use super::http::{Response, ServiceClient};
use super::operator_client::OperatorClient;
use super::recipient::balance_is;
use super::reconciliation::{fast_host, rejected_order};

/// A refund of a card that its owner can still use, with the operator's consent.
fn refund(payment: &Value, amount: u32) -> Value {
    let reason = "The shop never sent it.";
    json!({"payment_id": payment, "amount": amount, "reason": reason, "holder_keeps_product": true})
}

fn status_and_code(answer: &Response) -> (u16, &str) {
    (answer.status, answer.code())
}

async fn payment_of(site: &ServiceClient<'_>, token: &str, card: &str) -> Value {
    let read = site.get_as(token, &format!("/get-card-data?card_id={card}")).await;
    read.body["payment_id"].clone()
}

async fn closes(site: &ServiceClient<'_>, token: &str, card: &str) {
    let requested = request_card_action(site, token, "close", card).await;
    assert_eq!(requested.status, 202, "{}", requested.text);
    wait_for_card_status(site, token, card, "closed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_card_credits_balance_minus_refund() {
    // Checks: with 41 charged and 41 left, nothing is credited after a refund of 41, and 31 after one of 10. The card
    // and its event say so, there is no dead letter, across a kill too, and no refund costs us money.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    for (back, left) in [(41, 0), (10, 31)] {
        let (_, token, card) = usa_card(&site, Network::Base, 41).await;
        let payment = payment_of(&site, &token, &card).await;
        operator.done("/admin/refunds", refund(&payment, back)).await;
        balance_is(&site, &token, &back.to_string()).await;
        closes(&site, &token, &card).await;
        let closed = wait_for_card(&site, &token, &card, |seen| seen["status"] == "closed").await;
        assert_eq!(closed["credited_usd_amount"], json!(left), "{closed}");
        assert_eq!(closed["available_usd_amount"], json!(0), "{closed}");
        balance_is(&site, &token, "41").await;
        let events = site.events(&token, 0).await;
        let closed_event = events.iter().find(|event| event["type"] == "card.closed").unwrap();
        assert!(
            closed_event
                .to_string()
                .contains(&format!("\"credited_usd_amount\":{left}")),
            "{closed_event}"
        );
        assert_eq!(operator.get("/admin/dead-letters").await.body["jobs"], json!([]));
    }
    service.kill();
    let report = host.assert_verified();
    let costs = report["balances"]["operating_costs"].as_i64().unwrap_or(0);
    let suspense = report["balances"]["suspense"].as_i64().unwrap_or(0);
    assert_eq!((costs, suspense), (0, 0), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn credited_balance_of_closed_card_cannot_be_refunded() {
    // Checks: after a card is closed and credited in full, a refund of a cent is rejected. An earlier refund that waits
    // for a second operator cannot be approved any more.
    let host = Host::new().with("PURSER_OPERATOR__ALONE_MAX_USD", "50");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let (_, token, card) = usa_card(&site, Network::Base, 100).await;
    let payment = payment_of(&site, &token, &card).await;
    let ana = operator.add_operator("ana", "operator").await;
    let requested = ana.done("/admin/refunds", refund(&payment, 80)).await;
    assert_eq!(requested["status"], "requested");
    closes(&site, &token, &card).await;
    balance_is(&site, &token, "100").await;
    let approve = json!({"refund_id": requested["refund_id"], "amount": 80});
    let late = operator.post("/admin/refunds/approve", approve).await;
    assert_eq!(
        status_and_code(&late),
        (409, "refund_amount_too_large"),
        "{}",
        late.text
    );
    let (_, other, card) = usa_card(&site, Network::Base, 5).await;
    let payment = payment_of(&site, &other, &card).await;
    closes(&site, &other, &card).await;
    balance_is(&site, &other, "5").await;
    let late = operator.post("/admin/refunds", refund(&payment, 1)).await;
    assert_eq!(
        status_and_code(&late),
        (409, "refund_amount_too_large"),
        "{}",
        late.text
    );
    balance_is(&site, &token, "100").await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_intl_card_credits_charge_minus_refund() {
    // Checks: with 50 of 103.8 refunded and 100 reported as released, 53.8 are credited. A closed card has no balance
    // under any report, and cannot be reported ready again.
    let host = Host::new();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/order-intl-card?amount=100").await;
    let card = bought.body["intl_card_order"]["card_id"].as_str().unwrap();
    let lease = operator.claim(card).await;
    assert_eq!(operator.fulfil(card, lease).await.status, 200);
    let token = agent.token(&site).await;
    operator
        .done("/admin/refunds", refund(&bought.body["payment_id"], 50))
        .await;
    balance_is(&site, &token, "50").await;
    let closed = json!({"card_id": card, "status": "closed", "available_usd_amount": 20, "released_usd_amount": 100});
    let reported = operator.done("/admin/intl-cards/report", closed).await;
    let expected = (&json!(53.8), &json!(0));
    assert_eq!(
        (&reported["credited_usd_amount"], &reported["available_usd_amount"]),
        expected,
        "{reported}"
    );
    balance_is(&site, &token, "103.8").await;
    for status in ["ready", "paused"] {
        let again = json!({"card_id": card, "status": status, "available_usd_amount": 20});
        let again = operator.post("/admin/intl-cards/report", again).await;
        assert_eq!(status_and_code(&again), (409, "order_not_open"), "{}", again.text);
    }
    let seen = wait_for_card_status(&site, &token, card, "closed").await;
    assert_eq!(
        (&seen["credited_usd_amount"], &seen["available_usd_amount"]),
        expected,
        "{seen}"
    );
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_card_reports_its_full_credit() {
    // Checks: the failed card, read by its id, shows the credit, and so does the event.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=6.66").await;
    let token = agent.token(&site).await;
    let failed = wait_for_card_status(&site, &token, bought.card(), "failed").await;
    assert_eq!(failed["credited_usd_amount"], json!(6.66), "{failed}");
    balance_is(&site, &token, "6.66").await;
    let events = site.events(&token, 0).await;
    let event = events.iter().find(|event| event["type"] == "card.failed").unwrap();
    assert!(event.to_string().contains("\"credited_usd_amount\":6.66"), "{event}");
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_8_credit_of_reversed_payment_is_kept_by_operator_decision() {
    // Checks: the order of a reversed payment is rejected and its credit withheld. An operator closes it without
    // crediting, with evidence, once and in the audit log. The balance stays empty, the service retains the money, and
    // the ledger balances.
    let host = fast_host(Host::new())
        .with("PURSER_PAYMENT__QUOTE_TTL_SECONDS", "15")
        .with("PURSER_OPERATOR__ALONE_MAX_USD", "120");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    let (address, operator) = (agent.address(), OperatorClient::first(&host, &service));
    rejected_order(&site, &operator, &agent).await;
    let waits = wait_for_dead_letter(&operator, "credit_account").await;
    assert_eq!(waits["actions"], json!(["retry", "credit", "keep"]));
    let (id, evidence) = (&waits["job_id"], "Reversed by a reorg, ticket 9.");
    let keep = json!({"job_id": id, "evidence": evidence});
    let closed_credit = operator.done("/admin/jobs/keep", keep.clone()).await;
    assert_eq!((&closed_credit["job_id"], &closed_credit["kept"]), (id, &json!(true)));
    let again = operator.post("/admin/jobs/keep", keep).await;
    assert_eq!(status_and_code(&again), (404, "job_not_found"));
    assert_eq!(operator.get("/admin/dead-letters").await.body["jobs"], json!([]));
    let audit = operator.get("/admin/audit").await;
    assert_eq!(audit.text.matches("job.keep").count(), 1, "{}", audit.text);
    assert!(audit.text.contains(evidence), "{}", audit.text);
    site.freeze(&address, None).await;
    balance_is(&site, &token, "0").await;
    service.stop();
    let report = host.assert_verified();
    assert_eq!(report["balances"]["losses"], 103_800_000, "{report:#}");
    assert_eq!(report["balances"]["operating_costs"], -103_800_000, "{report:#}");
}
