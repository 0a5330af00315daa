//! Moves the USDC. The sandbox's chains are here; facilitators and nodes follow behind the same port.

pub mod sandbox;
pub mod solana;
