//! Registry of one entity kind: finds an entity's actor, activates it on first use and passivates it when idle.
//!
//! Invariant: an id without a slot has nothing in flight. An actor that passivates stops only after all its batches are
//! acknowledged. After an actor died, its slot stays until a barrier has passed the commit queue. Loading a snapshot
//! therefore always reads the predecessor's last write.

mod actor_counts;
mod deps;
mod load_error;
mod supervisor;

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use parking_lot::Mutex;
use purser_storage::mutants::{self, Mutant};
use purser_storage::stats::Counter;
use purser_storage::{Batch, Row, Store, StoreError, codec};
use ractor::{ActorCell, ActorId, MessagingErr};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

pub use self::actor_counts::ActorCounts;
pub use self::deps::{ActivationLimits, EntityDeps, JobStarter};
pub use self::load_error::LoadError;
use self::supervisor::{EntitySupervisor, SupervisedRegistry};
use crate::kernel::ask::{Ask, EntityKey, EntityType, LiveEntity, OutcomeWaiter, ShownId, Undecided};
use crate::kernel::entity::{AskError, Entity, EntityId};
use crate::kernel::entity_actor::{EntityActor, EntityMsg, EntityRef, WeakEntityRef};
use crate::kernel::idempotency::{ExtraWrite, IdempotencyRecorder};
use crate::kernel::{request_context, table};
use crate::port::{Clock, Entropy};

enum ActorSlot {
    Active {
        entity: WeakEntityRef,
        used_ms: AtomicU64,
    },
    /// Being activated or passivated: messages wait here.
    Activating(Vec<EntityMsg>),
    Quarantined,
}

/// A registry without the type of its entities, so that it is compiled once.
pub(crate) struct RegistryCore {
    pub(crate) entity_type: &'static EntityType,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) job_starter: Arc<dyn JobStarter>,
    runtime: Handle,
    limits: ActivationLimits,
    slots: DashMap<EntityKey, ActorSlot>,
    keys_by_actor: DashMap<ActorId, EntityKey>,
    /// Consecutive crashes per entity; cleared when an actor stops normally.
    crashes: Mutex<HashMap<EntityKey, u32>>,
    restarts: AtomicU64,
    /// Commands in flight.
    commands_in_flight: Counter,
    pub(crate) supervisor: ActorCell,
}

/// Handle on a registry, as callers use it.
pub struct EntityRegistry<E: Entity> {
    core: Arc<RegistryCore>,
    entities: PhantomData<fn() -> E>,
}

impl<E: Entity> Clone for EntityRegistry<E> {
    fn clone(&self) -> Self {
        Self {
            core: self.core.clone(),
            entities: PhantomData,
        }
    }
}

impl<E: Entity> EntityRegistry<E> {
    /// Starts the registry's supervisor under `root` and returns the handle.
    ///
    /// # Errors
    /// When the runtime is shutting down.
    pub async fn start(deps: EntityDeps, root: ActorCell) -> Result<Self, ractor::SpawnErr> {
        Ok(Self {
            core: RegistryCore::start(EntityType::of::<E>(), deps, root).await?,
            entities: PhantomData,
        })
    }

    /// Sends a command and waits for the durable reply.
    ///
    /// # Errors
    /// An [`AskError`]; the command had no effect unless it is [`AskError::OutcomeUnknown`].
    pub async fn ask(&self, id: E::Id, command: E::Command) -> Result<E::Reply, AskError<E::Rejection>> {
        self.ask_idempotent(id, command, None).await
    }

    /// As [`EntityRegistry::ask`], and the same batch stores the reply as an idempotency record; a rejection is stored
    /// by a batch of its own. A conflict may mean that a record already exists.
    ///
    /// # Errors
    /// As [`EntityRegistry::ask`].
    pub async fn ask_idempotent(
        &self,
        id: E::Id,
        command: E::Command,
        recorder: Option<IdempotencyRecorder<E>>,
    ) -> Result<E::Reply, AskError<E::Rejection>> {
        self.ask_with_extra(id, command, recorder.map(ExtraWrite::Idempotency))
            .await
    }

