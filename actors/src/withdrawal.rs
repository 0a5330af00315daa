//! A withdrawal: part of a holder's balance, sent out of the treasury to a wallet.
//!
//! ```text
//!    .--operator names its transfer, after a restore--------.
//! pending --signed and durable--> sent --chain shows it--> COMPLETE
//!    `--could not be signed--.      `--it can never land--> FAILED, the hold is released
//!                            `----------------------------> FAILED
//! ```
//!
//! The amount is held on the account by the batch that opens the withdrawal. What is sent was durable before, the same
//! bytes on every try; a lost answer or a refusal is no proof, so it fails only when the chain shows that the transfer is
//! not there and can never come.

use purser_storage::codec::Stored;

use crate::id::{JobId, OutgoingTransferId, Wallet, WithdrawalId};
use crate::kernel::entity::Transition;
use crate::kernel::job::Job;
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, JsonObject, NewEntity, table};
use crate::money::Usdc;
use crate::operator::AuditedAction;
use crate::port::{Authorization, ExternalText, PreparedTransaction, Timestamp, TransferName};

/// A withdrawal's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Withdrawal {
    /// Whose balance it comes from.
    pub owner: Wallet,
    /// Who receives it.
    pub to: Wallet,
    /// How much.
    pub amount: Usdc,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Where it stands.
    pub status: Status,
}

/// Where a withdrawal stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Held, and nothing was signed yet.
    Pending,
    /// Signed; it may be on its way.
    Sent(Box<SignedTransfer>),
    /// On chain; what was signed is not known. An operator named its transfer, or the row is older than [`Self::CompleteSigned`].
    Complete {
        /// The transaction.
        transaction: String,
    },
    /// It is not on chain and never will be.
    Failed {
        /// The chain's word, or `not_sent`.
        reason: ExternalText,
    },
    /// On chain, by what was signed here.
    CompleteSigned {
        /// The transaction.
        transaction: String,
        /// By which the chain shows it, in whatever transaction: see [`Authorization::mark`].
        fingerprint: [u8; 32],
    },
}

/// A transfer out of the treasury, signed: what is sent on every try.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct SignedTransfer {
    /// What moves the money, once.
    pub authorization: Authorization,
    /// The bytes.
    pub prepared: PreparedTransaction,
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// It is about to be sent.
    RecordSigned(SignedTransfer),
    /// The chain shows it.
    RecordConfirmed {
        /// The effect that saw it.
        job: JobId,
        /// The transaction.
        transaction: String,
    },
    /// An operator says that this transfer, which left before a restore, was its own.
    AttributeTransfer {
        /// The effect that would send it.
        job: JobId,
        /// The transfer, as rows name it: see [`crate::port::Departure::key`].
        transaction: String,
        /// Who says so.
        act: AuditedAction,
        /// In the operator's words.
        evidence: String,
    },
    /// It was never sent, or can never land.
    Fail {
        /// The effect that proved it.
        job: JobId,
        /// Why.
        reason: ExternalText,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Asked for.
    Requested {
        /// Whose balance.
        owner: Wallet,
        /// Who receives it.
        to: Wallet,
        /// How much.
        amount: Usdc,
        /// When.
        at: Timestamp,
    },
    /// Signed.
    Signed(Box<SignedTransfer>, Timestamp),
    /// On chain.
    Confirmed(String, Timestamp),
    /// Never.
    Failed(ExternalText, Timestamp),
}

/// Why a command was refused: the state it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for Withdrawal {
    const SCHEMA: u16 = 100;
}

impl Stored for Event {
    const SCHEMA: u16 = 101;
}

impl Withdrawal {
    /// The first snapshot of a withdrawal, for the batch of the account that holds its amount.
    ///
    /// # Errors
    /// Never for a new id; the type is the engine's.
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

    /// The transaction, once it is on chain; with the place in it where that is known not to be the first.
    pub fn transaction(&self) -> Option<&str> {
        match &self.status {
            Status::Complete { transaction } | Status::CompleteSigned { transaction, .. } => Some(transaction),
            _ => None,
        }
    }

