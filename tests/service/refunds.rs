//! Refunds: once per payment, never more than was charged, with two operators above a limit.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::admin::admin;
use super::agent::Agent;
use super::host::{Host, Service};
use super::http::{Response, ServiceClient, until};
use super::operator_client::OperatorClient;
use super::recipient::balance_is;

/// Above 50 dollars a refund needs two operators.
fn host_with_limits() -> Host {
    Host::new().with("PURSER_OPERATOR__ALONE_MAX_USD", "50")
}

fn status_and_code(answer: &Response) -> (u16, &str) {
    (answer.status, answer.code())
}

/// A ready card, and the payment that bought it.
async fn card(site: &ServiceClient<'_>, agent: &Agent, amount: &str) -> String {
    let bought = agent.buy(site, &format!("/get-card?amount={amount}")).await;
    let token = agent.token(site).await;
    until("the card", async || {
        let read = site
            .get_as(&token, &format!("/get-card-data?card_id={}", bought.card()))
            .await;
        (read.str("status") == Some("ready")).then_some(())
    })
    .await;
    bought.str("payment_id").unwrap().to_owned()
}

fn refund_request(payment: &str, amount: f64) -> Value {
    let reason = "The shop never sent it.";
    json!({"payment_id": payment, "amount": amount, "reason": reason, "holder_keeps_product": true})
}

async fn open(operator: &OperatorClient<'_>) -> usize {
    let listed = operator.get("/admin/refunds").await;
    listed.body["refunds"].as_array().unwrap().len()
}

/// Status of the refund of a payment.
async fn refund_of(operator: &OperatorClient<'_>, payment: &str) -> Value {
    operator.get(&format!("/admin/refunds?payment_id={payment}")).await.body
}

#[tokio::test(flavor = "multi_thread")]
async fn small_refund_is_credited_immediately_and_once() {
    // Checks: up to the limit one operator suffices. A repeated request is idempotent; another amount, and more than
    // was charged, are rejected. The account owner gets the events without the operator's notes.
    let host = host_with_limits();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    let payment = card(&site, &agent, "5").await;
    let token = agent.token(&site).await;
    let more = operator.post("/admin/refunds", refund_request(&payment, 5.01)).await;
    assert_eq!(status_and_code(&more), (409, "refund_amount_too_large"));
    assert!(more.str("error").unwrap().contains("At most 5"), "{}", more.text);
    for _ in 0..3 {
        let made = operator.done("/admin/refunds", refund_request(&payment, 4.99)).await;
        assert_eq!(
            (made["payment_id"].as_str(), made["wallet"].as_str()),
            (Some(&*payment), Some(&*agent.address().to_ascii_lowercase()))
        );
        assert_ne!(made["status"], "requested");
        assert_eq!(made["decided_by"], made["requested_by"], "{made}");
        assert_eq!(made["holder_keeps_product"], true, "{made}");
    }
    balance_is(&site, &token, "4.99").await;
    let other = operator.post("/admin/refunds", refund_request(&payment, 0.01)).await;
    assert_eq!(status_and_code(&other), (409, "refund_not_pending"));
    until("it is credited", async || {
        (refund_of(&operator, &payment).await["status"] == "credited").then_some(())
    })
    .await;
    balance_is(&site, &token, "4.99").await;
    let read = site.get_as(&token, &format!("/get-payment?payment_id={payment}")).await;
    assert_eq!(read.body["refunded_usd_amount"], json!(4.99), "{}", read.text);
    let listed = site.get_as(&token, "/list-payments").await;
    assert_eq!(listed.body["payments"][0]["refunded_usd_amount"], json!(4.99));
    let cards = site.get_as(&token, "/get-card-data").await;
    assert_eq!(cards.body["cards"][0]["refunded_usd_amount"], json!(4.99));
    assert_eq!(open(&operator).await, 0);
    let events = site.events(&token, 0).await;
    let changes: Vec<_> = events
        .iter()
        .filter_map(|event| event["type"].as_str()?.strip_prefix("refund."))
        .collect();
    assert_eq!(changes, ["approved", "credited"]);
    assert!(!json!(events).to_string().contains("shop never"));
    service.stop();
    assert_eq!(host.assert_verified()["entities"]["refunds"], 1);
}

