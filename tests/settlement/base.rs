//! The settlement port for Base against a real EVM: anvil, with a token that has the interface of USDC.
//! `suite.rs` is what every settlement port must do; the rest is of Base.

#[path = "../../src/chains/tests/base/anvil.rs"]
mod anvil;
mod batches;
mod blocks;
mod bridge_harness;
mod bridge_transfers;
mod calls;
mod cross_checks;
mod endpoints;
mod facilitated;
mod facilitator;
mod final_reorgs;
mod harness;
mod minting;
mod nonces;
mod opening;
mod payer_funds;
mod prechecks;
mod proxy;
mod rail;
mod reopening;
mod sandbox;
mod scripted_solana;
mod singles;
