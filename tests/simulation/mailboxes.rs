//! One registry from one seed, under callers that send without waiting, panics, rejected batches and passivation:
//! whether a caller runs an entity or its mailbox does, commands keep their order and nothing acknowledged is lost.

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use purser_actors::id::Wallet;
use purser_actors::kernel::entity::EntityId;
use purser_actors::kernel::registry::{ActivationLimits, EntityDeps, JobStarter};
use purser_actors::kernel::{
    AskError, Context, Decision, Entity, EntityKind, EntityRegistry, InvalidTransition, JsonObject, OutboxJob,
    root_supervisor,
};
use purser_storage::JournalStore;
use purser_storage::codec::Stored;

use crate::boot::boot;
use crate::environment::{Environment, InvariantViolation, ORDERED_PANIC};
use crate::plan::Plan;
use crate::run::in_a_runtime;
use crate::seeds::{in_parallel, quiet_ordered_panics};
use crate::store::SimStore;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct CounterId(u64);

impl fmt::Display for CounterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "counter {}", self.0)
    }
}

impl EntityId for CounterId {
    fn key(&self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }

    fn from_key(key: &[u8]) -> Option<Self> {
        key.try_into().ok().map(|bytes| Self(u64::from_be_bytes(bytes)))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
struct Counter {
    total: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
enum Event {
    Counted,
}

purser_actors::state_machine! { Counter, Event;
    states { Counting = "counting" }
    events {
        Counted - { - => Counting: "first count", Counting }
    }
}

impl From<&Counter> for State {
    fn from(_: &Counter) -> Self {
        Self::Counting
    }
}

impl Stored for Counter {
    const SCHEMA: u16 = 62_001;
}

impl Stored for Event {
    const SCHEMA: u16 = 62_002;
}

#[derive(Debug)]
enum Command {
    /// Counts one; the reply is the new total.
    Count,
    /// As [`Command::Count`], in a batch that the store rejects.
    CountInVain,
    Die,
}

impl Entity for Counter {
    const KIND: EntityKind = EntityKind::Account;
    const CREATED_BY_COMMAND: bool = true;

    type Id = CounterId;
    type Command = Command;
    type Reply = u64;
    type Rejection = ();
    type Outcome = ();
    type View<'a> = JsonObject;

    fn decide(this: Option<&Self>, _: &CounterId, command: Command, _: &Context) -> Result<Decision<Self>, ()> {
        let decision = Decision::answer(this.map_or(0, |c| c.total) + 1).event(Event::Counted);
        match command {
            Command::Count => Ok(decision),
            Command::CountInVain => Ok(decision.requires_present(Box::from(&b"no such row"[..]))),
            Command::Die => panic!("{ORDERED_PANIC}"),
        }
    }

    fn apply(this: Option<Self>, _: &CounterId, _: &Event) -> Result<Self, InvalidTransition> {
        let total = this.map_or(0, |c| c.total) + 1;
        Ok(Self { total })
    }

    fn owner(&self) -> Wallet {
        Wallet::Evm([1; 20])
    }

    fn view(&self, _: &CounterId) -> JsonObject {
        JsonObject::new().integer("total", self.total)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}

struct NoJobs;

impl JobStarter for NoJobs {
    fn start(&self, _: OutboxJob) {}
}

type Answer = Result<u64, AskError<()>>;
type Call = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Counts that were acknowledged, and those whose outcome is unknown.
#[derive(Default)]
struct Counts {
    acknowledged: u64,
    unknown: u64,
}

const SENDERS: usize = 4;
const BURSTS: usize = 12;
const LONG_BURST: u64 = 80;

/// The first rule that a seed's run violates.
pub(crate) fn run(seed: u64) -> Option<InvariantViolation> {
    let world = Environment::new(&Plan::from_seed(seed), false);
    in_a_runtime(&world, async {
        if let Some(journal) = boot(&world, false) {
            tokio::select! {
                biased;
                () = world.wait_for_crash() => {}
                () = script(&world, journal) => {}
                // In virtual time. A caller that hears nothing would wait for ever.
                () = tokio::time::sleep(Duration::from_secs(3_600)) => {
                    world.report_violation("mailbox.unanswered", "callers wait in vain");
                }
            }
        }
    });
    world.violation()
}

async fn script(world: &Arc<Environment>, journal: Arc<JournalStore>) {
    let store = SimStore::new(journal, world);
    tokio::spawn(store.clone().commit_all());
    let root = root_supervisor::start(Arc::default()).await.unwrap();
    let deps = EntityDeps {
        store,
        clock: world.clone(),
        entropy: world.clone(),
        job_starter: Arc::new(NoJobs),
        runtime: tokio::runtime::Handle::current(),
        limits: ActivationLimits {
            max_active: 1,
            passivate_after_ms: 50,
            restart_ms: 1,
            restart_max_ms: 4,
            quarantine_after: 1_000,
        },
    };
    let registry = EntityRegistry::start(deps, root).await.unwrap();
    tokio::spawn(disturb(world.clone(), registry.clone()));
    let senders: Vec<_> = (0..SENDERS)
        .map(|_| tokio::spawn(send_bursts(world.clone(), registry.clone())))
        .collect();
    let mut sums = BTreeMap::<CounterId, Counts>::new();
    for sender in senders {
        for (id, counts) in sender.await.unwrap() {
            let sum = sums.entry(id).or_default();
            sum.acknowledged += counts.acknowledged;
            sum.unknown += counts.unknown;
        }
    }
    for (id, Counts { acknowledged, unknown }) in sums {
        let total = registry
            .read(&id)
            .await
            .unwrap()
            .map_or(0, |(counter, _)| counter.total);
        if !(acknowledged..=acknowledged + unknown).contains(&total) {
            let detail = format!("{id}: {total} of {acknowledged} acknowledged and {unknown} unknown");
            world.report_violation("mailbox.lost", detail);
        }
    }
}

/// Passivates, and now and then lets a commit panic before or after it is enqueued.
async fn disturb(world: Arc<Environment>, registry: EntityRegistry<Counter>) {
    loop {
        world.delay(1 + world.below(40)).await;
        registry.passivate_idle();
        if world.one_in(8) {
            let panic = (world.below(30) as u32, world.one_in(2));
            world.fault_triggers.lock().panic = Some(panic);
        }
    }
}

/// Sends commands in bursts, in which no reply is waited for.
async fn send_bursts(world: Arc<Environment>, registry: EntityRegistry<Counter>) -> BTreeMap<CounterId, Counts> {
    let mut sums = BTreeMap::<CounterId, Counts>::new();
    let mut newest = BTreeMap::<CounterId, u64>::new();
    for _ in 0..BURSTS {
        let id = CounterId(world.below(2));
        let mut sent: Vec<(Poll<Answer>, Call)> = Vec::new();
        let burst = match world.below(4) {
            // An actor yields after some dozens of messages. Then its mailbox is not empty although it is not busy.
            0 => LONG_BURST + world.below(LONG_BURST),
            _ => 1 + world.below(5),
        };
        for n in 1..=burst {
            let command = match world.below(100) {
                0 => Command::Die,
                1 => Command::CountInVain,
                _ => Command::Count,
            };
            let registry = registry.clone();
            let mut call: Call = Box::pin(async move { registry.ask(id, command).await });
            // The first poll sends the command.
            let first = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
            sent.push((first, call));
            if burst < LONG_BURST || n > LONG_BURST {
                for _ in 0..world.below(4) {
                    tokio::task::yield_now().await;
                }
            }
        }
        let (counts, newest) = (sums.entry(id).or_default(), newest.entry(id).or_default());
        for (first, call) in sent {
            let answer = match first {
                Poll::Ready(answer) => answer,
                Poll::Pending => call.await,
            };
            match answer {
                Ok(total) if total > *newest => {
                    counts.acknowledged += 1;
                    *newest = total;
                }
                Ok(total) => {
                    let detail = format!("{id}: {total} is the reply to a command sent after that of {newest}");
                    world.report_violation("mailbox.order", detail);
                }
                Err(AskError::OutcomeUnknown) => counts.unknown += 1,
                Err(AskError::Conflict) => {}
                Err(other) => world.report_violation("mailbox.answer", format!("{id}: {other:?}")),
            }
        }
        world.delay(world.below(30)).await;
    }
    sums
}

// Checks: commands of one caller are decided in the order in which it sent them, in any task, and what was
// acknowledged is stored.
#[test]
fn mailbox_is_never_overtaken() {
    quiet_ordered_panics();
    let seeds: Vec<u64> = (0..200).collect();
    let violations = in_parallel(&seeds, |seed| run(*seed));
    let found: Vec<_> = seeds
        .iter()
        .zip(violations)
        .filter(|(_, found)| found.is_some())
        .collect();
    assert!(found.is_empty(), "{found:?}");
}
