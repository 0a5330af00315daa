//! Current status of the system, read from the live actors, the counters and the store on request.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use purser_actors::answer::rfc3339;
use purser_actors::engine::JOB_NAMES;
#[cfg(feature = "documents")]
use purser_actors::engine::stats::Supervises;
use purser_actors::engine::stats::{
    EngineStats, EntityStats, EntitySupervisorInfo, JobStats, OverloadReason, ScheduledJobs, SupervisionTree,
};
use purser_actors::kernel::outbox::FAILURE_REASONS;
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use purser_storage::{Store as _, StoreError};
use serde::Serialize;

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
#[cfg(feature = "documents")]
use super::closed_sets::EntityKindName;
use super::extractors::AuthorizedRead;
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::query::Query;
use crate::http::route::routes;
#[cfg(feature = "documents")]
use crate::http::schemas::JobTypeName;
use crate::metrics::Metrics;
#[cfg(feature = "documents")]
use crate::statuses::closed_set;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/system" => get_system {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "getSystemStatus", tag: "System" },
                Permission::Read,
                "Read the current supervision tree, mailboxes, jobs, storage and streams",
                of::<SystemStatus>,
            )
        )
    }
}

/// Maximum scheduled jobs counted per request. Each card has one for its expiry, years ahead.
const MAX_JOBS_COUNTED: usize = 10_000;

/// Status of the whole system.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SystemStatus {
    supervision: SupervisionStatus,
    entities: Vec<EntityStatus>,
    jobs: Vec<JobTypeStatus>,
    scheduled_jobs: ScheduledJobsStatus,
    admission: AdmissionStatus,
    storage: StorageStatus,
    streams: StreamStatus,
    /// Time of a restore without the revocation log (RFC 3339). API keys, sessions and operator tokens from before it
    /// are rejected until they are confirmed. Accounts are frozen or not as in the backup.
    #[cfg_attr(feature = "documents", schema(required))]
    suspended_since: Option<String>,
}

/// The root actor and its supervisors.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SupervisionStatus {
    /// Name of the root actor.
    root: String,
    /// `running`, `stopped` and other states of the actor runtime.
    status: String,
    /// Whether no supervisor has died since startup.
    healthy: bool,
    /// In the order they were started.
    supervisors: Vec<SupervisorStatus>,
}

#[cfg(feature = "documents")]
closed_set! {
    "What a supervisor supervises." SupervisesName = {
        let entities = [Supervises::Entities(""), Supervises::Outbox("")];
        let others = [Supervises::Reconciliation, Supervises::IncomingTransfers, Supervises::Other];
        entities.into_iter().chain(others).map(|one| one.names().0).collect()
    }
}

/// Status of one supervisor.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct SupervisorStatus {
    /// Name of the supervisor.
    actor: String,
    /// Status of the supervisor in the actor runtime.
    status: String,
    /// What it supervises.
    #[cfg_attr(feature = "documents", schema(value_type = SupervisesName))]
    supervises: &'static str,
    /// Entity kind that it supervises.
    #[cfg_attr(feature = "documents", schema(required, value_type = Option<EntityKindName>))]
    kind: Option<&'static str>,
    /// Number of linked actors. For deliveries this includes idle ones.
    children: usize,
}

/// Status of one entity kind.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct EntityStatus {
    /// Name of the entity kind.
    #[cfg_attr(feature = "documents", schema(value_type = EntityKindName))]
    kind: &'static str,
    /// Entities with a running actor.
    active: usize,
    /// Entities that are being loaded or passivated.
    in_transition: usize,
    /// Entities quarantined until a restart.
    quarantined: u64,
    /// Commands in mailboxes, being decided, or waiting for the disk.
    commands_in_flight: u64,
    /// Messages that wait for an actor.
    queued: usize,
    /// Actors restarted after a crash or a failed load, since startup.
    restarts: u64,
}

/// Status of one job type.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct JobTypeStatus {
    /// Name of the job type.
    #[cfg_attr(feature = "documents", schema(value_type = JobTypeName))]
    job_type: &'static str,
    /// Attempts running now.
    in_flight: u64,
    /// Jobs that are due, or that wait for their next attempt.
    scheduled: u64,
    /// Number of dead-lettered jobs.
    dead_lettered: u64,
    /// Age of the oldest job that is not dead-lettered, in milliseconds.
    oldest_age_ms: u64,
    /// Age of the oldest dead letter, in milliseconds.
    oldest_dead_letter_age_ms: u64,
    /// Attempts since startup.
    attempts: u64,
    /// Failed attempts, by class of failure.
    failures: Vec<LabeledCount>,
}

