//! A spend approval: an agent wants to spend more than a limit of the account owner allows, from the managed wallet or
//! from a balance of the account, and waits for the owner's consent.
//!
//! ```text
//!    .----time is over------------------------.
//! pending --owner approves--> approved --> expired
//!    `--owner declines--.        |   |
//!                       v        |   `--the spend was made--> used
//!                    declined <--' owner declines after all, or the agent's access ends
//! ```
//!
//! Nothing is signed, reserved or charged for it. An approval is valid once, for exactly one spend, and for a limited
//! time. The batch that approves it writes a row; the batch that makes the spend deletes that row. So of two calls
//! at once, one passes, and an approval that has ended lets nothing pass. What the owner's limits are stays the same.

mod job;
mod machine;
mod view;
mod visibility;

use std::fmt;

use purser_storage::codec::{self, Stored};
use sha2::{Digest, Sha256};

pub use self::job::Job;
pub use self::view::{DeclineReason, ExceededLimitView, RoutePurchaseView, SpendApprovalView, SpendKind};
pub use self::visibility::{as_seen_by, is_same_for_all, sees_event, sees_request_of, without_webhook_url};
use crate::entity::wallet_payment::PaymentMethod;
use crate::id::{
    ApiKeyId, BankAccountId, BankDestinationId, BankTransferId, JobId, PayoutId, SessionId, Wallet, WalletPaymentId,
    WithdrawalId,
};
use crate::money::{Cents, Usdc};
use crate::named_enum::named_enum;
use crate::port::Timestamp;

/// How long a request waits for the owner, in milliseconds.
pub const PENDING_MS: u64 = 24 * 3_600_000;
/// How long an approval can be used, in milliseconds.
pub const APPROVED_MS: u64 = 15 * 60_000;
/// Maximum number of open requests and unused approvals of one account.
pub const MAX_OPEN: u8 = 20;
/// Open requests of one API key, or of one session without a key, so that no agent takes every place of the account.
pub const MAX_OPEN_OF_ONE: usize = 8;

named_enum! {
    /// Limit that the account owner has set. Stored numbers: never reuse one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
    pub enum SpendLimit {
        /// Limit of the managed wallet for one payment or transfer.
        PerCall = "per_call_usd",
        /// Limit of the managed wallet for a day.
        PerDay = "per_day_usd",
        /// Limit of the API key for one payment or transfer.
        KeyPerCall = "api_key_per_call_usd",
        /// Limit of the API key for a day.
        KeyPerDay = "api_key_per_day_usd",
        /// Limit of the managed wallet for a day at one merchant.
        MerchantPerDay = "merchant_per_day_usd",
        /// Limit for what an agent takes from a balance of the account at once.
        BalancePerCall = "balance_per_call_usd",
        /// Limit for what agents take from the balances of the account in a day.
        BalancePerDay = "balance_per_day_usd",
    }
}

/// A limit that a spend exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ExceededLimit {
    /// Which limit.
    pub limit: SpendLimit,
    /// Its value.
    pub cap: Cents,
    /// What is left of it: for a limit per call, all of it.
    pub left: Usdc,
}

/// Who spends: the session of the token, and the API key that opened it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SpendAgent {
    /// Session of the agent's token.
    pub session: Option<SessionId>,
    /// API key of the session; none if the wallet signed in.
    pub key: Option<ApiKeyId>,
}

/// Exactly what an approval is for.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SpendTerms {
    /// Who receives it.
    pub payee: SpendPayee,
    /// Amount in USDC.
    pub amount: Usdc,
    /// What the agent does.
    pub act: SpendAct,
    /// Keyed digest of a paid call: URL, method and body. Zeros for everything else.
    pub call: [u8; 32],
    /// API key of the agent; none if the wallet signed in. Another agent cannot use the approval.
    pub key: Option<ApiKeyId>,
}

/// Who receives a spend.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum SpendPayee {
    /// A wallet. Its chain is the network.
    Wallet(Wallet),
    /// A bank account of a saved recipient.
    BankDestination(BankDestinationId),
    /// The owner's account at the bank.
    BankAccount(BankAccountId),
}

