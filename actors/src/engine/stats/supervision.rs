//! The live supervision tree. The actors themselves report their children; only the purpose of each is recorded where
//! it is started.

use std::collections::HashMap;

use purser_storage::{StoreError, codec};
use ractor::{ActorCell, ActorId};

use crate::engine::operators::corrupt;
use crate::engine::{Engine, JOB_NAMES};
use crate::kernel::registry::ActorCounts;
use crate::kernel::{Entity, EntityRegistry, OutboxJob, table};
use crate::port::Timestamp;

/// What a supervisor supervises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supervises {
    /// Entities of this kind.
    Entities(&'static str),
    /// Jobs of this entity kind.
    Outbox(&'static str),
    /// The reconciliation worker.
    Reconciliation,
    /// The watcher of incoming transfers.
    IncomingTransfers,
    /// An actor that no part of the engine has described.
    Other,
}

impl Supervises {
    /// Name of the purpose, and the entity kind if there is one.
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

/// An actor under the root.
#[derive(Clone, Debug)]
pub struct SupervisorInfo {
    /// The runtime's id of the actor.
    pub actor: String,
    /// The runtime's status of the actor.
    pub status: String,
    /// What the actor supervises.
    pub supervises: Supervises,
    /// Actors linked to it now.
    pub children: usize,
}

/// The root and everything under it.
#[derive(Clone, Debug)]
pub struct SupervisionTree {
    /// The runtime's id of the root.
    pub root: String,
    /// The runtime's status of the root.
    pub status: String,
    /// Whether no supervisor has died since the start.
    pub healthy: bool,
    /// In the order in which they were started.
    pub supervisors: Vec<SupervisorInfo>,
}

/// One entity kind.
#[derive(Clone, Debug)]
pub struct EntitySupervisorInfo {
    pub(in crate::engine) supervisor: ActorId,
    /// Name of the entity kind.
    pub kind: &'static str,
    /// Number of actors by status.
    pub actors: ActorCounts,
}

impl EntitySupervisorInfo {
    pub(in crate::engine) fn from_registry<E: Entity>(registry: &EntityRegistry<E>) -> Self {
        Self {
            supervisor: registry.supervisor(),
            kind: E::KIND.name(),
            actors: registry.actor_counts(),
        }
    }
}

/// Jobs that are not due yet.
#[derive(Clone, Debug)]
pub struct ScheduledJobs {
    /// In the order of [`JOB_NAMES`].
    pub by_job_type: [u64; JOB_NAMES.len()],
    /// Whether there are more than were counted.
    pub more: bool,
    /// When the next is due.
    pub first_due: Option<Timestamp>,
}

impl Engine {
    /// The current tree. A supervisor that has died is missing from it, and the tree is no longer healthy.
    pub fn supervision_tree(&self) -> SupervisionTree {
        let inner = &self.0;
        let mut known: HashMap<ActorId, Supervises> = HashMap::new();
        for state in inner.registries.supervisor_states() {
            known.insert(state.supervisor, Supervises::Entities(state.kind));
        }
        for (kind, supervisor) in inner.outbox.supervisors() {
            known.insert(supervisor, Supervises::Outbox(kind.name()));
        }
        known.extend(
            inner
                .reconciliation_stats
                .supervisor()
                .map(|supervisor| (supervisor, Supervises::Reconciliation)),
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

    /// Actors of each kind by status, in the order of [`super::EngineStats::kinds`].
    pub fn entity_supervisors(&self) -> Vec<EntitySupervisorInfo> {
        self.0.registries.supervisor_states()
    }

    /// Counts jobs that are not due yet, up to `limit` of the earliest.
    ///
    /// # Errors
    /// When storage fails or a row is not a valid job.
    pub async fn scheduled_jobs(&self, limit: usize) -> Result<ScheduledJobs, StoreError> {
        let rows = self
            .0
            .store
            .scan(&[table::TIMER], None, limit.saturating_add(1))
            .await?;
        let mut by_work = [0; JOB_NAMES.len()];
        for (_, row) in rows.iter().take(limit) {
            let outbox_job: OutboxJob = codec::decode(&row.value).map_err(corrupt)?;
            if let Some(index) = outbox_job.job.index() {
                by_work[index] += 1;
            }
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
