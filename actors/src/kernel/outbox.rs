//! Outbox: one actor per running job, linked to the supervisor of its entity kind. A failed attempt ends the actor; the
//! supervisor makes the failure durable and retries with growing backoff. An actor that did not fail takes the next
//! job.

mod attempts;
mod job_runner;
mod partitions;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use purser_storage::{Batch, CommitError, Condition, Store};
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};

use crate::kernel::job::{AnyJob, AttemptFailure, JobFacts, OutboxJob, RetryMode};
use crate::kernel::registry::JobStarter;
use crate::kernel::{EntityKind, table};
use crate::port::{BoxFuture, Clock, Entropy, ErrorKind, Timestamp};

use self::job_runner::JobRunner;
use self::partitions::{PartitionQueues, QueueDecision};
pub use attempts::{AttemptCounters, AttemptCounts, FAILURE_REASONS, LastFailure};

/// Executes jobs of every type; implemented by the engine.
pub trait JobHandler: Send + Sync + 'static {
    /// Returns once the batch that deletes the job is durable.
    fn handle<'a>(&'a self, outbox_job: &'a OutboxJob) -> BoxFuture<'a, Result<(), AttemptFailure>>;

    /// What the outbox must know about a job, also about one of an unknown type.
    fn facts(&self, job: &AnyJob) -> JobFacts;
}

/// Limits on concurrency and attempts.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// Maximum number of running jobs per entity kind; further jobs wait.
    pub max_concurrent: usize,
    /// First backoff in milliseconds; doubles each time, with jitter of up to half.
    pub initial_backoff_ms: u64,
    /// Maximum backoff in milliseconds.
    pub max_backoff_ms: u64,
    /// Attempts before a job is dead-lettered.
    pub max_attempts: u32,
}

/// Dependencies of the job runners.
#[derive(Clone)]
pub struct OutboxDeps {
    /// Store with the outbox rows.
    pub store: Arc<dyn Store>,
    /// Source of the time.
    pub clock: Arc<dyn Clock>,
    /// Source of the jitter.
    pub entropy: Arc<dyn Entropy>,
    /// Limits on concurrency and attempts.
    pub retry: RetryPolicy,
    /// Counters of failed attempts.
    pub attempts: Arc<AttemptCounters>,
}

/// Handle on all job supervisors. Created before the registries whose entities start jobs, opened after the handler
/// that needs those registries.
#[derive(Default)]
pub struct Outbox {
    supervisors: OnceLock<BTreeMap<u8, (EntityKind, ActorRef<SupervisorMsg>)>>,
}

impl Outbox {
    /// Starts one supervisor for each kind under `root`.
    ///
    /// # Errors
    /// When the runtime is shutting down.
    pub async fn open(
        &self,
        kinds: &[EntityKind],
        deps: OutboxDeps,
        handler: Arc<dyn JobHandler>,
        root: ActorCell,
    ) -> Result<(), ractor::SpawnErr> {
        let mut supervisors = BTreeMap::new();
        for kind in kinds {
            let supervisor = OutboxSupervisor {
                deps: deps.clone(),
                handler: handler.clone(),
            };
            let (actor, _) = Actor::spawn_linked(None, supervisor, (), root.clone()).await?;
            supervisors.insert(*kind as u8, (*kind, actor));
        }
        drop(self.supervisors.set(supervisors));
        Ok(())
    }

    /// Supervisors of the jobs of each kind; none before [`Outbox::open`].
    pub(crate) fn supervisors(&self) -> Vec<(EntityKind, ActorId)> {
        let opened = self.supervisors.get().into_iter().flat_map(BTreeMap::values);
        opened.map(|(kind, supervisor)| (*kind, supervisor.get_id())).collect()
    }
}

