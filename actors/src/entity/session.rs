//! A session: one sign-in and the refresh tokens that descend from it (a refresh-token family).
//!
//! Each refresh replaces the token. The previous token, sent again within the grace time while its successor is unused,
//! yields the same successor, so a lost response locks no client out. Any other reuse revokes the session, because one
//! of the two parties with the token may be a thief. This module never sees tokens, only their hashes.

use purser_storage::RowKey;
use purser_storage::codec::Stored;
use serde::Serialize;

use crate::answer::Time;
use crate::entity::payment::SessionSeed;
use crate::id::{ApiKeyId, PasskeyId, PaymentId, SessionId, Wallet};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, NewEntity, StateMachine as _, table};
use crate::port::Timestamp;

/// A token replaced longer ago than this, in milliseconds, is never accepted again.
pub const GRACE_MS: u64 = 30_000;

/// Maximum validity of an id_token, in seconds. A revocation is stored for this long.
pub const ID_TOKEN_MAX_S: u64 = 24 * 3600;

/// How the wallet was authenticated when the session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum AuthMethod {
    /// The wallet signed in.
    Wallet,
    /// The wallet made this payment. A relaying seller may hold the token, so it cannot move money out, and it reads
    /// the secrets of this purchase only.
    Payment(PaymentId),
    /// An API key, which the account owner created for an agent. It spends from the agent wallet within the caps that a
    /// person has set, and has no other permission that needs the owner.
    Key(ApiKeyId),
    /// A passkey of the account owner, in a browser. It counts as the wallet's sign-in.
    Passkey(PasskeyId),
}

impl AuthMethod {
    /// API key, if the session was opened by one.
    pub const fn key(self) -> Option<ApiKeyId> {
        match self {
            Self::Key(id) => Some(id),
            Self::Wallet | Self::Payment(_) | Self::Passkey(_) => None,
        }
    }

    /// Payment, if the session was opened by one.
    pub const fn payment(self) -> Option<PaymentId> {
        match self {
            Self::Payment(id) => Some(id),
            Self::Wallet | Self::Key(_) | Self::Passkey(_) => None,
        }
    }

    /// Passkey, if the session was opened by one.
    pub const fn passkey(self) -> Option<PasskeyId> {
        match self {
            Self::Passkey(id) => Some(id),
            Self::Wallet | Self::Payment(_) | Self::Key(_) => None,
        }
    }

    /// Whether the account owner signed in: with the wallet, or with a passkey.
    pub const fn is_owner(self) -> bool {
        matches!(self, Self::Wallet | Self::Passkey(_))
    }
}

/// Data that an agent gives about itself; not verified.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AgentInfo {
    /// Name of the agent.
    pub name: String,
    /// Program that runs the agent.
    pub client: Option<String>,
    /// Version of that program.
    pub version: Option<String>,
}

/// State of a session.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Session {
    /// Account that owns it.
    pub owner: Wallet,
    /// Authentication method of the session.
    pub amr: AuthMethod,
    /// The session that created the login link, for one that a link opened. It ends with that session.
    pub created_by: Option<SessionId>,
    /// API key whose token came with the payment that opened the session.
    pub presented_key: Option<ApiKeyId>,
    /// Time at which the session was opened.
    pub created_at: Timestamp,
    /// Expiry, unless a refresh extends it.
    pub expires_at: Timestamp,
    /// Validity after the last refresh, in milliseconds.
    life_ms: u64,
    /// Number of refreshes so far.
    pub generation: u32,
    current: [u8; 32],
    previous: Option<[u8; 32]>,
    rotated_at: Timestamp,
    /// Reason of the revocation, if it is revoked.
    pub revoked: Option<RevocationReason>,
    /// Agent behind the session, if it was announced.
    pub agent: Option<AgentInfo>,
    /// The owner's latest confirmation of acts of this browser session.
    pub confirmation: Option<PasskeyConfirmation>,
}

/// A passkey of the owner has confirmed acts of a browser session. It is worth nothing once that passkey is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct PasskeyConfirmation {
    /// Passkey that confirmed.
    pub passkey: PasskeyId,
    /// End of the confirmation.
    pub until: Timestamp,
}

/// Reason why a session was revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum RevocationReason {
    /// A replaced token was reused.
    Reuse,
    /// The owner revoked it.
    Owner,
}

/// Commands to a session.
#[derive(Clone, Debug)]
pub enum Command {
    /// Exchanges a token for the next one.
    Refresh {
        /// Hash of the token sent; the caller has verified that we issued it.
        presented: [u8; 32],
        /// Generation for which `next` was made: one after the generation that the caller read.
        generation: u32,
        /// Hash of the next token.
        next: [u8; 32],
    },
    /// Revokes the session.
    Revoke,
    /// Records that a passkey of the owner confirmed.
    Confirm(PasskeyConfirmation),
    /// Records the agent behind the session.
    AnnounceAgent(AgentInfo),
}

