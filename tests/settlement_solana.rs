//! The settlement port for Solana against a real runtime: Agave inside surfpool.
//!
//! Without Node.js or the runtime's package each test is skipped and prints a line; with CI=true it fails. The two
//! endpoints are two addresses of one process; faults are put between them and the port.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)]

#[path = "settlement_solana/calls.rs"]
mod calls;
#[path = "settlement_solana/cases.rs"]
mod cases;
#[path = "settlement_solana/cross_check.rs"]
mod cross_check;
#[path = "settlement_solana/facilitated.rs"]
mod facilitated;
#[path = "settlement_solana/facilitator.rs"]
mod facilitator;
#[path = "settlement_solana/faults.rs"]
mod faults;
#[path = "settlement_solana/harness.rs"]
mod harness;
#[path = "settlement_solana/kills.rs"]
mod kills;
#[path = "settlement_solana/lists.rs"]
mod lists;
#[path = "settlement_solana/outgoing.rs"]
mod outgoing;
#[path = "settlement_solana/payer_funds.rs"]
mod payer_funds;
#[path = "settlement_solana/payments.rs"]
mod payments;
#[path = "settlement_solana/rail.rs"]
mod rail;
#[path = "../src/chains/tests/surfpool/runtime.rs"]
mod runtime;
#[path = "settlement_solana/searches.rs"]
mod searches;
#[path = "settlement/facilitator.rs"]
#[expect(dead_code, reason = "part of it is for the tests of the port over facilitators")]
mod server;
#[path = "settlement/suite.rs"]
mod suite;
#[path = "settlement_solana/three_endpoints.rs"]
mod three_endpoints;