/// What an agent does with the owner's money. Stored numbers: never reuse one.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum SpendAct {
    /// A transfer from the managed wallet.
    Transfer,
    /// A call that the managed wallet pays for.
    PaidCall {
        /// `host:port`, or `route` for Purser's own routes.
        host: String,
    },
    /// A withdrawal from the account's balance.
    Withdrawal,
    /// A withdrawal from the balance at the card issuer.
    CardBalanceWithdrawal,
    /// A transfer from the account's balance to the owner's bank account.
    BankTransfer,
    /// A payout from the account's balance to a bank account.
    BankPayout,
}

impl From<&PaymentMethod> for SpendAct {
    fn from(method: &PaymentMethod) -> Self {
        match method {
            PaymentMethod::Transfer => Self::Transfer,
            PaymentMethod::PaidCall { host } => Self::PaidCall { host: host.clone() },
        }
    }
}

impl SpendAct {
    /// Host of a paid call.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::PaidCall { host } => Some(host),
            _ => None,
        }
    }
}

/// The spend that used an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bincode::Encode, bincode::Decode)]
pub enum SpendUse {
    /// A payment of the managed wallet.
    WalletPayment(WalletPaymentId),
    /// A withdrawal from the account's balance.
    Withdrawal(WithdrawalId),
    /// A withdrawal from the balance at the card issuer.
    CardBalanceWithdrawal(WithdrawalId),
    /// A transfer to the owner's bank account.
    BankTransfer(BankTransferId),
    /// A payout to a bank account.
    BankPayout(PayoutId),
}

impl fmt::Display for SpendUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WalletPayment(id) => id.fmt(f),
            Self::Withdrawal(id) | Self::CardBalanceWithdrawal(id) => id.fmt(f),
            Self::BankTransfer(id) => id.fmt(f),
            Self::BankPayout(id) => id.fmt(f),
        }
    }
}

impl SpendTerms {
    /// Digest of all terms.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(b"spend");
        hash.update(codec::encode_body(self));
        hash.finalize().into()
    }
}

/// What a paid call buys at one of Purser's own routes, so that the owner is asked about that and not about a price.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct RoutePurchase {
    /// Path of the route, and after it, as a query, the ids of [`Self::NAMED`] that the agent gave. Older rows have the
    /// path only.
    pub route: String,
    /// Amount that it is for, as the agent wrote it.
    pub amount: Option<String>,
    /// Currency of the amount, if the agent named one.
    pub currency: Option<String>,
}

impl RoutePurchase {
    /// Parameters that say what is bought or who is paid, beyond the amount.
    pub const NAMED: [&str; 4] = ["product_id", "country", "destination_id", "recipient_id"];

    /// Path of the route.
    pub fn path(&self) -> &str {
        self.route.split('?').next().unwrap_or_default()
    }

    /// Value of one of [`Self::NAMED`].
    pub fn named(&self, name: &str) -> Option<&str> {
        let (_, query) = self.route.split_once('?')?;
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// State of a spend approval.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SpendApproval {
    /// Account whose owner decides.
    pub owner: Wallet,
    /// The spend.
    pub terms: SpendTerms,
    /// Limits that it exceeded when it was requested. An approval passes these and no other.
    pub exceeded: Vec<ExceededLimit>,
    /// Agent that requested it.
    pub agent: SpendAgent,
    /// Note of the agent.
    pub note: Option<String>,
    /// What it buys at one of Purser's own routes.
    pub purchase: Option<RoutePurchase>,
    /// Slot of the owner that it uses while it is open.
    slot: u8,
    /// Time of the request.
    pub requested_at: Timestamp,
    /// End of the wait, or of the approval.
    pub expires_at: Timestamp,
    /// Time of the owner's decision.
    pub decided_at: Option<Timestamp>,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Status, with the spend once it was made.
    pub status: Status,
}

/// Status of a spend approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// It waits for the owner.
    Pending,
    /// The owner approved it, and it is not used yet.
    Approved,
    /// The owner declined it. The same spend cannot be requested again until the first request would have expired.
    Declined,
    /// Declined, and the same spend can be requested again.
    DeclinedEnded,
    /// Its time was over before the owner decided, or before it was used.
    Expired,
    /// The spend was made.
    Used(SpendUse),
    /// The access of the agent ended before the spend was made. It counts as declined.
    AgentEnded,
}

