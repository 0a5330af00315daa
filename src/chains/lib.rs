//! Clients for Base and Solana: JSON-RPC, transactions and signatures. This crate has no product or engine code.

pub mod cctp;
pub mod evm;
pub mod rpc;
pub mod solana;
