//! Ways in which the sandbox's bank goes wrong, and the values that make it.

/// Which call a fault is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BankCall {
    /// Reviews of applications.
    Review,
    /// Opening of accounts.
    Open,
    /// Moves.
    Transfer,
    /// What came in.
    Incoming,
    /// Balances.
    Balance,
}

impl BankCall {
    /// Its name on the sandbox desk.
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

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BankFaultKind {
    /// Nothing answers.
    Unreachable,
    /// The call takes so long, and then goes its way.
    Slow {
        /// In milliseconds.
        ms: u64,
    },
    /// The answer is nonsense, and nothing was done.
    MalformedResponse,
    /// It is done and the answer never comes.
    LoseResponse,
    /// Nothing is done and no answer comes.
    Stall,
    /// Refused for good.
    Decline,
    /// What came in is told twice.
    Duplicate,
    /// What came in is told the newest first.
    OutOfOrder,
}

impl BankFaultKind {
    /// Its name on the sandbox desk.
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

/// What goes wrong, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BankFault {
    /// The call; `None` is any.
    pub call: Option<BankCall>,
    /// What.
    pub kind: BankFaultKind,
}

/// Last names that force what the bank says to an application: the first is refused, of the second more is wanted the first
/// time.
pub const MAGIC_NAMES: [&str; 2] = ["Refused", "Wanted"];
/// A move of so many cents beyond whole dollars is refused by the bank.
pub const REJECTED_CENTS: u64 = 13;
