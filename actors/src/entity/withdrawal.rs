//! A withdrawal: part of an account's balance, sent from the treasury to a wallet.
//!
//! ```text
//!    .--operator attributes a transfer, after a restore-----.
//! pending --signed and durable--> sent --chain shows it--> COMPLETE
//!    `--could not be signed--.      `--can never settle---> FAILED, the hold is released
//!                            `----------------------------> FAILED
//! ```
//!
//! The batch that opens the withdrawal holds the amount on the account. The signed bytes are durable before they are
//! sent and are the same on every attempt. A lost response or a decline is no proof. The withdrawal fails only when the
//! chain shows that the transfer is absent and can never settle.

use purser_storage::codec::Stored;
use serde::Serialize;

use crate::answer::{Address, ExactDecimal, Time};
use crate::entity::account;
use crate::id::{JobId, Network, OutgoingTransferId, TransferName, Wallet, WithdrawalId};
use crate::jobs::{JobPolicy, LineDependency, OutgoingPurpose, Queue, jobs};
use crate::kernel::{
    Context, Decision, Entity, EntityId, EntityKind, InvalidTransition, NewEntity, StateMachine as _, table,
};
use crate::money::Usdc;
use crate::operator::{AuditAction, AuditedAction};
use crate::port::{Authorization, ExternalText, PreparedTransaction, Timestamp};

jobs! { Withdrawal:
    /// Sign and send a withdrawal, and follow it until it is confirmed or can never settle.
    15 SendWithdrawal(id: WithdrawalId) = "send_withdrawal" => JobPolicy {
        line: LineDependency::None,
        outgoing: Some(|key| WithdrawalId::from_key(key).map(OutgoingPurpose::Withdrawal)),
        queue: Queue::OfKind,
        operator: None,
    };
}

/// State of a withdrawal.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Withdrawal {
    /// Account that is debited.
    pub owner: Wallet,
    /// Wallet that receives the money.
    pub to: Wallet,
    /// Amount in USDC.
    pub amount: Usdc,
    /// Time of the request.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Status, with the signed transfer once it is stored.
    pub status: Status,
}

/// Status of a withdrawal.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// The amount is held, and nothing was signed yet.
    Pending,
    /// Signed; it may already be sent.
    Sent(Box<SignedTransfer>),
    /// On chain, without known signed bytes: an operator attributed the transfer.
    Complete {
        /// Transaction id on its chain.
        transaction: String,
    },
    /// It is not on chain and can never settle.
    Failed {
        /// The chain's reason, or `not_sent`.
        reason: ExternalText,
    },
    /// On chain, by the bytes that were signed here.
    CompleteSigned {
        /// Transaction id on its chain.
        transaction: String,
        /// Fingerprint that the chain shows in every transaction: see [`Authorization::fingerprint`].
        fingerprint: [u8; 32],
    },
}

/// A signed transfer out of the treasury: the same on every attempt.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SignedTransfer {
    /// Payment authorization; it moves the money at most once.
    pub authorization: Authorization,
    /// Transaction to send.
    pub prepared: PreparedTransaction,
}

/// Commands to a withdrawal.
#[derive(Clone, Debug)]
pub enum Command {
    /// It is signed and about to be sent.
    RecordSigned(SignedTransfer),
    /// The chain shows it.
    RecordConfirmed {
        /// Job that observed it.
        job: JobId,
        /// Transaction id on its chain.
        transaction: String,
    },
    /// An operator attributes a transfer that left before a restore to this withdrawal.
    AttributeTransfer {
        /// Job that would send it.
        job: JobId,
        /// Key of the transfer: see [`crate::port::OutgoingTransfer::key`].
        transaction: String,
        /// Operator action for the audit log.
        act: AuditedAction,
        /// The operator's evidence, as entered.
        evidence: String,
    },
    /// It was never sent, or can never settle.
    Fail {
        /// Job that proved it.
        job: JobId,
        /// Reason for the outcome.
        reason: ExternalText,
    },
}