/// Events of a session.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The session began.
    Opened {
        /// Account that owns it.
        owner: Wallet,
        /// Authentication method of the session.
        amr: AuthMethod,
        /// The session that created the login link, if a link opened it.
        created_by: Option<SessionId>,
        /// API key whose token came with the payment that opened it.
        presented_key: Option<ApiKeyId>,
        /// Time of the event.
        at: Timestamp,
        /// Validity after the last refresh, in milliseconds.
        life_ms: u64,
        /// Hash of the first token.
        first: [u8; 32],
    },
    /// A token was exchanged.
    Refreshed {
        /// Hash of the new token.
        next: [u8; 32],
        /// Time of the event.
        at: Timestamp,
    },
    /// The session was revoked.
    Revoked(RevocationReason),
    /// The agent behind the session was recorded.
    AgentAnnounced(AgentInfo),
    /// A passkey of the owner confirmed.
    Confirmed(PasskeyConfirmation),
}

/// A session of an account.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = SessionResource))]
pub struct SessionView<'a> {
    /// `ses_…` is the id of the session.
    pub session_id: SessionId,
    /// `active` or `revoked`.
    pub status: State,
    /// Reason of the revocation, if it was not a new sign-in.
    #[cfg_attr(feature = "documents", schema(required))]
    pub reason: Option<SessionEndReason>,
    /// The API key that opened the session.
    #[cfg_attr(feature = "documents", schema(required))]
    pub api_key_id: Option<ApiKeyId>,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// Until when a passkey has confirmed acts of this browser session (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed_until: Option<Time>,
    /// What the agent announced about itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentInfoView<'a>>,
}

/// Details that an agent announced. They are not verified.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = AgentInfo))]
pub struct AgentInfoView<'a> {
    /// Name of the agent.
    pub name: &'a str,
    /// Program that runs the agent.
    pub client: Option<&'a str>,
    /// Version of that program.
    pub version: Option<&'a str>,
}

/// Reason for which a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub enum SessionEndReason {
    /// Its refresh token was used twice.
    #[serde(rename = "refresh_token_reused")]
    RefreshTokenReused,
    /// Its owner signed out.
    #[serde(rename = "signed_out")]
    SignedOut,
}

crate::state_machine! { Session, Event;
    states { Active = "active", Revoked = "revoked" }
    events {
        Opened - { - => Active: "sign-in, payment, login link, API key or passkey" }
        Refreshed - { Active }
        Revoked "revoked" { Active => Revoked: "reuse of a replaced token, or revocation by the account owner" }
        AgentAnnounced "agent_announced" { Active }
        Confirmed "confirmed" { Active }
    }
}

impl From<&Session> for State {
    fn from(session: &Session) -> Self {
        if session.is_active() {
            Self::Active
        } else {
            Self::Revoked
        }
    }
}

/// Reason why a session rejects a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The session is revoked.
    Revoked,
    /// The session has expired.
    Expired,
    /// It was refreshed since the caller read it: read again.
    Stale,
}

/// Reply to a refresh or another command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The caller may have the token of this generation.
    Generation(u32),
    /// A replaced token was reused: the session is revoked.
    ReuseDetected,
    /// The command was carried out.
    Done,
}

impl Stored for Session {
    const SCHEMA: u16 = 410;
}

impl Stored for Event {
    const SCHEMA: u16 = 411;
}

impl AgentInfo {
    /// The session as its owner sees it.
    pub fn view(&self) -> AgentInfoView<'_> {
        AgentInfoView {
            name: &self.name,
            client: self.client.as_deref(),
            version: self.version.as_deref(),
        }
    }
}

impl Session {
    /// First snapshot of a session, for the batch that opens it.
    ///
    /// # Errors
    /// Never for a new id; the error type is the engine's.
    pub fn open(
        seed: SessionSeed,
        owner: Wallet,
        amr: AuthMethod,
        created_by: Option<SessionId>,
        context: &Context,
    ) -> Result<NewEntity, InvalidTransition> {
        NewEntity::from_event::<Self>(
            &seed.id,
            &Event::Opened {
                owner,
                amr,
                created_by,
                presented_key: seed.presented_key,
                at: context.now,
                life_ms: seed.life_ms,
                first: seed.first,
            },
            context,
        )
    }

    /// Row key in the account's list of sessions, newest first. Sessions that payments opened are not in it: the payments
    /// are.
    pub fn list_key(owner: &Wallet, opened: Timestamp, id: SessionId) -> RowKey {
        table::owner_index_entry(owner, EntityKind::Session, Timestamp(u64::MAX - opened.0), id.0)
    }

    /// Whether the session is an agent's, and not the browser of the account owner.
    pub const fn is_of_agent(&self) -> bool {
        match self.amr {
            AuthMethod::Wallet => self.created_by.is_none(),
            AuthMethod::Payment(_) | AuthMethod::Key(_) => true,
            AuthMethod::Passkey(_) => false,
        }
    }

