//! Reconciliation runs and discrepancies, and system events.

use std::sync::Arc;

use axum::response::Response;
use purser_actors::answer::Time;
use purser_actors::engine::ReconciliationStatus;
use purser_actors::entity::discrepancy::DiscrepancyView;
use purser_actors::id::{DiscrepancyId, Wallet};
use purser_actors::kernel::{Entity as _, JsonObject};
use purser_actors::operator::Permission;
use purser_actors::reconciliation::DiscrepancyKind;
use purser_storage::{Cursor, Span, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest};
use super::{AdminState, accounts, unavailable};
use crate::http::error::ApiError;
use crate::http::json::{self, Private};
use crate::http::query::Query;
use crate::http::route::routes;
#[cfg(feature = "documents")]
use crate::http::schemas::Event;
use crate::stream::StreamEvent;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/reconciliation" => get_reconciliation {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "getReconciliation", tag: "Reconciliation" },
                Permission::Read,
                "List discrepancies between the ledger and external records, oldest first",
                of::<ReconciliationResponse<'_>>,
            )
            .paged()
        )
    }
    POST "/admin/reconciliation/run" => post_run {
        Operator, unkeyed("starts one more run; several calls before it starts are one run"), operation(||
            OperationDoc::post::<StartRunRequest>(
                Operation { id: "runReconciliation", tag: "Reconciliation" },
                "Start a reconciliation run now. It has completed when `run.ended.number` of `/admin/reconciliation` is at least \
                 `run` of the response",
                of::<RunRequestedResponse>,
            )
        )
    }
    GET "/admin/events" => get_events {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listSystemEvents", tag: "System" },
                Permission::Read,
                "List system events, oldest first",
                of::<SystemEventList>,
            )
            .with("after", "integer", "`next_after` of the previous page.")
            .with("limit", "integer", "1 to 1,000, 100 by default.")
        )
    }
}

/// Discrepancies between the ledger and external records.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ReconciliationResponse<'a> {
    /// Last reconciliation run.
    run: ReconciliationRun,
    /// Number of open discrepancies by kind.
    #[cfg_attr(feature = "documents", schema(value_type = Object))]
    open: JsonObject,
    /// Open discrepancies, oldest first.
    discrepancies: Vec<DiscrepancyView<'a>>,
    /// Cursor of the next page; null on an empty page.
    #[cfg_attr(feature = "documents", schema(required))]
    next_after: Option<String>,
}

/// A reconciliation run over all external records.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct ReconciliationRun {
    /// Number of entries compared so far.
    compared: u64,
    /// Whether the run has completed without skipping a source.
    completed: bool,
    /// Time of the last completed run (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    last_completed_at: Option<Time>,
    /// Last run that ended since the service started.
    #[cfg_attr(feature = "documents", schema(required))]
    ended: Option<CompletedRun>,
}

/// A reconciliation run that has ended.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct CompletedRun {
    /// Number of the run, counted from 1 since the service started; 0 if it began before.
    number: u64,
    /// Number of entries compared.
    compared: u64,
    /// Whether every source and every record was read.
    completed: bool,
}

/// A page of system events.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SystemEventList {
    /// System events, oldest first.
    #[cfg_attr(feature = "documents", schema(value_type = Vec<Event>))]
    events: Vec<Box<RawValue>>,
    /// Cursor of the next page.
    next_after: u64,
}

/// The last reconciliation run, and open discrepancies, oldest first.
async fn get_reconciliation(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    let (after, limit) = accounts::page(query.as_deref())?;
    let status = admin.engine.reconciliation().await.map_err(|_| ApiError::internal())?;
    let found = admin.engine.discrepancies(after, limit).await;
    let found = found.map_err(|_| ApiError::internal())?;
    let discrepancies = found.iter().map(|((_, id), found)| found.view(&DiscrepancyId(*id)));
    Ok(json::private_ok(&ReconciliationResponse {
        run: run_status(&status),
        open: open(&status),
        discrepancies: discrepancies.collect(),
        next_after: accounts::next_after(&found),
    }))
}

fn run_status(status: &ReconciliationStatus) -> ReconciliationRun {
    let run = &status.run;
    ReconciliationRun {
        compared: run.compared,
        completed: run.is_complete() && !run.skipped,
        last_completed_at: run.completed_at.map(Into::into),
        ended: status.last_run.map(|ended| CompletedRun {
            number: ended.number,
            compared: ended.compared,
            completed: ended.complete,
        }),
    }
}

/// Request without members.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct StartRunRequest {}

impl OperatorRequest for StartRunRequest {
    /// Needs `Operate`, because a run queries every provider and chain.
    const TASK: Permission = Permission::Operate;
}

/// A requested reconciliation run.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct RunRequestedResponse {
    /// Number of the run.
    run: u64,
}

/// Requests a run, which starts as soon as the current one has ended.
async fn post_run(
    AuthorizedRequest { admin, .. }: AuthorizedRequest<StartRunRequest>,
) -> Result<Private<RunRequestedResponse>, ApiError> {
    let run = admin.engine.request_reconciliation().ok_or_else(unavailable)?;
    Ok(Private(RunRequestedResponse { run }))
}

fn open(status: &ReconciliationStatus) -> JsonObject {
    let kinds = DiscrepancyKind::ALL.into_iter().zip(status.open);
    kinds.fold(JsonObject::new(), |view, (kind, n)| view.integer(kind.name(), n))
}

/// System events in order. They are on no account's stream.
async fn get_events(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Private<SystemEventList>, ApiError> {
    let query = Query::parse(query.as_deref(), &["after", "limit"])?;
    let after = query.number("after", 0, 0, u64::MAX)?;
    let limit = usize::try_from(query.number("limit", 100, 1, 1_000)?).unwrap_or(100);
    let (events, next) = system_event(&admin, after, limit).await.map_err(|error| {
        tracing::error!(%error, "system events could not be read");
        ApiError::internal()
    })?;
    Ok(Private(SystemEventList {
        events,
        next_after: next,
    }))
}

async fn system_event(
    admin: &AdminState,
    after: Cursor,
    limit: usize,
) -> Result<(Vec<Box<RawValue>>, Cursor), StoreError> {
    let state = Wallet::SYSTEM.key();
    let read = match admin.store.events_of(&state, Span::After(after), limit).await {
        // If the cursor has expired, the page starts with the oldest stored event.
        Err(StoreError::Expired { .. }) => admin.store.events_of(&state, Span::After(0), limit).await?,
        read => read?,
    };
    let next = read.last().map_or(after, |event| event.cursor);
    let shown = read.iter().filter_map(StreamEvent::read);
    Ok((
        shown
            .filter_map(|event| RawValue::from_string(event.to_json()).ok())
            .collect(),
        next,
    ))
}
