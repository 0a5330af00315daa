//! Exchange rates: the price of one unit of each currency in US dollars, with source and time.

use std::collections::BTreeMap;
use std::sync::Arc;

use purser_actors::port::Timestamp;
pub use purser_config::RateTable;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::definition::provider;
use super::wire::{self, MalformedResponse};

provider! {
    /// A source of exchange rates.
    trait RateSource, client RemoteRates, tag "Reference data";

    /// The newest table. `Temporary` when the source does not answer; the caller decides whether an older table may
    /// still be used.
    fn current() -> Arc<RateTable> {
        GET "/exchange-rates" getExchangeRates "Return the newest exchange rates";
        calls ();
        answers ExchangeRates "Price of one unit of each currency in US dollars.";
        check |table| check(table);
    }
}

/// Exchange rates of one time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct ExchangeRates {
    /// Source of the rates.
    source: String,
    /// Time from which the rates are valid, in Unix milliseconds.
    #[cfg_attr(feature = "documents", schema(value_type = u64))]
    as_of_ms: Timestamp,
    /// Price of one unit in US dollars, by ISO 4217 code.
    #[serde(with = "wire::decimals")]
    #[cfg_attr(feature = "documents", schema(value_type = BTreeMap<String, String>))]
    usd_per_unit: BTreeMap<String, Decimal>,
}

impl From<Arc<RateTable>> for ExchangeRates {
    fn from(table: Arc<RateTable>) -> Self {
        let table = Arc::unwrap_or_clone(table);
        Self {
            source: table.source,
            as_of_ms: table.as_of,
            usd_per_unit: table.usd_per_unit,
        }
    }
}

impl From<ExchangeRates> for Arc<RateTable> {
    fn from(rates: ExchangeRates) -> Self {
        Self::new(RateTable {
            source: rates.source,
            as_of: rates.as_of_ms,
            usd_per_unit: rates.usd_per_unit,
        })
    }
}

/// Checks that every rate is above zero, for a code, and the dollar's is one.
fn check(table: &RateTable) -> Result<(), MalformedResponse> {
    let is_code = |code: &str| code.len() == 3 && code.bytes().all(|b| b.is_ascii_uppercase());
    let plausible = |(code, rate): (&String, &Decimal)| is_code(code) && *rate > Decimal::ZERO;
    if !table.usd_per_unit.iter().all(plausible) {
        return Err(MalformedResponse("a rate"));
    }
    match table.usd_per_unit.get("USD") == Some(&Decimal::ONE) {
        true => Ok(()),
        false => Err(MalformedResponse("a dollar costs one dollar")),
    }
}