    /// The API key that the session ends with: it opened the session, or its token came with the payment that did.
    pub const fn key(&self) -> Option<ApiKeyId> {
        match self.amr {
            AuthMethod::Key(key) => Some(key),
            AuthMethod::Wallet | AuthMethod::Payment(_) | AuthMethod::Passkey(_) => self.presented_key,
        }
    }

    /// Time of the last refresh, if there was one.
    pub const fn refreshed_at(&self) -> Option<Timestamp> {
        match self.generation {
            0 => None,
            _ => Some(self.rotated_at),
        }
    }

    /// Whether tokens of this session are accepted.
    pub const fn is_active(&self) -> bool {
        self.revoked.is_none()
    }
}

/// Revokes the session and writes the row that id_token checks read.
fn revoke(id: &SessionId, answer: Reply, why: RevocationReason, context: &Context) -> Decision<Session> {
    let until_s = context.now.seconds() + ID_TOKEN_MAX_S;
    Decision::answer(answer)
        .event(Event::Revoked(why))
        .put(table::revoked_session(until_s, *id), Vec::new())
}

impl Entity for Session {
    const KIND: EntityKind = EntityKind::Session;

    type Id = SessionId;
    type Command = Command;
    type Reply = Reply;
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = SessionView<'a>;

    fn decide(
        this: Option<&Self>,
        id: &SessionId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let Some(session) = this.filter(|s| s.is_active()) else {
            return Err(Rejection::Revoked);
        };
        match command {
            Command::Revoke => Ok(revoke(id, Reply::Done, RevocationReason::Owner, context)),
            Command::Confirm(confirmation) => Ok(Decision::answer(Reply::Done).event(Event::Confirmed(confirmation))),
            Command::AnnounceAgent(agent) => Ok(Decision::answer(Reply::Done).event(Event::AgentAnnounced(agent))),
            Command::Refresh { .. } if context.now >= session.expires_at => Err(Rejection::Expired),
            Command::Refresh {
                presented,
                generation,
                next,
            } if presented == session.current => {
                if session.generation.checked_add(1) != Some(generation) {
                    return Err(Rejection::Stale);
                }
                Ok(Decision::answer(Reply::Generation(generation)).event(Event::Refreshed { next, at: context.now }))
            }
            // The successor is unused: otherwise this token would no longer be the previous one.
            Command::Refresh { presented, .. }
                if session.previous == Some(presented) && context.now <= session.rotated_at.plus_ms(GRACE_MS) =>
            {
                Ok(Decision::answer(Reply::Generation(session.generation)))
            }
            Command::Refresh { .. } => Ok(revoke(id, Reply::ReuseDetected, RevocationReason::Reuse, context)),
        }
    }

    fn apply(this: Option<Self>, _: &SessionId, event: &Event) -> Result<Self, InvalidTransition> {
        match (this, event) {
            (
                None,
                Event::Opened {
                    owner,
                    amr,
                    created_by,
                    presented_key,
                    at,
                    life_ms,
                    first,
                },
            ) => Ok(Self {
                owner: *owner,
                amr: *amr,
                created_by: *created_by,
                presented_key: *presented_key,
                created_at: *at,
                expires_at: at.plus_ms(*life_ms),
                life_ms: *life_ms,
                generation: 0,
                current: *first,
                previous: None,
                rotated_at: *at,
                revoked: None,
                agent: None,
                confirmation: None,
            }),
            (Some(s), Event::Refreshed { next, at }) if s.is_active() => Ok(Self {
                // `decide` has checked that there is a next generation.
                generation: s.generation.saturating_add(1),
                previous: Some(s.current),
                current: *next,
                rotated_at: *at,
                expires_at: at.plus_ms(s.life_ms),
                ..s
            }),
            (Some(s), Event::Revoked(why)) if s.is_active() => Ok(Self {
                revoked: Some(*why),
                ..s
            }),
            (Some(s), Event::AgentAnnounced(agent)) if s.is_active() => Ok(Self {
                agent: Some(agent.clone()),
                ..s
            }),
            (Some(s), Event::Confirmed(confirmation)) if s.is_active() => Ok(Self {
                confirmation: Some(*confirmation),
                ..s
            }),
            (this, event) => Err(InvalidTransition::new(this.as_ref().map_or("-", Self::status), event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &SessionId) -> SessionView<'_> {
        let reason = self.revoked.map(|r| match r {
            RevocationReason::Reuse => SessionEndReason::RefreshTokenReused,
            RevocationReason::Owner => SessionEndReason::SignedOut,
        });
        SessionView {
            session_id: *id,
            status: self.state(),
            reason,
            api_key_id: self.amr.key(),
            created_at: self.created_at.into(),
            confirmed_until: self.confirmation.map(|confirmation| confirmation.until.into()),
            agent: self.agent.as_ref().map(AgentInfo::view),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
