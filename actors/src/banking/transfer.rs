//! Money between a holder's balance and their account at the bank.
//!
//! ```text
//! - --came in from outside, credited-----------------------------------------> COMPLETE
//! - --taken from the balance--> pending --bank moved it----------------------> COMPLETE --came back, credited--> RETURNED
//!                                  `------bank definitely refuses, credited--> FAILED
//! - --asked of the account----> pending --bank moved it, credited------------> COMPLETE
//!                                  `------bank definitely refuses------------> FAILED
//! ```
//!
//! What came in is named after the bank's own name of it: told twice it is still one. What goes out left the balance in
//! the batch that opened the transfer; it is credited back only when the bank has said for good that it never moves, or gives
//! it back, which it may do days after it has moved. The account stays, so there is no window behind which that were
//! another matter. What the bank keeps of it is not credited.

use purser_storage::codec::Stored;

use crate::id::{BankAccountId, BankTransferId, JobId, Wallet};
use crate::kernel::entity::Transition;
use crate::kernel::job::{CreditCause, Job};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, JsonObject, NewEntity};
use crate::ledger::{LedgerAccount, LedgerProvider, LedgerTransaction};
use crate::money::{Cents, Usdc};
use crate::port::Timestamp;
use crate::port::banking::BankTransferResult;

/// Which way the money goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum TransferDirection {
    /// From outside, over an on-ramp, to the balance.
    Incoming,
    /// From the balance to the account.
    ToAccount,
    /// From the account to the balance.
    ToBalance,
}

impl TransferDirection {
    /// As in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Incoming => "incoming",
            Self::ToAccount => "to_account",
            Self::ToBalance => "to_balance",
        }
    }
}

/// A transfer.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BankTransfer {
    /// Whose.
    pub owner: Wallet,
    /// The account at the bank.
    pub account: BankAccountId,
    /// Which way.
    pub direction: TransferDirection,
    /// US dollars.
    pub cents: Cents,
    /// The same in USDC, as the books have it.
    pub amount: Usdc,
    /// Who sent it, as the bank told; the holder's own words otherwise.
    pub note: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Where it stands.
    pub status: Status,
}

/// Where a transfer stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// With the bank. Towards it, the idempotency key: the id of the effect that asks, whose number is the transfer's.
    Pending(JobId),
    /// Moved. The bank's name of it.
    Complete(String),
    /// Not moved, for good. The bank's word.
    Failed(String),
    /// Moved to the account, and given back.
    Returned(ReturnDetails),
}

/// Money that the bank has given back.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ReturnDetails {
    /// The bank's name of that. The same one is the same money.
    pub reference: String,
    /// How much came back; never more than was moved.
    pub amount: Usdc,
}

/// What a transfer begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferRequest {
    /// Whose.
    pub owner: Wallet,
    /// The account at the bank.
    pub account: BankAccountId,
    /// US dollars.
    pub cents: Cents,
    /// The same in USDC.
    pub amount: Usdc,
    /// See [`BankTransfer::note`].
    pub note: Option<String>,
}

impl TransferRequest {
    fn into_transfer(self, way: TransferDirection, status: Status, at: Timestamp) -> BankTransfer {
        BankTransfer {
            owner: self.owner,
            account: self.account,
            direction: way,
            cents: self.cents,
            amount: self.amount,
            note: self.note,
            created_at: at,
            updated_at: at,
            status,
        }
    }
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// It came in from outside; the bank's name of it.
    RecordDeposit(TransferRequest, String),
    /// Take it from the account at the bank.
    Request(TransferRequest),
    /// The bank gives it back, out of the account that it was moved to.
    RecordReturn(BankAccountId, ReturnDetails),
    /// The bank's word.
    RecordResult {
        /// The effect that asked.
        job: JobId,
        /// It.
        result: BankTransferResult,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// It began, or came in.
    Started(Box<BankTransfer>),
    /// The bank moved it.
    Completed(String, Timestamp),
    /// The bank will not.
    Failed(String, Timestamp),
    /// It came back.
    Returned(ReturnDetails, Timestamp),
}

/// Why a command was refused: the state it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for BankTransfer {
    const SCHEMA: u16 = 156;
}

