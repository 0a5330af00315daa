//! An API key: an agent without a wallet exchanges it for tokens of the account that created the key.
//!
//! The secret is not stored: it is a keyed hash of the key's id, computed on demand by the HTTP layer. Before its first
//! use, and for at most ten minutes, its requester can read it again, so a lost response costs nothing. Afterwards it
//! cannot be read. Every exchange opens a new session, and a revocation ends all of them at once.

mod limits;

use purser_storage::codec::Stored;
use serde::Serialize;

pub use self::limits::{KeyAllowance, KeyLimits, KeyLimitsView, KeyShare, KeyUsage};

use crate::answer::Time;
use crate::entity::payment::SessionSeed;
use crate::entity::session::{AuthMethod, ID_TOKEN_MAX_S, Session};
use crate::entity::spend_approval;
use crate::id::{ApiKeyId, JobId, Wallet};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::port::Timestamp;

/// How long its requester can read an unused key, in milliseconds.
pub const REVEAL_WINDOW_MS: u64 = 600_000;
/// Maximum number of characters of a key's name.
pub const MAX_NAME_LEN: usize = 80;

/// State of an API key.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ApiKey {
    /// Account that the key gives access to.
    pub owner: Wallet,
    /// Name chosen by the account owner.
    pub name: String,
    /// Slot of the owner that the key uses while it is active. A rejected one uses none.
    slot: u8,
    /// Time at which the key was issued.
    pub created_at: Timestamp,
    /// Time of the last exchange for tokens.
    pub used_at: Option<Timestamp>,
    /// Time of the revocation, if it is revoked.
    pub revoked_at: Option<Timestamp>,
    /// Time at which the owner rejected the signup: then there never was a key.
    pub rejected_at: Option<Timestamp>,
    /// Limits of what its sessions spend.
    pub limits: KeyLimits,
}

/// Commands to an API key.
#[derive(Clone, Debug)]
pub enum Command {
    /// Creates the key in a free slot. A second approval by the same owner changes nothing.
    Issue {
        /// Account that approved it.
        owner: Wallet,
        /// Name of the key.
        name: String,
        /// Slot that the key will use.
        slot: u8,
    },
    /// Rejects the signup of the key, which then never exists.
    Reject {
        /// Account whose owner rejected it.
        owner: Wallet,
    },
    /// Opens a session for the caller with the key.
    Exchange {
        /// Session to open.
        session: SessionSeed,
    },
    /// Revokes the key and every session that it opened.
    Revoke,
    /// Replaces the limits.
    SetLimits(KeyLimits),
    /// The requests and unused approvals of its agent have ended with it.
    RecordApprovalsEnded {
        /// Job that ended them.
        job: JobId,
    },
}

/// Events of an API key.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The key was created.
    Issued {
        /// Account that approved it.
        owner: Wallet,
        /// Name of the key.
        name: String,
        /// Slot that the key uses.
        slot: u8,
        /// Time of the event.
        at: Timestamp,
    },
    /// The key was exchanged for the first time: from now on it cannot be read.
    Activated(Timestamp),
    /// The key was exchanged again.
    Exchanged(Timestamp),
    /// The key was revoked.
    Revoked(Timestamp),
    /// The signup of the key was rejected.
    Rejected {
        /// Account whose owner rejected it.
        owner: Wallet,
        /// Time of the event.
        at: Timestamp,
    },
    /// The limits were replaced.
    LimitsChanged(KeyLimits),
}

/// An API key, without its text.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = ApiKeyResource))]
pub struct ApiKeyView<'a> {
    /// Id of the key.
    pub api_key_id: ApiKeyId,
    /// Name of the key.
    pub name: &'a str,
    /// `issued`, `active`, `revoked` or `rejected`.
    pub status: State,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Time of the last exchange (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    pub last_used_at: Option<Time>,
    /// Limits of what its sessions spend.
    pub limits: KeyLimitsView,
}

crate::state_machine! { ApiKey, Event;
    states { Issued = "issued", Active = "active", Revoked = "revoked", Rejected = "rejected" }
    events {
        Issued "issued" { - => Issued: "signup approval or creation by the account owner" }
        Activated "active" { Issued => Active: "first exchange for tokens" }
        Exchanged - { Active }
        Revoked "revoked" { Issued | Active => Revoked: "revocation by the account owner" }
        Rejected "rejected" { - => Rejected: "rejection of a signup by the account owner" }
        LimitsChanged "limits_updated" { Issued | Active }
    }
}

impl From<&ApiKey> for State {
    fn from(key: &ApiKey) -> Self {
        match (key.rejected_at, key.revoked_at, key.used_at) {
            (Some(_), _, _) => Self::Rejected,
            (None, Some(_), _) => Self::Revoked,
            (None, None, None) => Self::Issued,
            (None, None, Some(_)) => Self::Active,
        }
    }
}

/// Reason why an API key rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The key does not exist.
    NotFound,
    /// Another account has it, or it is no longer active, or its signup was rejected.
    AlreadyClaimed,
    /// The key is revoked.
    Revoked,
    /// The key is older than a restore, and it is unknown whether it was revoked.
    Suspended,
    /// The account owner has stopped all agents.
    AgentsStopped,
    /// The account has the maximum number of keys.
    LimitReached,
}

impl Stored for ApiKey {
    const SCHEMA: u16 = 250;
}

impl Stored for Event {
    const SCHEMA: u16 = 251;
}

