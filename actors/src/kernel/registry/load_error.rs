//! Snapshots that cannot be loaded. Code that reads many rows skips them, so that they do not block the others.

use dashmap::mapref::entry::Entry;
use purser_storage::{StoreError, codec};

use super::{ActorSlot, EntityRegistry, RegistryCore};
use crate::kernel::Entity;
use crate::kernel::ask::EntityKey;

/// Reason why a snapshot cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The bytes are corrupt.
    #[error("snapshot of {0}: {1}")]
    Corrupt(String, codec::DecodeError),
}

impl<E: Entity> EntityRegistry<E> {
    /// As [`EntityRegistry::read`], for code that reads many rows. A corrupt row is logged by its id, counted with
    /// those that failed to load too often, and returned as `None`.
    ///
    /// # Errors
    /// When the store did not answer: the state of the row is unknown, and a later attempt may read it.
    pub async fn read_or_skip_corrupt(&self, id: &E::Id) -> Result<Option<(E, u64)>, StoreError> {
        match self.read(id).await {
            Ok(read) => Ok(read),
            Err(LoadError::Store(error @ (StoreError::Io(_) | StoreError::Expired { .. }))) => Err(error),
            Err(error) => {
                self.core.leave_out(EntityKey::of::<E>(id), &error);
                Ok(None)
            }
        }
    }
}

impl RegistryCore {
    fn leave_out(&self, key: EntityKey, error: &LoadError) {
        // An active entity has its state in memory and stays.
        let is_known = match self.slots.entry(key) {
            Entry::Occupied(slot) => matches!(slot.get(), ActorSlot::Quarantined),
            Entry::Vacant(free) => {
                free.insert(ActorSlot::Quarantined);
                false
            }
        };
        if !is_known {
            let (kind, id) = (self.entity_type.kind.name(), self.shown_id(key));
            tracing::error!(kind, %id, %error, "an entity is damaged and left out");
        }
    }
}
