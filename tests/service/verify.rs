//! `purser verify` detects planted errors, and the store recovers from every state that it must survive.

use std::path::PathBuf;
use std::sync::Arc;

use purser::config::DataDir;
use purser::config::{Config, ConfigSources};
use purser::service::dependencies;
use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::account::Account;
use purser_actors::entity::payment::{Payment, Status};
use purser_actors::id::{CardId, Network};
use purser_actors::kernel::{EntityKind, table};
use purser_actors::ledger::LedgerTransaction;
use purser_actors::money::Usdc;
use purser_storage::{Batch, Row, RowKey, Store, Write, codec};
use serde_json::Value;

use super::agent::Agent;
use super::host::{Host, copy_dir, text};
use super::http::{ServiceClient, until};

/// A stopped service with two cards and a credit, and the payments that bought them.
async fn used() -> (Host, Vec<(String, String)>) {
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let mut bought = Vec::new();
    for (network, path) in [
        (Network::Base, "/get-card?amount=5"),
        (Network::Solana, "/get-card?amount=25"),
        (Network::Base, "/get-card?amount=6.66"),
    ] {
        let agent = Agent::new(network);
        let payment = agent.payment(&site, path).await;
        let card = Agent::pay(&site, path, &payment).await.card().to_owned();
        let token = agent.token(&site).await;
        until("the issuer's response", async || {
            let read = site.get_as(&token, &format!("/get-card-data?card_id={card}")).await;
            let credited = site.get_as(&token, "/get-account-balance").await.body["balance"] != 0;
            (read.str("status") == Some("ready") || credited).then_some(())
        })
        .await;
        bought.push((path.to_owned(), payment));
    }
    service.stop();
    host.assert_verified();
    (host, bought)
}

/// Changes rows in a copy of the store.
pub(crate) async fn tampered(
    host: &Host,
    name: &str,
    prefix: &[u8],
    change: impl Fn(&RowKey, &Row) -> Option<Vec<u8>>,
) -> (PathBuf, usize) {
    rewritten(host, name, prefix, |key, row| {
        vec![Write::Put {
            key: key.clone(),
            revision: row.revision,
            value: change(key, row)?,
        }]
        .into()
    })
    .await
}

/// Writes and deletes rows in a copy of the store.
pub(crate) async fn rewritten(
    host: &Host,
    name: &str,
    prefix: &[u8],
    change: impl Fn(&RowKey, &Row) -> Option<Vec<Write>>,
) -> (PathBuf, usize) {
    let copy = host.sibling_path(name);
    copy_dir(&host.data(), &copy);
    let sources = ConfigSources {
        file: None,
        env: vec![("PURSER_STORAGE__SEGMENT_BYTES".to_owned(), "1048576".to_owned())],
        flags: vec![("data_dir".to_owned(), copy.display().to_string())],
    };
    let config = Config::load(&sources).unwrap();
    let store = dependencies::open_store(&config, &DataDir::create(&copy).unwrap()).unwrap();
    let rows = store.scan(prefix, None, 1_000).await.unwrap();
    let writes: Vec<Write> = rows
        .iter()
        .filter_map(|(key, row)| change(key, row))
        .flatten()
        .collect();
    let changed = writes.len();
    let (done, committed) = tokio::sync::oneshot::channel();
    let batch = Batch {
        writes,
        ..Batch::default()
    };
    store.commit(batch, Box::new(move |result| drop(done.send(result))));
    committed.await.unwrap().unwrap();
    tokio::task::spawn_blocking(move || Arc::clone(&store).close())
        .await
        .unwrap();
    (copy, changed)
}

