//! Sealed data outside of entities: customer documents across a backup, and recorded responses of paid calls.

use purser_actors::entity::wallet_payment;
use purser_actors::id::{Network, WalletPaymentId};
use purser_actors::kernel::{OutboxJob, table};
use purser_storage::{Write, codec};
use serde_json::json;

use super::agent::Agent;
use super::banking::{DOCUMENT_BASE64, application_answers, application_is, profile, quick, result};
use super::host::{Host, text};
use super::http::ServiceClient;
use super::owner::Owner;
use super::restarts::key_line;
use super::restore::backup;
use super::seller::Seller;
use super::verify::{assert_problem, rewritten};

#[tokio::test(flavor = "multi_thread")]
async fn case_66_documents_are_restored_or_reported_missing() {
    // Checks: a document that the lost history replaced is restored from the backup, and its application is submitted
    // with it. A corrupt file restores nothing. A missing file or document is reported, and everything else exists.
    let host = quick();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let agent = Agent::new(Network::Base);
    let token = agent.token(&site).await;
    Owner::of(&site, &agent).await.verify(&site, &token).await;
    result(&site, &token, "createBankingProfile", profile()).await;
    result(&site, &token, "updateBankingApplicationDetails", application_answers()).await;
    let paper = json!({"type": "proof_of_address", "content": DOCUMENT_BASE64});
    let uploaded = result(&site, &token, "uploadBankingDocument", paper.clone()).await;
    let id = uploaded["application"]["documents"][0]["documentId"]
        .as_str()
        .unwrap()
        .to_owned();
    service.stop();
    let file = backup(&host);
    let beside = format!("{file}.documents");
    let sealed = host.data().join("documents").join(&id);
    let (original, hidden) = (std::fs::read(&beside).unwrap(), host.sibling_path("hidden"));
    std::fs::rename(&sealed, &hidden).unwrap();
    let lacks = host.run(&["backup", &file, "--force"]);
    assert!(
        !lacks.status.success() && text(&lacks).contains(&id),
        "{}",
        text(&lacks)
    );
    std::fs::rename(&hidden, &sealed).unwrap();

    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = agent.token(&site).await;
    result(&site, &token, "uploadBankingDocument", paper).await;
    assert!(!sealed.exists(), "the lost history replaced it");
    service.stop();
    std::fs::rename(host.data().join("store"), host.sibling_path("lost")).unwrap();
    let store = host.data().join("store");
    std::fs::write(&beside, &original[..original.len() - 1]).unwrap();
    let damaged = host.run(&["restore", &file]);
    assert!(!damaged.status.success() && !store.exists(), "{}", text(&damaged));
    std::fs::remove_file(&beside).unwrap();
    let without = host.run(&["restore", &file]);
    assert!(
        !without.status.success() && text(&without).contains(&id),
        "{}",
        text(&without)
    );
    assert!(store.exists(), "all else is restored");
    std::fs::rename(&store, host.sibling_path("without")).unwrap();
    std::fs::write(&beside, &original).unwrap();
    let restored = host.run(&["restore", &file]);
    assert!(restored.status.success() && sealed.exists(), "{}", text(&restored));

    let service = host.start();
    let site = ServiceClient::of(&service);
    let token = agent.token(&site).await;
    let application = result(&site, &token, "getBankingApplication", json!({})).await;
    assert_eq!(application["application"]["documents"][0]["documentId"], json!(id));
    result(&site, &token, "submitBankingApplication", json!({})).await;
    application_is(&site, &token, "approved").await;
    service.stop();
    host.assert_verified();
}

/// A stopped service whose agent has paid an external seller. Returns the wallet payment, and the vault keys before and
/// after a second key.
async fn stopped_host_with_wallet_payment() -> (Host, WalletPaymentId, [String; 2]) {
    let seller = Seller::open().await;
    let listed = format!("[\"{}\"]", seller.authority());
    let host = Host::new().with("PURSER_OUTBOUND__ALLOWED_HOSTS", &listed);
    let keys = host.data().join("vault.keys");
    let service = host.start();
    let site = ServiceClient::of(&service);
    seller.settles_on(&service.url);
    let agent = Agent::new(Network::Solana);
    let token = agent.token(&site).await;
    result(&site, &token, "createAgentWallet", json!({})).await;
    let faucet = json!({"wallet": Seller::address(), "amount": "1"});
    assert_eq!(site.post("/sandbox/faucet", &faucet).await.status, 200);
    service.stop();
    let old = std::fs::read_to_string(&keys).unwrap();
    let both = format!("{old}{}", key_line([7; 32]));
    std::fs::write(&keys, &both).unwrap();
    let service = host.start();
    let site = ServiceClient::of(&service);
    seller.settles_on(&service.url);
    let token = agent.token(&site).await;
    let call_data = json!({"url": format!("http://{}/paid", seller.authority()), "expectedNetwork": "solana"});
    let paid = result(&site, &token, "agentX402Pay", call_data).await;
    assert_eq!(paid["status"], "settled", "{paid}");
    let wallet_payment = paid["walletPayment"]["walletPaymentId"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    service.stop();
    host.assert_verified();
    (host, wallet_payment, [old, both])
}

#[tokio::test(flavor = "multi_thread")]
async fn case_71_service_needs_the_key_of_wallet_payment_records() {
    // Checks: the wallet keys are sealed under the first vault key, the call and its response under the second. Without
    // the second key the service does not start; with it the response is readable.
    let (host, wallet_payment, [old, both]) = stopped_host_with_wallet_payment().await;
    let keys = host.data().join("vault.keys");
    std::fs::write(&keys, old).unwrap();
    let Err(startup_error) = host.try_start() else {
        panic!("started without the key")
    };
    assert!(startup_error.contains("vault"), "{startup_error}");
    std::fs::write(&keys, both).unwrap();
    drop((host.start(), wallet_payment));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_70_verify_reports_missing_and_orphaned_wallet_payment_records() {
    // Checks: a missing record, its missing scheduled job, and a record without a wallet payment are each found by the
    // id of the wallet payment.
    let (host, wallet_payment, _) = stopped_host_with_wallet_payment().await;
    let name = wallet_payment.to_string();
    let words = |key: &purser_storage::RowKey| table::chunk_index(key).is_some_and(|(of, _)| of == wallet_payment);
    let gone = |key: &purser_storage::RowKey| Some(vec![Write::Delete { key: key.clone() }]);
    let (copy, changed) = rewritten(&host, "words", &[table::HTTP_RECORD], |key, _| {
        words(key).then(|| gone(key)).flatten()
    })
    .await;
    assert!(changed >= 3, "{changed} pieces");
    assert_problem(&host, &copy, "wallet_payment.request_mismatch", &name);
    let (copy, changed) = rewritten(&host, "timer", &[table::TIMER], |key, row| {
        let outbox_job: OutboxJob = codec::decode(&row.value).unwrap();
        (outbox_job.job == wallet_payment::Job::PurgeHttpRecord(wallet_payment))
            .then(|| gone(key))
            .flatten()
    })
    .await;
    assert_eq!(changed, 1);
    assert_problem(&host, &copy, "wallet_payment.request_mismatch", &name);
    let other = WalletPaymentId(1);
    let (copy, _) = rewritten(&host, "orphaned", &[table::HTTP_RECORD], |key, row| {
        words(key).then(|| {
            vec![Write::Put {
                key: table::http_record_chunk(other, 0, 0),
                revision: 0,
                value: row.value.to_vec(),
            }]
        })
    })
    .await;
    assert_problem(&host, &copy, "wallet_payment.request_mismatch", &other.to_string());
}
