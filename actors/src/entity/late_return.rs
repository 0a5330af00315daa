//! A late return: money of a payout that was returned after its return window. The payout stays `complete`.
//!
//! ```text
//! received --account is credited---> CREDITED
//!    `--an operator retains it because the payment was reorged--> KEPT
//! ```
//!
//! A payout pays once, so its money returns once. The late return has the payout's number, and repeated rail events are
//! the same late return. As with every return, the payout's owner is credited by a job of the same batch: the amount
//! less the rail's return fee. Our fee stays earned.

use purser_storage::codec::Stored;
use serde::Serialize;

use crate::answer::{ExactDecimal, Time};
use crate::id::{JobId, LateReturnId, PayoutId, Wallet};
use crate::jobs::{JobPolicy, LineDependency, Queue, jobs};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, NewEntity, StateMachine as _};
use crate::ledger::{LedgerAccount, LedgerTransaction};
use crate::money::Usdc;
use crate::port::{ExternalText, Timestamp};

jobs! { LateReturn:
    /// Confirm to a late return that its account was credited.
    21 ConfirmLateReturnCredit(id: LateReturnId) = "confirm_late_return_credit" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}

/// State of a late return.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct LateReturn {
    /// Account that is credited: the payout's owner.
    pub owner: Wallet,
    /// Payout whose money was returned.
    pub payout: PayoutId,
    /// Returned amount, before the rail's fee.
    pub amount: Usdc,
    /// Fee that the rail deducted.
    pub return_fee: Usdc,
    /// Reason given by the rail.
    pub reason: ExternalText,
    /// Time when we were notified.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Whether the return is credited, received or retained.
    pub status: Status,
}

/// Status of a late return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// The credit is in progress.
    Received,
    /// The account's balance was credited.
    Credited,
    /// An operator ended its credit without paying it: the payment for the payout was reorged.
    Retained,
}

/// Commands to a late return.
#[derive(Clone, Copy, Debug)]
pub enum Command {
    /// The account was credited, or there was nothing to credit because the fee took all of it.
    RecordCredit {
        /// Job that reports it.
        job: JobId,
    },
    /// Its withheld credit ends without being paid: Purser retains it.
    RecordRetained {
        /// Job of the credit.
        job: JobId,
    },
}

/// Events of a late return.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// A rail reported it.
    Received(Box<LateReturnDetails>),
    /// The account's balance was credited.
    Credited(Timestamp),
    /// Purser retains it.
    Retained(Timestamp),
}

/// A payout that was returned after its return window.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = LateReturn))]
pub struct LateReturnView<'a> {
    /// Id of the late return: the `cause` of the credit in the account's statement.
    pub late_return_id: LateReturnId,
    /// Payout that was returned.
    pub payout_id: PayoutId,
    /// `received`, then `credited`, or `kept` if an operator decided not to credit it.
    pub status: State,
    /// US dollars that were returned.
    pub amount: ExactDecimal,
    /// US dollars kept by the payout rail.
    pub return_fee: ExactDecimal,
    /// US dollars credited to the account's balance.
    pub credited_amount: ExactDecimal,
    /// Reason reported by the payout rail.
    pub reason: &'a str,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

crate::state_machine! { LateReturn, Status, Event;
    states { Received = "received", Credited = "credited", Retained = "kept" }
    events {
        Received "received" { - => Received: "payout returned after its return window" }
        Credited "credited" { Received => Credited: "credit to the balance, less the rail's return fee" }
        Retained "kept" { Received => Retained: "retention of the withheld credit by an operator" }
    }
}

/// Initial data of a late return.
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

/// Reason why a late return rejects a command: its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for LateReturn {
    const SCHEMA: u16 = 434;
}

impl Stored for Event {
    const SCHEMA: u16 = 435;
}

impl LateReturn {
    /// First snapshot, for the batch of the payout whose money it is.
    ///
    /// # Errors
    /// Never for a new id; the error type is the engine's.
    pub fn receive(received: LateReturnDetails, context: &Context) -> Result<NewEntity, InvalidTransition> {
        let id = LateReturnId::for_payout(received.payout);
        NewEntity::from_event::<Self>(&id, &Event::Received(Box::new(received)), context)
    }

    /// Amount for the balance: zero once Purser retains it.
    fn amount_given(&self) -> Usdc {
        match self.status {
            Status::Received | Status::Credited => self.credited(),
            Status::Retained => Usdc::ZERO,
        }
    }

    /// Amount to credit, after the fee.
    pub fn credited(&self) -> Usdc {
        self.amount.checked_sub(self.return_fee).unwrap_or(Usdc::ZERO)
    }
}

impl Entity for LateReturn {
    const KIND: EntityKind = EntityKind::LateReturn;

    type Id = LateReturnId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = LateReturnView<'a>;

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

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &LateReturnId) -> LateReturnView<'_> {
        LateReturnView {
            late_return_id: *id,
            payout_id: self.payout,
            status: self.state(),
            amount: self.amount.into(),
            return_fee: self.return_fee.into(),
            credited_amount: self.amount_given().into(),
            reason: self.reason.as_str(),
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
