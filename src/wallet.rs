//! The client's side: keys on both chains, and what they sign. Used by `purser pay`, by the tests and by the benches.
//!
//! These are wallets for the sandbox and for small test amounts: a key lies in a file that only its owner can read.
//! The server signs with this module for the sandbox's treasury and for managed wallets ([`crate::agent_wallet`]), whose
//! keys the vault derives; it holds no other payer's key.
//!
//! What a stock client sends for the same challenge, clock and random bytes, this module sends byte for byte; the
//! golden vectors hold it to that.

pub mod evm;
pub mod keys;
pub mod mpp;
mod offered_token;
pub mod payment;
pub mod siwx;
pub mod solana;

pub use keys::TestWallet;
pub use mpp::MppOffer;
pub use payment::{Offer, PaymentRequired};

/// Why the wallet did not sign or could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum WalletError {
    /// The wallet file cannot be read or made.
    #[error("the wallet file {path}: {source}")]
    File {
        /// Which file.
        path: std::path::PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The wallet file is there and is not a wallet, or others could read it.
    #[error("the wallet file {path} {what}")]
    BadFile {
        /// Which file.
        path: std::path::PathBuf,
        /// What is wrong, as the end of a sentence.
        what: &'static str,
    },
    /// Bytes that are no secp256k1 key.
    #[error("not a valid secp256k1 private key")]
    BadKey,
    /// The server's challenge cannot be read.
    #[error("the server's challenge cannot be used: {0}")]
    BadChallenge(&'static str),
    /// Nothing on offer can be paid with this wallet on the wanted network.
    #[error("the server offers no USDC payment on {0}")]
    NotOffered(&'static str),
}
