//! Exchange rates: the price of one unit of each currency in US dollars, with source and time.

use std::sync::Arc;

use purser_actors::port::{BoxFuture, PortError};
pub use purser_config::RateTable;

/// A source of exchange rates.
pub trait RateSource: Send + Sync {
    /// The newest table. `Temporary` when the source does not answer; the caller decides whether an older table may
    /// still be used.
    fn current(&self) -> BoxFuture<'_, Result<Arc<RateTable>, PortError>>;
}
