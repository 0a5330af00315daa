//! Settings of exchange rates.

#![allow(
    missing_docs,
    reason = "config.toml, compiled in beside this, holds the comment of every setting"
)]

use std::collections::BTreeMap;

use purser_actors::port::Timestamp;
use rust_decimal::Decimal;
use serde::Deserialize;

use super::text;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    pub source: String,
    #[serde(deserialize_with = "text::timestamp")]
    pub as_of: Timestamp,
    pub refresh_interval_seconds: u64,
    pub max_age_seconds: u64,
    #[serde(deserialize_with = "text::decimals")]
    pub usd_per_unit: BTreeMap<String, Decimal>,
}

impl Rates {
    pub fn table(&self) -> RateTable {
        RateTable {
            source: self.source.clone(),
            as_of: self.as_of,
            usd_per_unit: self.usd_per_unit.clone(),
        }
    }
}

/// A table of rates from one source at one time. A quote names both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTable {
    pub source: String,
    /// When the rates took effect.
    pub as_of: Timestamp,
    /// Dollars per unit, by ISO 4217 code: above zero, and exactly 1 for `USD`.
    pub usd_per_unit: BTreeMap<String, Decimal>,
}

impl RateTable {
    /// The exact value of an amount in dollars. The caller rounds, because it knows in whose favour. `None` for a
    /// currency without a rate, or a product that does not fit into a decimal.
    pub fn to_usd(&self, amount: Decimal, currency: &str) -> Option<Decimal> {
        self.usd_per_unit.get(currency)?.checked_mul(amount)
    }
}
