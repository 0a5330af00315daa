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
use crate::provider::rates::RateTable;

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
