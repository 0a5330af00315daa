//! A payment: one signed payment authorization and its outcome.
//!
//! ```text
//! - --admitted--> claimed, or settling if its bytes were prepared before
//! claimed --prepared--> settling --chain confirms--> settled + FULFILLED (one batch)
//!    |                     |----chain declines-> declined --retried--> settling
//!    |                     `----no response-----> unknown --chain shows it--> settled + FULFILLED
//!    |                                               `--can never settle--> declined
//!    |                                            declined --chain shows it--> settled --credit--> CREDITED
//!    |                                            declined --can never settle--> REFUSED
//!    `--could not be sent, or the chain would decline it--> released --retried--> claimed
//! settling, unknown, declined --its transfer was recorded as a deposit--> CREDITED, or not to its account: RESOLVED
//! FULFILLED or CREDITED --reorged, can never settle again--> REVERSED
//! ```
//!
//! A settled payment that a reorg may still remove is not final. A gate row records this, from the batch that settles
//! it to the batch that finds it final. Anything that depends on it does not leave before.
//!
//! Nothing is sent before `settling` is durable, with the bytes that will be sent. Where a port prepares without asking
//! anybody ([`prepare_locally`](crate::port::Settlement::prepare_locally)), the claim's batch opens the payment as
//! `settling`. A settled payment has exactly one end: the product it was claimed for, or a credit if it settles after
//! its caller got a decline.

mod endings;
mod fulfil;
mod job;
mod machine;
mod payment_id;
mod resolution;
mod resolved_preconditions;
mod view;

pub use self::view::PaymentView;
use purser_storage::RowKey;

pub use payment_id::{id_for_authorization, id_for_claim};
pub use resolution::{IncomingOutcome, Resolution};
pub use resolved_preconditions::ResolvedPreconditions;

use crate::entity::account::CapReservation;
use crate::entity::card::CardPurchase;
use crate::entity::{Purchase, PurchasedProduct};
use crate::id::{ApiKeyId, JobId, PaymentId, SessionId, Wallet};
use crate::kernel::{Decision, EntityKind, table};
use crate::ledger::Charge;
use crate::money::{Cents, Usdc};
use crate::port::{Authorization, ChainStatus, Decline, Finality, PreparedTransaction, Timestamp};

pub use self::job::Job;

/// A session to open when the payment is fulfilled. The caller that holds the key creates the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SessionSeed {
    /// Id of the session.
    pub id: SessionId,
    /// Hash of the first refresh token.
    pub first: [u8; 32],
    /// How long the session can be refreshed, in milliseconds.
    pub life_ms: u64,
    /// API key whose token came with the payment. The session ends with it.
    pub presented_key: Option<ApiKeyId>,
}

/// The claimed payment: fixed until its end.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Claim {
    /// Account of the payment: the payer's, or for an agent wallet its owner's.
    pub account: Wallet,
    /// The verified payment authorization.
    pub authorization: Authorization,
    /// Product that the payment buys.
    pub purchase: Purchase,
    /// Value of the purchase in US dollars without fees, at the quoted rate.
    pub worth: Cents,
    /// Preconditions of the purchase, as read from the account.
    pub resolved: ResolvedPreconditions,
    /// Digest of the exact request: route and parameters in canonical form.
    pub request: [u8; 32],
    /// Session for the caller whose claim won. After a release or decline: for the caller whose retry settles the
    /// payment.
    pub session: SessionSeed,
    /// Reservation in the account's daily caps.
    pub cap_reservation: CapReservation,
    /// Time of the claim.
    pub at: Timestamp,
}

impl Claim {
    /// Request digest of a payment that a restored store adopted from its provider's records.
    pub const UNKNOWN: [u8; 32] = [0; 32];

    /// Whether the payment was made for this request, as far as is known. For an adopted payment this is unknown; any
    /// client with the signed payment gets what it bought.
    pub fn is_for(&self, request: &[u8; 32]) -> bool {
        self.is_adopted() || self.request == *request
    }

