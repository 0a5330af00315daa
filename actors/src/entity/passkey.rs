//! A passkey of an account owner: a credential of a browser or device that signs in and confirms.
//!
//! The HTTP layer verifies what a browser answers; this machine keeps the account's credentials. In one batch a use
//! marks its challenge as used, takes over the signature counter and opens the session. A counter that does not grow
//! shows a copy of the authenticator, and is rejected.

use purser_storage::codec::Stored;
use serde::Serialize;

use crate::answer::Time;
use crate::credential::{AnsweredChallenge, Credential};
use crate::entity::payment::SessionSeed;
use crate::entity::session::{AuthMethod, ID_TOKEN_MAX_S, Session};
use crate::id::{PasskeyId, Wallet};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, table};
use crate::port::Timestamp;

/// Maximum number of characters of a passkey's name.
pub const MAX_NAME_LEN: usize = 60;

/// State of a passkey.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Passkey {
    /// Account that it signs in to.
    pub owner: Wallet,
    /// Name chosen by the account owner.
    pub name: String,
    /// What the authenticator gave.
    pub credential: Credential,
    /// Slot of the owner that the passkey uses while it is active.
    slot: u8,
    /// Time at which it was added.
    pub created_at: Timestamp,
    /// Time of the last sign-in or confirmation.
    pub used_at: Option<Timestamp>,
    /// Time of the removal, if it is removed.
    pub removed_at: Option<Timestamp>,
}

/// Commands to a passkey.
#[derive(Clone, Debug)]
pub enum Command {
    /// Adds the passkey in a free slot.
    Add {
        /// Account that adds it.
        owner: Wallet,
        /// Name of the passkey.
        name: String,
        /// What the authenticator gave.
        credential: Credential,
        /// Slot that the passkey will use.
        slot: u8,
        /// Challenge that was answered.
        challenge: AnsweredChallenge,
    },
    /// Takes over a verified use.
    Use {
        /// Signature counter of the answer.
        counter: u32,
        /// Challenge that was answered.
        challenge: AnsweredChallenge,
        /// Session to open, for a sign-in.
        session: Option<SessionSeed>,
    },
    /// Gives it another name.
    Rename(String),
    /// Removes it. Every session that it opened ends, and every confirmation that it gave.
    Remove,
}

/// Events of a passkey.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// It was added.
    Added {
        /// Account that added it.
        owner: Wallet,
        /// Name of the passkey.
        name: String,
        /// What the authenticator gave.
        credential: Credential,
        /// Slot that the passkey uses.
        slot: u8,
        /// Time of the event.
        at: Timestamp,
    },
    /// It signed in or confirmed.
    Used {
        /// Signature counter of the answer.
        counter: u32,
        /// Time of the event.
        at: Timestamp,
    },
    /// It has another name.
    Renamed(String),
    /// It was removed.
    Removed(Timestamp),
}

/// A passkey of the account, without its key.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = PasskeyResource))]
pub struct PasskeyView<'a> {
    /// `pk_…` is the id of the passkey.
    pub passkey_id: PasskeyId,
    /// Name of the passkey.
    pub name: &'a str,
    /// `active` or `removed`. Lists say `suspended` after a restore without the revocation log: the passkey is refused
    /// until an operator confirms it. The operator of the service does that when you ask.
    #[cfg_attr(feature = "documents", schema(value_type = State))]
    pub status: &'static str,
    /// Whether it can be copied to other devices of its owner, as passkeys of a password manager can.
    pub synced: bool,
    /// Time at which it was added (RFC 3339).
    pub created_at: Time,
    /// Time of the last sign-in or confirmation (RFC 3339).
    #[cfg_attr(feature = "documents", schema(required))]
    pub last_used_at: Option<Time>,
}

/// Status of an active passkey from before a restore that no operator has confirmed. No state of its own: the passkey has
/// not changed, and a confirmation of everything ends the suspension of all.
pub const SUSPENDED: &str = "suspended";

impl PasskeyView<'_> {
    /// The view of a passkey that is suspended after a restore.
    #[must_use]
    pub fn suspended(self) -> Self {
        Self {
            status: SUSPENDED,
            ..self
        }
    }
}

crate::state_machine! { Passkey, Event;
    states { Active = "active", Removed = "removed" }
    events {
        Added "added" { - => Active: "addition by the account owner" }
        Used - { Active }
        Renamed "renamed" { Active }
        Removed "removed" { Active => Removed: "removal by the account owner" }
    }
}

impl From<&Passkey> for State {
    fn from(passkey: &Passkey) -> Self {
        if passkey.is_active() {
            Self::Active
        } else {
            Self::Removed
        }
    }
}

