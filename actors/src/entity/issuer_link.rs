//! The link between an account and the owner's account at the card issuer.
//!
//! ```text
//! - --owner's page--> unlinked --issuer opened the account--> linked
//!                         ^-------------owner's page-------------'
//! ```
//!
//! A wallet has one account at the issuer permanently: linking again finds the same one, with the same address. While
//! it is linked, and only then, a row exists that purchases can require ([`table::issuer_linked`]). Its value is
//! exactly the 20 bytes of the deposit address.

use purser_storage::codec::Stored;
use serde::Serialize;

use crate::answer::{Address, Time, UserId};
use crate::id::{JobId, Wallet};
use crate::jobs::{Credits, JobPolicy, LineDependency, OperatorPolicy, Outcomes, Queue, jobs};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::port::{ExternalText, Timestamp};

jobs! { IssuerLink:
    /// Open an account owner's account at the card issuer.
    14 OpenIssuerAccount(wallet: Wallet) = "open_issuer_account" => JobPolicy {
        line: LineDependency::None,
        outgoing: None,
        queue: Queue::OfKind,
        operator: Some(OperatorPolicy {
            outcomes: Outcomes::NotCompleted,
            credits: Credits::Never,
            credit_needs_proof: true,
            absence_is_definitive: false,
            pending_means_not_completed: false,
        }),
    };
}

/// State of one wallet's issuer link.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct IssuerLink {
    /// Account of the owner.
    pub wallet: Wallet,
    /// Time of the first request.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Whether an issuer account is linked.
    pub status: Status,
}

/// Status of an issuer link.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// The account is not linked.
    Unlinked {
        /// Job that opens the account, if one is pending.
        pending_job: Option<JobId>,
        /// Reason why the last opening was declined, if it was.
        declined: Option<ExternalText>,
    },
    /// The account is linked.
    Linked {
        /// Deposit address of the account on Base.
        deposit_address: [u8; 20],
    },
}

/// Commands to an issuer link.
#[derive(Clone, Debug)]
pub enum Command {
    /// The owner requests the link.
    Request,
    /// The owner removes the link.
    Unlink,
    /// The issuer opened or found the account.
    RecordOpened {
        /// Job that sent the request.
        job: JobId,
        /// Deposit address of the account on Base.
        deposit_address: [u8; 20],
    },
    /// The issuer declined definitely.
    RecordDecline {
        /// Job that sent the request.
        job: JobId,
        /// Reason given by the issuer.
        reason: ExternalText,
    },
}

/// Events of an issuer link.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The owner requested the link.
    Requested {
        /// Job that opens the account.
        job: JobId,
        /// Time of the event.
        at: Timestamp,
    },
    /// The account is open.
    Linked([u8; 20], Timestamp),
    /// The issuer declined.
    Declined(ExternalText, Timestamp),
    /// The owner removed the link, or cancelled the request.
    Unlinked(Timestamp),
}

/// An account's link to the card issuer.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = IssuerLinkResource))]
pub struct IssuerLinkView<'a> {
    /// Wallet address of the account in lower case.
    pub user_id: UserId,
    /// `unlinked` or `linked`.
    pub status: State,
    /// Whether the issuer is being asked for a link.
    pub link_pending: bool,
    /// Address to which top-ups are sent, once linked.
    #[cfg_attr(feature = "documents", schema(required))]
    pub deposit_address: Option<Address>,
    /// Reason for which the issuer declined the link.
    #[cfg_attr(feature = "documents", schema(required))]
    pub decline_reason: Option<&'a str>,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last change (RFC 3339).
    pub last_updated_at: Time,
}

crate::state_machine! { IssuerLink, Status, Event;
    states { Unlinked = "unlinked", Linked = "linked" }
    events {
        Requested "requested" { - => Unlinked: "request on the account page", Unlinked }
        Linked "linked" { Unlinked => Linked: "account opening at the issuer" }
        Declined "declined" { Unlinked }
        Unlinked "unlinked" { Linked => Unlinked: "unlinking by the account owner", Unlinked }
    }
}

/// Reason why an issuer link rejects a command: its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for IssuerLink {
    const SCHEMA: u16 = 140;
}

impl Stored for Event {
    const SCHEMA: u16 = 141;
}

/// No link and no pending job.
const EMPTY: Status = Status::Unlinked {
    pending_job: None,
    declined: None,
};

impl IssuerLink {
    /// Deposit address on Base, while the account is linked.
    pub const fn deposit_address(&self) -> Option<&[u8; 20]> {
        match &self.status {
            Status::Linked { deposit_address } => Some(deposit_address),
            Status::Unlinked { .. } => None,
        }
    }

