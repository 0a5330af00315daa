//! Faults of the sandbox's reloadable cards.

use std::time::Duration;

use purser_actors::port::{ErrorKind, PortError};

use crate::provider::sandbox::fault_rules::FaultRules;

/// Duration of a call that times out.
const TIMEOUT_MS: u64 = 1_000;

/// Faults of calls by the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReloadableCardFault {
    Unreachable,
    /// The call is delayed and then proceeds normally.
    Slow {
        ms: u64,
    },
    /// The response is malformed, and nothing was done.
    MalformedResponse,
    /// The call is executed and the response is lost.
    Timeout,
    /// The card or the hold is declined.
    Decline,
}

impl ReloadableCardFault {
    /// Name in the sandbox controls.
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

/// The effect of a fault before the provider has read the request. [`after`] has the rest.
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

/// The effect of a fault after the call is executed.
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
