//! A refund: money an operator gives back to a payer for a payment, at Purser's cost.
//!
//! ```text
//! requested --another operator approves--> approved --the account holds it--> CREDITED
//!   ^   |--an operator rejects--> rejected --requested again--.
//!   |   `--not approved in time-> expired  -------------------|
//!   `---------------------------------------------------------'
//! ```
//!
//! A refund below the limit is `approved` at once. A refund has the number of its payment: a payment is refunded once,
//! however often and by whichever operator it is requested.

mod job;
mod reading;

use purser_storage::codec::Stored;
use serde::Serialize;

use crate::answer::{ExactDecimal, Time};
use crate::entity::account;
use crate::entity::account::CreditCause;
use crate::id::{JobId, PaymentId, RefundId, Wallet};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::ledger::{LedgerAccount, LedgerTransaction};
use crate::money::Usdc;
use crate::operator::{AuditAction, AuditedAction};
use crate::port::Timestamp;

pub use self::job::Job;

/// Refunded amount of a payment, as read. A batch that credits more of the payment commits only if this is unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refunded {
    /// Refunded amount; zero while the refund waits, and where none was requested.
    pub amount: Usdc,
    /// Revision of the refund; 0 where none was requested.
    pub revision: u64,
}

/// Request for a refund.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct RefundRequest {
    /// Account that is credited: the payer's.
    pub owner: Wallet,
    /// Payment to refund.
    pub payment: PaymentId,
    /// Amount of the refund.
    pub amount: Usdc,
    /// Reason given by the operator; visible to operators only.
    pub reason: String,
    /// Whether the operator confirmed that the account owner may also keep the product.
    pub holder_keeps_product: bool,
    /// Name of the operator's token.
    pub by: String,
}

/// State of a refund.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Refund {
    /// The latest request; see [`RefundRequest`].
    pub request: RefundRequest,
    /// Number of requests so far.
    pub round: u64,
    /// Time of the latest request.
    pub created_at: Timestamp,
    /// Deadline for the approval.
    pub expires_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Operator who approved or rejected it; `None` for a refund that needs no approval.
    pub decided_by: Option<String>,
    /// Status, from the request to the credit.
    pub status: Status,
}

/// Status of a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Waits for approval by another operator.
    Requested,
    /// The credit is in progress.
    Approved,
    /// The account was credited.
    Credited,
    /// An operator rejected it.
    Rejected,
    /// It was not approved in time.
    Expired,
}

/// Commands to a refund.
#[derive(Clone, Debug)]
pub enum Command {
    /// An operator requests the refund.
    Request {
        /// The refund request.
        request: Box<RefundRequest>,
        /// Whether it is below the limit and needs no second operator.
        at_once: bool,
        /// How long it can be approved, in milliseconds.
        life_ms: u64,
        /// Action of the requesting operator.
        act: AuditedAction,
    },
    /// Another operator approves it.
    Approve {
        /// Amount that the approver has seen.
        amount: Usdc,
        /// Operator action for the audit log.
        act: AuditedAction,
    },
    /// An operator rejects it, or the requester cancels it.
    Reject {
        /// Reason for the audit log.
        reason: String,
        /// Operator action for the audit log.
        act: AuditedAction,
    },
    /// The approval deadline passed.
    Expire {
        /// Scheduled job that triggers it.
        job: JobId,
        /// Request number for which the job was scheduled.
        round: u64,
    },
    /// The account was credited.
    RecordCredit {
        /// Job that reports it.
        job: JobId,
    },
}

/// Events of a refund.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Requested: the request, the approval deadline and the time.
    Requested(Box<RefundRequest>, Timestamp, Timestamp),
    /// Approved; the second operator, where one was needed.
    Approved(Option<String>, Timestamp),
    /// Rejected; by which operator.
    Rejected(String, Timestamp),
    /// It was not approved in time.
    Expired(Timestamp),
    /// The account was credited.
    Credited(Timestamp),
}

/// A refund of a payment.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = RefundResource))]
pub struct RefundView {
    /// `rf_…` is the id of the refund.
    pub refund_id: RefundId,
    /// `pay_…` is the refunded payment.
    pub payment_id: PaymentId,
    /// Status of the refund.
    pub status: State,
    /// Amount in US dollars.
    pub amount: ExactDecimal,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

crate::state_machine! { Refund, Status, Event;
    states {
        Requested = "requested", Approved = "approved", Credited = "credited", Rejected = "rejected",
        Expired = "expired",
    }
    events {
        Requested - {
            - => Requested: "request by an operator",
            Rejected | Expired => Requested: "new request by an operator",
        }
        Approved "approved" { Requested => Approved: "approval by another operator, or amount within the limit" }
        Rejected - { Requested => Rejected: "rejection by an operator" }
        Expired - { Requested => Expired: "end of the approval period" }
        Credited "credited" { Approved => Credited: "credit to the balance" }
    }
}

/// Reason why a refund rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The current state does not allow the command.
    InvalidState(&'static str),
    /// The requester cannot approve the refund.
    SelfApproval,
    /// The approval is for another amount.
    AmountMismatch,
}

impl Stored for Refund {
    const SCHEMA: u16 = 446;
}

impl Stored for Event {
    const SCHEMA: u16 = 447;
}

impl RefundRequest {
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
    /// Posts the refund and starts its credit.
    fn credit(id: RefundId, asked: &RefundRequest, decision: Decision<Self>, context: &Context) -> Decision<Self> {
        let given = LedgerTransaction::new(context.now, id).post(
            LedgerAccount::OperatingCosts,
            LedgerAccount::Suspense,
            asked.amount,
        );
        let credit = account::Job::CreditAccount {
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
        let decision = Decision::answer(()).audit(act, AuditAction::RefundRequest, subject, words, context);
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
    const CREATED_BY_COMMAND: bool = true;

    type Id = RefundId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = RefundView;

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
            // A repeated request by the same operator, whose response was lost.
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
                    .audit(&act, AuditAction::RefundApprove, subject, None, context)
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
                .audit(&act, AuditAction::RefundReject, id, Some(reason), context)
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

    fn owner(&self) -> Wallet {
        self.request.owner
    }

    /// The owner is notified once the refund is certain.
    /// Leaves out what operators wrote.
    fn view(&self, id: &RefundId) -> RefundView {
        RefundView {
            refund_id: *id,
            payment_id: self.request.payment,
            status: self.state(),
            amount: self.request.amount.into(),
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
