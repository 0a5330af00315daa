//! Banking over HTTP: from a profile to moving money.

use purser_actors::id::Network;
use serde_json::{Value, json};

use super::agent::Agent;
use super::host::Host;
use super::http::{Response, ServiceClient, send, until};
use super::owner::{Owner, fault};

const TAX: &str = "987654321";
/// A document with a matching media type, in base64.
pub(crate) const DOCUMENT_BASE64: &str = "JVBERi0xLjcgbXkgYWRkcmVzcyBpcyBzZWNyZXQ=";
const DOCUMENT_TEXT: &str = "my address is secret";

/// Calls a function. `send` checks the response against the OpenAPI document.
pub(crate) async fn call(site: &ServiceClient<'_>, token: &str, name: &str, data: Value) -> Response {
    let request = site.request("POST", &format!("/{name}")).bearer_auth(token);
    send(request.json(&json!({"data": data}))).await.unwrap()
}

/// The result of a successful call.
pub(crate) async fn result(site: &ServiceClient<'_>, token: &str, name: &str, data: Value) -> Value {
    let answer = call(site, token, name, data).await;
    assert_eq!(answer.status, 200, "{name}: {}", answer.text);
    answer.body["result"].clone()
}

pub(crate) fn profile() -> Value {
    json!({"firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com", "country": "US"})
}

#[tokio::test(flavor = "multi_thread")]
async fn banking_profile_belongs_to_one_account() {
    // Checks: Each account has its own profile or none. A payment token may read and create one. Markup stays text.
    let service = Host::new().start();
    let site = ServiceClient::of(&service);
    let (ada, bob) = (Agent::new(Network::Base), Agent::new(Network::Solana));
    let bought = ada.buy(&site, "/get-card?amount=5").await;
    let payment_token = bought.body["auth"]["id_token"].as_str().unwrap().to_owned();
    let mut data = profile();
    data["lastName"] = json!("<b>Lovelace");
    let made = result(&site, &payment_token, "createBankingProfile", data).await;
    assert_eq!(made["profile"]["lastName"], "<b>Lovelace");
    let (ada, bob) = (ada.token(&site).await, bob.token(&site).await);
    let own = result(&site, &ada, "getBankingProfileStatus", json!(null)).await;
    assert_eq!((&own["status"], &own["profile"]), (&json!("open"), &made["profile"]));
    let other = result(&site, &bob, "getBankingProfileStatus", json!({})).await;
    assert_eq!((&other["status"], &other["profile"]), (&json!("none"), &Value::Null));
    let events = site.events(&ada, 0).await;
    assert!(events.iter().any(|event| event["type"] == "banking_profile.created"));
    site.wait_for_events(&ada, &["account.created"]).await;
    assert!(
        site.events(&bob, 0)
            .await
            .iter()
            .all(|event| event["type"] != "banking_profile.created")
    );
}

pub(crate) fn application_answers() -> Value {
    json!({"dateOfBirth": "1990-12-10", "phone": "+12025550123", "addressLine1": "1 Main St", "city": "Springfield",
        "state": "IL", "postalCode": "62701", "occupation": "Engineer", "sourceOfFunds": "Salary", "taxId": "987-65-4321"})
}

/// Creates a profile with this last name and submits its complete application. The owner must be verified.
async fn apply(site: &ServiceClient<'_>, token: &str, name: &str) -> Value {
    let mut who = profile();
    who["lastName"] = json!(name);
    result(site, token, "createBankingProfile", who).await;
    complete(site, token).await
}

/// Completes and submits the application of a profile.
async fn complete(site: &ServiceClient<'_>, token: &str) -> Value {
    result(site, token, "updateBankingApplicationDetails", application_answers()).await;
    let paper = json!({"type": "proof_of_address", "content": DOCUMENT_BASE64});
    result(site, token, "uploadBankingDocument", paper).await;
    result(site, token, "submitBankingApplication", json!({})).await
}

pub(crate) async fn application_is(site: &ServiceClient<'_>, token: &str, status: &str) -> Value {
    until(status, async || {
        let answer = result(site, token, "getBankingApplication", json!({})).await;
        (answer["application"]["status"] == status).then(|| answer["application"].clone())
    })
    .await
}

/// As [`apply`], and waits until the bank has approved it.
pub(crate) async fn approve(site: &ServiceClient<'_>, token: &str, name: &str) {
    apply(site, token, name).await;
    application_is(site, token, "approved").await;
}

/// As [`approve`], for an existing profile.
pub(crate) async fn approve_existing(site: &ServiceClient<'_>, token: &str) {
    complete(site, token).await;
    application_is(site, token, "approved").await;
}

