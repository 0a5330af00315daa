//! The result of verifying a payment without its chain.

use super::error::VerificationError;

/// A payment that is valid apart from a signature that only the chain can verify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfflineVerification<T> {
    Proven(T),
    /// Not signed by the payer's key. The payer may be a contract (ERC-1271, EIP-7702, ERC-6492) that accepts the
    /// signature. The error applies if the payer is not a contract.
    Unproven(T, VerificationError),
}

impl<T> OfflineVerification<T> {
    /// The payment, if the payer's key has signed it.
    ///
    /// # Errors
    /// The error of the unproven payment.
    pub fn proven(self) -> Result<T, VerificationError> {
        match self {
            Self::Proven(payment) => Ok(payment),
            Self::Unproven(_, refusal) => Err(refusal),
        }
    }

    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> OfflineVerification<U> {
        match self {
            Self::Proven(payment) => OfflineVerification::Proven(make(payment)),
            Self::Unproven(payment, refusal) => OfflineVerification::Unproven(make(payment), refusal),
        }
    }
}
