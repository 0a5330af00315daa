//! Prepaid cards: their issuer, and the adapter that seals card data for the engine. What the issuer reports about a
//! card has the same form for reloadable cards.

use std::sync::Arc;

use purser_actors::entity::intl_order::BillingAddress;
use purser_actors::id::{CardId, JobId};
use purser_actors::money::Cents;
use purser_actors::port::{
    self, CardAction, CardActionRequest, CardActivity, CardEvent, CardIssuer, CardSnapshot, CardState, ErrorKind,
    ExternalText, IssueCardRequest, IssueResult, IssuedCard, PortError, PortFuture, Timestamp, TransactionStatus,
};
use serde::{Deserialize, Serialize};

use super::definition::{conversions, provider};
use super::wire::{self, AfterParam, rising};
#[cfg(feature = "documents")]
use super::wire::{DecimalAmount, SecretText};
use purser_host::secret::Secret;
use purser_vault::{CardNumberRecord, Vault};

provider! {
    /// A card issuer, with unsealed data.
    trait CardIssuerApi, client RemoteIssuer, tag "Cards";

    /// Orders a card or queries an order: with the same key both are the same call.
    fn issue(order: &'a IssueCardRequest) -> PlainIssueResult {
        POST "/cards" issueCard "Order a card, or query an order";
        key key = order.key, "The same key never creates a second card.";
        asks body it: IssueCardBody = IssueCardBody { card_id: order.card, amount: order.amount };
        calls (&IssueCardRequest { key, card: it.card_id, amount: it.amount });
        answers IssueCardResponse { card_id = order.card, amount = order.amount; state } "Result of the order.";
    }

    /// The CVV, passed through and never stored. `Permanent` for a card that this issuer does not have.
    fn cvv(issuer_ref: &'a str) -> Secret<String> {
        GET "/cards/{reference}/cvv" getCardCvv "Return a card's security code";
        at reference = issuer_ref, "The issuer's reference of the card.";
        calls (&reference);
        answers CvvResponse { ; cvv } "The code.";
    }

    /// Same contract as [`CardIssuer::card_snapshot`].
    fn card_snapshot(issuer_ref: &'a str) -> CardSnapshot {
        GET "/cards/{reference}" getCardActivity "Return a card's status, balance and transactions";
        at reference = issuer_ref, "The issuer's reference of the card.";
        calls (&reference);
        answers CardReport { reference = issuer_ref.to_owned(); .. } "Status of the card.";
    }

    /// Same contract as [`CardIssuer::apply_action`].
    fn apply_action(order: &'a CardActionRequest) -> CardSnapshot {
        POST "/cards/{reference}/actions" applyPrepaidCardAction "Apply a card action to a prepaid card, once per idempotency key";
        at reference = order.issuer_ref, "The issuer's reference of the card.";
        key key = order.key, "The same key is the same card action.";
        asks body it: CardActionBody = CardActionBody { card_id: order.card, action: order.action };
        calls (&CardActionRequest { key, card: it.card_id, issuer_ref: reference, action: it.action });
        answers CardActionResponse { key = order.key, card_id in snapshot = order.card; .. } "State of the card.";
    }

    /// Same contract as [`CardIssuer::events_after`].
    fn events_after(after: u64, limit: usize) -> Vec<CardEvent> {
        GET "/prepaid-card-events" listPrepaidCardEvents "List events of all prepaid cards, such as charges and releases";
        asks query it: AfterParam = AfterParam { after, limit };
        calls (it.after, it.bounded());
        absent Vec::new();
        answers CardEventList "Events in the order of their positions.";
        check |events| rising(after, events.iter().map(|event| event.position));
    }

    /// The billing address of this issuer's cards, the same for all of them.
    fn billing_address() -> BillingAddress {
        GET "/billing-address" getBillingAddress "Return the billing address of this issuer's cards";
        calls ();
        answers BillingAddress "The same for every card.";
    }

    also {
        /// Amount that can still be spent with the card. `Permanent` for a card that this issuer does not have.
        fn available_balance<'a>(&'a self, issuer_ref: &'a str) -> PortFuture<'a, Cents> {
            Box::pin(async move { Ok(self.card_snapshot(issuer_ref).await?.activity.available) })
        }
    }
}

