//! Starts the follower and the gas keys, and restarts one that ends. Each continues from its rows.

use std::sync::Arc;
use std::time::Duration;

use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};

use super::core::Core;
use super::follower::FollowerActor;
use super::gas_key::GasKeyActor;

/// Delay before a failed actor is replaced, in milliseconds.
const RESTART_MS: u64 = 1_000;

pub(super) struct Supervisor(pub(super) Arc<Core>);

/// A supervised actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Child {
    Follower,
    /// Identified by its index in the settings.
    GasKey(usize),
}

/// Starts a replacement for a failed actor.
pub(super) struct Replace(pub(super) Child);

impl Supervisor {
    async fn spawn_child(&self, myself: &ActorRef<Replace>, child: Child) -> Result<ActorId, ractor::SpawnErr> {
        let core = self.0.clone();
        match child {
            Child::Follower => {
                let (actor, _) = Actor::spawn_linked(None, FollowerActor(core), (), myself.get_cell()).await?;
                let id = actor.get_id();
                *self.0.follower.lock() = Some(actor);
                Ok(id)
            }
            Child::GasKey(place) => {
                let address = core.settings.gas_keys[place].address();
                let keeper = GasKeyActor { core, index: place };
                let (actor, _) = Actor::spawn_linked(None, keeper, (), myself.get_cell()).await?;
                let id = actor.get_id();
                self.0.actors.insert(address, actor);
                Ok(id)
            }
        }
    }

    fn on_child_stopped(&self, myself: &ActorRef<Replace>, cell: &ActorCell, error: &str, children: &mut Children) {
        let Some(place) = children.iter().position(|(id, _)| *id == cell.get_id()) else {
            return;
        };
        let (_, child) = children.swap_remove(place);
        self.0
            .alarm(&format!("{child:?} has ended and begins again from its rows: {error}"));
        drop(myself.send_after(Duration::from_millis(RESTART_MS), move || Replace(child)));
    }
}

/// The running actors.
type Children = Vec<(ActorId, Child)>;

impl Actor for Supervisor {
    type Msg = Replace;
    type State = Children;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Replace>, (): ()) -> Result<Children, ActorProcessingErr> {
        drop(myself.cast(Replace(Child::Follower)));
        for place in 0..self.0.settings.gas_keys.len() {
            drop(myself.cast(Replace(Child::GasKey(place))));
        }
        Ok(Vec::new())
    }

    async fn handle(
        &self,
        myself: ActorRef<Replace>,
        Replace(child): Replace,
        children: &mut Children,
    ) -> Result<(), ActorProcessingErr> {
        match self.spawn_child(&myself, child).await {
            Ok(id) => children.push((id, child)),
            Err(error) => {
                tracing::error!(?child, %error, "an actor of the port for Base could not begin and is tried again");
                drop(myself.send_after(Duration::from_millis(RESTART_MS), move || Replace(child)));
            }
        }
        Ok(())
    }

    /// ractor's default stops the supervisor when a child ends.
    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Replace>,
        event: SupervisionEvent,
        children: &mut Children,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(cell, error) => {
                self.on_child_stopped(&myself, &cell, &error.to_string(), children)
            }
            SupervisionEvent::ActorTerminated(cell, _, why) => {
                let why = why.unwrap_or_else(|| "it was killed".to_owned());
                self.on_child_stopped(&myself, &cell, &why, children);
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}
