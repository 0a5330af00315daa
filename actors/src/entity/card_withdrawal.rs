//! A withdrawal from a balance at the card issuer, which an operator pays by hand.
//!
//! ```text
//! pending --issuer places a hold-> queued --an operator claims it--> claimed --paid, with its transaction--> COMPLETE
//!    |                               |  ^------an operator releases it--'  |
//!    `--issuer declines-> FAILED     `--operator--> REJECTED <-------------'  the issuer releases the hold
//! ```
//!
//! It is not a withdrawal from an account: no ledger account holds the money and our treasury signs nothing. From
//! `queued` on the issuer holds the amount, so nothing else can spend it. At both ends the issuer is asked to end the
//! hold; that job is never dropped. A claim is a numbered lease, as with international orders. While it is claimed the
//! money may be on its way, so only the current lease holder may report that it was paid.
//!
//! A restored backup may offer again a withdrawal that was decided after it. The issuer is therefore asked before a
//! claim or rejection. If the hold has ended there, the withdrawal ends here too, as paid or released as the issuer
//! reports, and is not paid again.

mod job;
mod machine;

use purser_storage::codec::Stored;

pub use self::job::Job;
pub use crate::entity::reloadable_card::INSUFFICIENT;
use crate::id::{JobId, Wallet};
use crate::lease::{LeaseError, LeaseHolder};
use crate::money::Cents;
use crate::operator::AuditedAction;
use crate::port::{ExternalText, Timestamp};

/// Reason shown to the account owner if the hold was released in a lost history.
pub const HOLD_RELEASED_REASON: &str = "The card issuer had released it before the service was restored from a backup.";

/// State of a withdrawal from a card balance.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CardWithdrawal {
    /// Account that owns it.
    pub owner: Wallet,
    /// Deposit address that identifies the balance.
    pub account: [u8; 20],
    /// Wallet that receives the money.
    pub to: Wallet,
    /// Amount in US cents.
    pub amount: Cents,
    /// Time of the request.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// The issuer's key of the hold, from `queued` on.
    pub hold_key: Option<JobId>,
    /// Number of the last lease; 0 before the first.
    pub lease: u64,
    /// Whether the issuer has ended the hold.
    pub settled: bool,
    /// Status, from the hold at the issuer to the payment.
    pub status: Status,
}

/// Status of a card withdrawal.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// The issuer is asked to place a hold.
    Pending,
    /// Waits for an operator.
    Queued,
    /// Claimed by an operator; `None` once the lease has expired.
    Claimed(Option<LeaseHolder>),
    /// An operator paid it.
    Complete {
        /// The operator's reference of the payment.
        transaction: String,
    },
    /// An operator rejected it; the issuer releases the hold.
    Rejected {
        /// Reason given by the operator.
        reason: String,
    },
    /// The issuer placed no hold.
    Failed {
        /// [`INSUFFICIENT`] or the issuer's reason.
        reason: ExternalText,
    },
    /// The issuer had already ended the hold, in a history that a restore lost.
    ClosedAtIssuer {
        /// Whether it was paid out; if not, the hold was released to the balance.
        paid: bool,
    },
}

/// Commands to a card withdrawal.
#[derive(Clone, Debug)]
pub enum Command {
    /// The account owner requests it.
    Request {
        /// Account that owns it; an account at the issuer must be linked.
        owner: Wallet,
        /// Deposit address of that account.
        account: [u8; 20],
        /// Wallet that receives the money.
        to: Wallet,
        /// Amount in US cents.
        amount: Cents,
    },
    /// The issuer placed the hold.
    RecordHold {
        /// Key of the hold at the issuer.
        job: JobId,
    },
    /// The issuer declined definitely.
    RecordDecline {
        /// Key of the hold at the issuer.
        job: JobId,
        /// [`INSUFFICIENT`] or the issuer's reason.
        reason: ExternalText,
    },
    /// The issuer had placed a hold under this key that has ended since.
    RecordClosedAtIssuer {
        /// Key of the hold at the issuer.
        job: JobId,
        /// Whether the money was paid out.
        paid: bool,
    },
    /// The same, found before an operator's decision.
    RecordClosedOnReview {
        /// Operator action for the audit log.
        act: AuditedAction,
        /// Whether the money was paid out.
        paid: bool,
    },
    /// An operator claims it.
    Claim {
        /// Operator action for the audit log.
        act: AuditedAction,
        /// Duration of the lease in milliseconds.
        life_ms: u64,
    },
    /// An operator releases it: it is not paid.
    Release {
        /// Operator action for the audit log.
        act: AuditedAction,
        /// Number of the last lease.
        lease: u64,
    },
    /// The lease holder extends the claim by a new lease.
    Renew {
        /// Operator action for the audit log.
        act: AuditedAction,
        /// Number of the operator's lease.
        lease: u64,
        /// Duration of the new lease in milliseconds.
        life_ms: u64,
    },
    /// The lease holder reports the payment.
    Fulfil {
        /// Operator action for the audit log.
        act: AuditedAction,
        /// Number of the operator's lease.
        lease: u64,
        /// Reference of the payment; each pays one withdrawal only.
        transaction: String,
    },
    /// An operator rejects it.
    Reject {
        /// Operator action for the audit log.
        act: AuditedAction,
        /// Number of the operator's lease, if the order is claimed.
        lease: Option<u64>,
        /// Reason shown to the account owner.
        reason: String,
    },
    /// A lease expired.
    ExpireLease {
        /// Scheduled job that triggers it.
        job: JobId,
        /// Number of the lease that ended.
        lease: u64,
    },
    /// The lease holder is no operator any more.
    EndLease {
        /// Number of the lease.
        lease: u64,
    },
    /// The issuer has ended the hold.
    RecordHoldSettled {
        /// Job that requested it.
        job: JobId,
    },
}

