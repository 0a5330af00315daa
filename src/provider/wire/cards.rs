//! Prepaid cards on the wire: `POST /v1/cards`, `GET /v1/cards/{reference}`, `GET /v1/cards/{reference}/cvv`, `POST
//! /v1/cards/{reference}/actions`, `GET /v1/prepaid-card-events`, `GET /v1/billing-address`.

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
    /// The service's id of the card.
    #[schema(value_type = String)]
    pub card_id: TextValue<CardId>,
    /// Amount to load, in US dollars.
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

/// Result of an order. It repeats the order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IssueCardResponse {
    /// Card id of the order.
    #[schema(value_type = String)]
    pub card_id: TextValue<CardId>,
    /// Amount of the order.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Status of the order.
    #[serde(flatten)]
    pub state: IssueCardStatus,
}

/// Status of a card order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum IssueCardStatus {
    /// The card exists.
    Ready {
        /// The new card.
        card: Card,
    },
    /// Accepted; query again with the same key after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// Declined: no card exists under this key, and none ever will.
    Declined {
        /// The issuer's reason.
        reason: String,
    },
}

/// A card with its number.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Card {
    /// The issuer's reference of the card.
    pub reference: String,
    /// Card number, 12 to 19 digits.
    pub number: SecretText,
    /// Expiry month, 1 to 12.
    pub exp_month: u8,
    /// Expiry year, four digits.
    pub exp_year: u16,
}

impl IssueCardResponse {
    /// The wire form of the issuer's result.
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

    /// Reads the issuer's result.
    ///
    /// # Errors
    /// When it is about another order: a mixed-up response reveals nothing about this one.
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

/// A card's security code, which this service passes through and does not store.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CvvResponse {
    /// Three or four digits.
    pub cvv: SecretText,
}

/// Current status of a card, by the issuer's reference.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardReport {
    /// The issuer's reference of the card.
    pub reference: String,
    /// Incremented by each change of the card, starting at 0. Of two reports about a card the one with the higher
    /// sequence is valid.
    pub sequence: u64,
    /// Whether the card accepts charges.
    pub state: CardStatus,
    /// Amount that can still be spent, in US dollars.
    #[schema(value_type = DecimalAmount)]
    pub available: TextValue<DecimalAmount>,
    /// Total that the issuer has returned to the service from the card's balance after it closed, in US dollars. It
    /// never decreases.
    #[schema(value_type = DecimalAmount)]
    pub released: TextValue<DecimalAmount>,
    /// Transactions, newest first.
    pub transactions: Vec<CardTransaction>,
}

/// Whether a card accepts charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardStatus {
    /// Charges are accepted.
    Open,
    /// Charges are declined until the card is resumed.
    Paused,
    /// Closed permanently. The remaining money of a reloadable card is back on its balance.
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

/// An approved or declined charge of a card.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CardTransaction {
    /// The issuer's reference of the transaction.
    pub id: String,
    /// Name of the merchant.
    pub merchant: String,
    /// Amount in US dollars.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Status of the charge.
    pub status: CardTransactionStatus,
    /// The issuer's reason for a decline; `null` otherwise.
    #[schema(required)]
    #[serde(deserialize_with = "Option::deserialize")]
    pub reason: Option<String>,
    /// Time of the charge, in Unix milliseconds.
    pub at_ms: u64,
}

/// Status of a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
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
    /// The wire form of the issuer's snapshot.
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

    /// Reads the issuer's snapshot.
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

/// Billing address of the issuer's cards.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BillingAddress {
    /// Street and number.
    pub line1: String,
    /// Name of the city.
    pub city: String,
    /// Two-letter state code.
    pub state: String,
    /// Postal code (ZIP code).
    pub postal_code: String,
    /// Country, ISO 3166-1 alpha-2.
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
