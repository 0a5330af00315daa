//! What Purser speaks with Base and Solana: JSON-RPC, transactions and their signatures. Knows no product and no engine.

pub mod cctp;
pub mod evm;
pub mod rpc;
pub mod solana;