/// Events of a card withdrawal.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Requested by the account owner.
    Requested {
        /// Account that owns it.
        owner: Wallet,
        /// Deposit address that identifies the balance.
        account: [u8; 20],
        /// Wallet that receives the money.
        to: Wallet,
        /// Amount in US cents.
        amount: Cents,
        /// Time of the event.
        at: Timestamp,
    },
    /// The issuer placed a hold under this key.
    Held(JobId, Timestamp),
    /// The issuer declined.
    Declined(ExternalText, Timestamp),
    /// An operator claimed it under a new lease.
    Claimed(LeaseHolder, Timestamp),
    /// The lease expired, or its holder is no operator any more.
    LeaseExpired(Timestamp),
    /// An operator released it.
    Released(Timestamp),
    /// An operator paid it; the reference.
    Fulfilled(String, Timestamp),
    /// An operator rejected it.
    Rejected(String, Timestamp),
    /// The issuer ended the hold.
    HoldSettled {
        /// Whether the amount was released to the balance.
        released: bool,
        /// Time of the event.
        at: Timestamp,
    },
    /// The issuer had ended the hold in a history that a restore lost.
    ClosedAtIssuer {
        /// Key of the hold at the issuer.
        key: JobId,
        /// Whether the money was paid out.
        paid: bool,
        /// Time when that was found.
        at: Timestamp,
    },
}

crate::state_machine! { CardWithdrawal, Event;
    states {
        Pending = "pending", Queued = "queued", Claimed = "claimed", Complete = "complete", Rejected = "rejected",
        Failed = "failed",
    }
    events {
        Requested "pending" { - => Pending: "request by the account owner" }
        Held "queued" { Pending => Queued: "hold at the issuer" }
        Declined "failed" { Pending => Failed: "decline by the issuer" }
        Claimed "claimed" { Queued => Claimed: "claim by an operator", Claimed }
        // For the account owner nothing has changed.
        LeaseExpired - { Claimed }
        Released "queued" { Claimed => Queued: "release by the operator" }
        Fulfilled "complete" { Claimed => Complete: "payment by the lease holder" }
        Rejected "rejected" {
            Queued => Rejected: "rejection by an operator",
            Claimed => Rejected: "rejection by the lease holder",
        }
        HoldSettled (name_by_data: "hold_released") { Complete | Rejected }
        ClosedAtIssuer (name_by_data: "complete", "rejected") {
            Pending | Queued | Claimed => Complete: "hold already captured at the issuer (after a restore)",
            Pending | Queued | Claimed => Rejected: "hold already released at the issuer (after a restore)",
        }
    }
}

impl From<&CardWithdrawal> for State {
    fn from(withdrawal: &CardWithdrawal) -> Self {
        match withdrawal.status {
            Status::Pending => Self::Pending,
            Status::Queued => Self::Queued,
            Status::Claimed(_) => Self::Claimed,
            Status::Complete { .. } | Status::ClosedAtIssuer { paid: true } => Self::Complete,
            Status::Rejected { .. } | Status::ClosedAtIssuer { paid: false } => Self::Rejected,
            Status::Failed { .. } => Self::Failed,
        }
    }
}

/// Name that an event announces if it depends on its data.
fn name_by_data(event: &Event) -> Option<&'static str> {
    match event {
        Event::ClosedAtIssuer { paid: true, .. } => Some("complete"),
        Event::ClosedAtIssuer { paid: false, .. } => Some("rejected"),
        // A paid amount has been off the balance since the request.
        Event::HoldSettled { released: true, .. } => Some("hold_released"),
        _ => None,
    }
}

/// Reason why a card withdrawal rejects a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The current state does not allow the command.
    InvalidState(&'static str),
    /// The operator does not hold the current lease.
    Lease(LeaseError),
    /// The issuer had ended the hold in a history that a restore lost.
    ClosedAtIssuer {
        /// Whether it was paid out; if not, the hold was released to the balance.
        paid: bool,
    },
    /// The issuer has no hold for it.
    HoldMissing,
    /// Its owner's account is frozen: it cannot be paid before the account is unfrozen.
    Frozen,
}

impl From<LeaseError> for Rejection {
    fn from(not: LeaseError) -> Self {
        Self::Lease(not)
    }
}

impl Stored for CardWithdrawal {
    const SCHEMA: u16 = 150;
}

impl Stored for Event {
    const SCHEMA: u16 = 151;
}

impl CardWithdrawal {
    /// Last lease holder, while the order is claimed and the lease's expiry is not recorded.
    pub const fn holder(&self) -> Option<&LeaseHolder> {
        match &self.status {
            Status::Claimed(Some(holder)) => Some(holder),
            _ => None,
        }
    }

    /// Whether an operator still has to decide.
    pub const fn is_open(&self) -> bool {
        matches!(self.status, Status::Queued | Status::Claimed(_))
    }

    /// Whether it was paid, once it has ended with a hold.
    pub const fn is_paid(&self) -> Option<bool> {
        match self.status {
            Status::Complete { .. } => Some(true),
            Status::Rejected { .. } => Some(false),
            Status::ClosedAtIssuer { paid } => Some(paid),
            _ => None,
        }
    }
}
