//! What happened to one account, or to one entity of it, newest first: the events that its owner gets, the steps between
//! them, and what operators did.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use purser_actors::answer::rfc3339;
use purser_actors::id::Wallet;
use purser_actors::kernel::EntityKind;
use purser_actors::kernel::event_record::EventRecord;
use purser_actors::operator::{AuditAction, AuditRecord, Permission, Role};
use purser_actors::port::Timestamp;
use purser_storage::{Cursor, Span, StoredEvent};
use serde::Serialize;
use serde_json::value::RawValue;

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::audit_log::{self, AuditLogEntry};
#[cfg(feature = "documents")]
use super::closed_sets::EntityKindName;
use super::extractors::ReadByRole;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::Private;
use crate::http::query::Query;
use crate::http::route::routes;
#[cfg(feature = "documents")]
use crate::http::schemas::Event;
use crate::stream::StreamEvent;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/timeline" => get_timeline {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "getTimeline", tag: "Accounts" },
                Permission::Read,
                "Read what happened to an account, or to one resource of it, newest first: events, steps between them, and actions \
                 of operators. Events are kept for 30 days",
                of::<TimelineResponse>,
            )
            .with("wallet", "string", "The account. Give this or `id`.")
            .with("id", "string", "Only what names this resource: any id of an account's resource.")
            .with("before", "string", "`next_before` of the previous page.")
            .with("limit", "integer", "1 to 200, 50 by default.")
            .error(404, "No account, or nothing with this id.")
        )
    }
}

/// Events read for one page. What names a rare id may take several pages.
const SCAN_LIMIT: usize = 5_000;
const SCAN_PAGE: usize = 500;
/// Audit records read for one page.
const AUDIT_LIMIT: usize = 2_000;

/// A part of a timeline.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct TimelineResponse {
    /// Exact wallet address of the account.
    wallet: String,
    /// Newest first.
    entries: Vec<TimelineEntry>,
    /// Cursor of the next page; null at the oldest event that is kept. A page can be empty and still have one.
    #[cfg_attr(feature = "documents", schema(required))]
    next_before: Option<String>,
    /// Whether the audit log was read as far as this page goes back. It is read for 2,000 records per page.
    operator_actions_complete: bool,
}

/// One change, or one action of an operator.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct TimelineEntry {
    /// Time (RFC 3339).
    at: String,
    /// Kind of the resource; null for an action of an operator.
    #[cfg_attr(feature = "documents", schema(required, value_type = Option<EntityKindName>))]
    kind: Option<&'static str>,
    /// Id of the resource.
    id: String,
    /// Status of the resource after the change; null for an action of an operator.
    #[cfg_attr(feature = "documents", schema(required))]
    status: Option<String>,
    /// Request that caused it, where it is recorded: of actions of operators, and of a resource with an open job.
    #[cfg_attr(feature = "documents", schema(required))]
    request_id: Option<String>,
    /// The event as the owner gets it; null for a step that is not announced.
    #[cfg_attr(feature = "documents", schema(required, value_type = Option<Event>))]
    event: Option<Box<RawValue>>,
    /// The action of an operator.
    #[cfg_attr(feature = "documents", schema(required))]
    operator_action: Option<AuditLogEntry>,
}

/// An entry with its position.
struct Placed {
    at: Timestamp,
    entry: TimelineEntry,
}

/// Position in a timeline: events before this cursor, and actions of operators before this time.
#[derive(Clone, Copy)]
struct Position {
    event: Cursor,
    time: Timestamp,
}

impl Position {
    const NEWEST: Self = Self {
        event: Cursor::MAX,
        time: Timestamp(u64::MAX),
    };

    fn parse(text: &str) -> Option<Self> {
        let (event, time) = text.split_once('-')?;
        Some(Self {
            event: event.parse().ok()?,
            time: Timestamp(time.parse().ok()?),
        })
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.event, self.time.0)
    }
}

