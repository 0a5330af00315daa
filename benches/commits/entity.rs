//! The smallest entity that is honest: it decides, its state has the size of a real snapshot, and each accepted command
//! is one durable batch of a snapshot and an event.

use std::fmt;
use std::sync::Arc;

use purser::system::{SystemClock, SystemEntropy};
use purser_actors::id::Wallet;
use purser_actors::kernel::entity::EntityId;
use purser_actors::kernel::registry::{ActivationLimits, EntityDeps, JobStarter};
use purser_actors::kernel::{
    Context, Decision, Entity, EntityKind, EntityRegistry, InvalidTransition, JsonObject, OutboxJob, root_supervisor,
};
use purser_storage::Store;
use purser_storage::codec::{self, Stored};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef};

use crate::Fault;

/// One of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CounterId(pub(crate) u64);

impl fmt::Display for CounterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tally {}", self.0)
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
pub(crate) struct Tally {
    total: u64,
    // A payment's snapshot has 400 to 700 bytes.
    ballast: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub(crate) enum Event {
    Counted { by: u64 },
}

purser_actors::state_machine! { Tally, Event;
    states { Counting = "counting" }
    events {
        Counted - { - => Counting: "first count", Counting }
    }
}

impl From<&Tally> for State {
    fn from(_: &Tally) -> Self {
        Self::Counting
    }
}

impl Stored for Tally {
    const SCHEMA: u16 = 61_001;
}

impl Stored for Event {
    const SCHEMA: u16 = 61_002;
}

const BALLAST_BYTES: usize = 440;

impl Entity for Tally {
    const KIND: EntityKind = EntityKind::Account;
    const CREATED_BY_COMMAND: bool = true;

    type Id = CounterId;
    type Command = u64;
    type Reply = u64;
    type Rejection = ();
    type Outcome = ();
    type View<'a> = JsonObject;

    fn decide(this: Option<&Self>, _: &CounterId, by: u64, _: &Context) -> Result<Decision<Self>, ()> {
        let total = this.map_or(0, |t| t.total).checked_add(by).ok_or(())?;
        Ok(Decision::answer(total).event(Event::Counted { by }))
    }

    fn apply(this: Option<Self>, id: &CounterId, Event::Counted { by }: &Event) -> Result<Self, InvalidTransition> {
        let mut tally = this.unwrap_or_else(|| Self {
            total: 0,
            ballast: (0..BALLAST_BYTES).map(|n| (n as u64 ^ id.0) as u8).collect(),
        });
        tally.total += by;
        Ok(tally)
    }

    fn owner(&self) -> Wallet {
        Wallet::Evm([7; 20])
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

/// A family of tallies on a store, none of which ever goes to rest.
pub(crate) async fn start_registry(store: Arc<dyn Store>) -> Result<(EntityRegistry<Tally>, ActorCell), Fault> {
    let root = root_supervisor::start(Arc::default()).await?;
    let ground = EntityDeps {
        store,
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        job_starter: Arc::new(NoJobs),
        runtime: tokio::runtime::Handle::current(),
        limits: ActivationLimits {
            max_active: 1_000_000,
            passivate_after_ms: 3_600_000,
            restart_ms: 10,
            restart_max_ms: 1_000,
            quarantine_after: 5,
        },
    };
    Ok((EntityRegistry::start(ground, root.clone()).await?, root))
}

/// Snapshot and event of a tally that counted once, encoded.
pub(crate) fn sample() -> (Vec<u8>, Vec<u8>) {
    let counted = Event::Counted { by: 1 };
    let tally = Tally::apply(None, &CounterId(0), &counted);
    (
        tally.map(|t| codec::encode(&t)).unwrap_or_default(),
        codec::encode(&counted),
    )
}

/// The ceiling of the shell: an actor that answers at once.
pub(crate) struct Echo;

/// What it is asked.
pub(crate) struct EchoRequest(pub(crate) tokio::sync::oneshot::Sender<u64>);

impl Actor for Echo {
    type Msg = EchoRequest;
    type State = u64;
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<EchoRequest>, (): ()) -> Result<u64, ActorProcessingErr> {
        Ok(0)
    }

    async fn handle(
        &self,
        _: ActorRef<EchoRequest>,
        EchoRequest(reply): EchoRequest,
        total: &mut u64,
    ) -> Result<(), ActorProcessingErr> {
        *total += 1;
        let _ = reply.send(*total);
        Ok(())
    }
}
