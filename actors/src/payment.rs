//! A payment: one signed authorization and what becomes of it.
//!
//! ```text
//! claimed --prepared--> settling --chain says yes--> settled + FULFILLED (one batch)
//!    |                     |----chain says no---> declined --presented again--> settling
//!    |                     `----no answer-------> unknown --chain shows it--> settled + FULFILLED
//!    |                                               `--it never can land--> declined
//!    |                                            declined --chain shows it--> settled --credit--> CREDITED
//!    |                                            declined --it never can land--> REFUSED
//!    `--could not be sent, or the chain would refuse it--> released --presented again--> claimed
//! settling, unknown, declined --its transfer was taken in without it--> CREDITED, or not to its account: RESOLVED
//! FULFILLED or CREDITED --the chain has taken it back for good--> REVERSED
//! ```
//!
//! A settled payment that a reorganisation may still remove is not final: a row of the gate says so, from the batch that settles
//! it to the one that finds it final, and what rests on it does not leave.
//!
//! Nothing is sent before `settling` is durable, with the bytes that will be sent. A settled payment has exactly one
//! end: the product it was claimed for, or, when it lands after its caller was told of a refusal, a credit.

mod endings;
mod fulfil;
mod machine;
mod payment_id;
mod resolution;
mod resolved_preconditions;
mod view;

use purser_storage::RowKey;

pub use payment_id::{id_for_authorization, id_for_claim};
pub use resolution::{IncomingOutcome, Resolution};
pub use resolved_preconditions::ResolvedPreconditions;

use crate::id::{JobId, PaymentId, SessionId, Wallet};
use crate::kernel::job::CapReservation;
use crate::kernel::{EntityKind, table};
use crate::ledger::Charge;
use crate::money::{Cents, Usdc};
use crate::port::{Authorization, ChainStatus, Decline, Finality, PreparedTransaction, Timestamp};
use crate::product::{Purchase, PurchasedProduct};

/// A session to be opened when the payment is fulfilled; the tokens are made by whoever holds the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SessionSeed {
    /// Its id.
    pub id: SessionId,
    /// Hash of its first refresh token.
    pub first: [u8; 32],
    /// How long it can be refreshed, in milliseconds.
    pub life_ms: u64,
}

/// What is claimed: fixed for the payment's life.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Claim {
    /// Whose account it is a payment of: the payer's own, or of a managed wallet its owner's.
    pub account: Wallet,
    /// The signed payment, verified.
    pub authorization: Authorization,
    /// What it buys.
    pub purchase: Purchase,
    /// What that is worth in US dollars, fees apart, at the quoted rate.
    pub worth: Cents,
    /// What was read of the account for it.
    pub resolved: ResolvedPreconditions,
    /// Digest of the exact request: route and parameters in canonical form.
    pub request: [u8; 32],
    /// Opened for the caller whose claim won; of a payment that came again after it was released or declined, for the caller by
    /// whose presentation it is settled.
    pub session: SessionSeed,
    /// The account's reserved share.
    pub cap_reservation: CapReservation,
    /// When.
    pub at: Timestamp,
}

impl Claim {
    /// The request of a payment that a restored store took over from what its provider shows.
    pub const UNKNOWN: [u8; 32] = [0; 32];

    /// Whether the payment came with this request, as far as is known. Of one that was taken over nobody knows; whoever has it
    /// signed is told what it bought.
    pub fn is_for(&self, request: &[u8; 32]) -> bool {
        self.is_taken_over() || self.request == *request
    }

    /// Whether a restored store took it over as the payment for something else: what it was made for in full nobody knows.
    pub fn bought_other_product(&self, purchase: &Purchase) -> bool {
        let amount = |purchase: &Purchase| match purchase {
            Purchase::UsaCard { amount } => Some(*amount),
            _ => None,
        };
        self.is_taken_over() && (self.purchase.line(), amount(&self.purchase)) != (purchase.line(), amount(purchase))
    }

