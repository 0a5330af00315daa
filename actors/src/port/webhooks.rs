//! Posting events to the endpoints of an account.

use super::{BoxFuture, ExternalText, PortError, Timestamp};
use crate::id::EventId;

/// An event to be posted.
#[derive(Clone, Debug)]
pub struct WebhookPostRequest<'a> {
    /// Where.
    pub url: &'a str,
    /// What signs, the newest first: each record of the vault with its number.
    pub secrets: Vec<(u128, Vec<u8>)>,
    /// The event: its name is that of the message, the same on every try.
    pub event: EventId,
    /// When it is posted, by the service's clock. A signature carries the wall's instead.
    pub at: Timestamp,
    /// The envelope.
    pub body: &'a str,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookResponse {
    /// The HTTP status. No redirect is followed.
    pub status: u16,
    /// How long it asks to be left alone, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The beginning of the answer, with long numbers hidden.
    pub excerpt: Option<ExternalText>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookPostError {
    /// The receiver's doing, or its address is none that is called. In words that its owner may read.
    Failed(&'static str),
    /// Ours: it could not even be tried.
    Internal(PortError),
}

/// Posts events.
pub trait WebhookSender: Send + Sync {
    /// Signs and posts. The receiver may have it whatever this says.
    fn post<'a>(&'a self, posting: WebhookPostRequest<'a>) -> BoxFuture<'a, Result<WebhookResponse, WebhookPostError>>;
}
