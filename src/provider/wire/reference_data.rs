//! Read-only data on the wire: `GET /v1/exchange-rates`, `GET /v1/merchants`.

use std::collections::BTreeMap;

use purser_actors::port::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{MalformedResponse, TextValue};
use crate::provider::merchants::{self, Acceptance, CardType, MerchantPage};
use crate::provider::rates::RateTable;

/// Exchange rates of one time.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ExchangeRates {
    /// Source of the rates.
    pub source: String,
    /// Time from which the rates are valid, in Unix milliseconds.
    pub as_of_ms: u64,
    /// Price of one unit in US dollars, by ISO 4217 code.
    #[schema(value_type = BTreeMap<String, String>)]
    pub usd_per_unit: BTreeMap<String, TextValue<Decimal>>,
}

impl ExchangeRates {
    /// The wire form of a table.
    pub fn of(table: &RateTable) -> Self {
        let rates = table.usd_per_unit.iter();
        Self {
            source: table.source.clone(),
            as_of_ms: table.as_of.0,
            usd_per_unit: rates.map(|(code, rate)| (code.clone(), TextValue(*rate))).collect(),
        }
    }

    /// Reads the table.
    ///
    /// # Errors
    /// When a rate is not above zero, a code is invalid, or the dollar's rate is not one.
    pub fn read(self) -> Result<RateTable, MalformedResponse> {
        let is_code = |code: &str| code.len() == 3 && code.bytes().all(|b| b.is_ascii_uppercase());
        let mut usd_per_unit = BTreeMap::new();
        for (code, TextValue(rate)) in self.usd_per_unit {
            if !is_code(&code) || rate <= Decimal::ZERO {
                return Err(MalformedResponse("a rate"));
            }
            usd_per_unit.insert(code, rate);
        }
        if usd_per_unit.get("USD") != Some(&Decimal::ONE) {
            return Err(MalformedResponse("a dollar costs one dollar"));
        }
        Ok(RateTable {
            source: self.source,
            as_of: Timestamp(self.as_of_ms),
            usd_per_unit,
        })
    }
}

/// Search filters for merchants.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct MerchantQuery {
    /// A name or an address; if absent, all merchants are listed by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// `Non-Reloadable U.S.`, `Non-Reloadable International` or `Reloadable`.
    pub card_type: String,
    /// Start after this merchant of the same search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starting_after: Option<String>,
    /// Maximum number of merchants.
    pub limit: usize,
}

impl MerchantQuery {
    /// The wire form of a query.
    pub fn of(wanted: &merchants::MerchantQuery) -> Self {
        Self {
            q: wanted.q.clone(),
            card_type: wanted.card_type.name().to_owned(),
            starting_after: wanted.starting_after.clone(),
            limit: wanted.limit,
        }
    }

    /// The query as a directory reads it.
    ///
    /// # Errors
    /// When the card type does not exist.
    pub fn read(self) -> Result<merchants::MerchantQuery, MalformedResponse> {
        let card_type = CardType::ALL.into_iter().find(|kind| kind.name() == self.card_type);
        Ok(merchants::MerchantQuery {
            q: self.q,
            card_type: card_type.ok_or(MalformedResponse("a kind of card"))?,
            starting_after: self.starting_after,
            limit: self.limit,
        })
    }
}

/// A page of merchants, best match first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MerchantList {
    /// Merchants of the page; `null` if `starting_after` is not one of the matches.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub merchants: Option<Vec<Merchant>>,
    /// Whether more pages follow.
    pub has_more: bool,
}

/// A merchant, for the card type of the query.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Merchant {
    /// Stable id of the merchant.
    pub id: String,
    /// Name as the merchant spells it.
    pub name: String,
    /// The merchant's site, if known.
    pub url: Option<String>,
    /// What the merchant sells.
    pub category: String,
    /// Countries, ISO 3166-1 alpha-2; empty for everywhere.
    pub countries: Vec<String>,
    /// `accepted`, `not_accepted` or `unknown`.
    pub status: String,
    /// What to know before paying there.
    pub notes: Option<String>,
}

impl MerchantList {
    /// The wire form of a page.
    pub fn of(page: Option<MerchantPage>) -> Self {
        let has_more = page.as_ref().is_some_and(|page| page.has_more);
        let merchants = page.map(|page| page.merchants.into_iter().map(on_wire).collect());
        Self { merchants, has_more }
    }

    /// The page as the service reads it. An unrecognized status is read as `unknown`.
    pub fn read(self) -> Option<MerchantPage> {
        let has_more = self.has_more;
        let merchants = self.merchants?.into_iter().map(read_one).collect();
        Some(MerchantPage { merchants, has_more })
    }
}

fn on_wire(one: crate::provider::merchants::Merchant) -> Merchant {
    Merchant {
        id: one.id,
        name: one.name,
        url: one.url,
        category: one.category,
        countries: one.countries,
        status: one.status.name().to_owned(),
        notes: one.notes,
    }
}

fn read_one(one: Merchant) -> crate::provider::merchants::Merchant {
    let known = [Acceptance::Accepted, Acceptance::NotAccepted].into_iter();
    crate::provider::merchants::Merchant {
        id: one.id,
        name: one.name,
        url: one.url,
        category: one.category,
        countries: one.countries,
        status: known
            .into_iter()
            .find(|status| status.name() == one.status)
            .unwrap_or(Acceptance::Unknown),
        notes: one.notes,
    }
}
