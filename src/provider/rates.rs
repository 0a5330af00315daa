//! What a unit of each currency costs in dollars, and who says so since when.

use std::collections::BTreeMap;
use std::sync::Arc;

use purser_actors::port::{BoxFuture, PortError, Timestamp};
use rust_decimal::Decimal;

/// A table of rates, as one source gave it at one time. A quote names both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTable {
    /// Who made it.
    pub source: String,
    /// Since when it holds.
    pub as_of: Timestamp,
    /// Dollars that one unit costs, by ISO 4217 code: above zero, and exactly 1 for `USD`.
    pub usd_per_unit: BTreeMap<String, Decimal>,
}

impl RateTable {
    /// What an amount costs in dollars, exactly; rounding is the caller's, who knows in whose favour. `None` for a
    /// currency without a rate, or a product that no decimal holds.
    pub fn to_usd(&self, amount: Decimal, currency: &str) -> Option<Decimal> {
        self.usd_per_unit.get(currency)?.checked_mul(amount)
    }
}

/// A source of exchange rates.
pub trait RateSource: Send + Sync {
    /// The newest table. `Temporary` when the source does not answer; whether an older table still serves is the
    /// caller's to decide.
    fn current(&self) -> BoxFuture<'_, Result<Arc<RateTable>, PortError>>;
}
