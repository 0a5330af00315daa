//! The actor that runs any entity: decide, apply in memory, enqueue the batch, continue. When the batch is durable,
//! reply and start its jobs.
//!
//! Every reply, including a rejection, waits until the newest batch that its state depends on is durable, so a power
//! cut can never contradict a reply. If a batch is rejected, its write session rejects all batches decided on top of
//! it, and the actor reloads.
//!
//! Messages are handled one at a time, under the entity's lock: by the actor's task, which takes them from the mailbox,
//! or at once by who sends one, which saves waking that task ([`EntityRef::handle_now`]). The sender may do so only
//! while the mailbox is empty and the entity is in order. A message counts as in the mailbox from before it is sent
//! until it is handled to its end, so no message is overtaken by a later one. Handling a message waits for nothing, asks
//! no entity and holds no lock of the registry, so senders cannot deadlock and never handle one message within another.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use purser_storage::mutants::{self, Mutant};
use purser_storage::{Batch, CommitError, Write, WriteSession};
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, ActorStatus, MessagingErr};
use tokio::sync::Mutex;

use crate::id::{RequestId, ShardId};
use crate::kernel::ask::{Change, EntityKey, LiveEntity, ShownId, Task, Undecided, Waiter};
use crate::kernel::registry::RegistryCore;
use crate::kernel::{Context, InvalidTransition};

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
    /// A sender that handled a message failed: the actor ends with its error.
    Fail,
}

/// The actor of a resident entity.
pub(crate) struct EntityActor(Arc<Resident>);

/// A handle on a resident entity and its actor.
#[derive(Clone)]
pub(crate) struct EntityRef {
    actor: ActorRef<EntityMsg>,
    resident: Arc<Resident>,
}

/// The registry's handle. It does not keep the entity, which keeps the registry: the entity ends with its actor.
pub(crate) struct WeakEntityRef {
    actor: ActorRef<EntityMsg>,
    resident: Weak<Resident>,
}

/// An entity in memory, shared by its actor and those that send it messages.
struct Resident {
    core: Arc<RegistryCore>,
    key: EntityKey,
    /// Of its ids. A wallet's is a hash, so it is computed once.
    shard: ShardId,
    /// Messages in the mailbox or being handled by the actor's task.
    queued: AtomicUsize,
    state: Mutex<ActorState>,
}

struct ActorState {
    live: LiveEntity,
    session: Arc<WriteSession>,
    /// Batches enqueued and not yet acknowledged; shared with their callbacks.
    in_flight: Arc<AtomicUsize>,
    waiters: Vec<Box<dyn Waiter>>,
    passivating: bool,
    /// Why no further message is handled. Set while one is, so that it stays set after a panic.
    broken: Option<Cow<'static, str>>,
}

impl Actor for EntityActor {
    type Msg = EntityMsg;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<EntityMsg>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        myself: ActorRef<EntityMsg>,
        message: EntityMsg,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        let Self(resident) = self;
        let entity = EntityRef {
            actor: myself,
            resident: resident.clone(),
        };
        let mut state = resident.state.lock().await;
        if let Some(why) = &state.broken {
            return Err(why.clone().into());
        }
        if state.session.has_failed() {
            resident.reload(&mut state).await?;
        }
        entity.handle(&mut state, message)?;
        // Not after an error or a panic: the mailbox of a dead actor never becomes empty.
        resident.queued.fetch_sub(1, Ordering::AcqRel);
        Ok(())
    }
}

impl EntityActor {
    pub(crate) fn new(core: Arc<RegistryCore>, key: EntityKey, live: LiveEntity) -> Self {
        let state = ActorState {
            live,
            session: Arc::default(),
            in_flight: Arc::default(),
            waiters: Vec::new(),
            passivating: false,
            broken: None,
        };
        Self(Arc::new(Resident {
            core,
            key,
            shard: key.shard(),
            queued: AtomicUsize::new(0),
            state: Mutex::new(state),
        }))
    }

    /// Starts the actor under the registry's supervisor.
    pub(crate) async fn spawn(self) -> Result<EntityRef, ractor::SpawnErr> {
        let resident = self.0.clone();
        let supervisor = resident.core.supervisor.clone();
        let (actor, _) = Actor::spawn_linked(None, self, (), supervisor).await?;
        Ok(EntityRef { actor, resident })
    }
}

