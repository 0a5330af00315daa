//! What waits for a person, with its evidence, and what a person can do about it: have it tried again, say what came of it, or
//! give its holder the money back.

use axum::response::Response;
use http::StatusCode;
use purser_actors::engine::{JobOutcome, JobResolution, OperationError, ProviderReport, ResolveError, UnknownPayment};
use purser_actors::id::JobId;
use purser_actors::kernel::job::Job;
use purser_actors::kernel::{JsonObject, OutboxJob};
use purser_actors::port::Timestamp;
use purser_actors::reconciliation::{EntryAmount, EntryStatus};
use serde::Deserialize;
use utoipa::ToSchema;

use super::extractors::{AuthorizedRead, AuthorizedRequest, EVIDENCE, OperatorRequest, check_note};
use super::{AdminState, approvals, unavailable, untracked_transfers};
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::query::Query;

/// Characters of a reference, at most: a transaction on Solana has 88.
const MAX_REFERENCE_LEN: usize = 120;
/// How many things the other side is asked about for one list.
const MAX_PROVIDER_QUERIES: usize = 50;

/// With `effect_id`, only that.
pub(super) async fn get_dead_letters(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["job_id"])?;
    let one: Option<JobId> = match query.get("job_id") {
        Some(text) => Some(text.parse().map_err(|_| unknown())?),
        None => None,
    };
    let mut stuck = admin.engine.dead_letters().await.map_err(|_| ApiError::internal())?;
    if let Some(one) = one {
        stuck.jobs.retain(|effect| effect.id == one);
        stuck.late.retain(|late| late.job.id == one);
        stuck.unknown_payments.retain(|doubt| doubt.job.id == one);
    }
    let held_back = render_held_jobs(&admin, one).await?;
    let nothing = stuck.jobs.is_empty() && stuck.late.is_empty() && stuck.unknown_payments.is_empty();
    if one.is_some() && nothing && held_back.is_empty() {
        return Err(unknown());
    }
    let asked = query_providers(
        &admin,
        stuck
            .jobs
            .iter()
            .chain(stuck.late.iter().map(|late| &late.job))
            .chain(stuck.unknown_payments.iter().map(|doubt| &doubt.job)),
    )
    .await?;
    let (mut effects, mut unknown) = (Vec::new(), Vec::new());
    let mut asked = asked.into_iter();
    for effect in &stuck.jobs {
        let says = asked.next().flatten();
        let view = render(&admin, effect).boolean("late", false);
        let view = view.optional_text("next_try_at", None::<&str>);
        effects.push(job_summary(&admin, view, effect, says).await?.to_json());
    }
    for late in &stuck.late {
        let says = asked.next().flatten();
        let newest = OutboxJob {
            last_error: late.error.clone(),
            ..late.job.clone()
        };
        let view = render(&admin, &newest).boolean("late", true);
        let view = view.time("next_try_at", late.next_at);
        effects.push(job_summary(&admin, view, &late.job, says).await?.to_json());
    }
    for doubt in &stuck.unknown_payments {
        let says = asked.next().flatten();
        unknown.push(
            job_summary(&admin, unknown_payment(&admin, doubt), &doubt.job, says)
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
        effects.join(","),
        unknown.join(","),
        held_back.join(","),
        unexplained,
        held.to_json().trim_start_matches('{')
    );
    Ok(json::private(json::bytes_as_json(body)))
}

/// What left, or was ordered, before a restore.
async fn render_untracked(admin: &AdminState) -> Result<String, ApiError> {
    let departures = admin
        .engine
        .untracked_transfers()
        .await
        .map_err(|_| ApiError::internal())?;
    let departures: Vec<String> = departures
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
        departures.join(","),
        orders.join(",")
    ))
}

/// What waits before money leaves, and why.
async fn render_held_jobs(admin: &AdminState, one: Option<JobId>) -> Result<Vec<String>, ApiError> {
    let mut waiting = admin.engine.gated_jobs().await.map_err(|_| ApiError::internal())?;
    waiting.retain(|(effect, _)| one.is_none_or(|one| effect.id == one));
    let mut held_back = Vec::with_capacity(waiting.len());
    for (effect, why) in &waiting {
        let view = render(admin, effect).text("held", why.name());
        held_back.push(job_summary(admin, view, effect, None).await?.to_json());
    }
    Ok(held_back)
}

