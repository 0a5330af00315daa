//! The audit log: what operators do, each act a row that names the hash of the row before. The newest place is a row of its
//! own, which every act replaces on the condition that it is still the newest: two acts at once cannot both be next.

use purser_storage::codec;
use purser_storage::{Condition, RowKey, Store, StoreError, Write};
use sha2::{Digest, Sha256};

use crate::kernel::table;
use crate::operator::{AuditExtras, AuditPosition, AuditRecord};

/// Where the hash of the newest row is kept; its revision is that row's number.
const HEAD_KEY: &str = "audit";

/// The key of the newest row's hash.
pub fn head() -> RowKey {
    table::meta(HEAD_KEY)
}

/// What a row is known by to the one behind it.
pub fn hash_of(row: &[u8]) -> [u8; 32] {
    Sha256::digest(row).into()
}

/// The place behind everything that is written.
///
/// # Errors
/// When storage fails, or the row is no hash.
pub(crate) async fn next_position(store: &dyn Store) -> Result<AuditPosition, StoreError> {
    let Some(row) = store.read(&head()).await? else {
        return Ok(AuditPosition::FIRST);
    };
    let before = (*row.value).try_into();
    Ok(AuditPosition {
        sequence: row.revision.saturating_add(1),
        previous_hash: before
            .map_err(|_| StoreError::Corrupt("the newest hash of the audit log is none".to_owned()))?,
    })
}

/// What a batch needs to write down an act, behind whoever approved it, and what comes with it: it holds only if the act's place
/// is still the next.
pub(crate) fn append(mut audit: AuditRecord, beside: &AuditExtras) -> (Vec<Condition>, Vec<Write>) {
    let put = |key, revision, value| Write::Put { key, revision, value };
    let first = audit.position.sequence;
    let mut conditions = vec![Condition::Revision(head(), first.saturating_sub(1))];
    let mut writes = Vec::with_capacity(3 + beside.writes.len());
    if let Some((act, approval)) = &beside.approved_by {
        let value = codec::encode(&AuditRecord {
            position: audit.position,
            at: audit.at,
            act: act.clone(),
            action: "approval.approve".to_owned(),
            subject: approval.clone(),
            note: None,
        });
        audit.position = AuditPosition {
            sequence: first.saturating_add(1),
            previous_hash: hash_of(&value),
        };
        writes.push(put(table::audit(first), 0, value));
    }
    let (number, value) = (audit.position.sequence, codec::encode(&audit));
    writes.push(put(head(), number, hash_of(&value).to_vec()));
    writes.push(put(table::audit(number), 0, value));
    conditions.extend_from_slice(&beside.conditions);
    writes.extend_from_slice(&beside.writes);
    (conditions, writes)
}
