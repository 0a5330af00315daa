//! Moves the USDC. The sandbox's chains, nodes with keys of our own, and facilitators stand behind the same port.

pub mod by_network;
pub mod cctp;
pub mod chain;
pub mod check;
pub mod evm;
pub mod facilitator;
pub mod fee_payers;
pub mod outgoing;
pub mod reads;
pub mod real;
pub mod sandbox;
pub mod settings;
pub mod solana;