    /// By what the chain shows it, once it is on chain and if it was signed here: see [`Authorization::mark`].
    pub const fn fingerprint(&self) -> Option<[u8; 32]> {
        match &self.status {
            Status::CompleteSigned { fingerprint: mark, .. } => Some(*mark),
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

    /// Tells the account how its hold ends.
    fn settle_hold(
        &self,
        id: &WithdrawalId,
        paid: bool,
        decision: Decision<Self>,
        context: &Context,
    ) -> Decision<Self> {
        decision.enqueue(
            Job::SettleHold {
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
    const EVENT_NAMES: &'static [&'static str] = &["pending", "sent", "complete", "failed"];
    const TRANSITIONS: &'static [Transition] = &[
        ("-", "the account holds its amount", "pending"),
        ("pending", "the bytes to send are durable", "sent"),
        ("pending", "operator names its transfer, after a restore", "complete"),
        ("pending", "it could not be signed; hold released", "failed"),
        ("sent", "chain shows it", "complete"),
        ("sent", "it can never land; hold released", "failed"),
    ];

    type Id = WithdrawalId;
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = Self;

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
            // Nothing is signed for an account that is frozen by then, whatever was read before.
            (Status::Pending, Command::RecordSigned(outgoing)) => Ok(decided
                .requires_absent(table::frozen(&withdrawal.owner))
                .event(Event::Signed(Box::new(outgoing), context.now))),
            (
                Status::Sent(_),
                Command::RecordConfirmed {
                    job: effect,
                    transaction,
                },
            ) => {
                let decided = decided
                    .completes_job(effect)
                    .event(Event::Confirmed(transaction, context.now));
                Ok(withdrawal.settle_hold(id, true, decided, context))
            }
            (
                Status::Pending,
                Command::AttributeTransfer {
                    job: effect,
                    transaction,
                    act,
                    evidence,
                },
            ) => {
                let decided = decided
                    .audit(
                        &act,
                        "departure.book",
                        format!("{transaction} {id}"),
                        Some(evidence),
                        context,
                    )
                    .requires_absent(table::attributed_transfer(OutgoingTransferId::for_name(
                        withdrawal.to.network(),
                        &transaction,
                    )))
                    .completes_job(effect)
                    .event(Event::Confirmed(transaction, context.now));
                Ok(withdrawal.settle_hold(id, true, decided, context))
            }
            (Status::Pending | Status::Sent(_), Command::Fail { job: effect, reason }) => {
                let decided = decided.completes_job(effect).event(Event::Failed(reason, context.now));
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
                let (transaction, mark) = (transaction.clone(), outgoing.authorization.fingerprint());
                Ok(withdrawal.at(
                    Status::CompleteSigned {
                        transaction,
                        fingerprint: mark,
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

    fn status(&self) -> &'static str {
        match self.status {
            Status::Pending => "pending",
            Status::Sent(_) => "sent",
            Status::Complete { .. } | Status::CompleteSigned { .. } => "complete",
            Status::Failed { .. } => "failed",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn event_name(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Requested { .. } => "pending",
            Event::Signed(..) => "sent",
            Event::Confirmed(..) => "complete",
            Event::Failed(..) => "failed",
        })
    }

    fn view(&self, id: &WithdrawalId) -> JsonObject {
        let reason = match &self.status {
            Status::Failed { reason } => Some(reason.as_str()),
            _ => None,
        };
        JsonObject::new()
            .text("id", id)
            .text("state", self.status())
            .number("amount", self.amount.decimal())
            .text("asset", "USDC")
            .text("network", self.to.network().name())
            .text("address", self.to.address())
            .optional_text("tx_hash", self.transaction().map(TransferName::transaction_of))
            .optional_text("failure_reason", reason)
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<Self> {
        let ended = match self.status {
            Status::Complete { .. } | Status::CompleteSigned { .. } | Status::Failed { .. } => true,
            Status::Pending | Status::Sent(_) => false,
        };
        ended.then(|| self.clone())
    }
}
