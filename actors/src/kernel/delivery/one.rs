//! The actor that runs one effect after the other.

use std::sync::Arc;

use purser_storage::{Store, codec};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tracing::Instrument as _;

use super::{Order, Worker, Wrong};
use crate::kernel::effect::{Effect, Failure, Pace};
use crate::kernel::{origin, table};

/// Runs effects, one after the other, until one fails.
pub(super) struct Delivery {
    pub(super) worker: Arc<dyn Worker>,
    pub(super) store: Arc<dyn Store>,
    pub(super) supervisor: ActorRef<Order>,
}

impl Actor for Delivery {
    type Msg = Effect;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Effect>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(&self, myself: ActorRef<Effect>, effect: Effect, (): &mut ()) -> Result<(), ActorProcessingErr> {
        let (id, request, work) = (effect.id, effect.origin, effect.work.name());
        // Off by default, and then free: the lines that matter by default name effect and request themselves.
        let span = tracing::debug_span!("delivery", effect = %id, %request, work);
        let end = match origin::scope(request, self.worker.run(&effect)).instrument(span).await {
            Ok(()) => {
                self.check_ended(&effect).await?;
                Order::Done(myself.get_id())
            }
            Err(Failure {
                pace: Pace::NotYet(ms), ..
            }) => Order::Again(myself.get_id(), ms, Wrong::Nothing),
            Err(Failure {
                pace: Pace::Held(ms),
                message,
                ..
            }) => Order::Again(myself.get_id(), ms, Wrong::Held(message)),
            Err(Failure {
                pace: Pace::Steady(ms),
                kind,
                message,
            }) => {
                tracing::debug!(effect = %id, work, error = message, "a try failed and is repeated");
                Order::Again(myself.get_id(), ms, Wrong::Failed(kind, message))
            }
            Err(failure) => return Err(failure.into()),
        };
        drop(self.supervisor.cast(end));
        Ok(())
    }
}

impl Delivery {
    /// A worker that reports success and leaves the row would lose the effect until the next start.
    async fn check_ended(&self, effect: &Effect) -> Result<(), ActorProcessingErr> {
        let row = self.store.read(&table::effect(effect.id)).await?;
        let open: Option<Effect> = row.map(|row| codec::decode(&row.value)).transpose()?;
        if open.is_some_and(|open| open.created_at == effect.created_at) {
            return Err(Failure::temporary("the try ended and the effect is still open").into());
        }
        Ok(())
    }
}
