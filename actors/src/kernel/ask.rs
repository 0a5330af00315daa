//! The typed side of an entity actor: a command with its reply, and a caller that waits for an outcome. Everything else
//! about an actor knows no type of entity and is compiled once.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use purser_storage::codec::{self, DecodeError};
use purser_storage::mutants::{self, Mutant};
use purser_storage::{Batch, Condition, Write};
use tokio::sync::oneshot;

use crate::id::{RequestId, ShardId, Wallet};
use crate::kernel::entity::{AskError, Entity, EntityId as _, EntityKind, NewEntity, fold_event};
use crate::kernel::event_actor::EventActor;
use crate::kernel::idempotency::ExtraWrite;
use crate::kernel::{Context, InvalidTransition, OutboxJob, request_context, table};

/// What an actor and its registry must know about a kind of entity.
pub(crate) struct EntityType {
    pub(crate) kind: EntityKind,
    pub(crate) is_created_by_command: bool,
    /// Decodes a snapshot; `None` gives the state of an entity that does not exist.
    pub(crate) decode: fn(Option<&[u8]>) -> Result<AnyState, DecodeError>,
    show_id: fn(&EntityKey, &mut fmt::Formatter<'_>) -> fmt::Result,
}

impl EntityType {
    pub(crate) const fn of<E: Entity>() -> &'static Self {
        const {
            &Self {
                kind: E::KIND,
                is_created_by_command: E::CREATED_BY_COMMAND,
                decode: |snapshot| {
                    let state: Option<E> = snapshot.map(codec::decode).transpose()?;
                    Ok(Box::new(state))
                },
                show_id: |key, f| match E::Id::from_key(key.bytes()) {
                    Some(id) => fmt::Display::fmt(&id, f),
                    None => write!(f, "{:02x?}", key.bytes()),
                },
            }
        }
    }
}

/// An `Option<E>`. Always of the type of the actor's registry.
pub(crate) type AnyState = Box<dyn Any + Send + Sync>;

/// Bytes of an entity's id, as in its row's key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntityKey {
    bytes: [u8; Self::CAPACITY],
    len: u8,
}

impl Hash for EntityKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Without the unused bytes: most ids have half as many.
        state.write(self.bytes());
    }
}

impl EntityKey {
    /// A Solana wallet is the longest: its network and 32 bytes.
    const CAPACITY: usize = 33;

    pub(crate) fn of<E: Entity>(id: &E::Id) -> Self {
        let key = id.key();
        debug_assert!(key.len() <= Self::CAPACITY, "an id is longer than a wallet");
        let len = key.len().min(Self::CAPACITY);
        let mut bytes = [0; Self::CAPACITY];
        bytes[..len].copy_from_slice(&key[..len]);
        Self { bytes, len: len as u8 }
    }

    pub(crate) fn shard(&self) -> ShardId {
        ShardId::of_key(self.bytes())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The id as text, for the log.
pub(crate) struct ShownId(pub(crate) &'static EntityType, pub(crate) EntityKey);

impl fmt::Display for ShownId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0.show_id)(&self.1, f)
    }
}

/// An entity in memory. Includes batches that are enqueued and not yet durable.
pub(crate) struct LiveEntity {
    pub(crate) state: AnyState,
    /// 0 if the entity does not exist.
    pub(crate) revision: u64,
}

/// Why a command was not decided, or its batch not committed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Undecided {
    NotFound,
    Quarantined,
    Conflict,
    OutcomeUnknown,
}

impl<R> From<Undecided> for AskError<R> {
    fn from(why: Undecided) -> Self {
        match why {
            Undecided::NotFound => Self::NotFound,
            Undecided::Quarantined => Self::Quarantined,
            Undecided::Conflict => Self::Conflict,
            Undecided::OutcomeUnknown => Self::OutcomeUnknown,
        }
    }
}

/// A batch to commit, and the jobs to start after it.
#[derive(Default)]
pub(crate) struct Change {
    pub(crate) batch: Batch,
    pub(crate) jobs: Vec<OutboxJob>,
    /// Number of events of the entity itself.
    pub(crate) events: usize,
}

