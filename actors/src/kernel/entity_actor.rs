//! The actor that runs any entity: decide, apply in memory, enqueue the batch, continue. When the batch is durable,
//! reply and start its jobs.
//!
//! Every reply, including a rejection, waits until the newest batch that its state depends on is durable, so a power
//! cut can never contradict a reply. If a batch is rejected, its write session rejects all batches decided on top of
//! it, and the actor reloads.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use purser_storage::codec;
use purser_storage::mutants::{self, Mutant};
use purser_storage::{Batch, CommitError, Condition, Write, WriteSession};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::oneshot;

use crate::id::RequestId;
use crate::kernel::Decision;
use crate::kernel::entity::{AskError, Entity, EntityId, EntityKind, NewEntity, fold_event};
use crate::kernel::idempotency::ExtraWrite;
use crate::kernel::registry::RegistryCore;
use crate::kernel::{Context, InvalidTransition, OutboxJob, table};

/// Result of a command.
type CommandReply<E> = Result<<E as Entity>::Reply, AskError<<E as Entity>::Rejection>>;

/// Receiver of a command's reply.
pub type ReplyCallback<E> = oneshot::Sender<CommandReply<E>>;

/// A caller that waits for the entity's outcome.
pub struct OutcomeWaiter<E: Entity> {
    /// Only an outcome of a revision above this counts.
    pub above: u64,
    /// Receives the outcome once.
    pub reply: oneshot::Sender<E::Outcome>,
}

/// A waiter whose outcome is there.
type ReadyWaiter<E> = (OutcomeWaiter<E>, <E as Entity>::Outcome);

/// Message to an entity's actor.
pub enum EntityMsg<E: Entity> {
    /// Decide a command.
    Command {
        /// Command to decide.
        command: E::Command,
        /// Additional rows for its batch.
        extra: Option<ExtraWrite<E>>,
        /// Receiver of the reply.
        reply: ReplyCallback<E>,
        /// Request that sent the command.
        request_id: RequestId,
    },
    /// Send the outcome once there is one.
    AwaitOutcome(OutcomeWaiter<E>),
    /// A batch was rejected: reload the durable state. Returns the waiters of that batch.
    Reload(Vec<OutcomeWaiter<E>>),
    /// Stop when everything enqueued is durable.
    Passivate,
    /// Everything enqueued is durable.
    Drained,
}

pub(crate) struct EntityActor<E: Entity> {
    pub(crate) core: Arc<RegistryCore<E>>,
    pub(crate) id: E::Id,
}

/// Durable state that an actor starts with.
pub(crate) struct LoadedState<E> {
    pub(crate) state: Option<E>,
    pub(crate) revision: u64,
}

pub(crate) struct ActorState<E: Entity> {
    /// Includes batches that are enqueued and not yet durable.
    state: Option<E>,
    revision: u64,
    session: Arc<WriteSession>,
    /// Batches enqueued and not yet acknowledged; shared with their callbacks.
    in_flight: Arc<AtomicUsize>,
    waiters: Vec<OutcomeWaiter<E>>,
    passivating: bool,
}

impl<E: Entity> Actor for EntityActor<E> {
    type Msg = EntityMsg<E>;
    type State = ActorState<E>;
    type Arguments = LoadedState<E>;

    async fn pre_start(
        &self,
        _: ActorRef<EntityMsg<E>>,
        loaded: LoadedState<E>,
    ) -> Result<ActorState<E>, ActorProcessingErr> {
        Ok(ActorState {
            state: loaded.state,
            revision: loaded.revision,
            session: Arc::default(),
            in_flight: Arc::default(),
            waiters: Vec::new(),
            passivating: false,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<EntityMsg<E>>,
        message: EntityMsg<E>,
        resident: &mut ActorState<E>,
    ) -> Result<(), ActorProcessingErr> {
        if resident.session.has_failed() {
            self.reload(resident).await?;
        }
        match message {
            EntityMsg::Command {
                command,
                extra: aside,
                reply,
                request_id: origin,
            } => self.decide(&myself, resident, (command, aside), (reply, origin))?,
            EntityMsg::AwaitOutcome(waiter) => self.wait(&myself, resident, waiter),
            EntityMsg::Reload(waiters) => waiters.into_iter().for_each(|w| self.wait(&myself, resident, w)),
            EntityMsg::Passivate
                if mutants::is_enabled(Mutant::ActivationWithoutBarrier) && resident.waiters.is_empty() =>
            {
                myself.stop(None);
            }
            EntityMsg::Passivate => {
                resident.passivating = true;
                let me = myself.clone();
                self.after_durable(resident, move |_| drop(me.cast(EntityMsg::Drained)));
            }
            EntityMsg::Drained if resident.passivating && resident.waiters.is_empty() && resident.idle() => {
                myself.stop(None)
            }
            EntityMsg::Drained => {
                resident.passivating = false;
                self.core.may_stay_active(self.id, myself);
            }
        }
        Ok(())
    }
}

impl<E: Entity> ActorState<E> {
    fn idle(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) == 0
    }
}

impl<E: Entity> EntityActor<E> {
    /// Loads the durable state once every batch that this actor enqueued is acknowledged.
    async fn reload(&self, resident: &mut ActorState<E>) -> Result<(), ActorProcessingErr> {
        self.core.wait_durable().await;
        let loaded = self.core.load(&self.id).await?;
        resident.state = loaded.state;
        resident.revision = loaded.revision;
        resident.session = Arc::default();
        resident.in_flight = Arc::default();
        Ok(())
    }

