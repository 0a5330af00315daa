//! Actor counts of a registry, for the supervision tree's display.

use ractor::ActorId;

use super::{ActorSlot, EntityRegistry};
use crate::kernel::Entity;

/// Actor counts of one entity kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActorCounts {
    /// Entities with an actor.
    pub active: usize,
    /// Entities that are being loaded or passivated.
    pub in_transition: usize,
    /// Messages that wait for those entities.
    pub queued: usize,
}

impl<E: Entity> EntityRegistry<E> {
    /// Current actor counts.
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

    /// Id of the supervisor.
    pub(crate) fn supervisor(&self) -> ActorId {
        self.core.supervisor.get_id()
    }
}
