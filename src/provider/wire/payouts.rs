//! Payouts on the wire: `POST /v1/payouts`, `POST /v1/payouts/{payout_id}/recall`, `GET /v1/payout-reports`,
//! `GET /v1/payout-orders/{key}`, `POST /v1/debit-card-country`.

use purser_actors::id::PayoutId;
use purser_actors::port::payout::{RailState, Recall, Report, Told};
use purser_actors::product::{AppPayee, Country, Currency, Line, Platform};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Amount, Hidden, Text, Unreadable};
use crate::provider::payouts::{Payee, PlainPayout};
use crate::vault::CardNumber;

/// Which rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rail {
    /// To a debit card.
    PushToCard,
    /// To a bank account.
    BankPayment,
    /// To the user of a payment app.
    AppPayment,
}

/// An order to a rail.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PayoutOrder {
    /// The service's id, which every word about it names.
    #[schema(value_type = String)]
    pub payout_id: Text<PayoutId>,
    /// Which rail.
    pub rail: Rail,
    /// What the recipient gets.
    #[schema(value_type = Amount)]
    pub amount: Text<Amount>,
    /// ISO 4217.
    #[schema(value_type = String)]
    pub currency: Text<Currency>,
    /// Who.
    pub payee: PayeeOnWire,
}

/// Who gets a payout.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PayeeOnWire {
    /// A debit card.
    Card {
        /// 12 to 19 digits.
        number: Hidden,
        /// 1 to 12.
        exp_month: u8,
        /// Four digits.
        exp_year: u16,
    },
    /// A bank account.
    Bank {
        /// Nine digits, or the bank's part of an IBAN.
        routing_number: String,
        /// As the bank knows it.
        account_number: Hidden,
        /// Whose.
        account_holder_name: String,
    },
    /// The user of a payment app.
    App {
        /// `venmo` or `paypal`.
        platform: String,
        /// What the app knows them by.
        recipient: String,
        /// Given name.
        first_name: String,
        /// Family name.
        last_name: String,
        /// E-mail address.
        email: String,
    },
}

/// Only the lines that rails serve have one.
const fn rail(line: Line) -> Result<Rail, Unreadable> {
    match line {
        Line::PushToCard => Ok(Rail::PushToCard),
        Line::BankPayment => Ok(Rail::BankPayment),
        Line::AppPayment => Ok(Rail::AppPayment),
        _ => Err(Unreadable("no payout")),
    }
}

impl PayoutOrder {
    /// For the wire.
    ///
    /// # Errors
    /// When it is for a line that no rail serves.
    pub fn of(order: PlainPayout) -> Result<Self, Unreadable> {
        let payee = match order.to {
            Payee::Card(card) => PayeeOnWire::Card {
                number: Hidden(card.number().clone()),
                exp_month: card.exp_month(),
                exp_year: card.exp_year(),
            },
            Payee::Bank {
                routing_number,
                account_number,
                account_holder_name,
            } => PayeeOnWire::Bank {
                routing_number,
                account_number: Hidden(account_number),
                account_holder_name,
            },
            Payee::App(platform, payee) => PayeeOnWire::App {
                platform: platform.name().to_owned(),
                recipient: payee.recipient,
                first_name: payee.first_name,
                last_name: payee.last_name,
                email: payee.email,
            },
        };
        Ok(Self {
            payout_id: Text(order.payout),
            rail: rail(order.line)?,
            amount: Text(Amount(order.amount)),
            currency: Text(order.currency),
            payee,
        })
    }

    /// As a rail reads it.
    ///
    /// # Errors
    /// When the payee is not one.
    pub fn read(self, key: purser_actors::id::EffectId) -> Result<PlainPayout, Unreadable> {
        let to = match self.payee {
            PayeeOnWire::Card {
                number,
                exp_month,
                exp_year,
            } => {
                let card = CardNumber::new(number.0, exp_month, exp_year);
                Payee::Card(card.map_err(|_| Unreadable("a card number"))?)
            }
            PayeeOnWire::Bank {
                routing_number,
                account_number,
                account_holder_name,
            } => Payee::Bank {
                routing_number,
                account_number: account_number.0,
                account_holder_name,
            },
            PayeeOnWire::App {
                platform,
                recipient,
                first_name,
                last_name,
                email,
            } => {
                let known = Platform::ALL.into_iter().find(|p| p.name() == platform);
                let payee = AppPayee {
                    recipient,
                    first_name,
                    last_name,
                    email,
                };
                Payee::App(known.ok_or(Unreadable("a payment app"))?, payee)
            }
        };
        Ok(PlainPayout {
            key,
            payout: self.payout_id.0,
            line: match self.rail {
                Rail::PushToCard => Line::PushToCard,
                Rail::BankPayment => Line::BankPayment,
                Rail::AppPayment => Line::AppPayment,
            },
            amount: self.amount.0.0,
            currency: self.currency.0,
            to,
        })
    }
}

/// A word about one payout.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PayoutReport {
    /// Which.
    #[schema(value_type = String)]
    pub payout_id: Text<PayoutId>,
    /// The word.
    #[serde(flatten)]
    pub word: Word,
}

