//! The identity verification of an account owner, by a provider that does not share the person's data.
//!
//! ```text
//! - --owner's page--> in-review --provider--> VERIFIED
//!                      ^    `-----provider--> rejected
//!                      `-------owner's page-----'
//! ```
//!
//! Only two commands change it: [`Command::Request`], which the owner's page sends, and [`Command::RecordVerdict`] with
//! the provider's verdict, polled by the check's job or received in a signed callback. While it is verified, and only
//! then, a row exists that purchases can require ([`table::verified`]).

use purser_storage::codec::Stored;
use serde::Serialize;

use crate::answer::{Time, UserId};
use crate::id::{JobId, Wallet};
use crate::jobs::{JobPolicy, LineDependency, Queue, jobs};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::port::{ExternalText, StartedCheck, Timestamp, Verdict};

jobs! { Identity:
    /// Request an identity check and poll its verdict.
    13 CheckIdentity(wallet: Wallet) = "check_identity" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}

/// State of an account owner's identity verification.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct IdentityVerification {
    /// Account of the owner.
    pub wallet: Wallet,
    /// Number of checks started so far.
    pub attempts: u32,
    /// Start of the first check.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Status of the latest check.
    pub status: Status,
}

/// Status of an identity verification.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// A check is in progress.
    InReview {
        /// Job that follows it.
        check: JobId,
        /// The provider's data of the check, once it has started.
        started: Option<StartedCheck>,
    },
    /// The account owner passed the check.
    Verified {
        /// The provider's reference of the check.
        reference: String,
    },
    /// The account owner did not pass.
    Rejected {
        /// The provider's reference of the check, if one was started.
        reference: Option<String>,
        /// Reason given by the provider.
        reason: ExternalText,
    },
}

/// Commands to an identity verification.
#[derive(Clone, Debug)]
pub enum Command {
    /// The owner requests a check.
    Request,
    /// The provider has started the check.
    RecordStarted {
        /// Job that sent the request.
        job: JobId,
        /// The provider's data of the check.
        started: StartedCheck,
    },
    /// The provider declined to start the check.
    RecordDecline {
        /// Job that sent the request.
        job: JobId,
        /// Reason given by the provider.
        reason: ExternalText,
    },
    /// The provider reports its verdict.
    RecordVerdict {
        /// The provider's reference of the check.
        reference: String,
        /// Verdict on that check.
        verdict: Verdict,
    },
}

/// Events of an identity verification.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// A check was requested.
    Requested {
        /// Job that follows it.
        check: JobId,
        /// Time of the event.
        at: Timestamp,
    },
    /// The check started at the provider.
    Started(StartedCheck, Timestamp),
    /// The owner passed the check.
    Verified(Timestamp),
    /// The owner did not pass.
    Rejected(ExternalText, Timestamp),
}

/// Identity verification of an account's owner.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = IdentityResource))]
pub struct IdentityView<'a> {
    /// Wallet address of the account in lower case.
    pub user_id: UserId,
    /// `in-review`, `verified` or `rejected`.
    pub status: State,
    /// Reason of the rejection.
    #[cfg_attr(feature = "documents", schema(required))]
    pub rejection_reason: Option<&'a str>,
    /// Number of checks.
    pub checks: u32,
    /// Time of the first check (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

crate::state_machine! { IdentityVerification, Status, Event;
    states { InReview = "in-review", Verified = "verified", Rejected = "rejected" }
    events {
        Requested "in-review" {
            - => InReview: "request on the account page",
            Rejected => InReview: "new request by the account owner",
        }
        Started - { InReview }
        Verified "verified" { InReview => Verified: "approval by the provider" }
        Rejected "rejected" { InReview => Rejected: "rejection by the provider" }
    }
}

