//! Cards on the wire: `POST /v1/cards`, `GET /v1/cards/{reference}`, `GET /v1/cards/{reference}/cvv`,
//! `GET /v1/billing-address`.

use purser_actors::id::CardId;
use purser_actors::port::{CardActivity, CardTransaction, IssueCard, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Amount, Hidden, Text, Unreadable};
use crate::provider::{PlainCard, PlainIssuance};

/// An order of one card.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CardOrder {
    /// The service's id of it.
    #[schema(value_type = String)]
    pub card_id: Text<CardId>,
    /// To be loaded, in US dollars.
    #[schema(value_type = Amount)]
    pub amount: Text<Amount>,
}

impl From<&IssueCard> for CardOrder {
    fn from(order: &IssueCard) -> Self {
        Self {
            card_id: Text(order.card),
            amount: Text(Amount(order.amount)),
        }
    }
}

/// What became of an order. It names the order again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardAnswer {
    /// The order's.
    #[schema(value_type = String)]
    pub card_id: Text<CardId>,
    /// The order's.
    #[schema(value_type = Amount)]
    pub amount: Text<Amount>,
    /// Where it stands.
    #[serde(flatten)]
    pub state: CardState,
}

/// Where an order of a card stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum CardState {
    /// The card exists.
    Ready {
        /// It.
        card: Card,
    },
    /// Accepted; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Definitely refused: no card exists under this key and none will.
    Declined {
        /// The issuer's word for it.
        reason: String,
    },
}

/// A card.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Card {
    /// The issuer's name of it.
    pub reference: String,
    /// 12 to 19 digits.
    pub number: Hidden,
    /// 1 to 12.
    pub exp_month: u8,
    /// Four digits.
    pub exp_year: u16,
}

impl CardAnswer {
    /// As the issuer says it.
    pub fn of(order: &IssueCard, said: PlainIssuance) -> Self {
        let state = match said {
            PlainIssuance::Ready(card) => CardState::Ready {
                card: Card {
                    reference: card.issuer_ref,
                    number: Hidden(card.number),
                    exp_month: card.exp_month,
                    exp_year: card.exp_year,
                },
            },
            PlainIssuance::Pending { retry_after_ms } => CardState::Pending { retry_after_ms },
            PlainIssuance::Declined { reason } => CardState::Declined {
                reason: reason.to_string(),
            },
        };
        Self {
            card_id: Text(order.card),
            amount: Text(Amount(order.amount)),
            state,
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another order: whoever mixes answers up has said nothing about this one.
    pub fn read(self, order: &IssueCard) -> Result<PlainIssuance, Unreadable> {
        if self.card_id.0 != order.card || self.amount.0.0 != order.amount {
            return Err(Unreadable("it is about another order"));
        }
        Ok(match self.state {
            CardState::Ready { card } => PlainIssuance::Ready(PlainCard {
                issuer_ref: card.reference,
                number: card.number.0,
                exp_month: card.exp_month,
                exp_year: card.exp_year,
            }),
            CardState::Pending { retry_after_ms } => PlainIssuance::Pending { retry_after_ms },
            CardState::Declined { reason } => PlainIssuance::Declined { reason: reason.into() },
        })
    }
}

/// A card's security code, which this service fetches through and does not keep.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Cvv {
    /// Three or four digits.
    pub cvv: Hidden,
}

/// What became of a card's money.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Activity {
    /// The card's.
    pub reference: String,
    /// Left to spend, in US dollars.
    #[schema(value_type = Amount)]
    pub available: Text<Amount>,
    /// Newest first.
    pub transactions: Vec<Transaction>,
}

/// A purchase made with a card.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Transaction {
    /// The issuer's name of it.
    pub id: String,
    /// Where.
    pub merchant: String,
    /// In US dollars.
    #[schema(value_type = Amount)]
    pub amount: Text<Amount>,
    /// When, in Unix milliseconds.
    pub at_ms: u64,
}

impl Activity {
    /// As the issuer says it.
    pub fn of(reference: &str, said: CardActivity) -> Self {
        let transactions = said.transactions.into_iter().map(|one| Transaction {
            id: one.id,
            merchant: one.merchant,
            amount: Text(Amount(one.amount)),
            at_ms: one.at.0,
        });
        Self {
            reference: reference.to_owned(),
            available: Text(Amount(said.available)),
            transactions: transactions.collect(),
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another card.
    pub fn read(self, reference: &str) -> Result<CardActivity, Unreadable> {
        if self.reference != reference {
            return Err(Unreadable("it is about another card"));
        }
        let transactions = self.transactions.into_iter().map(|one| CardTransaction {
            id: one.id,
            merchant: one.merchant,
            amount: one.amount.0.0,
            at: Timestamp(one.at_ms),
        });
        Ok(CardActivity {
            available: self.available.0.0,
            transactions: transactions.collect(),
        })
    }
}

/// Where a card's bills go.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BillingAddress {
    /// Street and number.
    pub line1: String,
    /// City.
    pub city: String,
    /// Two letters.
    pub state: String,
    /// ZIP code.
    pub postal_code: String,
    /// ISO 3166-1 alpha-2.
    pub country: String,
}

impl From<crate::provider::BillingAddress> for BillingAddress {
    fn from(address: crate::provider::BillingAddress) -> Self {
        let crate::provider::BillingAddress {
            line1,
            city,
            state,
            postal_code,
            country,
        } = address;
        Self {
            line1,
            city,
            state,
            postal_code,
            country,
        }
    }
}

impl From<BillingAddress> for crate::provider::BillingAddress {
    fn from(address: BillingAddress) -> Self {
        let BillingAddress {
            line1,
            city,
            state,
            postal_code,
            country,
        } = address;
        Self {
            line1,
            city,
            state,
            postal_code,
            country,
        }
    }
}
