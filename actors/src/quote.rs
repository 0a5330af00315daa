//! What a price was made from: kept with what it bought, so that anybody can work it out again.

use crate::port::Timestamp;

/// The facts of a quote.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct QuoteFacts {
    /// Fraction of the amount that came on top, as decimal text.
    pub fee_rate: String,
    /// The smallest fee, in the amount's currency, as decimal text.
    pub min_fee: String,
    /// How the amount was converted; `None` for US dollars.
    pub exchange: Option<ExchangeRate>,
}

/// An exchange rate, with who says so since when.
#[derive(Clone, Debug, Default, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct ExchangeRate {
    /// US dollars of one unit, as decimal text.
    pub usd_per_unit: String,
    /// Who made the table.
    pub source: String,
    /// Since when it holds.
    pub as_of: Timestamp,
}
