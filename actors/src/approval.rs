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
pub struct ApprovalLimits {
    /// By one act; zero is no limit.
    pub max_per_action: Usdc,
    /// By all acts of one day (UTC); zero is no limit.
    pub max_per_day: Usdc,
    /// How long an act waits for approval, in milliseconds.
    pub validity_ms: u64,
}

impl ApprovalLimits {
    /// Whether one operator may give this alone, with so much given today.
    pub fn allow(&self, today: Usdc, amount: Usdc) -> bool {
        let within = |sum: Option<Usdc>, most: Usdc| most == Usdc::ZERO || sum.is_some_and(|sum| sum <= most);
        within(Some(amount), self.max_per_action) && within(today.checked_add(amount).ok(), self.max_per_day)
    }
}

/// An act that gives money.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum ApprovableAction {
    /// Give back what stuck work was paid with.
    CreditJob {
        /// Which work.
        job: JobId,
        /// How the operator knows that it was not done.
        evidence: String,
        /// Whether the operator states that the money has not left.
        funds_not_sent: bool,
    },
    /// Take an operator's word for what came of stuck work, where that credits its holder.
    ResolveJob {
        /// Which work.
        job: JobId,
        /// Whether it was done.
        done: bool,
        /// What the other side calls it.
        reference: String,
        /// How the operator knows.
        evidence: String,
    },
    /// Refuse an international order, whose charge is credited.
    RejectIntlOrder {
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
    DecideIncoming {
        /// Which transfer.
        deposit: DepositId,
        /// To whom, if not to whoever sent it.
        account: Option<Wallet>,
        /// Whether it is sent back.
        send_back: bool,
        /// How the operator knows.
        evidence: String,
    },
    /// Book what left the treasury as a loss.
    AttributeLoss {
        /// Which transfer.
        transaction: String,
        /// How the operator knows.
        evidence: String,
    },
    /// The same as [`Gift::Incoming`], where its holder is to have the payout too that the transfer had paid for.
    DecideIncomingKeepingPayout {
        /// Which transfer.
        deposit: DepositId,
        /// To whom, if not to whoever sent it.
        account: Option<Wallet>,
        /// Whether it is sent back.
        send_back: bool,
        /// How the operator knows.
        evidence: String,
    },
    /// Credit what the bank drew from a holder's account before a restore.
    AttributeOrder {
        /// Which order.
        order: String,
        /// To whom.
        account: Wallet,
        /// How the operator knows.
        evidence: String,
    },
    /// Book what left the treasury as what it paid for.
    AttributeOutlay {
        /// Which transfer.
        transaction: String,
        /// What it paid for.
        outlay: Outlay,
        /// How the operator knows.
        evidence: String,
    },
}

impl ApprovableAction {
    /// A transfer that no payment claims is credited, or sent back; its holder may keep the payout that it had paid for.
    pub const fn decide_incoming(
        deposit: DepositId,
        account: Option<Wallet>,
        (returns, keeps): (bool, bool),
        evidence: String,
    ) -> Self {
        match keeps {
            false => Self::DecideIncoming {
                deposit,
                account,
                send_back: returns,
                evidence,
            },
            true => Self::DecideIncomingKeepingPayout {
                deposit,
                account,
                send_back: returns,
                evidence,
            },
        }
    }

