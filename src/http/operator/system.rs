//! How the house stands now: read from the living actors, the counters and the store, when somebody asks.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use purser_actors::engine::stats::{
    EngineStats, EntityStats, EntitySupervisorInfo, JobStats, OverloadReason, ScheduledJobs, SupervisionTree,
};
use purser_actors::kernel::event_record::rfc3339;
use purser_actors::kernel::job::Job;
use purser_actors::kernel::outbox::FAILURE_REASONS;
use purser_storage::{Store as _, StoreError};
use serde::Serialize;
use utoipa::ToSchema;

use super::extractors::AuthorizedRead;
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::query::Query;
use crate::metrics::Metrics;

/// Timers that one look counts: each card has one for its end, years ahead.
const MAX_JOBS_COUNTED: usize = 10_000;

/// Everything at a glance.
#[derive(Serialize, ToSchema)]
pub struct SystemStatus {
    supervision: SupervisionStatus,
    entities: Vec<EntityStatus>,
    jobs: Vec<JobTypeStatus>,
    scheduled_jobs: ScheduledJobsStatus,
    admission: AdmissionStatus,
    storage: StorageStatus,
    streams: StreamStatus,
    /// After a restore without the log of revocations: API keys, sessions and operators' tokens that were made before this open
    /// nothing until they are confirmed, and accounts are frozen or not as the backup had them; RFC 3339.
    #[schema(required)]
    suspended_since: Option<String>,
}

/// The root and its supervisors.
#[derive(Serialize, ToSchema)]
pub struct SupervisionStatus {
    /// The runtime's name of the root.
    root: String,
    /// The runtime's word: `running`, `stopped`, ….
    status: String,
    /// Whether no supervisor has died since the start.
    healthy: bool,
    /// In the order they were started.
    supervisors: Vec<SupervisorStatus>,
}

/// A supervisor.
#[derive(Serialize, ToSchema)]
pub struct SupervisorStatus {
    /// The runtime's name of it.
    actor: String,
    /// As the root's.
    status: String,
    /// `entities`, `outbox`, `reconciliation`, `incoming_transfers` or `other`.
    supervises: &'static str,
    /// Of which kind.
    #[schema(required)]
    kind: Option<&'static str>,
    /// Actors linked to it now. Of deliveries, those that rest are among them.
    children: usize,
}

/// One kind of entity.
#[derive(Serialize, ToSchema)]
pub struct EntityStatus {
    /// Its name.
    kind: &'static str,
    /// With an actor now.
    active: usize,
    /// Being loaded, or put to rest.
    in_transition: usize,
    /// Given up until a restart.
    quarantined: u64,
    /// Commands in mailboxes, being decided, or waiting for the disk.
    commands_in_flight: u64,
    /// Messages that wait for an actor.
    queued: usize,
    /// Actors that died and were replaced, and loads that failed, since the start.
    restarts: u64,
}

/// One kind of work.
#[derive(Serialize, ToSchema)]
pub struct JobTypeStatus {
    /// Its name.
    job_type: &'static str,
    /// Being tried now.
    in_flight: u64,
    /// Due, or due again soon.
    scheduled: u64,
    /// Waiting for a person.
    dead_lettered: u64,
    /// Age of the oldest that is not stuck, in milliseconds.
    oldest_age_ms: u64,
    /// Age of the oldest that is.
    oldest_dead_letter_age_ms: u64,
    /// Tries since the start.
    attempts: u64,
    /// Those that failed and were restarted, by what the failure means.
    failures: Vec<LabeledCount>,
}

/// So many of something.
#[derive(Serialize, ToSchema)]
pub struct LabeledCount {
    /// Of what.
    of: &'static str,
    /// How many.
    count: u64,
}

/// The number of jobs of one type.
#[derive(Serialize, ToSchema)]
pub struct JobTypeCount {
    /// The type.
    job_type: &'static str,
    /// How many.
    count: u64,
}

/// Work that waits for its time.
#[derive(Serialize, ToSchema)]
pub struct ScheduledJobsStatus {
    /// The earliest, at most 10,000, by what is to be done then.
    by_job_type: Vec<JobTypeCount>,
    /// Whether there are more.
    more: bool,
    /// When the next is due; RFC 3339.
    #[schema(required)]
    first_due_at: Option<String>,
}

/// Who gets in.
#[derive(Serialize, ToSchema)]
pub struct AdmissionStatus {
    /// Paid calls inside the engine.
    in_flight: usize,
    /// Paid calls that may be.
    limit: usize,
    /// Payers with one in flight.
    payers: usize,
    /// Paid calls that found no room since the start, by reason.
    rejected: Vec<LabeledCount>,
    /// Payments whose outcome is not known.
    unknown_payments: u64,
    /// How long the oldest of them has been so, in milliseconds.
    oldest_unknown_age_ms: u64,
}

/// The store.
#[derive(Serialize, ToSchema)]
pub struct StorageStatus {
    /// Journal segments on disk.
    segments: usize,
    /// Size of a full one.
    segment_bytes: u64,
    /// Written to the journal since the start.
    written_bytes: u64,
    /// The newest durable sequence.
    durable_seq: u64,
    /// The newest sequence in the snapshots: from here on a restart reads the journal.
    snapshot_seq: u64,
    /// Up to where the newest verified export reaches; null without one, and while one is made.
    #[schema(required)]
    exported_seq: Option<u64>,
    /// Journalled and not yet in the snapshots.
    lag_bytes: u64,
    /// The lag above which new work is refused.
    max_lag_bytes: u64,
    /// Batches waiting for a commit.
    queued: usize,
    /// Batches refused since the start.
    rejected: u64,
    /// Commits since the start: a write and a sync each.
    commits: u64,
    /// Batches in all of them.
    batches: u64,
    /// The range that half of the commits stay within, from write to answer, in microseconds; null above the last range.
    #[schema(required)]
    commit_median_us: Option<u64>,
    /// The same of 99 in 100.
    #[schema(required)]
    commit_p99_us: Option<u64>,
}

