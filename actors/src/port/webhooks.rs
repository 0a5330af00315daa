//! Port that posts events to webhook endpoints.

use super::{BoxFuture, ExternalText, PortError, Timestamp};
use crate::id::EventId;

/// An event to post.
#[derive(Clone, Debug)]
pub struct WebhookPostRequest<'a> {
    /// URL of the endpoint.
    pub url: &'a str,
    /// Signing secrets, newest first: each sealed record of the vault with its number.
    pub secrets: Vec<(u128, Vec<u8>)>,
    /// Id of the event and of the webhook message, the same on every attempt.
    pub event: EventId,
    /// Time of the attempt, by the service's clock. A signature uses the wall clock instead.
    pub at: Timestamp,
    /// The event envelope, as JSON text.
    pub body: &'a str,
}

/// The endpoint's response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookResponse {
    /// HTTP status. Redirects are not followed.
    pub status: u16,
    /// Pause that the endpoint requests, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Start of the response body, with long numbers hidden.
    pub excerpt: Option<ExternalText>,
}

/// Why there is no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookPostError {
    /// The endpoint failed, or its address is blocked. The text is shown to the endpoint's owner.
    Failed(&'static str),
    /// Our own fault: no attempt was made.
    Internal(PortError),
}

/// Posts events to webhook endpoints.
pub trait WebhookSender: Send + Sync {
    /// Signs and posts. The endpoint may have received the event whatever this returns.
    fn post<'a>(&'a self, posting: WebhookPostRequest<'a>) -> BoxFuture<'a, Result<WebhookResponse, WebhookPostError>>;
}
