//! The contract between a state machine and the shell that runs it.

use std::fmt;
use std::hash::Hash;

use purser_storage::codec::{self, Stored};
use purser_storage::{Condition, RowKey, Write};

use crate::id::Wallet;
use crate::kernel::effect::{Effect, Work};
use crate::kernel::record::{Announcement, Record};
use crate::kernel::{Context, View, table};
use crate::ledger::Transaction;
use crate::port::Timestamp;

/// The kinds of entity. The number is stored: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A payer's account.
    Account = 1,
    /// A payment.
    Payment = 2,
    /// A card.
    Card = 3,
    /// A refresh-token family.
    Session = 4,
}

impl Kind {
    /// As in event types and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Payment => "payment",
            Self::Card => "card",
            Self::Session => "session",
        }
    }
}

/// An entity's name within its kind.
pub trait EntityId: Copy + Ord + Hash + fmt::Debug + fmt::Display + Send + Sync + 'static {
    /// As part of a row's key.
    fn key(&self) -> Vec<u8>;
}

impl EntityId for Wallet {
    fn key(&self) -> Vec<u8> {
        Self::key(self)
    }
}

impl fmt::Display for Wallet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address())
    }
}

macro_rules! entity_id {
    ($($id:ty),*) => {$(
        impl EntityId for $id {
            fn key(&self) -> Vec<u8> {
                self.0.to_be_bytes().to_vec()
            }
        }
    )*};
}
entity_id!(
    crate::id::PaymentId,
    crate::id::CardId,
    crate::id::SessionId,
    crate::id::PayoutId,
    crate::id::TopUpId,
    crate::id::DestinationId
);

/// An event that does not fit the state: a bug or damaged history, never a client's doing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event} does not follow {status}")]
pub struct OutOfOrder {
    /// The state's name.
    pub status: &'static str,
    /// The event's name.
    pub event: String,
}

impl OutOfOrder {
    /// For the last arm of an `apply`.
    pub fn new(status: &'static str, event: &impl fmt::Debug) -> Self {
        // What the event holds stays out of logs: signed bytes, sealed numbers.
        let mut event = format!("{event:?}");
        event.truncate(event.find(|c: char| !c.is_alphanumeric()).unwrap_or(event.len()));
        Self { status, event }
    }
}

/// One move of a state chart: from, what moves it, to. `-` is "does not exist yet".
pub type Move = (&'static str, &'static str, &'static str);

/// A state machine. `decide` and `apply` are total and pure: no I/O, no clock, no randomness.
pub trait Entity: Stored + Clone + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// Which.
    const KIND: Kind;
    /// The state chart: every move there is. The shell refuses to commit any other.
    const MOVES: &'static [Move];
    /// Whether its own first command brings it into being; otherwise another entity's batch opens it.
    const SELF_BORN: bool = false;

    /// Its name.
    type Id: EntityId;
    /// What may be asked of it.
    type Command: Send + Sync + 'static;
    /// What may happen to it.
    type Event: Stored + fmt::Debug + Send + Sync + 'static;
    /// The reply to an accepted command.
    type Answer: Send + Sync + 'static;
    /// The reply to a refused one.
    type Rejection: Send + Sync + fmt::Debug + 'static;
    /// What callers wait for.
    type Outcome: Clone + Send + Sync + 'static;

    /// What follows from a command in this state; `None` before it exists.
    ///
    /// # Errors
    /// A rejection changes nothing.
    fn decide(
        this: Option<&Self>,
        id: &Self::Id,
        command: Self::Command,
        context: &Context,
    ) -> Result<Decision<Self>, Self::Rejection>;

    /// The state after an event.
    ///
    /// # Errors
    /// [`OutOfOrder`] when the event cannot follow the state.
    fn apply(this: Option<Self>, id: &Self::Id, event: &Self::Event) -> Result<Self, OutOfOrder>;

    /// The state's name: one of those in [`Entity::MOVES`].
    fn status(&self) -> &'static str;

    /// Whose it is: events go to this account's subscribers.
    fn owner(&self) -> Wallet;

    /// What the account's subscribers are told of an event, if anything: the part after the dot of its type.
    fn announces(event: &Self::Event) -> Option<&'static str>;

    /// How the entity looks to its owner: what events carry. No secrets.
    fn view(&self, id: &Self::Id) -> View;

    /// What it has come to, once callers need wait no longer.
    fn outcome(&self) -> Option<Self::Outcome>;
}

