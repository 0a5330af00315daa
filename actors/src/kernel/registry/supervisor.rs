//! The supervisor of one registry.

use std::sync::{Arc, OnceLock};

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};

use super::RegistryCore;
use crate::kernel::entity::EntityKind;

/// Supervisor of a registry's entity actors: it restarts those that crash.
pub(super) struct EntitySupervisor;

/// Registry of the supervisor. Set once, when the registry is complete.
pub(super) type SupervisedRegistry = Arc<OnceLock<Arc<RegistryCore>>>;

impl EntitySupervisor {
    pub(super) async fn spawn(
        kind: EntityKind,
        root: ActorCell,
        supervised: SupervisedRegistry,
    ) -> Result<ActorCell, ractor::SpawnErr> {
        let name = format!("{}s", kind.name());
        // The name is only for display; two engines in one process (tests) may both use it.
        tracing::debug!(name, "a registry starts");
        let (actor, _) = Actor::spawn_linked(None, Self, supervised, root).await?;
        Ok(actor.get_cell())
    }
}

impl Actor for EntitySupervisor {
    type Msg = ();
    type State = SupervisedRegistry;
    type Arguments = SupervisedRegistry;

    async fn pre_start(
        &self,
        _: ActorRef<()>,
        supervised: SupervisedRegistry,
    ) -> Result<SupervisedRegistry, ActorProcessingErr> {
        Ok(supervised)
    }

    /// ractor's default stops the supervisor when a child ends; this one outlives its children.
    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<()>,
        event: SupervisionEvent,
        supervised: &mut SupervisedRegistry,
    ) -> Result<(), ActorProcessingErr> {
        let Some(core) = supervised.get() else { return Ok(()) };
        match event {
            SupervisionEvent::ActorTerminated(cell, ..) => core.on_stopped(cell.get_id(), None),
            SupervisionEvent::ActorFailed(cell, error) => core.on_stopped(cell.get_id(), Some(&error.to_string())),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}
