//! The root of the supervision tree. It does nothing itself, so it cannot fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};

/// Outlives every supervisor. If a supervisor dies, the process is no longer sound: this is logged as an error, and the
/// supervisor's entities answer `OutcomeUnknown` until a restart.
struct RootSupervisor {
    healthy: Arc<AtomicBool>,
}

/// Starts a root. It clears `sound` when a supervisor dies.
///
/// # Errors
/// When the runtime is shutting down.
pub async fn start(sound: Arc<AtomicBool>) -> Result<ActorCell, SpawnErr> {
    let (root, _) = Actor::spawn(None, RootSupervisor { healthy: sound }, ()).await?;
    Ok(root.get_cell())
}

impl Actor for RootSupervisor {
    type Msg = ();
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<()>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    /// ractor's default stops the supervisor when a child ends.
    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<()>,
        event: SupervisionEvent,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        let (cell, error) = match event {
            SupervisionEvent::ActorFailed(cell, error) => (cell, error.to_string()),
            SupervisionEvent::ActorTerminated(cell, _, why) => (cell, why.unwrap_or_default()),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => return Ok(()),
        };
        self.healthy.store(false, Ordering::Release);
        tracing::error!(actor = %cell.get_id(), error, "a supervisor died; the service is not ready any more");
        Ok(())
    }
}
