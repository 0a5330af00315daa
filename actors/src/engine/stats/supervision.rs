//! The supervision tree as it lives: whom the root and its supervisors have under them is asked of the actors themselves, and
//! only what each is for is told by whoever started it.

use std::collections::HashMap;

use purser_storage::{StoreError, codec};
use ractor::{ActorCell, ActorId};

use crate::engine::Engine;
use crate::engine::operators::corrupt;
use crate::kernel::job::Job;
use crate::kernel::registry::ActorCounts;
use crate::kernel::{Entity, EntityRegistry, OutboxJob, table};
use crate::port::Timestamp;

/// What a supervisor watches over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supervises {
    /// Entities of this kind.
    Entities(&'static str),
    /// Deliveries of this kind's effects.
    Outbox(&'static str),
    /// The walk through everybody's lists.
    Reconciliation,
    /// The watch over what comes in.
    IncomingTransfers,
    /// Something that does not say what it is.
    Other,
}

impl Supervises {
    /// In one word, and of which kind.
    pub const fn names(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Entities(kind) => ("entities", Some(kind)),
            Self::Outbox(kind) => ("outbox", Some(kind)),
            Self::Reconciliation => ("reconciliation", None),
            Self::IncomingTransfers => ("incoming_transfers", None),
            Self::Other => ("other", None),
        }
    }
}

/// An actor beneath the root.
#[derive(Clone, Debug)]
pub struct SupervisorInfo {
    /// The runtime's name of it.
    pub actor: String,
    /// The runtime's word on how it is.
    pub status: String,
    /// What it is for.
    pub supervises: Supervises,
    /// Actors linked to it now.
    pub children: usize,
}

/// The root with everything beneath it.
#[derive(Clone, Debug)]
pub struct SupervisionTree {
    /// The runtime's name of the root.
    pub root: String,
    /// The runtime's word on how the root is.
    pub status: String,
    /// Whether no supervisor has died since the start.
    pub healthy: bool,
    /// In the order they were started.
    pub supervisors: Vec<SupervisorInfo>,
}

/// One kind of entity.
#[derive(Clone, Debug)]
pub struct EntitySupervisorInfo {
    /// Its supervisor.
    pub(in crate::engine) supervisor: ActorId,
    /// Its name.
    pub kind: &'static str,
    /// How its actors stand.
    pub actors: ActorCounts,
}

impl EntitySupervisorInfo {
    pub(in crate::engine) fn from_registry<E: Entity>(family: &EntityRegistry<E>) -> Self {
        Self {
            supervisor: family.supervisor(),
            kind: E::KIND.name(),
            actors: family.actor_counts(),
        }
    }
}

/// Work that waits for its time.
#[derive(Clone, Debug)]
pub struct ScheduledJobs {
    /// In the order of [`Work::NAMES`].
    pub by_job_type: [u64; Job::NAMES.len()],
    /// Whether there are more than were counted.
    pub more: bool,
    /// When the next is due.
    pub first_due: Option<Timestamp>,
}

impl Engine {
    /// The tree now. A supervisor that has died is not in it, and the tree is not sound any more.
    pub fn supervision_tree(&self) -> SupervisionTree {
        let inner = &self.0;
        let mut known: HashMap<ActorId, Supervises> = HashMap::new();
        for standing in inner.registries.supervisor_states() {
            known.insert(standing.supervisor, Supervises::Entities(standing.kind));
        }
        for (kind, supervisor) in inner.outbox.supervisors() {
            known.insert(supervisor, Supervises::Outbox(kind.name()));
        }
        known.extend(
            inner
                .reconciliation_stats
                .supervisor()
                .map(|overseer| (overseer, Supervises::Reconciliation)),
        );
        known.extend(
            inner
                .incoming
                .supervisor()
                .map(|id| (id, Supervises::IncomingTransfers)),
        );
        let mut children = inner.root.get_children();
        children.sort_by_key(|child| child.get_id().pid());
        let supervisors = children.iter().map(|child| SupervisorInfo {
            actor: child.get_id().to_string(),
            status: status(child),
            supervises: known.get(&child.get_id()).copied().unwrap_or(Supervises::Other),
            children: child.get_children().len(),
        });
        SupervisionTree {
            root: inner.root.get_id().to_string(),
            status: status(&inner.root),
            healthy: self.is_healthy(),
            supervisors: supervisors.collect(),
        }
    }

    /// How the actors of each kind stand, in the order of [`super::Figures::kinds`].
    pub fn entity_supervisors(&self) -> Vec<EntitySupervisorInfo> {
        self.0.registries.supervisor_states()
    }

    /// Timers that are not due yet, the earliest so many of them.
    ///
    /// # Errors
    /// When storage fails or holds what is no effect.
    pub async fn scheduled_jobs(&self, limit: usize) -> Result<ScheduledJobs, StoreError> {
        let rows = self
            .0
            .store
            .scan(&[table::TIMER], None, limit.saturating_add(1))
            .await?;
        let mut by_work = [0; Job::NAMES.len()];
        for (_, row) in rows.iter().take(limit) {
            let effect: OutboxJob = codec::decode(&row.value).map_err(corrupt)?;
            by_work[effect.job.index()] += 1;
        }
        Ok(ScheduledJobs {
            by_job_type: by_work,
            more: rows.len() > limit,
            first_due: rows
                .first()
                .and_then(|(key, _)| table::created_and_id(key))
                .map(|(due, _)| due),
        })
    }
}

fn status(actor: &ActorCell) -> String {
    format!("{:?}", actor.get_status()).to_lowercase()
}
