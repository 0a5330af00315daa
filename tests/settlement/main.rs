//! The settlement ports against real chain runtimes. `suite.rs` has what every port must do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    unreachable_pub,
    reason = "a test"
)]

mod base;
#[expect(dead_code, reason = "part of it is for the tests of production")]
mod facilitator;
mod solana;
mod suite;
