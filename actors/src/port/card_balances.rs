//! Card balances: customers' money at the card issuer. The issuer keeps them. Our ledger ends where the USDC reaches
//! the deposit address.

use super::PortFuture;
use crate::money::Usdc;

/// A transfer to an account's deposit address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardDeposit {
    /// Deposit address on Base.
    pub address: [u8; 20],
    /// Transaction id on Base.
    pub transaction: String,
    /// Transferred amount in USDC.
    pub amount: Usdc,
}

/// Keeps the card balances.
pub trait CardBalances: Send + Sync {
    /// Whether the issuer has credited a transfer to the card balance. No response and no error proves that it never
    /// will.
    fn is_credited<'a>(&'a self, deposit: &'a CardDeposit) -> PortFuture<'a, bool>;
}
