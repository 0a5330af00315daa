//! The check of who an account's holder is, at a provider that keeps the person's answers to itself.
//!
//! ```text
//! - --owner's page--> in-review --provider--> VERIFIED
//!                      ^    `-----provider--> rejected
//!                      `-------owner's page-----'
//! ```
//!
//! Only two commands lead on: [`Command::Begin`], which the owner's page sends, and [`Command::Decide`], which carries the
//! provider's word, asked for by the check's effect or brought by a signed callback. While it is verified, and no longer,
//! there is a row that purchases can require ([`table::verified`]).

use purser_storage::codec::Stored;

use crate::id::{JobId, Wallet};
use crate::kernel::entity::Transition;
use crate::kernel::job::Job;
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, JsonObject, table};
use crate::port::{ExternalText, StartedCheck, Timestamp, Verdict};

/// The state of one holder's identity.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct IdentityVerification {
    /// Whose.
    pub wallet: Wallet,
    /// Checks begun so far.
    pub attempts: u32,
    /// When the first was begun.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Where it stands.
    pub status: Status,
}

/// Where an identity stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// A check is under way.
    InReview {
        /// The effect that follows it.
        check: JobId,
        /// As the provider knows it, once it does.
        started: Option<StartedCheck>,
    },
    /// The holder is known.
    Verified {
        /// The provider's name of the check.
        reference: String,
    },
    /// Not proven.
    Rejected {
        /// The provider's name of the check, if it came to be one.
        reference: Option<String>,
        /// The provider's word.
        reason: ExternalText,
    },
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The owner wants to be checked.
    Request,
    /// The provider has begun the check.
    RecordStarted {
        /// The effect that asked.
        job: JobId,
        /// As the provider knows it.
        started: StartedCheck,
    },
    /// The provider will not begin it.
    RecordDecline {
        /// The effect that asked.
        job: JobId,
        /// The provider's word.
        reason: ExternalText,
    },
    /// The provider's verdict.
    RecordVerdict {
        /// Of which check.
        reference: String,
        /// What it is.
        verdict: Verdict,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// A check was asked for.
    Requested {
        /// The effect that follows it.
        check: JobId,
        /// When.
        at: Timestamp,
    },
    /// It has begun at the provider.
    Started(StartedCheck, Timestamp),
    /// It was passed.
    Verified(Timestamp),
    /// It was not passed.
    Rejected(ExternalText, Timestamp),
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Not in this state.
    InvalidState(&'static str),
    /// The verdict is on a check that is not this one.
    DifferentCheck,
    /// It was decided, and otherwise.
    AlreadyDecided(&'static str),
}

impl Stored for IdentityVerification {
    const SCHEMA: u16 = 110;
}

impl Stored for Event {
    const SCHEMA: u16 = 111;
}

impl IdentityVerification {
    /// Where its owner goes on at the provider, while there is something to do there.
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

    /// The provider's word on the check that is under way. Said again it changes nothing; what contradicts it is refused.
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
    const EVENT_NAMES: &'static [&'static str] = &["in-review", "verified", "rejected"];
    const TRANSITIONS: &'static [Transition] = &[
        ("-", "owner asks on the account page", "in-review"),
        ("in-review", "provider says yes", "verified"),
        ("in-review", "provider says no", "rejected"),
        ("rejected", "owner asks again", "in-review"),
    ];
    const CREATED_BY_COMMAND: bool = true;

    type Id = Wallet;
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = Self;

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
            // Said again, by a try that overtook another: the first word stands.
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

    fn status(&self) -> &'static str {
        match self.status {
            Status::InReview { .. } => "in-review",
            Status::Verified { .. } => "verified",
            Status::Rejected { .. } => "rejected",
        }
    }

    fn owner(&self) -> Wallet {
        self.wallet
    }

    fn event_name(event: &Event) -> Option<&'static str> {
        match event {
            Event::Requested { .. } => Some("in-review"),
            Event::Started(..) => None,
            Event::Verified(_) => Some("verified"),
            Event::Rejected(..) => Some("rejected"),
        }
    }

    fn view(&self, _: &Wallet) -> JsonObject {
        let reason = match &self.status {
            Status::Rejected { reason, .. } => Some(reason.as_str()),
            _ => None,
        };
        JsonObject::new()
            .text("user_id", self.wallet.user_id())
            .text("status", self.status())
            .optional_text("rejection_reason", reason)
            .integer("checks", u64::from(self.attempts))
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<Self> {
        match self.status {
            Status::InReview { started: None, .. } => None,
            _ => Some(self.clone()),
        }
    }
}
