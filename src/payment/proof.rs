//! What can be said of a payment without its chain.

use super::refusal::Refusal;

/// A payment that is good, but for a signature that only the chain can judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged<T> {
    /// Its payer's key has signed it.
    Proven(T),
    /// No key of the payer's has made its signature. The payer may be a contract (ERC-1271, EIP-7702, ERC-6492): then the chain
    /// says whether it accepts the signature. With the refusal for a payer that is none.
    Unproven(T, Refusal),
}

impl<T> Judged<T> {
    /// The payment, if it needs no chain to be good.
    ///
    /// # Errors
    /// The refusal that came with it.
    pub fn proven(self) -> Result<T, Refusal> {
        match self {
            Self::Proven(payment) => Ok(payment),
            Self::Unproven(_, refusal) => Err(refusal),
        }
    }

    /// The same of something made from the payment.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Judged<U> {
        match self {
            Self::Proven(payment) => Judged::Proven(make(payment)),
            Self::Unproven(payment, refusal) => Judged::Unproven(make(payment), refusal),
        }
    }
}
