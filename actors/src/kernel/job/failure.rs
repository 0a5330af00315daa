//! What becomes of an effect whose try did not end it.

use crate::port::{ErrorKind, PortError};

/// A try that did not end the effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AttemptFailure {
    /// What it means for money.
    pub kind: ErrorKind,
    /// For the operator.
    pub message: String,
    /// When to try again.
    pub retry_mode: RetryMode,
}

/// When a try follows a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryMode {
    /// Later and later, until the effect is stuck.
    Backoff,
    /// After so many milliseconds, however often. It counts as failed.
    Fixed(u64),
    /// After so many milliseconds: nothing is wrong, it just is not time yet.
    Defer(u64),
    /// After so many milliseconds: it was not even tried, since something that it needs is known to fail.
    Blocked(u64),
}

impl AttemptFailure {
    /// A later try may succeed.
    pub fn temporary(message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Temporary,
            message: message.into(),
            retry_mode: RetryMode::Backoff,
        }
    }

    /// The same at a steady pace: it is never given up.
    #[must_use]
    pub fn retry_every_ms(self, ms: u64) -> Self {
        Self {
            retry_mode: RetryMode::Fixed(ms),
            ..self
        }
    }

    /// See [`Pace::Held`].
    pub fn blocked(message: impl Into<String>, retry_after_ms: u64) -> Self {
        Self {
            retry_mode: RetryMode::Blocked(retry_after_ms),
            ..Self::temporary(message)
        }
    }

    /// See [`Pace::NotYet`].
    pub fn defer(retry_after_ms: u64) -> Self {
        Self {
            kind: ErrorKind::Temporary,
            message: "not yet".into(),
            retry_mode: RetryMode::Defer(retry_after_ms),
        }
    }
}

impl From<PortError> for AttemptFailure {
    fn from(error: PortError) -> Self {
        Self {
            kind: error.kind,
            message: error.to_string(),
            retry_mode: RetryMode::Backoff,
        }
    }
}
