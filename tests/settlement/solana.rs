//! The settlement port for Solana against a real runtime: Agave inside surfpool.
//!
//! Without Node.js or the runtime's package each test is skipped and prints a line; with CI=true it fails. The two
//! endpoints are two addresses of one process; faults are put between them and the port.

mod calls;
mod cases;
mod cross_check;
mod facilitated;
mod facilitator;
mod faults;
mod harness;
mod kills;
mod lists;
mod outgoing;
mod payer_funds;
mod payments;
mod rail;
#[path = "../../src/chains/tests/surfpool/runtime.rs"]
mod runtime;
mod searches;
mod three_endpoints;
