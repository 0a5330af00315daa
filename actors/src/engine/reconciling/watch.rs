//! Who reconciles, for as long as the engine lives: one actor that walks, and its supervisor, whose act is the restart.
//! What differs is durable before the walk's place is: whoever is killed in between finds it again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use purser_storage::{Store, StoreError, codec};
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};

use super::walk::ROW;
use super::{Reconciler, Reconciling, Walk};
use crate::difference::{Command, Difference, Found};
use crate::engine::Engine;
use crate::engine::listening::write_down;
use crate::engine::operating::Place;
use crate::id::DifferenceId;
use crate::kernel::{Family, Refusal, table};
use crate::port::Clock;
use crate::reconcile::Discrepancy;

/// Before a walker that failed is replaced, in milliseconds.
const RESTART_MS: u64 = 1_000;
/// Open differences at most: a list that is wrong from end to end must not fill the store.
const MOST: usize = 10_000;
/// Open differences that one step looks at again.
const AGAIN: usize = 100;

/// What is counted as it happens.
#[derive(Debug, Default)]
pub(in crate::engine) struct Watching {
    compared: AtomicU64,
    restarts: AtomicU64,
    overseer: OnceLock<ActorId>,
}

impl Watching {
    /// The supervisor, once it has begun.
    pub(in crate::engine) fn overseer(&self) -> Option<ActorId> {
        self.overseer.get().copied()
    }
}

/// What a walker needs.
#[derive(Clone)]
struct Ground {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    differences: Family<Difference>,
    reconciling: Reconciling,
    counted: Arc<Watching>,
}

/// Starts the supervisor under `root`, and with it the walker.
///
/// # Errors
/// When the runtime is shutting down.
pub(in crate::engine) async fn watch(engine: &Engine, reconciling: Reconciling) -> Result<(), SpawnErr> {
    let inner = &engine.0;
    let ground = Ground {
        store: inner.store.clone(),
        clock: inner.clock.clone(),
        differences: inner.families.differences.clone(),
        reconciling,
        counted: inner.watching.clone(),
    };
    let (overseer, _) = Actor::spawn_linked(None, Overseer(ground), (), inner.root.clone()).await?;
    // Set once: an engine begins it once.
    let _ = inner.watching.overseer.set(overseer.get_id());
    Ok(())
}

struct Overseer(Ground);

/// Put a walker in the place of the one that failed.
struct Replace;

impl Overseer {
    async fn replace(&self, myself: &ActorRef<Replace>) {
        let walker = Walker(self.0.clone());
        if let Err(error) = Actor::spawn_linked(None, walker, (), myself.get_cell()).await {
            tracing::error!(%error, "reconciliation could not begin and is tried again");
            drop(myself.send_after(Duration::from_millis(RESTART_MS), || Replace));
        }
    }

    fn gone(&self, myself: &ActorRef<Replace>, walker: &ActorCell, error: &str) {
        self.0.counted.restarts.fetch_add(1, Ordering::Relaxed);
        tracing::error!(actor = %walker.get_id(), error, "reconciliation failed and goes on where it was");
        drop(myself.send_after(Duration::from_millis(RESTART_MS), || Replace));
    }
}

impl Actor for Overseer {
    type Msg = Replace;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Replace>, (): ()) -> Result<(), ActorProcessingErr> {
        drop(myself.cast(Replace));
        Ok(())
    }

    async fn handle(&self, myself: ActorRef<Replace>, _: Replace, (): &mut ()) -> Result<(), ActorProcessingErr> {
        self.replace(&myself).await;
        Ok(())
    }

    /// ractor's default stops the supervisor when a child ends.
    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Replace>,
        event: SupervisionEvent,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(walker, error) => self.gone(&myself, &walker, &error.to_string()),
            SupervisionEvent::ActorTerminated(walker, ..) => self.gone(&myself, &walker, "it was killed"),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

struct Walker(Ground);

struct Step;

/// Where a walker is.
struct Afoot {
    reconciler: Reconciler,
    walk: Walk,
    /// The row of the open difference that was last looked at again.
    again: Option<Box<[u8]>>,
}

impl Actor for Walker {
    type Msg = Step;
    type State = Afoot;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Step>, (): ()) -> Result<Afoot, ActorProcessingErr> {
        let ground = &self.0;
        let (store, reconciling) = (ground.store.clone(), ground.reconciling.clone());
        let reconciler = Reconciler::new(store, ground.clock.clone(), reconciling).await?;
        let walk = Walk::read(&*ground.store).await?;
        self.come_back(&myself, &walk);
        Ok(Afoot {
            reconciler,
            walk,
            again: None,
        })
    }

    async fn handle(&self, myself: ActorRef<Step>, _: Step, afoot: &mut Afoot) -> Result<(), ActorProcessingErr> {
        self.go_on(afoot).await?;
        self.look_again(afoot).await?;
        self.come_back(&myself, &afoot.walk);
        Ok(())
    }
}

impl Walker {
    fn come_back(&self, myself: &ActorRef<Step>, walk: &Walk) {
        let pace = &self.0.reconciling.pace;
        let ms = if walk.is_over() { pace.rest_ms } else { pace.pause_ms };
        drop(myself.send_after(Duration::from_millis(ms.max(1)), || Step));
    }

