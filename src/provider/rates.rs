//! Exchange rates: the price of one unit of each currency in US dollars, with source and time.

use std::collections::BTreeMap;
use std::sync::Arc;

use purser_actors::port::{BoxFuture, PortError, Timestamp};
use rust_decimal::Decimal;

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

/// A source of exchange rates.
pub trait RateSource: Send + Sync {
    /// The newest table. `Temporary` when the source does not answer; the caller decides whether an older table may
    /// still be used.
    fn current(&self) -> BoxFuture<'_, Result<Arc<RateTable>, PortError>>;
}