    /// Job that opens the account, if one is pending.
    pub const fn pending_job(&self) -> Option<JobId> {
        match &self.status {
            Status::Unlinked {
                pending_job: opening, ..
            } => *opening,
            Status::Linked { .. } => None,
        }
    }

    fn at(self, status: Status, updated_at: Timestamp) -> Self {
        Self {
            status,
            updated_at,
            ..self
        }
    }
}

impl Entity for IssuerLink {
    const KIND: EntityKind = EntityKind::IssuerLink;
    const CREATED_BY_COMMAND: bool = true;

    type Id = Wallet;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = Self;
    type View<'a> = IssuerLinkView<'a>;

    fn decide(
        this: Option<&Self>,
        wallet: &Wallet,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let done = Decision::answer(());
        let opening = this.and_then(Self::pending_job);
        let linked = this.is_some_and(|this| this.deposit_address().is_some());
        match command {
            Command::Request if linked || opening.is_some() => Ok(done),
            Command::Request => {
                let opening = JobId(context.id());
                Ok(done
                    .event(Event::Requested {
                        job: opening,
                        at: context.now,
                    })
                    .enqueue_as(opening, Job::OpenIssuerAccount(*wallet), context))
            }
            Command::Unlink if linked => Ok(done
                .delete(table::issuer_linked(wallet))
                .event(Event::Unlinked(context.now))),
            Command::Unlink => Ok(match opening {
                Some(opening) => done.completes_job(opening).event(Event::Unlinked(context.now)),
                None => done,
            }),
            Command::RecordOpened {
                job: effect,
                deposit_address,
            } if opening == Some(effect) => Ok(done
                .completes_job(effect)
                .put_new(table::issuer_linked(wallet), deposit_address.to_vec())
                .event(Event::Linked(deposit_address, context.now))),
            Command::RecordDecline { job: effect, reason } if opening == Some(effect) => {
                Ok(done.completes_job(effect).event(Event::Declined(reason, context.now)))
            }
            Command::RecordOpened { .. } | Command::RecordDecline { .. } => {
                Err(Rejection(this.map_or("-", Self::status)))
            }
        }
    }

    fn apply(this: Option<Self>, wallet: &Wallet, event: &Event) -> Result<Self, InvalidTransition> {
        let status = this.as_ref().map_or("-", Self::status);
        let asked = |opening: &JobId| Status::Unlinked {
            pending_job: Some(*opening),
            declined: None,
        };
        match (this, event) {
            (None, Event::Requested { job: opening, at }) => Ok(Self {
                wallet: *wallet,
                created_at: *at,
                updated_at: *at,
                status: asked(opening),
            }),
            (Some(this), event) => match (&this.status, event) {
                (Status::Unlinked { pending_job: None, .. }, Event::Requested { job: opening, at }) => {
                    Ok(this.at(asked(opening), *at))
                }
                (
                    Status::Unlinked {
                        pending_job: Some(_), ..
                    },
                    Event::Linked(address, at),
                ) => {
                    let deposit_address = *address;
                    Ok(this.at(Status::Linked { deposit_address }, *at))
                }
                (
                    Status::Unlinked {
                        pending_job: Some(_), ..
                    },
                    Event::Declined(reason, at),
                ) => {
                    let refused = Some(reason.clone());
                    Ok(this.at(
                        Status::Unlinked {
                            pending_job: None,
                            declined: refused,
                        },
                        *at,
                    ))
                }
                (
                    Status::Linked { .. }
                    | Status::Unlinked {
                        pending_job: Some(_), ..
                    },
                    Event::Unlinked(at),
                ) => Ok(this.at(EMPTY, *at)),
                (_, event) => Err(InvalidTransition::new(status, event)),
            },
            (None, event) => Err(InvalidTransition::new(status, event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.wallet
    }

    fn view(&self, _: &Wallet) -> IssuerLinkView<'_> {
        let declined = match &self.status {
            Status::Unlinked { declined, .. } => declined.as_deref(),
            Status::Linked { .. } => None,
        };
        IssuerLinkView {
            user_id: self.wallet.into(),
            status: self.state(),
            link_pending: self.pending_job().is_some(),
            deposit_address: self.deposit_address().map(|address| Wallet::Evm(*address).into()),
            decline_reason: declined,
            created_at: self.created_at.into(),
            last_updated_at: self.updated_at.into(),
        }
    }

    fn outcome(&self) -> Option<Self> {
        self.pending_job().is_none().then(|| self.clone())
    }
}
