//! Reconciliation runs and discrepancies, and system events.

use std::sync::Arc;

use axum::response::Response;
use purser_actors::engine::ReconciliationStatus;
use purser_actors::id::{DiscrepancyId, Wallet};
use purser_actors::kernel::{Entity as _, JsonObject};
use purser_actors::operator::Permission;
use purser_actors::reconciliation::DiscrepancyKind;
use purser_storage::{Cursor, Span, StoreError};
use serde::Deserialize;

#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest};
#[cfg(feature = "documents")]
use super::schemas;
use super::{AdminState, accounts, unavailable};
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::query::Query;
use crate::http::route::routes;
use crate::stream::StreamEvent;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/reconciliation" => get_reconciliation {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "getReconciliation", tag: "Reconciliation" },
                Permission::Read,
                "List discrepancies between the ledger and external records, oldest first",
                of::<schemas::ReconciliationResponse>,
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
                of::<schemas::RunRequestedResponse>,
            )
        )
    }
    GET "/admin/events" => get_events {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listSystemEvents", tag: "System" },
                Permission::Read,
                "List system events, oldest first",
                of::<schemas::SystemEventList>,
            )
            .with("after", "integer", "`next_after` of the previous page.")
            .with("limit", "integer", "1 to 1,000, 100 by default.")
        )
    }
}

/// The last reconciliation run, and open discrepancies, oldest first.
pub(super) async fn get_reconciliation(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    let (after, limit) = accounts::page(query.as_deref())?;
    let status = admin.engine.reconciliation().await.map_err(|_| ApiError::internal())?;
    let found = admin.engine.discrepancies(after, limit).await;
    let found = found.map_err(|_| ApiError::internal())?;
    let before = format!(
        "\"run\":{},\"open\":{},",
        run_status(&status).to_json(),
        open(&status).to_json()
    );
    let shown = |id, difference: &purser_actors::discrepancy::Discrepancy| difference.view(&DiscrepancyId(id));
    Ok(accounts::paged_after(&before, "discrepancies", &found, shown))
}

fn run_status(status: &ReconciliationStatus) -> JsonObject {
    let run = &status.run;
    let view = JsonObject::new()
        .integer("compared", run.compared)
        .boolean("completed", run.is_complete() && !run.skipped);
    let view = match run.completed_at {
        Some(at) => view.time("last_completed_at", at),
        None => view.optional_text("last_completed_at", None::<&str>),
    };
    let ended = status.last_run.map(|ended| {
        JsonObject::new()
            .integer("number", ended.number)
            .integer("compared", ended.compared)
            .boolean("completed", ended.complete)
    });
    match ended {
        Some(ended) => view.object("ended", &ended),
        None => view.optional_text("ended", None::<&str>),
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

/// Requests a run, which starts as soon as the current one has ended.
pub(super) async fn post_run(
    AuthorizedRequest { admin, .. }: AuthorizedRequest<StartRunRequest>,
) -> Result<Response, ApiError> {
    let number = admin.engine.request_reconciliation().ok_or_else(unavailable)?;
    let view = JsonObject::new().integer("run", number);
    Ok(json::private(json::bytes_as_json(view.to_json())))
}

fn open(status: &ReconciliationStatus) -> JsonObject {
    let kinds = DiscrepancyKind::ALL.into_iter().zip(status.open);
    kinds.fold(JsonObject::new(), |view, (kind, n)| view.integer(kind.name(), n))
}

/// System events in order. They are on no account's stream.
pub(super) async fn get_events(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["after", "limit"])?;
    let after = query.number("after", 0, 0, u64::MAX)?;
    let limit = usize::try_from(query.number("limit", 100, 1, 1_000)?).unwrap_or(100);
    let (events, next) = system_event(&admin, after, limit).await.map_err(|error| {
        tracing::error!(%error, "system events could not be read");
        ApiError::internal()
    })?;
    let body = format!("{{\"events\":[{}],\"next_after\":{next}}}", events.join(","));
    Ok(json::private(json::bytes_as_json(body)))
}

async fn system_event(admin: &AdminState, after: Cursor, limit: usize) -> Result<(Vec<String>, Cursor), StoreError> {
    let state = Wallet::SYSTEM.key();
    let read = match admin.store.events_of(&state, Span::After(after), limit).await {
        // If the cursor has expired, the page starts with the oldest stored event.
        Err(StoreError::Expired { .. }) => admin.store.events_of(&state, Span::After(0), limit).await?,
        read => read?,
    };
    let next = read.last().map_or(after, |event| event.cursor);
    let shown = read.iter().filter_map(StreamEvent::read);
    Ok((shown.map(|event| event.to_json()).collect(), next))
}