/// What a decision brings about; everything in it is committed together.
#[derive(Debug)]
pub struct Decision<E: Entity> {
    pub(crate) events: Vec<E::Event>,
    pub(crate) answer: E::Answer,
    pub(crate) effects: Vec<Effect>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) writes: Vec<Write>,
    pub(crate) openings: Vec<Opening>,
}

impl<E: Entity> Decision<E> {
    /// Changes nothing.
    pub const fn answer(answer: E::Answer) -> Self {
        Self {
            events: Vec::new(),
            answer,
            effects: Vec::new(),
            conditions: Vec::new(),
            writes: Vec::new(),
            openings: Vec::new(),
        }
    }

    /// Adds what happened.
    #[must_use]
    pub fn event(mut self, event: E::Event) -> Self {
        self.events.push(event);
        self
    }

    /// Adds durable work.
    #[must_use]
    pub fn then(mut self, work: Work, context: &Context) -> Self {
        self.effects
            .push(Effect::new(crate::id::EffectId(context.id()), work, context.now));
        self
    }

    /// Adds durable work that is not due yet; see [`crate::kernel::timer`].
    #[must_use]
    pub fn then_at(self, due: Timestamp, work: Work, context: &Context) -> Self {
        let effect = Effect::new(crate::id::EffectId(context.id()), work, due);
        self.put_new(table::timer(due, effect.id), codec::encode(&effect))
    }

    /// Adds durable work under an id of the caller's choice, of which only one can be open.
    #[must_use]
    pub fn then_as(mut self, id: crate::id::EffectId, work: Work, context: &Context) -> Self {
        self.conditions.push(Condition::Absent(table::effect(id)));
        self.effects.push(Effect::new(id, work, context.now));
        self
    }

    /// Ends an effect: the batch holds only if the effect is still open.
    #[must_use]
    pub fn completes(mut self, effect: crate::id::EffectId) -> Self {
        let key = table::effect(effect);
        self.conditions.push(Condition::Present(key.clone()));
        self.writes.push(Write::Delete { key });
        self
    }

    /// Adds a ledger transaction.
    #[must_use]
    pub fn post(self, transaction: &Transaction, context: &Context) -> Self {
        self.put(table::ledger(context.now, context.id()), codec::encode(transaction))
    }

    /// Lists an entity among what its owner has.
    #[must_use]
    pub fn owned(self, owner: &Wallet, kind: Kind, id: u128, context: &Context) -> Self {
        self.put(table::owned_one(owner, kind, context.now, id), Vec::new())
    }

    /// Sets a row.
    #[must_use]
    pub fn put(mut self, key: RowKey, value: Vec<u8>) -> Self {
        self.writes.push(Write::Put {
            key,
            revision: 0,
            value,
        });
        self
    }

    /// Sets a row that must not exist.
    #[must_use]
    pub fn put_new(mut self, key: RowKey, value: Vec<u8>) -> Self {
        self.conditions.push(Condition::Absent(key.clone()));
        self.put(key, value)
    }

    /// The batch holds only if there is no such row.
    #[must_use]
    pub fn requires_absent(mut self, key: RowKey) -> Self {
        self.conditions.push(Condition::Absent(key));
        self
    }

    /// The batch holds only if there is such a row.
    #[must_use]
    pub fn requires_present(mut self, key: RowKey) -> Self {
        self.conditions.push(Condition::Present(key));
        self
    }