async fn get_timeline(ReadByRole { admin, role, query }: ReadByRole) -> Result<Private<TimelineResponse>, ApiError> {
    let query = Query::parse(query.as_deref(), &["wallet", "id", "before", "limit"])?;
    let limit = usize::try_from(query.number("limit", 50, 1, 200)?).unwrap_or(50);
    let invalid = |name, error: &'static str| ApiError::parameter(ErrorCode::ParameterInvalid, name, error);
    let start = match query.get("before") {
        Some(text) => Position::parse(text).ok_or_else(|| invalid("before", "`before` is not from a page before."))?,
        None => Position::NEWEST,
    };
    let (wallet, id) = match (query.get("wallet"), query.get("id")) {
        (Some(text), None) => {
            let wallet: Wallet = text
                .parse()
                .map_err(|_| invalid("wallet", "`wallet` is not an address."))?;
            (admin.engine.account_of(&wallet), None)
        }
        (None, Some(id)) => (owner_of(&admin, id).await?, Some(id)),
        _ => return Err(invalid("wallet", "Give `wallet` or `id`, one of them.")),
    };
    if admin
        .engine
        .account(&wallet)
        .await
        .map_err(|_| ApiError::internal())?
        .is_none()
    {
        return Err(ApiError::new(ErrorCode::AccountNotFound, "There is no such account."));
    }
    let page = events((&admin, role), &wallet, id, start, limit).await?;
    let oldest = page.next.map_or(Timestamp(0), |next| next.time);
    let subjects: HashSet<&str> = page.entries.iter().map(|placed| placed.entry.id.as_str()).collect();
    let account = wallet.to_string();
    // Some subjects name several: `rf_… 25 0x…`.
    let is_about = |audit: &AuditRecord| match id {
        Some(id) => audit.subject.split(' ').any(|word| word == id),
        // Notes are read by their account, so that all are there however long the audit log is.
        None if audit.action == AuditAction::CustomerNote.name() => false,
        None => {
            let mut words = audit.subject.split(' ');
            words.any(|word| word == account || subjects.contains(word))
        }
    };
    let (actions, complete) = operator_actions(&admin, start.time, oldest, is_about).await?;
    let mut entries = page.entries;
    entries.extend(actions);
    if id.is_none() {
        entries.extend(notes(&admin, &wallet, start.time, oldest).await?);
    }
    // Stable, so that events of one time stay in their order.
    entries.sort_by_key(|placed| Reverse(placed.at));
    Ok(Private(TimelineResponse {
        wallet: account,
        entries: entries.into_iter().map(|placed| placed.entry).collect(),
        next_before: page.next.map(|next| next.to_string()),
        operator_actions_complete: complete,
    }))
}

/// The account that owns the resource with this id.
async fn owner_of(admin: &AdminState, id: &str) -> Result<Wallet, ApiError> {
    let found = admin
        .engine
        .customer_by_id(id)
        .await
        .map_err(|_| ApiError::internal())?;
    let found = found.first().filter(|found| found.owner != Wallet::SYSTEM);
    let owner = found.map(|found| found.owner);
    owner.ok_or_else(|| ApiError::new(ErrorCode::AccountNotFound, "No account has anything with this id."))
}

/// Events of one page.
struct EventPage {
    entries: Vec<Placed>,
    next: Option<Position>,
}

async fn events(
    (admin, reader): (&AdminState, Role),
    wallet: &Wallet,
    id: Option<&str>,
    start: Position,
    limit: usize,
) -> Result<EventPage, ApiError> {
    let requests = open_requests(admin).await?;
    let (subject, mut position, mut looked, mut entries) = (wallet.key(), start, 0, Vec::new());
    loop {
        // Without an id every event is an entry. What names a rare id is read in large parts.
        let part = match id {
            Some(_) => SCAN_PAGE,
            None => limit - entries.len() + 1,
        };
        let read = admin.store.events_of(&subject, Span::Before(position.event), part);
        let read = read.await.map_err(|error| {
            tracing::error!(%error, "the events of an account could not be read");
            ApiError::internal()
        })?;
        for event in &read {
            if entries.len() == limit || looked == SCAN_LIMIT {
                let next = Some(position);
                return Ok(EventPage { entries, next });
            }
            looked += 1;
            position.event = event.cursor;
            let Ok(record) = EventRecord::read(&event.subject, &event.payload) else {
                tracing::error!(seq = event.seq, "a stored event cannot be read");
                continue;
            };
            position.time = record.at;
            entries.extend(entry((admin, reader), event, &record, id, &requests)?);
        }
        if read.len() < part {
            return Ok(EventPage { entries, next: None });
        }
    }
}

