//! Reloadable cards on the wire: `POST /v1/reloadable-cards`, `POST /v1/reloadable-cards/{reference}/actions`, `GET
//! /v1/reloadable-cards/{reference}`, `GET /v1/reloadable-cards/{reference}/cvv`, `GET /v1/card-events`.

use purser_actors::id::{CardId, JobId};
use purser_actors::money::Cents;
use purser_actors::port;
use purser_actors::port::OpenCardRequest;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::cards::{Card, CardReport, CardStatus, CardTransaction};
use super::{BaseAddress, DecimalAmount, MalformedResponse, SecretText, TextValue};
use crate::provider::PlainCard;
use crate::provider::reloadable_cards::PlainOpenResult;

/// An order of a card that is loaded from its owner's balance.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenReloadableCardRequest {
    /// The service's id of the card.
    #[schema(value_type = String)]
    pub card_id: TextValue<CardId>,
    /// Deposit address on Base of the account whose balance is used.
    #[schema(value_type = String)]
    pub deposit_address: TextValue<BaseAddress>,
    /// Amount to load, in US dollars.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Whether the card stays open after its first charge.
    pub reusable: bool,
}

impl From<&OpenCardRequest> for OpenReloadableCardRequest {
    fn from(order: &OpenCardRequest) -> Self {
        Self {
            card_id: TextValue(order.card),
            deposit_address: TextValue(BaseAddress(order.account)),
            amount: TextValue(DecimalAmount(order.amount)),
            reusable: order.reusable,
        }
    }
}

impl OpenReloadableCardRequest {
    /// The order as the provider reads it.
    pub fn read(&self, key: JobId) -> OpenCardRequest {
        OpenCardRequest {
            key,
            card: self.card_id.0,
            account: self.deposit_address.0.0,
            amount: self.amount.0.0,
            reusable: self.reusable,
        }
    }
}

/// Result of an order. It repeats the order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OpenReloadableCardResponse {
    /// Card id of the order.
    #[schema(value_type = String)]
    pub card_id: TextValue<CardId>,
    /// Deposit address of the order.
    #[schema(value_type = String)]
    pub deposit_address: TextValue<BaseAddress>,
    /// Amount of the order.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Status of the order.
    #[serde(flatten)]
    pub state: OpenReloadableCardStatus,
}

/// Status of a reloadable card order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum OpenReloadableCardStatus {
    /// The card is open, and its amount was taken from the balance. The answer stays the same whatever happens to the
    /// card later.
    Open {
        /// The new card.
        card: Card,
    },
    /// Accepted; query again with the same key after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// Declined: the balance was too low. Nothing was taken under this key, and nothing ever will be.
    InsufficientBalance,
    /// Declined: no card exists under this key, and none ever will. Nothing was taken.
    Declined {
        /// The issuer's reason.
        reason: String,
    },
}

impl OpenReloadableCardResponse {
    /// The wire form of the provider's result.
    pub fn of(order: OpenReloadableCardRequest, said: PlainOpenResult) -> Self {
        let state = match said {
            PlainOpenResult::Open(card) => OpenReloadableCardStatus::Open {
                card: Card {
                    reference: card.issuer_ref,
                    number: SecretText(card.number),
                    exp_month: card.exp_month,
                    exp_year: card.exp_year,
                },
            },
            PlainOpenResult::Pending { retry_after_ms } => OpenReloadableCardStatus::Pending { retry_after_ms },
            PlainOpenResult::Insufficient => OpenReloadableCardStatus::InsufficientBalance,
            PlainOpenResult::Declined { reason } => OpenReloadableCardStatus::Declined {
                reason: reason.to_string(),
            },
        };
        Self {
            card_id: order.card_id,
            deposit_address: order.deposit_address,
            amount: order.amount,
            state,
        }
    }

    /// Reads the provider's result.
    ///
    /// # Errors
    /// When it is about another order.
    pub fn read(self, order: &OpenCardRequest) -> Result<PlainOpenResult, MalformedResponse> {
        let named = (self.card_id.0, self.deposit_address.0.0, self.amount.0.0);
        if named != (order.card, order.account, order.amount) {
            return Err(MalformedResponse("it is about another order"));
        }
        Ok(match self.state {
            OpenReloadableCardStatus::Open { card } => PlainOpenResult::Open(PlainCard {
                issuer_ref: card.reference,
                number: card.number.0,
                exp_month: card.exp_month,
                exp_year: card.exp_year,
            }),
            OpenReloadableCardStatus::Pending { retry_after_ms } => PlainOpenResult::Pending { retry_after_ms },
            OpenReloadableCardStatus::InsufficientBalance => PlainOpenResult::Insufficient,
            OpenReloadableCardStatus::Declined { reason } => PlainOpenResult::Declined { reason: reason.into() },
        })
    }
}

/// A card action that the account owner requested.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CardActionRequest {
    /// The service's id of the card.
    #[schema(value_type = String)]
    pub card_id: TextValue<CardId>,
    /// Action to apply to the card.
    pub action: CardAction,
}

