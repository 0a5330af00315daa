//! Orders of payouts on the wire: `POST /v1/payouts`, `POST /v1/debit-card-country`.

use purser_actors::id::PayoutId;
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
    /// ISO 3166-1 alpha-2; `null` for a card that no rail pays to.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(value_type = Option<String>, required)]
    pub country: Option<Text<Country>>,
}
