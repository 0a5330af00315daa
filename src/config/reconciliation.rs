//! `[reconciliation]`, typed. `config.toml` explains each setting.

#![allow(missing_docs, reason = "config.toml holds the comment of every setting")]

use purser_actors::engine::ReconcilerSettings;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reconciliation {
    pub step_interval_ms: u64,
    pub run_interval_ms: u64,
    pub page_size: usize,
    pub grace_period_ms: u64,
    pub timeout_ms: u64,
}

impl Reconciliation {
    pub const fn pace(&self) -> ReconcilerSettings {
        ReconcilerSettings {
            pause_ms: self.step_interval_ms,
            rest_ms: self.run_interval_ms,
            page: self.page_size,
            grace_ms: self.grace_period_ms,
            timeout_ms: self.timeout_ms,
        }
    }
}
