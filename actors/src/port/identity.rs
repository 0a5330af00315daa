//! What only the owner of an account sets going: the check of an identity, and an account at the card issuer.

use super::{BoxFuture, ExternalText, PortError};
use crate::id::{JobId, Wallet};

/// A check of one wallet's holder, to be begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityCheckRequest {
    /// Idempotency key: the same key never begins a second check.
    pub key: JobId,
    /// Whose holder; the provider's callback names it again.
    pub wallet: Wallet,
}

/// A check that has begun at the provider.
#[derive(Clone, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct StartedCheck {
    /// The provider's name of it.
    pub reference: String,
    /// Where the person answers the provider's questions. Whoever has it can answer them: for the owner's page alone.
    pub url: String,
}

impl std::fmt::Debug for StartedCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BegunCheck({})", self.reference)
    }
}

/// What a check has come to.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Verdict {
    /// The holder is who they say they are.
    Passed,
    /// Not proven, or given up. Another check may be begun.
    Failed {
        /// The provider's word for it.
        reason: ExternalText,
    },
}

/// What the provider says of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckStatus {
    /// Nothing yet; ask again after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// It is over.
    Decided(Verdict),
}

/// Checks who a person is. The person's answers stay with it: we learn the verdict.
pub trait IdentityCheck: Send + Sync {
    /// Begins a check, or finds the one that was begun with this key. `Permanent` means that there is none and will be
    /// none.
    fn start<'a>(&'a self, check: &'a IdentityCheckRequest) -> BoxFuture<'a, Result<StartedCheck, PortError>>;

    /// Asks after a check. No error says anything of its verdict.
    fn status<'a>(&'a self, reference: &'a str) -> BoxFuture<'a, Result<CheckStatus, PortError>>;
}

/// What the card issuer says of an account that is to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssuerAccountResult {
    /// It is open.
    Open {
        /// Its own address on Base, where USDC for its balance arrives.
        deposit_address: [u8; 20],
    },
    /// Not yet; ask again after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Definitely refused: there is no account.
    Declined {
        /// The issuer's word for it.
        reason: ExternalText,
    },
}

/// Keeps the accounts that people have at the card issuer.
pub trait IssuerAccounts: Send + Sync {
    /// Opens the wallet's account, or finds it: a wallet has one for good, with one address.
    fn open<'a>(&'a self, holder: &'a Wallet) -> BoxFuture<'a, Result<IssuerAccountResult, PortError>>;
}