impl Stored for Event {
    const SCHEMA: u16 = 157;
}

/// The bank's clearing account.
const BANK: LedgerAccount = LedgerAccount::Provider(LedgerProvider::Banking);

impl BankTransfer {
    /// The first snapshot of one that takes from the balance, for the batch of the account that it is taken from.
    ///
    /// # Errors
    /// Never for a new id; the type is the engine's.
    pub fn from_balance(
        id: BankTransferId,
        wanted: TransferRequest,
        key: JobId,
        context: &Context,
    ) -> Result<NewEntity, InvalidTransition> {
        let begun = wanted.into_transfer(TransferDirection::ToAccount, Status::Pending(key), context.now);
        NewEntity::from_event::<Self>(&id, &Event::Started(Box::new(begun)), context)
    }

    /// Books the amount into suspense and has it credited.
    fn credit(&self, id: BankTransferId, decision: Decision<Self>, context: &Context) -> Decision<Self> {
        self.credit_amount(self.amount, id, decision, context)
    }

    fn credit_amount(
        &self,
        amount: Usdc,
        id: BankTransferId,
        decision: Decision<Self>,
        context: &Context,
    ) -> Decision<Self> {
        let booked = LedgerTransaction::new(context.now, id).post(BANK, LedgerAccount::Suspense, amount);
        let credit = Job::CreditAccount {
            account: self.owner,
            amount,
            cause: CreditCause::BankTransfer(id),
        };
        decision.post_ledger(&booked, context).enqueue(credit, context)
    }

    fn can_return(&self, account: BankAccountId, back: &ReturnDetails) -> bool {
        self.direction == TransferDirection::ToAccount
            && self.account == account
            && back.amount > Usdc::ZERO
            && back.amount <= self.amount
    }

    fn apply_result(
        &self,
        id: BankTransferId,
        moved: BankTransferResult,
        decision: Decision<Self>,
        context: &Context,
    ) -> Decision<Self> {
        match moved.truncated() {
            BankTransferResult::Complete { reference } => {
                let decision = decision.event(Event::Completed(reference, context.now));
                match self.direction {
                    TransferDirection::ToBalance => self.credit(id, decision, context),
                    TransferDirection::Incoming | TransferDirection::ToAccount => decision,
                }
            }
            BankTransferResult::Failed { reason } => {
                let decision = decision.event(Event::Failed(reason, context.now));
                match self.direction {
                    TransferDirection::ToAccount => self.credit(id, decision, context),
                    TransferDirection::Incoming | TransferDirection::ToBalance => decision,
                }
            }
        }
    }
}

