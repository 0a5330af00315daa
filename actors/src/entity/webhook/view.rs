//! An endpoint as its owner sees it.

use serde::Serialize;

use super::{DisabledReason, State};
use crate::answer::Time;
use crate::id::WebhookId;

/// A webhook endpoint, as in its events.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = Webhook))]
pub struct WebhookView<'a> {
    /// `wh_…` is the id of the endpoint.
    pub webhook_id: WebhookId,
    /// URL that receives events.
    pub url: &'a str,
    /// Event types that are sent; empty for all.
    pub types: &'a [String],
    /// `active`, `disabled` or `deleted`.
    pub status: State,
    /// `gone`: it answered 410. `failing`: all attempts failed for too long.
    #[cfg_attr(feature = "documents", schema(required))]
    pub disabled_reason: Option<DisabledReason>,
    /// Time since when all attempts have failed.
    #[cfg_attr(feature = "documents", schema(required))]
    pub failing_since: Option<Time>,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}