/// Reason why a passkey rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The passkey does not exist.
    NotFound,
    /// Its credential was added before, to this account or to another.
    AlreadyAdded,
    /// It was removed.
    Removed,
    /// The signature counter did not grow: there may be a copy of the authenticator.
    CounterRegressed,
    /// It is older than a restore, and it is unknown whether it was removed.
    Suspended,
    /// The account has the maximum number of passkeys.
    LimitReached,
}

impl Stored for Passkey {
    const SCHEMA: u16 = 280;
}

impl Stored for Event {
    const SCHEMA: u16 = 281;
}

impl Passkey {
    /// Whether it can still be used.
    pub const fn is_active(&self) -> bool {
        self.removed_at.is_none()
    }

    fn remove(&self, id: PasskeyId, context: &Context) -> Decision<Self> {
        let until_s = context.now.seconds() + ID_TOKEN_MAX_S;
        Decision::answer(())
            .event(Event::Removed(context.now))
            .put(table::revoked_session(until_s, id.session_id()), Vec::new())
            .delete(table::passkey_slot(&self.owner, self.slot))
    }
}

fn answered(decision: Decision<Passkey>, challenge: AnsweredChallenge) -> Decision<Passkey> {
    decision.put_new(table::nonce(challenge.expires_s, &challenge.nonce), Vec::new())
}

impl Entity for Passkey {
    const KIND: EntityKind = EntityKind::Passkey;
    const CREATED_BY_COMMAND: bool = true;

    type Id = PasskeyId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = PasskeyView<'a>;

    fn decide(
        this: Option<&Self>,
        id: &PasskeyId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let done = Decision::answer(());
        match (this, command) {
            (
                None,
                Command::Add {
                    owner,
                    name,
                    credential,
                    slot,
                    challenge,
                },
            ) => Ok(answered(done, challenge)
                .put_new(table::passkey_slot(&owner, slot), id.0.to_be_bytes().to_vec())
                .put_new(table::passkey_credential(&credential.id), id.0.to_be_bytes().to_vec())
                .delete_if_present(table::recovered(&owner))
                .event(Event::Added {
                    owner,
                    name,
                    credential,
                    slot,
                    at: context.now,
                })),
            (None, _) => Err(Rejection::NotFound),
            (Some(_), Command::Add { .. }) => Err(Rejection::AlreadyAdded),
            (Some(passkey), Command::Remove) if !passkey.is_active() => Ok(done),
            (Some(passkey), _) if !passkey.is_active() => Err(Rejection::Removed),
            (Some(passkey), Command::Use { counter, .. }) if !passkey.credential.may_follow(counter) => {
                Err(Rejection::CounterRegressed)
            }
            (
                Some(passkey),
                Command::Use {
                    counter,
                    challenge,
                    session,
                },
            ) => {
                let at = context.now;
                let used = answered(done, challenge).event(Event::Used { counter, at });
                let Some(session) = session else { return Ok(used) };
                let opened = Session::open(session, passkey.owner, AuthMethod::Passkey(*id), None, context);
                let used = used.put(Session::list_key(&passkey.owner, context.now, session.id), Vec::new());
                Ok(used.open(opened.map_err(|_| Rejection::AlreadyAdded)?))
            }
            (Some(passkey), Command::Rename(name)) if passkey.name == name => Ok(done),
            (Some(_), Command::Rename(name)) => Ok(done.event(Event::Renamed(name))),
            (Some(passkey), Command::Remove) => Ok(passkey.remove(*id, context)),
        }
    }

    fn apply(this: Option<Self>, _: &PasskeyId, event: &Event) -> Result<Self, InvalidTransition> {
        match (this, event) {
            (
                None,
                Event::Added {
                    owner,
                    name,
                    credential,
                    slot,
                    at,
                },
            ) => Ok(Self {
                owner: *owner,
                name: name.clone(),
                credential: credential.clone(),
                slot: *slot,
                created_at: *at,
                used_at: None,
                removed_at: None,
            }),
            (Some(passkey), Event::Used { counter, at }) if passkey.is_active() => Ok(Self {
                credential: Credential {
                    counter: *counter,
                    ..passkey.credential
                },
                used_at: Some(*at),
                ..passkey
            }),
            (Some(passkey), Event::Renamed(name)) if passkey.is_active() => Ok(Self {
                name: name.clone(),
                ..passkey
            }),
            (Some(passkey), Event::Removed(at)) if passkey.is_active() => Ok(Self {
                removed_at: Some(*at),
                ..passkey
            }),
            (this, event) => Err(InvalidTransition::new(this.as_ref().map_or("-", Self::status), event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &PasskeyId) -> PasskeyView<'_> {
        PasskeyView {
            passkey_id: *id,
            name: &self.name,
            status: self.status(),
            synced: self.credential.backup_eligible,
            created_at: self.created_at.into(),
            last_used_at: self.used_at.map(Time::from),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
