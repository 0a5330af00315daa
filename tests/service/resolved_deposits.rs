//! Payments whose incoming transfer an operator resolved, and the response when they are presented afterwards.

use purser_actors::entity::payment::{Payment, Resolution, Status};
use purser_actors::id::Network;
use purser_actors::kernel::{EntityKind, table};
use purser_storage::codec;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::incoming_transfers::{submit_on_base, waiting};
use super::operator_client::OperatorClient;
use super::recipient::balance_is;
use super::restore::{ATTRIBUTE, attribution, backup, restore, untracked_transfers};
use super::top_up::{id_of, linked, wait_for_top_up};
use super::verify::{assert_problem, tampered};

const CARD: &str = "/get-card?amount=5";
const TOP_UP: &str = "/fund-card-balance?amount=15";
const LIST: &str = "/admin/incoming-transfers";

/// Reconciles chain lists without pauses.
fn host() -> Host {
    Host::new()
        .with("PURSER_SANDBOX__ATTESTATION_DELAY_MS", "20")
        .with("PURSER_SANDBOX__ISSUER_CREDIT_DELAY_MS", "20")
        .with("PURSER_RECONCILIATION__STEP_INTERVAL_MS", "10")
        .with("PURSER_RECONCILIATION__GRACE_PERIOD_MS", "300")
        .with("PURSER_ENGINE__CHAIN_POLL_INTERVAL_MS", "50")
}

/// Presents a payment twice, waits for a final response each time, and expects the same response.
async fn present_payment(site: &ServiceClient<'_>, path: &str, payment: &str) -> Response {
    let mut responses = Vec::new();
    for _ in 0..2 {
        let answer = until("it has its end", async || {
            let answer = Agent::pay(site, path, payment).await;
            (answer.status != 202).then_some(answer)
        });
        responses.push(answer.await);
    }
    let again = responses.pop().unwrap();
    assert_eq!(
        (responses[0].status, responses[0].code()),
        (again.status, again.code()),
        "{}",
        again.text
    );
    again
}

/// Asserts that nothing was credited, with the resolution in the response and in the payment list.
async fn resolved(
    site: &ServiceClient<'_>,
    agent: &Agent,
    (path, payment): (&str, &str),
    resolution: &str,
    balance: &str,
) {
    let response = present_payment(site, path, payment).await;
    assert_eq!(
        (response.status, response.code()),
        (409, "payment_resolved"),
        "{}",
        response.text
    );
    assert_eq!(response.str("reason"), Some(resolution), "{}", response.text);
    assert!(
        response.str("error").unwrap().contains("nothing was credited"),
        "{}",
        response.text
    );
    assert_eq!(response.body["credited_amount"], Value::Null, "{}", response.text);
    let token = agent.token(site).await;
    let list = site.get_as(&token, "/list-payments").await;
    let listed = &list.body["payments"][0];
    let shown = (&listed["status"], &listed["resolution"], &listed["product_id"]);
    assert_eq!(
        shown,
        (&json!("resolved"), &json!(resolution), &Value::Null),
        "{}",
        list.text
    );
    let id = listed["payment_id"].as_str().unwrap();
    let one = site.get_as(&token, &format!("/get-payment?payment_id={id}")).await;
    assert_eq!(one.body["payment"]["resolution"], resolution, "{}", one.text);
    let events = site.events(&token, 0).await;
    assert!(
        events.iter().any(|event| event["type"] == "payment.resolved"),
        "{events:?}"
    );
    assert!(
        events.iter().all(|event| event["type"] != "payment.credited"),
        "{events:?}"
    );
    balance_is(site, &token, balance).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn payment_resolved_by_an_operator_reports_its_resolution() {
    // Checks: a transfer credited to its payer is reported so. A transfer that was returned, credited to another
    // account or kept as operator funds is not a credit: each has its own resolution in response, list and event, and
    // the balance is unchanged.
    let host = host();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let senders = [Network::Base; 4].map(Agent::new);
    let mut payments = Vec::new();
    for agent in &senders {
        let payment = agent.payment(&site, CARD).await;
        submit_on_base(&site, &payment).await;
        payments.push(payment);
    }
    let [credited, returned, funds, others] = &senders;
    let decide = async |agent: &Agent, what: &str, account: Option<String>| {
        let id = waiting(&operator, agent).await["deposit_id"].clone();
        let mut body = json!({"deposit_id": id, "evidence": "their bank's letter"});
        if let Some(account) = account {
            body["account"] = json!(account);
        }
        operator.done(&format!("{LIST}/{what}"), body).await;
    };
    decide(credited, "credit", None).await;
    balance_is(&site, &credited.token(&site).await, "5").await;
    decide(returned, "return", None).await;
    decide(funds, "operator-funds", None).await;
    decide(others, "credit", Some(credited.address())).await;
    balance_is(&site, &credited.token(&site).await, "10").await;
    let response = present_payment(&site, CARD, &payments[0]).await;
    assert_eq!(
        (response.status, response.str("status")),
        (200, Some("credited")),
        "{}",
        response.text
    );
    let expected = [
        ("returned", "payment.resolved settling"),
        ("other", "payment.resolved unknown"),
        ("other", "payment.resolved settling"),
    ];
    for ((agent, payment), (resolution, change)) in senders.iter().zip(&payments).skip(1).zip(expected) {
        if change.ends_with("unknown") {
            site.chain_fault(json!({"fault": "lose_response", "wallet": agent.address()}))
                .await;
        }
        resolved(&site, agent, (CARD, payment), resolution, "0").await;
        site.wait_for_events(&agent.token(&site).await, &[change]).await;
    }
    balance_is(&site, &credited.token(&site).await, "10").await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn forwarded_top_up_is_not_shown_as_credit_after_restore() {
    // Checks: an operator attributed the transfer of a lost top-up as forwarded. Its payment is then no credit, also
    // across a kill, because the issuer already has the money.
    let host = host();
    let service = host.start();
    let (agent, ..) = linked(&ServiceClient::of(&service), Network::Base).await;
    service.stop();
    let file = backup(&host);
    let service = host.start();
    let site = ServiceClient::of(&service);
    let payment = agent.payment(&site, TOP_UP).await;
    let bought = Agent::pay(&site, TOP_UP, &payment).await;
    wait_for_top_up(&site, &agent.token(&site).await, &id_of(&bought), "credited").await;
    service.stop();
    restore(&host, &file);
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let deposit = waiting(&operator, &agent).await["deposit_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let left = untracked_transfers(&operator).await;
    let own = left.iter().find(|one| one.candidates == [deposit.clone()]);
    operator
        .done(ATTRIBUTE, attribution(own.unwrap(), json!({"deposit_id": deposit})))
        .await;
    resolved(&site, &agent, (TOP_UP, &payment), "forwarded", "0").await;
    service.kill();
    let service = host.start();
    resolved(
        &ServiceClient::of(&service),
        &agent,
        (TOP_UP, &payment),
        "forwarded",
        "0",
    )
    .await;
    service.stop();
    host.assert_verified();
    let payments = [table::ENTITY, EntityKind::Payment as u8];
    let (copy, changed) = tampered(&host, "other", &payments, |_, row| {
        let mut payment: Payment = codec::decode(&row.value).unwrap();
        let Status::Resolved { resolution, .. } = &mut payment.status else {
            return None;
        };
        *resolution = Resolution::Returned;
        Some(codec::encode(&payment))
    })
    .await;
    assert_eq!(changed, 1);
    assert_problem(&host, &copy, "deposit.resolution_mismatch", &deposit);
}
