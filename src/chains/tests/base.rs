//! The Base side against a real EVM: anvil, with a token that has the interface of USDC.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    unreachable_pub,
    reason = "a test"
)]

#[path = "base/anvil.rs"]
mod anvil;
#[path = "base/faults.rs"]
mod faults;
#[path = "base/harness.rs"]
mod harness;
#[path = "base/http.rs"]
mod http;
#[path = "base/nonces.rs"]
mod nonces;
#[path = "base/outcome.rs"]
mod outcome;
#[path = "base/settlement.rs"]
mod settlement;
