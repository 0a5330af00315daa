//! The contract between a state machine and the shell that runs it.

use std::fmt;
use std::hash::Hash;
use std::str::FromStr;

use purser_storage::RowKey;
use purser_storage::codec::{self, Stored};

use crate::id::Wallet;
use crate::kernel::event_record::{EventRecord, PublicEvent};
use crate::kernel::{Context, Decision, JsonObject, table};

/// The kinds of entity. The number is stored: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum EntityKind {
    /// A payer's account.
    Account = 1,
    /// A payment.
    Payment = 2,
    /// A card.
    Card = 3,
    /// A refresh-token family.
    Session = 4,
    /// A gift card.
    GiftCard = 6,
    /// An order of an international card.
    IntlOrder = 5,
    /// The check of who a holder is.
    Identity = 11,
    /// A holder's own account at the card issuer.
    IssuerLink = 14,
    /// A top-up of a card balance.
    TopUp = 8,
    /// A withdrawal.
    Withdrawal = 10,
    /// A payout to a debit card, a bank account or a payment app.
    Payout = 7,
    /// A saved recipient of app payments.
    PaymentRecipient = 12,
    /// A registered bank destination.
    BankDestination = 13,
    /// Who a holder is to the bank.
    BankingProfile = 18,
    /// A reloadable card.
    ReloadableCard = 9,
    /// A withdrawal from a balance at the card issuer.
    CardWithdrawal = 15,
    /// Money of a payout that came back after its return window.
    LateReturn = 16,
    /// A managed wallet.
    AgentWallet = 17,
    /// A spend of a managed wallet.
    WalletPayment = 22,
    /// An application to bank.
    BankingApplication = 19,
    /// A holder's account at the bank.
    BankAccount = 20,
    /// Money between a balance and an account at the bank.
    BankTransfer = 21,
    /// Something that our books and somebody else's list do not agree about.
    Discrepancy = 26,
    /// An API key.
    ApiKey = 25,
    /// An endpoint that events are posted to.
    Webhook = 23,
    /// An event on its way to one endpoint.
    WebhookDelivery = 24,
    /// What the house gives back in connection with a payment.
    Refund = 27,
    /// A transfer to our treasury that no payment claims.
    Incoming = 30,
    /// Whether a line of products is sold.
    Line = 32,
}

impl EntityKind {
    /// As in event types and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Payment => "payment",
            Self::Card => "card",
            Self::Session => "session",
            Self::GiftCard => "gift_card",
            Self::IntlOrder => "intl_order",
            Self::Identity => "identity",
            Self::IssuerLink => "link",
            Self::TopUp => "top_up",
            Self::Withdrawal => "withdrawal",
            Self::Payout => "payout",
            Self::PaymentRecipient => "payment_recipient",
            Self::BankDestination => "bank_destination",
            Self::BankingProfile => "banking_profile",
            Self::ReloadableCard => "reloadable_card",
            Self::CardWithdrawal => "card_withdrawal",
            Self::LateReturn => "late_return",
            Self::AgentWallet => "agent_wallet",
            Self::WalletPayment => "spend",
            Self::BankingApplication => "banking_application",
            Self::BankAccount => "bank_account",
            Self::BankTransfer => "bank_transfer",
            Self::Discrepancy => "difference",
            Self::ApiKey => "api_key",
            Self::Webhook => "webhook",
            Self::WebhookDelivery => "webhook_delivery",
            Self::Refund => "refund",
            Self::Incoming => "incoming_transfer",
            Self::Line => "line",
        }
    }
}

/// An entity's name within its kind.
pub trait EntityId: Copy + Ord + Hash + fmt::Debug + fmt::Display + Send + Sync + 'static {
    /// As part of a row's key.
    fn key(&self) -> Vec<u8>;
}

/// A name that is found again, in what somebody quotes and in a row's key.
pub trait LookupId: EntityId + FromStr {
    /// Reverses [`EntityId::key`].
    fn from_key(key: &[u8]) -> Option<Self>;
}

impl EntityId for Wallet {
    fn key(&self) -> Vec<u8> {
        Self::key(self)
    }
}

impl LookupId for Wallet {
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
        }

        impl LookupId for $id {
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
    crate::id::BankAccountId,
    crate::id::BankTransferId,
    crate::id::DiscrepancyId,
    crate::id::ApiKeyId,
    crate::id::WebhookId,
    crate::id::WebhookDeliveryId,
    crate::id::RefundId,
    crate::id::DepositId
);

/// An event that does not fit the state: a bug or damaged history, never a client's doing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event} does not follow {status}")]
pub struct InvalidTransition {
    /// The state's name.
    pub status: &'static str,
    /// The event's name.
    pub event: String,
}

impl InvalidTransition {
    /// For the last arm of an `apply`.
    pub fn new(status: &'static str, event: &impl fmt::Debug) -> Self {
        // What the event holds stays out of logs: signed bytes, sealed numbers.
        let mut event = format!("{event:?}");
        event.truncate(event.find(|c: char| !c.is_alphanumeric()).unwrap_or(event.len()));
        Self { status, event }
    }
}