/// A count with its label.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct LabeledCount {
    /// Label of the count.
    of: &'static str,
    /// Number of occurrences.
    count: u64,
}

#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct JobTypeCount {
    /// Name of the job type.
    #[cfg_attr(feature = "documents", schema(value_type = JobTypeName))]
    job_type: &'static str,
    /// Number of jobs.
    count: u64,
}

/// Scheduled jobs that are not due yet.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct ScheduledJobsStatus {
    /// Up to 10,000 jobs that are due first, by job type.
    by_job_type: Vec<JobTypeCount>,
    /// Whether there are more than the counted jobs.
    more: bool,
    /// Time when the next job is due (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    first_due_at: Option<String>,
}

/// Admission of paid calls.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct AdmissionStatus {
    /// Paid calls in progress.
    in_flight: usize,
    /// Maximum paid calls in progress.
    limit: usize,
    /// Payers with a paid call in progress.
    payers: usize,
    /// Paid calls rejected for lack of capacity since startup, by reason.
    rejected: Vec<LabeledCount>,
    /// Payments with an unknown outcome.
    unknown_payments: u64,
    /// Age of the oldest of them, in milliseconds.
    oldest_unknown_age_ms: u64,
}

/// Status of the store.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct StorageStatus {
    /// Journal segments on disk.
    segments: usize,
    /// Size of a full segment, in bytes.
    segment_bytes: u64,
    /// Bytes written to the journal since startup.
    written_bytes: u64,
    /// Newest durable sequence number.
    durable_seq: u64,
    /// Newest sequence number in the snapshots. A restart reads the journal from here.
    snapshot_seq: u64,
    /// Sequence number of the newest verified export; null without one, and while one is created.
    #[cfg_attr(feature = "documents", schema(required))]
    exported_seq: Option<u64>,
    /// Bytes in the journal that are not yet applied to the snapshots.
    lag_bytes: u64,
    /// Lag in bytes above which new work is rejected.
    max_lag_bytes: u64,
    /// Batches waiting for a commit.
    queued: usize,
    /// Batches rejected since startup.
    rejected: u64,
    /// Commits since startup. Each one is a write and a sync.
    commits: u64,
    /// Batches in all commits.
    batches: u64,
    /// Upper bound of the median commit time, in microseconds; null above the last range.
    #[cfg_attr(feature = "documents", schema(required))]
    commit_median_us: Option<u64>,
    /// Upper bound of the 99th percentile of commit times, in microseconds.
    #[cfg_attr(feature = "documents", schema(required))]
    commit_p99_us: Option<u64>,
}

/// Status of the event streams.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct StreamStatus {
    /// Open WebSocket connections.
    connections: usize,
    /// Connections that have authenticated.
    subscribers: usize,
    /// Queues of slow consumers that were discarded and read again, since startup.
    overflows: u64,
    /// Connections closed for sending too much, since startup.
    rate_limited: u64,
}

async fn get_system(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
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
            .map(|(figures, supervisor)| entity_status(figures, &supervisor))
            .collect(),
        jobs: JOB_NAMES
            .into_iter()
            .zip(&figures.jobs)
            .map(|(name, jobs)| job_type_status(name, jobs))
            .collect(),
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

fn entity_status(figures: &EntityStats, supervisor: &EntitySupervisorInfo) -> EntityStatus {
    EntityStatus {
        kind: figures.kind,
        active: supervisor.actors.active,
        in_transition: supervisor.actors.in_transition,
        quarantined: figures.quarantined,
        commands_in_flight: figures.commands_in_flight,
        queued: supervisor.actors.queued,
        restarts: figures.restarts,
    }
}

fn job_type_status(name: &'static str, figures: &JobStats) -> JobTypeStatus {
    JobTypeStatus {
        job_type: name,
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
    let counts = counted(JOB_NAMES, timers.by_job_type).into_iter();
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