    /// Whether a restored store adopted it as the payment for another product. The full original request is unknown.
    pub fn bought_other_product(&self, purchase: &Purchase) -> bool {
        let amount = |purchase: &Purchase| match purchase {
            Purchase::UsaCard(CardPurchase { amount }) => Some(*amount),
            _ => None,
        };
        self.is_adopted() && (self.purchase.line(), amount(&self.purchase)) != (purchase.line(), amount(purchase))
    }

    /// Whether a restored store adopted it. Its authorization is then only what the chain shows.
    pub fn is_adopted(&self) -> bool {
        self.request == Self::UNKNOWN
    }
}

/// State of a payment.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Payment {
    /// The claimed payment; see [`Claim`].
    pub claim: Claim,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Status, from the claim to the delivery, credit or reversal.
    pub status: Status,
}

/// Status of a payment.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Reserved for one request; nothing was prepared or sent.
    Claimed,
    /// The transaction is about to be sent, or was sent.
    Settling(PreparedTransaction),
    /// The transaction was sent and its outcome is unknown.
    Unknown(PreparedTransaction),
    /// The chain declined it; it may still settle until its validity ends.
    Declined(Decline, PreparedTransaction),
    /// It was never sent because the chain was unreachable. The same payment may be claimed again.
    Released,
    /// Settled, but the product is no longer possible: a credit is in progress.
    Settled {
        /// Transaction id on its chain.
        transaction: String,
    },
    /// The product was created.
    Fulfilled {
        /// Transaction id on its chain.
        transaction: String,
        /// Product that was bought.
        product: PurchasedProduct,
    },
    /// The account's balance was credited.
    Credited {
        /// Transaction id on its chain.
        transaction: String,
    },
    /// It can never settle.
    Refused(Decline),
    /// It was settled, then reorged, and can never settle again. The loss is posted.
    Reversed {
        /// Transaction that was reorged.
        transaction: String,
        /// Product that was bought; `None` if the balance was credited.
        product: Option<PurchasedProduct>,
    },
    /// Its transfer was recorded as a deposit, and its account was not credited.
    Resolved {
        /// Transaction id on its chain.
        transaction: String,
        /// Where the money went.
        resolution: Resolution,
    },
    /// It was never sent because the chain would have declined it. The same payment may be claimed again.
    DeclinedUnsent(Decline),
}

/// Commands to a payment.
#[derive(Clone, Debug)]
pub enum Command {
    /// The same payment was sent again with this request.
    Join {
        /// Digest of the request.
        request: [u8; 32],
        /// Session to open if this retry sends a declined payment again. `None` if it may not be sent again: no permit
        /// is free, or the account is frozen.
        new_session: Option<SessionSeed>,
    },
    /// The transaction is ready to send.
    RecordPrepared(PreparedTransaction),
    /// It could not be sent and will not be.
    Release {
        /// Job that gives up.
        job: JobId,
    },
    /// The chain would decline it now, so it is not sent.
    RecordDeclinedUnsent {
        /// Job that was to send it.
        job: JobId,
        /// The chain's reason.
        decline: Decline,
    },
    /// The chain confirmed it.
    RecordSettled {
        /// Job that observed it.
        job: JobId,
        /// Transaction id on its chain.
        transaction: String,
        /// Finality of the transaction.
        finality: Finality,
    },
    /// The chain declined it.
    RecordDeclined {
        /// Job that sent it.
        job: JobId,
        /// The chain's reason.
        decline: Decline,
    },
    /// It was sent and no response came.
    RecordNoResponse {
        /// Job that sent it.
        job: JobId,
    },
    /// A chain lookup has a result.
    RecordChainLookup {
        /// Job that read the chain.
        job: JobId,
        /// Status on the chain.
        lookup: ChainStatus,
        /// Whether the provider already has an order for it, sent in the history that a restore lost.
        is_ordered: bool,
    },
    /// The account was credited.
    RecordCredit {
        /// Job that reports it.
        job: JobId,
    },
    /// It is on chain, and its transfer was already recorded as a deposit.
    RecordRestoreCredit {
        /// Job that observed it.
        job: JobId,
        /// Transaction id on its chain.
        transaction: String,
        /// What was decided about the deposit.
        outcome: IncomingOutcome,
    },
    /// The account admitted the payment again after a release.
    RecordReadmitted {
        /// Job that reports it.
        job: JobId,
        /// The new cap reservation.
        reservation: CapReservation,
        /// Session for the caller that retried.
        session: SessionSeed,
    },
    /// The transaction was reorged and can never settle again.
    RecordReorg {
        /// Job that proved it.
        job: JobId,
    },
    /// No reorg can remove it any more.
    RecordFinal {
        /// Job that observed it.
        job: JobId,
    },
}