    /// As [`EntityRegistry::ask`], with additional rows in the same batch.
    ///
    /// # Errors
    /// As [`EntityRegistry::ask`].
    pub(crate) async fn ask_with_extra(
        &self,
        id: E::Id,
        command: E::Command,
        extra: Option<ExtraWrite<E>>,
    ) -> Result<E::Reply, AskError<E::Rejection>> {
        let (reply, answer) = oneshot::channel();
        let _open = self.core.commands_in_flight.track();
        let ask = Box::new(Ask::<E>::new(id, command, extra, reply));
        let message = EntityMsg::Command(ask, request_context::current_request());
        self.core.send(EntityKey::of::<E>(&id), message);
        answer.await.unwrap_or(Err(AskError::OutcomeUnknown))
    }

    /// A receiver for the entity's outcome at a revision above the given one. It closes without a value if the actor
    /// dies; call again then.
    pub fn outcome(&self, id: E::Id, above: u64) -> oneshot::Receiver<E::Outcome> {
        let (reply, receiver) = oneshot::channel();
        let waiter: OutcomeWaiter<E> = OutcomeWaiter {
            above,
            outcome: None,
            reply,
        };
        self.core
            .send(EntityKey::of::<E>(&id), EntityMsg::AwaitOutcome(Box::new(waiter)));
        receiver
    }

    /// The durable state and its revision.
    ///
    /// # Errors
    /// When storage fails or the snapshot is corrupt.
    pub async fn read(&self, id: &E::Id) -> Result<Option<(E, u64)>, LoadError> {
        let Some(row) = self.core.read_row(EntityKey::of::<E>(id)).await? else {
            return Ok(None);
        };
        let state = codec::decode(&row.value).map_err(|error| LoadError::Corrupt(id.to_string(), error))?;
        Ok(Some((state, row.revision)))
    }

    /// Number of entities in memory.
    pub fn active_count(&self) -> usize {
        self.core.slots.len()
    }

    /// Commands in flight: in a mailbox, being decided, or waiting for the disk. Counted by the caller, because ractor
    /// does not expose the mailbox length.
    pub fn commands_in_flight(&self) -> u64 {
        self.core.commands_in_flight.sum()
    }

    /// Entity actors restarted after a crash since the start.
    pub fn restarts(&self) -> u64 {
        self.core.restarts.load(Ordering::Relaxed)
    }

    /// Entities quarantined after repeated load failures.
    pub fn quarantined(&self) -> Vec<E::Id> {
        let keys = self.core.quarantined();
        keys.iter().filter_map(|key| E::Id::from_key(key.bytes())).collect()
    }

    /// Passivates idle entities: those past the idle time, and the longest idle ones above the limit.
    pub fn passivate_idle(&self) {
        self.core.sweep();
    }
}

impl RegistryCore {
    async fn start(
        entity_type: &'static EntityType,
        deps: EntityDeps,
        root: ActorCell,
    ) -> Result<Arc<Self>, ractor::SpawnErr> {
        let supervised = SupervisedRegistry::default();
        let supervisor = EntitySupervisor::spawn(entity_type.kind, root, supervised.clone()).await?;
        let core = Arc::new(Self {
            entity_type,
            store: deps.store,
            clock: deps.clock,
            entropy: deps.entropy,
            job_starter: deps.job_starter,
            runtime: deps.runtime,
            limits: deps.limits,
            slots: DashMap::new(),
            keys_by_actor: DashMap::new(),
            crashes: Mutex::default(),
            restarts: AtomicU64::new(0),
            commands_in_flight: Counter::default(),
            supervisor,
        });
        // Before the first child: supervision events overtake messages, so a message could come too late.
        drop(supervised.set(core.clone()));
        Ok(core)
    }

    const fn shown_id(&self, key: EntityKey) -> ShownId {
        ShownId(self.entity_type, key)
    }

    async fn read_row(&self, key: EntityKey) -> Result<Option<Row>, StoreError> {
        self.store
            .read(&table::entity(self.entity_type.kind, key.bytes()))
            .await
    }

    pub(crate) async fn load(&self, key: EntityKey) -> Result<LiveEntity, LoadError> {
        let row = self.read_row(key).await?;
        let state = (self.entity_type.decode)(row.as_ref().map(|row| &*row.value))
            .map_err(|error| LoadError::Corrupt(self.shown_id(key).to_string(), error))?;
        Ok(LiveEntity {
            state,
            revision: row.map_or(0, |row| row.revision),
        })
    }