/// One move of a state chart: from, what moves it, to. `-` is "does not exist yet".
pub type Transition = (&'static str, &'static str, &'static str);

/// A state machine. `decide` and `apply` are total and pure: no I/O, no clock, no randomness.
pub trait Entity: Stored + Clone + fmt::Debug + PartialEq + Send + Sync + 'static {
    /// Which.
    const KIND: EntityKind;
    /// The state chart: every move there is. The shell refuses to commit any other.
    const TRANSITIONS: &'static [Transition];
    /// What [`Entity::announces`] may say, each once: the document of events is made of it.
    const EVENT_NAMES: &'static [&'static str];
    /// Whether its own first command brings it into being; otherwise another entity's batch opens it.
    const CREATED_BY_COMMAND: bool = false;
    /// Whether it is the house's own: no account's subscribers are told of it, operators are.
    const SYSTEM_OWNED: bool = false;

    /// Its name.
    type Id: EntityId;
    /// What may be asked of it.
    type Command: Send + Sync + 'static;
    /// What may happen to it.
    type Event: Stored + fmt::Debug + Send + Sync + 'static;
    /// The reply to an accepted command.
    type Reply: Send + Sync + 'static;
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
    fn apply(this: Option<Self>, id: &Self::Id, event: &Self::Event) -> Result<Self, InvalidTransition>;

    /// The state's name: one of those in [`Entity::MOVES`].
    fn status(&self) -> &'static str;

    /// Whose it is: events go to this account's subscribers.
    fn owner(&self) -> Wallet;

    /// What the account's subscribers are told of an event, if anything: the part after the dot of its type.
    fn event_name(event: &Self::Event) -> Option<&'static str>;

    /// How the entity looks to its owner: what events carry. No secrets.
    fn view(&self, id: &Self::Id) -> JsonObject;

    /// What it has come to, once callers need wait no longer.
    fn outcome(&self) -> Option<Self::Outcome>;
}

/// The first snapshot of an entity, made by the batch that opens it.
#[derive(Debug)]
pub struct NewEntity {
    pub(crate) key: RowKey,
    pub(crate) snapshot: Vec<u8>,
    pub(crate) record: EventRecord,
}

impl NewEntity {
    /// An entity as its first event makes it.
    ///
    /// # Errors
    /// [`OutOfOrder`] when the event cannot be the first.
    pub fn from_event<E: Entity>(id: &E::Id, event: &E::Event, context: &Context) -> Result<Self, InvalidTransition> {
        let (state, record) = fold_event::<E>(None, &mut None, id, event, 1, context)?;
        Ok(Self {
            key: table::entity(E::KIND, &id.key()),
            snapshot: codec::encode(&state),
            record,
        })
    }
}

impl NewEntity {
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
pub(crate) fn fold_event<E: Entity>(
    state: Option<E>,
    seen: &mut Option<JsonObject>,
    id: &E::Id,
    event: &E::Event,
    revision: u64,
    context: &Context,
) -> Result<(E, EventRecord), InvalidTransition> {
    let from = state.as_ref().map_or("-", E::status);
    let change = E::event_name(event);
    debug_assert!(
        change.is_none_or(|change| E::EVENT_NAMES.contains(&change)),
        "{change:?} is not among the changes of {}",
        E::KIND.name()
    );
    let before = match (seen.take(), change) {
        (None, Some(_)) => state.as_ref().map(|state| state.view(id)),
        (seen, _) => seen,
    };
    let after = E::apply(state, id, event)?;
    check_transition::<E>(from, event, after.status())?;
    let announcement = change.map(|change| {
        let now = seen.insert(after.view(id));
        PublicEvent::new(
            crate::id::EventId(context.id()),
            E::KIND.name(),
            change,
            &after.owner(),
            context.now,
            before.as_ref(),
            now,
        )
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

/// Refuses a move that the state chart does not have. Kept in release builds: a wrong move of money is worse than a
/// refused one.
fn check_transition<E: Entity>(
    from: &'static str,
    event: &E::Event,
    to: &'static str,
) -> Result<(), InvalidTransition> {
    if from == to || E::TRANSITIONS.iter().any(|(f, _, t)| *f == from && *t == to) {
        return Ok(());
    }
    Err(InvalidTransition::new(from, event))
}

/// Why a command brought nothing about.
#[derive(Debug)]
pub enum AskError<R> {
    /// The state machine said no.
    Rejected(R),
    /// There is no such entity.
    NotFound,
    /// A condition of the batch did not hold: something else happened first. Ask again.
    Conflict,
    /// Its actor died or the store stopped; whether it happened is known after recovery.
    OutcomeUnknown,
    /// It failed to load too often and waits for an operator.
    Quarantined,
}
