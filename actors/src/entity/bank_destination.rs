//! A registered bank destination: an account that bank payments may go to.
//!
//! ```text
//! - --registered--> active --removed--> REMOVED
//! ```
//!
//! While a U.S. destination is active, a separate row records this with the data that a claim needs; a claim's batch
//! has that row as a condition. The account number is sealed in the vault. It remains there for a while after the
//! removal, because payouts claimed before still need it.

use purser_storage::codec::{self, Stored};
use serde::Serialize;

use crate::answer::Time;
use crate::id::{BankDestinationId, BankRecipientId, CardId, JobId, Wallet};
use crate::jobs::{JobPolicy, LineDependency, Queue, jobs};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _, table};
use crate::port::Timestamp;
use crate::port::payouts::BankDetails;

jobs! { BankDestination:
    /// Destroy the sealed account number of a removed destination, once no payout needs it.
    32 ShredAccountNumber(id: BankDestinationId) = "shred_account_number" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}

/// Type of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum DestinationType {
    /// A U.S. account with a routing number.
    FiatUs,
    /// An account with an IBAN. Listed; bank payments go to U.S. accounts only.
    FiatIban,
}

impl DestinationType {
    /// Name in API responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FiatUs => "fiat_us",
            Self::FiatIban => "fiat_iban",
        }
    }
}

crate::answer::serialize_as_name!(DestinationType);

/// Owner of destinations, as the account owner entered it.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BankRecipient {
    /// Shared by all destinations of the same owner.
    pub id: BankRecipientId,
    /// Name of the person or company.
    pub name: String,
    /// One line; empty if none was given.
    pub address: String,
}

/// State of a bank destination.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BankDestination {
    /// Account whose list it is on.
    pub owner: Wallet,
    /// Owner of the bank account.
    pub recipient: BankRecipient,
    /// Type of the bank account.
    pub scheme: DestinationType,
    /// Data that may be stored outside the vault. An IBAN has no routing number.
    pub details: BankDetails,
    /// Time of the registration.
    pub created_at: Timestamp,
    /// Whether it can be paid.
    pub active: bool,
}

/// Commands to a bank destination.
#[derive(Clone, Debug)]
pub enum Command {
    /// Registers the destination.
    Register {
        /// All data except the account number.
        destination: Box<BankDestination>,
        /// The account number, sealed under the destination's id.
        sealed: Vec<u8>,
    },
    /// Removes it from the list.
    Remove,
    /// Renames the destination.
    Rename(String),
    /// The account number is no longer needed.
    ShredNumber {
        /// Scheduled job that triggers it.
        job: JobId,
    },
}

/// Events of a bank destination.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// It was registered.
    Registered(Box<BankDestination>),
    /// Removed from the list.
    Removed(Timestamp),
    /// The owner renamed it.
    Renamed(String),
}

/// A recipient's bank account.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = BankDestinationResource))]
pub struct BankDestinationView<'a> {
    /// `dst_…` is the id of the destination.
    pub destination_id: BankDestinationId,
    /// Type of the account.
    pub destination_type: DestinationType,
    /// Status of the destination.
    pub status: State,
    /// The owner's own name for it.
    pub nickname: &'a str,
    /// Name of the bank.
    pub bank_name: &'a str,
    /// Name of the account's holder.
    pub account_holder_name: &'a str,
    /// Last four digits of the account number.
    pub account_number_last4: &'a str,
    /// Routing number, if the account has one.
    #[cfg_attr(feature = "documents", schema(required))]
    pub routing_number: Option<&'a str>,
    /// Creation time (RFC 3339).
    pub created_at: Time,
}

crate::state_machine! { BankDestination, Event;
    states { Active = "active", Removed = "removed" }
    events {
        Registered "registered" { - => Active: "registration" }
        Removed "removed" { Active => Removed: "removal" }
        Renamed "renamed" { Active }
    }
}

impl From<&BankDestination> for State {
    fn from(destination: &BankDestination) -> Self {
        if destination.active {
            Self::Active
        } else {
            Self::Removed
        }
    }
}

/// Reason why a bank destination rejects a command: its current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection(pub &'static str);

/// Retention of a removed destination's account number, in milliseconds. It is longer than a payment can be pending
/// before it becomes a payout. Payouts themselves are checked.
const NUMBER_RETENTION_MS: u64 = 30 * 24 * 3_600_000;

impl Stored for BankDestination {
    const SCHEMA: u16 = 123;
}

impl Stored for Event {
    const SCHEMA: u16 = 124;
}

impl Entity for BankDestination {
    const KIND: EntityKind = EntityKind::BankDestination;
    const CREATED_BY_COMMAND: bool = true;

    type Id = BankDestinationId;
    type Command = Command;
    type Reply = ();
    type Rejection = Rejection;
    type Outcome = ();
    type View<'a> = BankDestinationView<'a>;

    fn decide(
        this: Option<&Self>,
        id: &BankDestinationId,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, Rejection> {
        let decided = Decision::answer(());
        match (this, command) {
            (None, Command::Register { destination, sealed }) => {
                let owner = destination.owner;
                let decided = decided.put_new(table::vault(CardId(id.0)), sealed).index_for_owner(
                    &owner,
                    EntityKind::BankDestination,
                    id.0,
                    context,
                );
                let decided = match destination.scheme {
                    DestinationType::FiatUs => decided.put_new(
                        table::payable_destination(&owner, *id),
                        codec::encode(&destination.details),
                    ),
                    DestinationType::FiatIban => decided,
                };
                let destination = BankDestination {
                    created_at: context.now,
                    active: true,
                    ..*destination
                };
                Ok(decided.event(Event::Registered(Box::new(destination))))
            }
            (Some(destination), Command::Remove) if destination.active => {
                let until = context.now.plus_ms(NUMBER_RETENTION_MS);
                let decided =
                    decided
                        .event(Event::Removed(context.now))
                        .enqueue_at(until, Job::ShredAccountNumber(*id), context);
                Ok(match destination.scheme {
                    DestinationType::FiatUs => decided.delete(table::payable_destination(&destination.owner, *id)),
                    DestinationType::FiatIban => decided,
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
                    DestinationType::FiatUs => {
                        let row = table::payable_destination(&destination.owner, *id);
                        decided.requires_present(row.clone()).put(row, codec::encode(&details))
                    }
                    DestinationType::FiatIban => decided,
                })
            }
            (Some(destination), Command::ShredNumber { job: effect }) if !destination.active => {
                Ok(decided.completes_job(effect).delete(table::vault(CardId(id.0))))
            }
            (this, _) => Err(Rejection(this.map_or("-", Self::status))),
        }
    }

    fn apply(this: Option<Self>, _: &BankDestinationId, event: &Event) -> Result<Self, InvalidTransition> {
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
            (_, event) => Err(InvalidTransition::new(status, event)),
        }
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, id: &BankDestinationId) -> BankDestinationView<'_> {
        BankDestinationView {
            destination_id: *id,
            destination_type: self.scheme,
            status: self.state(),
            nickname: &self.details.name,
            bank_name: &self.details.bank_name,
            account_holder_name: &self.details.account_holder_name,
            account_number_last4: &self.details.last4,
            routing_number: Some(self.details.routing_number.as_str()).filter(|number| !number.is_empty()),
            created_at: self.created_at.into(),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}
