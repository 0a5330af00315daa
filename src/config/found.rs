//! The problems that the checks of the settings found.

use std::borrow::Cow;

use super::ConfigError;

/// All problems, in the order they were found.
#[derive(Default)]
pub(super) struct ConfigErrors(pub(super) Vec<ConfigError>);

impl ConfigErrors {
    pub(super) fn reject(&mut self, key: impl Into<Cow<'static, str>>, reason: impl Into<String>) {
        self.0.push(ConfigError::Rejected {
            key: key.into(),
            reason: reason.into(),
        });
    }

    pub(super) fn require(&mut self, holds: bool, key: impl Into<Cow<'static, str>>, reason: &str) {
        if !holds {
            self.reject(key, reason);
        }
    }
}
