//! Dead-lettered jobs with their evidence, and what an operator can do: retry, record the outcome, or credit the
//! payment.

use std::collections::BTreeMap;
use std::sync::Arc;

use purser_actors::answer::rfc3339;
use purser_actors::engine::{self, JobResolution, OperationError, ProviderReport, ResolveError};
use purser_actors::entity::payment;
use purser_actors::id::JobId;
use purser_actors::kernel::OutboxJob;
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use purser_actors::port::Timestamp;
use purser_actors::reconciliation::{EntryAmount, EntryStatus};
use serde::{Deserialize, Serialize};

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::approvals::{self, Approvable};
use super::closed_sets::{ProviderStatus, ResourceStatus};
use super::extractors::{AuthorizedRead, AuthorizedRequest, EVIDENCE, OperatorRequest, check_note};
use super::untracked_transfers::{self, UntrackedOrder, UntrackedTransfer};
use super::{AdminState, unavailable};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::Private;
use crate::http::query::Query;
use crate::http::route::routes;
#[cfg(feature = "documents")]
use crate::http::schemas::JobTypeName;
use crate::http::schemas::{ExactDecimal, HoldReason};
use crate::statuses::named_values;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/dead-letters" => get_dead_letters {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listDeadLetters", tag: "Jobs" },
                Permission::Read,
                "List dead-lettered jobs and payments with an unknown outcome",
                of::<DeadLettersResponse>,
            )
            .with("job_id", "string", "Only this job.")
            .error(404, "No such dead-lettered job.")
        )
    }
    POST "/admin/jobs/retry" => post_retry {
        Operator, unkeyed("names the job; only a dead-lettered one is retried"), confirmed(), operation(||
            OperationDoc::post::<RetryJobRequest>(Operation { id: "retryJob", tag: "Jobs" }, "Retry a dead-lettered job now", of::<RetryResponse>)
                .error(404, "No such job, or it has already completed.")
                .error(409, "The job is in progress and is retried automatically.")
        )
    }
    POST "/admin/jobs/resolve" => post_resolve {
        Operator, unkeyed("names the job; one with an outcome accepts no other"), confirmed(), operation(||
            OperationDoc::post::<ResolveJobRequest>(
                Operation { id: "resolveJob", tag: "Jobs" },
                "Record the outcome of a dead-lettered job, with evidence, as if the provider had reported it",
                of::<ResolveResponse>,
            )
            .may_wait()
            .error(404, "No such job, or it has already completed.")
            .error(
                409,
                "The provider disagrees, the outcome can't be recorded for this job, or the job is in progress or too early.",
            )
        )
    }
    POST "/admin/jobs/credit" => post_credit {
        Operator, unkeyed("names the job; a credited one is no longer dead-lettered"), confirmed(), operation(||
            OperationDoc::post::<CreditJobRequest>(
                Operation { id: "creditJob", tag: "Jobs" },
                "Credit the account owner with the payment of a dead-lettered job",
                of::<CreditResponse>,
            )
            .may_wait()
            .error(404, "No such job, or it has already completed.")
            .error(
                409,
                "There is no proof that the funds were not sent, or the provider reports that they were.",
            )
        )
    }
    POST "/admin/jobs/keep" => post_withhold_credit {
        Operator, unkeyed("names the job; one that was ended is no longer dead-lettered"), confirmed(), operation(||
            OperationDoc::post::<WithholdCreditRequest>(
                Operation { id: "keepJob", tag: "Jobs" },
                "Close a withheld credit without crediting it, because the chain reversed the payment. The service retains the money",
                of::<WithholdCreditResponse>,
            )
            .error(404, "No such job, or it has already completed.")
            .error(409, "The job is not a withheld credit, or is in progress.")
        )
    }
}

/// In characters; a transaction on Solana has 88.
const MAX_REFERENCE_LEN: usize = 120;
/// Maximum provider queries for one list.
const MAX_PROVIDER_QUERIES: usize = 50;

