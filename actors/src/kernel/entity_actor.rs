//! The actor that runs any entity: decide, apply in memory, enqueue the batch, continue. When the batch is durable,
//! reply and start its jobs.
//!
//! Every reply, including a rejection, waits until the newest batch that its state depends on is durable, so a power
//! cut can never contradict a reply. If a batch is rejected, its write session rejects all batches decided on top of
//! it, and the actor reloads.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use purser_storage::mutants::{self, Mutant};
use purser_storage::{Batch, CommitError, Write, WriteSession};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::id::{RequestId, ShardId};
use crate::kernel::Context;
use crate::kernel::ask::{Change, EntityKey, LiveEntity, ShownId, Task, Undecided, Waiter};
use crate::kernel::registry::RegistryCore;

/// Message to an entity's actor.
pub(crate) enum EntityMsg {
    /// Decide a command of this request.
    Command(Box<dyn Task>, RequestId),
    /// Send the outcome once there is one.
    AwaitOutcome(Box<dyn Waiter>),
    /// A batch was rejected: reload the durable state. Returns the waiters of that batch.
    Reload(Vec<Box<dyn Waiter>>),
    /// Stop when everything enqueued is durable.
    Passivate,
    /// Everything enqueued is durable.
    Drained,
}

pub(crate) struct EntityActor {
    pub(crate) core: Arc<RegistryCore>,
    pub(crate) key: EntityKey,
    /// Of its ids. A wallet's is a hash, so it is computed once.
    pub(crate) shard: ShardId,
}

pub(crate) struct ActorState {
    live: LiveEntity,
    session: Arc<WriteSession>,
    /// Batches enqueued and not yet acknowledged; shared with their callbacks.
    in_flight: Arc<AtomicUsize>,
    waiters: Vec<Box<dyn Waiter>>,
    passivating: bool,
}

impl Actor for EntityActor {
    type Msg = EntityMsg;
    type State = ActorState;
    type Arguments = LiveEntity;

    async fn pre_start(&self, _: ActorRef<EntityMsg>, live: LiveEntity) -> Result<ActorState, ActorProcessingErr> {
        Ok(ActorState {
            live,
            session: Arc::default(),
            in_flight: Arc::default(),
            waiters: Vec::new(),
            passivating: false,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<EntityMsg>,
        message: EntityMsg,
        resident: &mut ActorState,
    ) -> Result<(), ActorProcessingErr> {
        if resident.session.has_failed() {
            self.reload(resident).await?;
        }
        match message {
            EntityMsg::Command(task, request_id) => self.decide(&myself, resident, task, request_id)?,
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
                self.core.may_stay_active(self.key, myself);
            }
        }
        Ok(())
    }
}

impl ActorState {
    fn idle(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) == 0
    }

    /// The waiters whose outcome is there, if the state is newer than this revision.
    fn take_ready_waiters(&mut self, above: u64) -> Vec<Box<dyn Waiter>> {
        if self.live.revision <= above {
            return Vec::new();
        }
        let state = &self.live.state;
        self.waiters
            .extract_if(.., |waiter| waiter.take_outcome(state))
            .collect()
    }
}

impl EntityActor {
    fn shown_id(&self) -> ShownId {
        ShownId(self.core.entity_type, self.key)
    }

    /// Loads the durable state once every batch that this actor enqueued is acknowledged.
    async fn reload(&self, resident: &mut ActorState) -> Result<(), ActorProcessingErr> {
        self.core.wait_durable().await;
        resident.live = self.core.load(self.key).await?;
        resident.session = Arc::default();
        resident.in_flight = Arc::default();
        Ok(())
    }

    fn wait(&self, myself: &ActorRef<EntityMsg>, resident: &mut ActorState, mut waiter: Box<dyn Waiter>) {
        if resident.live.revision <= waiter.above() || !waiter.take_outcome(&resident.live.state) {
            resident.waiters.push(waiter);
            return;
        }
        let (myself, session) = (myself.clone(), resident.session.clone());
        self.after_durable(resident, move |durable| {
            if durable {
                waiter.send();
            } else if session.has_failed() {
                // This outcome was never committed: wait for the actual one.
                drop(myself.cast(EntityMsg::Reload(vec![waiter])));
            }
        });
    }

    /// Runs `then` once everything enqueued so far is durable, at once if it is; `false` if it never will be.
    fn after_durable(&self, resident: &ActorState, then: impl FnOnce(bool) + Send + 'static) {
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
        myself: &ActorRef<EntityMsg>,
        resident: &mut ActorState,
        mut task: Box<dyn Task>,
        request_id: RequestId,
    ) -> Result<(), ActorProcessingErr> {
        let revision = resident.live.revision;
        if revision == 0 && !self.core.entity_type.is_created_by_command {
            task.reply(Err(Undecided::NotFound));
            myself.stop(None);
            return Ok(());
        }
        let context = Context::new(self.core.clock.now(), self.core.entropy.random(), self.shard);
        match task.decide(&mut resident.live, &context, request_id)? {
            // The reply waits for everything decided before.
            None => self.after_durable(resident, move |durable| {
                task.reply(if durable { Ok(()) } else { Err(Undecided::Conflict) });
            }),
            Some(change) => {
                let (events, jobs) = (change.events, change.jobs.len());
                let kind = self.core.entity_type.kind.name();
                tracing::debug!(kind, id = %self.shown_id(), request = %request_id, events, jobs, "decided");
                let waiters = resident.take_ready_waiters(revision);
                self.enqueue(myself, resident, change, waiters, (task, request_id));
            }
        }
        Ok(())
    }

    /// Enqueues a batch; once it is durable, replies and starts the jobs.
    fn enqueue(
        &self,
        myself: &ActorRef<EntityMsg>,
        resident: &ActorState,
        change: Change,
        waiters: Vec<Box<dyn Waiter>>,
        (task, request_id): (Box<dyn Task>, RequestId),
    ) {
        let Change {
            mut batch, mut jobs, ..
        } = change;
        debug_assert!(dedup_keys(&batch.writes), "a batch writes each row once");
        if mutants::is_enabled(Mutant::JobBeforeDurable) {
            jobs.drain(..).for_each(|job| self.core.job_starter.start(job));
        }
        batch.session = Some(resident.session.clone());
        let in_flight = resident.in_flight.clone();
        in_flight.fetch_add(1, Ordering::AcqRel);
        let (id, core, myself) = (self.shown_id(), self.core.clone(), myself.clone());
        self.core.store.commit(
            batch,
            Box::new(move |done| {
                in_flight.fetch_sub(1, Ordering::AcqRel);
                match done {
                    Ok(committed) => {
                        let (kind, seq) = (core.entity_type.kind.name(), committed.seq);
                        tracing::debug!(kind, %id, request = %request_id, seq, "durable");
                        task.reply(Ok(()));
                        waiters.into_iter().for_each(Waiter::send);
                        jobs.into_iter().for_each(|job| core.job_starter.start(job));
                    }
                    Err(CommitError::Stopped) => task.reply(Err(Undecided::OutcomeUnknown)),
                    Err(_) => {
                        task.reply(Err(Undecided::Conflict));
                        drop(myself.cast(EntityMsg::Reload(waiters)));
                    }
                }
            }),
        );
    }
}

fn dedup_keys(writes: &[Write]) -> bool {
    let mut seen = HashSet::new();
    writes.iter().all(|w| match w {
        Write::Put { key, .. } | Write::Delete { key } => seen.insert(key.clone()),
    })
}