/// What the other side says of each, asked at once; `None` behind the first [`ASKED_MAX`].
async fn query_providers(
    admin: &AdminState,
    effects: impl Iterator<Item = &OutboxJob>,
) -> Result<Vec<Option<ProviderReport>>, ApiError> {
    let asked = effects.enumerate().map(|(n, effect)| async move {
        match n < MAX_PROVIDER_QUERIES {
            true => admin.engine.query_provider(effect).await.map(Some),
            false => Ok(None),
        }
    });
    let told = futures_util::future::join_all(asked).await;
    told.into_iter()
        .map(|one| one.map_err(|_| ApiError::internal()))
        .collect()
}

/// What is to be done, and how that went so far.
pub(super) fn render(admin: &AdminState, effect: &OutboxJob) -> JsonObject {
    JsonObject::new()
        .text("job_id", effect.id)
        .text("job_type", effect.job.name())
        .text("subject", effect.job.subject())
        .text("request_id", effect.request_id)
        .integer("age_seconds", age(admin, effect.created_at))
        .integer("attempts", u64::from(effect.attempts))
        .optional_text("last_error", effect.last_error.as_deref())
        .time("created_at", effect.created_at)
}

fn unknown_payment(admin: &AdminState, doubt: &UnknownPayment) -> JsonObject {
    JsonObject::new()
        .text("payment_id", doubt.payment)
        .text("job_id", doubt.job.id)
        .text("job_type", doubt.job.job.name())
        .integer("age_seconds", age(admin, doubt.since))
        .integer("attempts", u64::from(doubt.job.attempts))
        .optional_text("last_error", doubt.job.last_error.as_deref())
        .time("since", doubt.since)
}

fn age(admin: &AdminState, since: Timestamp) -> u64 {
    admin.clock.now().0.saturating_sub(since.0) / 1_000
}

/// What it is about, what is said of it elsewhere, and what can be done. The effect's id is what the other side knows it by.
async fn job_summary(
    admin: &AdminState,
    view: JsonObject,
    effect: &OutboxJob,
    says: Option<ProviderReport>,
) -> Result<JsonObject, ApiError> {
    let evidence = admin.engine.job_summary(&effect.job).await;
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
    let view = match says {
        Some(ProviderReport::Status(standing)) => view.text("provider_status", standing.name()),
        Some(ProviderReport::NoResponse(error)) => view.text("provider_error", error),
        Some(ProviderReport::NotQueryable) | None => view,
    };
    let keep = admin.engine.is_retainable_credit(effect).await;
    let keep = keep.map_err(|_| ApiError::internal())?;
    Ok(view
        .text("idempotency_key", effect.id)
        .texts("actions", actions(effect, keep)))
}

fn actions(effect: &OutboxJob, keep: bool) -> Vec<&'static str> {
    let (done, not_done) = effect.job.resolvable_outcomes();
    // A payment in doubt is an operator's while the chain is still asked about it; any other work once it is not tried any more.
    let (done, not_done) = match effect.job {
        Job::WatchPayment(_) => (done, not_done),
        _ => (done && effect.dead_lettered, not_done && effect.dead_lettered),
    };
    let all = [
        (effect.dead_lettered, "retry"),
        (done, "resolve_completed"),
        (not_done, "resolve_not_completed"),
        (effect.dead_lettered && effect.job.is_creditable(), "credit"),
        (keep, "keep"),
    ];
    all.into_iter().filter_map(|(may, name)| may.then_some(name)).collect()
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RetryJobRequest {
    job_id: String,
}

impl OperatorRequest for RetryJobRequest {}