/// Dead letters and other items that wait for an operator.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct DeadLettersResponse {
    /// Dead-lettered jobs, oldest first, then late jobs, which are still retried automatically.
    jobs: Vec<DeadLetteredJob>,
    /// Payments with an unknown outcome.
    unknown_payments: Vec<UnknownPayment>,
    /// Jobs on hold before funds leave, oldest first. They continue automatically.
    held: Vec<HeldJob>,
    /// Outgoing transfers from before a restore that are missing from the ledger.
    untracked_transfers: Vec<UntrackedTransfer>,
    /// Orders at the payout rails and the bank from before a restore that are missing from the ledger.
    unexplained_orders: Vec<UntrackedOrder>,
    /// Whether withdrawals are paused until all of those are attributed.
    withdrawals_paused: bool,
    /// End of the pause (RFC 3339); null without a pause.
    #[cfg_attr(feature = "documents", schema(required))]
    withdrawals_paused_until: Option<String>,
}

/// A job in a list.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct JobView {
    /// Id for `POST /admin/jobs/retry`.
    job_id: String,
    /// Type of the job.
    #[cfg_attr(feature = "documents", schema(value_type = JobTypeName))]
    job_type: &'static str,
    /// Id of the entity the job works on.
    subject: String,
    /// Request that created the job.
    request_id: String,
    /// Age of the job, in seconds.
    age_seconds: u64,
    /// Number of failed attempts.
    attempts: u64,
    /// Error of the last attempt.
    #[cfg_attr(feature = "documents", schema(required))]
    last_error: Option<String>,
    /// Creation time (RFC 3339).
    created_at: String,
}

/// What our records say about a job. Its members are absent if its entity does not exist.
#[derive(Default, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct JobEvidence {
    /// Exact wallet address of the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    wallet: Option<String>,
    /// Status of the entity in our records.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<ResourceStatus>,
    /// Amount of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<ExactDecimal>,
    /// Currency of the amount: `USDC` or an ISO 4217 code.
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
}

/// What the provider or the chain reports about a job.
#[derive(Default, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ProviderEvidence {
    /// Status that the provider or the chain reports now, if it can be queried.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_status: Option<ProviderStatus>,
    /// Error of the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_error: Option<String>,
}

/// What an operator can do about a job.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct PossibleActions {
    /// Idempotency key of the job at its provider.
    idempotency_key: String,
    /// Actions that are possible now.
    actions: Vec<JobAction>,
}

/// A job that has not completed.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct OpenJob {
    #[serde(flatten)]
    job: JobView,
    /// Whether the job is dead-lettered.
    dead_lettered: bool,
}

/// A dead-lettered or late job.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct DeadLetteredJob {
    #[serde(flatten)]
    job: JobView,
    /// Whether the job is only late: older than `engine.late_after_minutes` but still retried. Otherwise it is
    /// dead-lettered.
    late: bool,
    /// Time of the next attempt (RFC 3339); null for a dead letter.
    #[cfg_attr(feature = "documents", schema(required))]
    next_try_at: Option<String>,
    #[serde(flatten)]
    evidence: JobEvidence,
    #[serde(flatten)]
    provider: ProviderEvidence,
    #[serde(flatten)]
    possible: PossibleActions,
}

/// A job on hold that would send funds.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct HeldJob {
    #[serde(flatten)]
    job: JobView,
    /// `held_frozen` until the account is unfrozen, `held_restored` until all payments from before a restore have
    /// settled or can't settle and are in the ledger, `held_unfinal` until the payment behind it is final.
    held: HoldReason,
    #[serde(flatten)]
    evidence: JobEvidence,
    #[serde(flatten)]
    possible: PossibleActions,
}

/// A payment with an unknown outcome.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct UnknownPayment {
    /// Id of the payment.
    payment_id: String,
    /// Job that queries the chain for it.
    job_id: String,
    /// Type of that job.
    #[cfg_attr(feature = "documents", schema(value_type = JobTypeName))]
    job_type: &'static str,
    /// Seconds since the outcome became unknown.
    age_seconds: u64,
    /// Number of failed attempts.
    attempts: u64,
    /// Error of the last attempt.
    #[cfg_attr(feature = "documents", schema(required))]
    last_error: Option<String>,
    /// Time since the outcome is unknown (RFC 3339).
    since: String,
    #[serde(flatten)]
    evidence: JobEvidence,
    #[serde(flatten)]
    provider: ProviderEvidence,
    #[serde(flatten)]
    possible: PossibleActions,
}

