//! The supervision tree as it lives: whom the root and its supervisors have under them is asked of the actors themselves, and
//! only what each is for is told by whoever started it.

use std::collections::HashMap;

use purser_storage::{StoreError, codec};
use ractor::{ActorCell, ActorId};

use crate::engine::Engine;
use crate::engine::operating::damaged;
use crate::kernel::effect::Work;
use crate::kernel::family::Places;
use crate::kernel::{Effect, Entity, Family, table};
use crate::port::Timestamp;

/// What a supervisor watches over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watches {
    /// Entities of this kind.
    Entities(&'static str),
    /// Deliveries of this kind's effects.
    Deliveries(&'static str),
    /// The walk through everybody's lists.
    Reconciliation,
    /// The watch over what comes in.
    IncomingTransfers,
    /// Something that does not say what it is.
    Other,
}

impl Watches {
    /// In one word, and of which kind.
    pub const fn names(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Entities(kind) => ("entities", Some(kind)),
            Self::Deliveries(kind) => ("deliveries", Some(kind)),
            Self::Reconciliation => ("reconciliation", None),
            Self::IncomingTransfers => ("incoming_transfers", None),
            Self::Other => ("other", None),
        }
    }
}

/// An actor beneath the root.
#[derive(Clone, Debug)]
pub struct Supervisor {
    /// The runtime's name of it.
    pub actor: String,
    /// The runtime's word on how it is.
    pub status: String,
    /// What it is for.
    pub watches: Watches,
    /// Actors linked to it now.
    pub children: usize,
}

/// The root with everything beneath it.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The runtime's name of the root.
    pub root: String,
    /// The runtime's word on how the root is.
    pub status: String,
    /// Whether no supervisor has died since the start.
    pub sound: bool,
    /// In the order they were started.
    pub supervisors: Vec<Supervisor>,
}

/// One kind of entity.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Its supervisor.
    pub(in crate::engine) supervisor: ActorId,
    /// Its name.
    pub kind: &'static str,
    /// How its actors stand.
    pub places: Places,
}

impl Standing {
    pub(in crate::engine) fn of<E: Entity>(family: &Family<E>) -> Self {
        Self {
            supervisor: family.supervisor(),
            kind: E::KIND.name(),
            places: family.places(),
        }
    }
}

/// Work that waits for its time.
#[derive(Clone, Debug)]
pub struct Timers {
    /// In the order of [`Work::NAMES`].
    pub by_work: [u64; Work::NAMES.len()],
    /// Whether there are more than were counted.
    pub more: bool,
    /// When the next is due.
    pub first_due: Option<Timestamp>,
}

impl Engine {
    /// The tree now. A supervisor that has died is not in it, and the tree is not sound any more.
    pub fn tree(&self) -> Tree {
        let inner = &self.0;
        let mut known: HashMap<ActorId, Watches> = HashMap::new();
        for standing in inner.families.standing() {
            known.insert(standing.supervisor, Watches::Entities(standing.kind));
        }
        for (kind, supervisor) in inner.deliveries.supervisors() {
            known.insert(supervisor, Watches::Deliveries(kind.name()));
        }
        known.extend(
            inner
                .watching
                .overseer()
                .map(|overseer| (overseer, Watches::Reconciliation)),
        );
        known.extend(inner.arrivals.supervisor().map(|id| (id, Watches::IncomingTransfers)));
        let mut children = inner.root.get_children();
        children.sort_by_key(|child| child.get_id().pid());
        let supervisors = children.iter().map(|child| Supervisor {
            actor: child.get_id().to_string(),
            status: status(child),
            watches: known.get(&child.get_id()).copied().unwrap_or(Watches::Other),
            children: child.get_children().len(),
        });
        Tree {
            root: inner.root.get_id().to_string(),
            status: status(&inner.root),
            sound: self.is_sound(),
            supervisors: supervisors.collect(),
        }
    }

    /// How the actors of each kind stand, in the order of [`super::Figures::kinds`].
    pub fn residents(&self) -> Vec<Standing> {
        self.0.families.standing()
    }

    /// Timers that are not due yet, the earliest so many of them.
    ///
    /// # Errors
    /// When storage fails or holds what is no effect.
    pub async fn timers(&self, limit: usize) -> Result<Timers, StoreError> {
        let rows = self
            .0
            .store
            .scan(&[table::TIMER], None, limit.saturating_add(1))
            .await?;
        let mut by_work = [0; Work::NAMES.len()];
        for (_, row) in rows.iter().take(limit) {
            let effect: Effect = codec::decode(&row.value).map_err(damaged)?;
            by_work[effect.work.index()] += 1;
        }
        Ok(Timers {
            by_work,
            more: rows.len() > limit,
            first_due: rows.first().and_then(|(key, _)| table::made(key)).map(|(due, _)| due),
        })
    }
}

fn status(actor: &ActorCell) -> String {
    format!("{:?}", actor.get_status()).to_lowercase()
}