/// An order of one card.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = IssueCardRequest))]
#[serde(deny_unknown_fields)]
pub struct IssueCardBody {
    /// The service's id of the card.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    card_id: CardId,
    /// Amount to load, in US dollars.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    amount: Cents,
}

/// Result of an order. It repeats the order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct IssueCardResponse {
    /// Card id of the order.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    card_id: CardId,
    /// Amount of the order.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    amount: Cents,
    /// Status of the order.
    #[serde(flatten)]
    state: PlainIssueResult,
}

/// Status of a card order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = IssueCardStatus))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PlainIssueResult {
    /// The card exists.
    Ready {
        /// The new card.
        card: PlainCard,
    },
    /// Accepted; query again with the same key after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// Declined: no card exists under this key, and none ever will.
    Declined {
        /// The issuer's reason.
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        reason: ExternalText,
    },
}

/// A card with its number.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = Card))]
pub struct PlainCard {
    /// The issuer's reference of the card.
    #[serde(rename = "reference")]
    pub issuer_ref: String,
    /// Card number, 12 to 19 digits.
    #[serde(with = "wire::secret")]
    #[cfg_attr(feature = "documents", schema(value_type = SecretText))]
    pub number: Secret<String>,
    /// Expiry month, 1 to 12.
    pub exp_month: u8,
    /// Expiry year, four digits.
    pub exp_year: u16,
}

/// A card's security code, which this service passes through and does not store.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct CvvResponse {
    /// Three or four digits.
    #[serde(with = "wire::secret")]
    #[cfg_attr(feature = "documents", schema(value_type = SecretText))]
    pub(super) cvv: Secret<String>,
}

/// Current status of a card, by the issuer's reference.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct CardReport {
    /// The issuer's reference of the card.
    pub reference: String,
    /// Incremented by each change of the card, starting at 0. Of two reports about a card the one with the higher
    /// sequence is valid.
    pub sequence: u64,
    /// Whether the card accepts charges.
    #[serde(with = "CardStatus")]
    #[cfg_attr(feature = "documents", schema(value_type = CardStatus))]
    pub state: CardState,
    /// Amount that can still be spent, in US dollars.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    pub available: Cents,
    /// Total that the issuer has returned to the service from the card's balance after it closed, in US dollars. It
    /// never decreases.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    pub released: Cents,
    /// Transactions, newest first.
    pub transactions: Vec<CardTransaction>,
}

/// Whether a card accepts charges.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(remote = "CardState", rename_all = "snake_case")]
pub enum CardStatus {
    /// Charges are accepted.
    Open,
    /// Charges are declined until the card is resumed.
    Paused,
    /// Closed permanently. The remaining money of a reloadable card is back on its balance.
    Closed,
}

/// An approved or declined charge of a card.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct CardTransaction {
    /// The issuer's reference of the transaction.
    pub id: String,
    /// Name of the merchant.
    pub merchant: String,
    /// Amount in US dollars.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    pub amount: Cents,
    /// Status of the charge.
    #[serde(with = "CardTransactionStatus")]
    #[cfg_attr(feature = "documents", schema(value_type = CardTransactionStatus))]
    pub status: TransactionStatus,
    /// The issuer's reason for a decline; `null` otherwise.
    #[cfg_attr(feature = "documents", schema(required))]
    #[serde(deserialize_with = "Option::deserialize")]
    pub reason: Option<String>,
    /// Time of the charge, in Unix milliseconds.
    #[cfg_attr(feature = "documents", schema(value_type = u64))]
    pub at_ms: Timestamp,
}