/// Action on a job.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum JobAction {
    Retry,
    ResolveCompleted,
    ResolveNotCompleted,
    Credit,
    Keep,
}

named_values! {
    "Outcome recorded by an operator." JobOutcome: engine::JobOutcome
        = engine::JobOutcome::ALL, engine::JobOutcome::name;
}

/// Result of a retry request.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct RetryResponse {
    /// Job that is retried.
    job_id: String,
    /// Always true on success.
    retrying: bool,
}

/// An outcome recorded by an operator.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ResolveResponse {
    /// Id of the job.
    job_id: String,
    /// `completed` or `not_completed`.
    outcome: JobOutcome,
}

/// A dead-lettered job whose payment was credited.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CreditResponse {
    /// Id of the job.
    job_id: String,
    /// Always true on success.
    credited: bool,
}

/// A withheld credit that was closed without crediting it.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct WithholdCreditResponse {
    /// Id of the job.
    job_id: String,
    /// Always true: the service retains the amount.
    kept: bool,
}

/// All dead letters, or only the one with `job_id`.
async fn get_dead_letters(
    AuthorizedRead { admin, query }: AuthorizedRead,
) -> Result<Private<DeadLettersResponse>, ApiError> {
    let query = Query::parse(query.as_deref(), &["job_id"])?;
    let one: Option<JobId> = match query.get("job_id") {
        Some(text) => Some(text.parse().map_err(|_| unknown())?),
        None => None,
    };
    let dead_letters = read_dead_letters(&admin, one).await?;
    let held = render_held_jobs(&admin, one).await?;
    let nothing =
        dead_letters.jobs.is_empty() && dead_letters.late.is_empty() && dead_letters.unknown_payments.is_empty();
    if one.is_some() && nothing && held.is_empty() {
        return Err(unknown());
    }
    let reports = query_providers(&admin, &dead_letters).await?;
    let mut jobs = Vec::with_capacity(dead_letters.jobs.len() + dead_letters.late.len());
    for job in &dead_letters.jobs {
        jobs.push(render_dead_letter(&admin, job, &reports).await?);
    }
    for late in dead_letters.late {
        let rendered = render_dead_letter(&admin, &late.job, &reports).await?;
        jobs.push(DeadLetteredJob {
            job: JobView {
                last_error: late.error,
                ..rendered.job
            },
            late: true,
            next_try_at: Some(rfc3339(late.next_at)),
            ..rendered
        });
    }
    let mut unknown_payments = Vec::with_capacity(dead_letters.unknown_payments.len());
    for payment in &dead_letters.unknown_payments {
        unknown_payments.push(render_unknown_payment(&admin, payment, &reports).await?);
    }
    let untracked = admin.engine.untracked_transfers().await;
    let untracked = untracked.map_err(|_| ApiError::internal())?.into_iter();
    let orders = admin.engine.lost_orders();
    Ok(Private(DeadLettersResponse {
        jobs,
        unknown_payments,
        held,
        untracked_transfers: untracked.map(untracked_transfers::render).collect(),
        unexplained_orders: orders.iter().map(untracked_transfers::render_order).collect(),
        withdrawals_paused: admin.engine.are_withdrawals_paused(),
        withdrawals_paused_until: admin.engine.withdrawals_paused_until().map(rfc3339),
    }))
}

/// All of them, or only those of one job.
async fn read_dead_letters(admin: &AdminState, one: Option<JobId>) -> Result<engine::DeadLetters, ApiError> {
    let mut dead_letters = admin.engine.dead_letters().await.map_err(|_| ApiError::internal())?;
    if let Some(one) = one {
        dead_letters.jobs.retain(|job| job.id == one);
        dead_letters.late.retain(|late| late.job.id == one);
        dead_letters.unknown_payments.retain(|payment| payment.job.id == one);
    }
    Ok(dead_letters)
}

