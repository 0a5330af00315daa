//! Four-eyes approval of operator actions that give money: limits per action and per day, and actions that wait for a
//! second operator.
//!
//! Every operator action that credits a customer at Purser's cost or risk is checked here, whichever route it came by.
//! An action above the limits is stored as requested. It is executed by the batch that removes it from the list, after
//! another operator has approved it.

use purser_storage::codec::Stored;
use sha2::{Digest, Sha256};

use crate::id::{ApprovalId, CardId, DepositId, JobId, Wallet, WithdrawalId};
use crate::ledger::Outlay;
use crate::money::Usdc;
use crate::named_enum::named_enum;
use crate::operator::OperatorAction;
use crate::port::Timestamp;

/// Limits of what one operator may give alone, and how long a larger action waits for approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalLimits {
    /// Limit per action; zero is no limit.
    pub max_per_action: Usdc,
    /// Limit for all actions of one day (UTC); zero is no limit.
    pub max_per_day: Usdc,
    /// How long an action waits for approval, in milliseconds.
    pub validity_ms: u64,
}

impl ApprovalLimits {
    /// Whether one operator may give this amount alone, given the total of today.
    pub fn allow(&self, today: Usdc, amount: Usdc) -> bool {
        let within = |sum: Option<Usdc>, most: Usdc| most == Usdc::ZERO || sum.is_some_and(|sum| sum <= most);
        within(Some(amount), self.max_per_action) && within(today.checked_add(amount).ok(), self.max_per_day)
    }
}

/// An operator action that gives money.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum ApprovableAction {
    /// Credit the price of a dead-lettered job.
    CreditJob {
        /// Dead-lettered job that the action resolves or credits.
        job: JobId,
        /// Evidence that the job was not executed.
        evidence: String,
        /// Whether the operator confirms that the funds were not sent.
        funds_not_sent: bool,
    },
    /// Record an operator's outcome of a dead-lettered job, if that credits the account owner.
    ResolveJob {
        /// Dead-lettered job that the action resolves or credits.
        job: JobId,
        /// Whether the job was executed.
        done: bool,
        /// The provider's reference.
        reference: String,
        /// The operator's evidence, as entered.
        evidence: String,
    },
    /// Reject an international order, which credits its charge.
    RejectIntlOrder {
        /// Order to reject.
        order: CardId,
        /// Number of the lease, if the order is claimed.
        lease: Option<u64>,
        /// Reason shown to the account owner.
        reason: String,
    },
    /// Report a card withdrawal as paid.
    PayCardWithdrawal {
        /// Withdrawal that was paid.
        withdrawal: WithdrawalId,
        /// Number of the operator's lease.
        lease: u64,
        /// Reference of the payment.
        transaction: String,
    },
    /// Credit a transfer that no payment claims, or return it.
    DecideIncoming {
        /// Transfer to decide.
        deposit: DepositId,
        /// Account to credit, if not the sender's.
        account: Option<Wallet>,
        /// Whether it is returned to the sender.
        send_back: bool,
        /// The operator's evidence, as entered.
        evidence: String,
    },
    /// Post an outgoing treasury transfer as a loss.
    AttributeLoss {
        /// Name of the untracked outgoing transfer.
        transaction: String,
        /// The operator's evidence, as entered.
        evidence: String,
    },
    /// The same as [`ApprovableAction::DecideIncoming`], but the account owner also keeps the payout that the transfer
    /// paid for.
    DecideIncomingKeepingPayout {
        /// Transfer to decide.
        deposit: DepositId,
        /// Account to credit, if not the sender's.
        account: Option<Wallet>,
        /// Whether it is returned to the sender.
        send_back: bool,
        /// The operator's evidence, as entered.
        evidence: String,
    },
    /// Credit a debit by the bank from an owner's account before a restore.
    AttributeOrder {
        /// Id of the order.
        order: String,
        /// Account to credit.
        account: Wallet,
        /// The operator's evidence, as entered.
        evidence: String,
    },
    /// Post an outgoing treasury transfer as an outlay.
    AttributeOutlay {
        /// Name of the untracked outgoing transfer.
        transaction: String,
        /// Purpose of the transfer.
        outlay: Outlay,
        /// The operator's evidence, as entered.
        evidence: String,
    },
}

