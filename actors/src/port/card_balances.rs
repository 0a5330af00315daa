//! The balances that holders have at the card issuer. They are the issuer's to keep: our books end where the USDC reaches
//! the deposit address.

use super::{BoxFuture, PortError};
use crate::money::Usdc;

/// A transfer to a holder's deposit address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardDeposit {
    /// The address.
    pub address: [u8; 20],
    /// The transaction on Base.
    pub transaction: String,
    /// How much.
    pub amount: Usdc,
}

/// Keeps holders' balances and their cards.
pub trait CardBalances: Send + Sync {
    /// Whether a transfer counts in the holder's balance now. No answer and no error says that it never will.
    fn is_credited<'a>(&'a self, deposit: &'a CardDeposit) -> BoxFuture<'a, Result<bool, PortError>>;
}
