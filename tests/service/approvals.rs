//! Operator actions that give money: limits per action and per day, above which a second operator must approve.

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

fn credit(job: &Value) -> Value {
    let id = &job["job_id"];
    json!({"job_id": id, "evidence": "Their support said so.", "funds_not_sent": true})
}

/// Asserts that the action is pending for this amount, and returns its approval id.
fn waits(answer: &Response, act: &str, amount: &str) -> String {
    assert_eq!(answer.status, 202, "{}", answer.text);
    let pending = (
        answer.str("act"),
        answer.str("status"),
        answer.body["amount"].to_string(),
    );
    assert_eq!(
        pending,
        (Some(act), Some("waiting"), amount.to_owned()),
        "{}",
        answer.text
    );
    answer.str("approval_id").unwrap().to_owned()
}

async fn listed(operator: &OperatorClient<'_>) -> Vec<String> {
    let answer = operator.get("/admin/approvals").await;
    let all = answer.body["approvals"].as_array().unwrap();
    all.iter()
        .map(|one| one["approval_id"].as_str().unwrap().to_owned())
        .collect()
}

/// Buys this many 5-dollar cards whose jobs become dead letters; returns each buyer and job.
async fn cards(site: &ServiceClient<'_>, operator: &OperatorClient<'_>, count: usize) -> Vec<(Agent, Value)> {
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    let mut found = Vec::new();
    for _ in 0..count {
        let agent = Agent::new(Network::Base);
        let bought = agent.buy(site, "/get-card?amount=5").await;
        let job = until("the job is dead-lettered", async || {
            let list = operator.get("/admin/dead-letters").await;
            let jobs = list.body["jobs"].as_array().unwrap().clone();
            jobs.into_iter().find(|job| job["subject"] == bought.card())
        })
        .await;
        found.push((agent, job));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn credit_above_the_limit_needs_a_second_operator() {
    // Checks: A credit above the limit does nothing until another operator approves its amount. Repeating the request
    // gives the same approval, which stays pending over a kill. Once approved it is executed once, and the log names
    // both operators.
    let host = host_with_short_retries().with("PURSER_OPERATOR__ALONE_MAX_USD", "4");
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (agent, job) = cards(&site, &operator, 1).await.remove(0);
    let requested = operator.post("/admin/jobs/credit", credit(&job)).await;
    let id = waits(&requested, "credit_back", "5");
    let again = operator.post("/admin/jobs/credit", credit(&job)).await;
    assert_eq!(waits(&again, "credit_back", "5"), id);
    let ben = operator.add_operator("ben", "operator").await;
    let bens = ben.token.clone();
    service.kill();

    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let ben = OperatorClient::of(&service, &bens);
    assert_eq!(listed(&ben).await, std::slice::from_ref(&id));
    let token = agent.token(&site).await;
    balance_is(&site, &token, "0").await;
    let approve = |amount: &str| json!({"approval_id": id, "amount": amount});
    let own = operator.post("/admin/approvals/approve", approve("5")).await;
    assert_eq!(status_and_code(&own), (403, "approval_own"));
    let other = ben.post("/admin/approvals/approve", approve("4.99")).await;
    assert_eq!(status_and_code(&other), (409, "approval_differs"));
    let eva = operator.add_operator("eva", "support").await;
    assert_eq!(eva.post("/admin/approvals/approve", approve("5")).await.status, 403);
    assert_eq!(
        ben.done("/admin/approvals/approve", approve("5")).await["status"],
        "approved"
    );
    balance_is(&site, &token, "5").await;
    assert_eq!(listed(&ben).await, Vec::<String>::new());
    let late = ben.post("/admin/approvals/approve", approve("5")).await;
    assert_eq!(status_and_code(&late), (404, "approval_not_found"));
    let acts = operator.audit().await;
    let by = |what: &str| -> Vec<String> {
        let of = acts.iter().filter(|(_, one, _)| one == what);
        of.map(|(by, ..)| by.clone()).collect()
    };
    assert_eq!(
        (by("approval.request").len(), by("approval.approve")),
        (1, vec!["ben".to_owned()])
    );
    assert_eq!(
        by("job.credit"),
        by("approval.request"),
        "the credit is attributed to the requester"
    );
    let log = operator.get("/admin/audit").await.body;
    let entries = log["entries"].as_array().unwrap();
    let subject_of = |action: &str| &entries.iter().find(|entry| entry["action"] == action).unwrap()["subject"];
    assert_eq!(
        subject_of("approval.approve"),
        subject_of("approval.request"),
        "the approval names the action and its amount"
    );
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_approval_cannot_be_replaced_under_its_id() {
    // Checks: Two requests for one incoming transfer, one to its sender and one to another account, wait as two
    // approvals with all parameters. Approving the first credits the sender; the second then gives nothing.
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
    let params = json!({"deposit_id": deposit, "evidence": "Ticket 20."});
    let mut turned = params.clone();
    turned["account"] = json!(other.address());

    let requested = ada.post(CREDIT, params.clone()).await;
    let id = waits(&requested, "credit_transfer", "5");
    assert_eq!(requested.str("words"), Some("to its sender: Ticket 20."));
    let requested = eve.post(CREDIT, turned).await;
    let turned = waits(&requested, "credit_transfer", "5");
    assert_ne!(turned, id);
    let named = other.address().to_lowercase();
    assert!(requested.str("words").unwrap().contains(&named), "{}", requested.text);
    assert_eq!(waits(&eve.post(CREDIT, params).await, "credit_transfer", "5"), id);
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
async fn requests_of_a_revoked_operator_cannot_be_approved() {
    // Checks: Revoking an operator's token removes their pending approvals; those of others stay.
    let host = host_with_short_retries().with("PURSER_OPERATOR__ALONE_MAX_USD", "4");
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let (eve, bob) = (
        operator.add_operator("eve", "operator").await,
        operator.add_operator("bob", "operator").await,
    );
    let bought = cards(&site, &operator, 2).await;
    let hers = waits(
        &eve.post("/admin/jobs/credit", credit(&bought[0].1)).await,
        "credit_back",
        "5",
    );
    let ours = waits(
        &operator.post("/admin/jobs/credit", credit(&bought[1].1)).await,
        "credit_back",
        "5",
    );
    assert_eq!(listed(&bob).await, [hers.clone(), ours.clone()]);
    operator.done("/admin/tokens/revoke", json!({"name": "eve"})).await;
    assert_eq!(listed(&bob).await, std::slice::from_ref(&ours));
    let late = bob
        .post("/admin/approvals/approve", json!({"approval_id": hers, "amount": "5"}))
        .await;
    assert_eq!(status_and_code(&late), (404, "approval_not_found"));
    bob.done("/admin/approvals/approve", json!({"approval_id": ours, "amount": "5"}))
        .await;
    balance_is(&site, &bought[0].0.token(&site).await, "0").await;
    balance_is(&site, &bought[1].0.token(&site).await, "5").await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_that_gives_money_needs_the_second_operator() {
    // Checks: An operator's resolution `not_completed` and the rejection of an order need approval like a credit.
    // Resolutions that give no money don't. A rejected or cancelled request is not executed.
    let host = host_with_short_retries().with("PURSER_OPERATOR__ALONE_MAX_USD", "1");
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let ben = operator.add_operator("ben", "operator").await;
    let mut bought = cards(&site, &operator, 1).await;
    let (agent, job) = bought.remove(0);
    let response = operator
        .post("/admin/jobs/resolve", resolve(&job, "not_completed"))
        .await;
    let id = waits(&response, "resolve", "5");
    let reject = json!({"approval_id": id, "reason": "Their list has it."});
    assert_eq!(
        ben.done("/admin/approvals/reject", reject.clone()).await["status"],
        "rejected"
    );
    let gone = ben.post("/admin/approvals/reject", reject).await;
    assert_eq!(status_and_code(&gone), (404, "approval_not_found"));
    let response = operator
        .post("/admin/jobs/resolve", resolve(&job, "not_completed"))
        .await;
    let approve = json!({"approval_id": waits(&response, "resolve", "5"), "amount": 5});
    ben.done("/admin/approvals/approve", approve).await;
    balance_is(&site, &agent.token(&site).await, "5").await;

    let order = Agent::new(Network::Solana);
    let ordered = order.buy(&site, "/order-intl-card?amount=100").await;
    let ordered = ordered.body["intl_card_order"]["card_id"].clone();
    let no = json!({"card_id": ordered, "reason": "Not there."});
    let requested = operator.post("/admin/intl-orders/reject", no.clone()).await;
    let id = waits(&requested, "reject_intl", "103.8");
    let stale = json!({"card_id": ordered, "reason": "Not there.", "lease": 7});
    let stale = operator.post("/admin/intl-orders/reject", stale).await;
    assert!(
        (400..500).contains(&stale.status),
        "a rejected request needs no approval: {}",
        stale.text
    );
    let printed = admin(&host, &service, &["approvals", "list"], "").unwrap();
    assert_eq!(printed["approvals"][0]["approval_id"], id.as_str());
    let own = admin(&host, &service, &["approvals", "approve", &id, "--amount", "103.8"], "");
    assert!(own.unwrap_err().contains("cannot approve"));
    ben.done(
        "/admin/approvals/approve",
        json!({"approval_id": id, "amount": "103.8"}),
    )
    .await;
    balance_is(&site, &order.token(&site).await, "103.8").await;
    let once = operator.post("/admin/intl-orders/reject", no).await;
    assert_eq!(once.status, 409, "{}", once.text);
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn single_operator_credits_count_toward_the_daily_limit() {
    // Checks: Small actions of every kind add up, also over a kill, until a second operator must approve. Each operator
    // has separate limits, and approved actions count for neither. The next day starts at zero. Each operator reads the
    // limits and the sum of the day.
    let host = host_with_short_retries().with("PURSER_OPERATOR__ALONE_DAY_MAX_USD", "11");
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let made = cards(&site, &operator, 4).await;
    let bens = operator.add_operator("ben", "operator").await.token;
    for (_, job) in &made[..2] {
        operator.done("/admin/jobs/credit", credit(job)).await;
    }
    service.kill();

    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let ben = OperatorClient::of(&service, &bens);
    let limits = async |one: &OperatorClient<'_>| {
        let session = one.get("/admin/session").await.body;
        let names = ["alone_max_usd", "alone_day_max_usd", "given_alone_today_usd"];
        names.map(|name| session[name].clone())
    };
    assert_eq!(limits(&operator).await, [Value::Null, json!(11), json!(10)]);
    assert_eq!(limits(&ben).await, [Value::Null, json!(11), json!(0)]);
    let third = operator.post("/admin/jobs/credit", credit(&made[2].1)).await;
    let id = waits(&third, "credit_back", "5");
    ben.done("/admin/approvals/approve", json!({"approval_id": id, "amount": 5}))
        .await;
    site.issuer_fault(json!({"fault": "clear"})).await;
    let paid = Agent::new(Network::Base).buy(&site, "/get-card?amount=5").await;
    let payment = paid.str("payment_id").unwrap();
    let refund = |amount: &str| json!({"payment_id": payment, "amount": amount, "reason": "Kind.", "holder_keeps_product": true});
    let requested = until("the card can be refunded", async || {
        let requested = operator.post("/admin/refunds", refund("2")).await;
        (requested.status == 200).then_some(requested)
    })
    .await;
    assert_eq!(
        requested.str("status"),
        Some("requested"),
        "a refund counts too: {}",
        requested.text
    );
    ben.done("/admin/jobs/credit", credit(&made[3].1)).await;
    site.advance(86_400).await;
    assert_eq!(limits(&operator).await, [Value::Null, json!(11), json!(0)]);
    let rejected = json!({"refund_id": requested.str("refund_id"), "reason": "Too late."});
    operator.done("/admin/refunds/reject", rejected).await;
    let again = operator.done("/admin/refunds", refund("5")).await;
    assert_ne!(again["status"], "requested", "another day");
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn unapproved_action_expires() {
    // Checks: After the configured hours, an approval is off the list and cannot be approved. The request can be
    // repeated and waits again. If the limit now allows it, it runs at once and needs no approval.
    let host = host_with_short_retries()
        .with("PURSER_OPERATOR__ALONE_DAY_MAX_USD", "9")
        .with("PURSER_OPERATOR__APPROVAL_OPEN_HOURS", "1");
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    let made = cards(&site, &operator, 2).await;
    let ben = operator.add_operator("ben", "operator").await;
    operator.done("/admin/jobs/credit", credit(&made[0].1)).await;
    let id = waits(
        &operator.post("/admin/jobs/credit", credit(&made[1].1)).await,
        "credit_back",
        "5",
    );
    site.advance(3_601).await;
    assert_eq!(listed(&operator).await, Vec::<String>::new());
    let late = ben
        .post("/admin/approvals/approve", json!({"approval_id": id, "amount": 5}))
        .await;
    assert_eq!(status_and_code(&late), (404, "approval_not_found"));
    let _ = wait_for_dead_letter(&operator, "issue_card").await;
    let again = operator.post("/admin/jobs/credit", credit(&made[1].1)).await;
    if again.status == 202 {
        // Only on the same day. After midnight the daily limit is free again.
        site.advance(86_400).await;
        operator.done("/admin/jobs/credit", credit(&made[1].1)).await;
    }
    assert_eq!(listed(&operator).await, Vec::<String>::new());
    service.stop();
    host.assert_verified();
}

/// `0` disables the limit.
#[tokio::test(flavor = "multi_thread")]
async fn one_operator_suffices_without_limits() {
    // Checks: `0` disables the limit per action and per day.
    let host: Host = host_with_short_retries();
    let service = host.start();
    let (site, operator) = (ServiceClient::of(&service), OperatorClient::first(&host, &service));
    for (agent, job) in cards(&site, &operator, 2).await {
        operator.done("/admin/jobs/credit", credit(&job)).await;
        balance_is(&site, &agent.token(&site).await, "5").await;
    }
}
