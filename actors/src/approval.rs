//! Acts of operators that give money: how much one may give alone, per act and per day, and what waits for a second operator.
//!
//! Whatever an operator's word brings to a customer at the house's cost or risk goes through here, by whatever route. What is too
//! much for one is kept as it was asked for, and done by the batch that takes it off the list, once another has approved it.

use purser_storage::codec::Stored;
use sha2::{Digest, Sha256};

use crate::id::{ApprovalId, CardId, DepositId, JobId, Wallet, WithdrawalId};
use crate::ledger::Outlay;
use crate::money::Usdc;
use crate::operator::OperatorAction;
use crate::port::Timestamp;

/// What an operator may give alone, and how long what is more waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// By one act; zero is no limit.
    pub each_max: Usdc,
    /// By all acts of one day (UTC); zero is no limit.
    pub day_max: Usdc,
    /// How long an act waits for approval, in milliseconds.
    pub open_ms: u64,
}

impl Limits {
    /// Whether one operator may give this alone, with so much given today.
    pub fn allow(&self, today: Usdc, amount: Usdc) -> bool {
        let within = |sum: Option<Usdc>, most: Usdc| most == Usdc::ZERO || sum.is_some_and(|sum| sum <= most);
        within(Some(amount), self.each_max) && within(today.checked_add(amount).ok(), self.day_max)
    }
}

/// An act that gives money.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Gift {
    /// Give back what stuck work was paid with.
    CreditBack {
        /// Which work.
        effect: JobId,
        /// How the operator knows that it was not done.
        evidence: String,
        /// Whether the operator states that the money has not left.
        not_left: bool,
    },
    /// Take an operator's word for what came of stuck work, where that credits its holder.
    Resolve {
        /// Which work.
        effect: JobId,
        /// Whether it was done.
        done: bool,
        /// What the other side calls it.
        reference: String,
        /// How the operator knows.
        evidence: String,
    },
    /// Refuse an international order, whose charge is credited.
    RejectIntl {
        /// Which order.
        order: CardId,
        /// Under which lease, if under one.
        lease: Option<u64>,
        /// For the holder.
        reason: String,
    },
    /// Say that a withdrawal from a card balance is paid.
    PayCardWithdrawal {
        /// Which.
        withdrawal: WithdrawalId,
        /// Under which lease.
        lease: u64,
        /// What paid it.
        transaction: String,
    },
    /// Credit a transfer that no payment claims, or send it back.
    Incoming {
        /// Which transfer.
        deposit: DepositId,
        /// To whom, if not to whoever sent it.
        account: Option<Wallet>,
        /// Whether it is sent back.
        returns: bool,
        /// How the operator knows.
        evidence: String,
    },
    /// Book what left the treasury as a loss.
    BookLoss {
        /// Which transfer.
        transaction: String,
        /// How the operator knows.
        evidence: String,
    },
    /// The same as [`Gift::Incoming`], where its holder is to have the payout too that the transfer had paid for.
    IncomingBesides {
        /// Which transfer.
        deposit: DepositId,
        /// To whom, if not to whoever sent it.
        account: Option<Wallet>,
        /// Whether it is sent back.
        returns: bool,
        /// How the operator knows.
        evidence: String,
    },
    /// Credit what the bank drew from a holder's account before a restore.
    BookOrder {
        /// Which order.
        order: String,
        /// To whom.
        account: Wallet,
        /// How the operator knows.
        evidence: String,
    },
    /// Book what left the treasury as what it paid for.
    BookOutlay {
        /// Which transfer.
        transaction: String,
        /// What it paid for.
        outlay: Outlay,
        /// How the operator knows.
        evidence: String,
    },
}

impl Gift {
    /// A transfer that no payment claims is credited, or sent back; its holder may keep the payout that it had paid for.
    pub const fn incoming(
        deposit: DepositId,
        account: Option<Wallet>,
        (returns, keeps): (bool, bool),
        evidence: String,
    ) -> Self {
        match keeps {
            false => Self::Incoming {
                deposit,
                account,
                returns,
                evidence,
            },
            true => Self::IncomingBesides {
                deposit,
                account,
                returns,
                evidence,
            },
        }
    }

