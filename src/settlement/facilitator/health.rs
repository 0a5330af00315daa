//! Selection of the facilitator to use: the first in the operator's order that has not failed recently. No I/O.

/// Pause after the first failure, in milliseconds; it doubles with each further one.
const FIRST_PAUSE_MS: u64 = 1_000;
/// Maximum pause, in milliseconds.
const MAX_PAUSE_MS: u64 = 60_000;

/// Health of one facilitator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Health {
    failures: u32,
    until_ms: u64,
}

impl Health {
    /// Records a valid response.
    pub(super) const fn record_success(&mut self) {
        *self = Self {
            failures: 0,
            until_ms: 0,
        };
    }

    /// Records a missing or invalid response.
    pub(super) fn record_failure(&mut self, now_ms: u64) {
        let pause = FIRST_PAUSE_MS << self.failures.min(6);
        self.failures = self.failures.saturating_add(1);
        self.until_ms = now_ms.saturating_add(pause.min(MAX_PAUSE_MS));
    }

    /// Whether the facilitator is skipped now while another one is not.
    pub(super) const fn is_paused(&self, now_ms: u64) -> bool {
        now_ms < self.until_ms
    }
}

/// Index of the facilitator to use: the first that is not paused, otherwise the one whose pause ends first.
pub(super) fn choose(all: &[Health], now_ms: u64) -> Option<usize> {
    let good = all.iter().position(|health| !health.is_paused(now_ms));
    good.or_else(|| {
        let paused = all.iter().enumerate().min_by_key(|(_, health)| health.until_ms);
        paused.map(|(position, _)| position)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: the operator's order decides among those that respond. One that fails is skipped for a growing time up to
    // a minute, and is used again after its first valid response. If all fail, the one with the earliest end of its
    // pause is used.
    #[test]
    fn the_first_that_answers_is_used() {
        let mut all = [Health::default(); 2];
        assert_eq!(choose(&all, 0), Some(0));
        all[0].record_failure(0);
        assert_eq!(
            (choose(&all, 0), choose(&all, 999), choose(&all, 1_000)),
            (Some(1), Some(1), Some(0))
        );
        all[0].record_failure(1_000);
        assert!(all[0].is_paused(2_999) && !all[0].is_paused(3_000));
        for _ in 0..40 {
            all[0].record_failure(10_000);
        }
        assert!(all[0].is_paused(69_999) && !all[0].is_paused(70_000));
        all[1].record_failure(10_000);
        assert_eq!(choose(&all, 10_500), Some(1), "it may be tried again sooner");
        all[0].record_success();
        assert_eq!(choose(&all, 10_500), Some(0));
        assert_eq!(choose(&[], 0), None);
    }
}