/// Actions on a card. An impossible action, for example on a closed card, is no error: the response has the card's
/// status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardAction {
    /// Charges are declined until the card is resumed.
    Pause,
    /// Charges are accepted again.
    Resume,
    /// The card is closed. The remaining money of a reloadable card returns to its balance; that of a prepaid card is
    /// the issuer's decision.
    Close,
}

impl From<port::CardAction> for CardAction {
    fn from(value: port::CardAction) -> Self {
        match value {
            port::CardAction::Pause => Self::Pause,
            port::CardAction::Resume => Self::Resume,
            port::CardAction::Close => Self::Close,
        }
    }
}

impl From<CardAction> for port::CardAction {
    fn from(value: CardAction) -> Self {
        match value {
            CardAction::Pause => Self::Pause,
            CardAction::Resume => Self::Resume,
            CardAction::Close => Self::Close,
        }
    }
}

/// A card after an action.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardActionResponse {
    /// Key of the action. A response to an earlier action would otherwise complete this one.
    pub key: String,
    /// Current state of the card.
    #[serde(flatten)]
    pub snapshot: CardSnapshot,
}

/// State of a card.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardSnapshot {
    /// The service's id of the card.
    #[schema(value_type = String)]
    pub card_id: TextValue<CardId>,
    /// Incremented by each change of the card, starting at 0. Of two reports about a card the one with the higher
    /// sequence is valid.
    pub sequence: u64,
    /// Whether the card accepts charges.
    pub state: CardStatus,
    /// Amount that can still be spent, in US dollars.
    #[schema(value_type = DecimalAmount)]
    pub available: TextValue<DecimalAmount>,
    /// Total that was returned to the service after a prepaid card closed, in US dollars. It never decreases. `0` for a
    /// reloadable card, whose money returns to its balance.
    #[schema(value_type = DecimalAmount)]
    pub released: TextValue<DecimalAmount>,
    /// Transactions, newest first.
    pub transactions: Vec<CardTransaction>,
}

impl CardSnapshot {
    /// The wire form of a snapshot.
    pub fn of(card: CardId, said: port::CardSnapshot) -> Self {
        let CardReport {
            sequence,
            state,
            available,
            released,
            transactions,
            ..
        } = CardReport::of("", said);
        Self {
            card_id: TextValue(card),
            sequence,
            state,
            available,
            released,
            transactions,
        }
    }

    /// Reads the snapshot.
    ///
    /// # Errors
    /// When a field is invalid.
    pub fn read(self) -> Result<(CardId, port::CardSnapshot), MalformedResponse> {
        let report = CardReport {
            reference: String::new(),
            sequence: self.sequence,
            state: self.state,
            available: self.available,
            released: self.released,
            transactions: self.transactions,
        };
        Ok((self.card_id.0, report.read("")?))
    }
}

impl CardActionResponse {
    /// Reads the response.
    ///
    /// # Errors
    /// When it is about another action.
    pub fn read(self, order: &port::CardActionRequest) -> Result<port::CardSnapshot, MalformedResponse> {
        let (card, standing) = self.snapshot.read()?;
        if self.key != order.key.to_string() || card != order.card {
            return Err(MalformedResponse("it is about another action"));
        }
        Ok(standing)
    }
}

/// What can be spent with a card.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardBalance {
    /// The issuer's reference of the card.
    pub reference: String,
    /// Amount that can still be spent, in US dollars.
    #[schema(value_type = DecimalAmount)]
    pub available: TextValue<DecimalAmount>,
}

impl CardBalance {
    /// Reads the balance.
    ///
    /// # Errors
    /// When it is about another card.
    pub fn read(&self, reference: &str) -> Result<Cents, MalformedResponse> {
        match self.reference == reference {
            true => Ok(self.available.0.0),
            false => Err(MalformedResponse("it is about another card")),
        }
    }
}

/// Events of all cards, in the order of their positions.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardEventList {
    /// Oldest first; each position is higher than the one before.
    pub events: Vec<CardEvent>,
}

/// A card event and its position.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardEvent {
    /// Position over all cards, from 1. Use it as `after` to continue.
    pub position: u64,
    /// State of the card at the event, or a later one.
    #[serde(flatten)]
    pub snapshot: CardSnapshot,
}

impl CardEventList {
    /// The wire form of the provider's events.
    pub fn of(list: Vec<port::CardEvent>) -> Self {
        let words = list.into_iter().map(|word| CardEvent {
            position: word.position,
            snapshot: CardSnapshot::of(word.card, word.snapshot),
        });
        Self {
            events: words.collect(),
        }
    }

    /// Reads the events after position `after`.
    ///
    /// # Errors
    /// When the positions do not rise: a skipped event would be lost.
    pub fn read(self, after: u64) -> Result<Vec<port::CardEvent>, MalformedResponse> {
        super::rising(after, self.events.iter().map(|word| word.position))?;
        let words = self.events.into_iter().map(|word| {
            let (card, standing) = word.snapshot.read()?;
            let number = word.position;
            Ok(port::CardEvent {
                position: number,
                card,
                snapshot: standing,
            })
        });
        words.collect()
    }
}
