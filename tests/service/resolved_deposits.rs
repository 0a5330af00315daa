//! Payments whose transfer was taken in without them: what their payers are told once they present them.

use purser_actors::id::Network;
use purser_actors::kernel::{EntityKind, table};
use purser_actors::payment::{Payment, Resolution, Status};
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

/// Reads the chains' lists without rest.
fn host() -> Host {
    Host::new()
        .with("PURSER_SANDBOX__ATTESTATION_DELAY_MS", "20")
        .with("PURSER_SANDBOX__ISSUER_CREDIT_DELAY_MS", "20")
        .with("PURSER_RECONCILIATION__STEP_INTERVAL_MS", "10")
        .with("PURSER_RECONCILIATION__GRACE_PERIOD_MS", "300")
        .with("PURSER_ENGINE__CHAIN_POLL_INTERVAL_MS", "50")
}

/// What it comes to when it is presented, and presented again.
async fn present_payment(site: &ServiceClient<'_>, path: &str, payment: &str) -> Response {
    let mut told = Vec::new();
    for _ in 0..2 {
        let answer = until("it has its end", async || {
            let answer = Agent::pay(site, path, payment).await;
            (answer.status != 202).then_some(answer)
        });
        told.push(answer.await);
    }
    let again = told.pop().unwrap();
    assert_eq!(
        (told[0].status, told[0].code()),
        (again.status, again.code()),
        "{}",
        again.text
    );
    again
}

/// That nothing was credited, and why; the payer's list says so too.
async fn resolved(
    site: &ServiceClient<'_>,
    agent: &Agent,
    (path, payment): (&str, &str),
    resolution: &str,
    balance: &str,
) {
    let told = present_payment(site, path, payment).await;
    assert_eq!((told.status, told.code()), (409, "payment_resolved"), "{}", told.text);
    assert_eq!(told.str("reason"), Some(resolution), "{}", told.text);
    assert!(
        told.str("error").unwrap().contains("nothing was credited"),
        "{}",
        told.text
    );
    assert_eq!(told.body["credited_amount"], Value::Null, "{}", told.text);
    let token = agent.token(site).await;
    let list = site.get_as(&token, "/list-payments").await;
    let listed = &list.body["payments"][0];
    let stands = (&listed["status"], &listed["resolution"], &listed["product_id"]);
    assert_eq!(
        stands,
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
async fn whoever_presents_a_payment_that_an_operator_has_decided_about_is_told_where_the_money_is() {
    // Aim: credited to its payer, it says so; sent back, credited to somebody else or kept as the treasury's own, it is no credit:
    // each has its own word, in the answer, in the list and as an event, and the balance is what it was.
    let host = host();
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let senders = [Network::Base; 4].map(Agent::new);
    let mut payments = Vec::new();
    for agent in &senders {
        let payment = agent.payment(&site, CARD).await;
        submit_on_base(&site, &payment).await;
        payments.push(payment);
    }
    let [credited, returned, funds, others] = &senders;
    let decide = async |agent: &Agent, what: &str, account: Option<String>| {
        let id = waiting(&desk, agent).await["deposit_id"].clone();
        let mut body = json!({"deposit_id": id, "evidence": "their bank's letter"});
        if let Some(account) = account {
            body["account"] = json!(account);
        }
        desk.done(&format!("{LIST}/{what}"), body).await;
    };
    decide(credited, "credit", None).await;
    balance_is(&site, &credited.token(&site).await, "5").await;
    decide(returned, "return", None).await;
    decide(funds, "operator-funds", None).await;
    decide(others, "credit", Some(credited.address())).await;
    balance_is(&site, &credited.token(&site).await, "10").await;
    let told = present_payment(&site, CARD, &payments[0]).await;
    assert_eq!(
        (told.status, told.str("status")),
        (200, Some("credited")),
        "{}",
        told.text
    );
    let told = [
        ("returned", "payment.resolved settling"),
        ("other", "payment.resolved unknown"),
        ("other", "payment.resolved settling"),
    ];
    for ((agent, payment), (resolution, change)) in senders.iter().zip(&payments).skip(1).zip(told) {
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
async fn a_top_up_that_was_sent_on_before_a_restore_is_not_told_as_a_credit() {
    // Aim: paid and brought to the issuer in the history that was lost, its transfer booked as forwarded by an operator: presented
    // again it is no credit, over a kill too, since the money is at the issuer already.
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
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let deposit = waiting(&desk, &agent).await["deposit_id"].as_str().unwrap().to_owned();
    let left = untracked_transfers(&desk).await;
    let own = left.iter().find(|one| one.candidates == [deposit.clone()]);
    desk.done(ATTRIBUTE, attribution(own.unwrap(), json!({"deposit_id": deposit})))
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
    let (copy, changed) = tampered(&host, "elsewhere", &payments, |_, row| {
        let mut payment: Payment = codec::decode(&row.value).unwrap();
        let Status::Resolved { resolution, .. } = &mut payment.status else {
            return None;
        };
        *resolution = Resolution::Returned;
        Some(codec::encode(&payment))
    })
    .await;
    assert_eq!(changed, 1);
    assert_problem(&host, &copy, "deposit.told", &deposit);
}
