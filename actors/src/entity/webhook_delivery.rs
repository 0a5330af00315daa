//! Delivery of one event to one webhook endpoint.
//!
//! ```text
//! pending --2xx--> delivered
//!    |  |`--last attempt failed, or 410--> failed         any ended delivery can be redelivered: pending
//!    |  `---endpoint or event is gone----> dropped
//! ```
//!
//! The delivery id is derived from event and endpoint, so there is one delivery however often it is requested. The
//! event is read from the journal when it is posted; its body is not stored here. Each redelivery is a new round. Jobs
//! of an earlier round end without an event, but a late success still counts.

mod job;
mod machine;
mod view;

pub use self::view::{WebhookAttemptView, WebhookDeliveryView};
use purser_storage::codec::Stored;

use crate::id::{EventId, JobId, Wallet, WebhookId};
use crate::operator::AuditedAction;
use crate::port::{ExternalText, Timestamp};

pub use self::job::Job;

/// State of a webhook delivery.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WebhookDelivery {
    /// Account that owns it.
    pub owner: Wallet,
    /// Event and endpoint of the delivery.
    pub message: WebhookMessage,
    /// Time of the first request.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Number of redeliveries requested.
    pub redelivery_count: u32,
    /// Failed attempts of this round.
    pub failed: u32,
    /// Attempts of all rounds.
    pub attempt_count: u32,
    /// Latest attempts, oldest first; at most [`WebhookDelivery::MAX_STORED_ATTEMPTS`].
    pub attempts: Vec<DeliveryAttempt>,
    /// Whether the message has been delivered.
    pub status: Status,
}

/// Event and endpoint of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WebhookMessage {
    /// Endpoint that receives it.
    pub endpoint: WebhookId,
    /// Id of the event.
    pub event: EventId,
    /// Type of the delivered event.
    pub kind: String,
    /// Sequence number in the account's event stream; a cursor of the store.
    pub seq: u64,
    /// Time of the event.
    pub happened_at: Timestamp,
}

/// One POST to the endpoint.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct DeliveryAttempt {
    /// Time at which the attempt started.
    pub at: Timestamp,
    /// Duration in milliseconds.
    pub took_ms: u64,
    /// HTTP status of the response, if there was one.
    pub status: Option<u16>,
    /// Reason why there is no response, or what is wrong with it.
    pub error: Option<ExternalText>,
    /// Start of the response body; long numbers are redacted.
    pub excerpt: Option<ExternalText>,
}

/// Reason why nothing is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum DroppedReason {
    /// The endpoint is disabled.
    Disabled,
    /// The endpoint was deleted.
    Deleted,
    /// The event's retention has ended.
    Expired,
}

impl DroppedReason {
    /// Name in API documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disabled => "endpoint_disabled",
            Self::Deleted => "endpoint_deleted",
            Self::Expired => "event_expired",
        }
    }
}

crate::answer::serialize_as_name!(DroppedReason);

/// Status of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// An attempt is running or scheduled.
    Pending {
        /// Earliest time of the next attempt.
        next_at: Timestamp,
    },
    /// The endpoint accepted it.
    Delivered,
    /// All attempts failed.
    Failed,
    /// Dropped without an attempt.
    Dropped(DroppedReason),
}

/// Result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptResult {
    /// The endpoint responded with 2xx.
    Delivered,
    /// Retry at this time.
    Retry(Timestamp),
    /// No further attempts.
    GiveUp,
}

/// Commands to a webhook delivery.
#[derive(Clone, Debug)]
pub enum Command {
    /// Delivers the event to the endpoint. A repeated command changes nothing.
    Create {
        /// Account that owns it.
        owner: Wallet,
        /// Event and endpoint of the delivery.
        message: WebhookMessage,
    },
    /// The owner or an operator requests redelivery.
    Redeliver {
        /// Whether to redeliver even if it was delivered or an attempt is pending.
        force: bool,
        /// Operator action, if the request does not come from the owner.
        by: Option<AuditedAction>,
    },
    /// An attempt ended.
    RecordAttempt {
        /// Job that makes the attempt.
        job: JobId,
        /// Delivery round of the job.
        round: u32,
        /// The attempt's facts.
        attempt: DeliveryAttempt,
        /// What follows from the result.
        verdict: AttemptResult,
    },
    /// The job was rescheduled without an attempt.
    Defer {
        /// Job that makes the attempt.
        job: JobId,
        /// Delivery round of the job.
        round: u32,
        /// Time of the next attempt.
        at: Timestamp,
    },
    /// There is no endpoint or no event to post.
    Drop {
        /// Job that makes the attempt.
        job: JobId,
        /// Delivery round of the job.
        round: u32,
        /// Reason for dropping it.
        reason: DroppedReason,
    },
}

/// Events of a webhook delivery.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The first attempt is scheduled.
    Created {
        /// Account that owns it.
        owner: Wallet,
        /// Event and endpoint of the delivery.
        message: WebhookMessage,
        /// Time of the event.
        at: Timestamp,
    },
    /// A redelivery is scheduled.
    Reopened(Timestamp),
    /// The endpoint accepted it.
    Delivered(DeliveryAttempt),
    /// An attempt failed. The time is that of the next attempt; `None` for an attempt of an earlier round.
    AttemptFailed(DeliveryAttempt, Option<Timestamp>),
    /// The last attempt failed.
    Failed(DeliveryAttempt),
    /// Dropped without an attempt.
    Dropped(DroppedReason, Timestamp),
}

crate::state_machine! { WebhookDelivery, Status, Event;
    states { Pending = "pending", Delivered = "delivered", Failed = "failed", Dropped = "dropped" }
    events {
        Created - { - => Pending: "event that matches the subscription" }
        Reopened - { Pending, Delivered | Failed | Dropped => Pending: "redelivery request" }
        Delivered - { Pending => Delivered: "2xx response" }
        AttemptFailed - { Pending }
        Failed - { Pending => Failed: "failure of the last attempt, or 410 response" }
        Dropped - { Pending => Dropped: "removal of its endpoint or event" }
    }
}

/// Reason why a webhook delivery rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The delivery does not exist.
    NotFound,
}

impl Stored for WebhookDelivery {
    const SCHEMA: u16 = 232;
}

impl Stored for Event {
    const SCHEMA: u16 = 233;
}

impl WebhookDelivery {
    /// Maximum number of attempts stored, which bounds the row's size however often redelivery is requested.
    pub const MAX_STORED_ATTEMPTS: usize = 10;
}
