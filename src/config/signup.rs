//! Settings of signups and API keys.

#![allow(
    missing_docs,
    reason = "config.toml, compiled in beside this, holds the comment of every setting"
)]

use std::time::Duration;

use serde::Deserialize;

use super::Limits;
use super::check::{Checked, require};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signup {
    pub per_minute: u32,
    pub per_hour: u32,
    pub claim_seconds: u64,
    pub poll_seconds: u64,
    pub waiting_max: usize,
    pub keys_per_account: u8,
}

impl Signup {
    pub(super) fn check(&self) -> Checked {
        for (key, value) in [
            ("signup.per_minute", u64::from(self.per_minute)),
            ("signup.per_hour", u64::from(self.per_hour)),
            ("signup.claim_seconds", self.claim_seconds),
            ("signup.keys_per_account", u64::from(self.keys_per_account)),
        ] {
            require(value > 0, key, "must be at least 1")?;
        }
        require(
            (1..=300).contains(&self.poll_seconds),
            "signup.poll_seconds",
            "must lie between 1 and 300: an agent's connection waits so long",
        )
    }

    /// The two ceilings of an address, by the minute and by the hour.
    pub fn ceilings(&self, of_service: &Limits) -> [Limits; 2] {
        let ceiling = |requests_per_window, window_seconds| Limits {
            requests_per_window,
            window_seconds,
            payments_per_window: 0,
            tracked_callers: of_service.tracked_callers,
        };
        [ceiling(self.per_minute, 60), ceiling(self.per_hour, 3_600)]
    }

    /// How long an agent waits for a person's yes.
    pub const fn poll(&self) -> Duration {
        Duration::from_secs(self.poll_seconds)
    }
}
