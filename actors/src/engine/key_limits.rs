//! Limits of API keys: what the owner sets, and what the sessions of a key have spent.
//!
//! The spends of one key take turns, so that a key with many calls at once loses none to the condition of its row.

use purser_storage::{Store, StoreError, codec};

use super::claim_lock::{ClaimLock, ClaimLocks};
use super::registries::Registries;
use super::{Engine, OperationError};
use crate::entity::api_key::{Command, KeyAllowance, KeyLimits, KeyUsage, Rejection};
use crate::id::ApiKeyId;
use crate::kernel::registry::LoadError;
use crate::kernel::table;
use crate::money::Usdc;

impl Engine {
    /// Sets the limits of an API key. The caller has verified that the owner requests it.
    ///
    /// # Errors
    /// When the key does not exist or was revoked.
    pub async fn set_api_key_limits(&self, id: ApiKeyId, limits: KeyLimits) -> Result<(), OperationError<Rejection>> {
        self.ask_api_key(id, &Command::SetLimits(limits)).await
    }

    /// What the sessions of an API key spent or reserved today (UTC).
    ///
    /// # Errors
    /// When storage fails.
    pub async fn api_key_spent_today(&self, id: ApiKeyId) -> Result<Usdc, StoreError> {
        let (usage, _) = read_usage(&*self.0.store, id).await?;
        Ok(usage.used_on(self.0.clock.now()))
    }

    /// Limits and usage of a key for one spend. To be read while the key's turn is held.
    pub(super) async fn key_allowance(&self, id: ApiKeyId) -> Result<KeyAllowance, LoadError> {
        read_allowance(&self.0.registries, &*self.0.store, id).await
    }

    /// The turn of a key's spend.
    pub(super) async fn key_turn(&self, id: Option<ApiKeyId>) -> Option<ClaimLock> {
        key_turn(&self.0.key_turns, id).await
    }
}

/// The turn of a key's spend.
pub(super) async fn key_turn(turns: &ClaimLocks, id: Option<ApiKeyId>) -> Option<ClaimLock> {
    match id {
        Some(id) => Some(ClaimLock::acquire(turns, id.0).await),
        None => None,
    }
}

/// Limits and usage of a key.
pub(super) async fn read_allowance(
    registries: &Registries,
    store: &dyn Store,
    id: ApiKeyId,
) -> Result<KeyAllowance, LoadError> {
    let key = registries.api_keys.read(&id).await?;
    let Some((key, _)) = key else {
        return Err(StoreError::Corrupt(format!("{id} spends and is not there")).into());
    };
    let (usage, revision) = read_usage(store, id).await?;
    Ok(KeyAllowance {
        key: id,
        limits: key.limits,
        usage,
        revision,
    })
}

async fn read_usage(store: &dyn Store, id: ApiKeyId) -> Result<(KeyUsage, u64), StoreError> {
    let Some(row) = store.read(&table::key_usage(id)).await? else {
        return Ok((KeyUsage::default(), 0));
    };
    let usage = codec::decode(&row.value).map_err(|e| StoreError::Corrupt(e.to_string()))?;
    Ok((usage, row.revision))
}