async fn render_dead_letter(
    admin: &AdminState,
    job: &OutboxJob,
    reports: &ProviderReports,
) -> Result<DeadLetteredJob, ApiError> {
    Ok(DeadLetteredJob {
        job: render(admin, job),
        late: false,
        next_try_at: None,
        evidence: evidence(admin, job).await?,
        provider: provider_evidence(reports.get(&job.id)),
        possible: possible_actions(admin, job, reports.get(&job.id)).await?,
    })
}

async fn render_unknown_payment(
    admin: &AdminState,
    payment: &engine::UnknownPayment,
    reports: &ProviderReports,
) -> Result<UnknownPayment, ApiError> {
    Ok(UnknownPayment {
        payment_id: payment.payment.to_string(),
        job_id: payment.job.id.to_string(),
        job_type: payment.job.job.name(),
        age_seconds: age(admin, payment.since),
        attempts: payment.job.attempts.into(),
        last_error: payment.job.last_error.clone(),
        since: rfc3339(payment.since),
        evidence: evidence(admin, &payment.job).await?,
        provider: provider_evidence(reports.get(&payment.job.id)),
        possible: possible_actions(admin, &payment.job, None).await?,
    })
}

/// Jobs on hold before funds leave, with the reason.
async fn render_held_jobs(admin: &AdminState, one: Option<JobId>) -> Result<Vec<HeldJob>, ApiError> {
    let mut waiting = admin.engine.gated_jobs().await.map_err(|_| ApiError::internal())?;
    waiting.retain(|(job, _)| one.is_none_or(|one| job.id == one));
    let mut held = Vec::with_capacity(waiting.len());
    for (job, why) in waiting {
        held.push(HeldJob {
            job: render(admin, &job),
            held: why,
            evidence: evidence(admin, &job).await?,
            possible: possible_actions(admin, &job, None).await?,
        });
    }
    Ok(held)
}

/// What the provider of each job says now.
type ProviderReports = BTreeMap<JobId, ProviderReport>;

/// Queries the provider of each job concurrently, of the first [`MAX_PROVIDER_QUERIES`].
async fn query_providers(admin: &AdminState, dead_letters: &engine::DeadLetters) -> Result<ProviderReports, ApiError> {
    let late = dead_letters.late.iter().map(|late| &late.job);
    let unknown = dead_letters.unknown_payments.iter().map(|payment| &payment.job);
    let jobs = dead_letters.jobs.iter().chain(late).chain(unknown);
    let queries = jobs.take(MAX_PROVIDER_QUERIES).map(|job| async move {
        let report = admin.engine.query_provider(job).await;
        report.map(|report| (job.id, report)).map_err(|_| ApiError::internal())
    });
    futures_util::future::join_all(queries).await.into_iter().collect()
}

fn render(admin: &AdminState, job: &OutboxJob) -> JobView {
    JobView {
        job_id: job.id.to_string(),
        job_type: job.job.name(),
        subject: job.job.subject(),
        request_id: job.request_id.to_string(),
        age_seconds: age(admin, job.created_at),
        attempts: job.attempts.into(),
        last_error: job.last_error.clone(),
        created_at: rfc3339(job.created_at),
    }
}

pub(super) fn open_job(admin: &AdminState, job: &OutboxJob) -> OpenJob {
    OpenJob {
        job: render(admin, job),
        dead_lettered: job.dead_lettered,
    }
}

fn age(admin: &AdminState, since: Timestamp) -> u64 {
    admin.clock.now().0.saturating_sub(since.0) / 1_000
}

async fn evidence(admin: &AdminState, job: &OutboxJob) -> Result<JobEvidence, ApiError> {
    let summary = admin.engine.job_summary(&job.job).await;
    let Some(summary) = summary.map_err(|_| ApiError::internal())? else {
        return Ok(JobEvidence::default());
    };
    let (amount, currency) = match summary.money {
        Some(EntryAmount::Usdc(amount)) => (Some(amount.into()), Some("USDC".to_owned())),
        Some(EntryAmount::Cents(amount, currency)) => (Some(amount.into()), Some(currency.as_str().to_owned())),
        None => (None, None),
    };
    Ok(JobEvidence {
        wallet: Some(summary.owner.to_string()),
        status: Some(summary.status.into()),
        amount,
        currency,
    })
}