impl JobStarter for Outbox {
    fn start(&self, outbox_job: OutboxJob) {
        // Before `open` nothing is lost either: the rows are durable and are read at the start.
        // A job of a kind that this program does not know becomes a dead letter under any of the supervisors.
        let supervisors = self.supervisors.get();
        let supervisor = supervisors.and_then(|all| all.get(&outbox_job.job.kind).or_else(|| all.values().next()));
        if let Some((_, supervisor)) = supervisor {
            drop(supervisor.cast(SupervisorMsg::Start(outbox_job)));
        }
    }
}

/// An attempt in progress.
struct RunningAttempt {
    runner: ActorRef<OutboxJob>,
    job: OutboxJob,
    started_at: Timestamp,
}

/// Message to a job supervisor.
#[derive(Debug)]
pub enum SupervisorMsg {
    /// Run this job once it is due.
    Start(OutboxJob),
    /// This actor's job is done.
    Completed(ActorId),
    /// Run this actor's job again after the delay in milliseconds.
    Retry(ActorId, u64, RetryReason),
    /// The job waits until it is due, or until its wake counter exceeds the given count.
    Wait(OutboxJob, u64),
}

/// Reason why an attempt is followed by another.
#[derive(Debug)]
pub enum RetryReason {
    /// The job was not due.
    NotDue,
    /// No attempt was made.
    Blocked(String),
    /// The attempt failed.
    Failed(ErrorKind, String),
}

/// Interval at which jobs that can be woken check for a wake-up, in milliseconds.
const WAKE_CHECK_INTERVAL_MS: u64 = 2_000;

/// Maximum number of idle runner actors that a supervisor retains.
const MAX_IDLE: usize = 256;

struct OutboxSupervisor {
    deps: OutboxDeps,
    handler: Arc<dyn JobHandler>,
}

#[derive(Default)]
struct OutboxSupervisorState {
    running: HashMap<ActorId, RunningAttempt>,
    idle: Vec<ActorRef<OutboxJob>>,
    pending: VecDeque<OutboxJob>,
    partitions: PartitionQueues,
}

impl Actor for OutboxSupervisor {
    type Msg = SupervisorMsg;
    type State = OutboxSupervisorState;
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<SupervisorMsg>, (): ()) -> Result<OutboxSupervisorState, ActorProcessingErr> {
        Ok(OutboxSupervisorState::default())
    }

    async fn handle(
        &self,
        myself: ActorRef<SupervisorMsg>,
        message: SupervisorMsg,
        state: &mut OutboxSupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SupervisorMsg::Start(outbox_job) => {
                let wakes = self.deps.attempts.wakes(self.facts(&outbox_job).index);
                self.start(&myself, state, (outbox_job, wakes)).await
            }
            SupervisorMsg::Wait(outbox_job, wakes) => self.start(&myself, state, (outbox_job, wakes)).await,
            SupervisorMsg::Completed(runner) => {
                if let Some((actor, outbox_job)) = self.take_finished(state, runner) {
                    self.deps.attempts.clear_last_failure(outbox_job.id);
                    state.park_idle(actor);
                }
                self.run_next(&myself, state).await
            }
            SupervisorMsg::Retry(runner, ms, reason) => {
                if let Some((actor, mut outbox_job)) = self.take_finished(state, runner) {
                    state.park_idle(actor);
                    // Nothing to persist: the delay does not depend on the number of attempts.
                    outbox_job.next_attempt_at = self.deps.clock.now().plus_ms(ms);
                    self.record_retry_reason(&outbox_job, reason);
                    drop(myself.cast(SupervisorMsg::Start(outbox_job)));
                }
                self.run_next(&myself, state).await
            }
        }
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<SupervisorMsg>,
        event: SupervisionEvent,
        state: &mut OutboxSupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        let (runner, error) = match event {
            SupervisionEvent::ActorTerminated(cell, ..) => (cell.get_id(), "the runner was killed".into()),
            SupervisionEvent::ActorFailed(cell, error) => (cell.get_id(), error),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => return Ok(()),
        };
        state.idle.retain(|actor| actor.get_id() != runner);
        if let Some((_, job)) = self.take_finished(state, runner) {
            self.record_failure(&myself, job, error);
        }
        self.run_next(&myself, state).await
    }
}

