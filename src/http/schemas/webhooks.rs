//! Schemas of webhook endpoints and deliveries.

use serde::Deserialize;
use utoipa::ToSchema;

use super::{WebhookDeliveryStatus, WebhookDisabledReason, WebhookDroppedReason, WebhookStatus};

/// A registered webhook endpoint, with its secret.
#[derive(Deserialize, ToSchema)]
pub struct RegisterWebhookResponse {
    /// Always true on success.
    pub registered: bool,
    /// `wh_…` is the id of the endpoint.
    pub webhook_id: String,
    /// URL that receives events.
    pub url: String,
    /// Event types that are sent; empty for all.
    pub types: Vec<String>,
    /// `whsec_…`, base64 of 32 bytes. Null if a replayed response is older than the current secret; see
    /// `secret_withheld`.
    #[schema(required)]
    pub secret: Option<String>,
    /// Reason for a missing `secret`: `secret_replaced`; otherwise null.
    #[schema(required)]
    pub secret_withheld: Option<String>,
    /// How messages are signed.
    pub signing: WebhookSigning,
}

/// How messages are signed.
#[derive(Deserialize, ToSchema)]
pub struct WebhookSigning {
    /// `standard-webhooks` is the signature scheme.
    pub scheme: String,
    /// `hmac-sha256` is the signature algorithm.
    pub algorithm: String,
    /// `v1` is the prefix of each signature, before a comma.
    pub signature_version: String,
    /// Content that is signed.
    pub signed_content: String,
    /// Names of the signature headers.
    pub headers: Vec<String>,
}

/// One endpoint, or all.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum GetWebhookResponse {
    /// The endpoint with `webhook_id`.
    One(WebhookResponse),
    /// All endpoints, without `webhook_id`.
    All(WebhookList),
}

/// A webhook endpoint.
#[derive(Deserialize, ToSchema)]
pub struct WebhookResponse {
    /// The requested endpoint.
    pub webhook: Webhook,
}

/// Webhook endpoints of the account.
#[derive(Deserialize, ToSchema)]
pub struct WebhookList {
    /// Webhook endpoints, oldest first.
    pub webhooks: Vec<Webhook>,
}

/// A webhook endpoint, as in its events.
#[derive(Deserialize, ToSchema)]
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

/// A deleted webhook endpoint.
#[derive(Deserialize, ToSchema)]
pub struct DeleteWebhookResponse {
    /// Always true on success.
    pub deleted: bool,
    /// Id of the endpoint.
    pub webhook_id: String,
}

/// One delivery, or a page of them.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum WebhookDeliveriesResponse {
    /// The delivery with `delivery_id`.
    One(Box<WebhookDeliveryResponse>),
    /// A page of deliveries, without `delivery_id`.
    Page(WebhookDeliveryList),
}

/// A webhook delivery.
#[derive(Deserialize, ToSchema)]
pub struct WebhookDeliveryResponse {
    /// The requested delivery.
    pub delivery: WebhookDelivery,
}

/// A page of deliveries.
#[derive(Deserialize, ToSchema)]
pub struct WebhookDeliveryList {
    /// Deliveries, newest first.
    pub deliveries: Vec<WebhookDelivery>,
    /// Whether more deliveries follow.
    pub has_more: bool,
    /// Cursor of the next page.
    #[schema(required)]
    pub next_starting_after: Option<String>,
}

/// The delivery of an event to one endpoint.
#[derive(Deserialize, ToSchema)]
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
#[derive(Deserialize, ToSchema)]
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

/// Response to a redelivery request.
#[derive(Deserialize, ToSchema)]
pub struct RedeliverWebhookResponse {
    /// Always true on success.
    pub success: bool,
    /// Endpoint of the redelivery.
    pub webhook_id: String,
    /// Delivery that is repeated; null with `since`.
    #[schema(required)]
    pub delivery_id: Option<String>,
    /// Start of the redelivered period; null for one delivery.
    #[schema(required)]
    pub since: Option<String>,
}
