//! Money of a payout that came back after its return window: the payout stays `complete`, and this is what becomes of the
//! money.
//!
//! ```text
//! received --the account holds it--> CREDITED
//!    `--an operator keeps what a chain has taken back before--> KEPT
//! ```
//!
//! A payout pays once, so its money comes back once: the late return has the payout's own number, and however often a rail
//! tells of it, in whatever words, it is the same one. The payout's owner is credited as for every return, by the batch's
//! own effect: the amount less the rail's return fee; our fee stays earned.

use purser_storage::codec::Stored;

use crate::id::{JobId, LateReturnId, PayoutId, Wallet};
use crate::kernel::entity::Transition;
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, JsonObject, NewEntity};
use crate::ledger::{LedgerAccount, LedgerTransaction};
use crate::money::Usdc;
use crate::port::{ExternalText, Timestamp};

/// A late return's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct LateReturn {
    /// Whose balance it goes to: the payout's owner.
    pub owner: Wallet,
    /// What was paid out.
    pub payout: PayoutId,
    /// What came back, before the rail's fee.
    pub amount: Usdc,
    /// Kept of it by the rail.
    pub return_fee: Usdc,
    /// The rail's word.
    pub reason: ExternalText,
    /// When we heard of it.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Where it stands.
    pub status: Status,
}

/// Where a late return stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// The credit is on its way.
    Received,
    /// The balance holds it.
    Credited,
    /// An operator ended its credit without giving it: a chain has taken back what paid for the payout.
    Retained,
}

/// What may be asked.
#[derive(Clone, Copy, Debug)]
pub enum Command {
    /// The account holds the credit, or there was none: the rail kept all of it.
    RecordCredit {
        /// The effect that says so.
        job: JobId,
    },
    /// Its withheld credit ends without being given: it is the house's.
    RecordRetained {
        /// The credit.
        job: JobId,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// A rail told of it.
    Received(Box<LateReturnDetails>),
    /// The balance holds it.
    Credited(Timestamp),
    /// The house keeps it.
    Retained(Timestamp),
}

/// What a late return begins with.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
#[allow(missing_docs, reason = "the fields are those of the late return")]
pub struct LateReturnDetails {
    pub owner: Wallet,
    pub payout: PayoutId,
    pub amount: Usdc,
    pub return_fee: Usdc,
    pub reason: ExternalText,
    pub at: Timestamp,
}

/// Why a command was refused: the state it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for LateReturn {
    const SCHEMA: u16 = 434;
}

impl Stored for Event {
    const SCHEMA: u16 = 435;
}

impl LateReturn {
    /// The first snapshot, for the batch of the payout whose money it is.
    ///
    /// # Errors
    /// Never for a new id; the type is the engine's.
    pub fn receive(received: LateReturnDetails, context: &Context) -> Result<NewEntity, InvalidTransition> {
        let id = LateReturnId::for_payout(received.payout);
        NewEntity::from_event::<Self>(&id, &Event::Received(Box::new(received)), context)
    }

    /// What the balance gets or has: nothing once the house keeps it.
    fn amount_given(&self) -> Usdc {
        match self.status {
            Status::Received | Status::Credited => self.credited(),
            Status::Retained => Usdc::ZERO,
        }
    }

    /// What is to be credited of it.
    pub fn credited(&self) -> Usdc {
        self.amount.checked_sub(self.return_fee).unwrap_or(Usdc::ZERO)
    }
}

impl Entity for LateReturn {
    const KIND: EntityKind = EntityKind::LateReturn;
    const EVENT_NAMES: &'static [&'static str] = &["received", "credited", "kept"];
    const TRANSITIONS: &'static [Transition] = &[
        ("-", "rail gives back a payout's money after its window", "received"),
        (
            "received",
            "the balance holds it, less the rail's return fee",
            "credited",
        ),
        (
            "received",
            "an operator ends its withheld credit without giving it",
            "kept",
        ),
    ];

    type Id = LateReturnId;
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();

    fn decide(
        this: Option<&Self>,
        id: &LateReturnId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let (done, now) = (Decision::answer(()), context.now);
        let Some(late) = this else {
            return Err(Rejection("-"));
        };
        match (late.status, command) {
            (Status::Received, Command::RecordCredit { job: effect }) => {
                Ok(done.completes_job(effect).event(Event::Credited(now)))
            }
            (Status::Received, Command::RecordRetained { job: effect }) => {
                let kept = LedgerTransaction::new(now, id).post(
                    LedgerAccount::Suspense,
                    LedgerAccount::OperatingCosts,
                    late.credited(),
                );
                Ok(done
                    .completes_job(effect)
                    .event(Event::Retained(now))
                    .post_ledger(&kept, context))
            }
            (Status::Credited | Status::Retained, _) => Err(Rejection(late.status())),
        }
    }

    fn apply(this: Option<Self>, _: &LateReturnId, event: &Event) -> Result<Self, InvalidTransition> {
        match (this, event) {
            (None, Event::Received(received)) => {
                let received = (**received).clone();
                Ok(Self {
                    owner: received.owner,
                    payout: received.payout,
                    amount: received.amount,
                    return_fee: received.return_fee,
                    reason: received.reason,
                    created_at: received.at,
                    updated_at: received.at,
                    status: Status::Received,
                })
            }
            (Some(late), Event::Credited(at)) if late.status == Status::Received => Ok(Self {
                status: Status::Credited,
                updated_at: *at,
                ..late
            }),
            (Some(late), Event::Retained(at)) if late.status == Status::Received => Ok(Self {
                status: Status::Retained,
                updated_at: *at,
                ..late
            }),
            (this, event) => Err(InvalidTransition::new(this.as_ref().map_or("-", Self::status), event)),
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Received => "received",
            Status::Credited => "credited",
            Status::Retained => "kept",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn event_name(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Received(_) => "received",
            Event::Credited(_) => "credited",
            Event::Retained(_) => "kept",
        })
    }

    fn view(&self, id: &LateReturnId) -> JsonObject {
        JsonObject::new()
            .text("late_return_id", id)
            .text("payout_id", self.payout)
            .text("status", self.status())
            .number("amount", self.amount.decimal())
            .number("return_fee", self.return_fee.decimal())
            .number("credited_amount", self.amount_given().decimal())
            .text("reason", &self.reason)
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
