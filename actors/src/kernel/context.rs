//! Inputs of a decision besides its state and command.

use std::cell::Cell;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::id::ShardId;
use crate::kernel::event_actor::EventActor;
use crate::port::Timestamp;

/// The time of the decision and a source of ids. The same context gives the same ids in the same order, so a decision
/// is a function of its arguments.
#[derive(Debug)]
pub struct Context {
    /// Time of the decision.
    pub now: Timestamp,
    seed: u128,
    shard: ShardId,
    taken: Cell<u32>,
    actor: Option<Arc<EventActor>>,
}

impl Context {
    /// `seed` must be unpredictable to clients: every id of the decision is derived from it. `shard` is that of the
    /// deciding entity.
    pub const fn new(now: Timestamp, seed: u128, shard: ShardId) -> Self {
        Self {
            now,
            seed,
            shard,
            taken: Cell::new(0),
            actor: None,
        }
    }

    /// A decision that this request's sender causes.
    #[must_use]
    pub fn by(self, actor: Option<Arc<EventActor>>) -> Self {
        Self { actor, ..self }
    }

    /// Who causes the decision, if a request of a session does.
    pub fn actor(&self) -> Option<&EventActor> {
        self.actor.as_deref()
    }

    /// The next id, in the shard of the deciding entity: 116 bits that reveal nothing about the other ids.
    pub fn id(&self) -> u128 {
        let n = self.taken.get();
        self.taken.set(n + 1);
        let mut hash = Sha256::new();
        hash.update(self.seed.to_be_bytes());
        hash.update(n.to_be_bytes());
        let hash = hash.finalize();
        let mut id = [0; 16];
        id.copy_from_slice(&hash[..16]);
        self.shard.assign(u128::from_be_bytes(id))
    }
}
