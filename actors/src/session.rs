//! A session: one sign-in and the refresh tokens that descend from it (a refresh-token family).
//!
//! Each refresh replaces the token. The one before it, presented again within the grace time and while its successor
//! is unused, yields the same successor (a lost answer locks nobody out); any other reuse revokes the family, because
//! one of the two who hold the token is a thief. The tokens themselves never come here: only their hashes.

use purser_storage::codec::Stored;

use crate::id::{ApiKeyId, PaymentId, SessionId, Wallet};
use crate::kernel::entity::Transition;
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, JsonObject, NewEntity, table};
use crate::port::Timestamp;

/// A token replaced longer ago than this, in milliseconds, is never accepted again.
pub const GRACE_MS: u64 = 30_000;

/// No id_token lives longer than this after it was made, in seconds: a revocation is remembered for so long.
pub const ID_TOKEN_MAX_S: u64 = 24 * 3600;

/// How the wallet was proved when the session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum AuthMethod {
    /// The wallet signed in.
    Wallet,
    /// The wallet paid, and this is the payment. A relaying seller may hold this, so it may not move money away, and it reads the
    /// secrets of what this payment bought and of nothing else.
    Payment(PaymentId),
    /// An API key was presented, which its owner made for an agent: it spends from the managed wallet, within the caps that a
    /// person has set, and does nothing else that takes the owner.
    Key(ApiKeyId),
}

impl AuthMethod {
    /// The API key, if there was one.
    pub const fn key(self) -> Option<ApiKeyId> {
        match self {
            Self::Key(id) => Some(id),
            Self::Wallet | Self::Payment(_) => None,
        }
    }

    /// The payment, if there was one.
    pub const fn payment(self) -> Option<PaymentId> {
        match self {
            Self::Payment(id) => Some(id),
            Self::Wallet | Self::Key(_) => None,
        }
    }
}

/// What an agent says of itself: whose word it is, nobody checks.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct AgentInfo {
    /// What it is called.
    pub name: String,
    /// The program that runs it.
    pub client: Option<String>,
    /// Which version of that.
    pub version: Option<String>,
}

/// A session's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Session {
    /// Whose.
    pub owner: Wallet,
    /// See [`Amr`].
    pub amr: AuthMethod,
    /// Since when.
    pub created_at: Timestamp,
    /// Refreshing ends here, unless it is used before.
    pub expires_at: Timestamp,
    /// How long it lives without use, in milliseconds.
    life_ms: u64,
    /// How often it was refreshed.
    pub generation: u32,
    current: [u8; 32],
    previous: Option<[u8; 32]>,
    rotated_at: Timestamp,
    /// Why it was revoked, if it was.
    pub revoked: Option<RevocationReason>,
    /// Who is behind it, if it said so.
    pub agent: Option<AgentInfo>,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum RevocationReason {
    /// A replaced token came back.
    Reuse,
    /// The owner asked.
    Owner,
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// Exchange a token for the next.
    Refresh {
        /// Hash of the token presented; the caller has proved that it is one of ours.
        presented: [u8; 32],
        /// The generation for which `next` was made: the one after the caller's reading.
        generation: u32,
        /// Hash of the next token.
        next: [u8; 32],
    },
    /// End it.
    Revoke,
    /// Write down who is behind it.
    AnnounceAgent(AgentInfo),
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// It began.
    Opened {
        /// Whose.
        owner: Wallet,
        /// How proved.
        amr: AuthMethod,
        /// When.
        at: Timestamp,
        /// How long it lives without use, in milliseconds.
        life_ms: u64,
        /// Hash of the first token.
        first: [u8; 32],
    },
    /// A token was exchanged.
    Refreshed {
        /// Hash of the new one.
        next: [u8; 32],
        /// When.
        at: Timestamp,
    },
    /// It ended.
    Revoked(RevocationReason),
    /// An agent said who it is.
    AgentAnnounced(AgentInfo),
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It has ended.
    Revoked,
    /// Its time is over.
    Expired,
    /// It was refreshed since the caller read it: read again.
    Stale,
}

