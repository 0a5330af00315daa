//! What is done beside a running service: a backup, and a proof of its books.

use std::sync::Arc;

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::banking::{DOCUMENT_BASE64, application_answers, profile, quick, result};
use super::host::{Host, Service, text};
use super::http::{ServiceClient, client, send_to_operator, until};
use super::operator_client::OperatorClient;
use super::owner::Owner;

const CARD: &str = "/get-card?amount=5";

/// The operator's route behind it opens to no wallet's token, and to no operator who is not trusted with everything.
async fn assert_only_administrators_copy(host: &Host, service: &Service, wallets: &str) {
    let desk = OperatorClient::first(host, service);
    let reader = desk.add_operator("rita", "read-only").await;
    for (token, status) in [(reader.token.as_str(), 403), (wallets, 401)] {
        let asked = client()
            .get(service.operator_url("/copy?part=store"))
            .bearer_auth(token);
        assert_eq!(send_to_operator(asked).await.unwrap().status, status);
    }
    let asked = client()
        .get(service.operator_url("/copy?part=transfers&network=solana"))
        .bearer_auth(&desk.token);
    let listed = send_to_operator(asked).await.unwrap();
    assert!(
        listed.body["transfers"].as_array().is_some_and(|list| !list.is_empty()),
        "{}",
        listed.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_and_a_proof_are_made_while_the_service_runs() {
    // Aim: while cards are bought the whole time, `purser verify` proves the books, `purser backup` writes a store that restores
    // with its documents, `purser reconcile` says what the service has found; a restore wants the service stopped.
    let mut host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = service.operator.clone().unwrap();
    host.set("PURSER_OPERATOR__LISTEN", operator.trim_start_matches("http://"));
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    Owner::of(&site, &agent).await.verify(&site, &token).await;
    result(&site, &token, "createBankingProfile", profile()).await;
    result(&site, &token, "updateBankingApplicationDetails", application_answers()).await;
    let paper = json!({"type": "proof_of_address", "content": DOCUMENT_BASE64});
    let told = result(&site, &token, "uploadBankingDocument", paper).await;
    let id = told["application"]["documents"][0]["documentId"]
        .as_str()
        .unwrap()
        .to_owned();

    let file = host.sibling_path("backup");
    let path = file.to_str().unwrap().to_owned();
    assert_eq!(Agent::new(Network::Solana).buy(&site, CARD).await.status, 200);
    let host = Arc::new(host);
    let beside = tokio::task::spawn_blocking({
        let (host, path) = (host.clone(), path.clone());
        move || (host.verify(), host.run(&["backup", &path]))
    });
    while !beside.is_finished() {
        assert_eq!(Agent::new(Network::Solana).buy(&site, CARD).await.status, 200);
    }
    let ((passed, report), made) = beside.await.unwrap();
    assert!(passed, "{:#}", report["problems"]);
    assert!(
        made.status.success() && text(&made).contains("Backed up to ") && text(&made).contains("(sequence "),
        "{}",
        text(&made)
    );
    assert!(text(&made).contains("Backed up 1 document to "), "{}", text(&made));
    let made = host.run(&["backup", &path, "--force"]);
    assert!(made.status.success(), "of a service at rest: {}", text(&made));
    let again = host.run(&["backup", &path]);
    assert_eq!(again.status.code(), Some(2), "a backup was replaced: {}", text(&again));
    let taken = host.run(&["restore", &path]);
    assert!(!taken.status.success(), "restored beside a service: {}", text(&taken));
    let left: Vec<_> = std::fs::read_dir(host.data())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        !left.iter().any(|name| name.to_string_lossy().starts_with("verify.")),
        "{left:?}"
    );

    let compared = host.run(&["reconcile", "--json"]);
    let found: Value = serde_json::from_slice(&compared.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&compared)));
    assert_eq!(found["discrepancies"], json!([]), "{}", text(&compared));
    assert_only_administrators_copy(&host, &service, &token).await;
    service.kill();

    std::fs::rename(host.data().join("store"), host.sibling_path("lost")).unwrap();
    std::fs::remove_file(host.data().join("documents").join(&id)).unwrap();
    let restored = host.run(&["restore", &path]);
    assert!(restored.status.success(), "{}", text(&restored));
    assert!(host.data().join("documents").join(&id).exists());
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_cannot_be_asked_is_named() {
    // Aim: a data directory in use whose service has no operator's side, or whose token is not at hand: what to do is said, and
    // nothing is written.
    let mut host = Host::new().with("PURSER_OPERATOR__LISTEN", "");
    let service = host.start();
    let file = host.sibling_path("backup");
    let asked = host.run(&["backup", file.to_str().unwrap()]);
    assert!(
        !asked.status.success() && text(&asked).contains("stop it first"),
        "{}",
        text(&asked)
    );
    host.set("PURSER_OPERATOR__LISTEN", "127.0.0.1:9");
    let silent = host.run(&["verify"]);
    assert!(!silent.status.success(), "{}", text(&silent));
    assert!(!file.exists());
    drop(service);
}

