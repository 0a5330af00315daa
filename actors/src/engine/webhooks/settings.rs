//! The limits of posting.

use crate::webhook::FailureThresholds;

/// Tries of one delivery.
pub const MAX_ATTEMPTS: usize = 10;

/// The limits of posting.
#[derive(Clone, Copy, Debug)]
pub struct WebhookSettings {
    /// Pause before each try, in milliseconds.
    pub pauses_ms: [u64; MAX_ATTEMPTS],
    /// How long a try may take, in milliseconds.
    pub timeout_ms: u64,
    /// Endpoints of one account.
    pub max_per_account: usize,
    /// How long a replaced secret goes on signing, in milliseconds.
    pub overlap_ms: u64,
    /// When an endpoint that only fails is given up.
    pub failure_thresholds: FailureThresholds,
    /// Tries at once to endpoints that answered last time.
    pub max_concurrent_healthy: usize,
    /// Tries at once to all others, and of those that hang.
    pub max_concurrent_degraded: usize,
    /// A try hangs after so long, in milliseconds: then it gives its place back to those that answer.
    pub degraded_after_ms: u64,
}

impl WebhookSettings {
    const HOUR_MS: u64 = 3_600_000;

    /// As the contract has it.
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