/// Events of a withdrawal.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Requested by the account owner.
    Requested {
        /// Account that is debited.
        owner: Wallet,
        /// Wallet that receives the money.
        to: Wallet,
        /// Amount in USDC.
        amount: Usdc,
        /// Time of the event.
        at: Timestamp,
    },
    /// The transfer is signed.
    Signed(Box<SignedTransfer>, Timestamp),
    /// Confirmed on chain.
    Confirmed(String, Timestamp),
    /// It was not sent and can never settle.
    Failed(ExternalText, Timestamp),
}

/// A withdrawal from a balance.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct WithdrawalView<'a> {
    /// `wd_…` is the id of the withdrawal.
    pub id: WithdrawalId,
    /// `card_balance` for a withdrawal from the balance at the card issuer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<WithdrawalSource>,
    /// `pending`, `sent`, `complete` or `failed`.
    pub state: State,
    /// Detailed status of a card balance withdrawal: `pending`, `queued`, `claimed`, `complete`, `rejected` or
    /// `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<crate::entity::card_withdrawal::State>,
    /// Amount in US dollars.
    pub amount: ExactDecimal,
    /// `USDC` is the token.
    pub asset: &'static str,
    /// `base` or `solana`.
    pub network: Network,
    /// Address of the receiver.
    pub address: Address,
    /// Transaction id, once on chain. From a card balance, as the operator entered it.
    pub tx_hash: Option<&'a str>,
    /// Reason of a failed or rejected withdrawal. Its amount is available again.
    pub failure_reason: Option<&'a str>,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

/// Balance of a withdrawal, if it is not the account's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub enum WithdrawalSource {
    /// The balance at the card issuer.
    #[serde(rename = "card_balance")]
    CardBalance,
}

crate::state_machine! { Withdrawal, Status, Event;
    states { Pending = "pending", Sent = "sent", Complete | CompleteSigned = "complete", Failed = "failed" }
    events {
        Requested "pending" { - => Pending: "hold on the account's balance" }
        Signed "sent" { Pending => Sent: "durable storage of the signed bytes" }
        Confirmed "complete" {
            Pending => Complete: "attribution of its transfer by an operator after a restore",
            Sent => Complete: "transfer found on chain",
        }
        Failed "failed" {
            Pending => Failed: "failure before signing; hold released",
            Sent => Failed: "proof that it cannot settle; hold released",
        }
    }
}

/// Reason why a withdrawal rejects a command: its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for Withdrawal {
    const SCHEMA: u16 = 102;
}

impl Stored for Event {
    const SCHEMA: u16 = 103;
}

impl Withdrawal {
    /// First snapshot of a withdrawal, for the batch of the account that holds its amount.
    ///
    /// # Errors
    /// Never for a new id; the error type is the engine's.
    pub fn request(
        id: WithdrawalId,
        owner: Wallet,
        to: Wallet,
        amount: Usdc,
        context: &Context,
    ) -> Result<NewEntity, InvalidTransition> {
        let at = context.now;
        NewEntity::from_event::<Self>(&id, &Event::Requested { owner, to, amount, at }, context)
    }

    /// Transaction id, once it is on chain, with the index in it if it is known not to be the first.
    pub fn transaction(&self) -> Option<&str> {
        match &self.status {
            Status::Complete { transaction } | Status::CompleteSigned { transaction, .. } => Some(transaction),
            _ => None,
        }
    }

    /// Fingerprint on the chain, once it is on chain and if it was signed here: see [`Authorization::fingerprint`].
    pub const fn fingerprint(&self) -> Option<[u8; 32]> {
        match &self.status {
            Status::CompleteSigned { fingerprint, .. } => Some(*fingerprint),
            _ => None,
        }
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    /// Starts the job that settles the account's hold.
    fn settle_hold(
        &self,
        id: &WithdrawalId,
        paid: bool,
        decision: Decision<Self>,
        context: &Context,
    ) -> Decision<Self> {
        decision.enqueue(
            account::Job::SettleHold {
                account: self.owner,
                withdrawal: *id,
                amount: self.amount,
                paid: paid.then(|| self.to.network()),
            },
            context,
        )
    }
}

impl Entity for Withdrawal {
    const KIND: EntityKind = EntityKind::Withdrawal;

