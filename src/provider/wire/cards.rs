//! Cards on the wire: `POST /v1/cards`, `GET /v1/cards/{reference}`, `GET /v1/cards/{reference}/cvv`,
//! `POST /v1/cards/{reference}/wishes`, `GET /v1/prepaid-card-words`, `GET /v1/billing-address`.

use purser_actors::id::CardId;
use purser_actors::port;
use purser_actors::port::{CardActivity, CardSnapshot, CardState, Timestamp, TransactionStatus};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DecimalAmount, MalformedResponse, SecretText, TextValue};
use crate::provider::{PlainCard, PlainIssueResult};

/// An order of one card.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct IssueCardRequest {
    /// The service's id of it.
    #[schema(value_type = String)]
    pub card_id: TextValue<CardId>,
    /// To be loaded, in US dollars.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
}

impl From<&port::IssueCardRequest> for IssueCardRequest {
    fn from(order: &port::IssueCardRequest) -> Self {
        Self {
            card_id: TextValue(order.card),
            amount: TextValue(DecimalAmount(order.amount)),
        }
    }
}

/// What became of an order. It names the order again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IssueCardResponse {
    /// The order's.
    #[schema(value_type = String)]
    pub card_id: TextValue<CardId>,
    /// The order's.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Where it stands.
    #[serde(flatten)]
    pub state: IssueCardStatus,
}

/// Where an order of a card stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum IssueCardStatus {
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
    pub number: SecretText,
    /// 1 to 12.
    pub exp_month: u8,
    /// Four digits.
    pub exp_year: u16,
}

impl IssueCardResponse {
    /// As the issuer says it.
    pub fn of(order: &port::IssueCardRequest, said: PlainIssueResult) -> Self {
        let state = match said {
            PlainIssueResult::Ready(card) => IssueCardStatus::Ready {
                card: Card {
                    reference: card.issuer_ref,
                    number: SecretText(card.number),
                    exp_month: card.exp_month,
                    exp_year: card.exp_year,
                },
            },
            PlainIssueResult::Pending { retry_after_ms } => IssueCardStatus::Pending { retry_after_ms },
            PlainIssueResult::Declined { reason } => IssueCardStatus::Declined {
                reason: reason.to_string(),
            },
        };
        Self {
            card_id: TextValue(order.card),
            amount: TextValue(DecimalAmount(order.amount)),
            state,
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another order: whoever mixes answers up has said nothing about this one.
    pub fn read(self, order: &port::IssueCardRequest) -> Result<PlainIssueResult, MalformedResponse> {
        if self.card_id.0 != order.card || self.amount.0.0 != order.amount {
            return Err(MalformedResponse("it is about another order"));
        }
        Ok(match self.state {
            IssueCardStatus::Ready { card } => PlainIssueResult::Ready(PlainCard {
                issuer_ref: card.reference,
                number: card.number.0,
                exp_month: card.exp_month,
                exp_year: card.exp_year,
            }),
            IssueCardStatus::Pending { retry_after_ms } => PlainIssueResult::Pending { retry_after_ms },
            IssueCardStatus::Declined { reason } => PlainIssueResult::Declined { reason: reason.into() },
        })
    }
}

/// A card's security code, which this service fetches through and does not keep.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CvvResponse {
    /// Three or four digits.
    pub cvv: SecretText,
}

/// A card as it stands, by the issuer's name of it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardReport {
    /// The card's.
    pub reference: String,
    /// Raised by each change of the card; 0 as it was made. Of two words about a card the one with more counts.
    pub sequence: u64,
    /// Whether it takes charges.
    pub state: CardStatus,
    /// Left to spend, in US dollars.
    #[schema(value_type = DecimalAmount)]
    pub available: TextValue<DecimalAmount>,
    /// Of what was left when it ended, all that the issuer gave back to the service so far, in US dollars. It only grows.
    #[schema(value_type = DecimalAmount)]
    pub released: TextValue<DecimalAmount>,
    /// What was charged, newest first.
    pub transactions: Vec<CardTransaction>,
}

/// Whether a card takes charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardStatus {
    /// It does.
    Open,
    /// It refuses them for now.
    Paused,
    /// It has ended for good; what was left on a card that spends a balance is on that balance.
    Closed,
}

impl From<CardState> for CardStatus {
    fn from(state: CardState) -> Self {
        match state {
            CardState::Open => Self::Open,
            CardState::Paused => Self::Paused,
            CardState::Closed => Self::Closed,
        }
    }
}

impl From<CardStatus> for CardState {
    fn from(state: CardStatus) -> Self {
        match state {
            CardStatus::Open => Self::Open,
            CardStatus::Paused => Self::Paused,
            CardStatus::Closed => Self::Closed,
        }
    }
}

/// A charge of a card, taken or refused.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardTransaction {
    /// The issuer's name of it.
    pub id: String,
    /// Where.
    pub merchant: String,
    /// In US dollars.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// What came of it.
    pub status: CardTransactionStatus,
    /// Of a refused one: the issuer's word for why. Null for all else.
    #[schema(required)]
    #[serde(deserialize_with = "Option::deserialize")]
    pub reason: Option<String>,
    /// When, in Unix milliseconds.
    pub at_ms: u64,
}

/// What came of a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardTransactionStatus {
    /// Its amount is set aside on the card; the merchant has not taken it yet.
    Pending,
    /// The merchant has it.
    Settled,
    /// Refused: nothing was taken.
    Declined,
    /// The merchant gave it back to the card.
    Refunded,
}

impl From<port::CardTransaction> for CardTransaction {
    fn from(one: port::CardTransaction) -> Self {
        Self {
            id: one.id,
            merchant: one.merchant,
            amount: TextValue(DecimalAmount(one.amount)),
            status: match one.status {
                TransactionStatus::Pending => CardTransactionStatus::Pending,
                TransactionStatus::Settled => CardTransactionStatus::Settled,
                TransactionStatus::Declined => CardTransactionStatus::Declined,
                TransactionStatus::Refunded => CardTransactionStatus::Refunded,
            },
            reason: one.reason,
            at_ms: one.at.0,
        }
    }
}

impl From<CardTransaction> for port::CardTransaction {
    fn from(one: CardTransaction) -> Self {
        Self {
            id: one.id,
            merchant: one.merchant,
            amount: one.amount.0.0,
            at: Timestamp(one.at_ms),
            status: match one.status {
                CardTransactionStatus::Pending => TransactionStatus::Pending,
                CardTransactionStatus::Settled => TransactionStatus::Settled,
                CardTransactionStatus::Declined => TransactionStatus::Declined,
                CardTransactionStatus::Refunded => TransactionStatus::Refunded,
            },
            reason: one.reason,
        }
    }
}

impl CardReport {
    /// As the issuer says it.
    pub fn of(reference: &str, said: CardSnapshot) -> Self {
        Self {
            reference: reference.to_owned(),
            sequence: said.sequence,
            state: said.state.into(),
            available: TextValue(DecimalAmount(said.activity.available)),
            released: TextValue(DecimalAmount(said.released)),
            transactions: said.activity.transactions.into_iter().map(Into::into).collect(),
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another card.
    pub fn read(self, reference: &str) -> Result<CardSnapshot, MalformedResponse> {
        if self.reference != reference {
            return Err(MalformedResponse("it is about another card"));
        }
        Ok(CardSnapshot {
            sequence: self.sequence,
            state: self.state.into(),
            activity: CardActivity {
                available: self.available.0.0,
                transactions: self.transactions.into_iter().map(Into::into).collect(),
            },
            released: self.released.0.0,
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
