//! A registered bank destination: where bank payments may go.
//!
//! ```text
//! - --registered--> active --removed--> REMOVED
//! ```
//!
//! While a U.S. destination is active, a row of its own says so and carries what a claim must know; a claim's batch holds
//! only with that row. The account number lies sealed in the vault, also for a while after the removal: payouts that were
//! claimed before it still need it.

use purser_storage::codec::{self, Stored};

use crate::id::{BankRecipientId, CardId, DestinationId, EffectId, Wallet};
use crate::kernel::effect::Work;
use crate::kernel::entity::Move;
use crate::kernel::{Context, Decision, Entity, Kind, OutOfOrder, View, table};
use crate::payout::BankDetails;
use crate::port::Timestamp;

/// What kind of account it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Scheme {
    /// A U.S. account behind a routing number.
    FiatUs,
    /// An account with an IBAN. Listed; bank payments go to U.S. accounts only.
    FiatIban,
}

impl Scheme {
    /// As in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FiatUs => "fiat_us",
            Self::FiatIban => "fiat_iban",
        }
    }
}

/// Who owns destinations, as the account holder keeps them.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BankRecipient {
    /// Several destinations have the same.
    pub id: BankRecipientId,
    /// A person or company.
    pub name: String,
    /// One line; empty where none was given.
    pub address: String,
}

/// A destination's state.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Destination {
    /// Whose list it is on.
    pub owner: Wallet,
    /// Whose account it is.
    pub recipient: BankRecipient,
    /// What kind of account.
    pub scheme: Scheme,
    /// What may be known of it. An IBAN has no routing number.
    pub details: BankDetails,
    /// When it was registered.
    pub created_at: Timestamp,
    /// Whether it can be used.
    pub active: bool,
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// Take it into the list.
    Register {
        /// Everything but the number.
        destination: Box<Destination>,
        /// The number, sealed under the destination's id.
        sealed: Vec<u8>,
    },
    /// Take it off the list.
    Remove,
    /// Call it otherwise.
    Rename(String),
    /// Nothing can need the number any more.
    Forget {
        /// The timer that says so.
        effect: EffectId,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// On the list.
    Registered(Box<Destination>),
    /// Off the list.
    Removed(Timestamp),
    /// Its owner calls it so.
    Renamed(String),
}

/// Why a command was refused: the state it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

/// How long a removed destination's number is kept, in milliseconds: longer than a payment can be under way before it becomes
/// a payout. Payouts themselves are asked.
const NUMBER_KEPT_MS: u64 = 30 * 24 * 3_600_000;

impl Stored for Destination {
    const SCHEMA: u16 = 123;
}

impl Stored for Event {
    const SCHEMA: u16 = 124;
}

impl Entity for Destination {
    const KIND: Kind = Kind::Destination;
    const CHANGES: &'static [&'static str] = &["registered", "removed", "renamed"];
    const MOVES: &'static [Move] = &[("-", "registered", "active"), ("active", "removed", "removed")];
    const SELF_BORN: bool = true;

    type Id = DestinationId;
    type Command = Command;
    type Event = Event;
    type Answer = ();
    type Rejection = Rejection;
    type Outcome = ();

    fn decide(
        this: Option<&Self>,
        id: &DestinationId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let decided = Decision::answer(());
        match (this, command) {
            (None, Command::Register { destination, sealed }) => {
                let owner = destination.owner;
                let decided =
                    decided
                        .put_new(table::vault(CardId(id.0)), sealed)
                        .owned(&owner, Kind::Destination, id.0, context);
                let decided = match destination.scheme {
                    Scheme::FiatUs => {
                        decided.put_new(table::destination(&owner, *id), codec::encode(&destination.details))
                    }
                    Scheme::FiatIban => decided,
                };
                let destination = Destination {
                    created_at: context.now,
                    active: true,
                    ..*destination
                };
                Ok(decided.event(Event::Registered(Box::new(destination))))
            }
            (Some(destination), Command::Remove) if destination.active => {
                let until = context.now.plus_ms(NUMBER_KEPT_MS);
                let decided =
                    decided
                        .event(Event::Removed(context.now))
                        .then_at(until, Work::ForgetNumber(*id), context);
                Ok(match destination.scheme {
                    Scheme::FiatUs => decided.take(table::destination(&destination.owner, *id)),
                    Scheme::FiatIban => decided,
                })
            }
            (Some(destination), Command::Rename(name)) if destination.active && destination.details.name == name => {
                Ok(decided)
            }
            (Some(destination), Command::Rename(name)) if destination.active => {
                let details = BankDetails {
                    name: name.clone(),
                    ..destination.details.clone()
                };
                let decided = decided.event(Event::Renamed(name));
                Ok(match destination.scheme {
                    Scheme::FiatUs => {
                        let row = table::destination(&destination.owner, *id);
                        decided.requires_present(row.clone()).put(row, codec::encode(&details))
                    }
                    Scheme::FiatIban => decided,
                })
            }
            (Some(destination), Command::Forget { effect }) if !destination.active => {
                Ok(decided.completes(effect).take(table::vault(CardId(id.0))))
            }
            (this, _) => Err(Rejection(this.map_or("-", Self::status))),
        }
    }

    fn apply(this: Option<Self>, _: &DestinationId, event: &Event) -> Result<Self, OutOfOrder> {
        let status = this.as_ref().map_or("-", Self::status);
        match (this, event) {
            (None, Event::Registered(destination)) => Ok((**destination).clone()),
            (Some(destination), Event::Removed(_)) if destination.active => Ok(Self {
                active: false,
                ..destination
            }),
            (Some(mut destination), Event::Renamed(name)) if destination.active => {
                destination.details.name.clone_from(name);
                Ok(destination)
            }
            (_, event) => Err(OutOfOrder::new(status, event)),
        }
    }

    fn status(&self) -> &'static str {
        if self.active { "active" } else { "removed" }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn announces(event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::Registered(_) => "registered",
            Event::Removed(_) => "removed",
            Event::Renamed(_) => "renamed",
        })
    }

    fn view(&self, id: &DestinationId) -> View {
        let routing = Some(&self.details.routing_number).filter(|number| !number.is_empty());
        View::new()
            .text("destination_id", id)
            .text("destination_type", self.scheme.name())
            .text("status", self.status())
            .text("nickname", &self.details.name)
            .text("bank_name", &self.details.bank_name)
            .text("account_holder_name", &self.details.account_holder_name)
            .text("account_number_last4", &self.details.last4)
            .maybe("routing_number", routing)
            .time("created_at", self.created_at)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
