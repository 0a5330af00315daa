//! Faults of the sandbox's bank, and the values that trigger them.

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
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BankFaultKind {
    Unreachable,
    /// The call is delayed and then proceeds normally.
    Slow {
        ms: u64,
    },
    /// The response is malformed, and nothing was done.
    MalformedResponse,
    /// The call is executed and the response is lost.
    LoseResponse,
    /// Nothing is done and no response is sent.
    Stall,
    /// The call is declined.
    Decline,
    /// Incoming transfers are reported twice.
    Duplicate,
    /// Incoming transfers are reported newest first.
    OutOfOrder,
}

impl BankFaultKind {
    /// Name in the sandbox controls.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Slow { .. } => "slow",
            Self::MalformedResponse => "malformed_response",
            Self::LoseResponse => "lose_response",
            Self::Stall => "stall",
            Self::Decline => "decline",
            Self::Duplicate => "duplicate",
            Self::OutOfOrder => "out_of_order",
        }
    }
}

/// A fault and the call that it applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankFault {
    /// `None` applies to every call.
    pub call: Option<BankCall>,
    pub kind: BankFaultKind,
}

/// Last names that force a verdict on an application: the first is rejected; for the second the bank requests more
/// information once.
pub const MAGIC_NAMES: [&str; 2] = ["Refused", "Wanted"];
/// The bank rejects a transfer with this number of cents beyond whole dollars.
pub const REJECTED_CENTS: u64 = 13;