/// What a refresh came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The token of this generation is the caller's.
    Generation(u32),
    /// A replaced token came back: the family is revoked.
    ReuseDetected,
    /// As asked.
    Done,
}

impl Stored for Session {
    const SCHEMA: u16 = 410;
}

impl Stored for Event {
    const SCHEMA: u16 = 411;
}

impl AgentInfo {
    /// As its owner sees it.
    pub fn view(&self) -> JsonObject {
        JsonObject::new()
            .text("name", &self.name)
            .optional_text("client", self.client.as_ref())
            .optional_text("version", self.version.as_ref())
    }
}

impl Session {
    /// The first snapshot of a session, for the batch that opens it.
    ///
    /// # Errors
    /// Never for a new id; the type is the engine's.
    pub fn open(
        id: SessionId,
        owner: Wallet,
        amr: AuthMethod,
        first: [u8; 32],
        life_ms: u64,
        context: &Context,
    ) -> Result<NewEntity, InvalidTransition> {
        let at = context.now;
        NewEntity::from_event::<Self>(
            &id,
            &Event::Opened {
                owner,
                amr,
                at,
                life_ms,
                first,
            },
            context,
        )
    }

    /// Whether tokens of this session still count.
    pub const fn is_active(&self) -> bool {
        self.revoked.is_none()
    }
}

/// Ends the session and leaves word for whoever judges id_tokens.
fn revoke(id: &SessionId, answer: Reply, why: RevocationReason, context: &Context) -> Decision<Session> {
    let until_s = context.now.seconds() + ID_TOKEN_MAX_S;
    Decision::answer(answer)
        .event(Event::Revoked(why))
        .put(table::revoked_session(until_s, *id), Vec::new())
}

impl Entity for Session {
    const KIND: EntityKind = EntityKind::Session;
    const EVENT_NAMES: &'static [&'static str] = &["revoked", "announced"];
    const TRANSITIONS: &'static [Transition] = &[
        ("-", "sign-in, payment, login link or API key", "active"),
        ("active", "reuse of a replaced token, or the owner", "revoked"),
    ];

    type Id = SessionId;
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Rejection = Rejection;
    type Outcome = ();

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
            // The successor is unused: had it been presented, this token would no longer be the previous one.
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
                    at,
                    life_ms,
                    first,
                },
            ) => Ok(Self {
                owner: *owner,
                amr: *amr,
                created_at: *at,
                expires_at: at.plus_ms(*life_ms),
                life_ms: *life_ms,
                generation: 0,
                current: *first,
                previous: None,
                rotated_at: *at,
                revoked: None,
                agent: None,
            }),
            (Some(s), Event::Refreshed { next, at }) if s.is_active() => Ok(Self {
                // Whoever decides has checked that there is a next one.
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
            (this, event) => Err(InvalidTransition::new(this.as_ref().map_or("-", Self::status), event)),
        }
    }

    fn status(&self) -> &'static str {
        if self.is_active() { "active" } else { "revoked" }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn event_name(event: &Event) -> Option<&'static str> {
        match event {
            Event::Revoked(_) => Some("revoked"),
            Event::AgentAnnounced(_) => Some("announced"),
            Event::Opened { .. } | Event::Refreshed { .. } => None,
        }
    }

    fn view(&self, id: &SessionId) -> JsonObject {
        let reason = self.revoked.map(|r| match r {
            RevocationReason::Reuse => "refresh_token_reused",
            RevocationReason::Owner => "signed_out",
        });
        let view = JsonObject::new()
            .text("session_id", id)
            .text("status", self.status())
            .optional_text("reason", reason)
            .optional_text("api_key_id", self.amr.key())
            .time("created_at", self.created_at);
        match &self.agent {
            Some(agent) => view.object("agent", &agent.view()),
            None => view,
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
