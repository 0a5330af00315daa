//! Which calls of the sandbox's bank meet a fault, and the values that trigger an outcome.

use purser_sandbox::faults::Fault;

/// Call that a fault applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BankCall {
    Review,
    Open,
    Transfer,
    /// List of incoming transfers.
    Incoming,
    Balance,
}

impl BankCall {
    /// Name in the sandbox controls.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Open => "open",
            Self::Transfer => "transfer",
            Self::Incoming => "incoming",
            Self::Balance => "balance",
        }
    }

    /// Whether the fault can happen to this call.
    pub(super) const fn meets(self, fault: Fault) -> bool {
        match fault {
            Fault::Duplicate | Fault::OutOfOrder => matches!(self, Self::Incoming),
            Fault::LoseResponse | Fault::Decline => !matches!(self, Self::Incoming | Self::Balance),
            _ => true,
        }
    }
}

/// Last names that force a verdict on an application: the first is rejected; for the second the bank requests more
/// information once.
pub const MAGIC_NAMES: [&str; 2] = ["Refused", "Wanted"];
/// The bank rejects a transfer with this number of cents beyond whole dollars.
pub const REJECTED_CENTS: u64 = 13;
