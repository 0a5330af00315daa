//! The audit log is complete: every row exists, in its position, and matches the hash in the next row. The first
//! mismatch is reported; nothing after it is proved.

use std::collections::BTreeMap;

use purser_actors::id::Wallet;
use purser_actors::kernel::table;
use purser_actors::operator::AuditRecord;
use purser_storage::{Store, StoreError, codec};
use sha2::{Digest as _, Sha256};

use super::{VerifyReport, each_row};

/// Action of a record that is a note on a customer.
const NOTE: &str = "customer.note";

struct StoredAuditRow {
    number: Option<u64>,
    value: Vec<u8>,
}

pub(super) async fn check(store: &dyn Store, report: &mut VerifyReport) -> Result<(), StoreError> {
    let mut rows = Vec::new();
    each_row(store, &[table::AUDIT_LOG], |key, row| {
        let number = key.get(1..).and_then(|rest| rest.try_into().ok());
        rows.push(StoredAuditRow {
            number: number.map(u64::from_be_bytes),
            value: row.value.to_vec(),
        });
    })
    .await?;
    report.audit_entries = rows.len();
    let newest = store.read(&table::meta("audit-head")).await?;
    let newest = newest.map(|row| (row.revision, row.value.to_vec()));
    if let Err((number, what)) = chained(&rows, newest) {
        report.report("audit.chain_broken", number, what);
    }
    check_notes(store, &rows, report).await
}

/// Each note on a customer has a row of its account that leads to it, and there are no other such rows.
async fn check_notes(
    store: &dyn Store,
    records: &[StoredAuditRow],
    report: &mut VerifyReport,
) -> Result<(), StoreError> {
    let mut expected: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for row in records {
        let Ok(audit) = codec::decode::<AuditRecord>(&row.value) else {
            continue;
        };
        if audit.action == NOTE
            && let (Some(number), Ok(account)) = (row.number, audit.subject.parse::<Wallet>())
        {
            expected.insert(table::customer_note(&account, number).to_vec(), number);
        }
    }
    let mut stray = Vec::new();
    each_row(store, &[table::CUSTOMER_NOTE], |key, row| match expected.get(key) {
        Some(number) if *number == row.revision => drop(expected.remove(key)),
        _ => stray.push(row.revision),
    })
    .await?;
    for number in stray {
        report.report(
            "audit.note_index",
            number,
            "a row leads to a record that is no note on its account",
        );
    }
    for number in expected.into_values() {
        report.report("audit.note_index", number, "no row leads to the note");
    }
    Ok(())
}

/// The number of the first wrong row, and the reason.
fn chained(rows: &[StoredAuditRow], newest: Option<(u64, Vec<u8>)>) -> Result<(), (u64, String)> {
    let (last, newest) = newest.unwrap_or_default();
    let mut before = vec![0; 32];
    for (n, row) in (1..).zip(rows) {
        if row.number != Some(n) {
            return Err((n, "it is missing".to_owned()));
        }
        if n > last {
            return Err((n, format!("it is behind the newest, which is {last}")));
        }
        let audit: AuditRecord = codec::decode(&row.value).map_err(|error| (n, error.to_string()))?;
        if audit.position.sequence != n {
            return Err((n, format!("it says that it is {}", audit.position.sequence)));
        }
        let hash = Sha256::digest(&row.value).to_vec();
        if audit.position.previous_hash[..] != *before {
            // One of the two was changed: this one, if the hash in the next row does not match it either.
            let next = rows.get(n as usize);
            let behind = next.map_or(Some(newest), |next| link(&next.value));
            let broken = if behind.is_some_and(|known| known == hash) {
                n - 1
            } else {
                n
            };
            return Err((broken, "it is not as the one behind it knows it".to_owned()));
        }
        before = hash;
    }
    match rows.len() as u64 {
        number if number < last => Err((number + 1, "it is missing".to_owned())),
        _ if last > 0 && before != newest => Err((last, "it is not as it was when it was the newest".to_owned())),
        _ => Ok(()),
    }
}

/// The link in a row to the previous one.
fn link(row: &[u8]) -> Option<Vec<u8>> {
    let audit: AuditRecord = codec::decode(row).ok()?;
    Some(audit.position.previous_hash.to_vec())
}
