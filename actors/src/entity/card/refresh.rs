//! Rate limits for refreshes from the card issuer. They are part of the card's state, so a restart does not reset them.

use super::{Card, Rejection};
use crate::port::{DAY_MS, Timestamp};

/// Maximum number of refreshes of one card in any 24 hours (contract, "Limits").
pub const MAX_REFRESHES_PER_DAY: usize = 12;
/// Minimum interval between two refreshes of one card, in milliseconds (contract, "Limits").
pub const REFRESH_SPACING_MS: u64 = 5 * 60_000;
impl Card {
    /// Time that an allowed refresh is counted at: after the last one whatever the clock shows, so that setting the
    /// clock back does not reset the limits.
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

    /// The card with a refresh in progress.
    pub(super) fn with_refresh_requested(mut self, at: Timestamp) -> Self {
        let over = (self.refreshes.len() + 1).saturating_sub(MAX_REFRESHES_PER_DAY);
        self.refreshes.drain(..over);
        self.refreshes.push(at);
        self.refreshing = true;
        self
    }
}