fn provider_evidence(report: Option<&ProviderReport>) -> ProviderEvidence {
    let (provider_status, provider_error) = match report {
        Some(ProviderReport::Status(status)) => (Some((*status).into()), None),
        Some(ProviderReport::NoResponse(error)) => (None, Some(error.clone())),
        Some(ProviderReport::NotQueryable) | None => (None, None),
    };
    ProviderEvidence {
        provider_status,
        provider_error,
    }
}

/// What an operator can do. The provider knows the job by its id. Outcomes that its report contradicts are left out: an
/// unknown payment has no report here, because its chain decides it.
async fn possible_actions(
    admin: &AdminState,
    job: &OutboxJob,
    report: Option<&ProviderReport>,
) -> Result<PossibleActions, ApiError> {
    let keep = admin.engine.is_retainable_credit(job).await;
    let keep = keep.map_err(|_| ApiError::internal())?;
    let credit = admin.engine.is_creditable(job).await;
    let credit = credit.map_err(|_| ApiError::internal())?;
    let by_job = actions(job).into_iter();
    let possible = by_job.chain([(credit, JobAction::Credit), (keep, JobAction::Keep)]);
    let contradicted = |action| {
        let outcome = match action {
            JobAction::ResolveCompleted => engine::JobOutcome::Completed,
            JobAction::ResolveNotCompleted | JobAction::Credit => engine::JobOutcome::NotCompleted,
            JobAction::Retry | JobAction::Keep => return false,
        };
        report.is_some_and(|report| engine::Engine::is_outcome_contradicted(job, outcome, report))
    };
    let offered = possible.filter(|(may, action)| *may && !contradicted(*action));
    Ok(PossibleActions {
        idempotency_key: job.id.to_string(),
        actions: offered.map(|(_, action)| action).collect(),
    })
}

