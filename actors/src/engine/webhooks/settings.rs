//! Settings of webhook deliveries.

use crate::entity::webhook::FailureThresholds;

/// Attempts of one delivery.
pub const MAX_ATTEMPTS: usize = 10;

/// Settings of webhook deliveries.
#[derive(Clone, Copy, Debug)]
pub struct WebhookSettings {
    /// Pause before each attempt, in milliseconds.
    pub pauses_ms: [u64; MAX_ATTEMPTS],
    /// Timeout of an attempt, in milliseconds.
    pub timeout_ms: u64,
    /// Endpoints of one account.
    pub max_per_account: usize,
    /// Overlap of a secret rotation, in milliseconds: the old secret still signs.
    pub overlap_ms: u64,
    /// When an endpoint that only fails is disabled.
    pub failure_thresholds: FailureThresholds,
    /// Concurrent attempts to healthy endpoints.
    pub max_concurrent_healthy: usize,
    /// Concurrent attempts to degraded endpoints, slow attempts included.
    pub max_concurrent_degraded: usize,
    /// An attempt is slow after this time, in milliseconds. It then releases its permit of the healthy pool.
    pub degraded_after_ms: u64,
}

impl WebhookSettings {
    const HOUR_MS: u64 = 3_600_000;

    /// The contract's values.
    pub const STANDARD: Self = Self {
        pauses_ms: [
            0,
            5_000,
            300_000,
            1_800_000,
            2 * Self::HOUR_MS,
            5 * Self::HOUR_MS,
            10 * Self::HOUR_MS,
            14 * Self::HOUR_MS,
            20 * Self::HOUR_MS,
            24 * Self::HOUR_MS,
        ],
        timeout_ms: 15_000,
        max_per_account: 16,
        overlap_ms: 24 * Self::HOUR_MS,
        failure_thresholds: FailureThresholds {
            warn_ms: 24 * Self::HOUR_MS,
            disable_ms: 120 * Self::HOUR_MS,
        },
        max_concurrent_healthy: 256,
        max_concurrent_degraded: 1_024,
        degraded_after_ms: 1_000,
    };
}
