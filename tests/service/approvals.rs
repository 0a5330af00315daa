//! Acts of operators that give money: one person alone up to the limits, per act and per day, two above them.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::admin::admin;
use super::agent::Agent;
use super::dead_letters::{host_with_short_retries, resolve, status_and_code, wait_for_dead_letter};
use super::host::Host;
use super::http::{Response, ServiceClient, until};
use super::incoming_transfers::{submit_on_base, waiting};
use super::operator_client::OperatorClient;
use super::recipient::balance_is;

const CREDIT: &str = "/admin/incoming-transfers/credit";

fn credit(effect: &Value) -> Value {
    let id = &effect["job_id"];
    json!({"job_id": id, "evidence": "Their support said so.", "funds_not_sent": true})
}

/// It was not done: it waits, and for how much.
fn waits(answer: &Response, act: &str, amount: &str) -> String {
    assert_eq!(answer.status, 202, "{}", answer.text);
    let told = (
        answer.str("act"),
        answer.str("status"),
        answer.body["amount"].to_string(),
    );
    assert_eq!(told, (Some(act), Some("waiting"), amount.to_owned()), "{}", answer.text);
    answer.str("approval_id").unwrap().to_owned()
}

async fn listed(desk: &OperatorClient<'_>) -> Vec<String> {
    let answer = desk.get("/admin/approvals").await;
    let all = answer.body["approvals"].as_array().unwrap();
    all.iter()
        .map(|one| one["approval_id"].as_str().unwrap().to_owned())
        .collect()
}