    /// Whether a restored store took it over: then its authorization is what the chain shows of it.
    pub fn is_taken_over(&self) -> bool {
        self.request == Self::UNKNOWN
    }
}

/// A payment's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Payment {
    /// See [`Claim`].
    pub claim: Claim,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Where it stands.
    pub status: Status,
}

/// Where a payment stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Nobody else can claim it; nothing was sent.
    Claimed,
    /// This is being sent, or was.
    Settling(PreparedTransaction),
    /// This was sent; the answer is not known.
    Unknown(PreparedTransaction),
    /// The chain refused this; it may still land until its validity ends.
    Declined(Decline, PreparedTransaction),
    /// It never was sent: the chain could not be reached. The same payment may claim again.
    Released,
    /// On chain, its product not possible any more: the credit is under way.
    Settled {
        /// The transaction.
        transaction: String,
    },
    /// The product exists.
    Fulfilled {
        /// The transaction.
        transaction: String,
        /// What was bought.
        product: PurchasedProduct,
    },
    /// The payer's balance holds the money.
    Credited {
        /// The transaction.
        transaction: String,
    },
    /// It can never land.
    Refused(Decline),
    /// It had landed, the chain has taken it back, and it can never land again: the loss is booked.
    Reversed {
        /// The transaction that is gone.
        transaction: String,
        /// What was bought; `None` if the balance was credited.
        product: Option<PurchasedProduct>,
    },
    /// Its transfer was taken in without it, and its account has nothing of it.
    Resolved {
        /// The transaction.
        transaction: String,
        /// Where the money went.
        resolution: Resolution,
    },
    /// It never was sent: the chain would have refused it. The same payment may claim again.
    DeclinedUnsent(Decline),
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The same payment came again with this request.
    Join {
        /// Digest of the request.
        request: [u8; 32],
        /// Opened if this is what sends it again after it was declined. `None` if it may not be sent again: the caller has no
        /// room, or the account is frozen.
        new_session: Option<SessionSeed>,
    },
    /// The bytes to send are ready.
    RecordPrepared(PreparedTransaction),
    /// It could not be sent and will not be.
    Release {
        /// The effect that gives up.
        job: JobId,
    },
    /// The chain would refuse it now: it is not sent.
    RecordDeclinedUnsent {
        /// The effect that was to send it.
        job: JobId,
        /// Why.
        decline: Decline,
    },
    /// The chain has it.
    RecordSettled {
        /// The effect that saw it.
        job: JobId,
        /// The transaction.
        transaction: String,
        /// How sure that is.
        finality: Finality,
    },
    /// The chain refused it.
    RecordDeclined {
        /// The effect that sent it.
        job: JobId,
        /// Why.
        decline: Decline,
    },
    /// It was sent and no answer came.
    RecordNoResponse {
        /// The effect that sent it.
        job: JobId,
    },
    /// The chain was read.
    RecordChainLookup {
        /// The effect that read.
        job: JobId,
        /// What it shows.
        lookup: ChainStatus,
        /// Whether its provider has an order for it already, which the history that a restore lost has sent.
        is_ordered: bool,
    },
    /// The account holds the credit.
    RecordCredit {
        /// The effect that says so.
        job: JobId,
    },
    /// The chain has it, and its transfer was taken in without it.
    RecordRestoreCredit {
        /// The effect that saw it.
        job: JobId,
        /// The transaction.
        transaction: String,
        /// What was decided about it.
        outcome: IncomingOutcome,
    },
    /// The account has admitted it again after a release.
    RecordReadmitted {
        /// The effect that says so.
        job: JobId,
        /// The new share.
        reservation: CapReservation,
        /// Opened for the caller who presented it.
        session: SessionSeed,
    },
    /// What the chain had shown is gone, and it can never land again.
    RecordReorg {
        /// The effect that has proved it.
        job: JobId,
    },
    /// No reorganisation removes it any more.
    RecordFinal {
        /// The effect that saw it.
        job: JobId,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The payment is ours to settle.
    Claimed(Box<Claim>),
    /// A restored store did not know it, and its provider shows what it bought.
    Adopted(Box<Claim>, String, PurchasedProduct),
    /// About to be sent.
    Settling(PreparedTransaction, Timestamp),
    /// No answer.
    BecameUnknown(Timestamp),
    /// Refused for now.
    Declined(Decline, Timestamp),
    /// Given back unsent.
    Released(Timestamp),
    /// Claimed again with a new share.
    Readmitted(CapReservation, SessionSeed, Timestamp),
    /// To be sent again.
    Resumed(SessionSeed, Timestamp),
    /// On chain.
    Settled(String, Timestamp),
    /// The product exists.
    Fulfilled(PurchasedProduct, Timestamp),
    /// The account holds the credit.
    Credited(Timestamp),
    /// The transfer was taken in without it, and the account is credited with it.
    CreditedAfterRestore(String, Timestamp),
    /// Can never land.
    Refused(Timestamp),
    /// Taken back by its chain, for good.
    Reversed(Timestamp),
    /// The transfer was taken in without it, and the account has nothing of it.
    Resolved(String, Resolution, Timestamp),
    /// Given back unsent, since the chain would have refused it.
    DeclinedUnsent(Decline, Timestamp),
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The payment is claimed for another request.
    DifferentRequest,
    /// The command does not fit the state it met.
    InvalidState(&'static str),
}

/// The reply to an accepted command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Done.
    Done,
    /// Wait for the outcome.
    AwaitOutcome,
    /// The account must admit it again first.
    Readmit,
}

