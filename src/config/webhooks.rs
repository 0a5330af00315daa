//! Settings of webhooks.

#![allow(
    missing_docs,
    reason = "config.toml, compiled in beside this, holds the comment of every setting"
)]

use std::time::Duration;

use purser_actors::engine::webhooks::{MAX_ATTEMPTS, WebhookSettings};
use purser_actors::entity::webhook::FailureThresholds;
use serde::Deserialize;

use super::found::ConfigErrors;
use purser_host::outbound::client::CallLimits;

/// Time limit for connecting.
const CONNECT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhooks {
    pub max_per_account: usize,
    pub retry_schedule_seconds: [u64; MAX_ATTEMPTS],
    pub attempt_timeout_ms: u64,
    pub secret_overlap_seconds: u64,
    pub failing_event_after_seconds: u64,
    pub disable_after_seconds: u64,
    pub max_concurrent_healthy: usize,
    pub max_concurrent_degraded: usize,
    pub degraded_after_ms: u64,
}

impl Webhooks {
    pub(super) fn check(&self, found: &mut ConfigErrors) {
        found.require(
            (1..=1_000).contains(&self.max_per_account),
            "webhooks.max_per_account",
            "must lie between 1 and 1000",
        );
        found.require(
            (1..=120_000).contains(&self.attempt_timeout_ms),
            "webhooks.attempt_timeout_ms",
            "must lie between 1 and 120000",
        );
        found.require(
            self.max_concurrent_healthy > 0 && self.max_concurrent_degraded > 0,
            "webhooks.max_concurrent_healthy",
            "it and webhooks.max_concurrent_degraded must be at least 1",
        );
        found.require(
            self.retry_schedule_seconds[0] == 0,
            "webhooks.retry_schedule_seconds",
            "the first try is made at once",
        );
    }

    pub fn engine_settings(&self) -> WebhookSettings {
        let ms = |seconds: u64| seconds.saturating_mul(1_000);
        WebhookSettings {
            pauses_ms: self.retry_schedule_seconds.map(ms),
            timeout_ms: self.attempt_timeout_ms,
            max_per_account: self.max_per_account,
            overlap_ms: ms(self.secret_overlap_seconds),
            failure_thresholds: FailureThresholds {
                warn_ms: ms(self.failing_event_after_seconds),
                disable_ms: ms(self.disable_after_seconds),
            },
            max_concurrent_healthy: self.max_concurrent_healthy,
            max_concurrent_degraded: self.max_concurrent_degraded,
            degraded_after_ms: self.degraded_after_ms,
        }
    }

    /// Limits of one attempt, based on those of all calls.
    pub fn limits(&self, others: CallLimits) -> CallLimits {
        CallLimits {
            connect: CONNECT,
            total: Duration::from_millis(self.attempt_timeout_ms),
            ..others
        }
    }
}
