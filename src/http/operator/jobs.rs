//! Dead-lettered jobs with their evidence, and what an operator can do: retry, record the outcome, or credit the
//! payment.

use std::sync::Arc;

use axum::response::Response;
use purser_actors::engine::{JobOutcome, JobResolution, OperationError, ProviderReport, ResolveError, UnknownPayment};
use purser_actors::id::JobId;
use purser_actors::kernel::{JsonObject, OutboxJob};
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use purser_actors::payment;
use purser_actors::port::Timestamp;
use purser_actors::reconciliation::{EntryAmount, EntryStatus};
use serde::Deserialize;

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRead, AuthorizedRequest, EVIDENCE, OperatorRequest, check_note};
#[cfg(feature = "documents")]
use super::schemas;
use super::{AdminState, approvals, unavailable, untracked_transfers};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::query::Query;
use crate::http::route::routes;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/dead-letters" => get_dead_letters {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listDeadLetters", tag: "Jobs" },
                Permission::Read,
                "List dead-lettered jobs and payments with an unknown outcome",
                of::<schemas::DeadLettersResponse>,
            )
            .with("job_id", "string", "Only this job.")
            .error(404, "No such dead-lettered job.")
        )
    }
    POST "/admin/jobs/retry" => post_retry {
        Operator, unkeyed("names the job; only a dead-lettered one is retried"), operation(||
            OperationDoc::post::<RetryJobRequest>(Operation { id: "retryJob", tag: "Jobs" }, "Retry a dead-lettered job now", of::<schemas::RetryResponse>)
                .error(404, "No such job, or it has already completed.")
                .error(409, "The job is in progress and is retried automatically.")
        )
    }
    POST "/admin/jobs/resolve" => post_resolve {
        Operator, unkeyed("names the job; one with an outcome accepts no other"), operation(||
            OperationDoc::post::<ResolveJobRequest>(
                Operation { id: "resolveJob", tag: "Jobs" },
                "Record the outcome of a dead-lettered job, with evidence, as if the provider had reported it",
                of::<schemas::ResolveResponse>,
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
        Operator, unkeyed("names the job; a credited one is no longer dead-lettered"), operation(||
            OperationDoc::post::<CreditJobRequest>(
                Operation { id: "creditJob", tag: "Jobs" },
                "Credit the account owner with the payment of a dead-lettered job",
                of::<schemas::CreditResponse>,
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
        Operator, unkeyed("names the job; one that was ended is no longer dead-lettered"), operation(||
            OperationDoc::post::<WithholdCreditRequest>(
                Operation { id: "keepJob", tag: "Jobs" },
                "Close a withheld credit without crediting it, because the chain reversed the payment. The service retains the money",
                of::<schemas::WithholdCreditResponse>,
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

/// All dead letters, or only the one with `job_id`.
pub(super) async fn get_dead_letters(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["job_id"])?;
    let one: Option<JobId> = match query.get("job_id") {
        Some(text) => Some(text.parse().map_err(|_| unknown())?),
        None => None,
    };
    let mut dead_letters = admin.engine.dead_letters().await.map_err(|_| ApiError::internal())?;
    if let Some(one) = one {
        dead_letters.jobs.retain(|job| job.id == one);
        dead_letters.late.retain(|late| late.job.id == one);
        dead_letters
            .unknown_payments
            .retain(|unknown_outcome| unknown_outcome.job.id == one);
    }
    let held_back = render_held_jobs(&admin, one).await?;
    let nothing =
        dead_letters.jobs.is_empty() && dead_letters.late.is_empty() && dead_letters.unknown_payments.is_empty();
    if one.is_some() && nothing && held_back.is_empty() {
        return Err(unknown());
    }
    let asked = query_providers(
        &admin,
        dead_letters
            .jobs
            .iter()
            .chain(dead_letters.late.iter().map(|late| &late.job))
            .chain(
                dead_letters
                    .unknown_payments
                    .iter()
                    .map(|unknown_outcome| &unknown_outcome.job),
            ),
    )
    .await?;
    let (mut jobs, mut unknown) = (Vec::new(), Vec::new());
    let mut asked = asked.into_iter();
    for job in &dead_letters.jobs {
        let report = asked.next().flatten();
        let view = render(&admin, job).boolean("late", false);
        let view = view.optional_text("next_try_at", None::<&str>);
        jobs.push(job_summary(&admin, view, job, report).await?.to_json());
    }
    for late in &dead_letters.late {
        let report = asked.next().flatten();
        let newest = OutboxJob {
            last_error: late.error.clone(),
            ..late.job.clone()
        };
        let view = render(&admin, &newest).boolean("late", true);
        let view = view.time("next_try_at", late.next_at);
        jobs.push(job_summary(&admin, view, &late.job, report).await?.to_json());
    }
    for unknown_outcome in &dead_letters.unknown_payments {
        let report = asked.next().flatten();
        unknown.push(
            job_summary(
                &admin,
                unknown_payment(&admin, unknown_outcome),
                &unknown_outcome.job,
                report,
            )
            .await?
            .to_json(),
        );
    }
    let unexplained = render_untracked(&admin).await?;
    let held = JsonObject::new().boolean("withdrawals_paused", admin.engine.are_withdrawals_paused());
    let held = match admin.engine.withdrawals_paused_until() {
        Some(until) => held.time("withdrawals_paused_until", until),
        None => held.optional_text("withdrawals_paused_until", None::<&str>),
    };
    let body = format!(
        "{{\"jobs\":[{}],\"unknown_payments\":[{}],\"held\":[{}],{},{}",
        jobs.join(","),
        unknown.join(","),
        held_back.join(","),
        unexplained,
        held.to_json().trim_start_matches('{')
    );
    Ok(json::private(json::bytes_as_json(body)))
}

/// Transfers and orders from before a restore that are missing from the ledger.
async fn render_untracked(admin: &AdminState) -> Result<String, ApiError> {
    let transfers = admin
        .engine
        .untracked_transfers()
        .await
        .map_err(|_| ApiError::internal())?;
    let transfers: Vec<String> = transfers
        .iter()
        .map(|left| untracked_transfers::render(left).to_json())
        .collect();
    let orders = admin.engine.lost_orders();
    let orders: Vec<String> = orders
        .iter()
        .map(|order| untracked_transfers::render_order(order).to_json())
        .collect();
    Ok(format!(
        "\"untracked_transfers\":[{}],\"unexplained_orders\":[{}]",
        transfers.join(","),
        orders.join(",")
    ))
}

/// Jobs on hold before funds leave, with the reason.
async fn render_held_jobs(admin: &AdminState, one: Option<JobId>) -> Result<Vec<String>, ApiError> {
    let mut waiting = admin.engine.gated_jobs().await.map_err(|_| ApiError::internal())?;
    waiting.retain(|(job, _)| one.is_none_or(|one| job.id == one));
    let mut held_back = Vec::with_capacity(waiting.len());
    for (job, why) in &waiting {
        let view = render(admin, job).text("held", why.name());
        held_back.push(job_summary(admin, view, job, None).await?.to_json());
    }
    Ok(held_back)
}

/// Queries the provider of each job concurrently; `None` after the first [`MAX_PROVIDER_QUERIES`].
async fn query_providers(
    admin: &AdminState,
    jobs: impl Iterator<Item = &OutboxJob>,
) -> Result<Vec<Option<ProviderReport>>, ApiError> {
    let asked = jobs.enumerate().map(|(n, job)| async move {
        match n < MAX_PROVIDER_QUERIES {
            true => admin.engine.query_provider(job).await.map(Some),
            false => Ok(None),
        }
    });
    let statuses = futures_util::future::join_all(asked).await;
    statuses
        .into_iter()
        .map(|one| one.map_err(|_| ApiError::internal()))
        .collect()
}

pub(super) fn render(admin: &AdminState, job: &OutboxJob) -> JsonObject {
    JsonObject::new()
        .text("job_id", job.id)
        .text("job_type", job.job.name())
        .text("subject", job.job.subject())
        .text("request_id", job.request_id)
        .integer("age_seconds", age(admin, job.created_at))
        .integer("attempts", u64::from(job.attempts))
        .optional_text("last_error", job.last_error.as_deref())
        .time("created_at", job.created_at)
}

fn unknown_payment(admin: &AdminState, unknown_outcome: &UnknownPayment) -> JsonObject {
    JsonObject::new()
        .text("payment_id", unknown_outcome.payment)
        .text("job_id", unknown_outcome.job.id)
        .text("job_type", unknown_outcome.job.job.name())
        .integer("age_seconds", age(admin, unknown_outcome.since))
        .integer("attempts", u64::from(unknown_outcome.job.attempts))
        .optional_text("last_error", unknown_outcome.job.last_error.as_deref())
        .time("since", unknown_outcome.since)
}

fn age(admin: &AdminState, since: Timestamp) -> u64 {
    admin.clock.now().0.saturating_sub(since.0) / 1_000
}

/// Renders subject, evidence, provider status and possible actions. The provider knows the job by its id.
async fn job_summary(
    admin: &AdminState,
    view: JsonObject,
    job: &OutboxJob,
    report: Option<ProviderReport>,
) -> Result<JsonObject, ApiError> {
    let evidence = admin.engine.job_summary(&job.job).await;
    let evidence = evidence.map_err(|_| ApiError::internal())?;
    let view = match evidence {
        Some(evidence) => {
            let view = view.text("wallet", evidence.owner).text("status", evidence.status);
            match evidence.money {
                Some(EntryAmount::Usdc(amount)) => view.number("amount", amount.decimal()).text("currency", "USDC"),
                Some(EntryAmount::Cents(amount, currency)) => view
                    .number("amount", amount.decimal())
                    .text("currency", currency.as_str()),
                None => view,
            }
        }
        None => view,
    };
    let view = match report {
        Some(ProviderReport::Status(standing)) => view.text("provider_status", standing.name()),
        Some(ProviderReport::NoResponse(error)) => view.text("provider_error", error),
        Some(ProviderReport::NotQueryable) | None => view,
    };
    let keep = admin.engine.is_retainable_credit(job).await;
    let keep = keep.map_err(|_| ApiError::internal())?;
    let credit = admin.engine.is_creditable(job).await;
    let credit = credit.map_err(|_| ApiError::internal())?;
    let by_job = actions(job).into_iter().chain([(credit, "credit"), (keep, "keep")]);
    let possible = by_job.filter_map(|(may, name)| may.then_some(name));
    Ok(view.text("idempotency_key", job.id).texts("actions", possible))
}

/// Actions that depend on the job alone.
fn actions(job: &OutboxJob) -> [(bool, &'static str); 3] {
    let (done, not_done) = job.job.resolvable_outcomes();
    // An operator can resolve an unknown payment while the chain is still queried. Other jobs must be dead-lettered
    // first.
    let (done, not_done) = match job.job.typed() {
        Some(payment::Job::WatchPayment(_)) => (done, not_done),
        _ => (done && job.dead_lettered, not_done && job.dead_lettered),
    };
    [
        (job.dead_lettered, "retry"),
        (done, "resolve_completed"),
        (not_done, "resolve_not_completed"),
    ]
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RetryJobRequest {
    job_id: String,
}

impl OperatorRequest for RetryJobRequest {}

pub(super) async fn post_retry(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<RetryJobRequest>,
) -> Result<Response, ApiError> {
    let id: JobId = request.job_id.parse().map_err(|_| unknown())?;
    match admin.engine.retry_job(id, &act).await {
        Ok(()) => {
            let view = JsonObject::new().text("job_id", id).boolean("retrying", true);
            Ok(json::private(json::bytes_as_json(view.to_json())))
        }
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
    #[cfg_attr(feature = "documents", schema(value_type = super::schemas::JobOutcome))]
    outcome: String,
    reference: String,
    evidence: String,
}

impl OperatorRequest for ResolveJobRequest {}

/// Records the outcome of a job.
pub(super) async fn post_resolve(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<ResolveJobRequest>,
) -> Result<Response, ApiError> {
    let outcome = match request.outcome.as_str() {
        "completed" => JobOutcome::Completed,
        "not_completed" => JobOutcome::NotCompleted,
        _ => {
            let error = "`outcome` is `completed` or `not_completed`.";
            return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "outcome", error));
        }
    };
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
        Err(ResolveError::ApprovalPending(id)) => return approvals::pending_response(&admin, id).await,
        result => result.map_err(map_error)?,
    }
    let view = JsonObject::new().text("job_id", id).text("outcome", request.outcome);
    Ok(json::private(json::bytes_as_json(view.to_json())))
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
pub(super) async fn post_credit(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<CreditJobRequest>,
) -> Result<Response, ApiError> {
    check_note("evidence", EVIDENCE, &request.evidence)?;
    let id: JobId = request.job_id.parse().map_err(|_| unknown())?;
    let stated = (request.evidence.as_str(), request.funds_not_sent);
    match admin.engine.credit_job(id, stated, &act).await {
        Err(ResolveError::ApprovalPending(id)) => return approvals::pending_response(&admin, id).await,
        result => result.map_err(map_error)?,
    }
    let view = JsonObject::new().text("job_id", id).boolean("credited", true);
    Ok(json::private(json::bytes_as_json(view.to_json())))
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
pub(super) async fn post_withhold_credit(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<WithholdCreditRequest>,
) -> Result<Response, ApiError> {
    check_note("evidence", EVIDENCE, &request.evidence)?;
    let id: JobId = request.job_id.parse().map_err(|_| unknown())?;
    let result = admin.engine.retain_credit(id, &request.evidence, &act).await;
    result.map_err(map_error)?;
    let view = JsonObject::new().text("job_id", id).boolean("kept", true);
    Ok(json::private(json::bytes_as_json(view.to_json())))
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
        ResolveError::Contradicted(standing) => {
            let error = format!("The provider now reports `{}`.", standing.name());
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