impl ApiKey {
    /// Whether the key is still accepted.
    pub const fn is_active(&self) -> bool {
        self.revoked_at.is_none() && self.rejected_at.is_none()
    }

    /// Whether its requester may still read it.
    pub fn is_revealable(&self, now: Timestamp) -> bool {
        self.is_active() && self.used_at.is_none() && now < self.created_at.plus_ms(REVEAL_WINDOW_MS)
    }

    fn exchange(&self, id: ApiKeyId, session: SessionSeed, context: &Context) -> Result<Decision<Self>, Rejection> {
        let opening = Session::open(session, self.owner, AuthMethod::Key(id), None, context);
        let event = match self.used_at {
            None => Event::Activated(context.now),
            Some(_) => Event::Exchanged(context.now),
        };
        let done = Decision::answer(()).event(event);
        let done = done.put(Session::list_key(&self.owner, context.now, session.id), Vec::new());
        Ok(done.open(opening.map_err(|_| Rejection::AlreadyClaimed)?))
    }

    fn revoke(&self, id: ApiKeyId, context: &Context) -> Decision<Self> {
        // Longer than any token issued with the key can be valid.
        let until_s = context.now.seconds() + ID_TOKEN_MAX_S;
        Decision::answer(())
            .event(Event::Revoked(context.now))
            .put(table::revoked_session(until_s, id.session_id()), Vec::new())
            .delete(table::api_key(&self.owner, self.slot))
            .enqueue(spend_approval::Job::EndApprovalsOfKey(id), context)
    }
}

impl Entity for ApiKey {
    const KIND: EntityKind = EntityKind::ApiKey;
    const CREATED_BY_COMMAND: bool = true;

    type Id = ApiKeyId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = ApiKeyView<'a>;

    fn decide(
        this: Option<&Self>,
        id: &ApiKeyId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        match (this, command) {
            (
                None,
                Command::Issue {
                    owner,
                    name,
                    slot: place,
                },
            ) => Ok(Decision::answer(())
                .put_new(table::api_key(&owner, place), id.0.to_be_bytes().to_vec())
                .event(Event::Issued {
                    owner,
                    name,
                    slot: place,
                    at: context.now,
                })),
            (None, Command::Reject { owner }) => {
                Ok(Decision::answer(()).event(Event::Rejected { owner, at: context.now }))
            }
            (None, _) => Err(Rejection::NotFound),
            (Some(key), Command::Reject { owner }) if key.owner == owner && key.rejected_at.is_some() => {
                Ok(Decision::answer(()))
            }
            (Some(_), Command::Reject { .. }) => Err(Rejection::AlreadyClaimed),
            (Some(key), Command::Issue { owner, .. }) if key.owner == owner && key.is_active() => {
                Ok(Decision::answer(()))
            }
            (Some(_), Command::Issue { .. }) => Err(Rejection::AlreadyClaimed),
            (Some(key), Command::Exchange { session }) if key.is_active() => key.exchange(*id, session, context),
            (Some(_), Command::Exchange { .. }) => Err(Rejection::Revoked),
            (Some(key), Command::Revoke) if key.is_active() => Ok(key.revoke(*id, context)),
            (Some(_), Command::Revoke) => Ok(Decision::answer(())),
            (Some(key), Command::SetLimits(_)) if !key.is_active() => Err(Rejection::Revoked),
            (Some(key), Command::SetLimits(limits)) if key.limits == limits => Ok(Decision::answer(())),
            (Some(_), Command::SetLimits(limits)) => Ok(Decision::answer(()).event(Event::LimitsChanged(limits))),
            (Some(_), Command::RecordApprovalsEnded { job }) => Ok(Decision::answer(()).completes_job(job)),
        }
    }

    fn apply(this: Option<Self>, _: &ApiKeyId, event: &Event) -> Result<Self, InvalidTransition> {
        match (this, event) {
            (
                None,
                Event::Issued {
                    owner,
                    name,
                    slot: place,
                    at,
                },
            ) => Ok(Self {
                owner: *owner,
                name: name.clone(),
                slot: *place,
                created_at: *at,
                used_at: None,
                revoked_at: None,
                rejected_at: None,
                limits: KeyLimits::default(),
            }),
            (None, Event::Rejected { owner, at }) => Ok(Self {
                owner: *owner,
                name: String::new(),
                slot: 0,
                created_at: *at,
                used_at: None,
                revoked_at: None,
                rejected_at: Some(*at),
                limits: KeyLimits::default(),
            }),
            (Some(key), Event::Activated(at)) if key.is_active() && key.used_at.is_none() => Ok(Self {
                used_at: Some(*at),
                ..key
            }),
            (Some(key), Event::Exchanged(at)) if key.is_active() && key.used_at.is_some() => Ok(Self {
                used_at: Some(*at),
                ..key
            }),
            (Some(key), Event::Revoked(at)) if key.is_active() => Ok(Self {
                revoked_at: Some(*at),
                ..key
            }),
            (Some(key), Event::LimitsChanged(limits)) if key.is_active() => Ok(Self { limits: *limits, ..key }),
            (this, event) => Err(InvalidTransition::new(this.as_ref().map_or("-", Self::status), event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &ApiKeyId) -> ApiKeyView<'_> {
        ApiKeyView {
            api_key_id: *id,
            name: &self.name,
            status: self.state(),
            created_at: self.created_at.into(),
            last_used_at: self.used_at.map(Time::from),
            limits: KeyLimitsView::from(&self.limits),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
