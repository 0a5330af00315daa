//! Announcements to operators: something new waits in one of their queues. Each is a row, so that the operators' webhook
//! gets it at least once across restarts, and every time under the same id.

use purser_storage::codec::Stored;

use crate::id::EventId;
use crate::time::Timestamp;

/// An announcement.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Announcement {
    /// Id of the message, the same on every attempt.
    pub id: EventId,
    /// Name of the queue.
    pub queue: String,
    /// Id of the item in the queue, or name of the line.
    pub item: String,
    /// Time since which the item waits.
    pub since: Option<Timestamp>,
    /// Time at which it was noticed.
    pub at: Timestamp,
    /// Whether it still waits. While it does, it is not announced again.
    pub waits: bool,
    /// Attempts that have ended.
    pub attempts: u32,
    /// Whether it has been delivered.
    pub delivery: AnnouncementDelivery,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
}

/// Status of an announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum AnnouncementDelivery {
    /// An attempt is due at this time.
    Pending(Timestamp),
    /// Accepted at this time.
    Delivered(Timestamp),
    /// The last attempt failed at this time.
    Failed(Timestamp),
}

impl AnnouncementDelivery {
    /// Every name.
    pub const NAMES: [&'static str; 3] = ["pending", "delivered", "failed"];

    /// Name in API documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending(_) => "pending",
            Self::Delivered(_) => "delivered",
            Self::Failed(_) => "failed",
        }
    }
}

impl Stored for Announcement {
    const SCHEMA: u16 = 284;
}