/// Ids that open jobs work on, with the requests that created the jobs.
async fn open_requests(admin: &AdminState) -> Result<HashMap<String, String>, ApiError> {
    let jobs = admin.engine.open_jobs(usize::MAX).await;
    let mut jobs = jobs.map_err(|_| ApiError::internal())?;
    // Of several jobs of one subject the oldest counts.
    jobs.sort_by_key(|job| Reverse((job.created_at, job.id)));
    Ok(jobs
        .into_iter()
        .map(|job| (job.job.subject(), job.request_id.to_string()))
        .collect())
}

/// The entry of an event. `None` if it does not name the id.
fn entry(
    (admin, reader): (&AdminState, Role),
    event: &StoredEvent,
    record: &EventRecord,
    id: Option<&str>,
    requests: &HashMap<String, String>,
) -> Result<Option<Placed>, ApiError> {
    let own_id = admin.engine.id_text(record.kind, &record.id).unwrap_or_default();
    let announced = match reader.allows(Permission::ReadWebhookUrls) {
        true => StreamEvent::read(event),
        false => StreamEvent::read(event).and_then(StreamEvent::without_webhook_url),
    };
    let announced = announced.map(|event| event.to_json());
    if let Some(id) = id
        && own_id != id
        && !announced
            .as_ref()
            .is_some_and(|text| text.contains(&format!("\"{id}\"")))
    {
        return Ok(None);
    }
    let kind = EntityKind::ALL.into_iter().find(|kind| *kind as u8 == record.kind);
    let request = requests.get(&own_id);
    let event = announced.map(RawValue::from_string).transpose();
    Ok(Some(Placed {
        at: record.at,
        entry: TimelineEntry {
            at: rfc3339(record.at),
            kind: kind.map(EntityKind::name),
            id: own_id,
            status: Some(record.status.clone()),
            request_id: request.cloned(),
            event: event.map_err(|_| ApiError::internal())?,
            operator_action: None,
        },
    }))
}

/// Audit records between two times, newest first, and whether all of them were read.
async fn operator_actions(
    admin: &AdminState,
    before: Timestamp,
    oldest: Timestamp,
    is_about: impl Fn(&AuditRecord) -> bool,
) -> Result<(Vec<Placed>, bool), ApiError> {
    let (mut actions, mut position, mut looked) = (Vec::new(), None, 0);
    while looked < AUDIT_LIMIT {
        let read = admin.engine.audit_log_before(position, SCAN_PAGE).await;
        let read = read.map_err(|_| ApiError::internal())?;
        let is_last = read.len() < SCAN_PAGE;
        for (audit, hash) in read {
            looked += 1;
            position = Some(audit.position.sequence);
            if audit.at < oldest {
                return Ok((actions, true));
            }
            if audit.at < before && is_about(&audit) {
                actions.push(placed(audit, &hash));
            }
        }
        if is_last {
            return Ok((actions, true));
        }
    }
    Ok((actions, false))
}

/// Notes on an account between two times, newest first.
async fn notes(
    admin: &AdminState,
    wallet: &Wallet,
    before: Timestamp,
    oldest: Timestamp,
) -> Result<Vec<Placed>, ApiError> {
    let (mut notes, mut position) = (Vec::new(), None);
    loop {
        let read = admin.engine.customer_notes(wallet, position, SCAN_PAGE).await;
        let read = read.map_err(|_| ApiError::internal())?;
        let is_last = read.len() < SCAN_PAGE;
        for (audit, hash) in read {
            position = Some(audit.position.sequence);
            if audit.at < oldest {
                return Ok(notes);
            }
            if audit.at < before {
                notes.push(placed(audit, &hash));
            }
        }
        if is_last {
            return Ok(notes);
        }
    }
}

/// The entry of an audit record.
fn placed(audit: AuditRecord, hash: &[u8; 32]) -> Placed {
    let at = audit.at;
    let action = audit_log::entry(audit, hash);
    Placed {
        at,
        entry: TimelineEntry {
            at: rfc3339(at),
            kind: None,
            id: action.subject.clone(),
            status: None,
            request_id: Some(action.request_id.clone()),
            event: None,
            operator_action: Some(action),
        },
    }
}