/// The streams.
#[derive(Serialize, ToSchema)]
pub struct StreamStatus {
    /// Open WebSockets.
    connections: usize,
    /// Those that showed a credential.
    subscribers: usize,
    /// Queues of slow subscribers that were thrown away and read again, since the start.
    overflows: u64,
    /// Clients that were closed for sending too much, since the start.
    rate_limited: u64,
}

pub(super) async fn get_system(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    Query::parse(query.as_deref(), &[])?;
    let seen = collect(&admin.metrics, admin.segment_bytes).await.map_err(|error| {
        tracing::error!(%error, "the system could not be looked at");
        ApiError::internal()
    })?;
    Ok(json::private(json::with_status(StatusCode::OK, &seen)))
}

async fn collect(metrics: &Arc<Metrics>, segment_bytes: u64) -> Result<SystemStatus, StoreError> {
    let engine = &metrics.engine;
    let figures = engine.stats().await?;
    let timers = engine.scheduled_jobs(MAX_JOBS_COUNTED).await?;
    let entities = figures.kinds.iter().zip(engine.entity_supervisors());
    Ok(SystemStatus {
        supervision: supervision(engine.supervision_tree()),
        entities: entities
            .map(|(figures, standing)| entity_status(figures, &standing))
            .collect(),
        jobs: Job::NAMES.into_iter().zip(&figures.jobs).map(job_type_status).collect(),
        scheduled_jobs: scheduled_jobs_status(&timers),
        admission: admission(&figures),
        storage: storage(metrics, segment_bytes),
        streams: StreamStatus {
            connections: metrics.hub.connections(),
            subscribers: metrics.hub.subscriptions(),
            overflows: metrics.hub.overflows(),
            rate_limited: metrics.hub.rate_limited(),
        },
        suspended_since: engine.suspended_since().map(rfc3339),
    })
}

fn supervision(tree: SupervisionTree) -> SupervisionStatus {
    let supervisors = tree.supervisors.into_iter().map(|supervisor| {
        let (watches, kind) = supervisor.supervises.names();
        SupervisorStatus {
            actor: supervisor.actor,
            status: supervisor.status,
            supervises: watches,
            kind,
            children: supervisor.children,
        }
    });
    SupervisionStatus {
        root: tree.root,
        status: tree.status,
        healthy: tree.healthy,
        supervisors: supervisors.collect(),
    }
}

fn entity_status(figures: &EntityStats, standing: &EntitySupervisorInfo) -> EntityStatus {
    EntityStatus {
        kind: figures.kind,
        active: standing.actors.active,
        in_transition: standing.actors.in_transition,
        quarantined: figures.quarantined,
        commands_in_flight: figures.commands_in_flight,
        queued: standing.actors.queued,
        restarts: figures.restarts,
    }
}

fn job_type_status((work, figures): (&'static str, &JobStats)) -> JobTypeStatus {
    JobTypeStatus {
        job_type: work,
        in_flight: figures.attempts.running,
        scheduled: figures.scheduled,
        dead_lettered: figures.dead_lettered,
        oldest_age_ms: figures.oldest_age_ms,
        oldest_dead_letter_age_ms: figures.oldest_dead_letter_age_ms,
        attempts: figures.attempts.attempts,
        failures: counted(FAILURE_REASONS, figures.attempts.failures),
    }
}

fn counted(names: impl IntoIterator<Item = &'static str>, counts: impl IntoIterator<Item = u64>) -> Vec<LabeledCount> {
    let pairs = names.into_iter().zip(counts);
    pairs
        .map(|(of, count)| LabeledCount { of, count })
        .filter(|counted| counted.count > 0)
        .collect()
}

fn scheduled_jobs_status(timers: &ScheduledJobs) -> ScheduledJobsStatus {
    let counts = counted(Job::NAMES, timers.by_job_type).into_iter();
    let by_job_type = counts.map(|LabeledCount { of, count }| JobTypeCount { job_type: of, count });
    ScheduledJobsStatus {
        by_job_type: by_job_type.collect(),
        more: timers.more,
        first_due_at: timers.first_due.map(rfc3339),
    }
}

fn admission(figures: &EngineStats) -> AdmissionStatus {
    AdmissionStatus {
        in_flight: figures.in_flight,
        limit: figures.max_in_flight,
        payers: figures.payers,
        rejected: counted(OverloadReason::ALL.map(OverloadReason::name), figures.rejected),
        unknown_payments: figures.unknown_payments,
        oldest_unknown_age_ms: figures.oldest_unknown_ms,
    }
}

fn storage(metrics: &Metrics, segment_bytes: u64) -> StorageStatus {
    let (stats, headroom) = (metrics.store.stats(), metrics.store.headroom());
    StorageStatus {
        segments: stats.segments,
        segment_bytes,
        written_bytes: stats.bytes,
        durable_seq: stats.durable_seq,
        snapshot_seq: stats.applied_seq,
        exported_seq: stats.exported_seq,
        lag_bytes: headroom.lag_bytes,
        max_lag_bytes: headroom.lag_limit_bytes,
        queued: headroom.queued,
        rejected: stats.rejected,
        commits: stats.group_us.count(),
        batches: stats.batches.sum,
        commit_median_us: stats.group_us.at_most(50),
        commit_p99_us: stats.group_us.at_most(99),
    }
}
