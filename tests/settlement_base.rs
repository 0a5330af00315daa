//! The settlement port for Base against a real EVM: anvil, with a token that has the interface of USDC.
//! `settlement/suite.rs` is what every settlement port must do; the rest is of Base.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    unreachable_pub,
    reason = "a test"
)]

#[path = "../src/chains/tests/base/anvil.rs"]
mod anvil;
#[path = "settlement_base/batches.rs"]
mod batches;
#[path = "settlement_base/blocks.rs"]
mod blocks;
#[path = "settlement_base/bridge_harness.rs"]
mod bridge_harness;
#[path = "settlement_base/bridge_transfers.rs"]
mod bridge_transfers;
#[path = "settlement_base/calls.rs"]
mod calls;
#[path = "settlement_base/cross_checks.rs"]
mod cross_checks;
#[path = "settlement_base/endpoints.rs"]
mod endpoints;
#[path = "settlement_base/facilitated.rs"]
mod facilitated;
#[path = "settlement_base/facilitator.rs"]
mod facilitator;
#[path = "settlement_base/final_reorgs.rs"]
mod final_reorgs;
#[path = "settlement_base/harness.rs"]
mod harness;
#[path = "settlement_base/minting.rs"]
mod minting;
#[path = "settlement_base/nonces.rs"]
mod nonces;
#[path = "settlement_base/opening.rs"]
mod opening;
#[path = "settlement_base/payer_funds.rs"]
mod payer_funds;
#[path = "settlement_base/prechecks.rs"]
mod prechecks;
#[path = "settlement_base/proxy.rs"]
mod proxy;
#[path = "settlement_base/rail.rs"]
mod rail;
#[path = "settlement_base/reopening.rs"]
mod reopening;
#[path = "settlement_base/sandbox.rs"]
mod sandbox;
#[path = "settlement_base/scripted_solana.rs"]
mod scripted_solana;
#[path = "settlement/facilitator.rs"]
#[expect(dead_code, reason = "part of it is for the tests of the port over facilitators")]
mod server;
#[path = "settlement_base/singles.rs"]
mod singles;
#[path = "settlement/suite.rs"]
mod suite;
