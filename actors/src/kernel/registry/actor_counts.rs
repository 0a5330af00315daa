//! How the actors of a family stand, for whoever looks at the tree.

use ractor::ActorId;

use super::{ActorSlot, EntityRegistry};
use crate::kernel::Entity;

/// Actors of one kind, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActorCounts {
    /// Entities with an actor.
    pub active: usize,
    /// Entities that are being loaded, or put to rest.
    pub in_transition: usize,
    /// Messages that wait for those.
    pub queued: usize,
}

impl<E: Entity> EntityRegistry<E> {
    /// How the actors stand.
    pub fn actor_counts(&self) -> ActorCounts {
        let mut places = ActorCounts::default();
        for slot in &self.core.slots {
            match slot.value() {
                ActorSlot::Active { .. } => places.active += 1,
                ActorSlot::Activating(queue) => {
                    places.in_transition += 1;
                    places.queued += queue.len();
                }
                ActorSlot::Quarantined => {}
            }
        }
        places
    }

    /// Who supervises them.
    pub(crate) fn supervisor(&self) -> ActorId {
        self.core.supervisor.get_id()
    }
}
