//! What waits for a person: its evidence, and an operator's word for what came of it.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::admin::admin;
use super::agent::Agent;
use super::host::{Host, text};
use super::http::{Response, ServiceClient, until};
use super::operator_client::OperatorClient;
use super::recipient::{balance_is, register, wait_for_payout_status};

/// Two tries, and a person must look.
pub(crate) fn host_with_short_retries() -> Host {
    Host::new()
        .with("PURSER_ENGINE__MAX_ATTEMPTS", "2")
        .with("PURSER_ENGINE__INITIAL_BACKOFF_MS", "1")
        .with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "300")
}

pub(crate) async fn wait_for_dead_letter(desk: &OperatorClient<'_>, work: &str) -> Value {
    until("it is stuck", async || {
        let list = desk.get("/admin/dead-letters").await;
        let effects = list.body["jobs"].as_array().unwrap().clone();
        effects.into_iter().find(|effect| effect["job_type"] == work)
    })
    .await
}

pub(crate) fn resolve(effect: &Value, outcome: &str) -> Value {
    let id = &effect["job_id"];
    json!({"job_id": id, "outcome": outcome, "reference": "call-17", "evidence": "Their support said so."})
}

fn credit(effect: &Value, stated: bool) -> Value {
    let id = &effect["job_id"];
    json!({"job_id": id, "evidence": "Their support said so.", "funds_not_sent": stated})
}