/// Events of a payment.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The payment was reserved for a request.
    Claimed(Box<Claim>),
    /// A restored store adopted it: its provider shows the product it bought.
    Adopted(Box<Claim>, String, PurchasedProduct),
    /// The transaction is about to be sent.
    Settling(PreparedTransaction, Timestamp),
    /// No response came.
    BecameUnknown(Timestamp),
    /// Declined, but it may still settle.
    Declined(Decline, Timestamp),
    /// Released without being sent.
    Released(Timestamp),
    /// Claimed again with a new cap reservation.
    Readmitted(CapReservation, SessionSeed, Timestamp),
    /// It is sent again after a decline.
    Resumed(SessionSeed, Timestamp),
    /// Confirmed on chain.
    Settled(String, Timestamp),
    /// The product was created.
    Fulfilled(PurchasedProduct, Timestamp),
    /// The account was credited.
    Credited(Timestamp),
    /// The transfer was recorded as a deposit, and the account was credited for it.
    CreditedAfterRestore(String, Timestamp),
    /// It can never settle.
    Refused(Timestamp),
    /// Its transaction was reorged and can never settle again.
    Reversed(Timestamp),
    /// The transfer was recorded as a deposit, and the account was not credited.
    Resolved(String, Resolution, Timestamp),
    /// Released without being sent, because the chain would have declined it.
    DeclinedUnsent(Decline, Timestamp),
    /// The payment was reserved for a request, and this transaction is about to be sent.
    ClaimedPrepared(Box<Claim>, PreparedTransaction),
}

crate::state_machine! { Payment, Status, Event;
    states {
        Claimed = "claimed", Settling = "settling", Unknown = "unknown", Declined = "declined",
        Released | DeclinedUnsent = "released", Settled = "settled", Fulfilled = "fulfilled", Credited = "credited",
        Refused = "refused", Reversed = "reversed", Resolved = "resolved",
    }
    // Intermediate steps are not announced; their outcome is.
    events {
        Claimed - { - => Claimed: "admission by the account" }
        ClaimedPrepared - { - => Settling: "admission by the account, with durable storage of the signed bytes" }
        Adopted "fulfilled" { - => Fulfilled: "purchase found at the provider after a restore" }
        Settling - { Claimed => Settling: "durable storage of the signed bytes" }
        BecameUnknown "unknown" { Settling => Unknown: "no response" }
        Declined "declined" {
            Settling => Declined: "decline by the chain",
            Unknown => Declined: "proof that it cannot settle",
        }
        Released "released" { Claimed => Released: "failure before submission" }
        DeclinedUnsent "released" { Claimed => Released: "predicted decline by the chain" }
        Readmitted - { Released => Claimed: "admission after another presentation" }
        Resumed - { Declined => Settling: "another presentation" }
        Settled "settled" {
            Settling => Settled: "settlement by the chain",
            Unknown | Declined => Settled: "transfer found on chain",
        }
        Fulfilled "fulfilled" { Settled => Fulfilled: "delivery of the product" }
        Credited "credited" { Settled => Credited: "credit to the balance" }
        CreditedAfterRestore "credited" {
            Settling | Unknown | Declined => Credited: "transfer already credited as an incoming transfer",
        }
        Refused "refused" { Declined => Refused: "proof that it cannot settle" }
        Reversed "reversed" { Fulfilled | Credited => Reversed: "final reversal by a reorg" }
        Resolved "resolved" {
            Settling | Unknown | Declined
                => Resolved: "transfer already resolved as an incoming transfer, without a credit",
        }
    }
}

