//! Reloadable cards on the wire: `POST /v1/reloadable-cards`, `POST /v1/reloadable-cards/{reference}/actions`,
//! `GET /v1/reloadable-cards/{reference}`, `GET /v1/reloadable-cards/{reference}/cvv`, `GET /v1/card-events`.

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

/// An order of a card that is loaded from its holder's balance.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenReloadableCardRequest {
    /// The service's id of it.
    #[schema(value_type = String)]
    pub card_id: TextValue<CardId>,
    /// Whose balance: the deposit address of the account on Base.
    #[schema(value_type = String)]
    pub deposit_address: TextValue<BaseAddress>,
    /// To be loaded, in US dollars.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Whether it stays open after its first charge.
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
    /// As the program reads it.
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

/// What became of such an order. It names the order again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OpenReloadableCardResponse {
    /// The order's.
    #[schema(value_type = String)]
    pub card_id: TextValue<CardId>,
    /// The order's.
    #[schema(value_type = String)]
    pub deposit_address: TextValue<BaseAddress>,
    /// The order's.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Where it stands.
    #[serde(flatten)]
    pub state: OpenReloadableCardStatus,
}

/// Where such an order stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum OpenReloadableCardStatus {
    /// The card is open, and its amount was taken from the balance. It stays the answer, whatever becomes of the card.
    Open {
        /// It.
        card: Card,
    },
    /// Accepted; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Definitely refused: the balance was less. Nothing was taken under this key and nothing will be.
    InsufficientBalance,
    /// Definitely refused: no card exists under this key and none will. Nothing was taken.
    Declined {
        /// The issuer's word for it.
        reason: String,
    },
}

impl OpenReloadableCardResponse {
    /// As the program says it.
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

    /// As this service reads it.
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

/// What a holder wants of a card.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CardActionRequest {
    /// The service's id of the card.
    #[schema(value_type = String)]
    pub card_id: TextValue<CardId>,
    /// What is wanted.
    pub action: CardAction,
}

/// What a holder can want of a card. What cannot be done any more (of a closed card, for example) is no error: the answer says
/// how the card stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardAction {
    /// Charges are refused until it is resumed.
    Pause,
    /// Charges are taken again.
    Resume,
    /// It ends. What is left on a reloadable card goes back to its balance; what is left on a prepaid one, as the issuer says.
    Close,
}

impl From<port::CardAction> for CardAction {
    fn from(wish: port::CardAction) -> Self {
        match wish {
            port::CardAction::Pause => Self::Pause,
            port::CardAction::Resume => Self::Resume,
            port::CardAction::Close => Self::Close,
        }
    }
}

impl From<CardAction> for port::CardAction {
    fn from(wish: CardAction) -> Self {
        match wish {
            CardAction::Pause => Self::Pause,
            CardAction::Resume => Self::Resume,
            CardAction::Close => Self::Close,
        }
    }
}

/// How a card stands once a wish was heard.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardActionResponse {
    /// The key of the wish: an answer to an earlier one would end this one.
    pub key: String,
    /// How the card stands.
    #[serde(flatten)]
    pub snapshot: CardSnapshot,
}

/// How a card stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardSnapshot {
    /// The service's id of the card.
    #[schema(value_type = String)]
    pub card_id: TextValue<CardId>,
    /// Raised by each change of the card; 0 as it was opened. Of two words about a card the one with more counts.
    pub sequence: u64,
    /// Whether it takes charges.
    pub state: CardStatus,
    /// Left to spend, in US dollars.
    #[schema(value_type = DecimalAmount)]
    pub available: TextValue<DecimalAmount>,
    /// Of what was left when a prepaid card ended, all that was given back to the service so far, in US dollars. It only grows.
    /// `0` of a reloadable card, which gives it back to its balance.
    #[schema(value_type = DecimalAmount)]
    pub released: TextValue<DecimalAmount>,
    /// What was charged, newest first.
    pub transactions: Vec<CardTransaction>,
}

impl CardSnapshot {
    /// As the program says it.
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

    /// As this service reads it.
    ///
    /// # Errors
    /// When it cannot be read.
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
    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another wish.
    pub fn read(self, order: &port::CardActionRequest) -> Result<port::CardSnapshot, MalformedResponse> {
        let (card, standing) = self.snapshot.read()?;
        if self.key != order.key.to_string() || card != order.card {
            return Err(MalformedResponse("it is about another wish"));
        }
        Ok(standing)
    }
}

/// What can be spent with a card.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardBalance {
    /// The card's.
    pub reference: String,
    /// Left to spend, in US dollars.
    #[schema(value_type = DecimalAmount)]
    pub available: TextValue<DecimalAmount>,
}

impl CardBalance {
    /// As this service reads it.
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

/// Words about cards in the order in which they were told, over all cards.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardEventList {
    /// Oldest first; each number is higher than the one before.
    pub events: Vec<CardEvent>,
}

/// A word and its place.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardEvent {
    /// Its place over all cards, from 1: where the next reading goes on.
    pub position: u64,
    /// How the card stood then, or has come to stand since.
    #[serde(flatten)]
    pub snapshot: CardSnapshot,
}

impl CardEventList {
    /// As the program says it.
    pub fn of(told: Vec<port::CardEvent>) -> Self {
        let words = told.into_iter().map(|word| CardEvent {
            position: word.position,
            snapshot: CardSnapshot::of(word.card, word.snapshot),
        });
        Self {
            events: words.collect(),
        }
    }

    /// As this service reads it, from behind `after`.
    ///
    /// # Errors
    /// When the numbers do not rise: a word that is skipped over would be lost.
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
