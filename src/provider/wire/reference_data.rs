//! What is only read: `GET /v1/exchange-rates`, `GET /v1/merchants`.

use std::collections::BTreeMap;

use purser_actors::port::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{MalformedResponse, TextValue};
use crate::provider::merchants::{self, Acceptance, CardType, MerchantPage};
use crate::provider::rates::RateTable;

/// Exchange rates of one moment.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ExchangeRates {
    /// Who made them.
    pub source: String,
    /// Since when they hold, in Unix milliseconds.
    pub as_of_ms: u64,
    /// US dollars that one unit costs, by ISO 4217 code.
    #[schema(value_type = BTreeMap<String, String>)]
    pub usd_per_unit: BTreeMap<String, TextValue<Decimal>>,
}

impl ExchangeRates {
    /// As the source says it.
    pub fn of(table: &RateTable) -> Self {
        let rates = table.usd_per_unit.iter();
        Self {
            source: table.source.clone(),
            as_of_ms: table.as_of.0,
            usd_per_unit: rates.map(|(code, rate)| (code.clone(), TextValue(*rate))).collect(),
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When a rate is not above zero, a code is none, or a dollar does not cost one.
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

/// What is looked for among merchants.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct MerchantQuery {
    /// A name or an address; without one all are listed by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// `Non-Reloadable U.S.`, `Non-Reloadable International` or `Reloadable`.
    pub card_type: String,
    /// Begin behind this merchant of the same search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starting_after: Option<String>,
    /// At most so many.
    pub limit: usize,
}

impl MerchantQuery {
    /// For the wire.
    pub fn of(wanted: &merchants::MerchantQuery) -> Self {
        Self {
            q: wanted.q.clone(),
            card_type: wanted.card_type.name().to_owned(),
            starting_after: wanted.starting_after.clone(),
            limit: wanted.limit,
        }
    }

    /// As a directory reads it.
    ///
    /// # Errors
    /// When there is no such kind of card.
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
    /// The page; `null` when `starting_after` is not among what was found.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required)]
    pub merchants: Option<Vec<Merchant>>,
    /// Whether more follow.
    pub has_more: bool,
}

/// A merchant, for the kind of card that was asked about.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Merchant {
    /// Stable.
    pub id: String,
    /// As the merchant writes it.
    pub name: String,
    /// Its site, if known.
    pub url: Option<String>,
    /// What it sells.
    pub category: String,
    /// ISO 3166-1 alpha-2; empty for everywhere.
    pub countries: Vec<String>,
    /// `accepted`, `not_accepted` or `unknown`.
    pub status: String,
    /// What to know before paying there.
    pub notes: Option<String>,
}

impl MerchantList {
    /// As the directory says it.
    pub fn of(page: Option<MerchantPage>) -> Self {
        let has_more = page.as_ref().is_some_and(|page| page.has_more);
        let merchants = page.map(|page| page.merchants.into_iter().map(on_wire).collect());
        Self { merchants, has_more }
    }

    /// As this service reads it. A status that it does not know is `unknown`.
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
