//! What the sandbox's card program can be told to do wrong.

use std::time::Duration;

use purser_actors::port::{ErrorKind, PortError};

use crate::provider::sandbox::fault_rules::FaultRules;

/// How long a call takes that times out.
const TIMEOUT_MS: u64 = 1_000;

/// A way in which calls of the service go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReloadableCardFault {
    /// Nothing answers.
    Unreachable,
    /// The call takes so long, and then goes its way.
    Slow {
        /// In milliseconds.
        ms: u64,
    },
    /// The answer is nonsense; nothing was done.
    MalformedResponse,
    /// It is done and the answer never comes.
    Timeout,
    /// The card or the reservation is refused for good.
    Decline,
}

impl ReloadableCardFault {
    /// Its name on the sandbox desk.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Slow { .. } => "slow",
            Self::MalformedResponse => "malformed_response",
            Self::Timeout => "timeout",
            Self::Decline => "decline",
        }
    }
}

/// What a fault does before the program has understood the call; the rest of it is for [`after`].
pub(super) async fn before(
    rules: &FaultRules<ReloadableCardFault>,
    operation: &'static str,
) -> Result<Option<ReloadableCardFault>, PortError> {
    let fault = rules.take(|_| true);
    match fault {
        Some(ReloadableCardFault::Unreachable) => Err(failed(
            ErrorKind::Temporary,
            operation,
            "the sandbox program is unreachable",
        )),
        Some(ReloadableCardFault::MalformedResponse) => {
            Err(failed(ErrorKind::Unknown, operation, "the answer is no answer"))
        }
        Some(ReloadableCardFault::Slow { ms }) => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok(None)
        }
        other => Ok(other),
    }
}

/// What a fault does once everything is done.
pub(super) async fn after(operation: &'static str, fault: Option<ReloadableCardFault>) -> Result<(), PortError> {
    if fault != Some(ReloadableCardFault::Timeout) {
        return Ok(());
    }
    tokio::time::sleep(Duration::from_millis(TIMEOUT_MS)).await;
    Err(failed(ErrorKind::Unknown, operation, "no answer in time"))
}

pub(super) fn failed(kind: ErrorKind, operation: &'static str, message: &str) -> PortError {
    PortError {
        kind,
        operation,
        message: message.into(),
    }
}