/// Reason why a payment rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The payment is claimed for another request.
    DifferentRequest,
    /// The current state does not allow the command.
    InvalidState(&'static str),
}

/// The reply to an accepted command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The command was carried out.
    Done,
    /// Wait for the outcome of the settlement.
    AwaitOutcome,
    /// The account must admit the payment again first.
    Readmit,
}

/// Outcome that callers wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Paid and bought.
    Fulfilled {
        /// Product that was bought.
        product: PurchasedProduct,
        /// Transaction id on its chain.
        transaction: String,
        /// Session opened for the caller of [`Claim::session`]; `None` for an agent wallet's payment.
        session: Option<SessionId>,
    },
    /// Paid, not bought, and credited.
    Credited {
        /// Amount credited to the account, in USDC.
        amount: Usdc,
        /// Transaction id on its chain.
        transaction: String,
    },
    /// Paid, not bought, and not credited.
    Resolved(Resolution),
    /// Declined: no payment was made.
    Declined(Decline),
    /// The outcome is not known yet.
    Pending,
    /// Never sent; the client can retry.
    Unavailable,
}

impl Payment {
    /// Row key in the account's list of payments, newest first.
    pub fn list_key(owner: &Wallet, claimed: Timestamp, id: PaymentId) -> RowKey {
        table::owner_index_entry(owner, EntityKind::Payment, Timestamp(u64::MAX - claimed.0), id.0)
    }

    /// Value of that row once the payment has settled, for sums without its snapshot. Before, and after the chain dropped
    /// it, the row is empty.
    pub(crate) fn list_value(cost: Usdc) -> Vec<u8> {
        cost.atomic().to_be_bytes().to_vec()
    }

    /// What a payment cost, by the value of its row in the list.
    pub(crate) fn listed_cost(value: &[u8]) -> Usdc {
        let cost = value.try_into().map(u64::from_be_bytes).unwrap_or_default();
        Usdc::from_atomic(cost)
    }

    /// The same row with what the payment cost; `None` if it cost nothing.
    pub(super) fn list_cost(&self, id: &PaymentId, cost: Option<Usdc>, decision: Decision<Self>) -> Decision<Self> {
        let row = Self::list_key(&self.account(), self.claim.at, *id);
        decision.put(row, cost.map(Self::list_value).unwrap_or_default())
    }

    /// Account that owns the purchase, its credits and refunds. Its caps and freeze apply.
    pub const fn account(&self) -> Wallet {
        self.claim.account
    }

    /// Whether an agent wallet paid. Its owner already has tokens, so none are issued to the caller.
    pub fn by_managed_wallet(&self) -> bool {
        self.payer() != self.account()
    }

    /// Session opened for the caller whose claim won, once it is fulfilled.
    pub const fn session(&self) -> Option<SessionId> {
        match self.status {
            Status::Fulfilled { .. } => Some(self.claim.session.id),
            _ => None,
        }
    }

    /// Wallet that sent the money, as the chain shows it.
    pub const fn payer(&self) -> Wallet {
        self.claim.authorization.payer()
    }

    /// Amount of the payment.
    pub const fn price(&self) -> Usdc {
        self.claim.authorization.value()
    }

    /// Charge of the payment and the part that the product is worth.
    pub fn charge(&self, id: PaymentId) -> Charge {
        let worth = Usdc::from_cents(self.claim.worth).unwrap_or(self.price());
        Charge::new(id, self.price(), worth)
    }

    /// Transaction id, once the payment is on chain.
    pub fn transaction(&self) -> Option<&str> {
        match &self.status {
            Status::Settled { transaction }
            | Status::Fulfilled { transaction, .. }
            | Status::Credited { transaction }
            | Status::Resolved { transaction, .. } => Some(transaction),
            _ => None,
        }
    }

    /// Whether the state is final unless the chain reorgs.
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
