//! What was announced at the operators' webhook, and a test of it.

use std::sync::Arc;

use purser_actors::announcement::{Announcement, AnnouncementDelivery};
use purser_actors::answer::rfc3339;
use purser_actors::engine::ListPosition;
use purser_actors::id::EventId;
use purser_actors::kernel::table;
#[cfg(feature = "documents")]
use purser_actors::operator::Permission;
use purser_storage::codec;
use serde::{Deserialize, Serialize};

use super::AdminState;
use super::accounts::{next_after, page};
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRead, AuthorizedRequest, OperatorRequest};
use super::unavailable;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::Private;
use crate::http::route::routes;
use crate::statuses::closed_set;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/admin/announcements" => get_announcements {
        Operator, operation(||
            OperationDoc::get(
                Operation { id: "listAnnouncements", tag: "System" },
                Permission::Read,
                "List what was announced at the operators' webhook (`operator.webhook_url`), newest first",
                of::<AnnouncementList>,
            )
            .paged()
        )
    }
    POST "/admin/announcements/test" => post_test {
        Operator, unkeyed("every test is a new message"), operation(||
            OperationDoc::post::<TestAnnouncementRequest>(
                Operation { id: "testOperatorWebhook", tag: "System" },
                "Send a test message to the operators' webhook",
                of::<AnnouncementView>,
            )
            .error(404, "The settings have no webhook for operators.")
        )
    }
}

closed_set! {
    "Status of an announcement." AnnouncementStatus = AnnouncementDelivery::NAMES.to_vec()
}

/// A page of announcements.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AnnouncementList {
    /// Scheme, host and port of the webhook; null if the settings have none.
    #[cfg_attr(feature = "documents", schema(required))]
    webhook: Option<String>,
    /// Newest first.
    announcements: Vec<AnnouncementView>,
    /// Cursor of the next page; null on an empty page.
    #[cfg_attr(feature = "documents", schema(required))]
    next_after: Option<String>,
}

/// A message to the operators' webhook.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AnnouncementView {
    /// Id of the message, the same on every attempt: its header `webhook-id`.
    announcement_id: String,
    /// Name of the queue, or `test`.
    queue: String,
    /// Id of the item that waits, or name of the line.
    item: String,
    /// Time since which the item waits (RFC 3339); null for lines.
    #[cfg_attr(feature = "documents", schema(required))]
    waiting_since: Option<String>,
    /// Time at which it was noticed (RFC 3339).
    created_at: String,
    /// Whether it still waits.
    waits: bool,
    /// Whether the webhook accepted it.
    status: AnnouncementStatus,
    /// Attempts that have ended.
    attempt_count: u32,
    /// Time of the next attempt (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    next_attempt_at: Option<String>,
    /// Time at which the webhook accepted it, or the last attempt failed (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    ended_at: Option<String>,
    /// Why the last attempt failed.
    #[cfg_attr(feature = "documents", schema(required))]
    last_error: Option<String>,
}

impl From<Announcement> for AnnouncementView {
    fn from(announcement: Announcement) -> Self {
        let delivery = announcement.delivery;
        let (next, ended) = match delivery {
            AnnouncementDelivery::Pending(at) => (Some(at), None),
            AnnouncementDelivery::Delivered(at) | AnnouncementDelivery::Failed(at) => (None, Some(at)),
        };
        Self {
            announcement_id: announcement.id.to_string(),
            queue: announcement.queue,
            item: announcement.item,
            waiting_since: announcement.since.map(rfc3339),
            created_at: rfc3339(announcement.at),
            waits: announcement.waits,
            status: AnnouncementStatus(delivery.name()),
            attempt_count: announcement.attempts,
            next_attempt_at: next.map(rfc3339),
            ended_at: ended.map(rfc3339),
            last_error: announcement.last_error,
        }
    }
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct TestAnnouncementRequest {}

impl OperatorRequest for TestAnnouncementRequest {}

async fn get_announcements(
    AuthorizedRead { admin, query }: AuthorizedRead,
) -> Result<Private<AnnouncementList>, ApiError> {
    let (after, limit) = page(query.as_deref())?;
    let after = after.map(|(at, id)| table::announcement(at, EventId(id)));
    let rows = admin.store.scan(&[table::ANNOUNCEMENT], after.as_deref(), limit).await;
    let rows = rows.map_err(|_| ApiError::internal())?;
    let mut found: Vec<(ListPosition, Announcement)> = Vec::with_capacity(rows.len());
    for (_, row) in rows {
        let read: Announcement = codec::decode(&row.value).map_err(|_| ApiError::internal())?;
        found.push(((read.at, read.id.0), read));
    }
    Ok(Private(AnnouncementList {
        webhook: admin.announcer.as_ref().map(|announcer| announcer.origin()),
        next_after: next_after(&found),
        announcements: found.into_iter().map(|(_, one)| one.into()).collect(),
    }))
}

async fn post_test(
    AuthorizedRequest { admin, act, .. }: AuthorizedRequest<TestAnnouncementRequest>,
) -> Result<Private<AnnouncementView>, ApiError> {
    let Some(announcer) = &admin.announcer else {
        let error = "The settings have no webhook for operators.";
        return Err(ApiError::new(ErrorCode::WebhookNotFound, error).hint("Set operator.webhook_url."));
    };
    let sent = announcer.send_test(&act.operator).await.map_err(|error| {
        tracing::error!(%error, "a test announcement could not be recorded");
        unavailable()
    })?;
    Ok(Private(sent.into()))
}