/// Asserts that verify fails with this problem.
pub(crate) fn assert_problem(host: &Host, copy: &std::path::Path, rule: &str, subject: &str) {
    let (passed, report) = host.verify_on(copy);
    assert!(!passed, "{rule} went unnoticed");
    let findings = report["problems"].as_array().unwrap();
    let named = findings
        .iter()
        .any(|f| f["rule"] == rule && f["subject"].as_str().unwrap().contains(subject));
    assert!(named, "{rule} {subject} is not among {findings:#?}");
    // Also in the text output.
    let output = text(&host.run_on(&["verify"], copy));
    assert!(
        output.contains("PROBLEM") && output.contains(rule) && output.contains(subject),
        "{output}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn case_23_verify_reports_one_wrong_posting() {
    // Checks: one posting that is off by one unit, and one with a wrong amount on both sides, are reported with the id
    // of the cause.
    let (host, _) = used().await;
    let first = std::sync::Mutex::new(None);
    let only_first = |row: &Row| -> Option<LedgerTransaction> {
        let transaction: LedgerTransaction = codec::decode(&row.value).unwrap();
        let mut first = first.lock().unwrap();
        let cause = first.get_or_insert_with(|| transaction.cause.clone()).clone();
        (cause == transaction.cause).then_some(transaction)
    };
    let (unbalanced, changed) = tampered(&host, "unbalanced", &[table::LEDGER], |_, row| {
        let mut transaction = only_first(row)?;
        transaction.postings[0].atomic += 1;
        Some(codec::encode(&transaction))
    })
    .await;
    assert_eq!(changed, 1);
    let cause = first.lock().unwrap().clone().unwrap();
    assert_problem(&host, &unbalanced, "ledger.unbalanced", &cause);
    assert_problem(&host, &unbalanced, "ledger.balance_mismatch", "all postings");
    // The first two postings are the received amount: both sides have one unit more.
    let (shifted, _) = tampered(&host, "shifted", &[table::LEDGER], |_, row| {
        let mut transaction = only_first(row)?;
        transaction.postings[0].atomic += 1;
        transaction.postings[1].atomic -= 1;
        Some(codec::encode(&transaction))
    })
    .await;
    let rule = if cause.starts_with("card_") {
        "product.posting_mismatch"
    } else {
        "payment.received_mismatch"
    };
    assert_problem(&host, &shifted, rule, &cause);
    host.assert_verified();
}

fn entities(kind: EntityKind) -> [u8; 2] {
    [table::ENTITY, kind as u8]
}

#[tokio::test(flavor = "multi_thread")]
async fn case_65_verify_reports_one_wrong_snapshot() {
    // Checks: an account with one unit too much, a payment with a false refund, and a snapshot with a lost byte are
    // each reported.
    let (host, _) = used().await;
    let rich = std::sync::Mutex::new(String::new());
    let (copy, changed) = tampered(&host, "rich", &entities(EntityKind::Account), |_, row| {
        let mut account: Account = codec::decode(&row.value).unwrap();
        (account.balance > Usdc::ZERO).then(|| {
            *rich.lock().unwrap() = account.wallet.address();
            account.balance = Usdc::from_atomic(account.balance.atomic() + 1);
            codec::encode(&account)
        })
    })
    .await;
    assert_eq!(changed, 1);
    let wallet = rich.lock().unwrap().clone();
    assert_problem(&host, &copy, "account.balance_mismatch", &wallet);
    assert_problem(&host, &copy, "snapshot.content_mismatch", &wallet);

    let (copy, changed) = tampered(&host, "restated", &entities(EntityKind::Payment), |_, row| {
        let mut payment: Payment = codec::decode(&row.value).unwrap();
        payment.status = Status::Credited {
            transaction: payment.transaction()?.to_owned(),
        };
        Some(codec::encode(&payment))
    })
    .await;
    assert_eq!(changed, 3);
    assert_problem(&host, &copy, "snapshot.status_mismatch", "pay_");

    let (copy, _) = tampered(&host, "bitten", &entities(EntityKind::Card), |_, row| {
        let mut bytes = row.value.to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        Some(bytes)
    })
    .await;
    assert_problem(&host, &copy, "snapshot.corrupt", "card_");
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn case_12_verify_reports_one_wrong_outcome() {
    // Checks: a payment whose card belongs to another payment or does not exist, and a transfer that the chain does not
    // know, are each reported.
    let (host, _) = used().await;
    let wrong = std::sync::Mutex::new(None::<String>);
    let swap = |to: Option<CardId>| {
        let wrong = &wrong;
        move |key: &RowKey, row: &Row| {
            let mut payment: Payment = codec::decode(&row.value).unwrap();
            let id = u128::from_be_bytes(key[2..].try_into().unwrap());
            let name = purser_actors::id::PaymentId(id).to_string();
            let mut wrong = wrong.lock().unwrap();
            if wrong.get_or_insert_with(|| name.clone()) != &name {
                return None;
            }
            if let Status::Fulfilled { product, transaction } = &mut payment.status {
                match to {
                    Some(card) => *product = PurchasedProduct::Card(card),
                    None => "0xnowhere".clone_into(transaction),
                }
            }
            Some(codec::encode(&payment))
        }
    };
    let (copy, changed) = tampered(&host, "swapped", &entities(EntityKind::Payment), swap(Some(CardId(7)))).await;
    assert_eq!(changed, 1);
    let payment = wrong.lock().unwrap().clone().unwrap();
    assert_problem(&host, &copy, "payment.product_mismatch", &payment);
    assert_problem(&host, &copy, "snapshot.content_mismatch", &payment);
    let (copy, _) = tampered(&host, "unlanded", &entities(EntityKind::Payment), swap(None)).await;
    assert_problem(&host, &copy, "chain.transfer_missing", &payment);
    host.assert_verified();
}

/// Asserts that every replay gets its card and that the ledger balances.
async fn assert_replays_and_ledger(host: &Host, bought: &[(String, String)]) {
    let service = host.start();
    let site = ServiceClient::of(&service);
    for (path, payment) in bought {
        let again = Agent::pay(&site, path, payment).await;
        assert!(again.card().starts_with("card_") && again.body.get("auth").is_none());
    }
    assert_eq!(site.transfers().await.len(), bought.len());
    service.stop();
    assert_eq!(host.assert_verified()["entities"]["cards"], bought.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn case_65_deleted_snapshots_are_rebuilt() {
    // Checks: when the directory of sled is deleted, or every file in it is corrupt, the service rebuilds it
    // completely.
    let (host, bought) = used().await;
    let sled = sled_directory(&host);
    std::fs::remove_dir_all(&sled).unwrap();
    assert_replays_and_ledger(&host, &bought).await;
    let mut files = 0;
    for entry in std::fs::read_dir(&sled).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let noise: Vec<u8> = bytes.iter().map(|byte| byte ^ 0x5a).collect();
            std::fs::write(&path, noise).unwrap();
            files += 1;
        }
    }
    assert!(files > 0);
    assert_replays_and_ledger(&host, &bought).await;
}

fn sled_directory(host: &Host) -> PathBuf {
    let store = host.data().join("store");
    let directories = std::fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path());
    let mut sled = directories.filter(|path| path.join("conf").is_file());
    sled.next().unwrap_or_else(|| panic!("no sled in {}", store.display()))
}

#[tokio::test(flavor = "multi_thread")]
async fn case_66_corrupt_journal_is_rejected_with_its_position() {
    // Checks: with one byte changed in the middle of the journal, neither the service nor verify starts, and both
    // report the position. With the byte restored, everything exists.
    let (host, bought) = used().await;
    let store = host.data().join("store");
    let mut segments: Vec<PathBuf> = std::fs::read_dir(&store)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && path.metadata().unwrap().len() == 1_048_576)
        .collect();
    segments.sort();
    let segment = &segments[0];
    let good = std::fs::read(segment).unwrap();
    let used = good.iter().rposition(|byte| *byte != 0).unwrap();
    let mut bad = good.clone();
    bad[used / 3] ^= 0x10;
    std::fs::write(segment, &bad).unwrap();
    let Err(output) = host.try_start() else {
        panic!("served from a damaged journal")
    };
    let name = segment.file_name().unwrap().to_str().unwrap();
    assert!(
        output.contains("damaged") && output.contains(name) && output.contains("byte"),
        "{output}"
    );
    let verify = host.run(&["verify"]);
    assert!(
        !verify.status.success() && text(&verify).contains("damaged"),
        "{}",
        text(&verify)
    );
    std::fs::write(segment, &good).unwrap();
    assert_replays_and_ledger(&host, &bought).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_65_unwritable_data_directory_is_a_clear_error() {
    // Checks: a data directory that cannot be created, is a file, or belongs to another process gives a clear error.
    // The other process continues.
    let host = Host::new();
    let nowhere = host.run_on(&["serve"], std::path::Path::new("/proc/purser"));
    assert!(
        !nowhere.status.success() && text(&nowhere).contains("/proc/purser"),
        "{}",
        text(&nowhere)
    );
    let file = host.sibling_path("file");
    std::fs::write(&file, "not a directory").unwrap();
    let taken = host.run_on(&["serve"], &file);
    assert!(
        !taken.status.success() && text(&taken).contains("cannot create"),
        "{}",
        text(&taken)
    );

    let service = host.start();
    let Err(output) = host.try_start() else {
        panic!("two processes on one directory")
    };
    assert!(output.contains("in use by another process"), "{output}");
    let site = ServiceClient::of(&service);
    assert_eq!(
        Agent::new(Network::Base).buy(&site, "/get-card?amount=5").await.status,
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn case_66_backup_restores_and_corrupt_backup_is_rejected() {
    // Checks: after backup and restore through the binary, the ledger balances and every payment has its card. A backup
    // is replaced only by force. A backup with a changed byte and an existing store are rejected.
    let (mut host, bought) = used().await;
    let file = host.sibling_path("backup");
    let path = file.to_str().unwrap().to_owned();
    let made = host.run(&["backup", &path]);
    assert!(made.status.success(), "{}", text(&made));
    let again = host.run(&["backup", &path]);
    assert_eq!(again.status.code(), Some(2), "a backup was replaced: {}", text(&again));
    let forced = host.run(&["backup", &path, "--force"]);
    assert!(forced.status.success(), "{}", text(&forced));
    let over = host.run(&["restore", &path]);
    assert!(!over.status.success(), "restored over a store: {}", text(&over));

    let store = host.data().join("store");
    std::fs::rename(&store, host.sibling_path("lost")).unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let bad = host.sibling_path("bad");
    std::fs::write(&bad, &bytes).unwrap();
    let refused = host.run(&["restore", bad.to_str().unwrap()]);
    assert!(
        !refused.status.success(),
        "restored a damaged backup: {}",
        text(&refused)
    );
    assert!(!store.exists(), "an empty folder is left");

    let restored = host.run(&["restore", &path]);
    assert!(restored.status.success(), "{}", text(&restored));
    let report: Value = host.assert_verified();
    assert_eq!(report["entities"]["payments"], 3);
    host.set("RUST_LOG", "warn");
    assert_replays_and_ledger(&host, &bought).await;
}
