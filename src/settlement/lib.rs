//! Settlement of USDC on Base and Solana, with our own keys or facilitators, and the bridge between them, each behind its
//! port.

pub mod by_network;
pub mod cctp;
pub mod chain;
pub mod check;
mod errors;
pub mod evm;
pub mod facilitator;
pub mod fee_payers;
pub mod gate;
pub mod metered;
pub mod outgoing;
pub mod pending_debits;
pub mod precheck_counters;
pub mod read_limits;
pub mod real;
pub mod settings;
pub mod solana;
pub mod supervised;
