//! What the engine forgets by itself: nonces, revocations, login codes and remembered answers whose time is over.

use purser_storage::{Batch, Condition, Row, RowKey, StoreError, Write, codec};

use super::Inner;
use crate::account::LinkGrant;
use crate::kernel::table;

impl Inner {
    /// Deletes nonces, revocations, login codes and remembered answers that no longer matter. The keys begin with the
    /// expiry, but for codes, whose rows tell.
    pub(super) async fn forget_expired(&self) -> Result<(), StoreError> {
        const PAGE: usize = 500;
        let now_s = self.clock.now().seconds();
        for name in [table::NONCE, table::LINK, table::REVOKED, table::MEMO_END] {
            let mut after = None;
            loop {
                let page = self.store.scan(&[name], after.as_deref(), PAGE).await?;
                after = page.last().map(|(key, _)| key.clone());
                let full = page.len() == PAGE;
                let (old, young): (Vec<_>, Vec<_>) = page
                    .into_iter()
                    .partition(|(key, row)| expiry(name, key, row).is_some_and(|e| e < now_s));
                if !old.is_empty() {
                    self.store.commit(forgetting(old), Box::new(|_| {}));
                }
                // Keys that begin with the expiry are in its order: behind the first young one all are young.
                if !full || (name != table::LINK && !young.is_empty()) {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// The batch that deletes these rows. With the end of a remembered answer goes the answer, unless its key was used again
/// meanwhile: then the end is gone, and nothing of this page until the next sweep.
fn forgetting(old: Vec<(RowKey, Row)>) -> Batch {
    let mut batch = Batch::default();
    for (key, _) in old {
        if key.first() == Some(&table::MEMO_END) {
            let answer = table::memo_of_end(&key).map(|key| Write::Delete { key });
            batch.conditions.push(Condition::Present(key.clone()));
            batch.writes.extend(answer);
        }
        batch.writes.push(Write::Delete { key });
    }
    batch
}

/// The second after which a row is worthless.
fn expiry(name: u8, key: &[u8], row: &Row) -> Option<u64> {
    if name == table::LINK {
        return codec::decode(&row.value).ok().map(|grant: LinkGrant| grant.expires_s);
    }
    key.get(1..)
        .and_then(|k| k.first_chunk())
        .map(|b| u64::from_be_bytes(*b))
}