named_enum! {
    /// What an [`ApprovableAction`] is about. Its name is that in the API and in the audit log.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ActionKind {
        /// [`ApprovableAction::CreditJob`].
        CreditBack = "credit_back",
        /// [`ApprovableAction::ResolveJob`].
        Resolve = "resolve",
        /// [`ApprovableAction::RejectIntlOrder`].
        RejectIntl = "reject_intl",
        /// [`ApprovableAction::PayCardWithdrawal`].
        PayCardWithdrawal = "pay_card_withdrawal",
        /// [`ApprovableAction::DecideIncoming`], credited.
        CreditTransfer = "credit_transfer",
        /// [`ApprovableAction::DecideIncoming`], returned.
        ReturnTransfer = "return_transfer",
        /// [`ApprovableAction::AttributeLoss`].
        BookLoss = "book_loss",
        /// [`ApprovableAction::AttributeOrder`].
        BookOrder = "book_order",
        /// [`ApprovableAction::AttributeOutlay`].
        BookOutlay = "book_outlay",
    }
}

impl ApprovableAction {
    /// Credits or returns a transfer that no payment claims; the account owner may keep the payout that it paid for.
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

    /// What it is about.
    pub const fn kind(&self) -> ActionKind {
        match self {
            Self::CreditJob { .. } => ActionKind::CreditBack,
            Self::ResolveJob { .. } => ActionKind::Resolve,
            Self::RejectIntlOrder { .. } => ActionKind::RejectIntl,
            Self::PayCardWithdrawal { .. } => ActionKind::PayCardWithdrawal,
            Self::DecideIncoming { send_back: false, .. }
            | Self::DecideIncomingKeepingPayout { send_back: false, .. } => ActionKind::CreditTransfer,
            Self::DecideIncoming { send_back: true, .. }
            | Self::DecideIncomingKeepingPayout { send_back: true, .. } => ActionKind::ReturnTransfer,
            Self::AttributeLoss { .. } => ActionKind::BookLoss,
            Self::AttributeOrder { .. } => ActionKind::BookOrder,
            Self::AttributeOutlay { .. } => ActionKind::BookOutlay,
        }
    }

    /// Id of the subject.
    pub fn subject(&self) -> String {
        match self {
            Self::CreditJob { job, .. } | Self::ResolveJob { job, .. } => job.to_string(),
            Self::RejectIntlOrder { order, .. } => order.to_string(),
            Self::PayCardWithdrawal { withdrawal, .. } => withdrawal.to_string(),
            Self::DecideIncoming { deposit, .. } => deposit.to_string(),
            Self::DecideIncomingKeepingPayout { deposit, .. } => format!("{deposit} besides its payout"),
            Self::AttributeLoss { transaction, .. } | Self::AttributeOutlay { transaction, .. } => transaction.clone(),
            Self::AttributeOrder { order, account, .. } => format!("{order} to {account}"),
        }
    }

    fn digest_fields(&self) -> Vec<String> {
        let number = |lease: &Option<u64>| lease.map(|lease| lease.to_string()).unwrap_or_default();
        match self {
            Self::CreditJob {
                job,
                evidence,
                funds_not_sent: not_left,
            } => vec![job.to_string(), not_left.to_string(), evidence.clone()],
            Self::ResolveJob {
                job,
                done,
                reference,
                evidence,
            } => vec![job.to_string(), done.to_string(), reference.clone(), evidence.clone()],
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

    /// Evidence for the audit log, after the decision where the evidence alone would be ambiguous.
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
                true => format!("completed, {reference}: {evidence}"),
                false => format!("not completed, {reference}: {evidence}"),
            },
            Self::RejectIntlOrder { reason, .. } => reason.clone(),
            Self::PayCardWithdrawal { transaction, .. } => transaction.clone(),
        }
    }
}

/// An action that waits for a second operator.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct PendingApproval {
    /// Action to execute on approval.
    pub action: ApprovableAction,
    /// Amount that it gives.
    pub amount: Usdc,
    /// Operator and request that asked for it.
    pub requested_by: OperatorAction,
    /// Time of the request.
    pub requested_at: Timestamp,
    /// Deadline for the approval.
    pub expires_at: Timestamp,
}

impl Stored for PendingApproval {
    const SCHEMA: u16 = 362;
}

impl ApprovalId {
    /// Derives the id from the complete action and its amount. A repeated request is the same approval, and the id
    /// binds what an operator has read to what is approved.
    pub fn for_action(gift: &ApprovableAction, amount: Usdc) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"approval");
        hash.update([0]);
        hash.update(gift.kind().name());
        hash.update(amount.atomic().to_be_bytes());
        for part in gift.digest_fields() {
            // Length-prefixed, so that no two actions have the same encoding.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let hash = hash.finalize();
        let mut first = [0; 16];
        first.copy_from_slice(&hash[..16]);
        Self(u128::from_be_bytes(first))
    }
}

/// Total that an operator gave alone on one day.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct OperatorDailyTotal {
    /// Name of the operator's token.
    pub operator: String,
    /// Day (UTC), counted from 1970-01-01.
    pub day: u64,
    /// Total in USDC.
    pub sum: Usdc,
}

impl Stored for OperatorDailyTotal {
    const SCHEMA: u16 = 363;
}
