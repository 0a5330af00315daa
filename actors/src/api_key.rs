//! An API key: what an agent that has no wallet of its own exchanges for tokens of the account that a person made it for.
//!
//! The secret is never here: it is a keyed hash of the key's id, which the edge makes whenever it is asked for. Until its
//! first use, and no longer than ten minutes, the key can be read again by whoever asked for it (a lost answer costs
//! nothing); afterwards by nobody. Every exchange opens a session of its own, and a revocation ends all of them at once.

use purser_storage::codec::Stored;

use crate::id::{ApiKeyId, Wallet};
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, OutOfOrder, View, table};
use crate::payment::NewSession;
use crate::port::Timestamp;
use crate::session::{Amr, ID_TOKEN_MAX_S, Session};

/// How long an unused key can be read by whoever asked for it, in milliseconds.
pub const READABLE_MS: u64 = 600_000;
/// Characters of a key's name.
pub const LONGEST_NAME: usize = 80;

/// An API key's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ApiKey {
    /// Whose account it opens.
    pub owner: Wallet,
    /// What its owner calls it.
    pub name: String,
    /// Which of the owner's places it takes while it lives.
    place: u8,
    /// When.
    pub created_at: Timestamp,
    /// When it was last exchanged for tokens.
    pub used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// Bring it into being, at a place that is free. The same person's second yes changes nothing.
    Open {
        /// For whom.
        owner: Wallet,
        /// What it is called.
        name: String,
        /// The place.
        place: u8,
    },
    /// Open a session for whoever has presented it.
    Use {
        /// The session.
        session: NewSession,
    },
    /// End it, and everything that was made with it.
    Revoke,
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// It was made.
    Opened {
        /// For whom.
        owner: Wallet,
        /// What it is called.
        name: String,
        /// The place that it takes.
        place: u8,
        /// When.
        at: Timestamp,
    },
    /// It was exchanged for the first time: from here on nobody reads it again.
    Begun(Timestamp),
    /// It was exchanged once more.
    Used(Timestamp),
    /// It was revoked.
    Revoked(Timestamp),
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// There is no such key.
    Unknown,
    /// Another account has it, or it is over.
    Taken,
    /// It was revoked.
    Revoked,
    /// It is older than a restore, and nobody can say whether it was revoked.
    Suspended,
    /// The account has as many keys as it can have.
    Full,
}

impl Stored for ApiKey {
    const SCHEMA: u16 = 250;
}

impl Stored for Event {
    const SCHEMA: u16 = 251;
}

impl ApiKey {
    /// Whether it still opens anything.
    pub const fn is_alive(&self) -> bool {
        self.revoked_at.is_none()
    }

    /// Whether whoever asked for it may still read it.
    pub fn is_readable(&self, now: Timestamp) -> bool {
        self.is_alive() && self.used_at.is_none() && now < self.created_at.plus_ms(READABLE_MS)
    }

    fn exchange(&self, id: ApiKeyId, session: NewSession, context: &Context) -> Result<Decision<Self>, Rejection> {
        let (first, life) = (session.first, session.life_ms);
        let opening = Session::open(session.id, self.owner, Amr::Key(id), first, life, context);
        let event = match self.used_at {
            None => Event::Begun(context.now),
            Some(_) => Event::Used(context.now),
        };
        let done = Decision::answer(()).event(event);
        Ok(done.open(opening.map_err(|_| Rejection::Taken)?))
    }

    fn revoke(&self, id: ApiKeyId, context: &Context) -> Decision<Self> {
        // Longer than any token that was made with it can live.
        let until_s = context.now.seconds() + ID_TOKEN_MAX_S;
        Decision::answer(())
            .event(Event::Revoked(context.now))
            .put(table::revoked(until_s, id.family()), Vec::new())
            .take(table::api_key(&self.owner, self.place))
    }
}

impl Entity for ApiKey {
    const KIND: Kind = Kind::ApiKey;
    const MOVES: &'static [Move] = &[
        ("-", "its owner says yes to a signup, or makes it", "issued"),
        ("issued", "first exchange for tokens", "active"),
        ("issued", "owner revokes it", "revoked"),
        ("active", "owner revokes it", "revoked"),
    ];
    const SELF_BORN: bool = true;
    const CHANGES: &'static [&'static str] = &["issued", "active", "revoked"];

    type Id = ApiKeyId;
    type Command = Command;
    type Event = Event;
    type Answer = ();
    type Rejection = Rejection;
    type Outcome = ();

    fn decide(
        this: Option<&Self>,
        id: &ApiKeyId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        match (this, command) {
            (None, Command::Open { owner, name, place }) => Ok(Decision::answer(())
                .put_new(table::api_key(&owner, place), id.0.to_be_bytes().to_vec())
                .event(Event::Opened {
                    owner,
                    name,
                    place,
                    at: context.now,
                })),
            (None, _) => Err(Rejection::Unknown),
            (Some(key), Command::Open { owner, .. }) if key.owner == owner && key.is_alive() => {
                Ok(Decision::answer(()))
            }
            (Some(_), Command::Open { .. }) => Err(Rejection::Taken),
            (Some(key), Command::Use { session }) if key.is_alive() => key.exchange(*id, session, context),
            (Some(_), Command::Use { .. }) => Err(Rejection::Revoked),
            (Some(key), Command::Revoke) if key.is_alive() => Ok(key.revoke(*id, context)),
            (Some(_), Command::Revoke) => Ok(Decision::answer(())),
        }
    }

    fn apply(this: Option<Self>, _: &ApiKeyId, event: &Event) -> Result<Self, OutOfOrder> {
        match (this, event) {
            (None, Event::Opened { owner, name, place, at }) => Ok(Self {
                owner: *owner,
                name: name.clone(),
                place: *place,
                created_at: *at,
                used_at: None,
                revoked_at: None,
            }),
            (Some(key), Event::Begun(at)) if key.is_alive() && key.used_at.is_none() => Ok(Self {
                used_at: Some(*at),
                ..key
            }),
            (Some(key), Event::Used(at)) if key.is_alive() && key.used_at.is_some() => Ok(Self {
                used_at: Some(*at),
                ..key
            }),
            (Some(key), Event::Revoked(at)) if key.is_alive() => Ok(Self {
                revoked_at: Some(*at),
                ..key
            }),
            (this, event) => Err(OutOfOrder::new(this.as_ref().map_or("-", Self::status), event)),
        }
    }

    fn status(&self) -> &'static str {
        match (self.revoked_at, self.used_at) {
            (Some(_), _) => "revoked",
            (None, None) => "issued",
            (None, Some(_)) => "active",
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn announces(event: &Event) -> Option<&'static str> {
        match event {
            Event::Opened { .. } => Some("issued"),
            Event::Begun(_) => Some("active"),
            Event::Used(_) => None,
            Event::Revoked(_) => Some("revoked"),
        }
    }

    fn view(&self, id: &ApiKeyId) -> View {
        use crate::kernel::record::rfc3339;
        View::new()
            .text("api_key_id", id)
            .text("name", &self.name)
            .text("state", self.status())
            .time("created_at", self.created_at)
            .maybe("last_used_at", self.used_at.map(rfc3339))
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
