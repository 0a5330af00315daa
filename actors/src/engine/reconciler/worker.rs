//! Who reconciles, for as long as the engine lives: one actor that walks, and its supervisor, whose act is the restart.
//! What differs is durable before the walk's place is: whoever is killed in between finds it again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use purser_storage::{Store, codec};
use ractor::concurrency::JoinHandle;
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, MessagingErr, SpawnErr, SupervisionEvent};

use super::cursor::META_KEY;
use super::{CompletedRun, Reconciler, ReconcilerDeps, ReconciliationCursor};
use crate::discrepancy::{Command, Discrepancy, DiscrepancyDetails};
use crate::engine::Engine;
use crate::engine::provider_events::persist_cursor;
use crate::id::DiscrepancyId;
use crate::kernel::{AskError, EntityRegistry, table};
use crate::port::Clock;

/// Before a walker that failed is replaced, in milliseconds.
const RESTART_MS: u64 = 1_000;
/// Open differences at most: a list that is wrong from end to end must not fill the store.
const MAX_OPEN: usize = 10_000;
/// Open differences that one step looks at again.
const RECHECK_PER_STEP: usize = 100;

/// What is counted as it happens.
#[derive(Debug, Default)]
pub(in crate::engine) struct ReconciliationStats {
    pub(super) compared: AtomicU64,
    pub(super) restarts: AtomicU64,
    /// Walks that began since the start; the number of the newest.
    pub(super) started_runs: AtomicU64,
    /// The number of the newest walk that was asked for.
    pub(super) requested_run: AtomicU64,
    pub(super) last_run: Mutex<Option<CompletedRun>>,
    pub(super) supervisor: OnceLock<ActorRef<ReconciliationMsg>>,
}

impl ReconciliationStats {
    /// The supervisor, once it has begun.
    pub(in crate::engine) fn supervisor(&self) -> Option<ActorId> {
        self.supervisor.get().map(|overseer| overseer.get_id())
    }

    /// Whether a walk was asked for that has not begun.
    fn is_run_requested(&self) -> bool {
        self.requested_run.load(Ordering::SeqCst) > self.started_runs.load(Ordering::SeqCst)
    }
}

/// What a walker needs.
#[derive(Clone)]
struct WorkerDeps {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    discrepancies: EntityRegistry<Discrepancy>,
    reconciler: ReconcilerDeps,
    stats: Arc<ReconciliationStats>,
}

/// Starts the supervisor under `root`, and with it the walker.
///
/// # Errors
/// When the runtime is shutting down.
pub(in crate::engine) async fn spawn(engine: &Engine, reconciling: ReconcilerDeps) -> Result<(), SpawnErr> {
    let inner = &engine.0;
    let ground = WorkerDeps {
        store: inner.store.clone(),
        clock: inner.clock.clone(),
        discrepancies: inner.registries.discrepancies.clone(),
        reconciler: reconciling,
        stats: inner.reconciliation_stats.clone(),
    };
    let (overseer, _) = Actor::spawn_linked(None, ReconciliationSupervisor(ground), (), inner.root.clone()).await?;
    // Set once: an engine begins it once.
    let _ = inner.reconciliation_stats.supervisor.set(overseer);
    Ok(())
}

struct ReconciliationSupervisor(WorkerDeps);

/// What the supervisor does.
pub(super) enum ReconciliationMsg {
    /// Put a walker in the place of the one that failed.
    RestartWorker,
    /// Have the walker begin now if it rests.
    RunNow,
}

impl ReconciliationSupervisor {
    async fn restart_worker(&self, myself: &ActorRef<ReconciliationMsg>) -> Option<ActorRef<RunStep>> {
        let walker = ReconciliationWorker(self.0.clone());
        match Actor::spawn_linked(None, walker, (), myself.get_cell()).await {
            Ok((walker, _)) => Some(walker),
            Err(error) => {
                tracing::error!(%error, "reconciliation could not begin and is tried again");
                drop(myself.send_after(Duration::from_millis(RESTART_MS), || ReconciliationMsg::RestartWorker));
                None
            }
        }
    }

