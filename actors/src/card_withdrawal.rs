//! Money taken back from a balance at the card issuer: an operator pays it out by hand.
//!
//! ```text
//! pending --issuer sets it aside--> queued --an operator claims it--> claimed --paid, with its transaction--> COMPLETE
//!    |                               |  ^------an operator releases it--'  |
//!    `--issuer refuses--> FAILED     `--operator--> REJECTED <-------------'  the issuer puts it back
//! ```
//!
//! It is no withdrawal from an account: no balance of ours holds it and our treasury signs nothing. From `queued` on the
//! amount is set aside at the issuer, so that nothing else can spend it; both ends have the issuer end that, which is not
//! given up. A claim is a numbered lease, as with international orders: while it is claimed the money may be on its way, so
//! that only the operator whose lease runs may say that it was paid.
//!
//! A restored backup may offer again what was decided after it. Whoever would claim or reject it therefore has the issuer
//! asked first: what has ended there is over here too, paid or put back as the issuer says, and nobody pays it again.

mod machine;

use purser_storage::codec::Stored;

use crate::id::{JobId, Wallet};
use crate::lease::{LeaseError, LeaseHolder};
use crate::money::Cents;
use crate::operator::AuditedAction;
use crate::port::{ExternalText, Timestamp};
pub use crate::reloadable_card::INSUFFICIENT;

/// What the holder is told of one that was put back in a history that was lost.
pub const HOLD_RELEASED_REASON: &str = "The card issuer had put it back before the service was restored from a backup.";

/// A withdrawal from a card balance.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CardWithdrawal {
    /// Whose.
    pub owner: Wallet,
    /// The balance, by its deposit address.
    pub account: [u8; 20],
    /// Who receives it.
    pub to: Wallet,
    /// How much.
    pub amount: Cents,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The issuer's name of what is set aside, from `queued` on.
    pub hold_key: Option<JobId>,
    /// The number of the last lease; 0 before the first.
    pub lease: u64,
    /// Whether the issuer has ended the reservation.
    pub settled: bool,
    /// Where it stands.
    pub status: Status,
}

/// Where it stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// The issuer is asked to set it aside.
    Pending,
    /// Waits for an operator.
    Queued,
    /// An operator works on it; nobody once the lease has ended.
    Claimed(Option<LeaseHolder>),
    /// Paid.
    Complete {
        /// The operator's word for where it can be seen.
        transaction: String,
    },
    /// An operator refused it; the issuer puts it back.
    Rejected {
        /// The operator's words.
        reason: String,
    },
    /// The issuer set nothing aside.
    Failed {
        /// [`INSUFFICIENT`], or the issuer's word.
        reason: ExternalText,
    },
    /// The issuer had ended it already, in a history that a restore lost.
    ClosedAtIssuer {
        /// Whether it was paid out; if not, it is the balance's again.
        paid: bool,
    },
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The holder wants it.
    Request {
        /// Whose; an account at the issuer must be linked.
        owner: Wallet,
        /// That account's deposit address.
        account: [u8; 20],
        /// Who receives it.
        to: Wallet,
        /// How much.
        amount: Cents,
    },
    /// The issuer has set it aside.
    RecordHold {
        /// The reservation's key.
        job: JobId,
    },
    /// The issuer definitely refused.
    RecordDecline {
        /// The reservation's key.
        job: JobId,
        /// [`INSUFFICIENT`], or the issuer's word.
        reason: ExternalText,
    },
    /// The issuer had set it aside under this key, and that has ended since.
    RecordClosedAtIssuer {
        /// The reservation's key.
        job: JobId,
        /// Whether it was paid out.
        paid: bool,
    },
    /// The same, found when an operator was about to decide.
    RecordClosedOnReview {
        /// Who.
        act: AuditedAction,
        /// Whether it was paid out.
        paid: bool,
    },
    /// An operator takes it.
    Claim {
        /// Who.
        act: AuditedAction,
        /// For how long, in milliseconds.
        life_ms: u64,
    },
    /// An operator puts it back: it is not paid.
    Release {
        /// Who.
        act: AuditedAction,
        /// The last lease's number.
        lease: u64,
    },
    /// The operator who holds it has paid.
    Fulfil {
        /// Who.
        act: AuditedAction,
        /// The number of the operator's lease.
        lease: u64,
        /// Where it can be seen; each pays one withdrawal only.
        transaction: String,
    },
    /// An operator refuses it.
    Reject {
        /// Who.
        act: AuditedAction,
        /// The number of the operator's lease, if it is claimed.
        lease: Option<u64>,
        /// For the holder.
        reason: String,
    },
    /// A lease's time is up.
    ExpireLease {
        /// The timer that says so.
        job: JobId,
        /// Which lease.
        lease: u64,
    },
    /// The issuer has ended the reservation.
    RecordHoldSettled {
        /// The effect that asked for it.
        job: JobId,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Asked for.
    Requested {
        /// Whose.
        owner: Wallet,
        /// The balance, by its deposit address.
        account: [u8; 20],
        /// Who receives it.
        to: Wallet,
        /// How much.
        amount: Cents,
        /// When.
        at: Timestamp,
    },
    /// Set aside under this key.
    Held(JobId, Timestamp),
    /// The issuer refused.
    Declined(ExternalText, Timestamp),
    /// An operator took it: a new lease.
    Claimed(LeaseHolder, Timestamp),
    /// The lease ended by itself.
    LeaseExpired(Timestamp),
    /// An operator put it back.
    Released(Timestamp),
    /// Paid.
    Fulfilled(String, Timestamp),
    /// An operator refused it.
    Rejected(String, Timestamp),
    /// The issuer has ended the reservation.
    HoldSettled {
        /// Whether the amount is on the balance again.
        released: bool,
        /// When.
        at: Timestamp,
    },
    /// The issuer had ended the reservation in a history that was lost.
    ClosedAtIssuer {
        /// The reservation's key.
        key: JobId,
        /// Whether it was paid out.
        paid: bool,
        /// When that was found.
        at: Timestamp,
    },
}

/// Why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// This state takes no such command.
    InvalidState(&'static str),
    /// It is not this operator's.
    Lease(LeaseError),
    /// The issuer had ended the reservation in a history that was lost.
    ClosedAtIssuer {
        /// Whether it was paid out; if not, it is the balance's again.
        paid: bool,
    },
    /// The issuer knows of nothing that was set aside for it.
    HoldMissing,
    /// Its owner is frozen: nobody pays it until the account is thawed.
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
    /// Who held it last, while it is claimed and the end of the lease is not told.
    pub const fn holder(&self) -> Option<&LeaseHolder> {
        match &self.status {
            Status::Claimed(Some(holder)) => Some(holder),
            _ => None,
        }
    }

    /// Whether an operator has still to decide.
    pub const fn is_open(&self) -> bool {
        matches!(self.status, Status::Queued | Status::Claimed(_))
    }

    /// Whether it was paid, once it has ended with something set aside.
    pub const fn is_paid(&self) -> Option<bool> {
        match self.status {
            Status::Complete { .. } => Some(true),
            Status::Rejected { .. } => Some(false),
            Status::ClosedAtIssuer { paid } => Some(paid),
            _ => None,
        }
    }
}