    fn wait(&self, myself: &ActorRef<EntityMsg<E>>, resident: &mut ActorState<E>, waiter: OutcomeWaiter<E>) {
        let outcome = resident
            .state
            .as_ref()
            .filter(|_| resident.revision > waiter.above)
            .and_then(E::outcome);
        match outcome {
            Some(outcome) => {
                let (myself, lane) = (myself.clone(), resident.session.clone());
                self.after_durable(resident, move |durable| {
                    if durable {
                        drop(waiter.reply.send(outcome));
                    } else if lane.has_failed() {
                        // This outcome was never committed: wait for the actual one.
                        drop(myself.cast(EntityMsg::Reload(vec![waiter])));
                    }
                });
            }
            None => resident.waiters.push(waiter),
        }
    }

    /// Runs `then` once everything enqueued so far is durable, at once if it is; `false` if it never will be.
    fn after_durable(&self, resident: &ActorState<E>, then: impl FnOnce(bool) + Send + 'static) {
        if resident.idle() || mutants::is_enabled(Mutant::ReplyBeforeDurable) {
            // A batch may have been rejected since this message began; its state was then never committed. The write
            // session fails before the batch is acknowledged, so a reader that finds nothing in flight sees the failure
            // too.
            return then(!resident.session.has_failed());
        }
        let barrier = Batch {
            session: Some(resident.session.clone()),
            ..Batch::default()
        };
        self.core
            .store
            .commit(barrier, Box::new(move |done| then(done.is_ok())));
    }

    fn decide(
        &self,
        myself: &ActorRef<EntityMsg<E>>,
        resident: &mut ActorState<E>,
        (command, aside): (E::Command, Option<ExtraWrite<E>>),
        (reply, origin): (ReplyCallback<E>, RequestId),
    ) -> Result<(), ActorProcessingErr> {
        if resident.state.is_none() && !E::CREATED_BY_COMMAND {
            drop(reply.send(Err(AskError::NotFound)));
            myself.stop(None);
            return Ok(());
        }
        let context = Context::new(self.core.clock.now(), self.core.entropy.random());
        let mut batch = Batch::default();
        match E::decide(resident.state.as_ref(), &self.id, command, &context) {
            Err(rejection)
                if aside
                    .as_ref()
                    .is_some_and(|aside| aside.write(Err(&rejection), &mut batch, &context)) =>
            {
                let refusal = Err(AskError::Rejected(rejection));
                self.enqueue(
                    myself,
                    resident,
                    batch,
                    (Vec::new(), Vec::new()),
                    (reply, refusal, origin),
                );
            }
            Err(rejection) => self.after_durable(resident, move |durable| {
                let refusal = if durable {
                    AskError::Rejected(rejection)
                } else {
                    AskError::Conflict
                };
                drop(reply.send(Err(refusal)));
            }),
            Ok(decision) if decision.is_empty() && aside.is_none() => {
                self.after_durable(resident, move |durable| {
                    drop(reply.send(if durable {
                        Ok(decision.reply)
                    } else {
                        Err(AskError::Conflict)
                    }));
                });
            }
            Ok(mut decision) => {
                decision.jobs.iter_mut().for_each(|effect| effect.request_id = origin);
                let (events, effects) = (decision.events.len(), decision.jobs.len());
                tracing::debug!(kind = E::KIND.name(), id = %self.id, request = %origin, events, effects, "decided");
                self.commit(myself, resident, (decision, aside), &context, (reply, origin))?;
            }
        }
        Ok(())
    }

