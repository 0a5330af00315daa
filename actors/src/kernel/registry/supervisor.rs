//! The supervisor of one registry.

use std::sync::{Arc, OnceLock};

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};

use super::RegistryCore;
use crate::kernel::entity::Entity;

/// Supervisor of a registry's entity actors: it restarts those that crash.
pub(super) struct EntitySupervisor<E: Entity>(std::marker::PhantomData<fn() -> E>);

/// Registry of the supervisor. Set once, when the registry is complete.
pub(super) type SupervisedRegistry<E> = Arc<OnceLock<Arc<RegistryCore<E>>>>;

impl<E: Entity> EntitySupervisor<E> {
    pub(super) async fn spawn(
        root: ActorCell,
        supervised: SupervisedRegistry<E>,
    ) -> Result<ActorCell, ractor::SpawnErr> {
        let name = format!("{}s", E::KIND.name());
        // The name is only for display; two engines in one process (tests) may both use it.
        tracing::debug!(name, "a family starts");
        let (actor, _) = Actor::spawn_linked(None, Self(std::marker::PhantomData), supervised, root).await?;
        Ok(actor.get_cell())
    }
}

impl<E: Entity> Actor for EntitySupervisor<E> {
    type Msg = ();
    type State = SupervisedRegistry<E>;
    type Arguments = SupervisedRegistry<E>;

    async fn pre_start(
        &self,
        _: ActorRef<()>,
        supervised: SupervisedRegistry<E>,
    ) -> Result<SupervisedRegistry<E>, ActorProcessingErr> {
        Ok(supervised)
    }

    /// ractor's default stops the supervisor when a child ends; this one outlives its children.
    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<()>,
        event: SupervisionEvent,
        supervised: &mut SupervisedRegistry<E>,
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