    async fn go_on(&self, afoot: &mut Afoot) -> Result<(), String> {
        let mut walk = match afoot.walk.is_over() {
            true => afoot.walk.again(),
            false => afoot.walk.clone(),
        };
        let before = walk.compared;
        let found = afoot.reconciler.step(&mut walk).await;
        if found.is_empty() || self.has_room().await? {
            for found in found {
                walk.skipped |= !self.tell(found).await?;
            }
        } else {
            tracing::error!("too much differs: no more is written down until some of it is gone");
            walk.skipped = true;
        }
        if walk.skipped {
            walk.completed_at = afoot.walk.completed_at;
        }
        let compared = walk.compared.saturating_sub(before);
        self.0.counted.compared.fetch_add(compared, Ordering::Relaxed);
        write_down(&*self.0.store, table::meta(ROW), codec::encode(&walk)).await?;
        afoot.walk = walk;
        Ok(())
    }

    async fn has_room(&self) -> Result<bool, String> {
        let open = self.0.store.scan(&[table::DIFFERENCE], None, MOST).await;
        Ok(open.map_err(|e| e.to_string())?.len() < MOST)
    }

    async fn tell(&self, found: Found) -> Result<bool, String> {
        let id = DifferenceId::of(found.source, &found.key);
        self.ask(id, Command::Find(Box::new(found))).await
    }

    /// Whether it was written down: one that cannot be loaded stands in the way of no other.
    async fn ask(&self, id: DifferenceId, command: Command) -> Result<bool, String> {
        match self.0.differences.ask(id, command).await {
            Ok(()) => Ok(true),
            Err(Refusal::Quarantined) => {
                tracing::error!(%id, "a difference cannot be loaded: what becomes of it is not written down");
                Ok(false)
            }
            Err(refusal) => Err(format!("{id} could not be written down: {refusal:?}")),
        }
    }

    /// Open differences are gone as soon as both sides agree, wherever the walk is.
    async fn look_again(&self, afoot: &mut Afoot) -> Result<(), String> {
        let rows = self.0.store.scan(&[table::DIFFERENCE], afoot.again.as_deref(), AGAIN);
        let rows = rows.await.map_err(|e| e.to_string())?;
        afoot.again = (rows.len() == AGAIN)
            .then(|| rows.last().map(|(key, _)| key.clone()))
            .flatten();
        for (key, _) in rows {
            let id = DifferenceId(key.last_chunk().map_or(0, |id| u128::from_be_bytes(*id)));
            let read = self.0.differences.read_undamaged(&id).await;
            let Some((open, _)) = read.map_err(|e| e.to_string())? else {
                continue;
            };
            match afoot.reconciler.look_again(&open.found).await {
                Ok(Some(found)) => {
                    self.tell(found).await?;
                }
                Ok(None) => {
                    self.ask(id, Command::Resolve).await?;
                }
                Err(error) => tracing::debug!(%id, error, "a side could not be read"),
            }
        }
        Ok(())
    }
}

/// An open difference with its place in the list.
pub type Open = (Place, Difference);

/// How reconciliation stands.
#[derive(Clone, Debug)]
pub struct Reconciliation {
    /// The walk under way, or the last one.
    pub walk: Walk,
    /// Open differences, in the order of [`Discrepancy::ALL`].
    pub open: [u64; Discrepancy::ALL.len()],
    /// Compared since the start.
    pub compared: u64,
    /// Walkers that failed and were replaced since the start.
    pub restarts: u64,
}

impl Engine {
    /// How reconciliation stands. Reads the list of open differences.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn reconciliation(&self) -> Result<Reconciliation, StoreError> {
        const PAGE: usize = 1_000;
        let inner = &self.0;
        let mut open = [0; Discrepancy::ALL.len()];
        let mut after: Option<Box<[u8]>> = None;
        loop {
            let page = inner.store.scan(&[table::DIFFERENCE], after.as_deref(), PAGE).await?;
            for (_, row) in &page {
                if let Some(count) = row.value.first().and_then(|kind| open.get_mut(usize::from(*kind))) {
                    *count += 1;
                }
            }
            match page.into_iter().last() {
                Some((key, _)) => after = Some(key),
                None => break,
            }
        }
        Ok(Reconciliation {
            walk: Walk::read(&*inner.store).await?,
            open,
            compared: inner.watching.compared.load(Ordering::Relaxed),
            restarts: inner.watching.restarts.load(Ordering::Relaxed),
        })
    }

    /// Open differences, the oldest first, behind a place, at most `limit`; each with its own place. Damaged ones are left out.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn differences(&self, after: Option<Place>, limit: usize) -> Result<Vec<Open>, StoreError> {
        let mut after = after.map(|(at, id)| table::difference(at, DifferenceId(id)));
        let mut found = Vec::with_capacity(limit);
        // A page that lacks damaged ones is no last page.
        while found.len() < limit {
            let rows = self
                .0
                .store
                .scan(&[table::DIFFERENCE], after.as_deref(), limit - found.len());
            let rows = rows.await?;
            let Some((last, _)) = rows.last() else { break };
            after = Some(last.clone());
            for (at, id) in rows.iter().filter_map(|(key, _)| table::made(key)) {
                let read = self.0.families.differences.read_undamaged(&DifferenceId(id)).await?;
                found.extend(read.map(|(difference, _)| ((at, id), difference)));
            }
        }
        Ok(found)
    }
}
