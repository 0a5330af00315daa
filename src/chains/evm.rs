//! Base: transactions, USDC, batches, nonces of a signing key, blocks.

pub mod blocks;
pub mod contract_wallet;
pub mod expiry;
pub mod key;
pub mod multicall;
pub mod node;
pub mod nonces;
#[cfg(test)]
pub(crate) mod random;
pub mod tx;
pub mod usdc;

pub use alloy_primitives::{Address, B256, Bytes, U256};
