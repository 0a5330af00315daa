//! Deliveries: one actor per running effect, linked to its family's delivery supervisor. A delivery's failure is its
//! exit; trying again, later and later, is the supervisor's act, and each failed try is durable. A delivery that did
//! not fail takes the next effect.

mod lanes;
mod one;
mod tries;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use purser_storage::{Batch, CommitError, Condition, Store};
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};

use crate::kernel::effect::{Effect, Failure, Pace};
use crate::kernel::family::StartEffects;
use crate::kernel::{Kind, table};
use crate::port::{BoxFuture, Clock, Entropy, ErrorKind};

use self::lanes::{Entry, Lanes};
use self::one::Delivery;
pub use tries::{FAILURES, Tried, Tries, Trouble};

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
    /// What is counted.
    pub tries: Arc<Tries>,
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

impl Deliveries {
    /// Who supervises the deliveries of each kind; nobody before [`Deliveries::open`].
    pub(crate) fn supervisors(&self) -> Vec<(Kind, ActorId)> {
        let opened = self.supervisors.get().into_iter().flatten();
        opened.map(|(kind, supervisor)| (*kind, supervisor.get_id())).collect()
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
    /// This delivery's effect is done.
    Done(ActorId),
    /// This delivery's effect is to be run again after so many milliseconds.
    Again(ActorId, u64, Wrong),
    /// The effect waits for its time, or until such work was woken more often than so.
    Wait(Effect, u64),
}

/// What is wrong with a try that is followed by another.
#[derive(Debug)]
pub enum Wrong {
    /// It was just not its time.
    Nothing,
    /// It was not even tried.
    Held(String),
    /// It failed.
    Failed(ErrorKind, String),
}

/// How often work that may be woken looks whether it is, in milliseconds.
const LOOK_EVERY_MS: u64 = 2_000;

/// Deliveries without work that a supervisor keeps.
const IDLE_MAX: usize = 256;

struct Supervisor {
    ground: DeliveryGround,
    worker: Arc<dyn Worker>,
}

#[derive(Default)]
struct Desk {
    running: HashMap<ActorId, (ActorRef<Effect>, Effect)>,
    idle: Vec<ActorRef<Effect>>,
    pending: VecDeque<Effect>,
    lanes: Lanes,
}

impl Actor for Supervisor {
    type Msg = Order;
    type State = Desk;
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Order>, (): ()) -> Result<Desk, ActorProcessingErr> {
        Ok(Desk::default())
    }

    async fn handle(&self, myself: ActorRef<Order>, order: Order, desk: &mut Desk) -> Result<(), ActorProcessingErr> {
        match order {
            Order::Start(effect) => {
                let wakes = self.ground.tries.wakes(&effect.work);
                self.start(&myself, desk, (effect, wakes)).await
            }
            Order::Wait(effect, wakes) => self.start(&myself, desk, (effect, wakes)).await,
            Order::Done(delivery) => {
                if let Some((actor, effect)) = self.ended(desk, delivery) {
                    self.ground.tries.ease(effect.id);
                    desk.rest(actor);
                }
                self.go_on(&myself, desk).await
            }
            Order::Again(delivery, ms, wrong) => {
                if let Some((actor, mut effect)) = self.ended(desk, delivery) {
                    desk.rest(actor);
                    // Nothing to write down: its pace does not depend on how often it was tried.
                    effect.next_at = self.ground.clock.now().plus_ms(ms);
                    self.note(&effect, wrong);
                    drop(myself.cast(Order::Start(effect)));
                }
                self.go_on(&myself, desk).await
            }
        }
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Order>,
        event: SupervisionEvent,
        desk: &mut Desk,
    ) -> Result<(), ActorProcessingErr> {
        let (delivery, error) = match event {
            SupervisionEvent::ActorTerminated(cell, ..) => (cell.get_id(), "the delivery was killed".into()),
            SupervisionEvent::ActorFailed(cell, error) => (cell.get_id(), error),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => return Ok(()),
        };
        desk.idle.retain(|actor| actor.get_id() != delivery);
        if let Some((_, effect)) = self.ended(desk, delivery) {
            self.failed(&myself, effect, error);
        }
        self.go_on(&myself, desk).await
    }
}

impl Desk {
    fn rest(&mut self, actor: ActorRef<Effect>) {
        if self.idle.len() < IDLE_MAX {
            self.idle.push(actor);
        } else {
            actor.stop(None);
        }
    }
}

