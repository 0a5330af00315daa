//! Solana: wire format, token instructions, typed RPC calls, and the I/O-free state of settlement and chain follower.

pub mod address;
pub mod cross_check;
pub mod draft;
pub mod fees;
pub mod follow;
pub mod keypair;
pub mod lifecycle;
pub mod losses;
pub mod message;
pub mod node;
pub mod payers;
pub mod status;
pub mod token;
pub mod transaction;
pub mod wire;

pub use address::Pubkey;
pub use transaction::Signature;

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;
