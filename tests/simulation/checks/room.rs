//! Room, actors and tasks at rest.

use purser_actors::engine::Engine;

use super::{Violation, wrong};
use crate::environment::Environment;

/// Everything that was taken was given back.
pub(super) fn judge(world: &Environment, engine: &Engine, tasks: usize) -> Result<(), Violation> {
    let (census, settings) = (engine.current_load(), world.plan.settings);
    if census.permits_free != settings.in_flight_max || census.payers != 0 || census.turns != 0 {
        return wrong("rest.room", format!("{census:?}"));
    }
    if census.resident != 0 || !engine.is_healthy() {
        return wrong(
            "rest.resident",
            format!("{census:?}: {:?}", engine.entity_supervisors()),
        );
    }
    if tasks > standing_tasks(world) {
        return wrong("rest.tasks", format!("{tasks} tasks are alive"));
    }
    Ok(())
}

/// Tasks that are alive in a process at rest, at most: the root; for each kind a guardian and a supervisor of deliveries,
/// with the deliveries that it keeps; the housekeeper, the keeper of time, the listener to the rails and its reading; the committer
/// and the keeper of ours.
pub(crate) fn standing_tasks(world: &Environment) -> usize {
    // Those who hold the books against lists, each with its supervisor and its pause.
    let watchers = if world.archive.lock().mark().is_some() { 6 } else { 0 };
    7 + watchers + Engine::FAMILIES * (2 + world.plan.settings.retry.max_concurrent)
}