impl Supervisor {
    /// Runs an effect, or lets it wait for its time.
    async fn start(
        &self,
        myself: &ActorRef<Order>,
        desk: &mut Desk,
        (effect, wakes): (Effect, u64),
    ) -> Result<(), ActorProcessingErr> {
        let wait_ms = effect.next_at.0.saturating_sub(self.ground.clock.now().0);
        let may_wake = effect.work.may_be_woken();
        if wait_ms > 0 && !(may_wake && self.ground.tries.wakes(&effect.work) > wakes) {
            let wait_ms = if may_wake { wait_ms.min(LOOK_EVERY_MS) } else { wait_ms };
            drop(myself.send_after(Duration::from_millis(wait_ms), move || Order::Wait(effect, wakes)));
            return Ok(());
        }
        match desk.lanes.enter(effect) {
            Entry::Runs(effect) if desk.running.len() >= self.ground.retry.running_max => {
                desk.pending.push_back(effect);
            }
            Entry::Runs(effect) => self.run(myself, desk, effect).await?,
            Entry::Waits => {}
            Entry::Full(effect) => self.put_off(myself.clone(), effect),
        }
        Ok(())
    }

    /// Counts what was wrong with a try, for whoever looks.
    fn note(&self, effect: &Effect, wrong: Wrong) {
        let tries = &self.ground.tries;
        match wrong {
            Wrong::Nothing => tries.ease(effect.id),
            Wrong::Held(error) => tries.trouble(effect, shortened(error), effect.next_at),
            Wrong::Failed(kind, error) => {
                tries.fails(&effect.work, Some(kind));
                tries.trouble(effect, shortened(error), effect.next_at);
            }
        }
    }

    /// Takes up what has waited for a place.
    async fn go_on(&self, myself: &ActorRef<Order>, desk: &mut Desk) -> Result<(), ActorProcessingErr> {
        match desk.pending.pop_front() {
            Some(next) => self.run(myself, desk, next).await,
            None => Ok(()),
        }
    }

    async fn run(&self, myself: &ActorRef<Order>, desk: &mut Desk, effect: Effect) -> Result<(), ActorProcessingErr> {
        let actor = match desk.idle.pop() {
            Some(actor) => actor,
            None => {
                let delivery = Delivery {
                    worker: self.worker.clone(),
                    store: self.ground.store.clone(),
                    supervisor: myself.clone(),
                };
                Actor::spawn_linked(None, delivery, (), myself.get_cell()).await?.0
            }
        };
        self.ground.tries.begins(&effect.work);
        // One that has just died leaves the effect in `running`, where its end is on the way to find it.
        drop(actor.cast(effect.clone()));
        desk.running.insert(actor.get_id(), (actor, effect));
        Ok(())
    }

    fn ended(&self, desk: &mut Desk, delivery: ActorId) -> Option<(ActorRef<Effect>, Effect)> {
        let ended = desk.running.remove(&delivery)?;
        self.ground.tries.ends(&ended.1.work);
        if let Some(next) = desk.lanes.leave(&ended.1) {
            desk.pending.push_back(next);
        }
        Some(ended)
    }

    fn failed(&self, myself: &ActorRef<Order>, mut effect: Effect, error: ActorProcessingErr) {
        let failure = error.downcast::<Failure>().map(|failure| *failure);
        let kind = failure.as_ref().ok().map(|failure| failure.kind);
        self.ground.tries.fails(&effect.work, kind);
        // A panic: what it had begun may have happened.
        let failure = failure.unwrap_or_else(|other| Failure {
            kind: ErrorKind::Unknown,
            message: other.to_string(),
            pace: Pace::BackOff,
        });
        let now = self.ground.clock.now();
        effect.attempts = effect.attempts.saturating_add(1);
        effect.next_at = now.plus_ms(self.pause_ms(effect.attempts));
        effect.stuck = failure.kind == ErrorKind::Permanent || effect.attempts >= self.ground.retry.attempts_max;
        let (id, request, work, attempts) = (effect.id, effect.origin, effect.work.name(), effect.attempts);
        let error = &failure.message;
        if effect.stuck {
            tracing::error!(effect = %id, %request, work, attempts, error, "an effect is stuck");
        } else {
            tracing::warn!(effect = %id, %request, work, attempts, error, "an effect is tried again");
        }
        let error = shortened(failure.message);
        match effect.stuck {
            true => self.ground.tries.ease(effect.id),
            false => self.ground.tries.trouble(&effect, error.clone(), effect.next_at),
        }
        effect.last_error = Some(error);
        self.write_down(myself.clone(), effect);
    }

    /// Makes the failed try durable, then schedules the next.
    fn write_down(&self, myself: ActorRef<Order>, effect: Effect) {
        let batch = Batch {
            conditions: vec![Condition::Present(table::effect(effect.id))],
            writes: vec![effect.put()],
            ..Batch::default()
        };
        let tries = self.ground.tries.clone();
        self.ground.store.commit(
            batch,
            Box::new(move |done| match done {
                Ok(_) if effect.stuck => {}
                Ok(_) => drop(myself.cast(Order::Start(effect))),
                // It was completed meanwhile: by an earlier try whose answer was lost.
                Err(CommitError::Condition(_)) => tries.ease(effect.id),
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
