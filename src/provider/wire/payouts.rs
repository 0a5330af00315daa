//! Orders of payouts on the wire: `POST /v1/payouts`, `POST /v1/debit-card-countries`.

use purser_actors::id::PayoutId;
use purser_actors::product::{AppPayee, Country, Currency, Platform, ProductLine};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DecimalAmount, MalformedResponse, SecretText, TextValue};
use crate::provider::payouts::{PlainPayee, PlainPayout};
use crate::vault::CardNumberRecord;

/// Which rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PayoutRail {
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
pub struct PayoutRequest {
    /// The service's id, which every word about it names.
    #[schema(value_type = String)]
    pub payout_id: TextValue<PayoutId>,
    /// Which rail.
    pub rail: PayoutRail,
    /// What the recipient gets.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// ISO 4217.
    #[schema(value_type = String)]
    pub currency: TextValue<Currency>,
    /// Who.
    pub payee: Payee,
}

/// Who gets a payout.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Payee {
    /// A debit card.
    Card {
        /// 12 to 19 digits.
        number: SecretText,
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
        account_number: SecretText,
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
const fn rail(line: ProductLine) -> Result<PayoutRail, MalformedResponse> {
    match line {
        ProductLine::PushToCard => Ok(PayoutRail::PushToCard),
        ProductLine::BankPayment => Ok(PayoutRail::BankPayment),
        ProductLine::AppPayment => Ok(PayoutRail::AppPayment),
        _ => Err(MalformedResponse("no payout")),
    }
}

impl PayoutRequest {
    /// For the wire.
    ///
    /// # Errors
    /// When it is for a line that no rail serves.
    pub fn of(order: PlainPayout) -> Result<Self, MalformedResponse> {
        let payee = match order.to {
            PlainPayee::Card(card) => Payee::Card {
                number: SecretText(card.number().clone()),
                exp_month: card.exp_month(),
                exp_year: card.exp_year(),
            },
            PlainPayee::Bank {
                routing_number,
                account_number,
                account_holder_name,
            } => Payee::Bank {
                routing_number,
                account_number: SecretText(account_number),
                account_holder_name,
            },
            PlainPayee::App(platform, payee) => Payee::App {
                platform: platform.name().to_owned(),
                recipient: payee.recipient,
                first_name: payee.first_name,
                last_name: payee.last_name,
                email: payee.email,
            },
        };
        Ok(Self {
            payout_id: TextValue(order.payout),
            rail: rail(order.line)?,
            amount: TextValue(DecimalAmount(order.amount)),
            currency: TextValue(order.currency),
            payee,
        })
    }

    /// As a rail reads it.
    ///
    /// # Errors
    /// When the payee is not one.
    pub fn read(self, key: purser_actors::id::JobId) -> Result<PlainPayout, MalformedResponse> {
        let to = match self.payee {
            Payee::Card {
                number,
                exp_month,
                exp_year,
            } => {
                let card = CardNumberRecord::new(number.0, exp_month, exp_year);
                PlainPayee::Card(card.map_err(|_| MalformedResponse("a card number"))?)
            }
            Payee::Bank {
                routing_number,
                account_number,
                account_holder_name,
            } => PlainPayee::Bank {
                routing_number,
                account_number: account_number.0,
                account_holder_name,
            },
            Payee::App {
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
                PlainPayee::App(known.ok_or(MalformedResponse("a payment app"))?, payee)
            }
        };
        Ok(PlainPayout {
            key,
            payout: self.payout_id.0,
            line: match self.rail {
                PayoutRail::PushToCard => ProductLine::PushToCard,
                PayoutRail::BankPayment => ProductLine::BankPayment,
                PayoutRail::AppPayment => ProductLine::AppPayment,
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
pub struct DebitCardQuery {
    /// 12 to 19 digits.
    pub number: SecretText,
}

/// Where its bank is.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DebitCardCountryResponse {
    /// ISO 3166-1 alpha-2; `null` for a card that no rail pays to.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(value_type = Option<String>, required)]
    pub country: Option<TextValue<Country>>,
}
