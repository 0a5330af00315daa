//! `[reconciliation]`, typed. What each setting means stands in `config.toml`.

#![allow(missing_docs, reason = "config.toml holds the comment of every setting")]

use purser_actors::engine::ReconcilerSettings;
use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reconciliation {
    pub pause_ms: u64,
    pub rest_ms: u64,
    pub page: usize,
    pub grace_ms: u64,
    pub timeout_ms: u64,
}

impl Reconciliation {
    /// As the engine takes it.
    pub const fn pace(&self) -> ReconcilerSettings {
        ReconcilerSettings {
            pause_ms: self.pause_ms,
            rest_ms: self.rest_ms,
            page: self.page,
            grace_ms: self.grace_ms,
            timeout_ms: self.timeout_ms,
        }
    }
}
