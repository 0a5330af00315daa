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

use crate::id::{EffectId, Wallet};
use crate::kernel::effect::Work;
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, OutOfOrder, View, table};
use crate::port::{BegunCheck, Said, Timestamp, Verdict};

/// The state of one holder's identity.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Identity {
    /// Whose.
    pub wallet: Wallet,
    /// Checks begun so far.
    pub tries: u32,
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
        check: EffectId,
        /// As the provider knows it, once it does.
        begun: Option<BegunCheck>,
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
        reason: Said,
    },
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The owner wants to be checked.
    Begin,
    /// The provider has begun the check.
    Begun {
        /// The effect that asked.
        effect: EffectId,
        /// As the provider knows it.
        begun: BegunCheck,
    },
    /// The provider will not begin it.
    Refused {
        /// The effect that asked.
        effect: EffectId,
        /// The provider's word.
        reason: Said,
    },
    /// The provider's verdict.
    Decide {
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
    Asked {
        /// The effect that follows it.
        check: EffectId,
        /// When.
        at: Timestamp,
    },
    /// It has begun at the provider.
    Begun(BegunCheck, Timestamp),
    /// It was passed.
    Verified(Timestamp),
    /// It was not passed.
    Rejected(Said, Timestamp),
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Not in this state.
    State(&'static str),
    /// The verdict is on a check that is not this one.
    OtherCheck,
    /// It was decided, and otherwise.
    Decided(&'static str),
}

impl Stored for Identity {
    const SCHEMA: u16 = 110;
}

impl Stored for Event {
    const SCHEMA: u16 = 111;
}

impl Identity {
    /// Where its owner goes on at the provider, while there is something to do there.
    pub fn url(&self) -> Option<&str> {
        match &self.status {
            Status::InReview { begun: Some(begun), .. } => Some(&begun.url),
            _ => None,
        }
    }

    fn reference(&self) -> Option<&str> {
        match &self.status {
            Status::InReview { begun, .. } => begun.as_ref().map(|begun| begun.reference.as_str()),
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
            return Err(Rejection::OtherCheck);
        }
        let done = Decision::answer(());
        match (&self.status, verdict) {
            (Status::InReview { check, .. }, Verdict::Passed) => Ok(done
                .completes(*check)
                .put_new(table::verified(wallet), Vec::new())
                .event(Event::Verified(context.now))),
            (Status::InReview { check, .. }, Verdict::Failed { reason }) => {
                Ok(done.completes(*check).event(Event::Rejected(reason, context.now)))
            }
            (Status::Verified { .. }, Verdict::Passed) | (Status::Rejected { .. }, Verdict::Failed { .. }) => Ok(done),
            (_, _) => Err(Rejection::Decided(self.status())),
        }
    }
}

impl Entity for Identity {
    const KIND: Kind = Kind::Identity;
    const CHANGES: &'static [&'static str] = &["in-review", "verified", "rejected"];
    const MOVES: &'static [Move] = &[
        ("-", "owner asks on the account page", "in-review"),
        ("in-review", "provider says yes", "verified"),
        ("in-review", "provider says no", "rejected"),
        ("rejected", "owner asks again", "in-review"),
    ];
    const SELF_BORN: bool = true;

    type Id = Wallet;
    type Command = Command;
    type Event = Event;
    type Answer = ();
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
            (None | Some((_, Status::Rejected { .. })), Command::Begin) => {
                let check = EffectId(context.id());
                Ok(done.event(Event::Asked { check, at: context.now }).then_as(
                    check,
                    Work::CheckIdentity(*wallet),
                    context,
                ))
            }
            (Some((_, Status::InReview { .. })), Command::Begin) => Ok(done),
            (Some((_, Status::Verified { .. })), Command::Begin) => Err(Rejection::State("verified")),
            (Some((_, Status::InReview { check, begun: None })), Command::Begun { effect, begun })
                if *check == effect =>
            {
                Ok(done.event(Event::Begun(begun, context.now)))
            }
            // Said again, by a try that overtook another: the first word stands.
            (Some((_, Status::InReview { check, .. })), Command::Begun { effect, .. }) if *check == effect => Ok(done),
            (Some((_, Status::InReview { check, begun: None })), Command::Refused { effect, reason })
                if *check == effect =>
            {
                Ok(done.completes(effect).event(Event::Rejected(reason, context.now)))
            }
            (Some((identity, _)), Command::Decide { reference, verdict }) => {
                identity.decide_on(wallet, &reference, verdict, context)
            }
            (this, _) => Err(Rejection::State(this.map_or("-", |(this, _)| this.status()))),
        }
    }

    fn apply(this: Option<Self>, wallet: &Wallet, event: &Event) -> Result<Self, OutOfOrder> {
        let status = this.as_ref().map_or("-", Self::status);
        let asked = |check: &EffectId| Status::InReview {
            check: *check,
            begun: None,
        };
        match (this, event) {
            (None, Event::Asked { check, at }) => Ok(Self {
                wallet: *wallet,
                tries: 1,
                created_at: *at,
                updated_at: *at,
                status: asked(check),
            }),
            (Some(this), event) => match (this.status.clone(), event) {
                (Status::Rejected { .. }, Event::Asked { check, at }) => {
                    let tries = this.tries.saturating_add(1);
                    Ok(Self { tries, ..this }.at(asked(check), *at))
                }
                (Status::InReview { check, begun: None }, Event::Begun(begun, at)) => {
                    let begun = Some(begun.clone());
                    Ok(this.at(Status::InReview { check, begun }, *at))
                }
                (Status::InReview { begun: Some(begun), .. }, Event::Verified(at)) => {
                    let reference = begun.reference;
                    Ok(this.at(Status::Verified { reference }, *at))
                }
                (Status::InReview { begun, .. }, Event::Rejected(reason, at)) => {
                    let (reference, reason) = (begun.map(|begun| begun.reference), reason.clone());
                    Ok(this.at(Status::Rejected { reference, reason }, *at))
                }
                (_, event) => Err(OutOfOrder::new(status, event)),
            },
            (None, event) => Err(OutOfOrder::new(status, event)),
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

    fn announces(event: &Event) -> Option<&'static str> {
        match event {
            Event::Asked { .. } => Some("in-review"),
            Event::Begun(..) => None,
            Event::Verified(_) => Some("verified"),
            Event::Rejected(..) => Some("rejected"),
        }
    }

    fn view(&self, _: &Wallet) -> View {
        let reason = match &self.status {
            Status::Rejected { reason, .. } => Some(reason.as_str()),
            _ => None,
        };
        View::new()
            .text("user_id", self.wallet.user_id())
            .text("status", self.status())
            .maybe("rejection_reason", reason)
            .integer("checks", u64::from(self.tries))
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<Self> {
        match self.status {
            Status::InReview { begun: None, .. } => None,
            _ => Some(self.clone()),
        }
    }
}
