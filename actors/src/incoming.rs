//! A transfer to our treasury that no payment claims: found by whoever watches the chains' lists, and decided once.
//!
//! ```text
//! found --in the time that a restore lost, and nothing was bought with it--> crediting --the account holds it--> CREDITED
//!   |---in that time, and the provider shows what was bought with it-------> ADOPTED
//!   |---a payment claims it------------------------------------------------> CLAIMED
//!   `---all else--> waiting --an operator credits it--> crediting
//!                      |-----an operator returns it---> returning --its withdrawal is open--> RETURNED
//!                      |-----an operator says that it is the treasury's own-----------------> OPERATOR_FUNDS
//!                      |-----an operator says by which transfer it has left again-----------> FORWARDED
//!                      `-----a payment claims it--------------------------------------------> CLAIMED
//! ```
//!
//! It has the number of its place on the chain, so that it is found once, however often the list is read. Nothing of it is in the
//! books before it is decided. From then on the payment that it would have settled, if there is one, settles by it no more.
//!
//! It is the house's, not a holder's: only operators read what it tells.

mod adopting;
mod counting;
mod machine;

use purser_storage::codec::Stored;

use crate::id::{DepositId, JobId, Network, OutgoingTransferId, PaymentId, Wallet};
use crate::lost_order::AttributedOrder;
use crate::money::{Cents, Usdc};
use crate::operator::AuditedAction;
use crate::port::{ChainMovement, ExternalText, OutgoingTransfer, Timestamp, key_of};
use crate::product::{Country, Currency, ProductLine, PurchasedProduct};

/// A transfer as its chain lists it: fixed for its life.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Transfer {
    /// Which chain.
    pub network: Network,
    /// The chain's id of the transaction.
    pub transaction: String,
    /// Which transfer in it, from 0.
    pub index: u32,
    /// Who sent it.
    pub from: Wallet,
    /// How much.
    pub amount: Usdc,
    /// When, by the chain's clock.
    pub at: Timestamp,
    /// What its authorization is recognised by.
    pub fingerprint: [u8; 32],
    /// The payment that an authorization with this mark is or would be.
    pub payment: PaymentId,
}

impl Transfer {
    /// What came in, and the payment that it would settle.
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

    /// Its name on the chain's list.
    pub fn key(&self) -> String {
        key_of(&self.transaction, self.index)
    }

    /// Whether nobody authorized it as a payment is: it can have bought nothing.
    pub fn is_plain(&self) -> bool {
        self.fingerprint == ChainMovement::plain_fingerprint(&self.transaction, self.index)
    }

    /// Its id: always the same.
    pub fn id(&self) -> DepositId {
        DepositId::for_transfer(self.network, &self.transaction, self.index)
    }
}

/// Its state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Incoming {
    /// See [`Transfer`].
    pub transfer: Transfer,
    /// Since when it is known.
    pub found_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// What a provider has under the name of what it would have bought, where it could not be adopted.
    pub provider_report: Option<ExternalText>,
    /// Where it stands.
    pub status: Status,
}

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// It is being looked into.
    Found,
    /// It waits for an operator.
    Waiting,
    /// This account is being credited.
    Crediting(Wallet),
    /// This account was credited.
    Credited(Wallet),
    /// This was bought with it.
    Adopted(PurchasedProduct),
    /// It is the treasury's own.
    OperatorFunds,
    /// It goes back to its sender by a withdrawal of this account's.
    Returning(Wallet),
    /// That withdrawal is open.
    Returned(Wallet),
    /// A payment has settled by it, or will.
    Claimed,
    /// In a history that a restore has lost it was sent on for its sender, by this transfer.
    Forwarded(OutgoingTransferId),
}

/// What a provider made, as far as its list says and we can keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdoptableProduct {
    /// A USA prepaid card.
    Card {
        /// Loaded with.
        amount: Cents,
    },
    /// A gift card.
    GiftCard {
        /// In the product's currency.
        amount: Cents,
        /// The product's currency.
        currency: Currency,
        /// The catalog's name of the product.
        product: String,
        /// Where it is redeemed.
        country: Country,
        /// The catalog's fee rate that it was ordered at, as decimal text.
        fee_rate: String,
    },
}

