//! An incoming transfer: a transfer to our treasury that no payment claims. It is found by reconciliation of the chains
//! and decided once.
//!
//! ```text
//! found --in the time that a restore lost, and it bought nothing--> crediting --account is credited--> CREDITED
//!   |---in that time, and the provider shows its product----------> ADOPTED
//!   |---a payment claims it---------------------------------------> CLAIMED
//!   `---otherwise-> waiting --an operator credits it--> crediting
//!                      |-----an operator returns it---> returning --its withdrawal is open--> RETURNED
//!                      |-----an operator attributes it to operator funds--------------------> OPERATOR_FUNDS
//!                      |-----an operator attributes it to an outgoing transfer--------------> FORWARDED
//!                      `-----a payment claims it--------------------------------------------> CLAIMED
//! ```
//!
//! Its number is derived from its position on the chain, so it is found once, however often the list is read. It has no
//! postings before it is decided. From the decision on, the payment that it would have settled, if there is one, can no
//! longer settle by it.
//!
//! It is owned by the system, not by an account: only operators can read it.

mod adopting;
mod counting;
mod job;
mod machine;
mod view;

pub use self::view::IncomingView;
use purser_storage::codec::Stored;

use crate::currency::{Country, Currency};
use crate::entity::PurchasedProduct;
use crate::id::{DepositId, JobId, Network, OutgoingTransferId, PaymentId, Wallet};
use crate::lost_order::AttributedOrder;
use crate::money::{Cents, Usdc};
use crate::operator::AuditedAction;
use crate::port::{ChainMovement, ExternalText, OutgoingTransfer, Timestamp, key_of};
use crate::product::ProductLine;

pub use self::job::Job;

/// A transfer as its chain lists it; never changes.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Transfer {
    /// Chain of the transfer.
    pub network: Network,
    /// The chain's id of the transaction.
    pub transaction: String,
    /// Index of the transfer in the transaction, from 0.
    pub index: u32,
    /// Wallet that sent it.
    pub from: Wallet,
    /// Amount in USDC.
    pub amount: Usdc,
    /// Time by the chain's clock.
    pub at: Timestamp,
    /// Fingerprint of its payment authorization.
    pub fingerprint: [u8; 32],
    /// Payment that an authorization with this fingerprint is or would be.
    pub payment: PaymentId,
}

impl Transfer {
    /// The transfer of a treasury movement, and the payment that it would settle.
    pub fn from_movement(network: Network, moved: &ChainMovement, payment: PaymentId) -> Self {
        Self {
            network,
            transaction: moved.transaction.clone(),
            index: moved.index,
            from: moved.counterparty,
            amount: moved.amount,
            at: moved.at,
            fingerprint: moved.fingerprint,
            payment,
        }
    }

    /// Key in the chain's list.
    pub fn key(&self) -> String {
        key_of(&self.transaction, self.index)
    }

    /// Whether it was not authorized as a payment: it then cannot have bought anything.
    pub fn is_plain(&self) -> bool {
        self.fingerprint == ChainMovement::plain_fingerprint(&self.transaction, self.index)
    }

    /// Id derived from network, transaction and index.
    pub fn id(&self) -> DepositId {
        DepositId::for_transfer(self.network, &self.transaction, self.index)
    }
}

/// State of an incoming transfer.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Incoming {
    /// Facts of the chain; see [`Transfer`].
    pub transfer: Transfer,
    /// Time when it was found.
    pub found_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// What a provider has under the key of the possible purchase, if it could not be adopted.
    pub provider_report: Option<ExternalText>,
    /// Status, from the detection to the credit, return or attribution.
    pub status: Status,
}

/// Status of an incoming transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// It is being classified.
    Found,
    /// It waits for an operator.
    Waiting,
    /// This account is being credited.
    Crediting(Wallet),
    /// This account was credited.
    Credited(Wallet),
    /// It paid for this product.
    Adopted(PurchasedProduct),
    /// The transfer is attributed to operator funds.
    OperatorFunds,
    /// It is returned to its sender by a withdrawal from this account.
    Returning(Wallet),
    /// That withdrawal was opened.
    Returned(Wallet),
    /// A payment has settled by it, or will.
    Claimed,
    /// In a lost history it was sent on for its sender, by this transfer.
    Forwarded(OutgoingTransferId),
}

/// A product that a provider delivered, as far as its list shows it and we can adopt it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdoptableProduct {
    /// A US prepaid card.
    Card {
        /// Amount loaded on the card.
        amount: Cents,
    },
    /// A gift card.
    GiftCard {
        /// Amount in the product's currency.
        amount: Cents,
        /// Currency of the product.
        currency: Currency,
        /// Id of the product in the catalog.
        product: String,
        /// Country where it can be redeemed.
        country: Country,
        /// The catalog's fee rate at the time of the order, as decimal text.
        fee_rate: String,
    },
}

/// Result of the classification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A payment claims it.
    Claimed,
    /// An operator must decide.
    Wait {
        /// What a provider shows.
        provider_report: Option<ExternalText>,
        /// Account and product lines whose caps it counts toward until the purchase is known. `None` if it cannot have
        /// bought anything.
        cap_usage: Option<(Wallet, Vec<ProductLine>)>,
    },
    /// This account, its sender's, will be credited.
    Credit(Wallet),
    /// The provider shows the product that it paid for, for this account.
    Adopt(Wallet, AdoptableProduct),
}

