//! A small test entity that counts, rejects, conflicts and panics on command.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex};
use purser_actors::id::Wallet;
use purser_actors::kernel::entity::EntityId;
use purser_actors::kernel::registry::{ActivationLimits, EntityDeps, JobStarter};
use purser_actors::kernel::{
    Context, Decision, Entity, EntityKind, EntityRegistry, InvalidTransition, JsonObject, OutboxJob, root_supervisor,
    table,
};
use purser_storage::codec::Stored;
use ractor::{ActorCell, ActorStatus};

use super::store::MemoryStore;
use super::{EXPECTED_PANIC, SeededEntropy, TestClock, quiet_expected_panics};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name(pub(crate) u64);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "counter {}", self.0)
    }
}

impl EntityId for Name {
    fn key(&self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }

    fn from_key(key: &[u8]) -> Option<Self> {
        key.try_into().ok().map(|bytes| Self(u64::from_be_bytes(bytes)))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) struct Counter {
    pub(crate) total: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) enum Event {
    Added(u64),
}

purser_actors::state_machine! { Counter, Event;
    states { Counting = "counting" }
    events {
        Added - { - => Counting: "first addition", Counting }
    }
}

impl From<&Counter> for State {
    fn from(_: &Counter) -> Self {
        Self::Counting
    }
}

impl Stored for Counter {
    const SCHEMA: u16 = 60_001;
}

impl Stored for Event {
    const SCHEMA: u16 = 60_002;
}

/// A gate that is closed until the test opens it; reports when a task waits at it.
#[derive(Debug, Default)]
pub(crate) struct TestGate {
    /// A task waits; the gate is open.
    state: Mutex<(bool, bool)>,
    condvar: Condvar,
}

impl TestGate {
    pub(crate) fn open(&self) {
        self.state.lock().1 = true;
        self.condvar.notify_all();
    }

    pub(crate) fn is_reached(&self) -> bool {
        self.state.lock().0
    }

    fn pass(&self) {
        let mut state = self.state.lock();
        state.0 = true;
        while !state.1 {
            self.condvar.wait(&mut state);
        }
    }
}

#[derive(Debug)]
pub(crate) enum Command {
    /// Adds; the reply is the new total.
    Add(u64),
    /// Changes nothing; the reply is the total.
    Show,
    /// Rejects, once the gate is open.
    Reject(Arc<TestGate>),
    Die,
}

/// The total at which the command was rejected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RejectedAt(pub(crate) u64);

impl Entity for Counter {
    const KIND: EntityKind = EntityKind::Account;
    const CREATED_BY_COMMAND: bool = true;

    type Id = Name;
    type Command = Command;
    type Reply = u64;
    type Rejection = RejectedAt;
    type Outcome = u64;
    type View<'a> = JsonObject;

    fn decide(this: Option<&Self>, _: &Name, command: Command, _: &Context) -> Result<Decision<Self>, RejectedAt> {
        let total = this.map_or(0, |c| c.total);
        match command {
            Command::Add(n) => Ok(Decision::answer(total + n).event(Event::Added(n))),
            Command::Show => Ok(Decision::answer(total)),
            Command::Reject(gate) => {
                gate.pass();
                Err(RejectedAt(total))
            }
            Command::Die => panic!("{EXPECTED_PANIC}"),
        }
    }

    fn apply(this: Option<Self>, _: &Name, Event::Added(n): &Event) -> Result<Self, InvalidTransition> {
        Ok(Self {
            total: this.map_or(0, |c| c.total) + n,
        })
    }

    fn owner(&self) -> Wallet {
        Wallet::Evm([1; 20])
    }

    fn view(&self, _: &Name) -> JsonObject {
        JsonObject::new().integer("total", self.total)
    }

    fn outcome(&self) -> Option<u64> {
        (self.total >= 100).then_some(self.total)
    }
}

struct NoJobs;

impl JobStarter for NoJobs {
    fn start(&self, outbox_job: OutboxJob) {
        unreachable!("counters have no effects: {outbox_job:?}");
    }
}

/// A registry of counters on a store.
pub(crate) struct Counters {
    pub(crate) registry: EntityRegistry<Counter>,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) clock: Arc<TestClock>,
    root: ActorCell,
    healthy: Arc<AtomicBool>,
}

impl Counters {
    pub(crate) async fn new(limits: ActivationLimits) -> Self {
        static STARTS: AtomicU64 = AtomicU64::new(1_000_000);
        quiet_expected_panics();
        let (store, clock) = (MemoryStore::new(), Arc::new(TestClock::new()));
        let sound = Arc::new(AtomicBool::new(true));
        let root = root_supervisor::start(sound.clone()).await.expect("a root");
        let ground = EntityDeps {
            store: store.clone(),
            clock: clock.clone(),
            entropy: Arc::new(SeededEntropy::new(STARTS.fetch_add(1, Ordering::SeqCst))),
            job_starter: Arc::new(NoJobs),
            runtime: tokio::runtime::Handle::current(),
            limits,
        };
        let registry = EntityRegistry::start(ground, root.clone()).await.expect("a family");
        Self {
            registry,
            store,
            clock,
            root,
            healthy: sound,
        }
    }

    /// Whether the registry's supervisor has never died.
    pub(crate) fn is_healthy(&self) -> bool {
        self.healthy.load(Ordering::SeqCst) && self.root.get_status() == ActorStatus::Running
    }

    pub(crate) async fn durable(&self, name: Name) -> u64 {
        let read = self.registry.read(&name).await.expect("readable");
        read.map_or(0, |(counter, _)| counter.total)
    }

    /// Makes the snapshot unreadable.
    pub(crate) fn corrupt(&self, name: Name) {
        self.store
            .overwrite(table::entity(Counter::KIND, &name.key()), b"neither header nor content");
    }
}
