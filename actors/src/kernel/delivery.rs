//! Deliveries: one actor per running effect, linked to its family's delivery supervisor. A delivery's failure is its
//! exit; trying again, later and later, is the supervisor's act, and each failed try is durable.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use purser_storage::{Batch, CommitError, Condition, Store, codec};
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};

use crate::kernel::effect::{Effect, Failure};
use crate::kernel::family::StartEffects;
use crate::kernel::{Kind, table};
use crate::port::{BoxFuture, Clock, Entropy, ErrorKind};

/// Does the work of effects.
pub trait Worker: Send + Sync + 'static {
    /// Returns once the batch that deletes the effect is durable.
    fn run<'a>(&'a self, effect: &'a Effect) -> BoxFuture<'a, Result<(), Failure>>;
}

/// How often and how long.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// Running deliveries of one family, at most; more wait their turn.
    pub running_max: usize,
    /// First pause, in milliseconds; doubles each time, with jitter of up to half.
    pub first_ms: u64,
    /// Longest pause, in milliseconds.
    pub longest_ms: u64,
    /// Tries before an effect is stuck, with its name on the operator's list.
    pub attempts_max: u32,
}

/// What deliveries are built from.
#[derive(Clone)]
pub struct DeliveryGround {
    /// Where effects live.
    pub store: Arc<dyn Store>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Jitter.
    pub entropy: Arc<dyn Entropy>,
    /// Limits.
    pub retry: Retry,
}

/// Handle on all delivery supervisors. Made before the families that start effects, opened after the worker that needs
/// the families.
#[derive(Default)]
pub struct Deliveries {
    supervisors: OnceLock<HashMap<Kind, ActorRef<Order>>>,
}

impl Deliveries {
    /// Starts one supervisor for each kind under `root`.
    ///
    /// # Errors
    /// When the runtime is shutting down.
    pub async fn open(
        &self,
        kinds: &[Kind],
        ground: DeliveryGround,
        worker: Arc<dyn Worker>,
        root: ActorCell,
    ) -> Result<(), ractor::SpawnErr> {
        let mut supervisors = HashMap::new();
        for kind in kinds {
            let supervisor = Supervisor {
                ground: ground.clone(),
                worker: worker.clone(),
            };
            let (actor, _) = Actor::spawn_linked(None, supervisor, (), root.clone()).await?;
            supervisors.insert(*kind, actor);
        }
        drop(self.supervisors.set(supervisors));
        Ok(())
    }
}

impl StartEffects for Deliveries {
    fn start(&self, effect: Effect) {
        // Before `open`, nothing is lost either: the rows are durable and are read at the start.
        if let Some(supervisor) = self.supervisors.get().and_then(|s| s.get(&effect.work.family())) {
            drop(supervisor.cast(Order::Start(effect)));
        }
    }
}

/// What a delivery supervisor receives.
#[derive(Debug)]
pub enum Order {
    /// Run this effect when its time has come.
    Start(Effect),
}

struct Supervisor {
    ground: DeliveryGround,
    worker: Arc<dyn Worker>,
}

#[derive(Default)]
struct Desk {
    running: HashMap<ActorId, Effect>,
    pending: VecDeque<Effect>,
}

impl Actor for Supervisor {
    type Msg = Order;
    type State = Desk;
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Order>, (): ()) -> Result<Desk, ActorProcessingErr> {
        Ok(Desk::default())
    }

    async fn handle(
        &self,
        myself: ActorRef<Order>,
        Order::Start(effect): Order,
        desk: &mut Desk,
    ) -> Result<(), ActorProcessingErr> {
        let wait_ms = effect.next_at.0.saturating_sub(self.ground.clock.now().0);
        if wait_ms > 0 {
            drop(myself.send_after(Duration::from_millis(wait_ms), move || Order::Start(effect)));
        } else if desk.running.len() >= self.ground.retry.running_max {
            desk.pending.push_back(effect);
        } else {
            self.run(&myself, desk, effect).await?;
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Order>,
        event: SupervisionEvent,
        desk: &mut Desk,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorTerminated(cell, ..) => drop(desk.running.remove(&cell.get_id())),
            SupervisionEvent::ActorFailed(cell, error) => {
                if let Some(effect) = desk.running.remove(&cell.get_id()) {
                    self.failed(&myself, effect, error);
                }
            }
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => return Ok(()),
        }
        if let Some(next) = desk.pending.pop_front() {
            self.run(&myself, desk, next).await?;
        }
        Ok(())
    }
}

