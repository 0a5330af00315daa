//! A delivery as its owner sees it.

use serde::Serialize;

use super::{DroppedReason, State};
use crate::answer::Time;
use crate::id::{EventId, WebhookDeliveryId, WebhookId};

/// The delivery of an event to one endpoint.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = WebhookDelivery))]
pub struct WebhookDeliveryView<'a> {
    /// `whd_…` is the id of the delivery.
    pub delivery_id: WebhookDeliveryId,
    /// Endpoint of the delivery.
    pub webhook_id: WebhookId,
    /// Event, which is the `webhook-id` of the message.
    pub event_id: EventId,
    /// Type of the event.
    pub r#type: &'a str,
    /// Sequence number of the event.
    pub seq: u64,
    /// `pending`, `delivered`, `failed` or `dropped`.
    pub status: State,
    /// `endpoint_disabled`, `endpoint_deleted` or `event_expired`.
    #[cfg_attr(feature = "documents", schema(required))]
    pub dropped_reason: Option<DroppedReason>,
    /// Time of the next attempt.
    #[cfg_attr(feature = "documents", schema(required))]
    pub next_attempt_at: Option<Time>,
    /// Number of attempts so far.
    pub attempt_count: u64,
    /// The last ten attempts, oldest first.
    pub attempts: Vec<WebhookAttemptView<'a>>,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

/// One attempt to deliver an event.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = WebhookAttempt))]
pub struct WebhookAttemptView<'a> {
    /// Start of the attempt.
    pub at: Time,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// HTTP status of the response.
    #[cfg_attr(feature = "documents", schema(required))]
    pub status: Option<u64>,
    /// Error of the attempt.
    #[cfg_attr(feature = "documents", schema(required))]
    pub error: Option<&'a str>,
    /// Beginning of the response, with long numbers and long words masked. Null for operators with the role `read-only`.
    #[cfg_attr(feature = "documents", schema(required))]
    pub response_excerpt: Option<&'a str>,
}

impl WebhookDeliveryView<'_> {
    /// The view for those who do not see the URL of the endpoint: a response can quote it.
    #[must_use]
    pub fn without_excerpts(mut self) -> Self {
        for attempt in &mut self.attempts {
            attempt.response_excerpt = None;
        }
        self
    }
}
