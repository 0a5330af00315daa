//! Exchange rates: the price of one unit of each currency in US dollars, with source and time.

use std::collections::BTreeMap;
use std::sync::Arc;

use purser_actors::port::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
        answers RateTable "Price of one unit of each currency in US dollars.";
        check |table| table.check();
    }
}

/// Exchange rates of one time.
// From one source; a quote names source and time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ExchangeRates)]
pub struct RateTable {
    /// Source of the rates.
    pub source: String,
    /// Time from which the rates are valid, in Unix milliseconds.
    #[serde(rename = "as_of_ms")]
    #[schema(value_type = u64)]
    pub as_of: Timestamp,
    /// Price of one unit in US dollars, by ISO 4217 code.
    // Above zero, and exactly 1 for `USD`.
    #[serde(with = "wire::decimals")]
    #[schema(value_type = BTreeMap<String, String>)]
    pub usd_per_unit: BTreeMap<String, Decimal>,
}

impl From<Arc<RateTable>> for RateTable {
    fn from(table: Arc<RateTable>) -> Self {
        Arc::unwrap_or_clone(table)
    }
}

impl RateTable {
    /// The exact value of an amount in dollars. The caller rounds, because it knows in whose favour. `None` for a
    /// currency without a rate, or a product that does not fit into a decimal.
    pub fn to_usd(&self, amount: Decimal, currency: &str) -> Option<Decimal> {
        self.usd_per_unit.get(currency)?.checked_mul(amount)
    }

    fn check(&self) -> Result<(), MalformedResponse> {
        let is_code = |code: &str| code.len() == 3 && code.bytes().all(|b| b.is_ascii_uppercase());
        let plausible = |(code, rate): (&String, &Decimal)| is_code(code) && *rate > Decimal::ZERO;
        if !self.usd_per_unit.iter().all(plausible) {
            return Err(MalformedResponse("a rate"));
        }
        match self.usd_per_unit.get("USD") == Some(&Decimal::ONE) {
            true => Ok(()),
            false => Err(MalformedResponse("a dollar costs one dollar")),
        }
    }
}
