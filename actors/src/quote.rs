//! Facts behind a price: stored with the purchase, so that the price can be recomputed.

use crate::time::Timestamp;

/// The facts of a quote.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct QuoteFacts {
    /// Fee as a fraction of the amount, as decimal text.
    pub fee_rate: String,
    /// Smallest fee, in the amount's currency, as decimal text.
    pub min_fee: String,
    /// Conversion of the amount; `None` for US dollars.
    pub exchange: Option<ExchangeRate>,
}

/// An exchange rate with its source and time.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ExchangeRate {
    /// US dollars per unit, as decimal text.
    pub usd_per_unit: String,
    /// Source of the rate table.
    pub source: String,
    /// Time at which the rate took effect.
    pub as_of: Timestamp,
}
