//! An event on its way to one endpoint.
//!
//! ```text
//! pending --2xx--> delivered
//!    |  |`--the last try failed, or 410--> failed         whatever has ended may be asked for again: pending
//!    |  `---nobody is there any more-----> dropped
//! ```
//!
//! Its id follows from event and endpoint, so that there is one, whoever asks and however often. What is posted is read from
//! the journal when it is: nothing of it is kept here. Each asking is a round; what an earlier round has left to do ends
//! without a word, and a late success of it still counts.

mod machine;

use purser_storage::codec::Stored;

use crate::id::{EventId, JobId, Wallet, WebhookId};
use crate::operator::AuditedAction;
use crate::port::{ExternalText, Timestamp};

/// A delivery.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WebhookDelivery {
    /// Whose.
    pub owner: Wallet,
    /// What, and to whom.
    pub message: WebhookMessage,
    /// When it was first asked for.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// How often it was asked for.
    pub redelivery_count: u32,
    /// Failed tries of this round.
    pub failed: u32,
    /// Tries of all rounds.
    pub attempt_count: u32,
    /// The last of them, oldest first, at most [`Delivery::ATTEMPTS_MAX`].
    pub attempts: Vec<DeliveryAttempt>,
    /// Where it stands.
    pub status: Status,
}

/// What is delivered, and to whom.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct WebhookMessage {
    /// To whom.
    pub endpoint: WebhookId,
    /// The event.
    pub event: EventId,
    /// Its type.
    pub kind: String,
    /// Its place among its account's events: a cursor of the store.
    pub seq: u64,
    /// When it happened.
    pub happened_at: Timestamp,
}

/// A try.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct DeliveryAttempt {
    /// When it began.
    pub at: Timestamp,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// The status that was answered, if one was.
    pub status: Option<u16>,
    /// Why there is none, or what else is wrong.
    pub error: Option<ExternalText>,
    /// The beginning of what was answered, with long numbers hidden.
    pub excerpt: Option<ExternalText>,
}

/// Why nothing is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum DroppedReason {
    /// Its endpoint is disabled.
    Disabled,
    /// Its endpoint is deleted.
    Deleted,
    /// The event is no longer kept.
    Expired,
}

impl DroppedReason {
    /// On the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disabled => "endpoint_disabled",
            Self::Deleted => "endpoint_deleted",
            Self::Expired => "event_expired",
        }
    }
}

/// Where a delivery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// It is tried, now or then.
    Pending {
        /// Not before this.
        next_at: Timestamp,
    },
    /// The receiver has it.
    Delivered,
    /// It was tried often enough.
    Failed,
    /// It was given up without a try.
    Dropped(DroppedReason),
}

/// What a try came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptResult {
    /// 2xx.
    Delivered,
    /// Try again then.
    Retry(Timestamp),
    /// No more.
    GiveUp,
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The event is for the endpoint. Once more changes nothing.
    Create {
        /// Whose.
        owner: Wallet,
        /// What, and to whom.
        message: WebhookMessage,
    },
    /// Somebody wants it posted again.
    Redeliver {
        /// Though the receiver has it, or is being tried.
        force: bool,
        /// The operator who wants it, if it is not its owner.
        by: Option<AuditedAction>,
    },
    /// A try ended.
    RecordAttempt {
        /// The effect.
        job: JobId,
        /// Its round.
        round: u32,
        /// How it went.
        attempt: DeliveryAttempt,
        /// What follows.
        verdict: AttemptResult,
    },
    /// Not now: nothing was tried.
    Defer {
        /// The effect.
        job: JobId,
        /// Its round.
        round: u32,
        /// When.
        at: Timestamp,
    },
    /// There is nobody to post it to, or nothing to post.
    Drop {
        /// The effect.
        job: JobId,
        /// Its round.
        round: u32,
        /// Why.
        reason: DroppedReason,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// To be posted.
    Created {
        /// Whose.
        owner: Wallet,
        /// What, and to whom.
        message: WebhookMessage,
        /// When.
        at: Timestamp,
    },
    /// To be posted again.
    Reopened(Timestamp),
    /// The receiver has it.
    Delivered(DeliveryAttempt),
    /// A try failed; the next is then. A try of an earlier round has none.
    AttemptFailed(DeliveryAttempt, Option<Timestamp>),
    /// The last try failed.
    Failed(DeliveryAttempt),
    /// Given up without a try.
    Dropped(DroppedReason, Timestamp),
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// There is no such delivery.
    NotFound,
}

impl Stored for WebhookDelivery {
    const SCHEMA: u16 = 232;
}

impl Stored for Event {
    const SCHEMA: u16 = 233;
}

impl WebhookDelivery {
    /// Tries that are kept, so that the row stays within its bounds however often somebody asks again.
    pub const MAX_STORED_ATTEMPTS: usize = 10;
}