    /// On the wire and in the audit log.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::CreditBack { .. } => "credit_back",
            Self::Resolve { .. } => "resolve",
            Self::RejectIntl { .. } => "reject_intl",
            Self::PayCardWithdrawal { .. } => "pay_card_withdrawal",
            Self::Incoming { returns: false, .. } | Self::IncomingBesides { returns: false, .. } => "credit_transfer",
            Self::Incoming { returns: true, .. } | Self::IncomingBesides { returns: true, .. } => "return_transfer",
            Self::BookLoss { .. } => "book_loss",
            Self::BookOrder { .. } => "book_order",
            Self::BookOutlay { .. } => "book_outlay",
        }
    }

    /// What it is about.
    pub fn subject(&self) -> String {
        match self {
            Self::CreditBack { effect, .. } | Self::Resolve { effect, .. } => effect.to_string(),
            Self::RejectIntl { order, .. } => order.to_string(),
            Self::PayCardWithdrawal { withdrawal, .. } => withdrawal.to_string(),
            Self::Incoming { deposit, .. } => deposit.to_string(),
            Self::IncomingBesides { deposit, .. } => format!("{deposit} besides its payout"),
            Self::BookLoss { transaction, .. } | Self::BookOutlay { transaction, .. } => transaction.clone(),
            Self::BookOrder { order, account, .. } => format!("{order} to {account}"),
        }
    }

    /// All that it says, in an order of its own.
    fn parts(&self) -> Vec<String> {
        let number = |lease: &Option<u64>| lease.map(|lease| lease.to_string()).unwrap_or_default();
        match self {
            Self::CreditBack {
                effect,
                evidence,
                not_left,
            } => vec![effect.to_string(), not_left.to_string(), evidence.clone()],
            Self::Resolve {
                effect,
                done,
                reference,
                evidence,
            } => vec![
                effect.to_string(),
                done.to_string(),
                reference.clone(),
                evidence.clone(),
            ],
            Self::RejectIntl { order, lease, reason } => vec![order.to_string(), number(lease), reason.clone()],
            Self::PayCardWithdrawal {
                withdrawal,
                lease,
                transaction,
            } => vec![withdrawal.to_string(), lease.to_string(), transaction.clone()],
            Self::Incoming {
                deposit,
                account,
                returns,
                evidence,
            }
            | Self::IncomingBesides {
                deposit,
                account,
                returns,
                evidence,
            } => {
                let to = account.map(|account| account.address()).unwrap_or_default();
                let mut parts = vec![deposit.to_string(), to, returns.to_string(), evidence.clone()];
                if matches!(self, Self::IncomingBesides { .. }) {
                    parts.push("besides its payout".to_owned());
                }
                parts
            }
            Self::BookLoss { transaction, evidence } => vec![transaction.clone(), evidence.clone()],
            Self::BookOutlay {
                transaction,
                outlay,
                evidence,
            } => vec![transaction.clone(), outlay.name(), evidence.clone()],
            Self::BookOrder {
                order,
                account,
                evidence,
            } => vec![order.clone(), account.to_string(), evidence.clone()],
        }
    }

    /// In the operator's own words, behind what they decide where the words alone could say something else.
    pub fn words(&self) -> String {
        match self {
            Self::CreditBack { evidence, .. } | Self::BookLoss { evidence, .. } | Self::BookOrder { evidence, .. } => {
                evidence.clone()
            }
            Self::BookOutlay { outlay, evidence, .. } => format!("{}: {evidence}", outlay.name()),
            Self::Incoming {
                account,
                returns,
                evidence,
                ..
            }
            | Self::IncomingBesides {
                account,
                returns,
                evidence,
                ..
            } => match (account, returns) {
                (_, true) => format!("back to its sender: {evidence}"),
                (Some(account), false) => format!("to {}: {evidence}", account.address()),
                (None, false) => format!("to its sender: {evidence}"),
            },
            Self::Resolve {
                done,
                reference,
                evidence,
                ..
            } => match done {
                true => format!("done, {reference}: {evidence}"),
                false => format!("not done, {reference}: {evidence}"),
            },
            Self::RejectIntl { reason, .. } => reason.clone(),
            Self::PayCardWithdrawal { transaction, .. } => transaction.clone(),
        }
    }
}

/// An act that waits for a second operator.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Pending {
    /// What is to be done.
    pub gift: Gift,
    /// How much it gives.
    pub amount: Usdc,
    /// Who asked for it, and by which request.
    pub asked: OperatorAction,
    /// When.
    pub asked_at: Timestamp,
    /// Until when it can be approved.
    pub open_until: Timestamp,
}

impl Stored for Pending {
    const SCHEMA: u16 = 362;
}

impl ApprovalId {
    /// Of an act with all that it says, and how much it gives: the same asked for twice is one, and what an operator has read under an
    /// id is what it approves.
    pub fn of(gift: &Gift, amount: Usdc) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"approval");
        hash.update([0]);
        hash.update(gift.name());
        hash.update(amount.atomic().to_be_bytes());
        for part in gift.parts() {
            // With its length before it: no two acts read the same.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let hash = hash.finalize();
        let mut first = [0; 16];
        first.copy_from_slice(&hash[..16]);
        Self(u128::from_be_bytes(first))
    }
}

/// What an operator has given alone on one day.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Given {
    /// The name of the operator's token.
    pub by: String,
    /// The day, counted from 1970 in UTC.
    pub day: u64,
    /// How much.
    pub sum: Usdc,
}

impl Stored for Given {
    const SCHEMA: u16 = 363;
}