impl Entity for BankTransfer {
    const KIND: EntityKind = EntityKind::BankTransfer;
    const EVENT_NAMES: &'static [&'static str] = &["pending", "complete", "failed", "returned"];
    const TRANSITIONS: &'static [Transition] = &[
        ("-", "came in from outside, credited", "complete"),
        ("-", "taken from the balance, or asked of the account", "pending"),
        ("pending", "bank moved it", "complete"),
        (
            "pending",
            "bank definitely refused; what left the balance credited",
            "failed",
        ),
        ("complete", "came back from the account; credited", "returned"),
    ];
    const CREATED_BY_COMMAND: bool = true;

    type Id = BankTransferId;
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();

    fn decide(
        this: Option<&Self>,
        id: &BankTransferId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let done = Decision::answer(());
        match (this.map(|this| (this, &this.status)), command) {
            (None, Command::RecordDeposit(wanted, reference)) => {
                let owner = wanted.owner;
                let arrived =
                    wanted.into_transfer(TransferDirection::Incoming, Status::Complete(reference), context.now);
                let decision = done.index_for_owner(&owner, EntityKind::BankTransfer, id.0, context);
                let decision = arrived.credit(*id, decision, context);
                Ok(decision.event(Event::Started(Box::new(arrived))))
            }
            // The bank told of it again. The same name with other money is no repetition.
            (Some((known, _)), Command::RecordDeposit(wanted, _))
                if known.direction == TransferDirection::Incoming
                    && known.account == wanted.account
                    && known.amount == wanted.amount =>
            {
                Ok(done)
            }
            (None, Command::Request(wanted)) => {
                let (owner, key) = (wanted.owner, JobId(id.0));
                let begun = wanted.into_transfer(TransferDirection::ToBalance, Status::Pending(key), context.now);
                Ok(done
                    .index_for_owner(&owner, EntityKind::BankTransfer, id.0, context)
                    .event(Event::Started(Box::new(begun)))
                    .enqueue_as(key, Job::ExecuteBankTransfer(*id), context))
            }
            (
                Some((transfer, Status::Pending(key))),
                Command::RecordResult {
                    job: effect,
                    result: moved,
                },
            ) if *key == effect => Ok(transfer.apply_result(*id, moved, done.completes_job(effect), context)),
            (Some((transfer, Status::Complete(_))), Command::RecordReturn(account, back))
                if transfer.can_return(account, &back) =>
            {
                let decision = transfer.credit_amount(back.amount, *id, done, context);
                Ok(decision.event(Event::Returned(back, context.now)))
            }
            // What came back was moved, though the bank's yes has not reached us: nobody asks for it any more.
            (Some((transfer, Status::Pending(key))), Command::RecordReturn(account, back))
                if transfer.can_return(account, &back) =>
            {
                let decision = transfer.credit_amount(back.amount, *id, done.completes_job(*key), context);
                let completed = Event::Completed(back.reference.clone(), context.now);
                Ok(decision.event(completed).event(Event::Returned(back, context.now)))
            }
            // The bank told of it again.
            (Some((_, Status::Returned(known))), Command::RecordReturn(_, back)) if *known == back => Ok(done),
            (_, _) => Err(Rejection(this.map_or("-", Self::status))),
        }
    }

    fn apply(this: Option<Self>, _: &BankTransferId, event: &Event) -> Result<Self, InvalidTransition> {
        let Some(transfer) = this else {
            return match event {
                Event::Started(transfer) => Ok((**transfer).clone()),
                event => Err(InvalidTransition::new("-", event)),
            };
        };
        let (status, at) = match (&transfer.status, event) {
            (Status::Pending(_), Event::Completed(reference, at)) => (Status::Complete(reference.clone()), *at),
            (Status::Pending(_), Event::Failed(reason, at)) => (Status::Failed(reason.clone()), *at),
            (Status::Complete(_), Event::Returned(back, at)) => (Status::Returned(back.clone()), *at),
            (_, event) => return Err(InvalidTransition::new(transfer.status(), event)),
        };
        Ok(Self {
            status,
            updated_at: at,
            ..transfer
        })
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Pending(_) => "pending",
            Status::Complete(_) => "complete",
            Status::Failed(_) => "failed",
            Status::Returned(_) => "returned",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn event_name(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Started(transfer) => transfer.status(),
            Event::Completed(..) => "complete",
            Event::Failed(..) => "failed",
            Event::Returned(..) => "returned",
        })
    }

    fn view(&self, id: &BankTransferId) -> JsonObject {
        let (reference, reason) = match &self.status {
            Status::Complete(reference) => (Some(reference), None),
            Status::Failed(reason) => (None, Some(reason)),
            Status::Returned(back) => (Some(&back.reference), None),
            Status::Pending(_) => (None, None),
        };
        let view = JsonObject::new()
            .text("transaction_id", id)
            .text("type", "transfer")
            .text("direction", self.direction.name())
            .text("status", self.status())
            .number("amount", self.amount.decimal())
            .text("currency", "USD")
            .text("account_id", self.account)
            .optional_text("note", self.note.as_ref())
            .optional_text("reference", reference)
            .optional_text("failure_reason", reason)
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at);
        match &self.status {
            Status::Returned(back) => view.number("returned_amount", back.amount.decimal()),
            _ => view,
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