/// What a rail says. Later words about one payout have a higher sequence, so that those which come twice or in another
/// order are recognized.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Word {
    /// Its place among the words about this payout, from 1.
    pub sequence: u64,
    /// Where the payout stands.
    #[serde(flatten)]
    pub state: PayoutState,
}

/// Where a payout stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum PayoutState {
    /// Accepted and on its way; for a payment app, also waiting to be claimed.
    InProcess {
        /// When to ask again, in milliseconds.
        retry_after_ms: u64,
    },
    /// Paid.
    Complete {
        /// The rail's name of the payment.
        reference: String,
    },
    /// Definitely not paid, and will not be.
    Failed {
        /// The rail's word for it.
        reason: String,
    },
    /// Stopped before it was paid.
    Cancelled {
        /// The rail's word for it.
        reason: String,
    },
    /// The money came back.
    Returned {
        /// The rail's word for it.
        reason: String,
    },
}

impl PayoutReport {
    /// As the rail says it.
    pub fn of(payout: PayoutId, said: Report) -> Self {
        Self {
            payout_id: Text(payout),
            word: Word::of(said),
        }
    }

    /// As this service reads it.
    pub fn read(self) -> (PayoutId, Report) {
        (self.payout_id.0, self.word.read())
    }
}

impl Word {
    /// As the rail says it.
    pub fn of(said: Report) -> Self {
        let state = match said.state {
            RailState::InProcess { retry_after_ms } => PayoutState::InProcess { retry_after_ms },
            RailState::Complete { reference } => PayoutState::Complete {
                reference: reference.to_string(),
            },
            RailState::Failed { reason } => PayoutState::Failed {
                reason: reason.to_string(),
            },
            RailState::Cancelled { reason } => PayoutState::Cancelled {
                reason: reason.to_string(),
            },
            RailState::Returned { reason } => PayoutState::Returned {
                reason: reason.to_string(),
            },
        };
        Self {
            sequence: said.sequence,
            state,
        }
    }

    /// As this service reads it.
    pub fn read(self) -> Report {
        let state = match self.state {
            PayoutState::InProcess { retry_after_ms } => RailState::InProcess { retry_after_ms },
            PayoutState::Complete { reference } => RailState::Complete {
                reference: reference.into(),
            },
            PayoutState::Failed { reason } => RailState::Failed { reason: reason.into() },
            PayoutState::Cancelled { reason } => RailState::Cancelled { reason: reason.into() },
            PayoutState::Returned { reason } => RailState::Returned { reason: reason.into() },
        };
        Report {
            sequence: self.sequence,
            state,
        }
    }
}

/// What is known of an order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OrderedAnswer {
    /// The key that was asked about.
    pub key: String,
    /// The newest word about what was ordered under it; `null` says that nothing ever was.
    pub report: Option<Word>,
}

/// What came of asking for money back.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecallAnswer {
    /// Which payout.
    #[schema(value_type = String)]
    pub payout_id: Text<PayoutId>,
    /// What came of it.
    pub outcome: RecallOutcome,
}

/// What came of asking for money back.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecallOutcome {
    /// The recipient has and gets nothing.
    Recalled,
    /// The recipient has it.
    TooLate,
}

impl From<Recall> for RecallOutcome {
    fn from(said: Recall) -> Self {
        match said {
            Recall::Done => Self::Recalled,
            Recall::TooLate => Self::TooLate,
        }
    }
}

impl From<RecallOutcome> for Recall {
    fn from(said: RecallOutcome) -> Self {
        match said {
            RecallOutcome::Recalled => Self::Done,
            RecallOutcome::TooLate => Self::TooLate,
        }
    }
}

/// Words in the order in which they were told, over all payouts.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Reports {
    /// Oldest first; each number is higher than the one before.
    pub reports: Vec<NumberedReport>,
}

/// A word and its place.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NumberedReport {
    /// Its place over all payouts, from 1: where the next reading goes on.
    pub number: u64,
    /// The word.
    #[serde(flatten)]
    pub report: PayoutReport,
}

impl Reports {
    /// As the rails say it.
    pub fn of(told: Vec<Told>) -> Self {
        let reports = told.into_iter().map(|told| NumberedReport {
            number: told.number,
            report: PayoutReport::of(told.payout, told.report),
        });
        Self {
            reports: reports.collect(),
        }
    }

    /// As this service reads it, from behind `after`.
    ///
    /// # Errors
    /// When the numbers do not rise: a word that is skipped over would be lost.
    pub fn read(self, after: u64) -> Result<Vec<Told>, Unreadable> {
        let mut last = after;
        let mut told = Vec::with_capacity(self.reports.len());
        for one in self.reports {
            if one.number <= last {
                return Err(Unreadable("the numbers do not rise"));
            }
            last = one.number;
            let (payout, report) = one.report.read();
            let number = one.number;
            told.push(Told { number, payout, report });
        }
        Ok(told)
    }
}

/// A debit card whose bank is looked for.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DebitCard {
    /// 12 to 19 digits.
    pub number: Hidden,
}

/// Where its bank is.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DebitCardCountry {
    /// ISO 3166-1 alpha-2; none for a card that no rail pays to.
    #[schema(value_type = Option<String>)]
    pub country: Option<Text<Country>>,
}