    type Id = WithdrawalId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = Self;
    type View<'a> = WithdrawalView<'a>;

    fn decide(
        this: Option<&Self>,
        id: &WithdrawalId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let Some(withdrawal) = this else {
            return Err(Rejection("-"));
        };
        let decided = Decision::answer(());
        match (&withdrawal.status, command) {
            // Nothing is signed for an account that is frozen at commit, whatever was read before.
            (Status::Pending, Command::RecordSigned(outgoing)) => Ok(decided
                .requires_absent(table::frozen(&withdrawal.owner))
                .event(Event::Signed(Box::new(outgoing), context.now))),
            (Status::Sent(_), Command::RecordConfirmed { job, transaction }) => {
                let decided = decided
                    .completes_job(job)
                    .event(Event::Confirmed(transaction, context.now));
                Ok(withdrawal.settle_hold(id, true, decided, context))
            }
            (
                Status::Pending,
                Command::AttributeTransfer {
                    job,
                    transaction,
                    act,
                    evidence,
                },
            ) => {
                let decided = decided
                    .audit(
                        &act,
                        AuditAction::TransferAttribute,
                        format!("{transaction} {id}"),
                        Some(evidence),
                        context,
                    )
                    .requires_absent(table::attributed_transfer(OutgoingTransferId::for_name(
                        withdrawal.to.network(),
                        &transaction,
                    )))
                    .completes_job(job)
                    .event(Event::Confirmed(transaction, context.now));
                Ok(withdrawal.settle_hold(id, true, decided, context))
            }
            (Status::Pending | Status::Sent(_), Command::Fail { job, reason }) => {
                let decided = decided.completes_job(job).event(Event::Failed(reason, context.now));
                Ok(withdrawal.settle_hold(id, false, decided, context))
            }
            (_, _) => Err(Rejection(withdrawal.status())),
        }
    }

    fn apply(this: Option<Self>, _: &WithdrawalId, event: &Event) -> Result<Self, InvalidTransition> {
        let Some(withdrawal) = this else {
            return match event {
                Event::Requested { owner, to, amount, at } => Ok(Self {
                    owner: *owner,
                    to: *to,
                    amount: *amount,
                    created_at: *at,
                    updated_at: *at,
                    status: Status::Pending,
                }),
                event => Err(InvalidTransition::new("-", event)),
            };
        };
        match (&withdrawal.status, event) {
            (Status::Pending, Event::Signed(outgoing, at)) => Ok(withdrawal.at(Status::Sent(outgoing.clone()), *at)),
            (Status::Pending, Event::Confirmed(transaction, at)) => {
                let transaction = transaction.clone();
                Ok(withdrawal.at(Status::Complete { transaction }, *at))
            }
            (Status::Sent(outgoing), Event::Confirmed(transaction, at)) => {
                let (transaction, fingerprint) = (transaction.clone(), outgoing.authorization.fingerprint());
                Ok(withdrawal.at(
                    Status::CompleteSigned {
                        transaction,
                        fingerprint,
                    },
                    *at,
                ))
            }
            (Status::Pending | Status::Sent(_), Event::Failed(reason, at)) => {
                Ok(withdrawal.at(Status::Failed { reason: reason.clone() }, *at))
            }
            (_, event) => Err(InvalidTransition::new(withdrawal.status(), event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &WithdrawalId) -> WithdrawalView<'_> {
        let reason = match &self.status {
            Status::Failed { reason } => Some(reason.as_str()),
            _ => None,
        };
        WithdrawalView {
            id: *id,
            source: None,
            state: self.state(),
            status: None,
            amount: self.amount.into(),
            asset: "USDC",
            network: self.to.network(),
            address: self.to.into(),
            tx_hash: self.transaction().map(TransferName::transaction_of),
            failure_reason: reason,
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<Self> {
        let ended = match self.status {
            Status::Complete { .. } | Status::CompleteSigned { .. } | Status::Failed { .. } => true,
            Status::Pending | Status::Sent(_) => false,
        };
        ended.then(|| self.clone())
    }
}