/// Opens an account and waits until the bank has opened it.
pub(crate) async fn open_account(site: &ServiceClient<'_>, token: &str, kind: &str) -> Value {
    let made = result(site, token, "createBankingAccount", json!({"type": kind})).await;
    assert_eq!(made["account"]["status"], "pending");
    until("an open account", async || {
        let all = result(site, token, "listBankingAccounts", json!({})).await;
        let own = all["accounts"].as_array().unwrap().iter();
        let own = own
            .into_iter()
            .find(|one| one["accountId"] == made["account"]["accountId"]);
        own.filter(|one| one["status"] == "open").cloned()
    })
    .await
}

pub(crate) fn quick() -> Host {
    Host::new()
        .with("PURSER_SANDBOX__IDENTITY_CHECK_DELAY_MS", "10")
        .with("PURSER_SANDBOX__BANK_DELAY_MS", "100")
        .with("PURSER_SANDBOX__PAYOUT_DELAY_MS", "100")
}

/// Invalid answers and documents are rejected.
async fn assert_invalid_answers_rejected(site: &ServiceClient<'_>, token: &str) {
    for wrong in [
        json!({}),
        json!({"dateOfBirth": "1990-02-30"}),
        json!({"dateOfBirth": "2020-01-01"}),
        json!({"phone": "5550123"}),
        json!({"taxId": "12"}),
        json!({"city": ""}),
        json!({"town": "Springfield"}),
    ] {
        let refused = call(site, token, "updateBankingApplicationDetails", wrong.clone()).await;
        assert_eq!(refused.status, 400, "{wrong}: {}", refused.text);
    }
    for (content, status) in [("bm8gcGRm", 415), ("%%%", 400)] {
        let refused = call(
            site,
            token,
            "uploadBankingDocument",
            json!({"type": "other", "content": content}),
        )
        .await;
        assert_eq!(refused.status, status, "{}", refused.text);
    }
}

