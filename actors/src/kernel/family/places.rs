//! How the actors of a family stand, for whoever looks at the tree.

use ractor::ActorId;

use super::{Family, Slot};
use crate::kernel::Entity;

/// Actors of one kind, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Entities with an actor.
    pub active: usize,
    /// Entities that are being loaded, or put to rest.
    pub waiting: usize,
    /// Messages that wait for those.
    pub queued: usize,
}

impl<E: Entity> Family<E> {
    /// How the actors stand.
    pub fn places(&self) -> Places {
        let mut places = Places::default();
        for slot in &self.core.slots {
            match slot.value() {
                Slot::Active { .. } => places.active += 1,
                Slot::Waiting(queue) => {
                    places.waiting += 1;
                    places.queued += queue.len();
                }
                Slot::Quarantined => {}
            }
        }
        places
    }

    /// Who supervises them.
    pub(crate) fn supervisor(&self) -> ActorId {
        self.core.guardian.get_id()
    }
}
