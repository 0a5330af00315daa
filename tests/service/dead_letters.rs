//! Dead letters: their evidence, and how operators resolve them.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::admin::admin;
use super::agent::Agent;
use super::banking::{quick, result};
use super::host::{Host, text};
use super::http::{Response, ServiceClient, until};
use super::operator_client::OperatorClient;
use super::recipient::{balance_is, register, wait_for_payout_status};
use super::restored_orders::banked;

/// After two attempts a job is a dead letter.
pub(crate) fn host_with_short_retries() -> Host {
    with_short_retries(Host::new())
}

fn with_short_retries(host: Host) -> Host {
    host.with("PURSER_ENGINE__MAX_ATTEMPTS", "2")
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "1")
        .with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "300")
}

pub(crate) async fn wait_for_dead_letter(operator: &OperatorClient<'_>, work: &str) -> Value {
    until("the job is dead-lettered", async || {
        let list = operator.get("/admin/dead-letters").await;
        let jobs = list.body["jobs"].as_array().unwrap().clone();
        jobs.into_iter().find(|job| job["job_type"] == work)
    })
    .await
}

pub(crate) fn resolve(job: &Value, outcome: &str) -> Value {
    let id = &job["job_id"];
    json!({"job_id": id, "outcome": outcome, "reference": "call-17", "evidence": "Their support said so."})
}

fn credit(job: &Value, stated: bool) -> Value {
    let id = &job["job_id"];
    json!({"job_id": id, "evidence": "Their support said so.", "funds_not_sent": stated})
}