impl OutboxSupervisorState {
    fn park_idle(&mut self, actor: ActorRef<OutboxJob>) {
        if self.idle.len() < MAX_IDLE {
            self.idle.push(actor);
        } else {
            actor.stop(None);
        }
    }
}

impl OutboxSupervisor {
    /// Runs a job, or lets it wait until it is due.
    async fn start(
        &self,
        myself: &ActorRef<SupervisorMsg>,
        state: &mut OutboxSupervisorState,
        (outbox_job, wakes): (OutboxJob, u64),
    ) -> Result<(), ActorProcessingErr> {
        let wait_ms = outbox_job.next_attempt_at.0.saturating_sub(self.deps.clock.now().0);
        let facts = self.facts(&outbox_job);
        let may_wake = facts.waits_for_provider;
        if wait_ms > 0 && !(may_wake && self.deps.attempts.wakes(facts.index) > wakes) {
            let wait_ms = if may_wake {
                wait_ms.min(WAKE_CHECK_INTERVAL_MS)
            } else {
                wait_ms
            };
            drop(myself.send_after(Duration::from_millis(wait_ms), move || {
                SupervisorMsg::Wait(outbox_job, wakes)
            }));
            return Ok(());
        }
        match state.partitions.admit(outbox_job, facts.partition) {
            QueueDecision::Run(outbox_job) if state.running.len() >= self.deps.retry.max_concurrent => {
                state.pending.push_back(outbox_job);
            }
            QueueDecision::Run(outbox_job) => self.run(myself, state, outbox_job).await?,
            QueueDecision::Queued => {}
            QueueDecision::Full(outbox_job) => self.reschedule(myself.clone(), outbox_job),
        }
        Ok(())
    }

    fn facts(&self, outbox_job: &OutboxJob) -> JobFacts {
        self.handler.facts(&outbox_job.job)
    }

    fn record_retry_reason(&self, outbox_job: &OutboxJob, reason: RetryReason) {
        let attempts = &self.deps.attempts;
        match reason {
            RetryReason::NotDue => attempts.clear_last_failure(outbox_job.id),
            RetryReason::Blocked(error) => {
                attempts.last_failure(outbox_job, truncate_error(error), outbox_job.next_attempt_at)
            }
            RetryReason::Failed(kind, error) => {
                attempts.failed(self.facts(outbox_job).index, Some(kind));
                attempts.last_failure(outbox_job, truncate_error(error), outbox_job.next_attempt_at);
            }
        }
    }

    /// Starts jobs that waited for a free runner.
    async fn run_next(
        &self,
        myself: &ActorRef<SupervisorMsg>,
        state: &mut OutboxSupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        match state.pending.pop_front() {
            Some(next) => self.run(myself, state, next).await,
            None => Ok(()),
        }
    }

    async fn run(
        &self,
        myself: &ActorRef<SupervisorMsg>,
        state: &mut OutboxSupervisorState,
        outbox_job: OutboxJob,
    ) -> Result<(), ActorProcessingErr> {
        let actor = match state.idle.pop() {
            Some(actor) => actor,
            None => {
                let runner = JobRunner {
                    handler: self.handler.clone(),
                    store: self.deps.store.clone(),
                    supervisor: myself.clone(),
                };
                Actor::spawn_linked(None, runner, (), myself.get_cell()).await?.0
            }
        };
        self.deps.attempts.started(self.facts(&outbox_job).index);
        // A runner that has just died leaves the job in `running`, where its exit event will find it.
        drop(actor.cast(outbox_job.clone()));
        let attempt = RunningAttempt {
            runner: actor,
            job: outbox_job,
            started_at: self.deps.clock.now(),
        };
        state.running.insert(attempt.runner.get_id(), attempt);
        Ok(())
    }

