//! The contract between a state machine and the entity actor that runs it.

use std::fmt;
use std::hash::Hash;

use purser_storage::RowKey;
use purser_storage::codec::{self, Stored};
use serde::Serialize;

use crate::id::{EventId, Wallet};
#[cfg(debug_assertions)]
use crate::kernel::JsonObject;
use crate::kernel::chart::{NamedState, StateMachine};
use crate::kernel::event_record::{EventRecord, PublicEvent, event_type};
use crate::kernel::stored_view::StoredView;
use crate::kernel::{Context, Decision, table};
pub use crate::kinds::EntityKind;

/// Id of an entity within its kind.
pub trait EntityId: Copy + Ord + Hash + fmt::Debug + fmt::Display + Send + Sync + 'static {
    /// Bytes of the id in a row's key.
    fn key(&self) -> Vec<u8>;

    /// Decodes the bytes of [`EntityId::key`]; `None` if they are malformed.
    fn from_key(key: &[u8]) -> Option<Self>;
}

impl EntityId for Wallet {
    fn key(&self) -> Vec<u8> {
        Self::key(self)
    }

    fn from_key(key: &[u8]) -> Option<Self> {
        Self::from_key(key)
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

            fn from_key(key: &[u8]) -> Option<Self> {
                key.try_into().ok().map(|bytes| Self(u128::from_be_bytes(bytes)))
            }
        }
    )*};
}
entity_id!(
    crate::id::PaymentId,
    crate::id::CardId,
    crate::id::SessionId,
    crate::id::PayoutId,
    crate::id::LateReturnId,
    crate::id::TopUpId,
    crate::id::BankDestinationId,
    crate::id::WithdrawalId,
    crate::id::PaymentRecipientId,
    crate::id::WalletPaymentId,
    crate::id::SpendApprovalId,
    crate::id::BankAccountId,
    crate::id::BankTransferId,
    crate::id::DiscrepancyId,
    crate::id::ApiKeyId,
    crate::id::PasskeyId,
    crate::id::WebhookId,
    crate::id::WebhookDeliveryId,
    crate::id::RefundId,
    crate::id::DepositId
);

/// An event that cannot follow the state: a bug or a corrupt history, never caused by a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event} does not follow {status}")]
pub struct InvalidTransition {
    /// Name of the status.
    pub status: &'static str,
    /// Name of the event.
    pub event: String,
}

impl InvalidTransition {
    /// For the last arm of an `apply`.
    pub fn new(status: &'static str, event: &impl fmt::Debug) -> Self {
        // The content of an event is kept out of logs: it has signed bytes and sealed numbers.
        let mut event = format!("{event:?}");
        event.truncate(event.find(|c: char| !c.is_alphanumeric()).unwrap_or(event.len()));
        Self { status, event }
    }
}

/// A state machine. `decide` and `apply` are total and pure: no I/O, no clock, no randomness. The entity actor commits no
/// transition that its chart does not list.
pub trait Entity: StateMachine + Stored + Clone + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// Kind of the entity.
    const KIND: EntityKind;
    /// Whether its own first command creates it; otherwise another entity's batch opens it.
    const CREATED_BY_COMMAND: bool = false;
    /// Whether the system owns it: its events go to operators, not to an account's subscribers.
    const SYSTEM_OWNED: bool = false;

    /// Type of its id.
    type Id: EntityId;
    /// Commands that it accepts.
    type Command: Send + Sync + 'static;
    /// Reply to an accepted command.
    type Reply: Send + Sync + 'static;
    /// Reply to a rejected command.
    type Rejection: Send + Sync + fmt::Debug + 'static;
    /// Outcome that callers wait for.
    type Outcome: Clone + Send + Sync + 'static;
    /// A struct whose fields are the members of the answer: their names, order and omission are those of its derive.
    type View<'a>: Serialize
    where
        Self: 'a;

    /// Decision on a command in this state; `None` before the entity exists.
    ///
    /// # Errors
    /// A rejection changes nothing.
    fn decide(
        this: Option<&Self>,
        id: &Self::Id,
        command: Self::Command,
        context: &Context,
    ) -> Result<Decision<Self>, Self::Rejection>;

    /// State after an event.
    ///
    /// # Errors
    /// [`InvalidTransition`] when the event cannot follow the state.
    fn apply(this: Option<Self>, id: &Self::Id, event: &Self::Event) -> Result<Self, InvalidTransition>;

    /// Name of the state.
    fn status(&self) -> &'static str {
        self.state().as_str()
    }

    /// Account that owns it: events go to its subscribers.
    fn owner(&self) -> Wallet;

    /// The entity as its owner sees it: the content of events. No secrets.
    fn view(&self, id: &Self::Id) -> Self::View<'_>;

    /// Outcome, once callers need not wait any longer.
    fn outcome(&self) -> Option<Self::Outcome>;
}

