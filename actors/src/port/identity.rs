//! Ports for what only an account's owner can start: identity verification, and an account at the card issuer.

use super::{ExternalText, PortFuture};
use crate::id::{JobId, Wallet};

/// An identity verification to start, for the owner of one wallet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityCheckRequest {
    /// Idempotency key: the same key never starts a second check.
    pub key: JobId,
    /// Account whose owner is verified. The provider's callback names it again.
    pub wallet: Wallet,
}

/// An identity verification that the provider has started.
#[derive(Clone, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct StartedCheck {
    /// The provider's id of the check.
    pub reference: String,
    /// URL where the person answers the provider's questions. Anyone with the URL can answer them, so only the owner's
    /// page shows it.
    pub url: String,
}

impl std::fmt::Debug for StartedCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BegunCheck({})", self.reference)
    }
}

/// Result of an identity verification.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Verdict {
    /// The owner's identity is confirmed.
    Passed,
    /// Not proven, or abandoned. Another check may be started.
    Failed {
        /// The provider's reason.
        reason: ExternalText,
    },
}

/// State of an identity verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckStatus {
    /// Undecided. Ask again after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// The check has ended.
    Decided(Verdict),
}

/// Verifies a person's identity. The person's answers stay with the provider; we learn only the verdict.
pub trait IdentityCheck: Send + Sync {
    /// Starts a check, or finds the one started with this key. `Permanent` means that none exists and none will.
    fn start<'a>(&'a self, check: &'a IdentityCheckRequest) -> PortFuture<'a, StartedCheck>;

    /// Fetches the state of a check. An error says nothing about the verdict.
    fn status<'a>(&'a self, reference: &'a str) -> PortFuture<'a, CheckStatus>;
}

/// The card issuer's response to opening an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssuerAccountResult {
    /// The account is open.
    Open {
        /// The account's own address on Base, which receives USDC for the card balance.
        deposit_address: [u8; 20],
    },
    /// Not opened yet. Ask again after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// A definite no: the account does not exist.
    Declined {
        /// The issuer's reason.
        reason: ExternalText,
    },
}

/// Keeps customers' accounts at the card issuer.
pub trait IssuerAccounts: Send + Sync {
    /// Opens the wallet's account, or finds it. A wallet has one account and one address, permanently.
    fn open<'a>(&'a self, holder: &'a Wallet) -> PortFuture<'a, IssuerAccountResult>;
}