impl ActorState {
    fn all_durable(&self) -> bool {
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

impl Resident {
    fn shown_id(&self) -> ShownId {
        ShownId(self.core.entity_type, self.key)
    }

    /// Whether the entity can exist. Only its actor ends itself otherwise.
    fn can_exist(&self, live: &LiveEntity) -> bool {
        live.revision > 0 || self.core.entity_type.is_created_by_command
    }

    /// Loads the durable state once every batch that this entity enqueued is acknowledged.
    async fn reload(&self, state: &mut ActorState) -> Result<(), ActorProcessingErr> {
        self.core.wait_durable().await;
        state.live = self.core.load(self.key).await?;
        state.session = Arc::default();
        state.in_flight = Arc::default();
        Ok(())
    }

    /// Runs `then` once everything enqueued so far is durable, at once if it is; `false` if it never will be.
    fn after_durable(&self, state: &ActorState, then: impl FnOnce(bool) + Send + 'static) {
        if state.all_durable() || mutants::is_enabled(Mutant::ReplyBeforeDurable) {
            // A batch may have been rejected since this message began; its state was then never committed. The write
            // session fails before the batch is acknowledged, so a reader that finds nothing in flight sees the failure
            // too.
            return then(!state.session.has_failed());
        }
        let barrier = Batch {
            session: Some(state.session.clone()),
            ..Batch::default()
        };
        self.core
            .store
            .commit(barrier, Box::new(move |done| then(done.is_ok())));
    }
}

impl WeakEntityRef {
    /// `None` once the actor has ended.
    pub(crate) fn upgrade(&self) -> Option<EntityRef> {
        let resident = self.resident.upgrade()?;
        let actor = self.actor.clone();
        Some(EntityRef { actor, resident })
    }

    /// As [`EntityRef::send`].
    pub(crate) fn send(&self, message: EntityMsg) -> Result<(), MessagingErr<EntityMsg>> {
        match self.upgrade() {
            Some(entity) => entity.send(message),
            None => Err(MessagingErr::SendErr(message)),
        }
    }
}

impl EntityRef {
    pub(crate) fn downgrade(&self) -> WeakEntityRef {
        WeakEntityRef {
            actor: self.actor.clone(),
            resident: Arc::downgrade(&self.resident),
        }
    }

    pub(crate) fn id(&self) -> ActorId {
        self.actor.get_id()
    }

    /// Whether no message is in the mailbox or being handled by the actor's task.
    pub(crate) fn has_empty_mailbox(&self) -> bool {
        self.resident.queued.load(Ordering::Acquire) == 0 || mutants::is_enabled(Mutant::MailboxOvertaken)
    }

    /// Puts the message into the mailbox. An actor that has ended gives it back.
    pub(crate) fn send(&self, message: EntityMsg) -> Result<(), MessagingErr<EntityMsg>> {
        // Before it is there, so that a later message cannot find the mailbox empty.
        self.resident.queued.fetch_add(1, Ordering::AcqRel);
        self.actor.send_message(message)
    }

    /// Handles the message in the calling task, if nothing would be overtaken and the entity is in order; otherwise gives
    /// it back, for the mailbox.
    ///
    /// A panic ends the entity's actor as one in its own task does: its supervisor sees the error, the message is dropped,
    /// and the calling task continues.
    pub(crate) fn handle_now(&self, message: EntityMsg) -> Result<(), EntityMsg> {
        let Ok(mut state) = self.resident.state.try_lock() else {
            return Err(message);
        };
        if !self.is_in_order(&state) {
            return Err(message);
        }
        let error = match catch_unwind(AssertUnwindSafe(|| self.handle(&mut state, message))) {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(panic) => panic_text(&*panic),
        };
        if mutants::is_enabled(Mutant::FailedEntityStaysInUse) {
            state.broken = None;
            return Ok(());
        }
        state.broken = Some(error.into());
        drop(state);
        // Later messages wait for the next actor instead of ending with this one.
        self.resident.core.take_slot(self.resident.key);
        drop(self.send(EntityMsg::Fail));
        Ok(())
    }

    /// Whether a sender may handle a message. Everything else, and everything that is queued behind it, is the actor's:
    /// reloading after a rejected batch, passivation, its end.
    fn is_in_order(&self, state: &ActorState) -> bool {
        self.has_empty_mailbox()
            && state.broken.is_none()
            && !state.passivating
            && !state.session.has_failed()
            && self.resident.can_exist(&state.live)
            && self.actor.get_status() == ActorStatus::Running
    }

    fn handle(&self, state: &mut ActorState, message: EntityMsg) -> Result<(), InvalidTransition> {
        state.broken = Some(Cow::Borrowed("a message was not handled to its end"));
        match message {
            EntityMsg::Command(task, request_id) => self.decide(state, task, request_id)?,
            EntityMsg::AwaitOutcome(waiter) => self.wait(state, waiter),
            EntityMsg::Reload(waiters) => waiters.into_iter().for_each(|w| self.wait(state, w)),
            EntityMsg::Passivate
                if mutants::is_enabled(Mutant::ActivationWithoutBarrier) && state.waiters.is_empty() =>
            {
                self.actor.stop(None);
            }
            EntityMsg::Passivate => {
                state.passivating = true;
                let me = self.clone();
                self.resident
                    .after_durable(state, move |_| drop(me.send(EntityMsg::Drained)));
            }
            EntityMsg::Drained if state.passivating && state.waiters.is_empty() && state.all_durable() => {
                self.actor.stop(None)
            }
            EntityMsg::Drained => {
                state.passivating = false;
                self.resident.core.may_stay_active(self.resident.key, self.clone());
            }
            // The failure is stored in the state, where the actor has found it.
            EntityMsg::Fail => {}
        }
        state.broken = None;
        Ok(())
    }

    fn wait(&self, state: &mut ActorState, mut waiter: Box<dyn Waiter>) {
        if state.live.revision <= waiter.above() || !waiter.take_outcome(&state.live.state) {
            state.waiters.push(waiter);
            return;
        }
        let (me, session) = (self.clone(), state.session.clone());
        self.resident.after_durable(state, move |durable| {
            if durable {
                waiter.send();
            } else if session.has_failed() {
                // This outcome was never committed: wait for the actual one.
                drop(me.send(EntityMsg::Reload(vec![waiter])));
            }
        });
    }

    fn decide(
        &self,
        state: &mut ActorState,
        mut task: Box<dyn Task>,
        request_id: RequestId,
    ) -> Result<(), InvalidTransition> {
        let resident = &self.resident;
        if !resident.can_exist(&state.live) {
            task.reply(Err(Undecided::NotFound));
            self.actor.stop(None);
            return Ok(());
        }
        let (core, revision) = (&resident.core, state.live.revision);
        let context = Context::new(core.clock.now(), core.entropy.random(), resident.shard).by(task.actor());
        match task.decide(&mut state.live, &context, request_id)? {
            // The reply waits for everything decided before.
            None => resident.after_durable(state, move |durable| {
                task.reply(if durable { Ok(()) } else { Err(Undecided::Conflict) });
            }),
            Some(change) => {
                let (events, jobs) = (change.events, change.jobs.len());
                let kind = core.entity_type.kind.name();
                tracing::debug!(kind, id = %resident.shown_id(), request = %request_id, events, jobs, "decided");
                let waiters = state.take_ready_waiters(revision);
                self.enqueue(state, change, waiters, (task, request_id));
            }
        }
        Ok(())
    }

    /// Enqueues a batch; once it is durable, replies and starts the jobs.
    fn enqueue(
        &self,
        state: &ActorState,
        change: Change,
        waiters: Vec<Box<dyn Waiter>>,
        (task, request_id): (Box<dyn Task>, RequestId),
    ) {
        let Change {
            mut batch, mut jobs, ..
        } = change;
        debug_assert!(dedup_keys(&batch.writes), "a batch writes each row once");
        let store = &self.resident.core.store;
        if mutants::is_enabled(Mutant::JobBeforeDurable) {
            jobs.drain(..).for_each(|job| self.resident.core.job_starter.start(job));
        }
        batch.session = Some(state.session.clone());
        let in_flight = state.in_flight.clone();
        in_flight.fetch_add(1, Ordering::AcqRel);
        let me = self.clone();
        store.commit(
            batch,
            Box::new(move |done| {
                in_flight.fetch_sub(1, Ordering::AcqRel);
                let resident = &me.resident;
                match done {
                    Ok(committed) => {
                        let (kind, seq) = (resident.core.entity_type.kind.name(), committed.seq);
                        tracing::debug!(kind, id = %resident.shown_id(), request = %request_id, seq, "durable");
                        task.reply(Ok(()));
                        waiters.into_iter().for_each(Waiter::send);
                        jobs.into_iter().for_each(|job| resident.core.job_starter.start(job));
                    }
                    Err(CommitError::Stopped) => task.reply(Err(Undecided::OutcomeUnknown)),
                    Err(_) => {
                        task.reply(Err(Undecided::Conflict));
                        drop(me.send(EntityMsg::Reload(waiters)));
                    }
                }
            }),
        );
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let fixed = panic.downcast_ref::<&str>().copied();
    let text = fixed.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a text").to_owned()
}

fn dedup_keys(writes: &[Write]) -> bool {
    let mut seen = HashSet::new();
    writes.iter().all(|w| match w {
        Write::Put { key, .. } | Write::Delete { key } => seen.insert(key.clone()),
    })
}