/// A refund of 80.00 that `ana` has requested.
async fn refund_requested_by_ana<'a>(
    service: &'a Service,
    first: &OperatorClient<'a>,
    agent: &Agent,
) -> (OperatorClient<'a>, String, String) {
    let site = ServiceClient::of(service);
    let payment = card(&site, agent, "100").await;
    let ana = first.add_operator("ana", "operator").await;
    let made = ana.done("/admin/refunds", refund_request(&payment, 80.0)).await;
    assert_eq!(
        (made["status"].as_str(), made["requested_by"].as_str()),
        (Some("requested"), Some("ana"))
    );
    assert_eq!(made["decided_by"], Value::Null, "{made}");
    let id = made["refund_id"].as_str().unwrap().to_owned();
    (ana, payment, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn case_50_large_refund_needs_second_operator_and_survives_a_kill() {
    // Checks: the requester cannot approve in any role, and another amount is not approved. The refund survives a kill,
    // is credited once after two approvals, and is fully in the audit log; the command line works too.
    let host = host_with_limits();
    let service = host.start();
    let agent = Agent::new(Network::Solana);
    let first = OperatorClient::first(&host, &service);
    let (ana, payment, id) = refund_requested_by_ana(&service, &first, &agent).await;
    let anas = ana.token.clone();
    let approve = json!({"refund_id": id, "amount": 80});
    assert_eq!(
        status_and_code(&ana.post("/admin/refunds/approve", approve.clone()).await),
        (403, "refund_self_approval")
    );
    let support = first.add_operator("sue", "support").await;
    assert_eq!(
        support.post("/admin/refunds/approve", approve.clone()).await.code(),
        "role_not_permitted"
    );
    let differs = json!({"refund_id": id, "amount": 79.99});
    assert_eq!(
        status_and_code(&first.post("/admin/refunds/approve", differs).await),
        (409, "refund_amount_mismatch")
    );
    balance_is(
        &ServiceClient::of(&service),
        &agent.token(&ServiceClient::of(&service)).await,
        "0",
    )
    .await;
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (first, ana) = (
        OperatorClient::first(&host, &service),
        OperatorClient::of(&service, &anas),
    );
    assert_eq!(open(&first).await, 1);
    assert_eq!(
        status_and_code(&ana.post("/admin/refunds/approve", approve.clone()).await),
        (403, "refund_self_approval")
    );
    let run = |arguments: &[&str]| admin(&host, &service, arguments, "");
    assert_eq!(run(&["refunds", "list"]).unwrap()["refunds"][0]["refund_id"], *id);
    run(&["refunds", "approve", &id, "--amount", "80"]).unwrap();
    // It is no longer open. The full list still has it once, on the first page.
    assert_eq!(run(&["refunds", "list"]).unwrap()["refunds"], json!([]));
    let all = run(&["refunds", "list", "--all"]).unwrap();
    assert_eq!(
        (&all["refunds"][0]["refund_id"], &all["refunds"][1]),
        (&json!(id), &Value::Null)
    );
    let next = all["next_after"].as_str().unwrap();
    let behind = run(&["refunds", "list", "--all", "--after", next]).unwrap();
    assert_eq!((&behind["refunds"], &behind["next_after"]), (&json!([]), &Value::Null));
    let again = first.done("/admin/refunds/approve", approve.clone()).await;
    assert_ne!(again["status"], "requested");
    let token = agent.token(&site).await;
    balance_is(&site, &token, "80").await;
    assert_eq!(open(&first).await, 0);
    let late = run(&["refunds", "reject", &id, "--reason", "no"]).unwrap_err();
    assert!(late.contains("refund_not_pending"), "{late}");
    let acts = first.audit().await;
    let about: Vec<_> = acts
        .iter()
        .filter_map(|(_, what, _)| what.strip_prefix("refund."))
        .collect();
    assert_eq!(about, ["request", "approve"]);
    let ended = refund_of(&first, &payment).await;
    assert_eq!(ended["requested_by"], "ana");
    assert!(
        ended["decided_by"].is_string() && ended["decided_by"] != "ana",
        "{ended}"
    );
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_or_expired_refund_can_be_requested_again() {
    // Checks: a refund that is rejected or withdrawn moves nothing and can be requested again. An unapproved refund
    // expires, and a later approval is rejected.
    let host = host_with_limits();
    let service = host.start();
    let agent = Agent::new(Network::Base);
    let first = OperatorClient::first(&host, &service);
    let (ana, payment, id) = refund_requested_by_ana(&service, &first, &agent).await;
    let reject = json!({"refund_id": id, "reason": "Ask the shop first."});
    for _ in 0..2 {
        assert_eq!(
            first.done("/admin/refunds/reject", reject.clone()).await["status"],
            "rejected"
        );
    }
    let approve = json!({"refund_id": id, "amount": 80});
    assert_eq!(
        status_and_code(&first.post("/admin/refunds/approve", approve).await),
        (409, "refund_not_pending")
    );
    assert_eq!(
        ana.done("/admin/refunds", refund_request(&payment, 70.0)).await["status"],
        "requested"
    );
    assert_eq!(ana.done("/admin/refunds/reject", reject).await["status"], "rejected");
    balance_is(
        &ServiceClient::of(&service),
        &agent.token(&ServiceClient::of(&service)).await,
        "0",
    )
    .await;
    drop(ana);
    service.stop();
    host.assert_verified();

    let mut host = host;
    host.set("PURSER_OPERATOR__APPROVAL_OPEN_HOURS", "0");
    let service = host.start();
    let first = OperatorClient::first(&host, &service);
    first.done("/admin/refunds", refund_request(&payment, 60.0)).await;
    until("its time is over", async || {
        (refund_of(&first, &payment).await["status"] == "expired").then_some(())
    })
    .await;
    let ben = first.add_operator("ben", "administrator").await;
    let late = ben
        .post("/admin/refunds/approve", json!({"refund_id": id, "amount": 60}))
        .await;
    assert_eq!(status_and_code(&late), (409, "refund_not_pending"));
    assert_eq!(open(&first).await, 0);
    balance_is(
        &ServiceClient::of(&service),
        &agent.token(&ServiceClient::of(&service)).await,
        "0",
    )
    .await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn purchase_still_creditable_automatically_is_not_refunded() {
    // Checks: a card that is not ready yet, a failed one, an unknown payment, and invalid bodies.
    let host = host_with_limits();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    let waiting = Agent::new(Network::Base).buy(&site, "/get-card?amount=5").await;
    let waiting = waiting.str("payment_id").unwrap();
    assert_eq!(
        status_and_code(&operator.post("/admin/refunds", refund_request(waiting, 1.0)).await),
        (409, "refund_amount_too_large")
    );
    site.issuer_fault(json!({"fault": "clear"})).await;
    let declined = Agent::new(Network::Base);
    let failed = declined.buy(&site, "/get-card?amount=6.66").await;
    let token = declined.token(&site).await;
    balance_is(&site, &token, "6.66").await;
    let response = operator
        .post("/admin/refunds", refund_request(failed.str("payment_id").unwrap(), 1.0))
        .await;
    assert_eq!(status_and_code(&response), (409, "refund_amount_too_large"));
    balance_is(&site, &token, "6.66").await;
    let unknown = "pay_00000000000000000000000000000001";
    assert_eq!(
        status_and_code(&operator.post("/admin/refunds", refund_request(unknown, 1.0)).await),
        (404, "payment_not_found")
    );
    for (amount, code) in [(0.0, "amount_out_of_range"), (0.001, "amount_invalid")] {
        assert_eq!(
            operator
                .post("/admin/refunds", refund_request(waiting, amount))
                .await
                .code(),
            code
        );
    }
    let silent = json!({"payment_id": waiting, "amount": 1, "reason": " "});
    assert_eq!(
        operator.post("/admin/refunds", silent).await.code(),
        "parameter_invalid"
    );
    let unknown = json!({"refund_id": "rf_00000000000000000000000000000001", "amount": 1});
    assert_eq!(
        status_and_code(&operator.post("/admin/refunds/approve", unknown).await),
        (404, "refund_not_found")
    );
    service.stop();
    host.assert_verified();
}