    fn take_finished(
        &self,
        state: &mut OutboxSupervisorState,
        runner: ActorId,
    ) -> Option<(ActorRef<OutboxJob>, OutboxJob)> {
        let ended = state.running.remove(&runner)?;
        let facts = self.facts(&ended.job);
        let took_ms = self.deps.clock.now().0.saturating_sub(ended.started_at.0);
        self.deps.attempts.finished(facts.index, took_ms);
        if let Some(next) = state.partitions.release(facts.partition) {
            state.pending.push_back(next);
        }
        Some((ended.runner, ended.job))
    }

    fn record_failure(&self, myself: &ActorRef<SupervisorMsg>, mut outbox_job: OutboxJob, error: ActorProcessingErr) {
        let failure = error.downcast::<AttemptFailure>().map(|failure| *failure);
        let kind = failure.as_ref().ok().map(|failure| failure.kind);
        let facts = self.facts(&outbox_job);
        self.deps.attempts.failed(facts.index, kind);
        // A panic: the attempt may have had effects, so its outcome is unknown.
        let failure = failure.unwrap_or_else(|other| AttemptFailure {
            kind: ErrorKind::Unknown,
            message: other.to_string(),
            retry_mode: RetryMode::Backoff,
        });
        let now = self.deps.clock.now();
        outbox_job.attempts = outbox_job.attempts.saturating_add(1);
        outbox_job.next_attempt_at = now.plus_ms(self.backoff_ms(outbox_job.attempts));
        outbox_job.dead_lettered =
            failure.kind == ErrorKind::Permanent || outbox_job.attempts >= self.deps.retry.max_attempts;
        let (id, request, work, attempts) = (outbox_job.id, outbox_job.request_id, facts.name, outbox_job.attempts);
        let error = &failure.message;
        if outbox_job.dead_lettered {
            tracing::error!(job = %id, %request, work, attempts, error, "job dead-lettered");
        } else {
            tracing::warn!(job = %id, %request, work, attempts, error, "a job is retried");
        }
        let error = truncate_error(failure.message);
        match outbox_job.dead_lettered {
            true => self.deps.attempts.clear_last_failure(outbox_job.id),
            false => self
                .deps
                .attempts
                .last_failure(&outbox_job, error.clone(), outbox_job.next_attempt_at),
        }
        outbox_job.last_error = Some(error);
        self.persist_failure(myself.clone(), outbox_job);
    }

    /// Makes the failed attempt durable, then schedules the next.
    fn persist_failure(&self, myself: ActorRef<SupervisorMsg>, outbox_job: OutboxJob) {
        let batch = Batch {
            conditions: vec![Condition::Present(table::outbox_job(outbox_job.id))],
            writes: vec![outbox_job.put()],
            ..Batch::default()
        };
        let attempts = self.deps.attempts.clone();
        self.deps.store.commit(
            batch,
            Box::new(move |done| match done {
                Ok(_) if outbox_job.dead_lettered => {}
                Ok(_) => drop(myself.cast(SupervisorMsg::Start(outbox_job))),
                // It was completed meanwhile, by an earlier attempt whose response was lost.
                Err(CommitError::Condition(_)) => attempts.clear_last_failure(outbox_job.id),
                Err(error) => tracing::error!(job = %outbox_job.id, %error, "a failed attempt could not be stored"),
            }),
        );
    }

    fn backoff_ms(&self, attempts: u32) -> u64 {
        let retry = &self.deps.retry;
        let full = retry
            .initial_backoff_ms
            .saturating_mul(1 << attempts.saturating_sub(1).min(20))
            .min(retry.max_backoff_ms)
            .max(2);
        let jitter = (self.deps.entropy.random() % u128::from(full / 2)) as u64;
        full - jitter
    }
}

/// Truncates an external message for the row: the row's size is bounded, and an unwritable row would lose the job.
fn truncate_error(mut message: String) -> String {
    let mut end = message.len().min(1_000);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.truncate(end);
    message
}
