//! What the events say about money, summed by cause.

use std::collections::BTreeMap;

/// Amounts in the events, by cause.
#[derive(Default)]
pub(super) struct MoneyHistory {
    /// Credits that accounts recorded, by cause.
    pub(super) credits: BTreeMap<String, Vec<u64>>,
    /// Payments from balances, by cause.
    pub(super) paid_out: BTreeMap<String, u64>,
    /// Whether the journal still has every event since the beginning.
    pub(super) complete: bool,
}

impl MoneyHistory {
    /// Credits of a cause to balances by the events, less payments for it; in atomic USDC.
    pub(super) fn net_amount(&self, cause: &str) -> i128 {
        let came: i128 = self
            .credits
            .get(cause)
            .into_iter()
            .flatten()
            .map(|a| i128::from(*a))
            .sum();
        came - self.paid_out.get(cause).copied().map_or(0, i128::from)
    }
}
