//! Schemas of webhook endpoints and deliveries.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{WebhookDeliveryStatus, WebhookDisabledReason, WebhookDroppedReason, WebhookStatus};

/// A webhook endpoint, as in its events.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    /// `wh_…` is the id of the endpoint.
    pub webhook_id: String,
    /// URL that receives events.
    pub url: String,
    /// Event types that are sent; empty for all.
    pub types: Vec<String>,
    /// `active`, `disabled` or `deleted`.
    pub status: WebhookStatus,
    /// `gone`: it answered 410. `failing`: all attempts failed for too long.
    #[schema(required)]
    pub disabled_reason: Option<WebhookDisabledReason>,
    /// Time since when all attempts have failed.
    #[schema(required)]
    pub failing_since: Option<String>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// The delivery of an event to one endpoint.
#[derive(Serialize, ToSchema)]
pub struct WebhookDelivery {
    /// `whd_…` is the id of the delivery.
    pub delivery_id: String,
    /// Endpoint of the delivery.
    pub webhook_id: String,
    /// Event, which is the `webhook-id` of the message.
    pub event_id: String,
    /// Type of the event.
    pub r#type: String,
    /// Sequence number of the event.
    pub seq: u64,
    /// `pending`, `delivered`, `failed` or `dropped`.
    pub status: WebhookDeliveryStatus,
    /// `endpoint_disabled`, `endpoint_deleted` or `event_expired`.
    #[schema(required)]
    pub dropped_reason: Option<WebhookDroppedReason>,
    /// Time of the next attempt.
    #[schema(required)]
    pub next_attempt_at: Option<String>,
    /// Number of attempts so far.
    pub attempt_count: u64,
    /// The last ten attempts, oldest first.
    pub attempts: Vec<WebhookAttempt>,
    /// Creation time (RFC 3339).
    pub created_at: String,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: String,
}

/// One attempt to deliver an event.
#[derive(Serialize, ToSchema)]
pub struct WebhookAttempt {
    /// Start of the attempt.
    pub at: String,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// HTTP status of the response.
    #[schema(required)]
    pub status: Option<u64>,
    /// Error of the attempt.
    #[schema(required)]
    pub error: Option<String>,
    /// Beginning of the response, with long numbers and long words masked.
    #[schema(required)]
    pub response_excerpt: Option<String>,
}
