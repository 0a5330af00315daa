//! The link between an account and its holder's own account at the card issuer.
//!
//! ```text
//! - --owner's page--> unlinked --issuer opened the account--> linked
//!                         ^-------------owner's page-------------'
//! ```
//!
//! A wallet has one account at the issuer for good: linked again it is the same one, with the same address. While it is
//! linked, and no longer, there is a row that purchases can require ([`table::linked`]); its value is the deposit address,
//! the 20 bytes of it and nothing else.

use purser_storage::codec::Stored;

use crate::id::{EffectId, Wallet};
use crate::kernel::effect::Work;
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, OutOfOrder, View, table};
use crate::port::{Said, Timestamp};

/// The state of one wallet's link.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Link {
    /// Whose.
    pub wallet: Wallet,
    /// When it was first asked for.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Where it stands.
    pub status: Status,
}

/// Where a link stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// There is none.
    Unlinked {
        /// The effect that has the account opened, if one does.
        opening: Option<EffectId>,
        /// Why the last opening came to nothing, if it did.
        refused: Option<Said>,
    },
    /// There is one.
    Linked {
        /// The account's own address on Base.
        deposit_address: [u8; 20],
    },
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// The owner wants it.
    Link,
    /// The owner does not want it any more.
    Unlink,
    /// The issuer opened or found the account.
    Opened {
        /// The effect that asked.
        effect: EffectId,
        /// The account's own address on Base.
        deposit_address: [u8; 20],
    },
    /// The issuer definitely refused.
    Refused {
        /// The effect that asked.
        effect: EffectId,
        /// The issuer's word.
        reason: Said,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The owner asked for it.
    Asked {
        /// The effect that has the account opened.
        opening: EffectId,
        /// When.
        at: Timestamp,
    },
    /// The account is open.
    Linked([u8; 20], Timestamp),
    /// The issuer refused.
    Refused(Said, Timestamp),
    /// The owner ended it, or took the wish back.
    Unlinked(Timestamp),
}

/// Why a command was refused: the state it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

impl Stored for Link {
    const SCHEMA: u16 = 140;
}

impl Stored for Event {
    const SCHEMA: u16 = 141;
}

/// Nothing is there and nothing on its way.
const NOTHING: Status = Status::Unlinked {
    opening: None,
    refused: None,
};

impl Link {
    /// The account's own address on Base, while it is linked.
    pub const fn deposit_address(&self) -> Option<&[u8; 20]> {
        match &self.status {
            Status::Linked { deposit_address } => Some(deposit_address),
            Status::Unlinked { .. } => None,
        }
    }

    /// The effect that has the account opened, if one does.
    pub const fn opening(&self) -> Option<EffectId> {
        match &self.status {
            Status::Unlinked { opening, .. } => *opening,
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

impl Entity for Link {
    const KIND: Kind = Kind::Link;
    const CHANGES: &'static [&'static str] = &["issuer.linking", "issuer.linked", "issuer.refused", "issuer.unlinked"];
    const MOVES: &'static [Move] = &[
        ("-", "owner asks on the account page", "unlinked"),
        ("unlinked", "issuer opened the account", "linked"),
        ("linked", "owner unlinks it", "unlinked"),
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
        let opening = this.and_then(Self::opening);
        let linked = this.is_some_and(|this| this.deposit_address().is_some());
        match command {
            Command::Link if linked || opening.is_some() => Ok(done),
            Command::Link => {
                let opening = EffectId(context.id());
                Ok(done
                    .event(Event::Asked {
                        opening,
                        at: context.now,
                    })
                    .then_as(opening, Work::OpenIssuerAccount(*wallet), context))
            }
            Command::Unlink if linked => Ok(done.take(table::linked(wallet)).event(Event::Unlinked(context.now))),
            Command::Unlink => Ok(match opening {
                Some(opening) => done.completes(opening).event(Event::Unlinked(context.now)),
                None => done,
            }),
            Command::Opened {
                effect,
                deposit_address,
            } if opening == Some(effect) => Ok(done
                .completes(effect)
                .put_new(table::linked(wallet), deposit_address.to_vec())
                .event(Event::Linked(deposit_address, context.now))),
            Command::Refused { effect, reason } if opening == Some(effect) => {
                Ok(done.completes(effect).event(Event::Refused(reason, context.now)))
            }
            Command::Opened { .. } | Command::Refused { .. } => Err(Rejection(this.map_or("-", Self::status))),
        }
    }

    fn apply(this: Option<Self>, wallet: &Wallet, event: &Event) -> Result<Self, OutOfOrder> {
        let status = this.as_ref().map_or("-", Self::status);
        let asked = |opening: &EffectId| Status::Unlinked {
            opening: Some(*opening),
            refused: None,
        };
        match (this, event) {
            (None, Event::Asked { opening, at }) => Ok(Self {
                wallet: *wallet,
                created_at: *at,
                updated_at: *at,
                status: asked(opening),
            }),
            (Some(this), event) => match (&this.status, event) {
                (Status::Unlinked { opening: None, .. }, Event::Asked { opening, at }) => {
                    Ok(this.at(asked(opening), *at))
                }
                (Status::Unlinked { opening: Some(_), .. }, Event::Linked(address, at)) => {
                    let deposit_address = *address;
                    Ok(this.at(Status::Linked { deposit_address }, *at))
                }
                (Status::Unlinked { opening: Some(_), .. }, Event::Refused(reason, at)) => {
                    let refused = Some(reason.clone());
                    Ok(this.at(Status::Unlinked { opening: None, refused }, *at))
                }
                (Status::Linked { .. } | Status::Unlinked { opening: Some(_), .. }, Event::Unlinked(at)) => {
                    Ok(this.at(NOTHING, *at))
                }
                (_, event) => Err(OutOfOrder::new(status, event)),
            },
            (None, event) => Err(OutOfOrder::new(status, event)),
        }
    }

    fn status(&self) -> &'static str {
        match self.status {
            Status::Unlinked { .. } => "unlinked",
            Status::Linked { .. } => "linked",
        }
    }

    fn owner(&self) -> Wallet {
        self.wallet
    }

    fn announces(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Asked { .. } => "issuer.linking",
            Event::Linked(..) => "issuer.linked",
            Event::Refused(..) => "issuer.refused",
            Event::Unlinked(_) => "issuer.unlinked",
        })
    }

    fn view(&self, _: &Wallet) -> View {
        let refused = match &self.status {
            Status::Unlinked { refused, .. } => refused.as_deref(),
            Status::Linked { .. } => None,
        };
        View::new()
            .text("user_id", self.wallet.user_id())
            .text("status", self.status())
            .flag("linking", self.opening().is_some())
            .maybe(
                "deposit_address",
                self.deposit_address().map(|address| Wallet::Evm(*address).address()),
            )
            .maybe("refusal_reason", refused)
            .time("created_at", self.created_at)
            .time("last_updated_at", self.updated_at)
    }

    fn outcome(&self) -> Option<Self> {
        self.opening().is_none().then(|| self.clone())
    }
}
