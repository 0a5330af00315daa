//! The Base side against a real EVM: anvil, with a token that has the interface of USDC.

mod anvil;
mod faults;
mod harness;
mod http;
mod nonces;
mod outcome;
mod settlement;
