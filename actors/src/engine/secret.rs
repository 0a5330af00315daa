//! The key from which payment ids are derived.

use std::sync::Arc;

use purser_storage::{Batch, Condition, Store, Write, codec};

use super::{StartError, commit};
use crate::kernel::table;
use crate::port::Entropy;

const CLAIM_SECRET: &str = "claim-secret";

/// The key from which payment ids are derived, if the store has one yet.
pub(super) async fn stored_secret(store: &dyn Store) -> Result<Option<[u8; 32]>, StartError> {
    let row = store.read(&table::meta(CLAIM_SECRET)).await?;
    let damaged = |_| StartError::Corrupt("claim secret", codec::DecodeError::Truncated);
    row.map(|row| (*row.value).try_into().map_err(damaged)).transpose()
}

/// The key from which payment ids are derived. Created once for the lifetime of the store.
pub(super) async fn claim_secret(store: &Arc<dyn Store>, entropy: &Arc<dyn Entropy>) -> Result<[u8; 32], StartError> {
    let key = table::meta(CLAIM_SECRET);
    if let Some(stored) = stored_secret(&**store).await? {
        return Ok(stored);
    }
    let mut secret = [0; 32];
    secret[..16].copy_from_slice(&entropy.random().to_be_bytes());
    secret[16..].copy_from_slice(&entropy.random().to_be_bytes());
    let batch = Batch {
        conditions: vec![Condition::Absent(key.clone())],
        writes: vec![Write::Put {
            key,
            revision: 0,
            value: secret.to_vec(),
        }],
        ..Batch::default()
    };
    commit(&**store, batch).await.map_err(StartError::Commit)?;
    Ok(secret)
}