/// Reason why an identity verification rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The current state does not allow the command.
    InvalidState(&'static str),
    /// The verdict belongs to another check.
    DifferentCheck,
    /// A different verdict is already recorded.
    AlreadyDecided(&'static str),
}

impl Stored for IdentityVerification {
    const SCHEMA: u16 = 110;
}

impl Stored for Event {
    const SCHEMA: u16 = 111;
}

impl IdentityVerification {
    /// Page at the provider where the owner continues, while there is something to do.
    pub fn url(&self) -> Option<&str> {
        match &self.status {
            Status::InReview {
                started: Some(begun), ..
            } => Some(&begun.url),
            _ => None,
        }
    }

    fn reference(&self) -> Option<&str> {
        match &self.status {
            Status::InReview { started: begun, .. } => begun.as_ref().map(|begun| begun.reference.as_str()),
            Status::Verified { reference } => Some(reference),
            Status::Rejected { reference, .. } => reference.as_deref(),
        }
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }

    /// Applies the provider's verdict to the pending check. A repeated verdict changes nothing; a contradicting one is
    /// rejected.
    fn decide_on(
        &self,
        wallet: &Wallet,
        reference: &str,
        verdict: Verdict,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        if self.reference() != Some(reference) {
            return Err(Rejection::DifferentCheck);
        }
        let done = Decision::answer(());
        match (&self.status, verdict) {
            (Status::InReview { check, .. }, Verdict::Passed) => Ok(done
                .completes_job(*check)
                .put_new(table::verified(wallet), Vec::new())
                .event(Event::Verified(context.now))),
            (Status::InReview { check, .. }, Verdict::Failed { reason }) => {
                Ok(done.completes_job(*check).event(Event::Rejected(reason, context.now)))
            }
            (Status::Verified { .. }, Verdict::Passed) | (Status::Rejected { .. }, Verdict::Failed { .. }) => Ok(done),
            (_, _) => Err(Rejection::AlreadyDecided(self.status())),
        }
    }
}

impl Entity for IdentityVerification {
    const KIND: EntityKind = EntityKind::Identity;
    const CREATED_BY_COMMAND: bool = true;

    type Id = Wallet;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = Self;
    type View<'a> = IdentityView<'a>;

    fn decide(
        this: Option<&Self>,
        wallet: &Wallet,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let done = Decision::answer(());
        match (this.map(|this| (this, &this.status)), command) {
            (None | Some((_, Status::Rejected { .. })), Command::Request) => {
                let check = JobId(context.id());
                Ok(done.event(Event::Requested { check, at: context.now }).enqueue_as(
                    check,
                    Job::CheckIdentity(*wallet),
                    context,
                ))
            }
            (Some((_, Status::InReview { .. })), Command::Request) => Ok(done),
            (Some((_, Status::Verified { .. })), Command::Request) => Err(Rejection::InvalidState("verified")),
            (
                Some((_, Status::InReview { check, started: None })),
                Command::RecordStarted {
                    job: effect,
                    started: begun,
                },
            ) if *check == effect => Ok(done.event(Event::Started(begun, context.now))),
            // Repeated by an attempt that overtook another: the first response counts.
            (Some((_, Status::InReview { check, .. })), Command::RecordStarted { job: effect, .. })
                if *check == effect =>
            {
                Ok(done)
            }
            (Some((_, Status::InReview { check, started: None })), Command::RecordDecline { job: effect, reason })
                if *check == effect =>
            {
                Ok(done.completes_job(effect).event(Event::Rejected(reason, context.now)))
            }
            (Some((identity, _)), Command::RecordVerdict { reference, verdict }) => {
                identity.decide_on(wallet, &reference, verdict, context)
            }
            (this, _) => Err(Rejection::InvalidState(this.map_or("-", |(this, _)| this.status()))),
        }
    }

    fn apply(this: Option<Self>, wallet: &Wallet, event: &Event) -> Result<Self, InvalidTransition> {
        let status = this.as_ref().map_or("-", Self::status);
        let asked = |check: &JobId| Status::InReview {
            check: *check,
            started: None,
        };
        match (this, event) {
            (None, Event::Requested { check, at }) => Ok(Self {
                wallet: *wallet,
                attempts: 1,
                created_at: *at,
                updated_at: *at,
                status: asked(check),
            }),
            (Some(this), event) => match (this.status.clone(), event) {
                (Status::Rejected { .. }, Event::Requested { check, at }) => {
                    let tries = this.attempts.saturating_add(1);
                    Ok(Self {
                        attempts: tries,
                        ..this
                    }
                    .at(asked(check), *at))
                }
                (Status::InReview { check, started: None }, Event::Started(begun, at)) => {
                    let begun = Some(begun.clone());
                    Ok(this.at(Status::InReview { check, started: begun }, *at))
                }
                (
                    Status::InReview {
                        started: Some(begun), ..
                    },
                    Event::Verified(at),
                ) => {
                    let reference = begun.reference;
                    Ok(this.at(Status::Verified { reference }, *at))
                }
                (Status::InReview { started: begun, .. }, Event::Rejected(reason, at)) => {
                    let (reference, reason) = (begun.map(|begun| begun.reference), reason.clone());
                    Ok(this.at(Status::Rejected { reference, reason }, *at))
                }
                (_, event) => Err(InvalidTransition::new(status, event)),
            },
            (None, event) => Err(InvalidTransition::new(status, event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.wallet
    }

    fn view(&self, _: &Wallet) -> IdentityView<'_> {
        let reason = match &self.status {
            Status::Rejected { reason, .. } => Some(reason.as_str()),
            _ => None,
        };
        IdentityView {
            user_id: self.wallet.into(),
            status: self.state(),
            rejection_reason: reason,
            checks: self.attempts,
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<Self> {
        match self.status {
            Status::InReview { started: None, .. } => None,
            _ => Some(self.clone()),
        }
    }
}