    fn on_worker_stopped(&self, myself: &ActorRef<ReconciliationMsg>, walker: &ActorCell, error: &str) {
        self.0.stats.restarts.fetch_add(1, Ordering::Relaxed);
        tracing::error!(actor = %walker.get_id(), error, "reconciliation failed and goes on where it was");
        drop(myself.send_after(Duration::from_millis(RESTART_MS), || ReconciliationMsg::RestartWorker));
    }
}

impl Actor for ReconciliationSupervisor {
    type Msg = ReconciliationMsg;
    /// The walker, once there is one.
    type State = Option<ActorRef<RunStep>>;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<ReconciliationMsg>, (): ()) -> Result<Self::State, ActorProcessingErr> {
        drop(myself.cast(ReconciliationMsg::RestartWorker));
        Ok(None)
    }

    async fn handle(
        &self,
        myself: ActorRef<ReconciliationMsg>,
        order: ReconciliationMsg,
        walker: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match (order, walker.as_ref()) {
            (ReconciliationMsg::RestartWorker, _) => *walker = self.restart_worker(&myself).await,
            // One that has just failed is replaced, and its successor walks in time.
            (ReconciliationMsg::RunNow, Some(walker)) => drop(walker.cast(RunStep::Early)),
            (ReconciliationMsg::RunNow, None) => {}
        }
        Ok(())
    }

    /// ractor's default stops the supervisor when a child ends.
    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<ReconciliationMsg>,
        event: SupervisionEvent,
        _: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(walker, error) => {
                self.on_worker_stopped(&myself, &walker, &error.to_string())
            }
            SupervisionEvent::ActorTerminated(walker, ..) => self.on_worker_stopped(&myself, &walker, "it was killed"),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

struct ReconciliationWorker(WorkerDeps);

enum RunStep {
    /// After a pause or a rest.
    Due,
    /// A walk was asked for.
    Early,
}

/// Where a walker is.
struct WorkerState {
    reconciler: Reconciler,
    cursor: ReconciliationCursor,
    /// The row of the open difference that was last looked at again.
    recheck_after: Option<Box<[u8]>>,
    /// The next step, which is due later. There is never more than one.
    next_step: JoinHandle<Result<(), MessagingErr<RunStep>>>,
}

