//! Commands next to a running service: backup, verify and reconcile.

use std::fs::File;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::banking::{DOCUMENT_BASE64, application_answers, profile, quick, result};
use super::host::{Host, Service, text};
use super::http::{ServiceClient, client, send_to_operator, until};
use super::operator_client::OperatorClient;
use super::owner::Owner;

const CARD: &str = "/get-card?amount=5";

/// The operator route that serves copies rejects wallet tokens and operators who are not administrators.
async fn assert_only_administrators_copy(host: &Host, service: &Service, wallets: &str) {
    let operator = OperatorClient::first(host, service);
    let reader = operator.add_operator("rita", "read-only").await;
    for (token, status) in [(reader.token.as_str(), 403), (wallets, 401)] {
        let request = client()
            .get(service.operator_url("/copy?part=store"))
            .bearer_auth(token);
        assert_eq!(send_to_operator(request).await.unwrap().status, status);
    }
    // A HEAD would make the whole copy for a response without a body.
    let head = client().head(service.operator_url("/copy?part=store"));
    let head = head.bearer_auth(&operator.token).send().await.unwrap();
    assert_eq!(head.status().as_u16(), 405);
    let request = client()
        .get(service.operator_url("/copy?part=transfers&network=solana"))
        .bearer_auth(&operator.token);
    let listed = send_to_operator(request).await.unwrap();
    assert!(
        listed.body["transfers"].as_array().is_some_and(|list| !list.is_empty()),
        "{}",
        listed.text
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_and_verify_work_while_the_service_runs() {
    // Checks: While cards are bought all the time, `purser verify` checks the ledger and `purser backup` writes a store
    // that restores with its documents. `purser reconcile` reports the service's result. A restore needs the service
    // stopped.
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
    let upload = result(&site, &token, "uploadBankingDocument", paper).await;
    let id = upload["application"]["documents"][0]["documentId"]
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
async fn commands_name_a_service_they_cannot_reach() {
    // Checks: If the service using the data directory has no operator address, or its token is missing, the command
    // says what to do and writes nothing.
    let mut host = Host::new().with("PURSER_OPERATOR__LISTEN", "");
    let service = host.start();
    let file = host.sibling_path("backup");
    let request = host.run(&["backup", file.to_str().unwrap()]);
    assert!(
        !request.status.success() && text(&request).contains("stop it first"),
        "{}",
        text(&request)
    );
    host.set("PURSER_OPERATOR__LISTEN", "127.0.0.1:9");
    host.set("PURSER_OPERATOR_TOKEN", "any");
    let silent = host.run(&["verify"]);
    assert!(
        !silent.status.success() && text(&silent).contains("nothing answers at http://127.0.0.1:9"),
        "{}",
        text(&silent)
    );
    assert!(!file.exists());
    drop(service);
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_waits_for_the_lock_of_a_killed_service() {
    // Checks: While a killed service still holds the lock of its store, `purser verify` waits for the lock.
    let host = Host::new();
    host.start().kill();
    let lock = File::open(host.data().join("store").join("lock")).unwrap();
    lock.lock().unwrap();
    let ending = thread::spawn(move || {
        thread::sleep(Duration::from_secs(1));
        drop(lock);
    });
    host.assert_verified();
    ending.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn reconcile_with_a_running_service_compares_current_data() {
    // Checks: With an hour between two runs, `purser reconcile` finds no discrepancy at first. After a stray deposit it
    // names the deposit and exits 1. A run that doesn't end in time is an error. A run can be started over HTTP too.
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

    let operator = OperatorClient::first(&host, &service);
    let number = operator.done("/admin/reconciliation/run", json!({})).await["run"].clone();
    until("the run has ended", async || {
        let status = operator.get("/admin/reconciliation").await.body;
        let ended = &status["run"]["ended"];
        (ended["number"].as_u64() >= number.as_u64()).then(|| assert_eq!(ended["completed"], true, "{status:#}"))
    })
    .await;
    service.stop();
}
