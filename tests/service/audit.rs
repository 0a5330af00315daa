//! The audit log: operator actions in a hash chain.

use purser_actors::kernel::table;
use purser_actors::operator::AuditRecord;
use purser_storage::{Write, codec};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::host::Host;
use super::operator_client::OperatorClient;
use super::verify::{assert_problem, rewritten};

/// A stopped service with six audit records: the first token and five more.
async fn acted() -> Host {
    let host = Host::new();
    let service = host.start();
    let operator = OperatorClient::first(&host, &service);
    for name in ["ana", "ben", "eva", "kim"] {
        operator.add_operator(name, "support").await;
    }
    operator.done("/admin/tokens/revoke", json!({"name": "kim"})).await;
    service.stop();
    assert_eq!(host.assert_verified()["audit_entries"], 6);
    host
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_records_form_a_hash_chain_over_pages_and_kills() {
    // Checks: Concurrent records, also over a kill, form one chain without a gap or a branch. Pages continue where the
    // last one ended and include the hashes.
    let host = Host::new();
    let service = host.start();
    let operator = OperatorClient::first(&host, &service);
    let names: Vec<String> = (0..8).map(|n| format!("op{n}")).collect();
    let operators = names.iter().map(|name| operator.add_operator(name, "read-only"));
    futures_util::future::join_all(operators).await;
    service.kill();
    let service = host.start();
    let operator = OperatorClient::first(&host, &service);
    operator.add_operator("last", "read-only").await;
    let (mut acts, mut after): (Vec<Value>, String) = (Vec::new(), String::new());
    loop {
        let page = operator.get(&format!("/admin/audit?limit=3{after}")).await.body;
        let Some(next) = page["next_after"].as_str() else { break };
        acts.extend(page["entries"].as_array().unwrap().iter().cloned());
        after = format!("&after={next}");
    }
    assert_eq!(acts.len(), 10);
    let mut before = json!("0".repeat(64));
    for (n, act) in (1..).zip(&acts) {
        assert_eq!((&act["sequence"], &act["previous_hash"]), (&json!(n), &before), "{act}");
        before = act["hash"].clone();
    }
    service.stop();
    host.assert_verified();
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_names_the_first_changed_audit_record() {
    // Checks: A flipped byte, a changed and resealed text, and a record deleted in the middle or at the end are each
    // reported by number. Unchanged records are not reported.
    let host = acted().await;
    let number = |key: &[u8]| u64::from_be_bytes(key[1..].try_into().unwrap());
    for (name, nth, byte) in [("first", 1, 0), ("middle", 3, 20), ("last", 6, 30)] {
        let copy = format!("flipped-{name}");
        let flipped = rewritten(&host, &copy, &[table::AUDIT_LOG], |key, row| {
            let mut value = row.value.to_vec();
            let index = value.len().min(byte + 1) - 1;
            value[index] ^= 1;
            let (key, revision) = (key.clone(), row.revision);
            (number(&key) == nth).then(|| vec![Write::Put { key, revision, value }])
        });
        let (copy, changed) = flipped.await;
        assert_eq!(changed, 1);
        assert_problem(&host, &copy, "audit.chain_broken", &nth.to_string());
    }
    for nth in [1, 4, 6] {
        let copy = format!("reworded-{nth}");
        let reworded = rewritten(&host, &copy, &[table::AUDIT_LOG], |key, row| {
            let mut audit: AuditRecord = codec::decode(&row.value).unwrap();
            audit.act.operator = "someone else".to_owned();
            let (key, revision, value) = (key.clone(), row.revision, codec::encode(&audit));
            (number(&key) == nth).then(|| vec![Write::Put { key, revision, value }])
        });
        assert_problem(&host, &reworded.await.0, "audit.chain_broken", &nth.to_string());
    }
    for nth in [2, 6] {
        let copy = format!("gone-{nth}");
        let gone = rewritten(&host, &copy, &[table::AUDIT_LOG], |key, _| {
            let key = key.clone();
            (number(&key) == nth).then(|| vec![Write::Delete { key }])
        });
        assert_problem(&host, &gone.await.0, "audit.chain_broken", &nth.to_string());
    }
    // The record is forged consistently; only the next record's hash reveals it.
    let forged = rewritten(&host, "forged", &[table::AUDIT_LOG], |key, row| {
        let mut audit: AuditRecord = codec::decode(&row.value).unwrap();
        audit.position.previous_hash = Sha256::digest("another past").into();
        let (key, revision, value) = (key.clone(), row.revision, codec::encode(&audit));
        (number(&key) == 5).then(|| vec![Write::Put { key, revision, value }])
    });
    assert_problem(&host, &forged.await.0, "audit.chain_broken", "5");
}