/// What came of looking into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A payment claims it.
    Claimed,
    /// An operator has to decide.
    Wait {
        /// What a provider shows.
        provider_report: Option<ExternalText>,
        /// Whose caps it counts against until it is known what it was: the account, and the lines that it may have bought of.
        /// None where nothing can have been bought with it.
        cap_usage: Option<(Wallet, Vec<ProductLine>)>,
    },
    /// Its sender is to be credited: this account.
    Credit(Wallet),
    /// The provider shows what was bought with it, for this account.
    Adopt(Wallet, AdoptableProduct),
}

/// What an operator decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorDecision {
    /// This account is credited.
    Credit(Wallet),
    /// It is the treasury's own.
    OperatorFunds,
    /// It goes back to its sender, by a withdrawal of this account's.
    Return(Wallet),
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The chain lists it and no book knows it.
    Find(Box<Transfer>),
    /// It was looked into.
    RecordVerdict {
        /// The effect that did.
        job: JobId,
        /// See [`Verdict`].
        verdict: Box<Verdict>,
        /// The revision of the payment that it would settle, as it was read; 0 if there was none.
        payment: u64,
    },
    /// It is not known yet what was bought with it: until then it counts against this account's caps, as of these lines.
    Count(Wallet, Vec<ProductLine>),
    /// A payment of this account's has settled by it after all.
    Claim(Wallet),
    /// An operator decides.
    Decide {
        /// See [`Ruling`].
        decision: OperatorDecision,
        /// The revision of the payment that it would settle, as it was read; 0 if there was none.
        payment: u64,
        /// Who.
        act: Box<AuditedAction>,
        /// How they know.
        evidence: String,
    },
    /// An operator says that it paid for something that has left the treasury, or for an order.
    Forward {
        /// For what: it is in no other book.
        paid_for: Box<PaidFor>,
        /// The revision of the payment that it would settle, as it was read; 0 if there was none.
        payment: u64,
        /// Who.
        act: Box<AuditedAction>,
        /// How they know.
        evidence: String,
    },
    /// The account holds the credit, or its withdrawal is open.
    Confirm {
        /// The effect that says so.
        job: JobId,
    },
}

/// What a transfer paid for, in a history that a restore has lost.
#[derive(Clone, Debug)]
pub enum PaidFor {
    /// A transfer out of the treasury.
    OutgoingTransfer(OutgoingTransfer),
    /// An order at a provider, booked as paid by the transfer.
    Order(AttributedOrder),
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Found.
    Found(Box<Transfer>, Timestamp),
    /// An operator has to decide; what a provider shows.
    OperatorRequired(Option<ExternalText>, Timestamp),
    /// A payment claims it.
    Claimed(Timestamp),
    /// This account is to be credited.
    CreditGranted(Wallet, Timestamp),
    /// The account holds it.
    Credited(Timestamp),
    /// This was bought with it.
    Adopted(PurchasedProduct, Timestamp),
    /// It is the treasury's own.
    TakenAsOperatorFunds(Timestamp),
    /// It is to go back, by a withdrawal of this account's.
    SentBack(Wallet, Timestamp),
    /// The withdrawal is open.
    Returned(Timestamp),
    /// It had been sent on, by this transfer or for this order.
    Forwarded(OutgoingTransferId, Timestamp),
}

/// Why a command was refused: the state it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for Incoming {
    const SCHEMA: u16 = 340;
}

impl Stored for Event {
    const SCHEMA: u16 = 341;
}

impl Incoming {
    /// The account that has it or is getting it, if there is one.
    pub const fn account(&self) -> Option<Wallet> {
        match self.status {
            Status::Crediting(wallet)
            | Status::Credited(wallet)
            | Status::Returning(wallet)
            | Status::Returned(wallet) => Some(wallet),
            _ => None,
        }
    }

    /// Whether nobody has decided about it.
    pub const fn is_open(&self) -> bool {
        matches!(self.status, Status::Found | Status::Waiting)
    }

    /// Whether what came in is in the books under its own name.
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
