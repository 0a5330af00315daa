//! Payout orders on the wire: `POST /v1/payouts`, `POST /v1/debit-card-countries`.

use purser_actors::id::PayoutId;
use purser_actors::product::{AppPayee, Country, Currency, Platform, ProductLine};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DecimalAmount, MalformedResponse, SecretText, TextValue};
use crate::provider::payouts::{PlainPayee, PlainPayout};
use crate::vault::CardNumberRecord;

/// Rail of a payout.
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

/// An order for a payout.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PayoutRequest {
    /// The service's id of the payout, which all of its events name.
    #[schema(value_type = String)]
    pub payout_id: TextValue<PayoutId>,
    /// Rail that pays.
    pub rail: PayoutRail,
    /// Amount that the recipient gets.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Currency of the amount, ISO 4217.
    #[schema(value_type = String)]
    pub currency: TextValue<Currency>,
    /// Recipient of the money.
    pub payee: Payee,
}

/// Recipient of a payout.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Payee {
    /// The owner of a debit card.
    Card {
        /// Card number, 12 to 19 digits.
        number: SecretText,
        /// Expiry month, 1 to 12.
        exp_month: u8,
        /// Expiry year, four digits.
        exp_year: u16,
    },
    /// The owner of a bank account.
    Bank {
        /// Nine digits, or the bank's part of an IBAN.
        routing_number: String,
        /// Account number at the bank.
        account_number: SecretText,
        /// Name of the account's owner.
        account_holder_name: String,
    },
    /// The user of a payment app.
    App {
        /// `venmo` or `paypal`.
        platform: String,
        /// The recipient's identifier in the app.
        recipient: String,
        /// Recipient's given name.
        first_name: String,
        /// Recipient's family name.
        last_name: String,
        /// Recipient's email address.
        email: String,
    },
}

/// Only product lines that are paid by a rail have one.
const fn rail(line: ProductLine) -> Result<PayoutRail, MalformedResponse> {
    match line {
        ProductLine::PushToCard => Ok(PayoutRail::PushToCard),
        ProductLine::BankPayment => Ok(PayoutRail::BankPayment),
        ProductLine::AppPayment => Ok(PayoutRail::AppPayment),
        _ => Err(MalformedResponse("no payout")),
    }
}

impl PayoutRequest {
    /// The wire form of an order.
    ///
    /// # Errors
    /// When no rail pays the order's product line.
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

    /// The order as a rail reads it.
    ///
    /// # Errors
    /// When the payee is invalid.
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

/// A query for the country of a debit card's bank.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DebitCardQuery {
    /// Card number, 12 to 19 digits.
    pub number: SecretText,
}

/// Country of a debit card's bank.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DebitCardCountryResponse {
    /// ISO 3166-1 alpha-2; `null` for a card that no rail pays to.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(value_type = Option<String>, required)]
    pub country: Option<TextValue<Country>>,
}