/// A command for an entity of any kind, with its reply once it is decided.
pub(crate) trait Task: Send + Sync {
    /// Who sent the request of the command.
    fn actor(&self) -> Option<Arc<EventActor>>;

    /// Decides the command, and puts the state after it into memory. `None` if nothing is to be committed.
    fn decide(
        &mut self,
        live: &mut LiveEntity,
        context: &Context,
        request_id: RequestId,
    ) -> Result<Option<Change>, InvalidTransition>;

    /// Sends the reply, once everything that it depends on is durable, or the reason why there is none.
    fn reply(self: Box<Self>, durable: Result<(), Undecided>);
}

/// A command with the receiver of its reply.
pub(crate) struct Ask<E: Entity> {
    id: E::Id,
    /// `None` once it is decided.
    command: Option<E::Command>,
    /// Additional rows for its batch.
    extra: Option<ExtraWrite<E>>,
    /// Account in whose name an agent sends the command.
    agent_of: Option<Wallet>,
    /// Account whose access the sender has, and the revision of its cutoff when that was checked.
    access: Option<(Wallet, u64)>,
    /// What its batch needs if an operator sends the command.
    of_operator: Vec<Condition>,
    /// Who sent the request.
    actor: Option<Arc<EventActor>>,
    /// `None` until it is decided.
    result: Option<Result<E::Reply, E::Rejection>>,
    reply: oneshot::Sender<Result<E::Reply, AskError<E::Rejection>>>,
}

impl<E: Entity> Ask<E> {
    /// A command of the running task.
    pub(crate) fn new(
        id: E::Id,
        command: E::Command,
        extra: Option<ExtraWrite<E>>,
        reply: oneshot::Sender<Result<E::Reply, AskError<E::Rejection>>>,
    ) -> Self {
        Self {
            id,
            command: Some(command),
            extra,
            agent_of: request_context::agent_account(),
            access: request_context::access(),
            of_operator: request_context::operator_conditions(),
            actor: request_context::current_actor(),
            result: None,
            reply,
        }
    }
}

impl<E: Entity> Task for Ask<E> {
    fn actor(&self) -> Option<Arc<EventActor>> {
        self.actor.clone()
    }

    fn decide(
        &mut self,
        live: &mut LiveEntity,
        context: &Context,
        request_id: RequestId,
    ) -> Result<Option<Change>, InvalidTransition> {
        let (Some(state), Some(command)) = (live.state.downcast_mut::<Option<E>>(), self.command.take()) else {
            return Err(InvalidTransition::new("another kind of entity", &E::KIND));
        };
        let (id, extra) = (&self.id, self.extra.take());
        let mut decision = match E::decide(state.as_ref(), id, command, context) {
            Ok(decision) => decision,
            Err(rejection) => {
                let mut change = Change::default();
                let is_recorded = extra.is_some_and(|extra| extra.write(Err(&rejection), &mut change.batch, context));
                self.result = Some(Err(rejection));
                return Ok(is_recorded.then_some(change));
            }
        };
        if decision.is_empty() && extra.is_none() {
            self.result = Some(Ok(decision.reply));
            return Ok(None);
        }
        if let Some(extra) = &extra {
            decision.jobs.extend_from_slice(extra.jobs());
        }
        let events = decision.events.len();
        let mut batch = apply_events(state, &mut live.revision, id, &decision.events, context)?;
        decision.jobs.iter_mut().for_each(|job| job.request_id = request_id);
        batch.conditions.append(&mut decision.conditions);
        // Whatever was read before: a batch that is committed after the stop has no effect.
        if let Some(account) = &self.agent_of {
            batch.conditions.push(Condition::Absent(table::agents_stopped(account)));
        }
        // The same for a recovery, which ends the access that was checked.
        if let Some((account, revision)) = &self.access {
            let cutoff = table::access_cutoff(account);
            batch.conditions.push(Condition::Revision(cutoff, *revision));
        }
        // And for the end of an operator's token or session.
        batch.conditions.append(&mut self.of_operator);
        batch.writes.append(&mut decision.writes);
        batch.writes.extend(decision.jobs.iter().map(OutboxJob::put));
        open(E::KIND, decision.new_entities, request_id, &mut batch);
        if let Some(extra) = extra {
            extra.write(Ok((&decision.reply, state.as_ref())), &mut batch, context);
        }
        self.result = Some(Ok(decision.reply));
        Ok(Some(Change {
            batch,
            jobs: decision.jobs,
            events,
        }))
    }