pub(crate) fn status_and_code(answer: &Response) -> (u16, &str) {
    (answer.status, answer.code())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stuck_is_shown_with_its_evidence_and_credited_once() {
    // Aim: an issuer that nobody reaches: whose money, how much, what was tried, what the issuer's list says. Nobody can say that
    // the card was made; the credit needs a statement, is given once, is written down, and the books know it.
    let host = host_with_short_retries();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let desk = OperatorClient::first(&host, &service);
    site.issuer_fault(json!({"fault": "unreachable", "times": 0})).await;
    let agent = Agent::new(Network::Base);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let effect = wait_for_dead_letter(&desk, "issue_card").await;
    let shown =
        ["wallet", "status", "currency", "provider_status", "subject"].map(|name| effect[name].as_str().unwrap());
    let holder = agent.address().to_ascii_lowercase();
    assert_eq!(
        shown,
        [holder.as_str(), "pending", "USDC", "not_submitted", bought.card()]
    );
    assert_eq!(effect["amount"].to_string(), "5");
    assert_eq!(effect["idempotency_key"], effect["job_id"]);
    assert_eq!(effect["actions"], json!(["retry", "resolve_not_completed", "credit"]));
    let one = desk
        .get(&format!(
            "/admin/dead-letters?job_id={}",
            effect["job_id"].as_str().unwrap()
        ))
        .await;
    assert_eq!(one.body["jobs"].as_array().unwrap().len(), 1);

    let done = desk.post("/admin/jobs/resolve", resolve(&effect, "completed")).await;
    assert_eq!(status_and_code(&done), (409, "job_not_resolvable"));
    let unproven = desk.post("/admin/jobs/credit", credit(&effect, false)).await;
    assert_eq!(status_and_code(&unproven), (409, "outcome_not_proven"));
    let token = agent.token(&site).await;
    balance_is(&site, &token, "0").await;
    desk.done("/admin/jobs/credit", credit(&effect, true)).await;
    balance_is(&site, &token, "5").await;
    let card = site
        .get_as(&token, &format!("/get-card-data?card_id={}", bought.card()))
        .await;
    assert_eq!(card.str("status"), Some("failed"), "{}", card.text);
    for path in ["/admin/jobs/credit", "/admin/jobs/resolve"] {
        let body = if path.ends_with("credit") {
            credit(&effect, true)
        } else {
            resolve(&effect, "not_completed")
        };
        assert_eq!(status_and_code(&desk.post(path, body).await), (404, "job_not_found"));
    }
    let acts = desk.get("/admin/audit").await.body["entries"]
        .as_array()
        .unwrap()
        .clone();
    let told: Vec<_> = acts
        .iter()
        .filter(|act| act["action"] == "effect.credit_back")
        .collect();
    assert_eq!(told.len(), 1);
    assert!(
        told[0]["note"]
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
async fn nobodys_word_stands_against_the_providers_own() {
    // Aim: the issuer made the card and its answer was lost: its list says so, and neither a statement nor an outcome is taken for
    // money that would be there twice; tried again, the card is ready and nothing was credited.
    let host = host_with_short_retries().with("PURSER_SANDBOX__CARD_ISSUE_DELAY_MS", "10");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let desk = OperatorClient::first(&host, &service);
    site.issuer_fault(json!({"fault": "timeout", "times": 0})).await;
    let agent = Agent::new(Network::Solana);
    let bought = agent.buy(&site, "/get-card?amount=5").await;
    let effect = until("the issuer's list says so", async || {
        let effect = wait_for_dead_letter(&desk, "issue_card").await;
        (effect["provider_status"] == "completed").then_some(effect)
    })
    .await;
    let credited = desk.post("/admin/jobs/credit", credit(&effect, true)).await;
    assert_eq!(status_and_code(&credited), (409, "provider_disagrees"));
    let resolved = desk
        .post("/admin/jobs/resolve", resolve(&effect, "not_completed"))
        .await;
    assert_eq!(status_and_code(&resolved), (409, "provider_disagrees"));
    site.issuer_fault(json!({"fault": "clear"})).await;
    desk.done("/admin/jobs/retry", json!({"job_id": effect["job_id"]}))
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
async fn a_payout_that_its_rail_never_had_is_credited_whole_without_a_statement() {
    // Aim: the rail's own word that it was never asked is proof; nobody can say that it was paid; over the command line.
    let host = host_with_short_retries();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let desk = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    let destination = register(&site, &agent).await;
    let fault = json!({"fault": "unreachable", "times": 0});
    assert_eq!(site.post("/sandbox/payouts", &fault).await.status, 200);
    let path = format!("/send-bank-payment?amount=20&destination_id={destination}");
    let bought = agent.buy(&site, &path).await;
    let payout = bought.body["bank_payment"]["payout_id"].as_str().unwrap();
    let silent = wait_for_dead_letter(&desk, "send_payout").await;
    assert!(silent["provider_error"].is_string(), "{silent}");
    assert_eq!(
        site.post("/sandbox/payouts", &json!({"fault": "clear"})).await.status,
        200
    );
    let effect = wait_for_dead_letter(&desk, "send_payout").await;
    assert_eq!(effect["provider_status"], "not_submitted");
    let paid = desk.post("/admin/jobs/resolve", resolve(&effect, "completed")).await;
    assert_eq!(status_and_code(&paid), (409, "provider_disagrees"));
    let run = |arguments: &[&str]| admin(&host, &service, arguments, "");
    let id = effect["job_id"].as_str().unwrap();
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
    let token = agent.token(&site).await;
    wait_for_payout_status(&site, &token, payout, "failed").await;
    balance_is(&site, &token, "21.5").await;
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_paid_after_a_credit_and_came_back_by_hand_is_not_stuck_any_more() {
    // Aim: a rail pays after it refused and cannot take it back: an operator who has the money back says so, once; the payer's
    // credit stays one.
    let host = host_with_short_retries().with("PURSER_SANDBOX__PAYOUT_DELAY_MS", "10");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let desk = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    let destination = register(&site, &agent).await;
    let path = format!("/send-bank-payment?amount=25.55&destination_id={destination}");
    agent.buy(&site, &path).await;
    let token = agent.token(&site).await;
    balance_is(&site, &token, "27.05").await;
    let effect = wait_for_dead_letter(&desk, "recall_payout").await;
    assert_eq!(effect["actions"], json!(["retry", "resolve_completed"]));
    let credited = desk.post("/admin/jobs/credit", credit(&effect, true)).await;
    assert_eq!(status_and_code(&credited), (409, "job_not_resolvable"));
    desk.done("/admin/jobs/resolve", resolve(&effect, "completed")).await;
    let again = desk.post("/admin/jobs/resolve", resolve(&effect, "completed")).await;
    assert_eq!(status_and_code(&again), (404, "job_not_found"));
    balance_is(&site, &token, "27.05").await;
    assert_eq!(desk.get("/admin/dead-letters").await.body["jobs"], json!([]));
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_in_doubt_is_resolved_by_what_its_chain_shows_and_by_nobodys_word() {
    // Aim: a transfer that is still on its way: whose, how much, what the chain says; an operator who names another transaction,
    // or says that it never landed while it still may, is refused, and the chain decides.
    let host = Host::new().with("PURSER_ENGINE__SETTLEMENT_TIMEOUT_MS", "200");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let desk = OperatorClient::first(&host, &service);
    let agent = Agent::new(Network::Base);
    let fault = json!({"fault": "slow", "delay_ms": 4_000, "wallet": agent.address()});
    site.chain_fault(fault).await;
    let unknown = agent.buy(&site, "/get-card?amount=5").await;
    assert_eq!(unknown.status, 202, "{}", unknown.text);
    let doubt = until("it is in doubt", async || {
        desk.get("/admin/dead-letters").await.body["unknown_payments"]
            .get(0)
            .cloned()
    })
    .await;
    assert_eq!(
        (doubt["wallet"].as_str(), doubt["amount"].to_string().as_str()),
        (Some(&*agent.address().to_ascii_lowercase()), "5")
    );
    assert_eq!(doubt["actions"], json!(["resolve_completed", "resolve_not_completed"]));
    for outcome in ["completed", "not_completed"] {
        let told = desk.post("/admin/jobs/resolve", resolve(&doubt, outcome)).await;
        let refused = status_and_code(&told);
        // It may have landed by now; then there is nothing to be resolved.
        assert!(
            [
                (409, "provider_disagrees"),
                (404, "job_not_found"),
                (409, "job_not_dead_lettered")
            ]
            .contains(&refused),
            "{outcome}: {}",
            told.text
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
async fn an_operators_word_is_read_strictly() {
    // Aim: an outcome that is none, a reference or evidence that is empty or too long, and work that does not exist: nothing
    // changes and nothing is written down.
    let host = Host::new();
    let service = host.start();
    let desk = OperatorClient::first(&host, &service);
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
        let told = desk.post("/admin/jobs/resolve", body).await;
        assert_eq!(told.code(), code, "{outcome} {reference:?} {evidence:?}");
    }
    let told = desk
        .get("/admin/dead-letters?job_id=job_00000000000000000000000000000001")
        .await;
    assert_eq!(status_and_code(&told), (404, "job_not_found"));
    // The first token alone.
    assert_eq!(desk.audit().await.len(), 1);
    let verified = text(&host.run(&["admin", "jobs", "resolve", "x", "--reference", "r", "--evidence", "e"]));
    assert!(verified.contains("--completed"), "one outcome must be said: {verified}");
}
