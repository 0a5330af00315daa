//! A refund: what the house gives back to a payer in connection with a payment, at its own cost.
//!
//! ```text
//! requested --another operator approves--> approved --the account holds it--> CREDITED
//!   ^   |--an operator rejects--> rejected --asked for again--.
//!   |   `--its time is over-----> expired  -------------------|
//!   `---------------------------------------------------------'
//! ```
//!
//! One that is small enough is `approved` at once. A refund has its payment's own number: however often it is asked for, and by
//! whomever, a payment is refunded once.

mod reading;

use purser_storage::codec::Stored;

use crate::id::{JobId, PaymentId, RefundId, Wallet};
use crate::kernel::entity::Transition;
use crate::kernel::job::{CreditCause, Job};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, JsonObject, table};
use crate::ledger::{LedgerAccount, LedgerTransaction};
use crate::money::Usdc;
use crate::operator::AuditedAction;
use crate::port::Timestamp;

/// What a refund has given of a payment, as it is read: a batch that gives more of the payment holds only while it stands so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refunded {
    /// How much; zero while it waits, and where none was asked for.
    pub amount: Usdc,
    /// The refund's revision; 0 where none was asked for.
    pub revision: u64,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct RefundRequest {
    /// Whose balance is credited: whoever paid.
    pub owner: Wallet,
    /// The payment that it is about.
    pub payment: PaymentId,
    /// How much.
    pub amount: Usdc,
    /// Why, in the operator's words: for operators alone.
    pub reason: String,
    /// Whether the operator has said that the holder may keep what was bought as well.
    pub holder_keeps_product: bool,
    /// The name of the operator's token.
    pub by: String,
}

/// A refund's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Refund {
    /// See [`Asked`].
    pub request: RefundRequest,
    /// How often it was asked for.
    pub round: u64,
    /// When it was asked for last.
    pub created_at: Timestamp,
    /// Until when it can be approved.
    pub expires_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Who approved or rejected it; nobody approves one that is small enough.
    pub decided_by: Option<String>,
    /// Where it stands.
    pub status: Status,
}