    /// On the wire and in the audit log.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::CreditJob { .. } => "credit_back",
            Self::ResolveJob { .. } => "resolve",
            Self::RejectIntlOrder { .. } => "reject_intl",
            Self::PayCardWithdrawal { .. } => "pay_card_withdrawal",
            Self::DecideIncoming { send_back: false, .. }
            | Self::DecideIncomingKeepingPayout { send_back: false, .. } => "credit_transfer",
            Self::DecideIncoming { send_back: true, .. }
            | Self::DecideIncomingKeepingPayout { send_back: true, .. } => "return_transfer",
            Self::AttributeLoss { .. } => "book_loss",
            Self::AttributeOrder { .. } => "book_order",
            Self::AttributeOutlay { .. } => "book_outlay",
        }
    }

    /// What it is about.
    pub fn subject(&self) -> String {
        match self {
            Self::CreditJob { job: effect, .. } | Self::ResolveJob { job: effect, .. } => effect.to_string(),
            Self::RejectIntlOrder { order, .. } => order.to_string(),
            Self::PayCardWithdrawal { withdrawal, .. } => withdrawal.to_string(),
            Self::DecideIncoming { deposit, .. } => deposit.to_string(),
            Self::DecideIncomingKeepingPayout { deposit, .. } => format!("{deposit} besides its payout"),
            Self::AttributeLoss { transaction, .. } | Self::AttributeOutlay { transaction, .. } => transaction.clone(),
            Self::AttributeOrder { order, account, .. } => format!("{order} to {account}"),
        }
    }

    /// All that it says, in an order of its own.
    fn digest_fields(&self) -> Vec<String> {
        let number = |lease: &Option<u64>| lease.map(|lease| lease.to_string()).unwrap_or_default();
        match self {
            Self::CreditJob {
                job: effect,
                evidence,
                funds_not_sent: not_left,
            } => vec![effect.to_string(), not_left.to_string(), evidence.clone()],
            Self::ResolveJob {
                job: effect,
                done,
                reference,
                evidence,
            } => vec![
                effect.to_string(),
                done.to_string(),
                reference.clone(),
                evidence.clone(),
            ],
            Self::RejectIntlOrder { order, lease, reason } => vec![order.to_string(), number(lease), reason.clone()],
            Self::PayCardWithdrawal {
                withdrawal,
                lease,
                transaction,
            } => vec![withdrawal.to_string(), lease.to_string(), transaction.clone()],
            Self::DecideIncoming {
                deposit,
                account,
                send_back: returns,
                evidence,
            }
            | Self::DecideIncomingKeepingPayout {
                deposit,
                account,
                send_back: returns,
                evidence,
            } => {
                let to = account.map(|account| account.address()).unwrap_or_default();
                let mut parts = vec![deposit.to_string(), to, returns.to_string(), evidence.clone()];
                if matches!(self, Self::DecideIncomingKeepingPayout { .. }) {
                    parts.push("besides its payout".to_owned());
                }
                parts
            }
            Self::AttributeLoss { transaction, evidence } => vec![transaction.clone(), evidence.clone()],
            Self::AttributeOutlay {
                transaction,
                outlay,
                evidence,
            } => vec![transaction.clone(), outlay.name(), evidence.clone()],
            Self::AttributeOrder {
                order,
                account,
                evidence,
            } => vec![order.clone(), account.to_string(), evidence.clone()],
        }
    }

    /// In the operator's own words, behind what they decide where the words alone could say something else.
    pub fn audit_note(&self) -> String {
        match self {
            Self::CreditJob { evidence, .. }
            | Self::AttributeLoss { evidence, .. }
            | Self::AttributeOrder { evidence, .. } => evidence.clone(),
            Self::AttributeOutlay { outlay, evidence, .. } => format!("{}: {evidence}", outlay.name()),
            Self::DecideIncoming {
                account,
                send_back: returns,
                evidence,
                ..
            }
            | Self::DecideIncomingKeepingPayout {
                account,
                send_back: returns,
                evidence,
                ..
            } => match (account, returns) {
                (_, true) => format!("back to its sender: {evidence}"),
                (Some(account), false) => format!("to {}: {evidence}", account.address()),
                (None, false) => format!("to its sender: {evidence}"),
            },
            Self::ResolveJob {
                done,
                reference,
                evidence,
                ..
            } => match done {
                true => format!("done, {reference}: {evidence}"),
                false => format!("not done, {reference}: {evidence}"),
            },
            Self::RejectIntlOrder { reason, .. } => reason.clone(),
            Self::PayCardWithdrawal { transaction, .. } => transaction.clone(),
        }
    }
}

/// An act that waits for a second operator.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct PendingApproval {
    /// What is to be done.
    pub action: ApprovableAction,
    /// How much it gives.
    pub amount: Usdc,
    /// Who asked for it, and by which request.
    pub requested_by: OperatorAction,
    /// When.
    pub requested_at: Timestamp,
    /// Until when it can be approved.
    pub expires_at: Timestamp,
}

impl Stored for PendingApproval {
    const SCHEMA: u16 = 362;
}

impl ApprovalId {
    /// Of an act with all that it says, and how much it gives: the same asked for twice is one, and what an operator has read under an
    /// id is what it approves.
    pub fn for_action(gift: &ApprovableAction, amount: Usdc) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"approval");
        hash.update([0]);
        hash.update(gift.name());
        hash.update(amount.atomic().to_be_bytes());
        for part in gift.digest_fields() {
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
pub struct OperatorDailyTotal {
    /// The name of the operator's token.
    pub operator: String,
    /// The day, counted from 1970 in UTC.
    pub day: u64,
    /// How much.
    pub sum: Usdc,
}

impl Stored for OperatorDailyTotal {
    const SCHEMA: u16 = 363;
}
