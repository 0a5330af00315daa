//! What becomes of an effect whose try did not end it.

use crate::port::{ErrorKind, PortError};

/// A try that did not end the effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What it means for money.
    pub kind: ErrorKind,
    /// For the operator.
    pub message: String,
    /// When to try again.
    pub pace: Pace,
}

/// When a try follows a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Later and later, until the effect is stuck.
    BackOff,
    /// After so many milliseconds, however often. It counts as failed.
    Steady(u64),
    /// After so many milliseconds: nothing is wrong, it just is not time yet.
    NotYet(u64),
    /// After so many milliseconds: it was not even tried, since something that it needs is known to fail.
    Held(u64),
}

impl Failure {
    /// A later try may succeed.
    pub fn temporary(message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Temporary,
            message: message.into(),
            pace: Pace::BackOff,
        }
    }

    /// The same at a steady pace: it is never given up.
    #[must_use]
    pub fn every_ms(self, ms: u64) -> Self {
        Self {
            pace: Pace::Steady(ms),
            ..self
        }
    }

    /// See [`Pace::Held`].
    pub fn held(message: impl Into<String>, retry_after_ms: u64) -> Self {
        Self {
            pace: Pace::Held(retry_after_ms),
            ..Self::temporary(message)
        }
    }

    /// See [`Pace::NotYet`].
    pub fn not_yet(retry_after_ms: u64) -> Self {
        Self {
            kind: ErrorKind::Temporary,
            message: "not yet".into(),
            pace: Pace::NotYet(retry_after_ms),
        }
    }
}

impl From<PortError> for Failure {
    fn from(error: PortError) -> Self {
        Self {
            kind: error.kind,
            message: error.to_string(),
            pace: Pace::BackOff,
        }
    }
}