/// What callers wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Bought.
    Fulfilled {
        /// What.
        product: PurchasedProduct,
        /// The transaction.
        transaction: String,
        /// The session opened for the caller of [`Claim::session`]; `None` for a managed wallet's payment.
        session: Option<SessionId>,
    },
    /// Paid, not bought, credited.
    Credited {
        /// How much.
        amount: Usdc,
        /// The transaction.
        transaction: String,
    },
    /// Paid, not bought, and not credited either.
    Resolved(Resolution),
    /// Not paid.
    Declined(Decline),
    /// Not known yet.
    Pending,
    /// Never sent; try again.
    Unavailable,
}

impl Payment {
    /// Where a payment is listed among what its account has: the newest comes first.
    pub fn list_key(owner: &Wallet, claimed: Timestamp, id: PaymentId) -> RowKey {
        table::owner_index_entry(owner, EntityKind::Payment, Timestamp(u64::MAX - claimed.0), id.0)
    }

    /// Whose account: who has what it buys, its credits and refunds, and whose caps and freeze hold for it.
    pub const fn account(&self) -> Wallet {
        self.claim.account
    }

    /// Whether a managed wallet paid: its owner has tokens, so none are made for whoever showed the payment.
    pub fn by_managed_wallet(&self) -> bool {
        self.payer() != self.account()
    }

    /// Who sent the money, as the chain shows it.
    pub const fn payer(&self) -> Wallet {
        self.claim.authorization.payer()
    }

    /// How much.
    pub const fn price(&self) -> Usdc {
        self.claim.authorization.value()
    }

    /// What was charged, and what of it the product is worth.
    pub fn charge(&self, id: PaymentId) -> Charge {
        let worth = Usdc::from_cents(self.claim.worth).unwrap_or(self.price());
        Charge::new(id, self.price(), worth)
    }

    /// The transaction, once it is on chain.
    pub fn transaction(&self) -> Option<&str> {
        match &self.status {
            Status::Settled { transaction }
            | Status::Fulfilled { transaction, .. }
            | Status::Credited { transaction }
            | Status::Resolved { transaction, .. } => Some(transaction),
            _ => None,
        }
    }

    /// Whether nothing can happen to it any more, unless its chain takes it back.
    pub const fn is_final(&self) -> bool {
        matches!(
            self.status,
            Status::Fulfilled { .. }
                | Status::Credited { .. }
                | Status::Refused(_)
                | Status::Reversed { .. }
                | Status::Resolved { .. }
        )
    }
}
