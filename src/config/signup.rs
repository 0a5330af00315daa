//! Settings of signups and API keys.

#![allow(
    missing_docs,
    reason = "config.toml, compiled in beside this, holds the comment of every setting"
)]

use std::time::Duration;

use serde::Deserialize;

use super::found::ConfigErrors;
use super::{Limits, text};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signup {
    #[serde(deserialize_with = "text::cap")]
    pub per_minute: u32,
    #[serde(deserialize_with = "text::cap")]
    pub per_hour: u32,
    pub claim_ttl_seconds: u64,
    pub long_poll_seconds: u64,
    pub max_waiting_agents: usize,
    pub max_keys_per_account: u8,
}

impl Signup {
    pub(super) fn check(&self, found: &mut ConfigErrors) {
        for (key, value) in [
            ("signup.claim_ttl_seconds", self.claim_ttl_seconds),
            ("signup.max_keys_per_account", u64::from(self.max_keys_per_account)),
        ] {
            found.require(value > 0, key, "must be at least 1");
        }
        found.require(
            (1..=300).contains(&self.long_poll_seconds),
            "signup.long_poll_seconds",
            "must lie between 1 and 300: an agent's connection waits for this time",
        );
    }

    /// The two rate limits of an address, per minute and per hour.
    pub fn rate_limits(&self, of_service: &Limits) -> [Limits; 2] {
        let ceiling = |requests_per_window, window_seconds| Limits {
            requests_per_window,
            window_seconds,
            payments_per_window: 0,
            max_tracked_callers: of_service.max_tracked_callers,
        };
        [ceiling(self.per_minute, 60), ceiling(self.per_hour, 3_600)]
    }

    /// How long an agent's poll waits for the approval.
    pub const fn poll(&self) -> Duration {
        Duration::from_secs(self.long_poll_seconds)
    }
}