impl Actor for ReconciliationWorker {
    type Msg = RunStep;
    type State = WorkerState;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<RunStep>, (): ()) -> Result<WorkerState, ActorProcessingErr> {
        let ground = &self.0;
        let (store, reconciling) = (ground.store.clone(), ground.reconciler.clone());
        let reconciler = Reconciler::new(store, ground.clock.clone(), reconciling).await?;
        let walk = ReconciliationCursor::read(&*ground.store).await?;
        let next = self.schedule_step(&myself, &walk);
        Ok(WorkerState {
            reconciler,
            cursor: walk,
            recheck_after: None,
            next_step: next,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<RunStep>,
        step: RunStep,
        afoot: &mut WorkerState,
    ) -> Result<(), ActorProcessingErr> {
        let begins = afoot.cursor.is_complete() && self.0.stats.is_run_requested();
        if matches!(step, RunStep::Early) && !begins {
            return Ok(());
        }
        // A step that came early takes the place of the one that was due.
        afoot.next_step.abort();
        self.run_step(afoot).await?;
        self.recheck(afoot).await?;
        self.record_run_end(&afoot.cursor);
        afoot.next_step = self.schedule_step(&myself, &afoot.cursor);
        Ok(())
    }
}

impl ReconciliationWorker {
    fn schedule_step(
        &self,
        myself: &ActorRef<RunStep>,
        walk: &ReconciliationCursor,
    ) -> JoinHandle<Result<(), MessagingErr<RunStep>>> {
        let pace = &self.0.reconciler.settings;
        let rests = walk.is_complete() && !self.0.stats.is_run_requested();
        let ms = if rests { pace.rest_ms } else { pace.pause_ms };
        myself.send_after(Duration::from_millis(ms.max(1)), || RunStep::Due)
    }

    /// What was found by then is durable, and what is open has been looked at again.
    fn record_run_end(&self, walk: &ReconciliationCursor) {
        if walk.is_complete() {
            *self.0.stats.last_run.lock() = Some(CompletedRun {
                number: self.0.stats.started_runs.load(Ordering::SeqCst),
                compared: walk.compared,
                complete: !walk.skipped,
            });
        }
    }

    async fn run_step(&self, afoot: &mut WorkerState) -> Result<(), String> {
        let mut walk = match afoot.cursor.is_complete() {
            true => {
                // Before anything is read: who has been given an older number knows that this walk reads what was there then.
                self.0.stats.started_runs.fetch_add(1, Ordering::SeqCst);
                afoot.cursor.restart()
            }
            false => afoot.cursor.clone(),
        };
        let before = walk.compared;
        let found = afoot.reconciler.step(&mut walk).await;
        if found.is_empty() || self.has_capacity().await? {
            for found in found {
                walk.skipped |= !self.report(found).await?;
            }
        } else {
            tracing::error!("too much differs: no more is written down until some of it is gone");
            walk.skipped = true;
        }
        if walk.skipped {
            walk.completed_at = afoot.cursor.completed_at;
        }
        let compared = walk.compared.saturating_sub(before);
        self.0.stats.compared.fetch_add(compared, Ordering::Relaxed);
        persist_cursor(&*self.0.store, table::meta(META_KEY), codec::encode(&walk)).await?;
        afoot.cursor = walk;
        Ok(())
    }

    async fn has_capacity(&self) -> Result<bool, String> {
        let open = self.0.store.scan(&[table::OPEN_DISCREPANCY], None, MAX_OPEN).await;
        Ok(open.map_err(|e| e.to_string())?.len() < MAX_OPEN)
    }

    async fn report(&self, found: DiscrepancyDetails) -> Result<bool, String> {
        let id = self.discrepancy_id(&found).await?;
        self.ask(id, Command::Report(Box::new(found))).await
    }

    /// Its own. Of a transfer that the chain does not show no more may be known than its transaction, which others may share: each
    /// subject has a difference of its own.
    async fn discrepancy_id(&self, found: &DiscrepancyDetails) -> Result<DiscrepancyId, String> {
        let id = DiscrepancyId::for_entry(found.source, &found.key);
        if found.source.network().is_none() {
            return Ok(id);
        }
        let read = self
            .0
            .discrepancies
            .read_or_skip_corrupt(&id)
            .await
            .map_err(|e| e.to_string())?;
        let other = read.and_then(|(known, _)| known.details.subject);
        Ok(match (other, &found.subject) {
            (None, _) => id,
            (Some(other), Some(subject)) if other == *subject => id,
            (Some(_), subject) => {
                let apart = subject.as_deref().unwrap_or_default();
                DiscrepancyId::for_entry(found.source, &format!("{} {apart}", found.key))
            }
        })
    }

    /// Whether it was written down: one that cannot be loaded stands in the way of no other.
    async fn ask(&self, id: DiscrepancyId, command: Command) -> Result<bool, String> {
        match self.0.discrepancies.ask(id, command).await {
            Ok(()) => Ok(true),
            Err(AskError::Quarantined) => {
                tracing::error!(%id, "a difference cannot be loaded: what becomes of it is not written down");
                Ok(false)
            }
            Err(refusal) => Err(format!("{id} could not be written down: {refusal:?}")),
        }
    }

    /// Open differences are gone as soon as both sides agree, wherever the walk is.
    async fn recheck(&self, afoot: &mut WorkerState) -> Result<(), String> {
        let rows = self.0.store.scan(
            &[table::OPEN_DISCREPANCY],
            afoot.recheck_after.as_deref(),
            RECHECK_PER_STEP,
        );
        let rows = rows.await.map_err(|e| e.to_string())?;
        afoot.recheck_after = (rows.len() == RECHECK_PER_STEP)
            .then(|| rows.last().map(|(key, _)| key.clone()))
            .flatten();
        for (key, _) in rows {
            let id = DiscrepancyId(key.last_chunk().map_or(0, |id| u128::from_be_bytes(*id)));
            let read = self.0.discrepancies.read_or_skip_corrupt(&id).await;
            let Some((open, _)) = read.map_err(|e| e.to_string())? else {
                continue;
            };
            match afoot.reconciler.recheck(&open.details).await {
                Ok(Some(found)) => {
                    self.ask(id, Command::Report(Box::new(found))).await?;
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
