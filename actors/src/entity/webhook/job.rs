//! Jobs of webhook endpoints.

use crate::id::WebhookId;
use crate::jobs::{JobPolicy, LineDependency, Queue, jobs};
use crate::port::Timestamp;

jobs! { Webhook:
    /// Redeliver the events that an endpoint has not received.
    41 RedeliverWebhooks {
        /// Endpoint that gets them.
        endpoint: WebhookId,
        /// Events since this time are redelivered.
        since: Timestamp,
        /// Last sequence number to redeliver.
        upto: u64,
    } = "redeliver_webhooks" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}