    /// Puts a decision's state into memory and enqueues it as one batch.
    fn commit(
        &self,
        myself: &ActorRef<EntityMsg<E>>,
        resident: &mut ActorState<E>,
        (decision, aside): (Decision<E>, Option<ExtraWrite<E>>),
        context: &Context,
        (reply, origin): (ReplyCallback<E>, RequestId),
    ) -> Result<(), InvalidTransition> {
        let revision = resident.revision;
        let mut batch = self.apply_events(resident, &decision.events, context)?;
        batch.conditions.extend(decision.conditions);
        batch.writes.extend(decision.writes);
        batch.writes.extend(decision.jobs.iter().map(OutboxJob::put));
        batch
            .writes
            .extend(trace_decision::<E>(origin, decision.new_entities.first()));
        for opening in decision.new_entities {
            if !mutants::is_enabled(Mutant::ClaimUnconditional) {
                batch.conditions.push(Condition::Absent(opening.key.clone()));
            }
            batch.writes.push(Write::Put {
                key: opening.key,
                revision: 1,
                value: opening.snapshot,
            });
            batch.events.push(opening.record.into_event());
        }
        if let Some(aside) = aside {
            aside.write(Ok((&decision.reply, resident.state.as_ref())), &mut batch, context);
        }
        let outcome = resident
            .state
            .as_ref()
            .filter(|_| resident.revision > revision)
            .and_then(E::outcome);
        let waiters = match outcome {
            Some(outcome) => std::mem::take(&mut resident.waiters)
                .into_iter()
                .map(|waiter| (waiter, outcome.clone()))
                .collect(),
            None => Vec::new(),
        };
        let effects = decision.jobs;
        let effects = if mutants::is_enabled(Mutant::JobBeforeDurable) {
            effects.into_iter().for_each(|e| self.core.job_starter.start(e));
            Vec::new()
        } else {
            effects
        };
        self.enqueue(
            myself,
            resident,
            batch,
            (effects, waiters),
            (reply, Ok(decision.reply), origin),
        );
        Ok(())
    }

    /// Enqueues a batch; once it is durable, replies and starts the jobs.
    fn enqueue(
        &self,
        myself: &ActorRef<EntityMsg<E>>,
        resident: &ActorState<E>,
        mut batch: Batch,
        (effects, waiters): (Vec<OutboxJob>, Vec<ReadyWaiter<E>>),
        (reply, answer, origin): (ReplyCallback<E>, CommandReply<E>, RequestId),
    ) {
        debug_assert!(dedup_keys(&batch.writes), "a batch writes each row once");
        batch.session = Some(resident.session.clone());
        let in_flight = resident.in_flight.clone();
        in_flight.fetch_add(1, Ordering::AcqRel);
        let (id, core, myself) = (self.id, self.core.clone(), myself.clone());
        self.core.store.commit(
            batch,
            Box::new(move |done| {
                in_flight.fetch_sub(1, Ordering::AcqRel);
                match done {
                    Ok(committed) => {
                        tracing::debug!(kind = E::KIND.name(), %id, request = %origin, seq = committed.seq, "durable");
                        drop(reply.send(answer));
                        waiters.into_iter().for_each(|(w, outcome)| drop(w.reply.send(outcome)));
                        effects.into_iter().for_each(|e| core.job_starter.start(e));
                    }
                    Err(CommitError::Stopped) => drop(reply.send(Err(AskError::OutcomeUnknown))),
                    Err(_) => {
                        drop(reply.send(Err(AskError::Conflict)));
                        let waiters = waiters.into_iter().map(|(waiter, _)| waiter).collect();
                        drop(myself.cast(EntityMsg::Reload(waiters)));
                    }
                }
            }),
        );
    }

    /// Applies the events to the state in memory and returns the batch that makes them durable.
    fn apply_events(
        &self,
        resident: &mut ActorState<E>,
        events: &[E::Event],
        context: &Context,
    ) -> Result<Batch, InvalidTransition> {
        let key = table::entity(E::KIND, &self.id.key());
        let mut batch = Batch::default();
        if events.is_empty() {
            return Ok(batch);
        }
        if resident.revision == 0 || !mutants::is_enabled(Mutant::ActivationWithoutBarrier) {
            batch
                .conditions
                .push(Condition::Revision(key.clone(), resident.revision));
        }
        // Taken, not copied: if an event does not fit, this actor stops and the next one loads the durable state.
        let (mut state, mut seen) = (resident.state.take(), None);
        for event in events {
            resident.revision += 1;
            let (after, record) = fold_event::<E>(state, &mut seen, &self.id, event, resident.revision, context)?;
            batch.events.push(record.into_event());
            state = Some(after);
        }
        if let Some(state) = &state {
            batch.writes.push(Write::Put {
                key,
                revision: resident.revision,
                value: codec::encode(state),
            });
        }
        resident.state = state;
        Ok(batch)
    }
}

/// Maps a request to the entity that it created, for lookups by request id. Entities that a payment opens come later,
/// under the same request, and are found from the payment.
fn trace_decision<E: Entity>(origin: RequestId, first: Option<&NewEntity>) -> Option<Write> {
    let opened = first.filter(|_| origin != RequestId::NONE && E::KIND != EntityKind::Payment)?;
    Some(Write::Put {
        key: table::request(origin),
        revision: 0,
        value: opened.key.to_vec(),
    })
}

fn dedup_keys(writes: &[Write]) -> bool {
    let mut seen = HashSet::new();
    writes.iter().all(|w| match w {
        Write::Put { key, .. } | Write::Delete { key } => seen.insert(key.clone()),
    })
}
