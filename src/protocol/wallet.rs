//! The client side: keys on both chains, and what they sign. Used by `purser pay`, by the tests and by the benches.
//!
//! These wallets are for the sandbox and for small test amounts: their keys are in a file that only its owner can read.
//! The server signs with this module for the sandbox's treasury and for agent wallets, whose
//! keys the vault derives. It has no other payer's key.
//!
//! For the same challenge, clock and random bytes, this module sends exactly the bytes of a stock client. The golden
//! vectors check that.

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

/// Maximum validity of what this service signs itself, in seconds, whatever a server allows. The amount of a signed
/// payment may stay on hold for that time, and a restored service waits for it.
pub const MAX_SIGNED_VALIDITY_S: u32 = 900;

/// Why the wallet did not sign or could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum WalletError {
    /// The wallet file cannot be read or created.
    #[error("the wallet file {path}: {source}")]
    File {
        path: std::path::PathBuf,
        source: std::io::Error,
    },
    /// The file is not a wallet, or other users could read it.
    #[error("the wallet file {path} {what}")]
    BadFile {
        path: std::path::PathBuf,
        /// What is wrong, as the end of a sentence.
        what: &'static str,
    },
    /// The bytes are not a secp256k1 key.
    #[error("not a valid secp256k1 private key")]
    BadKey,
    /// The server's challenge cannot be parsed.
    #[error("the server's challenge cannot be used: {0}")]
    BadChallenge(&'static str),
    /// No offer can be paid with this wallet on the requested network.
    #[error("the server offers no USDC payment on {0}")]
    NotOffered(&'static str),
}
