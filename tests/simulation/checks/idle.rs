//! Permits, actors and tasks at rest.

use purser_actors::engine::Engine;

use super::{Violation, violation};
use crate::environment::Environment;

/// Every permit was released.
pub(super) fn check(world: &Environment, engine: &Engine, tasks: usize) -> Result<(), Violation> {
    let (census, settings) = (engine.current_load(), world.plan.settings);
    if census.permits_free != settings.max_in_flight || census.payers != 0 || census.claims != 0 {
        return violation("rest.permits", format!("{census:?}"));
    }
    if census.active_entities != 0 || !engine.is_healthy() {
        return violation(
            "rest.resident",
            format!("{census:?}: {:?}", engine.entity_supervisors()),
        );
    }
    if tasks > max_idle_tasks(world) {
        return violation("rest.tasks", format!("{tasks} tasks are alive"));
    }
    Ok(())
}

/// Upper bound of live tasks in a process at rest. These are the root, the housekeeper, the clock, the payout listener
/// and its reader, the committer, and the task that keeps our own store. Each entity kind adds a supervisor, a job
/// supervisor and its running jobs.
pub(crate) fn max_idle_tasks(world: &Environment) -> usize {
    // Those who hold the books against lists, each with its supervisor and its pause.
    let watchers = if world.archive.lock().mark().is_some() { 6 } else { 0 };
    7 + watchers + Engine::REGISTRY_COUNT * (2 + world.plan.settings.retry.max_concurrent)
}