    /// Removes a row that must exist.
    #[must_use]
    pub fn take(mut self, key: RowKey) -> Self {
        self.conditions.push(Condition::Present(key.clone()));
        self.writes.push(Write::Delete { key });
        self
    }

    /// Brings another entity into being.
    #[must_use]
    pub fn open(mut self, opening: Opening) -> Self {
        self.openings.push(opening);
        self
    }

    /// What happens, in order.
    pub fn events(&self) -> &[E::Event] {
        &self.events
    }

    /// The durable work that begins.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// The rows that are written besides the snapshots.
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// What must hold, the snapshot's revision apart.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The other entities that come into being.
    pub fn openings(&self) -> &[Opening] {
        &self.openings
    }

    /// The reply, once all of this is durable.
    pub const fn reply(&self) -> &E::Answer {
        &self.answer
    }

    pub(crate) fn changes_nothing(&self) -> bool {
        self.events.is_empty() && self.effects.is_empty() && self.writes.is_empty() && self.openings.is_empty()
    }
}

/// The first snapshot of an entity, made by the batch that opens it.
#[derive(Debug)]
pub struct Opening {
    pub(crate) key: RowKey,
    pub(crate) snapshot: Vec<u8>,
    pub(crate) record: Record,
}

impl Opening {
    /// An entity as its first event makes it.
    ///
    /// # Errors
    /// [`OutOfOrder`] when the event cannot be the first.
    pub fn of<E: Entity>(id: &E::Id, event: &E::Event, context: &Context) -> Result<Self, OutOfOrder> {
        let (state, record) = step::<E>(None, &mut None, id, event, 1, context)?;
        Ok(Self {
            key: table::entity(E::KIND, &id.key()),
            snapshot: codec::encode(&state),
            record,
        })
    }
}

impl Opening {
    /// The row of the new entity.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Its first snapshot, encoded.
    pub fn snapshot(&self) -> &[u8] {
        &self.snapshot
    }
}

/// Applies one event: the state after it, and what the journal keeps of it. `seen` is the view of the state before, if
/// that was rendered already, and then that of the state after.
pub(crate) fn step<E: Entity>(
    state: Option<E>,
    seen: &mut Option<View>,
    id: &E::Id,
    event: &E::Event,
    revision: u64,
    context: &Context,
) -> Result<(E, Record), OutOfOrder> {
    let from = state.as_ref().map_or("-", E::status);
    let change = E::announces(event);
    let before = match (seen.take(), change) {
        (None, Some(_)) => state.as_ref().map(|state| state.view(id)),
        (seen, _) => seen,
    };
    let after = E::apply(state, id, event)?;
    check_move::<E>(from, event, after.status())?;
    let announcement = change.map(|change| {
        let now = seen.insert(after.view(id));
        Announcement::new(
            crate::id::EventId(context.id()),
            E::KIND.name(),
            change,
            &after.owner(),
            context.now,
            before.as_ref(),
            now,
        )
    });
    let record = Record {
        kind: E::KIND as u8,
        id: id.key(),
        revision,
        at: context.now,
        status: after.status().to_owned(),
        owner: after.owner(),
        event: codec::encode(event),
        announcement,
    };
    Ok((after, record))
}

/// Refuses a move that the state chart does not have. Kept in release builds: a wrong move of money is worse than a
/// refused one.
fn check_move<E: Entity>(from: &'static str, event: &E::Event, to: &'static str) -> Result<(), OutOfOrder> {
    if from == to || E::MOVES.iter().any(|(f, _, t)| *f == from && *t == to) {
        return Ok(());
    }
    Err(OutOfOrder::new(from, event))
}

/// Why a command brought nothing about.
#[derive(Debug)]
pub enum Refusal<R> {
    /// The state machine said no.
    Rejected(R),
    /// There is no such entity.
    Missing,
    /// A condition of the batch did not hold: something else happened first. Ask again.
    Conflict,
    /// Its actor died or the store stopped; whether it happened is known after recovery.
    Unknown,
    /// It failed to load too often and waits for an operator.
    Quarantined,
}