/// Decision of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorDecision {
    /// This account is credited.
    Credit(Wallet),
    /// The transfer is attributed to operator funds.
    OperatorFunds,
    /// It is returned to its sender, by a withdrawal from this account.
    Return(Wallet),
}

/// Commands to an incoming transfer.
#[derive(Clone, Debug)]
pub enum Command {
    /// The chain lists it and it has no ledger record.
    Find(Box<Transfer>),
    /// The classification has a result.
    RecordVerdict {
        /// Job that classified it.
        job: JobId,
        /// Result of the classification.
        verdict: Box<Verdict>,
        /// Revision of the payment that it would settle, as read; 0 if there was none.
        payment: u64,
    },
    /// The purchase is not known yet: until then it counts toward this account's caps for these lines.
    Count(Wallet, Vec<ProductLine>),
    /// A payment of this account settled by it after all.
    Claim(Wallet),
    /// An operator decides.
    Decide {
        /// Decision of the operator.
        decision: OperatorDecision,
        /// Revision of the payment that it would settle, as read; 0 if there was none.
        payment: u64,
        /// Operator action for the audit log.
        act: Box<AuditedAction>,
        /// The operator's evidence, as entered.
        evidence: String,
    },
    /// An operator attributes it to an outgoing treasury transfer or an order.
    Forward {
        /// What it paid for; not attributed before.
        paid_for: Box<PaidFor>,
        /// Revision of the payment that it would settle, as read; 0 if there was none.
        payment: u64,
        /// Operator action for the audit log.
        act: Box<AuditedAction>,
        /// The operator's evidence, as entered.
        evidence: String,
    },
    /// The account was credited, or its withdrawal was opened.
    Confirm {
        /// Job that reports it.
        job: JobId,
    },
}

/// What a transfer paid for in a history that a restore lost.
#[derive(Clone, Debug)]
pub enum PaidFor {
    /// An outgoing treasury transfer.
    OutgoingTransfer(OutgoingTransfer),
    /// An order at a provider, posted as paid by the transfer.
    Order(AttributedOrder),
}

/// Events of an incoming transfer.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Reconciliation found it.
    Found(Box<Transfer>, Timestamp),
    /// An operator must decide; what a provider shows.
    OperatorRequired(Option<ExternalText>, Timestamp),
    /// A payment claims it.
    Claimed(Timestamp),
    /// This account will be credited.
    CreditGranted(Wallet, Timestamp),
    /// The account was credited.
    Credited(Timestamp),
    /// It paid for this product.
    Adopted(PurchasedProduct, Timestamp),
    /// The transfer is attributed to operator funds.
    TakenAsOperatorFunds(Timestamp),
    /// It will be returned, by a withdrawal from this account.
    SentBack(Wallet, Timestamp),
    /// The withdrawal was opened.
    Returned(Timestamp),
    /// It had been sent on, by this transfer or for this order.
    Forwarded(OutgoingTransferId, Timestamp),
}

crate::state_machine! { Incoming, Status, Event;
    states {
        Found = "found", Waiting = "waiting", Crediting = "crediting", Credited = "credited", Adopted = "adopted",
        OperatorFunds = "operator_funds", Returning = "returning", Returned = "returned", Claimed = "claimed",
        Forwarded = "forwarded",
    }
    events {
        Found "found" { - => Found: "transfer on chain without a ledger record" }
        OperatorRequired "waiting" { Found => Waiting: "no automatic attribution; operator decision needed" }
        Claimed "claimed" { Found | Waiting => Claimed: "claim by a payment" }
        CreditGranted "crediting" {
            Found => Crediting: "transfer from a lost history without a purchase",
            Waiting => Crediting: "credit by an operator",
        }
        Credited "credited" { Crediting => Credited: "credit to the account" }
        Adopted "adopted" { Found => Adopted: "transfer from a lost history with a purchase at a provider" }
        TakenAsOperatorFunds "operator_funds" {
            Waiting => OperatorFunds: "attribution to operator funds by an operator",
        }
        SentBack "returning" { Waiting => Returning: "return by an operator" }
        Returned "returned" { Returning => Returned: "creation of its withdrawal" }
        Forwarded "forwarded" {
            Waiting => Forwarded: "attribution to an outgoing transfer or order by an operator",
        }
    }
}

/// Reason why an incoming transfer rejects a command: its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for Incoming {
    const SCHEMA: u16 = 340;
}

impl Stored for Event {
    const SCHEMA: u16 = 341;
}

impl Incoming {
    /// Account that was or will be credited, if there is one.
    pub const fn account(&self) -> Option<Wallet> {
        match self.status {
            Status::Crediting(wallet)
            | Status::Credited(wallet)
            | Status::Returning(wallet)
            | Status::Returned(wallet) => Some(wallet),
            _ => None,
        }
    }

    /// Whether it is undecided.
    pub const fn is_open(&self) -> bool {
        matches!(self.status, Status::Found | Status::Waiting)
    }

    /// Whether the transfer is posted under its own id.
    pub const fn is_posted(&self) -> bool {
        matches!(
            self.status,
            Status::Crediting(_)
                | Status::Credited(_)
                | Status::OperatorFunds
                | Status::Returning(_)
                | Status::Returned(_)
                | Status::Forwarded(_)
        )
    }
}
