//! Endpoints that events are posted to, and what was posted.

use serde::Deserialize;
use utoipa::ToSchema;

/// A registered endpoint, with its secret.
#[derive(Deserialize, ToSchema)]
pub struct RegisterWebhookResponse {
    /// True.
    pub registered: bool,
    /// `wh_…`.
    pub webhook_id: String,
    /// Where events are posted to.
    pub url: String,
    /// What it wants to hear of; empty for everything.
    pub types: Vec<String>,
    /// `whsec_…`, base64 of 32 bytes. Null, with the reason beside it, in the answer to a key whose secret was replaced since.
    #[schema(required)]
    pub secret: Option<String>,
    /// Null, or why there is no `secret`: `secret_replaced`.
    #[schema(required)]
    pub secret_withheld: Option<String>,
    /// How messages are signed.
    pub signing: WebhookSigning,
}

/// How messages are signed.
#[derive(Deserialize, ToSchema)]
pub struct WebhookSigning {
    /// `standard-webhooks`.
    pub scheme: String,
    /// `hmac-sha256`.
    pub algorithm: String,
    /// `v1`: what each signature begins with, before a comma.
    pub signature_version: String,
    /// What is signed.
    pub signed_content: String,
    /// The headers of a message.
    pub headers: Vec<String>,
}

/// One endpoint, or all.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum GetWebhookResponse {
    /// With `webhook_id`.
    One(WebhookResponse),
    /// Without.
    All(WebhookList),
}

/// One endpoint.
#[derive(Deserialize, ToSchema)]
pub struct WebhookResponse {
    /// It.
    pub webhook: Webhook,
}

/// The endpoints of the account.
#[derive(Deserialize, ToSchema)]
pub struct WebhookList {
    /// The oldest first.
    pub webhooks: Vec<Webhook>,
}

/// An endpoint, as its events tell it too.
#[derive(Deserialize, ToSchema)]
pub struct Webhook {
    /// `wh_…`.
    pub webhook_id: String,
    /// Where events are posted to.
    pub url: String,
    /// What it wants to hear of; empty for everything.
    pub types: Vec<String>,
    /// `active`, `disabled` or `deleted`.
    pub status: String,
    /// `gone`: it answered 410. `failing`: it only failed for too long.
    #[schema(required)]
    pub disabled_reason: Option<String>,
    /// Since when every try has failed.
    #[schema(required)]
    pub failing_since: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
}

/// An endpoint that is gone.
#[derive(Deserialize, ToSchema)]
pub struct DeleteWebhookResponse {
    /// True.
    pub deleted: bool,
    /// Which.
    pub webhook_id: String,
}

/// One delivery, or a page of them.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum WebhookDeliveriesResponse {
    /// With `delivery_id`.
    One(Box<WebhookDeliveryResponse>),
    /// Without.
    Page(WebhookDeliveryList),
}

/// One delivery.
#[derive(Deserialize, ToSchema)]
pub struct WebhookDeliveryResponse {
    /// It.
    pub delivery: WebhookDelivery,
}

/// A page of deliveries.
#[derive(Deserialize, ToSchema)]
pub struct WebhookDeliveryList {
    /// The newest first.
    pub deliveries: Vec<WebhookDelivery>,
    /// Whether the list goes on.
    pub has_more: bool,
    /// Where the next page begins.
    #[schema(required)]
    pub next_starting_after: Option<String>,
}

/// An event on its way to one endpoint.
#[derive(Deserialize, ToSchema)]
pub struct WebhookDelivery {
    /// `whd_…`.
    pub delivery_id: String,
    /// To whom.
    pub webhook_id: String,
    /// What: the `webhook-id` of the message.
    pub event_id: String,
    /// Its type.
    pub r#type: String,
    /// Its place among the events.
    pub seq: u64,
    /// `pending`, `delivered`, `failed` or `dropped`.
    pub status: String,
    /// `endpoint_disabled`, `endpoint_deleted` or `event_expired`.
    #[schema(required)]
    pub dropped_reason: Option<String>,
    /// When it is tried next.
    #[schema(required)]
    pub next_attempt_at: Option<String>,
    /// Tries so far.
    pub attempt_count: u64,
    /// The last ten of them, oldest first.
    pub attempts: Vec<WebhookAttempt>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub last_updated_at: String,
}

/// A try.
#[derive(Deserialize, ToSchema)]
pub struct WebhookAttempt {
    /// When it began.
    pub at: String,
    /// How long it took.
    pub duration_ms: u64,
    /// The status that was answered.
    #[schema(required)]
    pub status: Option<u64>,
    /// What was wrong.
    #[schema(required)]
    pub error: Option<String>,
    /// The beginning of the answer, with long numbers and long words hidden.
    #[schema(required)]
    pub response_excerpt: Option<String>,
}

/// What is posted again.
#[derive(Deserialize, ToSchema)]
pub struct RedeliverWebhookResponse {
    /// True.
    pub success: bool,
    /// To whom.
    pub webhook_id: String,
    /// Which delivery; null for all since a moment.
    #[schema(required)]
    pub delivery_id: Option<String>,
    /// Since when; null for one delivery.
    #[schema(required)]
    pub since: Option<String>,
}