impl Supervisor {
    async fn run(&self, myself: &ActorRef<Order>, desk: &mut Desk, effect: Effect) -> Result<(), ActorProcessingErr> {
        let delivery = Delivery {
            worker: self.worker.clone(),
            store: self.ground.store.clone(),
        };
        let (actor, _) = Actor::spawn_linked(None, delivery, effect.clone(), myself.get_cell()).await?;
        desk.running.insert(actor.get_id(), effect);
        Ok(())
    }

    fn failed(&self, myself: &ActorRef<Order>, mut effect: Effect, error: ActorProcessingErr) {
        let failure = match error.downcast::<Failure>() {
            Ok(failure) => *failure,
            // A panic: what it had begun may have happened.
            Err(other) => Failure {
                kind: ErrorKind::Unknown,
                message: other.to_string(),
                retry_after_ms: None,
            },
        };
        let now = self.ground.clock.now();
        if let (ErrorKind::Temporary, Some(ms)) = (failure.kind, failure.retry_after_ms) {
            // Waiting is no failure: nothing to write down.
            effect.next_at = now.plus_ms(ms);
            drop(myself.cast(Order::Start(effect)));
            return;
        }
        effect.attempts = effect.attempts.saturating_add(1);
        effect.next_at = now.plus_ms(self.pause_ms(effect.attempts));
        effect.stuck = failure.kind == ErrorKind::Permanent || effect.attempts >= self.ground.retry.attempts_max;
        let (id, work, attempts) = (effect.id, effect.work.name(), effect.attempts);
        if effect.stuck {
            tracing::error!(effect = %id, work, attempts, error = failure.message, "an effect is stuck");
        } else {
            tracing::warn!(effect = %id, work, attempts, error = failure.message, "an effect is tried again");
        }
        effect.last_error = Some(shortened(failure.message));
        self.write_down(myself.clone(), effect);
    }

    /// Makes the failed try durable, then schedules the next.
    fn write_down(&self, myself: ActorRef<Order>, effect: Effect) {
        let batch = Batch {
            conditions: vec![Condition::Present(table::effect(effect.id))],
            writes: vec![effect.put()],
            ..Batch::default()
        };
        self.ground.store.commit(
            batch,
            Box::new(move |done| match done {
                Ok(_) if effect.stuck => {}
                Ok(_) => drop(myself.cast(Order::Start(effect))),
                // It was completed meanwhile: by an earlier try whose answer was lost.
                Err(CommitError::Condition(_)) => {}
                Err(error) => tracing::error!(effect = %effect.id, %error, "a failed try was not written down"),
            }),
        );
    }

    fn pause_ms(&self, attempts: u32) -> u64 {
        let retry = &self.ground.retry;
        let full = retry
            .first_ms
            .saturating_mul(1 << attempts.saturating_sub(1).min(20))
            .min(retry.longest_ms)
            .max(2);
        let jitter = (self.ground.entropy.random() % u128::from(full / 2)) as u64;
        full - jitter
    }
}

/// What a row keeps of a message from outside: the row's size is bounded, and an unwritable one would lose the effect.
fn shortened(mut message: String) -> String {
    let mut end = message.len().min(1_000);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.truncate(end);
    message
}

/// One try.
struct Delivery {
    worker: Arc<dyn Worker>,
    store: Arc<dyn Store>,
}

impl Actor for Delivery {
    type Msg = ();
    type State = Effect;
    type Arguments = Effect;

    async fn pre_start(&self, _: ActorRef<()>, effect: Effect) -> Result<Effect, ActorProcessingErr> {
        Ok(effect)
    }

    async fn post_start(&self, myself: ActorRef<()>, effect: &mut Effect) -> Result<(), ActorProcessingErr> {
        self.worker.run(effect).await?;
        // A worker that reports success and leaves the row would lose the effect until the next start.
        let row = self.store.read(&table::effect(effect.id)).await?;
        let open: Option<Effect> = row.map(|row| codec::decode(&row.value)).transpose()?;
        if open.is_some_and(|open| open.created_at == effect.created_at) {
            return Err(Failure::temporary("the try ended and the effect is still open").into());
        }
        myself.stop(None);
        Ok(())
    }
}