/// Commands to a spend approval.
#[derive(Clone, Debug)]
pub enum Command {
    /// Requests the owner's consent.
    Request(Box<SpendRequest>),
    /// The owner approves.
    Approve,
    /// The owner declines, or takes an unused approval back.
    Decline,
    /// Ends it if its time is over.
    Expire {
        /// Job that is due.
        job: JobId,
    },
    /// After a restore: ends it if it is approved. The lost history may have used it.
    EndByRestore,
    /// Ends it if it is open, because the access of the agent that asked has ended.
    EndWithAgent,
    /// The spend was made: its batch has deleted the row of the approval.
    RecordUse {
        /// Job that reports it.
        job: JobId,
        /// The spend.
        used_by: SpendUse,
    },
}

/// What a request for consent says.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SpendRequest {
    /// Account whose owner decides.
    pub owner: Wallet,
    /// The spend.
    pub terms: SpendTerms,
    /// Limits that it exceeds.
    pub exceeded: Vec<ExceededLimit>,
    /// Agent that asks.
    pub agent: SpendAgent,
    /// Note of the agent.
    pub note: Option<String>,
    /// What it buys at one of Purser's own routes.
    pub purchase: Option<RoutePurchase>,
    /// Slot that it will use.
    pub slot: u8,
}

/// Events of a spend approval.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// An agent asked for it.
    Requested(Box<SpendRequest>, Timestamp),
    /// The owner approved it.
    Approved(Timestamp),
    /// The owner declined it.
    Declined(Timestamp),
    /// Its time was over.
    Expired(Timestamp),
    /// The spend was made.
    Used(SpendUse, Timestamp),
    /// The same spend can be requested again.
    DeclineEnded(Timestamp),
    /// The access of the agent that asked has ended.
    AgentEnded(Timestamp),
}

crate::state_machine! { SpendApproval, Status, Event;
    states {
        Pending = "pending", Approved = "approved", Declined | DeclinedEnded | AgentEnded = "declined",
        Expired = "expired", Used = "used",
    }
    events {
        Requested "requested" { - => Pending: "request of an agent over a limit of the account owner" }
        Approved "approved" { Pending => Approved: "consent of the account owner" }
        Declined "declined" {
            Pending => Declined: "refusal by the account owner",
            Approved => Declined: "refusal by the account owner before the use",
        }
        Expired "expired" {
            Pending => Expired: "no decision within 24 hours",
            Approved => Expired: "no use within 15 minutes, or a restore",
        }
        Used "used" { Approved => Used: "the spend that it was given for" }
        DeclineEnded - { Declined }
        AgentEnded "declined" {
            Pending => Declined: "end of the agent's access",
            Approved => Declined: "end of the agent's access",
        }
    }
}

/// Reason why a spend approval rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It does not exist.
    NotFound,
    /// The owner declined it.
    Declined,
    /// Its time is over.
    Expired,
    /// The spend was made.
    Used,
    /// The owner has not approved it: no batch can have used it.
    NotApproved,
    /// The access of the agent that asked has ended.
    AgentEnded,
}

impl Stored for SpendApproval {
    const SCHEMA: u16 = 760;
}

impl Stored for Event {
    const SCHEMA: u16 = 761;
}

impl SpendApproval {
    /// Whether it waits for the owner or for its use.
    pub const fn is_open(&self) -> bool {
        matches!(self.status, Status::Pending | Status::Approved)
    }

    /// Whether it can be used now, unless another spend has used it.
    pub fn is_usable(&self, now: Timestamp) -> bool {
        self.status == Status::Approved && now < self.expires_at
    }

    /// Why it cannot be decided or used any more.
    pub const fn end(&self) -> Option<Rejection> {
        match self.status {
            Status::Pending | Status::Approved => None,
            Status::Declined | Status::DeclinedEnded => Some(Rejection::Declined),
            Status::Expired => Some(Rejection::Expired),
            Status::Used(_) => Some(Rejection::Used),
            Status::AgentEnded => Some(Rejection::AgentEnded),
        }
    }
}