    /// Returns when everything enqueued so far is durable or rejected.
    pub(crate) async fn wait_durable(&self) {
        let (done, passed) = oneshot::channel();
        self.store.commit(
            Batch::default(),
            Box::new(move |_| {
                // The receiver is gone only if the caller was dropped.
                let _ = done.send(());
            }),
        );
        // A closed channel means that the store has stopped: then nothing is in flight either.
        drop(passed.await);
    }

    /// Handles a message at once if its entity is idle; otherwise puts it into the mailbox.
    fn send(self: &Arc<Self>, key: EntityKey, message: EntityMsg) {
        let message = match self.idle_entity(key) {
            Some(entity) => match entity.handle_now(message) {
                Ok(()) => return,
                Err(message) => message,
            },
            None => message,
        };
        self.enqueue(key, message);
    }

    /// The entity, if it is active and its mailbox is empty. The directory is not locked afterwards: the entity may leave
    /// meanwhile, which it knows itself.
    fn idle_entity(&self, key: EntityKey) -> Option<EntityRef> {
        let slot = self.slots.get(&key)?;
        let ActorSlot::Active { entity, used_ms } = slot.value() else {
            return None;
        };
        let entity = entity.upgrade().filter(EntityRef::has_empty_mailbox)?;
        used_ms.store(self.clock.now().0, Ordering::Relaxed);
        Some(entity)
    }

    fn enqueue(self: &Arc<Self>, key: EntityKey, message: EntityMsg) {
        match self.slots.entry(key) {
            Entry::Occupied(mut slot) => match slot.get_mut() {
                ActorSlot::Active { entity, used_ms } => {
                    used_ms.store(self.clock.now().0, Ordering::Relaxed);
                    // The supervisor's next event releases a dead actor's slot; until then messages wait.
                    if let Err(MessagingErr::SendErr(message)) = entity.send(message) {
                        slot.insert(ActorSlot::Activating(vec![message]));
                    }
                }
                ActorSlot::Activating(queue) => queue.push(message),
                ActorSlot::Quarantined => reply_error(message, Undecided::Quarantined),
            },
            Entry::Vacant(vacant) => {
                vacant.insert(ActorSlot::Activating(vec![message]));
                self.runtime.spawn(self.clone().activate(key));
            }
        }
    }

    async fn activate(self: Arc<Self>, key: EntityKey) {
        let live = match self.load(key).await {
            Ok(live) => live,
            Err(error) => return self.load_failed(key, &error),
        };
        if live.revision == 0 && !self.entity_type.is_created_by_command {
            if let Some((_, ActorSlot::Activating(queue))) = self.slots.remove(&key) {
                queue.into_iter().for_each(|m| reply_error(m, Undecided::NotFound));
            }
            return;
        }
        match EntityActor::new(self.clone(), key, live).spawn().await {
            Ok(entity) => {
                self.keys_by_actor.insert(entity.id(), key);
                self.may_stay_active(key, entity);
            }
            // Only when the process is stopping: callers get `OutcomeUnknown` from their closed channels.
            Err(_) => drop(self.slots.remove(&key)),
        }
    }

    /// Registers the actor for the entity and forwards the waiting messages to it.
    pub(crate) fn may_stay_active(&self, key: EntityKey, entity: EntityRef) {
        let used_ms = AtomicU64::new(self.clock.now().0);
        if let Entry::Occupied(mut slot) = self.slots.entry(key)
            && let ActorSlot::Activating(queue) = slot.get_mut()
        {
            let queue = std::mem::take(queue);
            // Still under the entry's lock, so that nothing overtakes the waiting messages.
            queue.into_iter().for_each(|m| drop(entity.send(m)));
            let entity = entity.downgrade();
            slot.insert(ActorSlot::Active { entity, used_ms });
        }
    }

    fn quarantined(&self) -> Vec<EntityKey> {
        let slots = self.slots.iter();
        slots
            .filter(|slot| matches!(slot.value(), ActorSlot::Quarantined))
            .map(|slot| *slot.key())
            .collect()
    }