/// So many cards of 5 dollars whose orders are stuck, with whoever paid for each.
async fn cards(site: &ServiceClient<'_>, desk: &OperatorClient<'_>, count: usize) -> Vec<(Agent, Value)> {
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    let mut found = Vec::new();
    for _ in 0..count {
        let agent = Agent::new(Network::Base);
        let bought = agent.buy(site, "/get-card?amount=5").await;
        let effect = until("it is stuck", async || {
            let list = desk.get("/admin/dead-letters").await;
            let effects = list.body["jobs"].as_array().unwrap().clone();
            effects.into_iter().find(|effect| effect["subject"] == bought.card())
        })
        .await;
        found.push((agent, effect));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_much_for_one_operator_takes_two() {
    // Aim: a credit above the limit does nothing until somebody else approves its amount; asked for again it is the same; over a
    // kill it still waits; approved it is done once, and the log names both.
    let host = host_with_short_retries().with("PURSER_OPERATOR__ALONE_MAX_USD", "4");
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (agent, effect) = cards(&site, &desk, 1).await.remove(0);
    let asked = desk.post("/admin/jobs/credit", credit(&effect)).await;
    let id = waits(&asked, "credit_back", "5");
    let again = desk.post("/admin/jobs/credit", credit(&effect)).await;
    assert_eq!(waits(&again, "credit_back", "5"), id);
    let ben = desk.add_operator("ben", "operator").await;
    let bens = ben.token.clone();
    service.kill();

    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let ben = OperatorClient::of(&service, &bens);
    assert_eq!(listed(&ben).await, std::slice::from_ref(&id));
    let token = agent.token(&site).await;
    balance_is(&site, &token, "0").await;
    let approve = |amount: &str| json!({"approval_id": id, "amount": amount});
    let own = desk.post("/admin/approvals/approve", approve("5")).await;
    assert_eq!(status_and_code(&own), (403, "approval_own"));
    let other = ben.post("/admin/approvals/approve", approve("4.99")).await;
    assert_eq!(status_and_code(&other), (409, "approval_differs"));
    let eva = desk.add_operator("eva", "support").await;
    assert_eq!(eva.post("/admin/approvals/approve", approve("5")).await.status, 403);
    assert_eq!(
        ben.done("/admin/approvals/approve", approve("5")).await["status"],
        "approved"
    );
    balance_is(&site, &token, "5").await;
    assert_eq!(listed(&ben).await, Vec::<String>::new());
    let late = ben.post("/admin/approvals/approve", approve("5")).await;
    assert_eq!(status_and_code(&late), (404, "approval_unknown"));
    let acts = desk.audit().await;
    let by = |what: &str| -> Vec<String> {
        let of = acts.iter().filter(|(_, one, _)| one == what);
        of.map(|(by, ..)| by.clone()).collect()
    };
    assert_eq!(
        (by("approval.request").len(), by("approval.approve")),
        (1, vec!["ben".to_owned()])
    );
    assert_eq!(
        by("effect.credit_back"),
        by("approval.request"),
        "it stays the act of whoever asked for it"
    );
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_approval_is_not_exchanged_under_its_id() {
    // Aim: a transfer to us that somebody wants credited to its sender, and somebody else to an account of their own, waits as two
    // acts, each named by all that it says. Who approves the one gives to its sender; the other gives nothing any more.
    let host = Host::new()
        .with("PURSER_OPERATOR__ALONE_MAX_USD", "4")
        .with("PURSER_ENGINE__CHAIN_POLL_INTERVAL_MS", "50");
    let service = host.start();
    let (site, ada) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (eve, bob) = (
        ada.add_operator("eve", "operator").await,
        ada.add_operator("bob", "operator").await,
    );
    let (sender, other) = (Agent::new(Network::Base), Agent::new(Network::Base));
    balance_is(&site, &other.token(&site).await, "0").await;
    submit_on_base(&site, &sender.payment(&site, "/get-card?amount=5").await).await;
    let deposit = waiting(&ada, &sender).await["deposit_id"].clone();
    let wanted = json!({"deposit_id": deposit, "evidence": "Ticket 20."});
    let mut turned = wanted.clone();
    turned["account"] = json!(other.address());

    let asked = ada.post(CREDIT, wanted.clone()).await;
    let id = waits(&asked, "credit_transfer", "5");
    assert_eq!(asked.str("words"), Some("to its sender: Ticket 20."));
    let asked = eve.post(CREDIT, turned).await;
    let turned = waits(&asked, "credit_transfer", "5");
    assert_ne!(turned, id);
    let named = other.address().to_lowercase();
    assert!(asked.str("words").unwrap().contains(&named), "{}", asked.text);
    assert_eq!(waits(&eve.post(CREDIT, wanted).await, "credit_transfer", "5"), id);
    assert_eq!(listed(&bob).await, [id.clone(), turned.clone()]);

    let own = eve
        .post(
            "/admin/approvals/approve",
            json!({"approval_id": turned, "amount": "5"}),
        )
        .await;
    assert_eq!(status_and_code(&own), (403, "approval_own"));
    bob.done("/admin/approvals/approve", json!({"approval_id": id, "amount": "5"}))
        .await;
    let late = bob
        .post(
            "/admin/approvals/approve",
            json!({"approval_id": turned, "amount": "5"}),
        )
        .await;
    assert_eq!(late.status, 409, "{}", late.text);
    balance_is(&site, &sender.token(&site).await, "5").await;
    balance_is(&site, &other.token(&site).await, "0").await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_revoked_operator_asked_for_is_not_approved() {
    // Aim: an act that waits goes from the list when the token of whoever asked for it is revoked; others' stay.
    let host = host_with_short_retries().with("PURSER_OPERATOR__ALONE_MAX_USD", "4");
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (eve, bob) = (
        desk.add_operator("eve", "operator").await,
        desk.add_operator("bob", "operator").await,
    );
    let bought = cards(&site, &desk, 2).await;
    let hers = waits(
        &eve.post("/admin/jobs/credit", credit(&bought[0].1)).await,
        "credit_back",
        "5",
    );
    let ours = waits(
        &desk.post("/admin/jobs/credit", credit(&bought[1].1)).await,
        "credit_back",
        "5",
    );
    assert_eq!(listed(&bob).await, [hers.clone(), ours.clone()]);
    desk.done("/admin/tokens/revoke", json!({"name": "eve"})).await;
    assert_eq!(listed(&bob).await, std::slice::from_ref(&ours));
    let late = bob
        .post("/admin/approvals/approve", json!({"approval_id": hers, "amount": "5"}))
        .await;
    assert_eq!(status_and_code(&late), (404, "approval_unknown"));
    bob.done("/admin/approvals/approve", json!({"approval_id": ours, "amount": "5"}))
        .await;
    balance_is(&site, &bought[0].0.token(&site).await, "0").await;
    balance_is(&site, &bought[1].0.token(&site).await, "5").await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_that_gives_money_asks_for_the_second_operator() {
    // Aim: an operator's word that something was not done, and the refusal of an order, wait like a credit; words that bring
    // nobody money do not; what somebody rejects, or takes back, is not done.
    let host = host_with_short_retries().with("PURSER_OPERATOR__ALONE_MAX_USD", "1");
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let ben = desk.add_operator("ben", "operator").await;
    let mut bought = cards(&site, &desk, 1).await;
    let (agent, effect) = bought.remove(0);
    let word = desk
        .post("/admin/jobs/resolve", resolve(&effect, "not_completed"))
        .await;
    let id = waits(&word, "resolve", "5");
    let reject = json!({"approval_id": id, "reason": "Their list has it."});
    assert_eq!(
        ben.done("/admin/approvals/reject", reject.clone()).await["status"],
        "rejected"
    );
    let gone = ben.post("/admin/approvals/reject", reject).await;
    assert_eq!(status_and_code(&gone), (404, "approval_unknown"));
    let word = desk
        .post("/admin/jobs/resolve", resolve(&effect, "not_completed"))
        .await;
    let approve = json!({"approval_id": waits(&word, "resolve", "5"), "amount": 5});
    ben.done("/admin/approvals/approve", approve).await;
    balance_is(&site, &agent.token(&site).await, "5").await;

    let order = Agent::new(Network::Solana);
    let ordered = order.buy(&site, "/order-intl-card?amount=100").await;
    let ordered = ordered.body["intl_card_order"]["card_id"].clone();
    let no = json!({"card_id": ordered, "reason": "Not there."});
    let asked = desk.post("/admin/intl-orders/reject", no.clone()).await;
    let id = waits(&asked, "reject_intl", "103.8");
    let stale = json!({"card_id": ordered, "reason": "Not there.", "lease": 7});
    let stale = desk.post("/admin/intl-orders/reject", stale).await;
    assert!(
        (400..500).contains(&stale.status),
        "what is refused waits for nobody: {}",
        stale.text
    );
    let printed = admin(&host, &service, &["approvals", "list"], "").unwrap();
    assert_eq!(printed["approvals"][0]["approval_id"], id.as_str());
    let own = admin(&host, &service, &["approvals", "approve", &id, "--amount", "103.8"], "");
    assert!(own.unwrap_err().contains("does not approve"));
    ben.done(
        "/admin/approvals/approve",
        json!({"approval_id": id, "amount": "103.8"}),
    )
    .await;
    balance_is(&site, &order.token(&site).await, "103.8").await;
    let once = desk.post("/admin/intl-orders/reject", no).await;
    assert_eq!(once.status, 409, "{}", once.text);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_gives_alone_counts_for_the_day() {
    // Aim: small acts of every kind add up, over a kill, until another has to approve; another operator has limits of their own,
    // and what two have approved counts for neither; the next day begins anew.
    let host = host_with_short_retries().with("PURSER_OPERATOR__ALONE_DAY_MAX_USD", "11");
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let made = cards(&site, &desk, 4).await;
    let bens = desk.add_operator("ben", "operator").await.token;
    for (_, effect) in &made[..2] {
        desk.done("/admin/jobs/credit", credit(effect)).await;
    }
    service.kill();

    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let ben = OperatorClient::of(&service, &bens);
    let third = desk.post("/admin/jobs/credit", credit(&made[2].1)).await;
    let id = waits(&third, "credit_back", "5");
    ben.done("/admin/approvals/approve", json!({"approval_id": id, "amount": 5}))
        .await;
    site.issuer_fault(json!({"fault": "clear"})).await;
    let paid = Agent::new(Network::Base).buy(&site, "/get-card?amount=5").await;
    let payment = paid.str("payment_id").unwrap();
    let refund = |amount: &str| json!({"payment_id": payment, "amount": amount, "reason": "Kind.", "holder_keeps_product": true});
    let asked = until("the card can be refunded", async || {
        let asked = desk.post("/admin/refunds", refund("2")).await;
        (asked.status == 200).then_some(asked)
    })
    .await;
    assert_eq!(
        asked.str("status"),
        Some("requested"),
        "a refund counts too: {}",
        asked.text
    );
    ben.done("/admin/jobs/credit", credit(&made[3].1)).await;
    site.advance(86_400).await;
    let rejected = json!({"refund_id": asked.str("refund_id"), "reason": "Too late."});
    desk.done("/admin/refunds/reject", rejected).await;
    let again = desk.done("/admin/refunds", refund("5")).await;
    assert_ne!(again["status"], "requested", "another day");
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_act_that_nobody_approves_in_time_is_over() {
    // Aim: after the settings' hours it is on no list and cannot be approved; asked for again it waits anew, and once it may be
    // done alone it is, and waits no more.
    let host = host_with_short_retries()
        .with("PURSER_OPERATOR__ALONE_DAY_MAX_USD", "9")
        .with("PURSER_OPERATOR__APPROVAL_OPEN_HOURS", "1");
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let made = cards(&site, &desk, 2).await;
    let ben = desk.add_operator("ben", "operator").await;
    desk.done("/admin/jobs/credit", credit(&made[0].1)).await;
    let id = waits(
        &desk.post("/admin/jobs/credit", credit(&made[1].1)).await,
        "credit_back",
        "5",
    );
    site.advance(3_601).await;
    assert_eq!(listed(&desk).await, Vec::<String>::new());
    let late = ben
        .post("/admin/approvals/approve", json!({"approval_id": id, "amount": 5}))
        .await;
    assert_eq!(status_and_code(&late), (404, "approval_unknown"));
    let _ = wait_for_dead_letter(&desk, "issue_card").await;
    let again = desk.post("/admin/jobs/credit", credit(&made[1].1)).await;
    if again.status == 202 {
        // Not past midnight: the next day it is no longer too much.
        site.advance(86_400).await;
        desk.done("/admin/jobs/credit", credit(&made[1].1)).await;
    }
    assert_eq!(listed(&desk).await, Vec::<String>::new());
    service.stop();
    host.assert_verified();
}

/// Whatever the settings of this machine, no limit is none.
#[tokio::test(flavor = "multi_thread")]
async fn without_limits_one_operator_does_all() {
    // Aim: `0` is no cap, for an act and for a day.
    let host: Host = host_with_short_retries();
    let service = host.start();
    let (site, desk) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    for (agent, effect) in cards(&site, &desk, 2).await {
        desk.done("/admin/jobs/credit", credit(&effect)).await;
        balance_is(&site, &agent.token(&site).await, "5").await;
    }
}
