//! Reloadable cards on the wire: `POST /v1/reloadable-cards`, `POST /v1/reloadable-cards/{reference}/wishes`,
//! `GET /v1/reloadable-cards/{reference}`, `GET /v1/reloadable-cards/{reference}/cvv`, `GET /v1/card-words`.

use purser_actors::id::{CardId, EffectId};
use purser_actors::money::Cents;
use purser_actors::port::{CardWord, OpenCard, Standing, SteerCard, Wish};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::cards::{Card, CardIs, CardReport, Transaction};
use super::{Amount, BaseAddress, Hidden, Text, Unreadable};
use crate::provider::PlainCard;
use crate::provider::program::PlainOpening;

/// An order of a card that is loaded from its holder's balance.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReloadableOrder {
    /// The service's id of it.
    #[schema(value_type = String)]
    pub card_id: Text<CardId>,
    /// Whose balance: the deposit address of the account on Base.
    #[schema(value_type = String)]
    pub deposit_address: Text<BaseAddress>,
    /// To be loaded, in US dollars.
    #[schema(value_type = Amount)]
    pub amount: Text<Amount>,
    /// Whether it stays open after its first charge.
    pub reusable: bool,
}

impl From<&OpenCard> for ReloadableOrder {
    fn from(order: &OpenCard) -> Self {
        Self {
            card_id: Text(order.card),
            deposit_address: Text(BaseAddress(order.account)),
            amount: Text(Amount(order.amount)),
            reusable: order.reusable,
        }
    }
}