/// Creates a profile whose application lacks nearly everything.
async fn assert_missing(site: &ServiceClient<'_>, token: &str) {
    let missing = call(site, token, "getBankingApplication", json!({})).await;
    assert_eq!((missing.status, missing.code()), (404, "banking_profile_not_found"));
    let mut who = profile();
    who["lastName"] = json!("Wanted");
    result(site, token, "createBankingProfile", who).await;
    let early = call(site, token, "submitBankingApplication", json!({})).await;
    assert_eq!((early.status, early.code()), (409, "application_incomplete"));
    let lacks = early.body["error"]["missing"].as_array().unwrap();
    for name in ["dateOfBirth", "state", "taxId", "proof_of_address", "identity"] {
        assert!(lacks.contains(&json!(name)), "{name}: {lacks:?}");
    }
    let account = call(site, token, "createBankingAccount", json!({"type": "onramp"})).await;
    assert_eq!((account.status, account.code()), (409, "application_not_approved"));
    result(
        site,
        token,
        "updateBankingApplicationDetails",
        json!({"city": "Nowhere", "taxId": "111111111"}),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn banking_application_is_collected_submitted_and_decided() {
    // Checks: Missing items are named, answers merge, and documents are checked by their bytes. Only a verified owner's
    // complete application can be submitted. The bank asks for more, rejects or approves. No file, log or event
    // contains a secret.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    assert_missing(&site, &token).await;
    assert_invalid_answers_rejected(&site, &token).await;
    let updated = result(&site, &token, "updateBankingApplicationDetails", application_answers()).await;
    assert_eq!(updated["application"]["answers"]["city"], "Springfield");
    assert_eq!(updated["application"]["taxIdLast4"], "4321");
    let paper = json!({"type": "proof_of_address", "content": DOCUMENT_BASE64});
    result(&site, &token, "uploadBankingDocument", paper.clone()).await;
    let updated = result(&site, &token, "uploadBankingDocument", paper).await;
    assert_eq!(
        updated["application"]["documents"].as_array().unwrap().len(),
        1,
        "it was replaced"
    );
    assert_eq!(updated["application"]["documents"][0]["mediaType"], "application/pdf");
    assert_eq!(updated["application"]["missing"], json!(["identity"]));
    let unverified = call(&site, &token, "submitBankingApplication", json!({})).await;
    assert_eq!(unverified.body["error"]["missing"], json!(["identity"]));
    Owner::of(&site, &agent).await.verify(&site, &token).await;
    fault(&site, "/sandbox/bank", "lose_response", 1).await;
    result(&site, &token, "submitBankingApplication", json!({})).await;
    let incomplete = application_is(&site, &token, "incomplete").await;
    assert!(
        incomplete["requestedItems"].as_str().unwrap().contains("document"),
        "{incomplete}"
    );
    result(
        &site,
        &token,
        "uploadBankingDocument",
        json!({"type": "other", "content": DOCUMENT_BASE64}),
    )
    .await;
    result(&site, &token, "submitBankingApplication", json!({})).await;
    let closed = call(
        &site,
        &token,
        "updateBankingApplicationDetails",
        json!({"city": "Portland"}),
    )
    .await;
    assert_eq!((closed.status, closed.code()), (409, "application_locked"));
    application_is(&site, &token, "approved").await;
    let status = result(&site, &token, "getBankingProfileStatus", json!({})).await;
    assert_eq!(
        (&status["application"], &status["canOpenAccounts"]),
        (&json!("approved"), &json!(true))
    );
    let events: Vec<_> = site.events(&token, 0).await;
    let text = format!("{events:?}");
    assert!(!text.contains("Springfield") && !text.contains("2025550123"), "{text}");
    let decided = [
        "banking_application.submitted incomplete",
        "banking_application.incomplete submitted",
        "banking_application.approved submitted",
    ];
    site.wait_for_events(&token, &decided).await;
    service.stop();
    host.assert_verified();
    assert_not_served(&host, &[TAX, "987-65-4321", DOCUMENT_TEXT, DOCUMENT_BASE64]);
}

/// None of these values is in a stored file or the log.
pub(crate) fn assert_not_served(host: &Host, secrets: &[&str]) {
    let mut files = vec![host.data()];
    let mut seen = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        seen += 1;
        let bytes = std::fs::read(&path).unwrap();
        for secret in secrets {
            let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!found, "{secret} is in {}", path.display());
        }
    }
    assert!(seen > 5, "only {seen} files");
    for secret in secrets {
        assert!(!host.logged().contains(secret), "{secret} is in the log");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_uploads_leave_only_the_named_document() {
    // Checks: however many uploads of one type run at once, the directory has the bytes of the document that the
    // application names and no others. Uploads beyond the limit are rejected before their body is read.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    result(&site, &token, "createBankingProfile", profile()).await;
    let paper = json!({"type": "proof_of_address", "content": DOCUMENT_BASE64});
    let mut stored = 0;
    for _ in 0..5 {
        let uploads = (0..12).map(|_| call(&site, &token, "uploadBankingDocument", paper.clone()));
        for answer in futures_util::future::join_all(uploads).await {
            match answer.status {
                200 => stored += 1,
                status => assert_eq!((status, answer.code()), (503, "overloaded"), "{}", answer.text),
            }
        }
    }
    assert!(stored > 5, "{stored}");
    let read = result(&site, &token, "getBankingApplication", json!({})).await;
    let [document] = read["application"]["documents"].as_array().unwrap().as_slice() else {
        panic!("{read}");
    };
    let files = std::fs::read_dir(host.data().join("documents")).unwrap();
    let files: Vec<_> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files, [document["documentId"].as_str().unwrap()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn banking_application_has_at_most_ten_documents() {
    // Checks: The eleventh document is rejected and not stored.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = Agent::new(Network::Base).token(&site).await;
    result(&site, &token, "createBankingProfile", profile()).await;
    let paper = json!({"type": "other", "content": DOCUMENT_BASE64});
    for _ in 0..10 {
        result(&site, &token, "uploadBankingDocument", paper.clone()).await;
    }
    let more = call(&site, &token, "uploadBankingDocument", paper).await;
    assert_eq!(
        (more.status, more.code()),
        (409, "document_limit_reached"),
        "{}",
        more.text
    );
    let answer = result(&site, &token, "getBankingApplication", json!({})).await;
    assert_eq!(
        answer["application"]["documents"].as_array().unwrap().len(),
        10,
        "{answer}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_banking_application_can_be_resubmitted() {
    // Checks: The bank's rejection is reported with its reason. A change reopens the application.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Solana);
    let token = agent.token(&site).await;
    Owner::of(&site, &agent).await.verify(&site, &token).await;
    apply(&site, &token, "Refused").await;
    let rejected = application_is(&site, &token, "rejected").await;
    assert_eq!(rejected["rejectionReason"], "declined_by_bank");
    let again = result(
        &site,
        &token,
        "updateBankingApplicationDetails",
        json!({"occupation": "Actor"}),
    )
    .await;
    assert_eq!(
        (&again["application"]["status"], &again["application"]["missing"]),
        (&json!("incomplete"), &json!([]))
    );
    site.wait_for_events(&token, &["banking_application.rejected submitted"])
        .await;
    service.stop();
    host.assert_verified();
}
