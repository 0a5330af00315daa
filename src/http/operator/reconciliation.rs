//! What our books and others' lists do not agree about, and what the house itself is told.

use axum::response::Response;
use purser_actors::engine::ReconciliationStatus;
use purser_actors::id::{DiscrepancyId, Wallet};
use purser_actors::kernel::{Entity as _, JsonObject};
use purser_actors::operator::Permission;
use purser_actors::reconciliation::DiscrepancyKind;
use purser_storage::{Cursor, Span, StoreError};
use serde::Deserialize;
use utoipa::ToSchema;

use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest};
use super::{AdminState, accounts, unavailable};
use crate::http::error::ApiError;
use crate::http::json;
use crate::http::query::Query;
use crate::stream::StreamEvent;

/// How the last walk went, and differences that are open, the oldest first.
pub(super) async fn get_reconciliation(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    let (after, limit) = accounts::page(query.as_deref())?;
    let stands = admin.engine.reconciliation().await.map_err(|_| ApiError::internal())?;
    let found = admin.engine.discrepancies(after, limit).await;
    let found = found.map_err(|_| ApiError::internal())?;
    let before = format!(
        "\"run\":{},\"open\":{},",
        run_status(&stands).to_json(),
        open(&stands).to_json()
    );
    let shown = |id, difference: &purser_actors::discrepancy::Discrepancy| difference.view(&DiscrepancyId(id));
    Ok(accounts::paged_after(&before, "discrepancies", &found, shown))
}

fn run_status(stands: &ReconciliationStatus) -> JsonObject {
    let walk = &stands.run;
    let view = JsonObject::new()
        .integer("compared", walk.compared)
        .boolean("completed", walk.is_complete() && !walk.skipped);
    let view = match walk.completed_at {
        Some(at) => view.time("last_completed_at", at),
        None => view.optional_text("last_completed_at", None::<&str>),
    };
    let ended = stands.last_run.map(|ended| {
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

/// Nothing is to be said about it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StartRunRequest {}

impl OperatorRequest for StartRunRequest {
    /// It has every provider and chain asked for its lists: more than a look.
    const TASK: Permission = Permission::Operate;
}

/// Has a walk begin as soon as the one under way has ended.
pub(super) async fn post_run(
    AuthorizedRequest { admin, .. }: AuthorizedRequest<StartRunRequest>,
) -> Result<Response, ApiError> {
    let number = admin.engine.request_reconciliation().ok_or_else(unavailable)?;
    let view = JsonObject::new().integer("run", number);
    Ok(json::private(json::bytes_as_json(view.to_json())))
}

fn open(stands: &ReconciliationStatus) -> JsonObject {
    let kinds = DiscrepancyKind::ALL.into_iter().zip(stands.open);
    kinds.fold(JsonObject::new(), |view, (kind, n)| view.integer(kind.name(), n))
}

/// Events of the house itself, in the order they happened: no holder's stream has them.
pub(super) async fn get_events(AuthorizedRead { admin, query }: AuthorizedRead) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["after", "limit"])?;
    let after = query.number("after", 0, 0, u64::MAX)?;
    let limit = usize::try_from(query.number("limit", 100, 1, 1_000)?).unwrap_or(100);
    let (events, next) = system_event(&admin, after, limit).await.map_err(|error| {
        tracing::error!(%error, "the house's events could not be read");
        ApiError::internal()
    })?;
    let body = format!("{{\"events\":[{}],\"next_after\":{next}}}", events.join(","));
    Ok(json::private(json::bytes_as_json(body)))
}

async fn system_event(admin: &AdminState, after: Cursor, limit: usize) -> Result<(Vec<String>, Cursor), StoreError> {
    let house = Wallet::SYSTEM.key();
    let read = match admin.store.events_of(&house, Span::After(after), limit).await {
        // Whoever asks for what is not kept any more is told what is.
        Err(StoreError::Expired { .. }) => admin.store.events_of(&house, Span::After(0), limit).await?,
        read => read?,
    };
    let next = read.last().map_or(after, |event| event.cursor);
    let shown = read.iter().filter_map(StreamEvent::read);
    Ok((shown.map(|event| event.to_json()).collect(), next))
}