impl ReloadableOrder {
    /// As the program reads it.
    pub fn read(&self, key: EffectId) -> OpenCard {
        OpenCard {
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
pub struct ReloadableAnswer {
    /// The order's.
    #[schema(value_type = String)]
    pub card_id: Text<CardId>,
    /// The order's.
    #[schema(value_type = String)]
    pub deposit_address: Text<BaseAddress>,
    /// The order's.
    #[schema(value_type = Amount)]
    pub amount: Text<Amount>,
    /// Where it stands.
    #[serde(flatten)]
    pub state: ReloadableState,
}

/// Where such an order stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ReloadableState {
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
    Insufficient,
    /// Definitely refused: no card exists under this key and none will. Nothing was taken.
    Declined {
        /// The issuer's word for it.
        reason: String,
    },
}

impl ReloadableAnswer {
    /// As the program says it.
    pub fn of(order: ReloadableOrder, said: PlainOpening) -> Self {
        let state = match said {
            PlainOpening::Open(card) => ReloadableState::Open {
                card: Card {
                    reference: card.issuer_ref,
                    number: Hidden(card.number),
                    exp_month: card.exp_month,
                    exp_year: card.exp_year,
                },
            },
            PlainOpening::Pending { retry_after_ms } => ReloadableState::Pending { retry_after_ms },
            PlainOpening::Insufficient => ReloadableState::Insufficient,
            PlainOpening::Declined { reason } => ReloadableState::Declined {
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
    pub fn read(self, order: &OpenCard) -> Result<PlainOpening, Unreadable> {
        let named = (self.card_id.0, self.deposit_address.0.0, self.amount.0.0);
        if named != (order.card, order.account, order.amount) {
            return Err(Unreadable("it is about another order"));
        }
        Ok(match self.state {
            ReloadableState::Open { card } => PlainOpening::Open(PlainCard {
                issuer_ref: card.reference,
                number: card.number.0,
                exp_month: card.exp_month,
                exp_year: card.exp_year,
            }),
            ReloadableState::Pending { retry_after_ms } => PlainOpening::Pending { retry_after_ms },
            ReloadableState::Insufficient => PlainOpening::Insufficient,
            ReloadableState::Declined { reason } => PlainOpening::Declined { reason: reason.into() },
        })
    }
}

/// What a holder wants of a card.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WishOrder {
    /// The service's id of the card.
    #[schema(value_type = String)]
    pub card_id: Text<CardId>,
    /// What is wanted.
    pub wish: CardWish,
}

/// What a holder can want of a card. What cannot be done any more (of a closed card, for example) is no error: the answer says
/// how the card stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardWish {
    /// Charges are refused until it is resumed.
    Pause,
    /// Charges are taken again.
    Resume,
    /// It ends. What is left on a reloadable card goes back to its balance; what is left on a prepaid one, as the issuer says.
    Close,
}

impl From<Wish> for CardWish {
    fn from(wish: Wish) -> Self {
        match wish {
            Wish::Pause => Self::Pause,
            Wish::Resume => Self::Resume,
            Wish::Close => Self::Close,
        }
    }
}

impl From<CardWish> for Wish {
    fn from(wish: CardWish) -> Self {
        match wish {
            CardWish::Pause => Self::Pause,
            CardWish::Resume => Self::Resume,
            CardWish::Close => Self::Close,
        }
    }
}

/// How a card stands once a wish was heard.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WishAnswer {
    /// The key of the wish: an answer to an earlier one would end this one.
    pub key: String,
    /// How the card stands.
    #[serde(flatten)]
    pub standing: CardStanding,
}

/// How a card stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardStanding {
    /// The service's id of the card.
    #[schema(value_type = String)]
    pub card_id: Text<CardId>,
    /// Raised by each change of the card; 0 as it was opened. Of two words about a card the one with more counts.
    pub sequence: u64,
    /// Whether it takes charges.
    pub state: CardIs,
    /// Left to spend, in US dollars.
    #[schema(value_type = Amount)]
    pub available: Text<Amount>,
    /// Of what was left when a prepaid card ended, all that was given back to the service so far, in US dollars. It only grows.
    /// `0` of a reloadable card, which gives it back to its balance.
    #[schema(value_type = Amount)]
    pub released: Text<Amount>,
    /// What was charged, newest first.
    pub transactions: Vec<Transaction>,
}

impl CardStanding {
    /// As the program says it.
    pub fn of(card: CardId, said: Standing) -> Self {
        let CardReport {
            sequence,
            state,
            available,
            released,
            transactions,
            ..
        } = CardReport::of("", said);
        Self {
            card_id: Text(card),
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
    pub fn read(self) -> Result<(CardId, Standing), Unreadable> {
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

impl WishAnswer {
    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another wish.
    pub fn read(self, order: &SteerCard) -> Result<Standing, Unreadable> {
        let (card, standing) = self.standing.read()?;
        if self.key != order.key.to_string() || card != order.card {
            return Err(Unreadable("it is about another wish"));
        }
        Ok(standing)
    }
}

/// What can be spent with a card.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardAvailable {
    /// The card's.
    pub reference: String,
    /// Left to spend, in US dollars.
    #[schema(value_type = Amount)]
    pub available: Text<Amount>,
}

impl CardAvailable {
    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another card.
    pub fn read(&self, reference: &str) -> Result<Cents, Unreadable> {
        match self.reference == reference {
            true => Ok(self.available.0.0),
            false => Err(Unreadable("it is about another card")),
        }
    }
}

/// Words about cards in the order in which they were told, over all cards.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardWords {
    /// Oldest first; each number is higher than the one before.
    pub words: Vec<NumberedStanding>,
}

/// A word and its place.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NumberedStanding {
    /// Its place over all cards, from 1: where the next reading goes on.
    pub number: u64,
    /// How the card stood then, or has come to stand since.
    #[serde(flatten)]
    pub standing: CardStanding,
}

impl CardWords {
    /// As the program says it.
    pub fn of(told: Vec<CardWord>) -> Self {
        let words = told.into_iter().map(|word| NumberedStanding {
            number: word.number,
            standing: CardStanding::of(word.card, word.standing),
        });
        Self { words: words.collect() }
    }

    /// As this service reads it, from behind `after`.
    ///
    /// # Errors
    /// When the numbers do not rise: a word that is skipped over would be lost.
    pub fn read(self, after: u64) -> Result<Vec<CardWord>, Unreadable> {
        super::rising(after, self.words.iter().map(|word| word.number))?;
        let words = self.words.into_iter().map(|word| {
            let (card, standing) = word.standing.read()?;
            let number = word.number;
            Ok(CardWord { number, card, standing })
        });
        words.collect()
    }
}