/// Where a refund stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Waits for another operator.
    Requested,
    /// The credit is on its way.
    Approved,
    /// The balance holds it.
    Credited,
    /// An operator refused it.
    Rejected,
    /// Nobody approved it in time.
    Expired,
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// An operator asks for it.
    Request {
        /// For what.
        request: Box<RefundRequest>,
        /// Whether it is small enough to need nobody else.
        at_once: bool,
        /// How long it can be approved, in milliseconds.
        life_ms: u64,
        /// The same operator.
        act: AuditedAction,
    },
    /// Another operator approves it.
    Approve {
        /// What they have seen.
        amount: Usdc,
        /// Who.
        act: AuditedAction,
    },
    /// An operator rejects it, or takes it back.
    Reject {
        /// Why.
        reason: String,
        /// Who.
        act: AuditedAction,
    },
    /// Its time is over, if it still waits.
    Expire {
        /// The timer that says so.
        job: JobId,
        /// Which asking it was set at.
        round: u64,
    },
    /// The account holds it.
    RecordCredit {
        /// The effect that says so.
        job: JobId,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Asked for: what, until when it can be approved, and when.
    Requested(Box<RefundRequest>, Timestamp, Timestamp),
    /// Approved, by somebody else where that was needed.
    Approved(Option<String>, Timestamp),
    /// Rejected; by whom.
    Rejected(String, Timestamp),
    /// Nobody approved it in time.
    Expired(Timestamp),
    /// The balance holds it.
    Credited(Timestamp),
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The state it met.
    InvalidState(&'static str),
    /// Whoever asked for it does not approve it.
    SelfApproval,
    /// It is about another amount.
    AmountMismatch,
}

impl Stored for Refund {
    const SCHEMA: u16 = 446;
}

impl Stored for Event {
    const SCHEMA: u16 = 447;
}

impl RefundRequest {
    /// For the audit log.
    fn subject(&self, id: RefundId) -> String {
        let keeps = if self.holder_keeps_product {
            " holder_keeps_product"
        } else {
            ""
        };
        format!("{id} {} {}{keeps}", self.amount.decimal(), self.owner)
    }
}

impl Refund {
    /// What the house gives, and the credit of it.
    fn credit(id: RefundId, asked: &RefundRequest, decision: Decision<Self>, context: &Context) -> Decision<Self> {
        let given = LedgerTransaction::new(context.now, id).post(
            LedgerAccount::OperatingCosts,
            LedgerAccount::Suspense,
            asked.amount,
        );
        let credit = Job::CreditAccount {
            account: asked.owner,
            amount: asked.amount,
            cause: CreditCause::Refund(id),
        };
        decision.post_ledger(&given, context).enqueue(credit, context)
    }

    fn request(
        round: u64,
        id: RefundId,
        asked: Box<RefundRequest>,
        (at_once, life_ms): (bool, u64),
        (act, context): (&AuditedAction, &Context),
    ) -> Decision<Self> {
        let until = context.now.plus_ms(life_ms);
        let words = Some(asked.reason.clone());
        let subject = asked.subject(id);
        let decision = Decision::answer(()).audit(act, "refund.request", subject, words, context);
        let decision = decision.event(Event::Requested(asked.clone(), until, context.now));
        if at_once {
            let decision = decision.event(Event::Approved(None, context.now));
            return Self::credit(id, &asked, decision, context);
        }
        decision.put_new(table::refund(context.now, id), Vec::new()).enqueue_at(
            until,
            Job::ExpireRefund { refund: id, round },
            context,
        )
    }

    fn with_decision(&self, status: Status, by: Option<&String>, at: Timestamp) -> Self {
        Self {
            status,
            updated_at: at,
            decided_by: by.cloned(),
            ..self.clone()
        }
    }
}

impl Entity for Refund {
    const KIND: EntityKind = EntityKind::Refund;
    const EVENT_NAMES: &'static [&'static str] = &["approved", "credited"];
    const TRANSITIONS: &'static [Transition] = &[
        ("-", "an operator asks for it", "requested"),
        (
            "requested",
            "another operator approves, or it is small enough",
            "approved",
        ),
        ("requested", "an operator rejects it", "rejected"),
        ("requested", "nobody approved it in time", "expired"),
        ("rejected", "an operator asks for it again", "requested"),
        ("expired", "an operator asks for it again", "requested"),
        ("approved", "the balance holds it", "credited"),
    ];
    const CREATED_BY_COMMAND: bool = true;

    type Id = RefundId;
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();

    fn decide(
        this: Option<&Self>,
        id: &RefundId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let (done, now) = (Decision::answer(()), context.now);
        let Some(refund) = this else {
            return match command {
                Command::Request {
                    request: asked,
                    at_once,
                    life_ms,
                    act,
                } => Ok(Self::request(1, *id, asked, (at_once, life_ms), (&act, context))),
                _ => Err(Rejection::InvalidState("-")),
            };
        };
        let row = table::refund(refund.created_at, *id);
        match (refund.status, command) {
            (
                Status::Rejected | Status::Expired,
                Command::Request {
                    request: asked,
                    at_once,
                    life_ms,
                    act,
                },
            ) => {
                let round = refund.round.saturating_add(1);
                Ok(Self::request(round, *id, asked, (at_once, life_ms), (&act, context)))
            }
            // The same again, by whoever asked for it: their answer was lost.
            (_, Command::Request { request: asked, .. }) if *asked == refund.request => Ok(done),
            (Status::Requested, Command::Approve { act, .. }) if refund.is_requested_by(&act) => {
                Err(Rejection::SelfApproval)
            }
            (Status::Requested | Status::Approved | Status::Credited, Command::Approve { amount, .. })
                if amount != refund.request.amount =>
            {
                Err(Rejection::AmountMismatch)
            }
            (Status::Requested, Command::Approve { act, .. }) if now < refund.expires_at => {
                let subject = refund.request.subject(*id);
                let decision = done
                    .audit(&act, "refund.approve", subject, None, context)
                    .delete(row)
                    .event(Event::Approved(Some(act.operator.clone()), now));
                Ok(Self::credit(*id, &refund.request, decision, context))
            }
            (Status::Approved | Status::Credited, Command::Approve { act, .. })
                if refund.decided_by.as_ref() == Some(&act.operator) =>
            {
                Ok(done)
            }
            (Status::Requested, Command::Reject { reason, act }) => Ok(done
                .audit(&act, "refund.reject", id, Some(reason), context)
                .delete(row)
                .event(Event::Rejected(act.operator.clone(), now))),
            (Status::Rejected, Command::Reject { act, .. }) if refund.decided_by.as_ref() == Some(&act.operator) => {
                Ok(done)
            }
            (Status::Requested, Command::Expire { job: effect, round }) if round == refund.round => {
                Ok(done.completes_job(effect).delete(row).event(Event::Expired(now)))
            }
            (_, Command::Expire { job: effect, .. }) => Ok(done.completes_job(effect)),
            (Status::Approved, Command::RecordCredit { job: effect }) => {
                Ok(done.completes_job(effect).event(Event::Credited(now)))
            }
            (_, _) => Err(Rejection::InvalidState(refund.status())),
        }
    }

    fn apply(this: Option<Self>, _: &RefundId, event: &Event) -> Result<Self, InvalidTransition> {
        let status = this.as_ref().map(|refund| refund.status);
        match (this, event) {
            (this, Event::Requested(asked, until, at))
                if matches!(status, None | Some(Status::Rejected | Status::Expired)) =>
            {
                Ok(Self {
                    request: (**asked).clone(),
                    round: this.map_or(1, |refund| refund.round.saturating_add(1)),
                    created_at: *at,
                    expires_at: *until,
                    updated_at: *at,
                    decided_by: None,
                    status: Status::Requested,
                })
            }
            (Some(refund), Event::Approved(by, at)) if refund.status == Status::Requested => {
                Ok(refund.with_decision(Status::Approved, by.as_ref(), *at))
            }
            (Some(refund), Event::Rejected(by, at)) if refund.status == Status::Requested => {
                Ok(refund.with_decision(Status::Rejected, Some(by), *at))
            }
            (Some(refund), Event::Expired(at)) if refund.status == Status::Requested => {
                Ok(refund.with_decision(Status::Expired, None, *at))
            }
            (Some(refund), Event::Credited(at)) if refund.status == Status::Approved => {
                let by = refund.decided_by.clone();
                Ok(refund.with_decision(Status::Credited, by.as_ref(), *at))
            }
            (this, event) => Err(InvalidTransition::new(this.as_ref().map_or("-", Self::status), event)),
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Requested => "requested",
            Status::Approved => "approved",
            Status::Credited => "credited",
            Status::Rejected => "rejected",
            Status::Expired => "expired",
        }
    }

    fn owner(&self) -> Wallet {
        self.request.owner
    }

    /// Its owner hears of it once it is certain.
    fn event_name(event: &Event) -> Option<&'static str> {
        match event {
            Event::Approved(..) => Some("approved"),
            Event::Credited(_) => Some("credited"),
            Event::Requested(..) | Event::Rejected(..) | Event::Expired(_) => None,
        }
    }

    /// Without what operators wrote.
    fn view(&self, id: &RefundId) -> JsonObject {
        JsonObject::new()
            .text("refund_id", id)
            .text("payment_id", self.request.payment)
            .text("status", self.status())
            .number("amount", self.request.amount.decimal())
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