    fn reply(self: Box<Self>, durable: Result<(), Undecided>) {
        let answer = match (durable, self.result) {
            (Ok(()), Some(result)) => result.map_err(AskError::Rejected),
            (Ok(()), None) => Err(AskError::OutcomeUnknown),
            (Err(why), _) => Err(why.into()),
        };
        // The caller may have gone.
        drop(self.reply.send(answer));
    }
}

/// Applies the events to the state in memory and returns the batch that makes them durable.
fn apply_events<E: Entity>(
    live: &mut Option<E>,
    revision: &mut u64,
    id: &E::Id,
    events: &[E::Event],
    context: &Context,
) -> Result<Batch, InvalidTransition> {
    let mut batch = Batch::default();
    if events.is_empty() {
        return Ok(batch);
    }
    let key = table::entity(E::KIND, &id.key());
    if *revision == 0 || !mutants::is_enabled(Mutant::ActivationWithoutBarrier) {
        batch.conditions.push(Condition::Revision(key.clone(), *revision));
    }
    // Taken, not copied: if an event does not fit, this actor stops and the next one loads the durable state.
    let (mut state, mut seen) = (live.take(), None);
    for event in events {
        *revision += 1;
        let (after, record) = fold_event::<E>(state, &mut seen, id, event, *revision, context)?;
        batch.events.push(record.to_event());
        state = Some(after);
    }
    if let Some(state) = &state {
        batch.writes.push(Write::Put {
            key,
            revision: *revision,
            value: codec::encode(state),
        });
    }
    *live = state;
    Ok(batch)
}

/// Adds the entities that a decision opens.
fn open(kind: EntityKind, new_entities: Vec<NewEntity>, request_id: RequestId, batch: &mut Batch) {
    // For lookups by request id. Entities that a payment opens come later, under the same request, and are found from
    // the payment.
    if let Some(first) = new_entities.first()
        && request_id != RequestId::NONE
        && kind != EntityKind::Payment
    {
        batch.writes.push(Write::Put {
            key: table::request(request_id),
            revision: 0,
            value: first.key.to_vec(),
        });
    }
    for new in new_entities {
        if !mutants::is_enabled(Mutant::ClaimUnconditional) {
            batch.conditions.push(Condition::Absent(new.key.clone()));
        }
        batch.writes.push(Write::Put {
            key: new.key,
            revision: 1,
            value: new.snapshot,
        });
        batch.events.push(new.record.to_event());
    }
}

/// A caller that waits for an entity's outcome.
pub(crate) trait Waiter: Send + Sync {
    /// Only an outcome of a revision above this counts.
    fn above(&self) -> u64;

    /// Takes the outcome of this state, if it has one.
    fn take_outcome(&mut self, state: &AnyState) -> bool;

    /// Sends the outcome that was taken.
    fn send(self: Box<Self>);
}

/// A caller that waits for the outcome of an entity of this type.
pub(crate) struct OutcomeWaiter<E: Entity> {
    pub(crate) above: u64,
    pub(crate) outcome: Option<E::Outcome>,
    pub(crate) reply: oneshot::Sender<E::Outcome>,
}

impl<E: Entity> Waiter for OutcomeWaiter<E> {
    fn above(&self) -> u64 {
        self.above
    }

    fn take_outcome(&mut self, state: &AnyState) -> bool {
        let state = state.downcast_ref::<Option<E>>().and_then(Option::as_ref);
        self.outcome = state.and_then(E::outcome);
        self.outcome.is_some()
    }

    fn send(self: Box<Self>) {
        if let Some(outcome) = self.outcome {
            // The caller may have gone.
            drop(self.reply.send(outcome));
        }
    }
}