/// First snapshot of an entity, made by the batch that opens it.
#[derive(Debug)]
pub struct NewEntity {
    pub(crate) key: RowKey,
    pub(crate) snapshot: Vec<u8>,
    pub(crate) record: EventRecord,
}

impl NewEntity {
    /// Creates the entity from its first event.
    ///
    /// # Errors
    /// [`InvalidTransition`] when the event cannot be the first.
    pub fn from_event<E: Entity>(id: &E::Id, event: &E::Event, context: &Context) -> Result<Self, InvalidTransition> {
        let (state, record) = fold_event::<E>(None, &mut None, id, event, 1, context)?;
        Ok(Self {
            key: table::entity(E::KIND, &id.key()),
            snapshot: codec::encode(&state),
            record,
        })
    }

    /// Row key of the new entity.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Encoded first snapshot.
    pub fn snapshot(&self) -> &[u8] {
        &self.snapshot
    }
}

/// The view of a state.
pub(crate) struct Seen {
    stored: StoredView,
    /// The same as clients get it in answers.
    #[cfg(debug_assertions)]
    answer: JsonObject,
}

impl Seen {
    fn of<E: Entity>(state: &E, id: &E::Id) -> Self {
        let view = state.view(id);
        Self {
            stored: StoredView::of(&view),
            #[cfg(debug_assertions)]
            answer: JsonObject::of(&view),
        }
    }
}

/// Events and answers show one view by two renderings: every event of every test checks that they are the same.
#[cfg(debug_assertions)]
fn assert_shows(event: &PublicEvent, before: Option<&Seen>, after: &Seen) {
    let (text, mut views) = (event.with_seq(0), String::from(",\"data\":{\"object\":"));
    after.answer.write(&mut views);
    views.push_str("},\"previous\":");
    match before {
        Some(before) => before.answer.write_changed(&mut views, &after.answer),
        None => views.push_str("{}"),
    }
    // Who caused it follows, or nothing.
    debug_assert!(text.contains(&views), "{text} must contain {views}");
}

/// Applies one event: the state after it, and the record for the journal. `seen` is the view of the state before, if
/// there is one, and afterwards that of the state after.
pub(crate) fn fold_event<E: Entity>(
    state: Option<E>,
    seen: &mut Option<Seen>,
    id: &E::Id,
    event: &E::Event,
    revision: u64,
    context: &Context,
) -> Result<(E, EventRecord), InvalidTransition> {
    let from = state.as_ref().map(E::state);
    let (number, change) = (E::event_number(event), E::event_name(event));
    debug_assert!(
        change.is_none_or(|change| E::CHART.announces(number, change)),
        "{change:?} is not among the changes of {}",
        E::KIND.name()
    );
    let before = match (seen.take(), change) {
        (None, Some(_)) => state.as_ref().map(|state| Seen::of(state, id)),
        (seen, _) => seen,
    };
    let after = E::apply(state, id, event)?;
    // Also in release builds: a wrong transition of money is worse than a rejected one.
    if !E::CHART.allows(number, from.map(NamedState::number), after.state().number()) {
        return Err(InvalidTransition::new(from.map_or("-", NamedState::as_str), event));
    }
    let announcement = change.map(|change| {
        let now = seen.insert(Seen::of(&after, id));
        let event = PublicEvent::of_change(
            EventId(context.id()),
            event_type(E::KIND.name(), change),
            after.owner(),
            context,
            before.as_ref().map(|before| &before.stored),
            &now.stored,
        );
        #[cfg(debug_assertions)]
        assert_shows(&event, before.as_ref(), now);
        event
    });
    let record = EventRecord {
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

/// Reason why a command had no effect.
#[derive(Debug)]
pub enum AskError<R> {
    /// The state machine rejected it.
    Rejected(R),
    /// The entity does not exist.
    NotFound,
    /// A condition of the batch did not hold because another change came first. Retry the command.
    Conflict,
    /// The actor died or the store stopped; recovery determines whether the command took effect.
    OutcomeUnknown,
    /// It failed to load too often and waits for an operator.
    Quarantined,
}
