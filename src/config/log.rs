//! Settings of the log.

#![allow(
    missing_docs,
    reason = "config.toml, compiled in beside this, holds the comment of every setting"
)]

use serde::Deserialize;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    #[default]
    Text,
    /// For programs: one object per line.
    Json,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    pub format: LogFormat,
}
