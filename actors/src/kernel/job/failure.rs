//! Failure of an attempt that did not complete its job.

use crate::port::{ErrorKind, PortError};

/// An attempt that did not complete the job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AttemptFailure {
    /// What it means for the money.
    pub kind: ErrorKind,
    /// Message for the operator.
    pub message: String,
    /// Time of the next attempt.
    pub retry_mode: RetryMode,
}

/// When the next attempt is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryMode {
    /// With growing backoff, until the job is dead-lettered.
    Backoff,
    /// After this delay in milliseconds, without a limit on attempts. Counts as failed.
    Fixed(u64),
    /// After this delay in milliseconds: no failure, the job is not due yet.
    Defer(u64),
    /// After this delay in milliseconds: no attempt was made, because a dependency is known to fail.
    Blocked(u64),
}

impl AttemptFailure {
    /// A later attempt may succeed.
    pub fn temporary(message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Temporary,
            message: message.into(),
            retry_mode: RetryMode::Backoff,
        }
    }

    /// It is not retried automatically: an operator decides.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Permanent,
            ..Self::temporary(message)
        }
    }

    /// The same with a fixed delay; the job is never dead-lettered.
    #[must_use]
    pub fn retry_every_ms(self, ms: u64) -> Self {
        Self {
            retry_mode: RetryMode::Fixed(ms),
            ..self
        }
    }

    /// A failure that retries as [`RetryMode::Blocked`], after the given delay in milliseconds.
    pub fn blocked(message: impl Into<String>, retry_after_ms: u64) -> Self {
        Self {
            retry_mode: RetryMode::Blocked(retry_after_ms),
            ..Self::temporary(message)
        }
    }

    /// A retry as [`RetryMode::Defer`], after the given delay in milliseconds.
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