    fn load_failed(self: Arc<Self>, key: EntityKey, error: &LoadError) {
        let deaths = self.record_crash(key);
        tracing::error!(kind = self.entity_type.kind.name(), id = %self.shown_id(key), deaths, %error, "an entity cannot be loaded");
        if deaths >= self.limits.quarantine_after {
            if let Some(ActorSlot::Activating(queue)) = self.slots.insert(key, ActorSlot::Quarantined) {
                queue.into_iter().for_each(|m| reply_error(m, Undecided::Quarantined));
            }
            return;
        }
        let pause = self.pause(deaths);
        self.runtime.clone().spawn(async move {
            tokio::time::sleep(pause).await;
            self.activate(key).await;
        });
    }

    fn record_crash(&self, key: EntityKey) -> u32 {
        self.restarts.fetch_add(1, Ordering::Relaxed);
        let mut deaths = self.crashes.lock();
        let count = deaths.entry(key).or_insert(0);
        *count = count.saturating_add(1);
        *count
    }

    fn pause(&self, deaths: u32) -> Duration {
        let doubled = self
            .limits
            .restart_ms
            .saturating_mul(1 << deaths.saturating_sub(1).min(20));
        Duration::from_millis(doubled.min(self.limits.restart_max_ms))
    }

    /// The supervisor reports that an actor stopped.
    fn on_stopped(self: &Arc<Self>, actor: ActorId, error: Option<&str>) {
        let Some((_, key)) = self.keys_by_actor.remove(&actor) else {
            return;
        };
        let Some(error) = error else {
            self.crashes.lock().remove(&key);
            let waiting = self
                .slots
                .remove_if(&key, |_, s| matches!(s, ActorSlot::Activating(q) if q.is_empty()))
                .is_none();
            if waiting && !mutants::is_enabled(Mutant::PassivationDropsMessages) {
                self.take_slot(key);
                self.runtime.spawn(self.clone().activate(key));
            }
            return;
        };
        let deaths = self.record_crash(key);
        let pause = self.pause(deaths);
        tracing::warn!(kind = self.entity_type.kind.name(), id = %self.shown_id(key), deaths, error, "an entity's actor died and is started again");
        self.take_slot(key);
        let core = self.clone();
        self.runtime.spawn(async move {
            if !mutants::is_enabled(Mutant::ActivationWithoutBarrier) {
                core.wait_durable().await;
            }
            tokio::time::sleep(pause).await;
            let idle = core
                .slots
                .remove_if(&key, |_, s| matches!(s, ActorSlot::Activating(q) if q.is_empty()))
                .is_some();
            if !idle {
                core.activate(key).await;
            }
        });
    }

    /// Takes the slot from a dead actor: messages wait for the next one.
    pub(crate) fn take_slot(&self, key: EntityKey) {
        if let Entry::Occupied(mut slot) = self.slots.entry(key)
            && matches!(slot.get(), ActorSlot::Active { .. })
        {
            slot.insert(ActorSlot::Activating(Vec::new()));
        }
    }

    fn sweep(&self) {
        let now = self.clock.now().0;
        let mut active: Vec<(u64, EntityKey)> = Vec::new();
        for slot in &self.slots {
            if let ActorSlot::Active { used_ms, .. } = slot.value() {
                active.push((used_ms.load(Ordering::Relaxed), *slot.key()));
            }
        }
        // Ordered by key too: the map's iteration order would differ in every run.
        active.sort_unstable();
        let over = active.len().saturating_sub(self.limits.max_active);
        for (n, (used, key)) in active.into_iter().enumerate() {
            if n >= over && now.saturating_sub(used) < self.limits.passivate_after_ms {
                break;
            }
            if let Entry::Occupied(mut slot) = self.slots.entry(key)
                && let ActorSlot::Active { entity, .. } = slot.get()
                && entity.send(EntityMsg::Passivate).is_ok()
            {
                slot.insert(ActorSlot::Activating(Vec::new()));
            }
        }
    }
}

fn reply_error(message: EntityMsg, why: Undecided) {
    if let EntityMsg::Command(task, _) = message {
        task.reply(Err(why));
    }
}