pub(super) async fn post_retry(
    AuthorizedRequest {
        admin,
        act,
        request: wanted,
    }: AuthorizedRequest<RetryJobRequest>,
) -> Result<Response, ApiError> {
    let id: JobId = wanted.job_id.parse().map_err(|_| unknown())?;
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

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ResolveJobRequest {
    job_id: String,
    outcome: String,
    reference: String,
    evidence: String,
}

impl OperatorRequest for ResolveJobRequest {}

/// An operator says what came of it.
pub(super) async fn post_resolve(
    AuthorizedRequest {
        admin,
        act,
        request: wanted,
    }: AuthorizedRequest<ResolveJobRequest>,
) -> Result<Response, ApiError> {
    let outcome = match wanted.outcome.as_str() {
        "completed" => JobOutcome::Completed,
        "not_completed" => JobOutcome::NotCompleted,
        _ => {
            let error = "`outcome` is `completed` or `not_completed`.";
            return Err(ApiError::parameter("parameter_invalid", "outcome", error));
        }
    };
    let reference = wanted.reference.trim();
    let plain = reference.chars().all(|c| !c.is_control());
    if !plain || !(1..=MAX_REFERENCE_LEN).contains(&reference.chars().count()) {
        let error = format!("`reference` is what the other side calls it: 1 to {MAX_REFERENCE_LEN} characters.");
        return Err(ApiError::parameter("parameter_invalid", "reference", error));
    }
    check_note("evidence", EVIDENCE, &wanted.evidence)?;
    let id: JobId = wanted.job_id.parse().map_err(|_| unknown())?;
    let resolution = JobResolution {
        outcome,
        reference: reference.to_owned(),
        evidence: wanted.evidence,
    };
    match admin.engine.resolve(id, &resolution, &act).await {
        Err(ResolveError::ApprovalPending(id)) => return approvals::pending_response(&admin, id).await,
        told => told.map_err(map_error)?,
    }
    let view = JsonObject::new().text("job_id", id).text("outcome", wanted.outcome);
    Ok(json::private(json::bytes_as_json(view.to_json())))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreditJobRequest {
    job_id: String,
    evidence: String,
    #[serde(default)]
    funds_not_sent: bool,
}

impl OperatorRequest for CreditJobRequest {}

/// The holder gets the money back.
pub(super) async fn post_credit(
    AuthorizedRequest {
        admin,
        act,
        request: wanted,
    }: AuthorizedRequest<CreditJobRequest>,
) -> Result<Response, ApiError> {
    check_note("evidence", EVIDENCE, &wanted.evidence)?;
    let id: JobId = wanted.job_id.parse().map_err(|_| unknown())?;
    let stated = (wanted.evidence.as_str(), wanted.funds_not_sent);
    match admin.engine.credit_job(id, stated, &act).await {
        Err(ResolveError::ApprovalPending(id)) => return approvals::pending_response(&admin, id).await,
        told => told.map_err(map_error)?,
    }
    let view = JsonObject::new().text("job_id", id).boolean("credited", true);
    Ok(json::private(json::bytes_as_json(view.to_json())))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WithholdCreditRequest {
    job_id: String,
    /// Why the holder does not get it, for the audit log.
    evidence: String,
}

impl OperatorRequest for WithholdCreditRequest {}

/// A withheld credit ends without being given.
pub(super) async fn post_withhold_credit(
    AuthorizedRequest {
        admin,
        act,
        request: wanted,
    }: AuthorizedRequest<WithholdCreditRequest>,
) -> Result<Response, ApiError> {
    check_note("evidence", EVIDENCE, &wanted.evidence)?;
    let id: JobId = wanted.job_id.parse().map_err(|_| unknown())?;
    let told = admin.engine.retain_credit(id, &wanted.evidence, &act).await;
    told.map_err(map_error)?;
    let view = JsonObject::new().text("job_id", id).boolean("kept", true);
    Ok(json::private(json::bytes_as_json(view.to_json())))
}

fn unknown() -> ApiError {
    ApiError::not_found("job_not_found", "There is no such work, or it is done.")
}

fn not_dead_lettered() -> ApiError {
    let error = "This work is under way and is tried again by itself.";
    ApiError::new(StatusCode::CONFLICT, "job_not_dead_lettered", error)
}

pub(super) fn map_error(why: ResolveError) -> ApiError {
    let conflict = |code, error: String| ApiError::new(StatusCode::CONFLICT, code, error);
    match why {
        ResolveError::NotFound => unknown(),
        ResolveError::NotDeadLettered => not_dead_lettered(),
        ResolveError::NotResolvable => {
            let error = "Nobody's word can stand for this outcome.";
            conflict("job_not_resolvable", error.to_owned())
                .hint("GET /admin/dead-letters lists what can be done about it.")
        }
        ResolveError::Contradicted(EntryStatus::NotSubmitted) => {
            let error = "The other side does not know of it.";
            conflict("provider_disagrees", error.to_owned())
        }
        ResolveError::Contradicted(standing) => {
            let error = format!("The other side says `{}` now.", standing.name());
            conflict("provider_disagrees", error)
                .hint("POST /admin/jobs/retry (`purser admin jobs retry`) asks it again and does what it says.")
        }
        ResolveError::NotProven => {
            let error = "Nothing proves that the money has not left.";
            let hint = "If you know it, say so with `funds_not_sent`: true.";
            conflict("outcome_not_proven", error.to_owned()).hint(hint)
        }
        ResolveError::MayStillSettle => {
            let error = "What was signed for it may still be used.";
            conflict("payment_may_still_settle", error.to_owned())
                .hint("Try again an hour after its signature has ended.")
        }
        // Whoever asked for it was told that it waits.
        ResolveError::ApprovalPending(_) | ResolveError::Unavailable => unavailable(),
    }
}
