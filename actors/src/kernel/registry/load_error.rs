//! Rows that are not what was written. Whoever goes through many rows leaves them out, so that they keep no other waiting.

use dashmap::mapref::entry::Entry;
use purser_storage::{StoreError, codec};

use super::{ActorSlot, EntityRegistry};
use crate::kernel::Entity;

/// A snapshot that cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The bytes are damaged.
    #[error("snapshot of {0}: {1}")]
    Corrupt(String, codec::DecodeError),
}

impl<E: Entity> EntityRegistry<E> {
    /// As [`Family::read`], for whoever goes through many: one that is damaged is told by its name, counted with those that
    /// failed to load too often, and taken for none.
    ///
    /// # Errors
    /// When the store did not answer: nothing is known of the row, and a later try may read it.
    pub async fn read_or_skip_corrupt(&self, id: &E::Id) -> Result<Option<(E, u64)>, StoreError> {
        match self.read(id).await {
            Ok(read) => Ok(read),
            Err(LoadError::Store(error @ (StoreError::Io(_) | StoreError::Expired { .. }))) => Err(error),
            Err(error) => {
                // Whoever is awake has its state in memory and stays.
                let is_known = match self.core.slots.entry(*id) {
                    Entry::Occupied(slot) => matches!(slot.get(), ActorSlot::Quarantined),
                    Entry::Vacant(free) => {
                        free.insert(ActorSlot::Quarantined);
                        false
                    }
                };
                if !is_known {
                    tracing::error!(kind = E::KIND.name(), %id, %error, "an entity is damaged and left out");
                }
                Ok(None)
            }
        }
    }
}