/// Actions that depend on the job alone.
fn actions(job: &OutboxJob) -> [(bool, JobAction); 3] {
    let (done, not_done) = job.job.resolvable_outcomes();
    // An operator can resolve an unknown payment while the chain is still queried. Other jobs must be dead-lettered
    // first.
    let (done, not_done) = match job.job.typed() {
        Some(payment::Job::WatchPayment(_)) => (done, not_done),
        _ => (done && job.dead_lettered, not_done && job.dead_lettered),
    };
    [
        (job.dead_lettered, JobAction::Retry),
        (done, JobAction::ResolveCompleted),
        (not_done, JobAction::ResolveNotCompleted),
    ]
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RetryJobRequest {
    job_id: String,
}

impl OperatorRequest for RetryJobRequest {}

async fn post_retry(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<RetryJobRequest>,
) -> Result<Private<RetryResponse>, ApiError> {
    let id: JobId = request.job_id.parse().map_err(|_| unknown())?;
    match admin.engine.retry_job(id, &act).await {
        Ok(()) => Ok(Private(RetryResponse {
            job_id: id.to_string(),
            retrying: true,
        })),
        Err(OperationError::AlreadyUsed) => Err(unknown()),
        Err(OperationError::Rejected(())) => Err(not_dead_lettered()),
        Err(_) => Err(unavailable()),
    }
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ResolveJobRequest {
    job_id: String,
    #[cfg_attr(feature = "documents", schema(value_type = JobOutcome))]
    outcome: String,
    reference: String,
    evidence: String,
}

impl OperatorRequest for ResolveJobRequest {}

/// Records the outcome of a job.
async fn post_resolve(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<ResolveJobRequest>,
) -> Result<Approvable<ResolveResponse>, ApiError> {
    let outcome = engine::JobOutcome::ALL
        .into_iter()
        .find(|outcome| outcome.name() == request.outcome);
    let outcome = outcome.ok_or_else(|| {
        let error = "`outcome` is `completed` or `not_completed`.";
        ApiError::parameter(ErrorCode::ParameterInvalid, "outcome", error)
    })?;
    let reference = request.reference.trim();
    let plain = reference.chars().all(|c| !c.is_control());
    if !plain || !(1..=MAX_REFERENCE_LEN).contains(&reference.chars().count()) {
        let error = format!("`reference` is the provider's id: 1 to {MAX_REFERENCE_LEN} characters.");
        return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "reference", error));
    }
    check_note("evidence", EVIDENCE, &request.evidence)?;
    let id: JobId = request.job_id.parse().map_err(|_| unknown())?;
    let resolution = JobResolution {
        outcome,
        reference: reference.to_owned(),
        evidence: request.evidence,
    };
    match admin.engine.resolve(id, &resolution, &act).await {
        Err(ResolveError::ApprovalPending(id)) => return approvals::waiting(&admin, id).await,
        result => result.map_err(map_error)?,
    }
    Ok(Approvable::Done(ResolveResponse {
        job_id: id.to_string(),
        outcome: outcome.into(),
    }))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CreditJobRequest {
    job_id: String,
    evidence: String,
    #[serde(default)]
    funds_not_sent: bool,
}

impl OperatorRequest for CreditJobRequest {}

/// Credits the payment of a job to the account owner.
async fn post_credit(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<CreditJobRequest>,
) -> Result<Approvable<CreditResponse>, ApiError> {
    check_note("evidence", EVIDENCE, &request.evidence)?;
    let id: JobId = request.job_id.parse().map_err(|_| unknown())?;
    let stated = (request.evidence.as_str(), request.funds_not_sent);
    match admin.engine.credit_job(id, stated, &act).await {
        Err(ResolveError::ApprovalPending(id)) => return approvals::waiting(&admin, id).await,
        result => result.map_err(map_error)?,
    }
    Ok(Approvable::Done(CreditResponse {
        job_id: id.to_string(),
        credited: true,
    }))
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct WithholdCreditRequest {
    job_id: String,
    /// Reason for not crediting the owner, for the audit log.
    evidence: String,
}

impl OperatorRequest for WithholdCreditRequest {}

/// Closes a withheld credit without crediting it.
async fn post_withhold_credit(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<WithholdCreditRequest>,
) -> Result<Private<WithholdCreditResponse>, ApiError> {
    check_note("evidence", EVIDENCE, &request.evidence)?;
    let id: JobId = request.job_id.parse().map_err(|_| unknown())?;
    let result = admin.engine.retain_credit(id, &request.evidence, &act).await;
    result.map_err(map_error)?;
    Ok(Private(WithholdCreditResponse {
        job_id: id.to_string(),
        kept: true,
    }))
}

fn unknown() -> ApiError {
    ApiError::new(ErrorCode::JobNotFound, "No such job, or it has already completed.")
}

fn not_dead_lettered() -> ApiError {
    let error = "This job is in progress and is retried automatically.";
    ApiError::new(ErrorCode::JobNotDeadLettered, error)
}

pub(super) fn map_error(why: ResolveError) -> ApiError {
    let conflict = |code, error: String| ApiError::new(code, error);
    match why {
        ResolveError::NotFound => unknown(),
        ResolveError::NotDeadLettered => not_dead_lettered(),
        ResolveError::NotResolvable => {
            let error = "This outcome can't be recorded for this job.";
            conflict(ErrorCode::JobNotResolvable, error.to_owned())
                .hint("GET /admin/dead-letters lists what can be done about it.")
        }
        ResolveError::Contradicted(EntryStatus::NotSubmitted) => {
            let error = "The provider has no record of it.";
            conflict(ErrorCode::ProviderDisagrees, error.to_owned())
        }
        ResolveError::Contradicted(status) => {
            let error = format!("The provider now reports `{}`.", status.name());
            conflict(ErrorCode::ProviderDisagrees, error).hint(
                "POST /admin/jobs/retry (`purser admin jobs retry`) queries the provider again and records its answer.",
            )
        }
        ResolveError::NotProven => {
            let error = "There is no proof that the funds were not sent.";
            let hint = "If you know it, say so with `funds_not_sent`: true.";
            conflict(ErrorCode::OutcomeNotProven, error.to_owned()).hint(hint)
        }
        ResolveError::MayStillSettle => {
            let error = "The signed payment may still settle.";
            conflict(ErrorCode::PaymentMayStillSettle, error.to_owned())
                .hint("Try again one hour after the signature expires.")
        }
        // The caller has answered an approval that is pending already.
        ResolveError::ApprovalPending(_) | ResolveError::Unavailable => unavailable(),
    }
}