pub(crate) fn status_and_code(answer: &Response) -> (u16, &str) {
    (answer.status, answer.code())
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letter_shows_evidence_and_is_credited_once() {
    // Checks: The issuer is unreachable. The dead letter shows the owner, amount, attempts and the issuer's list. The
    // job cannot be resolved as completed. The credit needs a statement, is given once, is audited, and the ledger has
    // it.
    let host = host_with_short_retries();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let job = wait_for_dead_letter(&operator, "issue_card").await;
    let shown = ["wallet", "status", "currency", "provider_status", "subject"].map(|name| job[name].as_str().unwrap());
    let holder = agent.address().to_ascii_lowercase();
    assert_eq!(
        shown,
        [holder.as_str(), "pending", "USDC", "not_submitted", bought.card()]
    );
    assert_eq!(job["amount"].to_string(), "5");
    assert_eq!(job["idempotency_key"], job["job_id"]);
    assert_eq!(job["actions"], json!(["retry", "resolve_not_completed", "credit"]));
    let one = operator
        .get(&format!(
            "/admin/dead-letters?job_id={}",
            job["job_id"].as_str().unwrap()
        ))
        .await;
    assert_eq!(one.body["jobs"].as_array().unwrap().len(), 1);

    let done = operator.post("/admin/jobs/resolve", resolve(&job, "completed")).await;
    assert_eq!(status_and_code(&done), (409, "job_not_resolvable"));
    let unproven = operator.post("/admin/jobs/credit", credit(&job, false)).await;
    assert_eq!(status_and_code(&unproven), (409, "outcome_not_proven"));
    let token = agent.token(&site).await;
    balance_is(&site, &token, "0").await;
    operator.done("/admin/jobs/credit", credit(&job, true)).await;
    balance_is(&site, &token, "5").await;
    let card = site
        .get_as(&token, &format!("/get-card-data?card_id={}", bought.card()))
        .await;
    assert_eq!(card.str("status"), Some("failed"), "{}", card.text);
    for path in ["/admin/jobs/credit", "/admin/jobs/resolve"] {
        let body = if path.ends_with("credit") {
            credit(&job, true)
        } else {
            resolve(&job, "not_completed")
        };
        assert_eq!(
            status_and_code(&operator.post(path, body).await),
            (404, "job_not_found")
        );
    }
    let acts = operator.get("/admin/audit").await.body["entries"]
        .as_array()
        .unwrap()
        .clone();
    let credits: Vec<_> = acts.iter().filter(|act| act["action"] == "job.credit").collect();
    assert_eq!(credits.len(), 1);
    assert!(
        credits[0]["note"]
            .as_str()
            .unwrap()
            .contains("states that it has not left")
    );
    service.kill();
    let service = host.start();
    let site = ServiceClient::of(&service);
    balance_is(&site, &agent.token(&site).await, "5").await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_answer_overrides_operator_resolution() {
    // Checks: The issuer made the card, but its response was lost. Its list shows the card, so neither a statement nor
    // a resolution can create a second credit. After a retry the card is ready and nothing was credited.
    let host = host_with_short_retries().with("PURSER_SANDBOX__CARD_ISSUE_DELAY_MS", "10");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    site.issuer_fault(json!({"fault": "timeout", "times": 0})).await;
    let agent = Agent::new(Network::Solana);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let job = until("the issuer's list says so", async || {
        let job = wait_for_dead_letter(&operator, "issue_card").await;
        (job["provider_status"] == "completed").then_some(job)
    })
    .await;
    assert_eq!(
        job["actions"],
        json!(["retry"]),
        "what the issuer contradicts is not offered"
    );
    let credited = operator.post("/admin/jobs/credit", credit(&job, true)).await;
    assert_eq!(status_and_code(&credited), (409, "provider_disagrees"));
    let resolved = operator
        .post("/admin/jobs/resolve", resolve(&job, "not_completed"))
        .await;
    assert_eq!(status_and_code(&resolved), (409, "provider_disagrees"));
    site.issuer_fault(json!({"fault": "clear"})).await;
    operator
        .done("/admin/jobs/retry", json!({"job_id": job["job_id"]}))
        .await;
    let token = agent.token(&site).await;
    until("the card", async || {
        let read = site
            .get_as(&token, &format!("/get-card-data?card_id={}", bought.card()))
            .await;
        (read.str("status") == Some("ready")).then_some(())
    })
    .await;
    balance_is(&site, &token, "0").await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn payout_never_submitted_to_its_rail_is_credited_without_statement() {
    // Checks: The rail's report that it never received the payout is proof, so the job cannot be resolved as completed.
    // The command line is used.
    let host = host_with_short_retries();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    let destination = register(&site, &agent).await;
    let fault = json!({"fault": "unreachable", "times": 0});
    assert_eq!(site.post("/sandbox/payouts", &fault).await.status, 200);
    let path = format!("/send-bank-payment?amount=20&destination_id={destination}");
    let bought = agent.buy(&site, &path).await;
    let payout = bought.body["bank_payment"]["payout_id"].as_str().unwrap();
    let silent = wait_for_dead_letter(&operator, "send_payout").await;
    assert!(silent["provider_error"].is_string(), "{silent}");
    let token = agent.token(&site).await;
    let listed = site.get_as(&token, "/get-payment-status").await;
    assert_eq!(
        listed.body["payouts"][0]["needs_operator"],
        json!(true),
        "{}",
        listed.text
    );
    assert_eq!(
        site.post("/sandbox/payouts", &json!({"fault": "clear"})).await.status,
        200
    );
    let job = wait_for_dead_letter(&operator, "send_payout").await;
    assert_eq!(job["provider_status"], "not_submitted");
    assert_eq!(job["actions"], json!(["retry", "resolve_not_completed", "credit"]));
    let paid = operator.post("/admin/jobs/resolve", resolve(&job, "completed")).await;
    assert_eq!(status_and_code(&paid), (409, "provider_disagrees"));
    let run = |arguments: &[&str]| admin(&host, &service, arguments, "");
    let id = job["job_id"].as_str().unwrap();
    let shown = run(&["dead-letters", id]).unwrap();
    assert_eq!(shown["jobs"][0]["subject"], payout);
    let wrong = run(&[
        "jobs",
        "resolve",
        id,
        "--completed",
        "--reference",
        "x",
        "--evidence",
        "seen",
    ])
    .unwrap_err();
    assert!(wrong.contains("provider_disagrees"), "{wrong}");
    run(&["jobs", "credit", id, "--evidence", "Their list is empty."]).unwrap();
    wait_for_payout_status(&site, &token, payout, "failed").await;
    let listed = site.get_as(&token, "/get-payment-status").await;
    assert_eq!(listed.body["payouts"][0].get("needs_operator"), None, "{}", listed.text);
    balance_is(&site, &token, "21.5").await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn payout_recovered_by_hand_after_a_credit_is_resolved() {
    // Checks: A rail pays after it declined and cannot recall the payout. An operator who recovered the money records
    // that once. The payer is credited once.
    let host = host_with_short_retries().with("PURSER_SANDBOX__PAYOUT_DELAY_MS", "10");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    let destination = register(&site, &agent).await;
    let path = format!("/send-bank-payment?amount=25.55&destination_id={destination}");
    agent.buy(&site, &path).await;
    let token = agent.token(&site).await;
    balance_is(&site, &token, "27.05").await;
    let job = wait_for_dead_letter(&operator, "recall_payout").await;
    assert_eq!(job["actions"], json!(["retry", "resolve_completed"]));
    let credited = operator.post("/admin/jobs/credit", credit(&job, true)).await;
    assert_eq!(status_and_code(&credited), (409, "job_not_resolvable"));
    operator.done("/admin/jobs/resolve", resolve(&job, "completed")).await;
    let again = operator.post("/admin/jobs/resolve", resolve(&job, "completed")).await;
    assert_eq!(status_and_code(&again), (404, "job_not_found"));
    balance_is(&site, &token, "27.05").await;
    assert_eq!(operator.get("/admin/dead-letters").await.body["jobs"], json!([]));
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_payment_is_resolved_only_by_its_chain() {
    // Checks: A transfer still in flight shows its owner, amount and chain status. Naming another transaction, or
    // resolving it as not completed while it may still settle, is rejected. The chain decides.
    let host = Host::new().with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "200");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    let fault = json!({"fault": "slow", "delay_ms": 4_000, "wallet": agent.address()});
    site.chain_fault(fault).await;
    let unknown = agent.buy(&site, "/get-card?amount=5").await;
    assert_eq!(unknown.status, 202, "{}", unknown.text);
    let unknown_payment = until("the payment is unknown", async || {
        operator.get("/admin/dead-letters").await.body["unknown_payments"]
            .get(0)
            .cloned()
    })
    .await;
    assert_eq!(
        (
            unknown_payment["wallet"].as_str(),
            unknown_payment["amount"].to_string().as_str()
        ),
        (Some(&*agent.address().to_ascii_lowercase()), "5")
    );
    assert_eq!(
        unknown_payment["actions"],
        json!(["resolve_completed", "resolve_not_completed"])
    );
    for outcome in ["completed", "not_completed"] {
        let answer = operator
            .post("/admin/jobs/resolve", resolve(&unknown_payment, outcome))
            .await;
        let refused = status_and_code(&answer);
        // The transfer may have settled by now; then there is nothing to resolve.
        assert!(
            [
                (409, "provider_disagrees"),
                (404, "job_not_found"),
                (409, "job_not_dead_lettered")
            ]
            .contains(&refused),
            "{outcome}: {}",
            answer.text
        );
    }
    let token = agent.token(&site).await;
    until("the card", async || {
        let cards = site.get_as(&token, "/get-card-data").await;
        (cards.body["cards"].as_array()?.len() == 1).then_some(())
    })
    .await;
    balance_is(&site, &token, "0").await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn resolutions_are_validated_strictly() {
    // Checks: An invalid outcome, an empty or too long reference or evidence, and an unknown job change nothing and
    // leave no audit record.
    let host = Host::new();
    let service = host.start();
    let operator = OperatorClient::first(&host, &service);
    let nothing = json!({"job_id": "job_00000000000000000000000000000001"});
    for (outcome, reference, evidence, code) in [
        ("perhaps", "r", "e", "parameter_invalid"),
        ("completed", " ", "e", "parameter_invalid"),
        ("completed", "r\n", "", "parameter_invalid"),
        ("completed", &"r".repeat(121), "e", "parameter_invalid"),
        ("completed", "r", &"e".repeat(501), "parameter_invalid"),
        ("completed", "r", "e", "job_not_found"),
    ] {
        let mut body = resolve(&nothing, outcome);
        body["reference"] = json!(reference);
        body["evidence"] = json!(evidence);
        let answer = operator.post("/admin/jobs/resolve", body).await;
        assert_eq!(answer.code(), code, "{outcome} {reference:?} {evidence:?}");
    }
    let answer = operator
        .get("/admin/dead-letters?job_id=job_00000000000000000000000000000001")
        .await;
    assert_eq!(status_and_code(&answer), (404, "job_not_found"));
    // Only the record of the first token.
    assert_eq!(operator.audit().await.len(), 1);
    let verified = text(&host.run(&["admin", "jobs", "resolve", "x", "--reference", "r", "--evidence", "e"]));
    assert!(verified.contains("--completed"), "one outcome is required: {verified}");
}

#[tokio::test(flavor = "multi_thread")]
async fn credit_is_offered_only_for_money_that_left_the_balance() {
    // Checks: the bank's answers to transfers are unreadable. A transfer from the balance can be credited, one to the
    // balance can't: neither the list nor the route allows it.
    let host = with_short_retries(quick());
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = OperatorClient::first(&host, &service);
    let banked = banked(&site).await;
    let token = banked.agent.token(&site).await;
    let fault = json!({"fault": "malformed_response", "operation": "transfer", "times": 0});
    assert_eq!(site.post("/sandbox/bank", &fault).await.status, 200);
    for (direction, is_creditable) in [("to_account", true), ("to_balance", false)] {
        let data = json!({"accountId": banked.account, "amount": 20, "direction": direction});
        let moved = result(&site, &token, "createBankingTransfer", data).await;
        let job = until("the transfer is dead-lettered", async || {
            let list = operator.get("/admin/dead-letters").await;
            let jobs = list.body["jobs"].as_array().unwrap().clone();
            jobs.into_iter().find(|job| job["subject"] == moved["transactionId"])
        })
        .await;
        let actions = job["actions"].as_array().unwrap();
        assert_eq!(actions.contains(&json!("credit")), is_creditable, "{direction}: {job}");
        assert!(actions.contains(&json!("resolve_completed")), "{direction}: {job}");
        if !is_creditable {
            let refused = operator.post("/admin/jobs/credit", credit(&job, true)).await;
            assert_eq!(status_and_code(&refused), (409, "job_not_resolvable"));
        }
    }
}
