//! Money between a holder's balance and their account at the bank.
//!
//! ```text
//! - --came in from outside, credited-----------------------------------------> COMPLETE
//! - --taken from the balance--> pending --bank moved it----------------------> COMPLETE
//!                                  `------bank definitely refuses, credited--> FAILED
//! - --asked of the account----> pending --bank moved it, credited------------> COMPLETE
//!                                  `------bank definitely refuses------------> FAILED
//! ```
//!
//! What came in is named after the bank's own name of it: told twice it is still one. What goes out left the balance in
//! the batch that opened the transfer; it is credited back only when the bank has said for good that it never moves.

use purser_storage::codec::Stored;

use crate::id::{BankAccountId, BankTransferId, EffectId, Wallet};
use crate::kernel::effect::{CreditCause, Work};
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, Opening, OutOfOrder, View};
use crate::ledger::{Place, Provider, Transaction};
use crate::money::{Cents, Usdc};
use crate::port::Timestamp;
use crate::port::banking::Moved;

/// Which way the money goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Way {
    /// From outside, over an on-ramp, to the balance.
    Incoming,
    /// From the balance to the account.
    ToAccount,
    /// From the account to the balance.
    ToBalance,
}

impl Way {
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
    pub way: Way,
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
    /// With the bank. Towards it, the idempotency key: the id of the effect that asks.
    Pending(EffectId),
    /// Moved. The bank's name of it.
    Complete(String),
    /// Not moved, for good. The bank's word.
    Failed(String),
}

/// What a transfer begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
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

impl Wanted {
    fn begun(self, way: Way, status: Status, at: Timestamp) -> BankTransfer {
        BankTransfer {
            owner: self.owner,
            account: self.account,
            way,
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
    Arrived(Wanted, String),
    /// Take it from the account at the bank.
    Draw(Wanted),
    /// The bank's word.
    Moved {
        /// The effect that asked.
        effect: EffectId,
        /// It.
        moved: Moved,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// It began, or came in.
    Began(Box<BankTransfer>),
    /// The bank moved it.
    Completed(String, Timestamp),
    /// The bank will not.
    Failed(String, Timestamp),
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
const BANK: Place = Place::Provider(Provider::Banking);

impl BankTransfer {
    /// The first snapshot of one that takes from the balance, for the batch of the account that it is taken from.
    ///
    /// # Errors
    /// Never for a new id; the type is the engine's.
    pub fn from_balance(
        id: BankTransferId,
        wanted: Wanted,
        key: EffectId,
        context: &Context,
    ) -> Result<Opening, OutOfOrder> {
        let begun = wanted.begun(Way::ToAccount, Status::Pending(key), context.now);
        Opening::of::<Self>(&id, &Event::Began(Box::new(begun)), context)
    }

    /// Books the amount into suspense and has it credited.
    fn credited(&self, id: BankTransferId, decision: Decision<Self>, context: &Context) -> Decision<Self> {
        let booked = Transaction::new(context.now, id).book(BANK, Place::Suspense, self.amount);
        let credit = Work::Credit {
            account: self.owner,
            amount: self.amount,
            cause: CreditCause::BankTransfer(id),
        };
        decision.post(&booked, context).then(credit, context)
    }

    fn moved(&self, id: BankTransferId, moved: Moved, decision: Decision<Self>, context: &Context) -> Decision<Self> {
        match moved.shortened() {
            Moved::Complete { reference } => {
                let decision = decision.event(Event::Completed(reference, context.now));
                match self.way {
                    Way::ToBalance => self.credited(id, decision, context),
                    Way::Incoming | Way::ToAccount => decision,
                }
            }
            Moved::Failed { reason } => {
                let decision = decision.event(Event::Failed(reason, context.now));
                match self.way {
                    Way::ToAccount => self.credited(id, decision, context),
                    Way::Incoming | Way::ToBalance => decision,
                }
            }
        }
    }
}

impl Entity for BankTransfer {
    const KIND: Kind = Kind::BankTransfer;
    const CHANGES: &'static [&'static str] = &["pending", "complete", "failed"];
    const MOVES: &'static [Move] = &[
        ("-", "came in from outside, credited", "complete"),
        ("-", "taken from the balance, or asked of the account", "pending"),
        ("pending", "bank moved it", "complete"),
        (
            "pending",
            "bank definitely refused; what left the balance credited",
            "failed",
        ),
    ];
    const SELF_BORN: bool = true;

    type Id = BankTransferId;
    type Command = Command;
    type Event = Event;
    type Answer = ();
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
            (None, Command::Arrived(wanted, reference)) => {
                let owner = wanted.owner;
                let arrived = wanted.begun(Way::Incoming, Status::Complete(reference), context.now);
                let decision = done.owned(&owner, Kind::BankTransfer, id.0, context);
                let decision = arrived.credited(*id, decision, context);
                Ok(decision.event(Event::Began(Box::new(arrived))))
            }
            // The bank told of it again.
            (Some(_), Command::Arrived(..)) => Ok(done),
            (None, Command::Draw(wanted)) => {
                let (owner, key) = (wanted.owner, EffectId(context.id()));
                let begun = wanted.begun(Way::ToBalance, Status::Pending(key), context.now);
                Ok(done
                    .owned(&owner, Kind::BankTransfer, id.0, context)
                    .event(Event::Began(Box::new(begun)))
                    .then_as(key, Work::MoveBankMoney(*id), context))
            }
            (Some((transfer, Status::Pending(key))), Command::Moved { effect, moved }) if *key == effect => {
                Ok(transfer.moved(*id, moved, done.completes(effect), context))
            }
            (_, _) => Err(Rejection(this.map_or("-", Self::status))),
        }
    }

    fn apply(this: Option<Self>, _: &BankTransferId, event: &Event) -> Result<Self, OutOfOrder> {
        let Some(transfer) = this else {
            return match event {
                Event::Began(transfer) => Ok((**transfer).clone()),
                event => Err(OutOfOrder::new("-", event)),
            };
        };
        let (status, at) = match (&transfer.status, event) {
            (Status::Pending(_), Event::Completed(reference, at)) => (Status::Complete(reference.clone()), *at),
            (Status::Pending(_), Event::Failed(reason, at)) => (Status::Failed(reason.clone()), *at),
            (_, event) => return Err(OutOfOrder::new(transfer.status(), event)),
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
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn announces(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Began(transfer) => transfer.status(),
            Event::Completed(..) => "complete",
            Event::Failed(..) => "failed",
        })
    }

    fn view(&self, id: &BankTransferId) -> View {
        let (reference, reason) = match &self.status {
            Status::Complete(reference) => (Some(reference), None),
            Status::Failed(reason) => (None, Some(reason)),
            Status::Pending(_) => (None, None),
        };
        View::new()
            .text("transaction_id", id)
            .text("type", "transfer")
            .text("direction", self.way.name())
            .text("status", self.status())
            .number("amount", self.amount.decimal())
            .text("currency", "USD")
            .text("account_id", self.account)
            .maybe("note", self.note.as_ref())
            .maybe("reference", reference)
            .maybe("failure_reason", reason)
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
