//! How often a card's issuer may be asked for news: two budgets that are part of the card, so no restart refills them.

use super::{Card, Rejection};
use crate::port::{DAY_MS, Timestamp};

/// Refreshes of one card in any 24 hours, at most (contract, "Limits").
pub const MAX_REFRESHES_PER_DAY: usize = 12;
/// Between two refreshes of one card, at least, in milliseconds (contract, "Limits").
pub const REFRESH_SPACING_MS: u64 = 5 * 60_000;
impl Card {
    /// When a refresh counts as asked, if one may be: after the last one whatever the clock says, so that a clock that is set
    /// back gives no new budget.
    pub(super) fn check_refresh_allowed(&self, now: Timestamp) -> Result<Timestamp, Rejection> {
        if self.refreshing {
            return Err(Rejection::RefreshInProgress);
        }
        let now = self.refreshes.last().map_or(now, |last| now.max(*last));
        let wait = |until: Timestamp| until.0.saturating_sub(now.0);
        let spaced = self
            .refreshes
            .last()
            .map_or(0, |last| wait(last.plus_ms(REFRESH_SPACING_MS)));
        let counted = self.refreshes.iter().rev().nth(MAX_REFRESHES_PER_DAY - 1);
        let budget = counted.map_or(0, |first| wait(first.plus_ms(DAY_MS)));
        match spaced.max(budget) {
            0 => Ok(now),
            wait_ms => Err(Rejection::RefreshTooSoon { wait_ms }),
        }
    }

    /// The same card with the question under way.
    pub(super) fn with_refresh_requested(mut self, at: Timestamp) -> Self {
        let over = (self.refreshes.len() + 1).saturating_sub(MAX_REFRESHES_PER_DAY);
        self.refreshes.drain(..over);
        self.refreshes.push(at);
        self.refreshing = true;
        self
    }
}