#[tokio::test(flavor = "multi_thread")]
async fn reconcile_beside_a_service_compares_what_is_there_now() {
    // Aim: with an hour between two walks, `purser reconcile` names a stray deposit that came in after the last one, with exit status
    // 1, and agrees before it; one that does not end in time is an error. A walk is asked for over HTTP too.
    let mut host = quick()
        .with("PURSER_RECONCILIATION__STEP_INTERVAL_MS", "10")
        .with("PURSER_RECONCILIATION__RUN_INTERVAL_MS", "3600000")
        .with("PURSER_RECONCILIATION__GRACE_PERIOD_MS", "1");
    let service = host.start();
    let site = ServiceClient::of(&service);
    let operator = service.operator.clone().unwrap();
    host.set("PURSER_OPERATOR__LISTEN", operator.trim_start_matches("http://"));
    let host = Arc::new(host);
    let run = async |arguments: &'static [&'static str]| {
        let host = host.clone();
        tokio::task::spawn_blocking(move || host.run(arguments)).await.unwrap()
    };
    let agreed = run(&["reconcile"]).await;
    assert!(
        agreed.status.success() && text(&agreed).contains("No discrepancies."),
        "{}",
        text(&agreed)
    );
    let stranger = Agent::new(Network::Base);
    let stray = stranger.payment(&site, CARD).await;
    let sent = site.post("/sandbox/base", &json!({"payment": stray})).await;
    assert_eq!(sent.body["success"], true, "{}", sent.text);
    let found = until("the deposit is found", async || {
        let found = run(&["reconcile", "--json"]).await;
        (found.status.code() == Some(1)).then_some(found)
    })
    .await;
    let report: Value = serde_json::from_slice(&found.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&found)));
    assert_eq!(report["discrepancies"][0]["kind"], "unmatched_deposit", "{report:#}");
    let shown = run(&["reconcile"]).await;
    assert!(
        shown.status.code() == Some(1) && text(&shown).contains("DISCREPANCY  unmatched_deposit in base"),
        "{}",
        text(&shown)
    );
    let late = run(&["reconcile", "--timeout", "0"]).await;
    assert_eq!(late.status.code(), Some(1), "{}", text(&late));
    assert!(text(&late).contains("nothing is proved"), "{}", text(&late));

    let desk = OperatorClient::first(&host, &service);
    let number = desk.done("/admin/reconciliation/walk", json!({})).await["run"].clone();
    until("the walk has ended", async || {
        let stands = desk.get("/admin/reconciliation").await.body;
        let ended = &stands["run"]["ended"];
        (ended["number"].as_u64() >= number.as_u64()).then(|| assert_eq!(ended["completed"], true, "{stands:#}"))
    })
    .await;
    service.stop();
}