/// Status of a charge.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(remote = "TransactionStatus", rename_all = "snake_case")]
pub enum CardTransactionStatus {
    /// The amount is on hold on the card; the charge is not settled yet.
    Pending,
    /// The merchant has received the money.
    Settled,
    /// Declined: nothing was charged.
    Declined,
    /// The merchant returned the money to the card.
    Refunded,
}

conversions! {
    CardTransaction = port::CardTransaction {
        CardTransaction { id, merchant, amount, status, reason, at_ms } = (
            port::CardTransaction { id, merchant, amount, status, reason, at: at_ms }
        );
    }
    list CardEventList { events } = CardEvent;
}

impl CardReport {
    fn of(said: CardSnapshot, reference: String) -> Self {
        Self {
            reference,
            sequence: said.sequence,
            state: said.state,
            available: said.activity.available,
            released: said.released,
            transactions: said.activity.transactions.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<CardReport> for CardSnapshot {
    fn from(report: CardReport) -> Self {
        Self {
            sequence: report.sequence,
            state: report.state,
            activity: CardActivity {
                available: report.available,
                transactions: report.transactions.into_iter().map(Into::into).collect(),
            },
            released: report.released,
        }
    }
}

/// A card action that the account owner requested.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "documents", schema(as = CardActionRequest))]
pub struct CardActionBody {
    /// The service's id of the card.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    pub(super) card_id: CardId,
    /// Action to apply to the card.
    #[serde(with = "CardActionName")]
    #[cfg_attr(feature = "documents", schema(value_type = CardActionName))]
    pub(super) action: CardAction,
}

/// Actions on a card. An impossible action, for example on a closed card, is no error: the response has the card's
/// status.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(remote = "CardAction", rename_all = "snake_case")]
#[cfg_attr(feature = "documents", schema(as = CardAction))]
pub enum CardActionName {
    /// Charges are declined until the card is resumed.
    Pause,
    /// Charges are accepted again.
    Resume,
    /// The card is closed. The remaining money of a reloadable card returns to its balance; that of a prepaid card is
    /// the issuer's decision.
    Close,
}

/// A card after an action.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct CardActionResponse {
    /// Key of the action. A response to an earlier action would otherwise complete this one.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    pub key: JobId,
    /// Current state of the card.
    #[serde(flatten)]
    pub snapshot: NamedSnapshot,
}

/// State of a card.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = CardSnapshot))]
pub struct NamedSnapshot {
    /// The service's id of the card.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    pub card_id: CardId,
    /// Incremented by each change of the card, starting at 0. Of two reports about a card the one with the higher
    /// sequence is valid.
    pub sequence: u64,
    /// Whether the card accepts charges.
    #[serde(with = "CardStatus")]
    #[cfg_attr(feature = "documents", schema(value_type = CardStatus))]
    pub state: CardState,
    /// Amount that can still be spent, in US dollars.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    pub available: Cents,
    /// Total that was returned to the service after a prepaid card closed, in US dollars. It never decreases. `0` for a
    /// reloadable card, whose money returns to its balance.
    #[cfg_attr(feature = "documents", schema(value_type = DecimalAmount))]
    pub released: Cents,
    /// Transactions, newest first.
    pub transactions: Vec<CardTransaction>,
}

impl NamedSnapshot {
    fn of(said: CardSnapshot, card_id: CardId) -> Self {
        let CardReport {
            sequence,
            state,
            available,
            released,
            transactions,
            ..
        } = CardReport::of(said, String::new());
        Self {
            card_id,
            sequence,
            state,
            available,
            released,
            transactions,
        }
    }
}

impl From<NamedSnapshot> for CardSnapshot {
    fn from(named: NamedSnapshot) -> Self {
        let report = CardReport {
            reference: String::new(),
            sequence: named.sequence,
            state: named.state,
            available: named.available,
            released: named.released,
            transactions: named.transactions,
        };
        report.into()
    }
}

impl CardActionResponse {
    pub(super) fn of(said: CardSnapshot, key: JobId, card_id: CardId) -> Self {
        let snapshot = NamedSnapshot::of(said, card_id);
        Self { key, snapshot }
    }
}

impl From<CardActionResponse> for CardSnapshot {
    fn from(response: CardActionResponse) -> Self {
        response.snapshot.into()
    }
}

/// Events of all cards, in the order of their positions.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct CardEventList {
    /// Oldest first; each position is higher than the one before.
    pub events: Vec<NumberedSnapshot>,
}

/// A card event and its position.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = CardEvent))]
pub struct NumberedSnapshot {
    /// Position over all cards, from 1. Use it as `after` to continue.
    pub position: u64,
    /// State of the card at the event, or a later one.
    #[serde(flatten)]
    pub snapshot: NamedSnapshot,
}

impl From<CardEvent> for NumberedSnapshot {
    fn from(event: CardEvent) -> Self {
        Self {
            position: event.position,
            snapshot: NamedSnapshot::of(event.snapshot, event.card),
        }
    }
}

impl From<NumberedSnapshot> for CardEvent {
    fn from(event: NumberedSnapshot) -> Self {
        Self {
            position: event.position,
            card: event.snapshot.card_id,
            snapshot: event.snapshot.into(),
        }
    }
}

/// Implements [`CardIssuer`] for the engine: seals the card data that the issuer returns.
pub struct SealingIssuer<I: ?Sized> {
    issuer: Arc<I>,
    vault: Arc<Vault>,
}

impl<I: CardIssuerApi + ?Sized> SealingIssuer<I> {
    /// Seals card data of `issuer` with the vault's active key.
    pub const fn new(issuer: Arc<I>, vault: Arc<Vault>) -> Self {
        Self { issuer, vault }
    }
}

/// If sealing fails, the engine has received nothing yet; the order is safe at the issuer under its key.
pub(super) fn sealed(vault: &Vault, card: CardId, plain: PlainCard) -> Result<IssuedCard, PortError> {
    let refused = |message: String| PortError {
        kind: ErrorKind::Temporary,
        operation: "issue",
        message,
    };
    let PlainCard {
        issuer_ref,
        number,
        exp_month,
        exp_year,
    } = plain;
    let number = CardNumberRecord::new(number, exp_month, exp_year).map_err(|e| refused(e.to_string()))?;
    let last4 = number.last4();
    let sealed = vault.seal(card, &number).map_err(|e| refused(e.to_string()))?;
    Ok(IssuedCard {
        issuer_ref,
        last4,
        exp_month,
        exp_year,
        sealed,
    })
}

impl<I: CardIssuerApi + ?Sized> CardIssuer for SealingIssuer<I> {
    fn card_snapshot<'a>(&'a self, issuer_ref: &'a str) -> PortFuture<'a, CardSnapshot> {
        self.issuer.card_snapshot(issuer_ref)
    }

    fn apply_action<'a>(&'a self, order: &'a CardActionRequest) -> PortFuture<'a, CardSnapshot> {
        self.issuer.apply_action(order)
    }

    fn events_after(&self, after: u64, limit: usize) -> PortFuture<'_, Vec<CardEvent>> {
        self.issuer.events_after(after, limit)
    }

    fn issue<'a>(&'a self, order: &'a IssueCardRequest) -> PortFuture<'a, IssueResult> {
        Box::pin(async move {
            Ok(match self.issuer.issue(order).await? {
                PlainIssueResult::Ready { card } => IssueResult::Ready(sealed(&self.vault, order.card, card)?),
                PlainIssueResult::Pending { retry_after_ms } => IssueResult::Pending { retry_after_ms },
                PlainIssueResult::Declined { reason } => IssueResult::Declined { reason },
            })
        })
    }
}
