//! The reconciliation worker: one actor that runs for the lifetime of the engine, and its supervisor, which restarts
//! it. A discrepancy is durable before the run's cursor, so that a crash in between finds it again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use purser_storage::{Store, codec};
use ractor::concurrency::JoinHandle;
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, MessagingErr, SpawnErr, SupervisionEvent};

use super::cursor::META_KEY;
use super::{CompletedRun, Reconciler, ReconcilerDeps, ReconciliationCursor};
use crate::engine::Engine;
use crate::engine::provider_events::persist_cursor;
use crate::entity::discrepancy::{Command, Discrepancy, DiscrepancyDetails};
use crate::id::DiscrepancyId;
use crate::kernel::{AskError, EntityRegistry, table};
use crate::port::Clock;

/// Milliseconds before a failed worker is replaced.
const RESTART_MS: u64 = 1_000;
/// Most open discrepancies: a list that is entirely wrong must not fill the store.
const MAX_OPEN: usize = 10_000;
/// Open discrepancies that one step checks again.
const RECHECK_PER_STEP: usize = 100;

/// Counters that are updated as runs progress.
#[derive(Debug, Default)]
pub(in crate::engine) struct ReconciliationStats {
    pub(super) compared: AtomicU64,
    pub(super) restarts: AtomicU64,
    /// Runs started since the start of the process; also the number of the newest.
    pub(super) started_runs: AtomicU64,
    /// Number of the newest requested run.
    pub(super) requested_run: AtomicU64,
    pub(super) last_run: Mutex<Option<CompletedRun>>,
    pub(super) supervisor: OnceLock<ActorRef<ReconciliationMsg>>,
}

impl ReconciliationStats {
    /// The supervisor, once it is started.
    pub(in crate::engine) fn supervisor(&self) -> Option<ActorId> {
        self.supervisor.get().map(|supervisor| supervisor.get_id())
    }

    /// Whether a requested run has not started yet.
    fn is_run_requested(&self) -> bool {
        self.requested_run.load(Ordering::SeqCst) > self.started_runs.load(Ordering::SeqCst)
    }
}

#[derive(Clone)]
struct WorkerDeps {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    discrepancies: EntityRegistry<Discrepancy>,
    reconciler: ReconcilerDeps,
    stats: Arc<ReconciliationStats>,
}

/// Starts the supervisor under `root`, and with it the worker.
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
    let (supervisor, _) = Actor::spawn_linked(None, ReconciliationSupervisor(ground), (), inner.root.clone()).await?;
    // An engine starts it only once, so it can't be set yet.
    let _ = inner.reconciliation_stats.supervisor.set(supervisor);
    Ok(())
}

struct ReconciliationSupervisor(WorkerDeps);

/// Messages to the supervisor.
pub(super) enum ReconciliationMsg {
    /// Replace the worker that failed.
    RestartWorker,
    /// Have an idle worker start a run now.
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
    /// The worker, once there is one.
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
            // A worker that has just failed is replaced, and its successor starts the run.
            (ReconciliationMsg::RunNow, Some(walker)) => drop(walker.cast(RunStep::Early)),
            (ReconciliationMsg::RunNow, None) => {}
        }
        Ok(())
    }

    /// Overridden because ractor's default stops the supervisor when a child ends.
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
    /// After a pause.
    Due,
    /// A run was requested.
    Early,
}

/// Position of a worker.
struct WorkerState {
    reconciler: Reconciler,
    cursor: ReconciliationCursor,
    /// The row of the open discrepancy that was last checked again.
    recheck_after: Option<Box<[u8]>>,
    /// The next step, scheduled for later. There is never more than one.
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
        // An early step replaces the scheduled one.
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

    /// Everything found by then is durable, and open discrepancies were checked again.
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
                // Before anything is read: a caller with an older number knows that this run reads what was durable
                // then.
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
            tracing::error!("too many discrepancies: no more are stored until some are resolved");
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

    /// Id derived from the discrepancy and its subject. A missing transfer may be known only by its transaction, which
    /// others may share, so each subject has its own discrepancy.
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

    /// Whether it was recorded. A discrepancy that can't be loaded blocks no other.
    async fn ask(&self, id: DiscrepancyId, command: Command) -> Result<bool, String> {
        match self.0.discrepancies.ask(id, command).await {
            Ok(()) => Ok(true),
            Err(AskError::Quarantined) => {
                tracing::error!(%id, "a discrepancy cannot be loaded: its change is not stored");
                Ok(false)
            }
            Err(refusal) => Err(format!("{id} could not be stored: {refusal:?}")),
        }
    }

    /// Checks open discrepancies: each closes as soon as both sides agree, wherever the run is.
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
