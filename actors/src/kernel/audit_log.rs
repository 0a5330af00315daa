//! The audit log: one row per operator action, each with the hash of the previous row. The newest position is a row of
//! its own. Every action replaces it on the condition that it is still the newest, so two concurrent actions cannot
//! both be next.

use purser_storage::codec;
use purser_storage::{Condition, RowKey, Store, StoreError, Write};
use sha2::{Digest, Sha256};

use crate::kernel::table;
use crate::operator::{AuditAction, AuditExtras, AuditPosition, AuditRecord};

/// Name of the row with the newest hash; its revision is the number of the newest record.
const HEAD_KEY: &str = "audit-head";

/// Row key of the newest record's hash.
pub fn head() -> RowKey {
    table::meta(HEAD_KEY)
}

/// Hash of a record, as the next record contains it.
pub fn hash_of(row: &[u8]) -> [u8; 32] {
    Sha256::digest(row).into()
}

/// Position after the newest record.
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

/// Conditions and writes that record an action, after its approval and with its additional rows. The batch commits only
/// if the action's position is still the next.
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
            action: AuditAction::ApprovalApprove.name().to_owned(),
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
