//! Jobs of webhook deliveries.

use crate::id::{WebhookDeliveryId, WebhookId};
use crate::jobs::{JobPolicy, LineDependency, Queue, jobs};

jobs! { WebhookDelivery:
    /// Post an event to a webhook endpoint.
    40 DeliverWebhook {
        /// Delivery to attempt.
        delivery: WebhookDeliveryId,
        /// Endpoint of the delivery.
        endpoint: WebhookId,
        /// Number of the delivery's round: a job of an earlier round ends without an event.
        round: u32,
    } = "deliver_webhook" => JobPolicy {
        line: LineDependency::None,
        outgoing: None,
        queue: Queue::Partition(|job| job.typed().map(|Job::DeliverWebhook { delivery: _, endpoint, round: _ }| endpoint.0)),
        operator: None,
    };
}
