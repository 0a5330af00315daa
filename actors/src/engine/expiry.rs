//! Purges expired nonces, revocations, login codes and idempotency records.

use purser_storage::{Batch, Condition, Row, RowKey, StoreError, Write, codec};

use super::Inner;
use crate::entity::account::LoginGrant;
use crate::kernel::table;

impl Inner {
    /// Deletes expired nonces, revocations, login codes and idempotency records. Their keys begin with the expiry,
    /// except for codes, whose rows have it.
    pub(super) async fn purge_expired(&self) -> Result<(), StoreError> {
        const PAGE: usize = 500;
        let now_s = self.clock.now().seconds();
        for name in [
            table::USED_NONCE,
            table::LOGIN_CODE,
            table::REVOKED_SESSION,
            table::IDEMPOTENCY_EXPIRY,
        ] {
            let mut after = None;
            loop {
                let page = self.store.scan(&[name], after.as_deref(), PAGE).await?;
                after = page.last().map(|(key, _)| key.clone());
                let full = page.len() == PAGE;
                let (old, young): (Vec<_>, Vec<_>) = page
                    .into_iter()
                    .partition(|(key, row)| expiry(name, key, row).is_some_and(|e| e < now_s));
                if !old.is_empty() {
                    self.store.commit(purge_table(old), Box::new(|_| {}));
                }
                // Keys that begin with the expiry are ordered by it: after the first unexpired one, none has expired.
                if !full || (name != table::LOGIN_CODE && !young.is_empty()) {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// The batch that deletes these rows. An expired idempotency record is deleted with its expiry row. If the key was used
/// again meanwhile, that row is gone, and the batch of this page fails until the next sweep.
fn purge_table(old: Vec<(RowKey, Row)>) -> Batch {
    let mut batch = Batch::default();
    for (key, _) in old {
        if key.first() == Some(&table::IDEMPOTENCY_EXPIRY) {
            let answer = table::idempotency_of_expiry(&key).map(|key| Write::Delete { key });
            batch.conditions.push(Condition::Present(key.clone()));
            batch.writes.extend(answer);
        }
        batch.writes.push(Write::Delete { key });
    }
    batch
}

/// The second at which a row expires.
fn expiry(name: u8, key: &[u8], row: &Row) -> Option<u64> {
    if name == table::LOGIN_CODE {
        return codec::decode(&row.value).ok().map(|grant: LoginGrant| grant.expires_s);
    }
    key.get(1..)
        .and_then(|k| k.first_chunk())
        .map(|b| u64::from_be_bytes(*b))
}
