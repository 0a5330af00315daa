//! The recovery of an account whose owner has lost every passkey, by signatures of the wallet that are made for this.
//!
//! ```text
//! - --the wallet asks--> waiting --24 hours--> ready --the wallet asks again--> completed
//!                           |                    |--7 days--------------------> expired
//!                           `--the owner---------'----------------------------> cancelled
//! ```
//!
//! An agent may have the wallet's key too. So nothing changes while the recovery waits, everybody with access sees it at
//! once, and the owner cancels it with any passkey that is not lost. At its end all passkeys from before are removed, and
//! all access from before ends.
//! An account has at most one recovery at a time; a new one follows one that has ended. While one runs there is a row,
//! by which a restore finds it: what the owner cancelled in the lost history must not go on.

mod access_cutoff;
mod machine;
mod view;

use purser_storage::codec::Stored;

pub use self::access_cutoff::AccessCutoff;
pub use self::view::RecoveryView;
use crate::entity::payment::SessionSeed;
use crate::id::{JobId, Wallet};
use crate::jobs::{JobPolicy, LineDependency, Queue, jobs};
use crate::named_enum::named_enum;
use crate::port::Timestamp;

/// How long the owner can cancel before anything changes, in milliseconds.
pub const WAIT_MS: u64 = 24 * 3_600_000;
/// How long the wallet can complete it after that, in milliseconds.
pub const READY_MS: u64 = 7 * 24 * 3_600_000;

/// State of a recovery.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Recovery {
    /// Account to recover.
    pub owner: Wallet,
    /// Time of the wallet's request.
    pub requested_at: Timestamp,
    /// End of the wait.
    pub ready_at: Timestamp,
    /// Time until which the wallet can complete it.
    pub expires_at: Timestamp,
    /// Time of the end, if it has ended.
    pub ended_at: Option<Timestamp>,
    /// Why it was cancelled, if it was.
    pub cancelled_by: Option<CancelledBy>,
    /// Status of the recovery.
    pub status: Status,
}

/// Status of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// The owner can still cancel it, and the wallet cannot complete it yet.
    Waiting,
    /// The wallet can complete it.
    Ready,
    /// The passkeys from before are removed.
    Completed,
    /// It changed nothing.
    Cancelled,
    /// The wallet did not complete it in time.
    Expired,
}

named_enum! {
    /// What ended a recovery. Stored numbers: never reuse one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
    pub enum CancelledBy {
        /// The owner, with a passkey.
        Owner = "owner",
        /// A restore: the owner may have cancelled it in the lost history.
        Restore = "restore",
        /// A freeze of the account: the owner cannot cancel it meanwhile.
        Freeze = "freeze",
    }
}

/// Commands to a recovery.
#[derive(Clone, Debug)]
pub enum Command {
    /// The wallet asks, with a signature for this purpose.
    Request {
        /// Nonce that was signed, and the second from which it is expired anyway.
        nonce: ([u8; 16], u64),
    },
    /// Ends the wait, or the time to complete it, if that is over.
    Continue {
        /// Job that is due.
        job: JobId,
    },
    /// The wallet asks again, after the wait.
    Complete {
        /// Nonce that was signed, and the second from which it is expired anyway.
        nonce: ([u8; 16], u64),
        /// Session of the wallet, from which the owner's link comes.
        session: SessionSeed,
    },
    /// Ends it without a change.
    Cancel(CancelledBy),
    /// The passkeys from before are removed.
    RecordPasskeysRemoved {
        /// Job that removed them.
        job: JobId,
    },
}

/// Events of a recovery.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The wallet asked for it.
    Requested(Timestamp),
    /// The wait is over.
    Ready(Timestamp),
    /// The wallet completed it.
    Completed(Timestamp),
    /// It was cancelled.
    Cancelled(CancelledBy, Timestamp),
    /// The wallet did not complete it in time.
    Expired(Timestamp),
}

crate::state_machine! { Recovery, Status, Event;
    states {
        Waiting = "waiting", Ready = "ready", Completed = "completed", Cancelled = "cancelled", Expired = "expired",
    }
    events {
        Requested "requested" {
            - => Waiting: "request that the wallet signed for this purpose",
            Completed => Waiting: "another request",
            Cancelled => Waiting: "another request",
            Expired => Waiting: "another request",
        }
        Ready "ready" { Waiting => Ready: "24 hours" }
        Completed "completed" { Ready => Completed: "second request that the wallet signed" }
        Cancelled "cancelled" {
            Waiting => Cancelled: "the owner's passkey, a restore, or a freeze of the account",
            Ready => Cancelled: "the owner's passkey, a restore, or a freeze of the account",
        }
        Expired "expired" { Ready => Expired: "7 days" }
    }
}

jobs! { Recovery:
    /// End the wait of a recovery, or the time to complete it.
    70 ContinueRecovery(account: Wallet) = "continue_recovery" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Remove the passkeys from before a completed recovery.
    71 RemoveLostPasskeys {
        /// Account with the passkeys.
        account: Wallet,
        /// Passkeys added until then are removed.
        until: Timestamp,
    } = "remove_lost_passkeys" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}

/// Reason why a recovery rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// None is in progress.
    NotFound,
    /// The wait is not over, or it ended otherwise.
    NotReady,
}

impl Stored for Recovery {
    const SCHEMA: u16 = 780;
}

impl Stored for Event {
    const SCHEMA: u16 = 781;
}

impl Recovery {
    /// Whether it can still end with the removal of the passkeys.
    pub const fn is_open(&self) -> bool {
        matches!(self.status, Status::Waiting | Status::Ready)
    }

    /// Whether the wallet can complete it now.
    pub fn is_ready(&self, now: Timestamp) -> bool {
        self.status == Status::Ready && now < self.expires_at
    }
}
